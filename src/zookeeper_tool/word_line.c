/* SPDX-License-Identifier: Apache-2.0 */
/* See word_line.h.  A word is never longer than what it is written as, so it is
 * written back over that. */
#include "zookeeper_tool/word_line.h"

#include <string.h>

#include "base/error.h"

#define BLANKS " \t\r"

/* The value of a hexadecimal digit, or -1. */
static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) % 16 : -1;
}

/* Decode what follows a backslash at ${*from}, and move ${*from} behind it. */
static bool take_escape(const char **from, char *byte)
{
    const char *at = *from;

    *byte = *at;
    if (*at == '"' || *at == '\\') {
        *from = at + 1;
        return true;
    }
    if (*at != 'x' || digit_of(at[1]) < 0 || digit_of(at[2]) < 0)
        return false;
    *byte = (char)(digit_of(at[1]) << 4 | digit_of(at[2]));
    *from = at + 3;
    return true;
}

/* Decode the word behind the quote at ${*line}, and move ${*line} behind its
 * end. */
static hf_status take_quoted(char **line, struct hf_tool_word *word,
                             struct hf_error *error)
{
    const char *from = *line + 1;

    word->text = *line;
    word->bytes = 0;
    while (*from != '"') {
        char byte = *from++;

        if (byte == '\0')
            return hf_error_set(error, HF_EINVAL,
                                "a quote is not closed; expected '\"' at the "
                                "end of the word");
        if (byte == '\\' && !take_escape(&from, &byte))
            return hf_error_set(error, HF_EINVAL,
                                "a backslash in quotes; expected \\\", \\\\ or "
                                "\\xNN, a byte in hexadecimal");
        word->text[word->bytes++] = byte;
    }
    *line += from - *line + 1;
    if (strchr(BLANKS, **line) == NULL) /* also the end */
        return hf_error_set(error, HF_EINVAL,
                            "text behind a closing quote; expected a space");
    return HF_OK;
}

static void take_plain(char **line, struct hf_tool_word *word)
{
    word->text = *line;
    word->bytes = strcspn(*line, BLANKS);
    *line += word->bytes;
}

hf_status hf_tool_split_words(char *line,
                              struct hf_tool_word words[HF_TOOL_WORDS_MAX],
                              size_t *count, struct hf_error *error)
{
    *count = 0;
    for (line += strspn(line, BLANKS); *line != '\0';
         line += strspn(line, BLANKS)) {
        struct hf_tool_word *word = &words[*count];
        bool more;

        if (*count == HF_TOOL_WORDS_MAX)
            return hf_error_set(error, HF_EINVAL,
                                "more than %d words; expected a word with "
                                "spaces in double quotes",
                                HF_TOOL_WORDS_MAX);
        if (*line == '"') {
            hf_status status = take_quoted(&line, word, error);

            if (status != HF_OK)
                return status;
        } else {
            take_plain(&line, word);
        }
        more = *line != '\0';
        word->text[word->bytes] = '\0';
        line += more;
        ++*count;
    }
    return HF_OK;
}
