/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from the command line, a file or a pipe: the data of a node, and lines
 * of text. */
#ifndef HF_ZOOKEEPER_TOOL_INPUT_H
#define HF_ZOOKEEPER_TOOL_INPUT_H

#include <stddef.h>
#include <stdio.h>

#include <holdfast/zookeeper.h>

/* The data of a node. */
struct hf_tool_data {
    const void *data; /* NULL: absent, which is not the same as no bytes */
    size_t bytes;
    void *memory;
};

/* Set ${data} to the bytes of ${word}, "-" for standard input and NULL for
 * absent data; or to those of ${file} if that is not NULL.  0, or the exit
 * status after printing what is wrong. */
int hf_tool_data_read(const char *word, const char *file,
                      struct hf_tool_data *data);

void hf_tool_data_free(struct hf_tool_data *data);

/* Open ${file} for reading, or standard input if it is NULL or "-".  NULL after
 * printing why not. */
FILE *hf_tool_input_open(const char *file);
/* A file with the bytes of ${in} that can be read twice: ${in} itself, or a
 * temporary file without a name, and ${in} is closed then.  NULL: ${in} was
 * NULL; or this failed, which was printed, and ${in} is closed. */
FILE *hf_tool_input_keep(FILE *in);
void hf_tool_input_close(FILE *in);

/* A line, without its newline. */
struct hf_tool_line {
    char *text; /* the caller's to free with hf_free() */
    size_t bytes;
    unsigned long number; /* from 1 on */
};

/* Read the next line of ${in}, after ${line}->number.  HF_OK; HF_EGONE at the
 * end; HF_EINVAL, HF_ELIMIT or HF_ENOMEM with ${error}: it has a NUL, is longer
 * than 64 MiB, or could not be read. */
hf_status hf_tool_line_read(FILE *in, struct hf_tool_line *line,
                            struct hf_error *error);

#endif
