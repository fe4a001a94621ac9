/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast zk import: create the tree of an export, in transactions that are
 * small enough for the servers.
 *
 * The file is read twice.  The first time it is only checked to its end, so
 * that nothing is created from a file that was cut off or is invalid.
 *
 * All nodes of a transaction are created or none, and transactions follow in
 * the order of the file.  So after a failure all lines before some line were
 * imported, and no line from there on; the error names that line.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/import_file.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

/* The limits of a transaction.  A node that exceeds them by itself is sent
 * alone. */
#define BATCH_NODES 1000
#define BATCH_BYTES (512U << 10)

struct options {
    struct hf_tool_common common;
    const char *path;
    const char *file; /* NULL: standard input */
    bool dry_run, overwrite, parents;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('n', "dry-run", NULL, hf_option_set, FIELD(dry_run), .set = true,
              .help = "check the file, and which nodes are there; create "
                      "nothing"),
    HF_OPTION('O', "overwrite", NULL, hf_option_set, FIELD(overwrite),
              .set = true,
              .help = "replace data and access lists of nodes that are there; "
                      "else they are an error"),
    HF_OPTION('p', "parents", NULL, hf_option_set, FIELD(parents), .set = true,
              .help = "create the nodes above PATH that are missing"),
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_import_command = {
    .name = "zk import",
    .synopsis = "[OPTION...] PATH [FILE]",
    .about = "Create the node PATH and those below it as FILE, or standard "
             "input, has\nthem, which 'holdfast zk export' has written.  "
             "Ephemeral nodes are passed\nover.\n",
    .notes = "Nodes are created in transactions of at most 1000 nodes and 512 "
             "KiB; a\nfailure says how far it came.  The exit status is 1 if a "
             "node is there\nalready or has no parent, and 65 if the file "
             "makes no sense.  See\nholdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path),
                 HF_OPERAND("FILE", struct options, file, .is_optional = true)},
};

/* ---------------------------------------------------------------- batch -- */

/* An import, and the nodes that are to be in its next transaction. */
struct importing {
    struct hf_tool *tool;
    const struct options *options;
    struct hf_tool_import_node nodes[BATCH_NODES];
    bool there[BATCH_NODES]; /* the node exists at the server */
    struct hf_zookeeper_op ops[BATCH_NODES];
    size_t op_nodes[BATCH_NODES]; /* the index in .nodes of the node of each
                                     operation */
    size_t count, bytes;
    uint64_t created, replaced, skipped, transactions;
    struct hf_error error; /* its text names the line */
    bool unsure;           /* the transaction may have been carried out */
};

static void clear(struct importing *importing)
{
    for (size_t i = 0; i < importing->count; i++)
        hf_tool_import_node_free(&importing->nodes[i]);
    importing->count = importing->bytes = 0;
}

/* Fail because of ${node}. */
static hf_status fail_node(struct importing *importing,
                           const struct hf_tool_import_node *node,
                           hf_status status, const char *text)
{
    return hf_error_set(&importing->error, status, "line %lu: %s", node->line,
                        text);
}

static void on_exists(void *arg, size_t tag,
                      const struct hf_zookeeper_result *result)
{
    struct importing *importing = arg;

    importing->there[tag] = result->status == HF_OK;
}

/* Must it be known whether ${node} exists before its transaction is sent?
 * Always for "/", which exists unless the URL has a path. */
static bool is_looked_for(const struct importing *importing,
                          const struct hf_tool_import_node *node)
{
    return importing->options->overwrite || importing->options->dry_run ||
           strcmp(node->path, "/") == 0;
}

/* Set .there: find out which nodes of the batch exist. */
static hf_status look(struct importing *importing)
{
    struct hf_tool_window window;
    hf_status status = HF_OK;

    hf_tool_window_init(&window, importing->tool, HF_EGONE, on_exists,
                        importing);
    for (size_t i = 0; i < importing->count && status == HF_OK; i++) {
        const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                           .path = importing->nodes[i].path};

        importing->there[i] = false;
        if (is_looked_for(importing, &importing->nodes[i]))
            status = hf_tool_window_start(&window, &op, i);
    }
    status = hf_tool_window_finish(&window);
    if (status != HF_OK)
        importing->error = window.error;
    return status;
}

/* Fail because ${node} exists and --overwrite was not given. */
static hf_status fail_existing(struct importing *importing,
                               const struct hf_tool_import_node *node)
{
    return hf_error_set(&importing->error, HF_EEXISTS,
                        "line %lu: %s is there already; expected no such node, "
                        "or --overwrite",
                        node->line,
                        hf_quote(node->path, strlen(node->path)).text);
}

/* Add the operation for node number ${i}, if one is needed, to .ops, which has
 * ${*count} operations. */
