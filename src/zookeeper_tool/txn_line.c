/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See txn_line.h.  A line has words, with spaces between them.  A word in
 * double quotes may have spaces; in it \" and \\ mean a quote and a backslash,
 * and \xNN means a byte.  The tool prints words in the same form.  A decoded
 * word is never longer than its text in the line, so it is stored in place.
 *
 * A table says which words each operation has.
 */
#include "zookeeper_tool/txn_line.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "zookeeper_tool/operand.h"

/* ----------------------------------------------------------------- words -- */

#define WORDS_MAX 8

struct word {
    char *text; /* ends with a NUL, and may have others */
    size_t bytes;
};

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
static hf_status take_quoted(char **line, struct word *word,
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
    if (strchr(BLANKS, **line) == NULL) /* the end of the line matches, too */
        return hf_error_set(error, HF_EINVAL,
                            "text behind a closing quote; expected a space");
    return HF_OK;
}

static void take_plain(char **line, struct word *word)
{
    word->text = *line;
    word->bytes = strcspn(*line, BLANKS);
    *line += word->bytes;
}

/* Split ${line} into ${words}, in place, and set ${count}.  HF_EINVAL if the
 * line is invalid. */
static hf_status split_words(char *line, struct word words[WORDS_MAX],
                             size_t *count, struct hf_error *error)
{
    *count = 0;
    for (line += strspn(line, BLANKS); *line != '\0';
         line += strspn(line, BLANKS)) {
        struct word *word = &words[*count];
        bool more;

        if (*count == WORDS_MAX)
            return hf_error_set(error, HF_EINVAL,
                                "more than %d words; expected a word with "
                                "spaces in double quotes",
                                WORDS_MAX);
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

/* ------------------------------------------------------------ operations -- */

/* The form of an operation: which words may follow its path. */
struct form {
    const char *name;
    enum hf_zookeeper_op_kind kind;
    bool has_data;     /* the word after the path is data */
    bool needs_data;   /* this word must be present */
    const char *usage; /* for error texts */
};

static const struct form forms[] = {
    {"check", HF_ZOOKEEPER_CHECK, false, false, "check PATH [VERSION]"},
    {"create", HF_ZOOKEEPER_CREATE, true, false,
     "create PATH [DATA [sequential|container]]"},
    {"set", HF_ZOOKEEPER_SET, true, true, "set PATH DATA [VERSION]"},
    {"delete", HF_ZOOKEEPER_DELETE, false, false, "delete PATH [VERSION]"},
};

static const struct form *find_form(const struct word *word)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(word->text, forms[i].name) == 0)
            return &forms[i];
    return NULL;
}

/* Read the last word: the mode of a create, or the version of any other
 * operation. */
static hf_status read_last(const struct word *word, struct hf_zookeeper_op *op,
                           struct hf_error *error)
{
    if (op->kind != HF_ZOOKEEPER_CREATE) {
        if (hf_tool_parse_version(word->text, &op->version))
            return HF_OK;
        return hf_error_set(error, HF_EINVAL,
                            "the version %s; expected a number from 0 to "
                            "2147483647",
                            hf_quote(word->text, word->bytes).text);
    }
    if (strcmp(word->text, "sequential") == 0)
        op->mode = HF_ZOOKEEPER_SEQUENTIAL;
    else if (strcmp(word->text, "container") == 0)
        op->mode = HF_ZOOKEEPER_CONTAINER;
    else
        return hf_error_set(error, HF_EINVAL,
                            "the mode %s; expected sequential or container",
                            hf_quote(word->text, word->bytes).text);
    return HF_OK;
}

/* Set ${op} from the ${count} ${words} behind the name of ${form}. */
static hf_status read_words(const struct form *form, const struct word *words,
                            size_t count, struct hf_zookeeper_op *op,
                            struct hf_error *error)
{
    size_t at = 1;
    hf_status status = HF_OK;

    *op = (struct hf_zookeeper_op){.kind = form->kind,
                                   .path = words[0].text,
                                   .version = HF_ZOOKEEPER_ANY_VERSION};
    if (form->has_data && count > at) {
        op->data = words[at].text;
        op->bytes = words[at].bytes;
        at++;
    }
    if (count > at)
        status = read_last(&words[at], op, error);
    if (status != HF_OK)
        return status;
    if (strlen(words[0].text) != words[0].bytes)
        return hf_error_set(error, HF_EINVAL,
                            "the path has a NUL; expected one that ZooKeeper "
                            "takes, such as /a/b");
    return hf_tool_check_new_path(op->path, op->mode == HF_ZOOKEEPER_SEQUENTIAL,
                                  error);
}

hf_status hf_tool_parse_txn_line(char *line, struct hf_zookeeper_op *op,
                                 struct hf_error *error)
{
    struct word words[WORDS_MAX];
    const struct form *form;
    size_t count;
    hf_status status;

    *op = (struct hf_zookeeper_op){.kind = 0};
    if (line[strspn(line, BLANKS)] == '#')
        return HF_OK;
    status = split_words(line, words, &count, error);
    if (status != HF_OK || count == 0)
        return status;
    form = find_form(&words[0]);
    if (form == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "%s is no operation; expected check, create, set "
                            "or delete",
                            hf_quote(words[0].text, words[0].bytes).text);
    if (count - 1 < (form->needs_data ? 2U : 1U) ||
        count - 1 > (form->has_data ? 3U : 2U))
        return hf_error_set(error, HF_EINVAL,
                            "%zu word%s; expected %s, with double quotes "
                            "around a word with spaces",
                            count, count == 1 ? "" : "s", form->usage);
    return read_words(form, words + 1, count - 1, op, error);
}
