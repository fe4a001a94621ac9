/* SPDX-License-Identifier: Apache-2.0 */
/* The reading of one node for a walk: its Stat, the names of its children, and
 * on request its data and access list, by operations that are under way at the
 * same time. */
#ifndef HF_ZOOKEEPER_TOOL_NODE_READ_H
#define HF_ZOOKEEPER_TOOL_NODE_READ_H

#include "zookeeper_tool/tool.h"

/* A node that was read. */
struct hf_tool_node {
    const char *path;
    unsigned depth; /* 0: the first one */
    /* HF_OK, or why it could not be read, with .text; it has no children then.
     */
    hf_status status;
    const char *text;
    struct hf_zookeeper_stat stat;
    const void *data; /* with .data of the walk */
    size_t bytes;
    const struct hf_zookeeper_acl *acls; /* with .acls of the walk */
    size_t acl_count;
};

/* How many bytes all nodes of a walk may keep, whatever the servers send. */
struct hf_tool_read_budget {
    size_t used;
    size_t max;
};

struct hf_tool_read_opts {
    struct hf_tool_read_budget *budget; /* lives longer than what is read */
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
    struct hf_tool_read_budget *budget;
    size_t charged;    /* bytes of .budget that it takes, until it is freed */
    size_t data_bytes; /* those of its data and access list among them */
    bool over_budget;  /* it was not kept, because the budget was used up */
    unsigned pending;  /* operations that have not ended */
    bool without_system;
    char *path;
    void *data;
    struct hf_zookeeper_acl *acls;
    struct hf_error error; /* why it could not be read */
};

/* Begin to read ${path}.  NULL without memory.  Any other failure becomes
 * .status of the node: HF_ELIMIT if it would take more than the budget. */
struct hf_tool_read *hf_tool_read_start(struct hf_tool *tool, const char *path,
                                        unsigned depth,
                                        const struct hf_tool_read_opts *opts);

/* Wait until the operations of ${read} have ended: .node is complete then. */
void hf_tool_read_wait(struct hf_tool_read *read);

/* Free the data and the access list. */
void hf_tool_read_drop_data(struct hf_tool_read *read);

/* Wait until the operations of ${read} have ended, and free it. */
void hf_tool_read_free(struct hf_tool_read *read);

#endif
