/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows: environment variables as NAME=VALUE, each with its NUL.
 * In place of a stream in memory (open_memstream(3)), of which each run would
 * pay for 8 KiB.
 */
#ifndef HF_CLI_VARIABLES_TEXT_H
#define HF_CLI_VARIABLES_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: empty.  Owner: the caller, who frees .text with hf_free(). */
struct hf_variables_text {
    char *text; /* NULL while it is empty */
    size_t bytes;
    size_t room;
    bool failed; /* there was no memory for something that was added */
};

/* Append what printf() would print. */
void hf_variables_text_add(struct hf_variables_text *text, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));

/* Append the NUL that ends a variable. */
void hf_variables_text_end(struct hf_variables_text *text);

#endif
