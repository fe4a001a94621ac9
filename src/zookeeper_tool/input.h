/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the data of a node, or lines of text, from the command line, a file or
 * a pipe. */
#ifndef HF_ZOOKEEPER_TOOL_INPUT_H
#define HF_ZOOKEEPER_TOOL_INPUT_H

#include <stddef.h>
#include <stdio.h>

#include <holdfast/zookeeper.h>

/* The data of a node. */
struct hf_tool_data {
    const void *data; /* NULL: the node has null data, which are not the same as
                         0 bytes */
    size_t bytes;
    void *memory;
};

/* Set ${data} to the content of ${file} if that is not NULL.  Otherwise to the
 * bytes of ${word}; "-" means standard input, NULL means null data.  Returns 0,
 * or the exit status after printing an error. */
int hf_tool_data_read(const char *word, const char *file,
                      struct hf_tool_data *data);

void hf_tool_data_free(struct hf_tool_data *data);

/* Open ${file} for reading; NULL or "-" means standard input.  NULL after
 * printing an error. */
FILE *hf_tool_input_open(const char *file);
/* Return a file with the bytes of ${in} that can be read twice.  That is ${in}
 * itself if possible.  Otherwise it is an unnamed temporary file with a copy,
 * and ${in} is closed.  NULL if ${in} is NULL, or after printing an error;
 * ${in} is then closed, too. */
FILE *hf_tool_input_keep(FILE *in);
void hf_tool_input_close(FILE *in);

/* A line, without its newline. */
struct hf_tool_line {
    char *text; /* the caller frees it with hf_free() */
    size_t bytes;
    unsigned long number; /* from 1 on */
};

/* Read the next line of ${in}, after ${line}->number.  HF_OK; HF_EGONE at the
 * end; or with ${error} HF_EINVAL if the line has a NUL or cannot be read,
 * HF_ELIMIT if it is longer than 64 MiB, and HF_ENOMEM. */
hf_status hf_tool_line_read(FILE *in, struct hf_tool_line *line,
                            struct hf_error *error);

#endif
