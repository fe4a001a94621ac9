/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk set: replace the data of a node; with --version only if the data
 * still have that version. */
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

#include "base/error.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    const char *word; /* DATA, or NULL */
    const char *file; /* or NULL */
    int32_t version;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('f', "file", "FILE", hf_option_text, FIELD(file),
              .help = "read the data from FILE"),
    HF_OPTION('V', "version", "N", hf_tool_option_version, FIELD(version),
              .help = "only if the data have this version"),
    HF_TOOL_JSON_OPTION,
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct options *options = read_options;

    (void)line;
    if ((options->word == NULL) == (options->file == NULL))
        return hf_error_set(error, HF_EINVAL,
                            "%s; expected DATA, - for standard input, or "
                            "--file FILE",
                            options->word == NULL ? "DATA is missing"
                                                  : "DATA and --file are two "
                                                    "sources of data");
    return HF_OK;
}

const struct hf_command hf_tool_set_command = {
    .name = "zk set",
    .synopsis = "[OPTION...] PATH DATA|-",
    .about = "Replace the data of the node PATH by DATA, or by standard input "
             "if DATA\nis '-'.\n",
    .notes = "The exit status is 1 if there is no such node, or if it has "
             "another\nversion.  See holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path),
                 HF_OPERAND("DATA", struct options, word, .is_optional = true)},
    .check = check,
};

static int set(struct hf_tool *tool, const struct options *options,
               const struct hf_tool_data *data)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_set(
        tool->zookeeper, options->path, data->data, data->bytes,
        options->version, hf_tool_wait(tool), &result);
    struct hf_json json = {.out = stdout};

    if (status == HF_OK && options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_string(&json, "path", options->path);
        hf_tool_json_stat(&json, "stat", &result->stat);
        hf_json_end_object(&json);
    }
    hf_zookeeper_result_free(result);
    return status != HF_OK ? hf_tool_fail(status)
                           : hf_command_line_end_output();
}

int hf_tool_set_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT,
                              .version = HF_ZOOKEEPER_ANY_VERSION};
    struct hf_tool_data data;
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_set_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    exit_code = hf_tool_data_read(options.word, options.file, &data);
    if (exit_code != 0)
        return exit_code;
    exit_code = hf_tool_open(&options.common, &tool)
                    ? hf_tool_close(&tool, set(&tool, &options, &data))
                    : tool.exit_code;
    hf_tool_data_free(&data);
    return exit_code;
}
