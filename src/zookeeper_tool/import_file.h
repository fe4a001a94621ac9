/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an export, see command_export.c, as nodes to create.  jansson
 * parses each of them. */
#ifndef HF_ZOOKEEPER_TOOL_IMPORT_FILE_H
#define HF_ZOOKEEPER_TOOL_IMPORT_FILE_H

#include <stdio.h>

#include <holdfast/zookeeper.h>

struct hf_tool_import_file {
    FILE *in;
    const char *base; /* the path of the node that was exported, as it is to be
                         called here */
    unsigned long line;
    uint64_t nodes; /* read so far */
};

/* A node, in memory of its own. */
struct hf_tool_import_node {
    unsigned long line;
    struct hf_zookeeper_op create; /* .kind is 0 if the node is ephemeral */
    size_t bytes;                  /* of .create as it is sent, about */
    char *path, *data;
    struct hf_zookeeper_acl *acls;
    char *acl_texts; /* that .acls point into */
};

/* Read the first line. */
hf_status hf_tool_import_begin(struct hf_tool_import_file *file,
                               struct hf_error *error);

/* Read the next node.  HF_OK; HF_EGONE after the last line; HF_EINVAL if the
 * line makes no sense or the file was cut off, or HF_ENOMEM. */
hf_status hf_tool_import_next(struct hf_tool_import_file *file,
                              struct hf_tool_import_node *node,
                              struct hf_error *error);

void hf_tool_import_node_free(struct hf_tool_import_node *node);

#endif
