/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk stat: print the Stat of a node. */
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

struct options {
    struct hf_tool_common common;
    const char *path;
};

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_stat_command = {
    .name = "zk stat",
    .synopsis = "[OPTION...] PATH",
    .about = "Print the Stat of the node PATH.\n",
    .notes = "The exit status is 1 if there is no such node.  See "
             "holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
};

static void print(const struct options *options,
                  const struct hf_zookeeper_stat *stat)
{
    struct hf_json json = {.out = stdout};

    if (!options->common.json) {
        hf_tool_print_stat(stdout, stat);
        return;
    }
    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "path", options->path);
    hf_tool_json_stat(&json, "stat", stat);
    hf_json_end_object(&json);
}

static int show(struct hf_tool *tool, const struct options *options)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_exists(tool->zookeeper, options->path,
                                           hf_tool_wait(tool), &result);

    if (status == HF_OK)
        print(options, &result->stat);
    hf_zookeeper_result_free(result);
    return status == HF_OK ? hf_command_line_end_output()
                           : hf_tool_fail(status);
}

int hf_tool_stat_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_stat_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, show(&tool, &options));
}
