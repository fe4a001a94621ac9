/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk txn: carry out the lines of a file as one transaction. */
#include <assert.h>

#include "base/error.h"
#include "base/memory.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"
#include "zookeeper_tool/txn_line.h"

struct options {
    struct hf_tool_common common;
    const char *file; /* NULL: standard input */
};

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_txn_command = {
    .name = "zk txn",
    .synopsis = "[OPTION...] [FILE]",
    .about =
        "Carry out all lines of FILE, or of standard input, or none:\n"
        "\n"
        "    check PATH [VERSION]\n"
        "    create PATH [DATA [sequential|container]]\n"
        "    set PATH DATA [VERSION]\n"
        "    delete PATH [VERSION]\n"
        "\n"
        "A word with spaces is in double quotes, with \\\", \\\\ and \\xNN in "
        "it.  Empty\nlines and lines that begin with '#' are ignored.  Prints "
        "the path of each\nnode that was created.\n",
    .notes = "The exit status is 1 if a node is not there, is there already, "
             "has another\nversion or has children, and 65 if a line makes no "
             "sense; the text has the\nnumber of the line.  See "
             "holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("FILE", struct options, file, .is_optional = true)},
};

/* ---------------------------------------------------------------- lines -- */

/* A transaction that is being read. */
struct txn {
    struct hf_zookeeper_op *ops;
    struct hf_tool_line *lines; /* the line of each operation */
    size_t count, capacity;
    size_t bytes; /* length of all lines */
};

static void free_txn(struct txn *txn)
{
    for (size_t i = 0; i < txn->count; i++)
        hf_free(txn->lines[i].text);
    hf_free(txn->lines);
    hf_free(txn->ops);
}

/* Make room for one more operation. */
static bool make_room(struct txn *txn)
{
    size_t capacity = txn->capacity == 0 ? 16 : txn->capacity * 2;
    void *memory;

    if (txn->count < txn->capacity)
        return true;
    memory = hf_realloc(txn->ops, capacity * sizeof *txn->ops);
    if (memory == NULL)
        return false;
    txn->ops = memory;
    memory = hf_realloc(txn->lines, capacity * sizeof *txn->lines);
    if (memory == NULL)
        return false;
    txn->lines = memory;
    txn->capacity = capacity;
    return true;
}

/* Add the operation of ${line}.  The text of ${line} belongs to ${txn} from now
 * on, or is freed. */
static hf_status add_line(struct txn *txn, struct hf_tool_line *line,
                          struct hf_error *error)
{
    const struct hf_zookeeper_opts limits = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_op op;
    struct hf_error why;
    hf_status status = hf_tool_parse_txn_line(line->text, &op, &why);

    if (status != HF_OK)
        (void)hf_error_set(error, status, "line %lu: %s", line->number,
                           why.text);
    else if (txn->bytes + line->bytes > 4 * limits.max_request_bytes)
        status = hf_error_set(error, HF_EINVAL,
                              "line %lu: the transaction is larger than "
                              "ZooKeeper takes; expected at most %zu bytes",
                              line->number, limits.max_request_bytes);
    else if (op.kind != 0 && !make_room(txn))
        status = hf_error_set(error, HF_ENOMEM, "no memory is left");
    if (status != HF_OK || op.kind == 0) {
        hf_free(line->text);
        return status;
    }
    txn->bytes += line->bytes;
    txn->ops[txn->count] = op;
    txn->lines[txn->count++] = *line;
    return HF_OK;
}

/* Read all lines of ${in}. */
static hf_status read_lines(FILE *in, struct txn *txn, struct hf_error *error)
{
    struct hf_tool_line line = {NULL, 0, 0};
    hf_status status;

    while ((status = hf_tool_line_read(in, &line, error)) == HF_OK) {
        status = add_line(txn, &line, error);
        if (status != HF_OK)
            return status;
    }
    if (status != HF_EGONE)
        return status;
    if (txn->count > 0)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "there is no operation in it; expected a line such as: "
                        "set /a DATA");
}

/* ---------------------------------------------------------- transaction -- */

static const char *name_of(enum hf_zookeeper_op_kind kind)
{
    switch ((int)kind) {
    case HF_ZOOKEEPER_CHECK:
        return "check";
    case HF_ZOOKEEPER_CREATE:
        return "create";
    case HF_ZOOKEEPER_SET:
        return "set";
    default:
        return "delete";
    }
}

static void print_json(const struct txn *txn,
                       const struct hf_zookeeper_result *result)
{
    struct hf_json json = {.out = stdout};

    hf_json_begin_list(&json, NULL);
    for (size_t i = 0; i < result->result_count; i++) {
        const struct hf_zookeeper_result *one = result->results[i];

        hf_json_begin_object(&json, NULL);
        hf_json_number(&json, "line", txn->lines[i].number);
        hf_json_string(&json, "operation", name_of(txn->ops[i].kind));
        hf_json_string(&json, "path",
                       one->path != NULL ? one->path : txn->ops[i].path);
        if (one->has_stat)
            hf_tool_json_stat(&json, "stat", &one->stat);
        hf_json_end_object(&json);
    }
    hf_json_end_list(&json);
}

static int print(const struct options *options, const struct txn *txn,
                 const struct hf_zookeeper_result *result)
{
    if (options->common.json) {
        print_json(txn, result);
        return hf_command_line_end_output();
    }
    for (size_t i = 0; i < result->result_count; i++) {
        if (result->results[i]->path == NULL)
            continue;
        hf_tool_print_word(stdout, result->results[i]->path);
        putchar('\n');
    }
    return hf_command_line_end_output();
}

/* Print which line made the transaction fail. */
static int fail(const struct txn *txn, hf_status status,
                const struct hf_zookeeper_result *result)
{
    if (result == NULL)
        return hf_tool_fail(status);
    for (size_t i = 0; i < result->result_count; i++) {
        const struct hf_zookeeper_result *one = result->results[i];

        if (one->status == HF_OK || one->status == HF_ECANCELLED)
            continue;
        hf_ui_print("line %lu: %s; nothing was carried out",
                    txn->lines[i].number, hf_tool_text_in_multi(one));
        return hf_tool_exit_status(status);
    }
    return hf_tool_fail(status);
}

static int carry_out(struct hf_tool *tool, const struct options *options,
                     const struct txn *txn)
{
    struct hf_zookeeper_result *result;
    hf_status status;
    int exit_code;

    assert(txn->ops != NULL);
    status = hf_zookeeper_multi(tool->zookeeper, txn->ops, txn->count,
                                hf_tool_wait(tool), &result);
    exit_code = status == HF_OK ? print(options, txn, result)
                                : fail(txn, status, result);
    hf_zookeeper_result_free(result);
    return exit_code;
}

/* Read the file.  Returns the exit status. */
static int read_file(const struct options *options, struct txn *txn)
{
    FILE *in = hf_tool_input_open(options->file);
    struct hf_error error;
    hf_status status;

    if (in == NULL)
        return HF_EXIT_NO_INPUT;
    status = read_lines(in, txn, &error);
    hf_tool_input_close(in);
    if (status == HF_OK)
        return 0;
    hf_ui_print_error(&error);
    return status == HF_ENOMEM ? HF_EXIT_LIMIT : HF_EXIT_DATA;
}

int hf_tool_txn_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct txn txn = {.count = 0};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_txn_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    exit_code = read_file(&options, &txn);
    if (exit_code == 0)
        exit_code = hf_tool_open(&options.common, &tool)
                        ? hf_tool_close(&tool, carry_out(&tool, &options, &txn))
                        : tool.exit_code;
    free_txn(&txn);
    return exit_code;
}
