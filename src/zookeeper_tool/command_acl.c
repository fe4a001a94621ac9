/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk acl: access lists, as zkCli.sh writes them. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/operand.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"
#include "zookeeper_tool/tree_walk.h"

struct options {
    struct hf_tool_common common;
    const char *verb; /* get or set */
    const char *path;
    bool set; /* the verb is set */
    bool recursive;
    int32_t version;
    char **entries;
    struct hf_zookeeper_acl *acls; /* parsed from .entries */
    size_t count;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('r', "recursive", NULL, hf_option_set, .also = 'R',
              FIELD(recursive), .set = true,
              .help = "set it at all nodes below PATH, too"),
    HF_OPTION('V', "version", "N", hf_tool_option_version, FIELD(version),
              .help = "set it only if the present one has this version "
                      "(aclVersion)"),
    HF_TOOL_JSON_OPTION,
};

/* Parse the words behind "set PATH". */
static hf_status read_entries(struct options *options, struct hf_error *error)
{
    hf_status status = HF_OK;

    options->acls = hf_alloc((options->count + 1) * sizeof *options->acls);
    if (options->acls == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory is left");
    for (size_t i = 0; i < options->count && status == HF_OK; i++)
        status =
            hf_tool_parse_acl(options->entries[i], &options->acls[i], error);
    return status;
}

/* Do the options go together? */
static hf_status check_options(const struct options *options,
                               struct hf_error *error)
{
    if (!options->set &&
        (options->recursive || options->version != HF_ZOOKEEPER_ANY_VERSION))
        return hf_error_set(error, HF_EINVAL,
                            "%s is for acl set; expected acl get without it",
                            options->recursive ? "--recursive" : "--version");
    if (options->recursive && options->version != HF_ZOOKEEPER_ANY_VERSION)
        return hf_error_set(error, HF_EINVAL,
                            "--version is of one node; expected it without "
                            "--recursive");
    return HF_OK;
}

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct options *options = read_options;
    hf_status status;

    options->entries = line->argv + line->operands + 2;
    options->count = (size_t)(line->argc - line->operands - 2);
    options->set = strcmp(options->verb, "set") == 0;
    if (!options->set && strcmp(options->verb, "get") != 0)
        return hf_error_set(error, HF_EINVAL,
                            "'%.80s': expected get or set, as in holdfast zk "
                            "acl get /a",
                            options->verb);
    if (options->set && options->count == 0)
        return hf_command_line_missing(&hf_tool_acl_command, "ENTRY", error);
    if (!options->set && options->count > 0)
        return hf_command_line_too_many(&hf_tool_acl_command, "PATH",
                                        options->entries[0], error);
    status = check_options(options, error);
    return status == HF_OK && options->set ? read_entries(options, error)
                                           : status;
}

const struct hf_command hf_tool_acl_command = {
    .name = "zk acl",
    .synopsis = "[OPTION...] get PATH | set PATH ENTRY...",
    .about = "Print the access list of the node PATH, an entry on each line, "
             "or replace\nit.  An ENTRY is SCHEME:ID:PERMISSIONS, such as "
             "world:anyone:cdrwa; the\nletters are create, delete, read, write "
             "and admin.\n",
    .notes = "The exit status is 1 if there is no such node, or if its access "
             "list has\nanother version.  See holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("get or set", struct options, verb),
                 HF_TOOL_PATH_OPERAND(struct options, path)},
    .more_operands = true,
    .check = check,
};

/* ------------------------------------------------------------------ get -- */

static int print(const struct options *options,
                 const struct hf_zookeeper_result *result)
{
    struct hf_json json = {.out = stdout};

    if (options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_string(&json, "path", options->path);
        if (!hf_tool_json_acls(&json, result->acls, result->acl_count))
            return hf_tool_fail_memory();
        hf_tool_json_stat(&json, "stat", &result->stat);
        hf_json_end_object(&json);
        return 0;
    }
    for (size_t i = 0; i < result->acl_count; i++) {
        char *text = hf_tool_format_acl(&result->acls[i]);

        if (text == NULL)
            return hf_tool_fail_memory();
        hf_tool_print_word(stdout, text);
        putchar('\n');
        hf_free(text);
    }
    return 0;
}

