/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one node for a walk (tree_walk.h): its Stat, the names of its children,
 * and on request its data and access list.  The operations for that are under
 * way at the same time. */
#ifndef HF_ZOOKEEPER_TOOL_NODE_READ_H
#define HF_ZOOKEEPER_TOOL_NODE_READ_H

#include "zookeeper_tool/tool.h"

/* A node that was read. */
struct hf_tool_node {
    const char *path;
    unsigned depth; /* levels below the first node of the walk */
    /* HF_OK, or why the node could not be read, with .text.  It counts as
     * having no children then. */
    hf_status status;
    const char *text;
    struct hf_zookeeper_stat stat;
    const void *data; /* read only if .data of the options is set */
    size_t bytes;
    const struct hf_zookeeper_acl *acls; /* read only if .acls of the options is
                                            set */
    size_t acl_count;
};

/* A limit on the bytes that all nodes of a walk keep together, so that servers
 * cannot use up the memory. */
struct hf_tool_read_budget {
    size_t used;
    size_t max;
};

struct hf_tool_read_opts {
    struct hf_tool_read_budget *budget; /* must stay valid until all reads are
                                           freed */
    bool data;
    bool acls;
    bool children;
    bool without_system; /* leave "zookeeper" out of the children of "/" */
};

struct hf_tool_read {
    struct hf_tool_node node; /* its pointers point to the memory of the fields
                                 below */
    const char **names;       /* of the children, in order */
    size_t name_count;
    struct hf_tool *tool;
    struct hf_tool_read_budget *budget;
    size_t charged;    /* bytes of .budget that this read uses until it is
                          freed */
    size_t data_bytes; /* how many of these are for the data and the access
                          list */
    bool over_budget;  /* it failed because the budget was used up */
    unsigned pending;  /* operations that have not ended */
    bool without_system;
    char *path;
    void *data;
    struct hf_zookeeper_acl *acls;
    struct hf_error error; /* why the node could not be read */
};

/* Begin to read ${path}.  NULL: no memory.  Any other failure is stored in
 * .status of the node; HF_ELIMIT if the node would exceed the budget. */
struct hf_tool_read *hf_tool_read_start(struct hf_tool *tool, const char *path,
                                        unsigned depth,
                                        const struct hf_tool_read_opts *opts);

/* Wait until the operations of ${read} have ended.  .node is then complete. */
void hf_tool_read_wait(struct hf_tool_read *read);

/* Free the data and the access list of ${read}, which must not be used any
 * more. */
void hf_tool_read_drop_data(struct hf_tool_read *read);

/* Wait until the operations of ${read} have ended, and free it. */
void hf_tool_read_free(struct hf_tool_read *read);

#endif
