/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast zk export: write a tree as lines of JSON.
 *
 * The first line says that the file is an export.  Then there is a line for
 * each node, parents before children; paths are relative to the exported node.
 * The last line has the number of nodes, so that a file that was cut off is
 * recognised.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"
#include "zookeeper_tool/tree_walk.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    const char *file; /* NULL: standard output */
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('o', "output", "FILE", hf_option_text, FIELD(file),
              .help = "write to FILE"),
};

const struct hf_command hf_tool_export_command = {
    .name = "zk export",
    .synopsis = "[OPTION...] PATH",
    .about = "Write the node PATH and all nodes below it as lines of JSON, "
             "with data in\nbase64 and access lists, for 'holdfast zk "
             "import'.  /zookeeper, which\nis the servers' own, is left out.\n",
    .notes = "It is no snapshot: nodes that change meanwhile are written as "
             "they were\nwhen they were read.  See holdfast-zk(1), which has "
             "the format.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
};

/* --------------------------------------------------------------- export -- */

struct exporting {
    const struct options *options;
    FILE *out;      /* NULL: not open yet */
    uint64_t count; /* nodes that were written */
    struct hf_error error;
};

/* The part of ${path} below the exported node, with a '/' at its start. */
static const char *path_below(const struct exporting *exporting,
                              const char *path)
{
    size_t length = strlen(exporting->options->path);

    if (strcmp(exporting->options->path, "/") == 0)
        return path;
    return path[length] == '\0' ? "/" : path + length;
}

static hf_status write_node(struct exporting *exporting,
                            const struct hf_tool_node *node)
{
    struct hf_json json = {.out = exporting->out, .one_line = true};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "path", path_below(exporting, node->path));
    hf_json_string(&json, "mode", hf_tool_mode_of(&node->stat));
    if (!hf_tool_json_acls(&json, node->acls, node->acl_count) ||
        !hf_tool_json_data(&json, node->data, node->bytes))
        return hf_error_set(&exporting->error, HF_ENOMEM, "no memory is left");
    hf_json_end_object(&json);
    exporting->count++;
    return HF_OK;
}

static void write_first_line(const struct exporting *exporting)
{
    struct hf_json json = {.out = exporting->out, .one_line = true};

    hf_json_begin_object(&json, NULL);
    hf_json_number(&json, "holdfast_zk_export", 1);
    hf_json_string(&json, "of", exporting->options->path);
    hf_json_end_object(&json);
}

/* Open the output and write the first line.  This is done only when the first
 * node was read, so that a failure before that does not overwrite the file. */
static hf_status begin(struct exporting *exporting)
{
    const char *file = exporting->options->file;

    exporting->out = file == NULL ? stdout : fopen(file, "we");
    if (exporting->out == NULL)
        return hf_error_set(&exporting->error, HF_EDIR,
                            "%.200s cannot be written: %s; expected a file",
                            file, strerror(errno));
    write_first_line(exporting);
    return HF_OK;
}

/* A node that cannot be read ends the export, because without it the copy would
 * be incomplete. */
static hf_status enter(void *arg, const struct hf_tool_node *node)
{
    struct exporting *exporting = arg;

    if (node->status != HF_OK)
        return hf_error_set(&exporting->error, node->status, "%s", node->text);
    if (node->depth == 0 && begin(exporting) != HF_OK)
        return exporting->error.status;
    if (ferror(exporting->out))
        return hf_error_set(&exporting->error, HF_EDIR,
                            "the output cannot be written; expected room "
                            "there");
    return write_node(exporting, node);
}

static void write_last_line(const struct exporting *exporting)
{
    struct hf_json json = {.out = exporting->out, .one_line = true};

    hf_json_begin_object(&json, NULL);
    hf_json_number(&json, "nodes", exporting->count);
    hf_json_end_object(&json);
}

/* Close the output.  Returns ${exit_code}, or the exit status of a failure to
 * write the output. */
static int end(const struct exporting *exporting, int exit_code)
{
    bool failed;

    if (exporting->out == NULL)
        return exit_code;
    if (exporting->out == stdout)
        return exit_code != 0 ? exit_code : hf_command_line_end_output();
    failed = ferror(exporting->out) != 0;
    if ((fclose(exporting->out) != 0 || failed) && exit_code == 0) {
        hf_ui_print("%.200s cannot be written: %s; expected room there",
                    exporting->options->file, strerror(errno));
        return HF_EXIT_DIRECTORY;
    }
    return exit_code;
}

static int export(struct hf_tool *tool, const struct options *options)
{
    struct exporting exporting = {.options = options};
    const struct hf_tool_walk walk = {.data = true,
                                      .acls = true,
                                      .skip_system = true,
                                      .depth_max = UINT_MAX,
                                      .enter = enter,
                                      .arg = &exporting};
    struct hf_error error = {HF_OK, ""};
    hf_status status = hf_tool_walk_tree(tool, options->path, &walk, &error);

    if (status != HF_OK)
        return end(&exporting,
                   hf_tool_fail_error(exporting.error.status != HF_OK
                                          ? &exporting.error
                                          : &error));
    write_last_line(&exporting);
    return end(&exporting, 0);
}

int hf_tool_export_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_export_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, export(&tool, &options));
}
