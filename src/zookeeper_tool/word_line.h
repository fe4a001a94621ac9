/* SPDX-License-Identifier: Apache-2.0 */
/* A line of words, with spaces between them.  A word in double quotes may have
 * spaces; \" and \\ are a quote and a backslash in it, and \xNN is a byte, as
 * the tool prints words itself. */
#ifndef HF_ZOOKEEPER_TOOL_WORD_LINE_H
#define HF_ZOOKEEPER_TOOL_WORD_LINE_H

#include <stddef.h>

#include <holdfast/zookeeper.h>

#define HF_TOOL_WORDS_MAX 8

struct hf_tool_word {
    char *text; /* ends with a NUL, and may have others */
    size_t bytes;
};

/* Take the words of ${line} apart, in its own memory, and set ${count}.
 * HF_EINVAL. */
hf_status hf_tool_split_words(char *line,
                              struct hf_tool_word words[HF_TOOL_WORDS_MAX],
                              size_t *count, struct hf_error *error);

#endif
