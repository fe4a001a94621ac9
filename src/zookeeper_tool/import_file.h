/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file of an export (command_export.c), and returns its lines as
 * nodes to create.  jansson parses each line. */
#ifndef HF_ZOOKEEPER_TOOL_IMPORT_FILE_H
#define HF_ZOOKEEPER_TOOL_IMPORT_FILE_H

#include <stdio.h>

#include <holdfast/zookeeper.h>

struct hf_tool_import_file {
    FILE *in;
    const char *base; /* the path to which the exported tree is imported */
    unsigned long line;
    uint64_t nodes; /* nodes that were read so far */
};

/* A node of the file.  Its texts and data are copies, which
 * hf_tool_import_node_free() frees. */
struct hf_tool_import_node {
    unsigned long line;
    struct hf_zookeeper_op create; /* .kind is 0 if the node is ephemeral */
    size_t bytes;                  /* about how many bytes .create has as it is
                                      sent */
    char *path, *data;
    struct hf_zookeeper_acl *acls;
    char *acl_texts; /* the texts to which .acls point */
};

/* Read and check the first line.  HF_EINVAL, HF_ELIMIT or HF_ENOMEM with
 * ${error}. */
hf_status hf_tool_import_begin(struct hf_tool_import_file *file,
                               struct hf_error *error);

/* Read the next node.  HF_OK; HF_EGONE after the last line; HF_EINVAL if the
 * line is invalid or the file was cut off; HF_ELIMIT or HF_ENOMEM. */
hf_status hf_tool_import_next(struct hf_tool_import_file *file,
                              struct hf_tool_import_node *node,
                              struct hf_error *error);

void hf_tool_import_node_free(struct hf_tool_import_node *node);

#endif
