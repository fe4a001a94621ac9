/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk tree: print a node and all nodes below it, indented. */
#include <limits.h>
#include <string.h>

#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"
#include "zookeeper_tool/tree_walk.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    unsigned depth;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('d', "depth", "N", hf_option_number, FIELD(depth), .min = 1,
              .max = UINT_MAX, .help = "print N levels below PATH; else all"),
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_tree_command = {
    .name = "zk tree",
    .synopsis = "[OPTION...] PATH",
    .about = "Print the node PATH and all nodes below it, each level indented "
             "by two\nspaces.\n",
    .notes = "Behind a name stands its mode, if it is not persistent, and how "
             "many\nchildren are not shown.  --json nests objects.  The exit "
             "status is 1 if\nthere is no such node.  See holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
};

/* ----------------------------------------------------------------- tree -- */

struct printing {
    const struct options *options;
    struct hf_json json;
    int exit_code; /* 0, or the exit status for a node that could not be read */
};

/* The name of ${node}; for the first node its whole path. */
static const char *label_of(const struct hf_tool_node *node)
{
    return node->depth == 0 ? node->path : strrchr(node->path, '/') + 1;
}

static bool is_cut(const struct printing *printing,
                   const struct hf_tool_node *node)
{
    return node->depth == printing->options->depth && node->stat.children > 0;
}

static void print_line(const struct printing *printing,
                       const struct hf_tool_node *node)
{
    const char *mode = hf_tool_mode_of(&node->stat);

    for (unsigned i = 0; i < node->depth; i++)
        fputs("  ", stdout);
    hf_tool_print_word(stdout, label_of(node));
    if (strcmp(mode, "persistent") != 0)
        printf(" (%s)", mode);
    if (is_cut(printing, node))
        printf(" (%d %s)", (int)node->stat.children,
               node->stat.children == 1 ? "child" : "children");
    putchar('\n');
}

static void begin_object(struct printing *printing,
                         const struct hf_tool_node *node)
{
    struct hf_json *json = &printing->json;

    hf_json_begin_object(json, NULL);
    hf_json_string(json, "name", label_of(node));
    hf_json_string(json, "mode", hf_tool_mode_of(&node->stat));
    if (is_cut(printing, node))
        hf_json_signed(json, "children_not_shown", node->stat.children);
    hf_json_begin_list(json, "children");
}

static hf_status enter(void *arg, const struct hf_tool_node *node)
{
    struct printing *printing = arg;

    if (node->status != HF_OK) {
        hf_ui_print("%s", node->text);
        printing->exit_code = hf_tool_exit_status(node->status);
    }
    if (printing->options->common.json)
        begin_object(printing, node);
    else
        print_line(printing, node);
    return HF_OK;
}

static hf_status leave(void *arg, const struct hf_tool_node *node)
{
    struct printing *printing = arg;

    (void)node;
    if (printing->options->common.json) {
        hf_json_end_list(&printing->json);
        hf_json_end_object(&printing->json);
    }
    return HF_OK;
}

static int print_tree(struct hf_tool *tool, const struct options *options)
{
    struct printing printing = {.options = options, .json = {.out = stdout}};
    const struct hf_tool_walk walk = {.depth_max = options->depth,
                                      .enter = enter,
                                      .leave = leave,
                                      .arg = &printing};
    struct hf_error error = {HF_OK, ""};
    int exit_code;

    if (hf_tool_walk_tree(tool, options->path, &walk, &error) != HF_OK)
        printing.exit_code = hf_tool_fail_error(&error);
    exit_code = hf_command_line_end_output();
    return exit_code != 0 ? exit_code : printing.exit_code;
}

int hf_tool_tree_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT, .depth = UINT_MAX};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_tree_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, print_tree(&tool, &options));
}