static hf_status add_op(struct importing *importing, size_t i, size_t *count)
{
    const struct hf_tool_import_node *node = &importing->nodes[i];
    struct hf_zookeeper_op *op = &importing->ops[*count];

    if (importing->there[i] && !importing->options->overwrite)
        return strcmp(node->path, "/") == 0 ? HF_OK
                                            : fail_existing(importing, node);
    *op = node->create;
    if (importing->there[i])
        *op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_SET,
                                       .path = node->path,
                                       .data = node->create.data,
                                       .bytes = node->create.bytes,
                                       .version = HF_ZOOKEEPER_ANY_VERSION};
    importing->op_nodes[(*count)++] = i;
    return HF_OK;
}

/* A transaction has failed: set .error, with the line that made it fail. */
static hf_status fail_transaction(struct importing *importing, hf_status status,
                                  const struct hf_zookeeper_result *result)
{
    struct hf_error error;

    importing->unsure = status == HF_EUNSURE;
    for (size_t i = 0; result != NULL && i < result->result_count; i++) {
        const struct hf_zookeeper_result *one = result->results[i];
        const struct hf_tool_import_node *node =
            &importing->nodes[importing->op_nodes[i]];

        if (one->status == HF_EEXISTS)
            return fail_existing(importing, node);
        if (one->status != HF_OK && one->status != HF_ECANCELLED)
            return fail_node(importing, node, one->status,
                             hf_tool_text_in_multi(one));
    }
    hf_tool_error(&error);
    return fail_node(importing, &importing->nodes[0], status, error.text);
}

/* Carry out the first ${count} of .ops. */
static hf_status carry_out(struct importing *importing, size_t count)
{
    struct hf_zookeeper_result *result;
    hf_status status;

    if (count == 0)
        return HF_OK;
    importing->transactions++;
    if (importing->options->dry_run)
        return HF_OK;
    status = hf_zookeeper_multi(importing->tool->zookeeper, importing->ops,
                                count, hf_tool_wait(importing->tool), &result);
    if (status != HF_OK)
        status = fail_transaction(importing, status, result);
    hf_zookeeper_result_free(result);
    return status;
}

/* Set the access lists of nodes that existed before; that cannot be done in a
 * transaction. */
static hf_status set_acls(struct importing *importing, size_t count)
{
    struct hf_tool_window window;

    if (importing->options->dry_run)
        return HF_OK;
    hf_tool_window_init(&window, importing->tool, HF_OK, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct hf_tool_import_node *node =
            &importing->nodes[importing->op_nodes[i]];
        const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SET_ACL,
                                           .path = node->path,
                                           .acls = node->create.acls,
                                           .acl_count = node->create.acl_count,
                                           .version = HF_ZOOKEEPER_ANY_VERSION};

        if (importing->ops[i].kind == HF_ZOOKEEPER_SET)
            (void)hf_tool_window_start(&window, &op, i);
    }
    if (hf_tool_window_finish(&window) == HF_OK)
        return HF_OK;
    importing->error = window.error;
    return window.error.status;
}

/* Import the batch, and begin the next one. */
static hf_status flush(struct importing *importing)
{
    size_t count = 0;
    hf_status status = look(importing);

    for (size_t i = 0; i < importing->count && status == HF_OK; i++)
        status = add_op(importing, i, &count);
    if (status == HF_OK)
        status = carry_out(importing, count);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        if (importing->ops[i].kind == HF_ZOOKEEPER_SET)
            importing->replaced++;
        else
            importing->created++;
    if (status == HF_OK)
        status = set_acls(importing, count);
    if (status == HF_OK)
        clear(importing);
    return status;
}

/* Add ${node} to the batch, which is imported before if it is full. */
static hf_status add_node(struct importing *importing,
                          const struct hf_tool_import_node *node)
{
    hf_status status = HF_OK;

    if (importing->count == BATCH_NODES ||
        (importing->count > 0 && importing->bytes + node->bytes > BATCH_BYTES))
        status = flush(importing);
    if (status != HF_OK)
        return status;
    importing->nodes[importing->count++] = *node;
    importing->bytes += node->bytes;
    return HF_OK;
}

/* ------------------------------------------------------------------ all -- */

/* Read all nodes of ${file}, and import them. */
static hf_status import_nodes(struct importing *importing,
                              struct hf_tool_import_file *file)
{
    struct hf_tool_import_node node;
    hf_status status;

    while ((status = hf_tool_import_next(file, &node, &importing->error)) ==
           HF_OK) {
        if (node.create.kind == 0) {
            importing->skipped++;
            hf_tool_import_node_free(&node);
            continue;
        }
        status = add_node(importing, &node);
        if (status != HF_OK) {
            hf_tool_import_node_free(&node);
            return status;
        }
    }
    return status == HF_EGONE ? flush(importing) : status;
}

