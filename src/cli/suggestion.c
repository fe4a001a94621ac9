/* SPDX-License-Identifier: Apache-2.0 */
/* See suggestion.h.  What is an option and what its value is known from the
 * command's table. */
#include "cli/suggestion.h"

#include <assert.h>
#include <string.h>

#include "base/url.h"

/* The text that is being appended to.  Once something did not fit, .full is set
 * and nothing more is appended, so that nothing is left out in the middle. */
struct suggestion {
    char *next;
    char *end; /* here the room for the NUL and " ..." begins */
    bool full;
};

/* Append ${count} bytes. */
static void put(struct suggestion *text, const char *bytes, size_t count)
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
static void put_quoted(struct suggestion *text, const char *word)
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
static void put_word(struct suggestion *text, const char *word)
{
    if (hf_url_has_secret(word))
        word = "URL";
    put(text, " ", 1);
    if (is_plain(word))
        put(text, word, strlen(word));
    else
        put_quoted(text, word);
}

static void put_words(struct suggestion *text, char **words, int count)
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

bool hf_suggestion_has_late_options(const struct hf_command_line *line)
{
    int separator = find_separator(line);

    assert(line->operands < line->argc);
    return separator < line->argc && find_option(line) < separator;
}

/* The row of the option ${word}, which is "-w", "-w5", "--timeout" or
 * "--timeout=5"; NULL: there is no such option. */
static const struct hf_option_row *find_row(const struct hf_command *command,
                                            const char *word)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < command->row_count; i++) {
        const struct hf_option_row *row = &command->rows[i];

        if (word[1] == '-' ? length == strlen(row->name) + 2 &&
                                 strncmp(word + 2, row->name, length - 2) == 0
                           : word[1] == row->letter || word[1] == row->also)
            return row;
    }
    return NULL;
}

/* Where there is no "--": the index of the first word behind NAME that is
 * neither an option of ${command} nor the value of one, or argc. */
static int find_command(const struct hf_command *command,
                        const struct hf_command_line *line)
{
    int i = line->operands + 1;

    while (i < line->argc && line->argv[i][0] == '-') {
        const char *word = line->argv[i];
        const struct hf_option_row *row = find_row(command, word);
        bool is_alone =
            word[1] == '-' ? strchr(word, '=') == NULL : word[2] == '\0';

        if (row == NULL)
            return i;
        i += row->value != NULL && is_alone && i + 1 < line->argc ? 2 : 1;
    }
    return i;
}

/* Is ${line} written as for flock(1), NAME -c 'TEXT OF A SHELL'? */
static bool has_shell_text(const struct hf_command_line *line)
{
    return line->argc == line->operands + 3 &&
           strcmp(line->argv[line->operands + 1], "-c") == 0;
}

/* The order is: options, names, "--", the rest. */
void hf_suggestion_write(const struct hf_command *command,
                         const struct hf_command_line *line, char *text,
                         size_t bytes)
{
    struct suggestion out = {text, text + bytes - sizeof " ...", false};
    bool shell = has_shell_text(line);
    int names = line->operands + 1; /* index behind the names */
    int rest = names;

    put(&out, "holdfast", strlen("holdfast"));
    put_words(&out, line->argv, line->operands);
    if (hf_suggestion_has_late_options(line)) {
        names = find_option(line);
        rest = find_separator(line);
        put_words(&out, line->argv + names, rest - names);
        rest++;
    } else if (!shell && find_separator(line) == line->argc) {
        rest = find_command(command, line);
        put_words(&out, line->argv + names, rest - names);
    }
    put_words(&out, line->argv + line->operands, names - line->operands);
    put_word(&out, "--");
    if (shell)
        put_word(&out, "sh");
    put_words(&out, line->argv + rest, line->argc - rest);
    if (rest >= line->argc)
        put_word(&out, "COMMAND");
    strcpy(out.next, out.full ? " ..." : "");
}
