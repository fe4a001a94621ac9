/* SPDX-License-Identifier: Apache-2.0 */
/* The reading of one node for a walk: its Stat, the names of its children, and
 * on request its data and access list, by operations that are under way at the
 * same time. */
#ifndef HF_ZOOKEEPER_TOOL_NODE_READ_H
#define HF_ZOOKEEPER_TOOL_NODE_READ_H

#include "zookeeper_tool/tree_walk.h"

struct hf_tool_read_opts {
    bool data;
    bool acls;
    bool children;
    bool without_system; /* leave "zookeeper" out of the children of "/" */
};

struct hf_tool_read {
    struct hf_tool_node node; /* its texts and bytes are in the fields below */
    const char **names;       /* of the children, in order */
    size_t name_count;
    struct hf_tool *tool;
    unsigned pending; /* operations that have not ended */
    bool without_system;
    char *path;
    void *data;
    struct hf_zookeeper_acl *acls;
    struct hf_error error; /* why it could not be read */
};

/* Begin to read ${path}.  NULL without memory; any other failure is that of the
 * node. */
struct hf_tool_read *hf_tool_read_start(struct hf_tool *tool, const char *path,
                                        unsigned depth,
                                        const struct hf_tool_read_opts *opts);

/* Wait until it is read. */
void hf_tool_read_wait(struct hf_tool_read *read);

/* Free the data and the access list. */
void hf_tool_read_drop_data(struct hf_tool_read *read);

/* Free ${read}, which is waited for. */
void hf_tool_read_free(struct hf_tool_read *read);

#endif