/* Print what was done. */
static int print_counts(const struct importing *importing)
{
    bool dry_run = importing->options->dry_run;
    struct hf_json json = {.out = stdout};

    if (importing->options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_number(&json, "created", importing->created);
        hf_json_number(&json, "replaced", importing->replaced);
        hf_json_number(&json, "ephemeral_skipped", importing->skipped);
        hf_json_number(&json, "transactions", importing->transactions);
        hf_json_bool(&json, "dry_run", dry_run);
        hf_json_end_object(&json);
    } else {
        printf("%s: %" PRIu64 ", %s: %" PRIu64
               ", ephemeral nodes passed over: %" PRIu64
               ", transactions: %" PRIu64 "\n",
               dry_run ? "would create" : "created", importing->created,
               dry_run ? "would replace" : "replaced", importing->replaced,
               importing->skipped, importing->transactions);
    }
    return hf_command_line_end_output();
}

/* Print ${error}.  Returns the exit status. */
static int print_error(const struct hf_error *error)
{
    hf_ui_print_error(error);
    return error->status == HF_EINVAL ? HF_EXIT_DATA
                                      : hf_tool_exit_status(error->status);
}

/* Print why the import failed, and what was imported before that. */
static int fail(const struct importing *importing)
{
    int exit_code = print_error(&importing->error);

    if (importing->options->dry_run)
        return exit_code;
    hf_ui_print("%" PRIu64 " nodes were created and %" PRIu64
                " replaced before that",
                importing->created, importing->replaced);
    if (importing->unsure)
        hf_ui_print("the next %zu nodes, from line %lu on, may have been, too; "
                    "look before you import them again",
                    importing->count, importing->nodes[0].line);
    else if (importing->count > 0)
        hf_ui_print("the nodes from line %lu on were not imported",
                    importing->nodes[0].line);
    return exit_code;
}

/* Check that the parent of PATH exists. */
static hf_status check_parent(struct importing *importing)
{
    const char *path = importing->options->path;
    size_t length = (size_t)(strrchr(path, '/') - path);
    char *above = hf_strdup(length == 0 ? "/" : path);
    hf_status status;

    if (above == NULL)
        return hf_error_set(&importing->error, HF_ENOMEM, "no memory is left");
    above[length == 0 ? 1 : length] = '\0';
    status = hf_zookeeper_exists(importing->tool->zookeeper, above,
                                 hf_tool_wait(importing->tool), NULL);
    /* "/" is missing if it is the path of the URL. */
    if (status == HF_EGONE)
        (void)hf_error_set(&importing->error, status,
                           "there is no node %s to import below; expected it, "
                           "or --parents",
                           hf_quote(above, strlen(above)).text);
    else if (status != HF_OK)
        hf_tool_error(&importing->error);
    hf_free(above);
    return status;
}

/* Check that the parent of PATH exists; with --parents, create it if it does
 * not. */
static hf_status prepare(struct importing *importing)
{
    const struct options *options = importing->options;
    hf_status status;

    if (strcmp(options->path, "/") == 0)
        return HF_OK;
    if (!options->parents)
        return check_parent(importing);
    if (options->dry_run)
        return HF_OK;
    status = hf_tool_create_parents(importing->tool, options->path);
    if (status != HF_OK)
        hf_tool_error(&importing->error);
    return status;
}

/* Check ${file} to its end before anything is imported: all lines must be
 * valid, and the last line must be there.  Returns 0, or the exit status after
 * printing an error. */
static int check_input(struct hf_tool_import_file file)
{
    long begin = ftell(file.in);
    struct hf_error error;
    hf_status status = hf_tool_import_begin(&file, &error);

    while (status == HF_OK) {
        struct hf_tool_import_node node;

        status = hf_tool_import_next(&file, &node, &error);
        if (status == HF_OK)
            hf_tool_import_node_free(&node);
    }
    if (status != HF_EGONE)
        return print_error(&error);
    if (fseek(file.in, begin, SEEK_SET) == 0)
        return 0;
    hf_ui_print("the input cannot be read twice: %s; expected a file",
                strerror(errno));
    return HF_EXIT_NO_INPUT;
}

static int import(struct hf_tool *tool, const struct options *options,
                  struct hf_tool_import_file *file)
{
    /* Static, because it is large; there is only one. */
    static struct importing importing;
    hf_status status;
    int exit_code;

    importing.tool = tool;
    importing.options = options;
    status = prepare(&importing);
    if (status == HF_OK)
        status = import_nodes(&importing, file);
    exit_code = status == HF_OK ? print_counts(&importing) : fail(&importing);
    clear(&importing);
    return exit_code;
}

int hf_tool_import_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct hf_tool_import_file file = {.in = NULL};
    struct hf_error error;
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_import_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    file.in = hf_tool_input_keep(hf_tool_input_open(options.file));
    file.base = options.path;
    if (file.in == NULL)
        return HF_EXIT_NO_INPUT;
    exit_code = check_input(file);
    if (exit_code == 0 && hf_tool_import_begin(&file, &error) != HF_OK)
        exit_code = print_error(&error);
    if (exit_code == 0)
        exit_code = hf_tool_open(&options.common, &tool)
                        ? hf_tool_close(&tool, import(&tool, &options, &file))
                        : tool.exit_code;
    hf_tool_input_close(file.in);
    return exit_code;
}
