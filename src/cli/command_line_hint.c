/* SPDX-License-Identifier: Apache-2.0 */
/* See command_line_hint.h. */
#include "cli/command_line_hint.h"

#include <assert.h>
#include <string.h>

#include "base/url.h"

/* A text that is being appended to.  Once something did not fit it stays
 * .full, so that nothing is left out in the middle. */
struct output {
    char *next;
    char *end; /* room for the NUL and " ..." begins here */
    bool full;
};

/* Append ${count} bytes. */
static void put(struct output *text, const char *bytes, size_t count)
{
    if (text->full || count > (size_t)(text->end - text->next)) {
        text->full = true;
        return;
    }
    memcpy(text->next, bytes, count);
    text->next += count;
}

/* Does ${word} need no quotes in a shell? */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789@%+=:,./_-";

    return *word && strspn(word, plain) == strlen(word);
}

/* Append ${word} in single quotes, a quote in it as '\''. */
static void put_quoted(struct output *text, const char *word)
{
    put(text, "'", 1);
    for (; *word; word++) {
        if (*word == '\'')
            put(text, "'\\''", 4);
        else
            put(text, word, 1);
    }
    put(text, "'", 1);
}

/* Append a blank and ${word}, quoted where it needs that. */
static void put_word(struct output *text, const char *word)
{
    if (hf_url_has_secret(word))
        word = "URL";
    put(text, " ", 1);
    if (is_plain(word))
        put(text, word, strlen(word));
    else
        put_quoted(text, word);
}

static void put_words(struct output *text, char **words, int count)
{
    for (int i = 0; i < count; i++)
        put_word(text, words[i]);
}

/* Index of the first "--" after NAME, or argc. */
static int find_separator(const struct hf_command_line *line)
{
    int i = line->operands + 1;

    while (i < line->argc && strcmp(line->argv[i], "--") != 0)
        i++;
    return i;
}

/* Index of the first word after NAME that is no further NAME, or argc. */
static int find_option(const struct hf_command_line *line)
{
    int i = line->operands + 1;

    while (i < line->argc && line->argv[i][0] != '-')
        i++;
    return i;
}

bool hf_command_line_has_late_options(const struct hf_command_line *line)
{
    int separator = find_separator(line);

    assert(line->operands < line->argc);
    return separator < line->argc && find_option(line) < separator;
}

void hf_command_line_suggest(const struct hf_command_line *line, char *text,
                             size_t bytes)
{
    struct output out = {text, text + bytes - sizeof " ...", false};
    int names = line->operands + 1;
    int rest = names;

    put(&out, "holdfast", strlen("holdfast"));
    put_words(&out, line->argv, line->operands);
    if (hf_command_line_has_late_options(line)) {
        names = find_option(line);
        rest = find_separator(line);
        put_words(&out, line->argv + names, rest - names);
        rest++;
    }
    put_words(&out, line->argv + line->operands, names - line->operands);
    put_word(&out, "--");
    put_words(&out, line->argv + rest, line->argc - rest);
    strcpy(out.next, out.full ? " ..." : "");
}
