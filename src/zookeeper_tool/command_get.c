/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk get: print the data of a node, byte for byte.  Unprintable
 * characters are replaced only on a terminal. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    const char *file; /* NULL: standard output */
    bool stat;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('o', "output", "FILE", hf_option_text, FIELD(file),
              .help = "write the data to FILE"),
    HF_OPTION('s', "stat", NULL, hf_option_set, FIELD(stat), .set = true,
              .help = "print the Stat, too, on standard error"),
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_get_command = {
    .name = "zk get",
    .synopsis = "[OPTION...] PATH",
    .about = "Print the data of the node PATH, byte for byte.  On a terminal, "
             "what\ncannot be shown is replaced, and a newline is added.\n",
    .notes = "--json has the data in base64, and null if they are absent, "
             "which is not\nthe same as no bytes.  The exit status is 1 if "
             "there is no such node.\nSee holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
};

/* ------------------------------------------------------------------ get -- */

static int print_json(FILE *out, const struct options *options,
                      const struct hf_zookeeper_result *result)
{
    struct hf_json json = {.out = out};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "path", options->path);
    if (!hf_tool_json_data(&json, result->data, result->bytes))
        return hf_tool_fail_memory();
    hf_tool_json_stat(&json, "stat", &result->stat);
    hf_json_end_object(&json);
    return 0;
}

/* Write what was read to ${out}. */
static int print(FILE *out, const struct options *options,
                 const struct hf_zookeeper_result *result)
{
    if (options->common.json)
        return print_json(out, options, result);
    if (out == stdout && isatty(STDOUT_FILENO))
        hf_tool_print_data_on_terminal(out, result->data, result->bytes);
    else if (result->bytes > 0)
        fwrite(result->data, 1, result->bytes, out);
    if (options->stat)
        hf_tool_print_stat(stderr, &result->stat);
    return 0;
}

static int print_to_file(const struct options *options,
                         const struct hf_zookeeper_result *result)
{
    FILE *out = fopen(options->file, "we");
    int exit_code = 0;

    if (out != NULL) {
        bool failed;

        exit_code = print(out, options, result);
        failed = ferror(out) != 0;
        if (fclose(out) == 0 && !failed)
            return exit_code;
    }
    hf_ui_print("%.200s cannot be written: %s; expected a file", options->file,
                strerror(errno));
    return HF_EXIT_DIRECTORY;
}

static int get(struct hf_tool *tool, const struct options *options)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_get(tool->zookeeper, options->path,
                                        hf_tool_wait(tool), &result);
    int exit_code;

    if (status != HF_OK) {
        exit_code = hf_tool_fail(status);
    } else if (options->file != NULL) {
        exit_code = print_to_file(options, result);
    } else {
        exit_code = print(stdout, options, result);
        if (exit_code == 0)
            exit_code = hf_command_line_end_output();
    }
    hf_zookeeper_result_free(result);
    return exit_code;
}

int hf_tool_get_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_get_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, get(&tool, &options));
}
