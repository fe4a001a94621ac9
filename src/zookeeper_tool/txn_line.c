/* SPDX-License-Identifier: Apache-2.0 */
/* See txn_line.h.  A table has the words of each operation. */
#include "zookeeper_tool/txn_line.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "zookeeper_tool/operand.h"
#include "zookeeper_tool/word_line.h"

/* An operation: how many words may follow its path. */
struct form {
    const char *name;
    enum hf_zookeeper_op_kind kind;
    bool has_data;     /* the word after the path */
    bool needs_data;   /* and it must be there */
    const char *usage; /* for error texts */
};

static const struct form forms[] = {
    {"check", HF_ZOOKEEPER_CHECK, false, false, "check PATH [VERSION]"},
    {"create", HF_ZOOKEEPER_CREATE, true, false,
     "create PATH [DATA [sequential|container]]"},
    {"set", HF_ZOOKEEPER_SET, true, true, "set PATH DATA [VERSION]"},
    {"delete", HF_ZOOKEEPER_DELETE, false, false, "delete PATH [VERSION]"},
};

static const struct form *find_form(const struct hf_tool_word *word)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(word->text, forms[i].name) == 0)
            return &forms[i];
    return NULL;
}

/* The last word: the mode of a create, else a version. */
static hf_status read_last(const struct hf_tool_word *word,
                           struct hf_zookeeper_op *op, struct hf_error *error)
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

/* Read the words behind the name of ${form}. */
static hf_status read_words(const struct form *form,
                            const struct hf_tool_word *words, size_t count,
                            struct hf_zookeeper_op *op, struct hf_error *error)
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
    return hf_tool_check_path(op->path, op->mode == HF_ZOOKEEPER_SEQUENTIAL,
                              error);
}

hf_status hf_tool_parse_txn_line(char *line, struct hf_zookeeper_op *op,
                                 struct hf_error *error)
{
    struct hf_tool_word words[HF_TOOL_WORDS_MAX];
    const struct form *form;
    size_t count;
    hf_status status;

    *op = (struct hf_zookeeper_op){.kind = 0};
    if (line[strspn(line, " \t\r")] == '#')
        return HF_OK;
    status = hf_tool_split_words(line, words, &count, error);
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