static int get(struct hf_tool *tool, const struct options *options)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_get_acl(tool->zookeeper, options->path,
                                            hf_tool_wait(tool), &result);
    int exit_code =
        status == HF_OK ? print(options, result) : hf_tool_fail(status);

    hf_zookeeper_result_free(result);
    return exit_code != 0 ? exit_code : hf_command_line_end_output();
}

/* ------------------------------------------------------------------ set -- */

struct setting {
    const struct options *options;
    struct hf_tool_window window;
    uint64_t count; /* nodes whose list was set */
};

static void on_result(void *arg, size_t tag,
                      const struct hf_zookeeper_result *result)
{
    struct setting *setting = arg;

    (void)tag;
    if (result->status == HF_OK)
        setting->count++;
}

static hf_status set_at(struct setting *setting, const char *path)
{
    const struct options *options = setting->options;
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SET_ACL,
                                       .path = path,
                                       .acls = options->acls,
                                       .acl_count = options->count,
                                       .version = options->version};

    return hf_tool_window_start(&setting->window, &op, 0);
}

static hf_status enter(void *arg, const struct hf_tool_node *node)
{
    struct setting *setting = arg;

    if (node->status != HF_OK)
        return hf_error_set(&setting->window.error, node->status, "%s",
                            node->text);
    return HF_OK;
}

/* Lists are set from the leaves up, because a new list may deny us access to
 * the nodes below. */
static hf_status leave(void *arg, const struct hf_tool_node *node)
{
    return set_at(arg, node->path);
}

static int print_count(const struct setting *setting)
{
    struct hf_json json = {.out = stdout};

    if (setting->options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_number(&json, "set", setting->count);
        hf_json_end_object(&json);
    } else if (setting->options->recursive) {
        printf("set the access list of %" PRIu64 " node%s\n", setting->count,
               setting->count == 1 ? "" : "s");
    }
    return hf_command_line_end_output();
}

static int fail_setting(const struct setting *setting,
                        const struct hf_error *error)
{
    int exit_code = hf_tool_fail_error(error);

    if (setting->options->recursive && setting->count > 0)
        hf_ui_print("%" PRIu64 " access list%s set before that; run it again "
                    "for the rest",
                    setting->count, setting->count == 1 ? " was" : "s were");
    return exit_code;
}

static int set(struct hf_tool *tool, const struct options *options)
{
    struct setting setting = {.options = options};
    const struct hf_tool_walk walk = {.skip_system = true,
                                      .depth_max = UINT_MAX,
                                      .enter = enter,
                                      .leave = leave,
                                      .arg = &setting};
    struct hf_error error = {HF_OK, ""};
    hf_status status = HF_OK;

    hf_tool_window_init(&setting.window, tool,
                        options->recursive ? HF_EGONE : HF_OK, on_result,
                        &setting);
    if (options->recursive)
        status = hf_tool_walk_tree(tool, options->path, &walk, &error);
    else
        (void)set_at(&setting, options->path);
    if (hf_tool_window_finish(&setting.window) != HF_OK)
        return fail_setting(&setting, &setting.window.error);
    return status == HF_OK ? print_count(&setting)
                           : fail_setting(&setting, &error);
}

int hf_tool_acl_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT,
                              .version = HF_ZOOKEEPER_ANY_VERSION};
    struct hf_tool tool;
    int exit_code;

    if (hf_command_line_read(&hf_tool_acl_command, argc, argv, &options,
                             &exit_code)) {
        if (!hf_tool_open(&options.common, &tool))
            exit_code = tool.exit_code;
        else
            exit_code =
                hf_tool_close(&tool, options.set ? set(&tool, &options)
                                                 : get(&tool, &options));
    }
    hf_free(options.acls);
    return exit_code;
}
