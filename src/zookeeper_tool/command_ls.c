/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk ls: list the children of a node, or all nodes below it. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"
#include "zookeeper_tool/tree_walk.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    bool recursive, detailed;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('r', "recursive", NULL, hf_option_set, .also = 'R',
              FIELD(recursive), .set = true,
              .help = "list all nodes, PATH first, by their paths"),
    HF_OPTION('l', "long", NULL, hf_option_set, FIELD(detailed), .set = true,
              .help = "with version, bytes, children, mode and time of the "
                      "last change"),
    HF_TOOL_JSON_OPTION,
};

const struct hf_command hf_tool_ls_command = {
    .name = "zk ls",
    .synopsis = "[OPTION...] PATH",
    .about = "List the names of the children of the node PATH, in order.\n",
    .notes = "A name with a space, or with what cannot be shown, is in quotes. "
             " --json\nis a list of objects.  The exit status is 1 if there is "
             "no such node.\nSee holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
};

/* ----------------------------------------------------------------- list -- */

struct listing {
    const struct options *options;
    struct hf_json json;
    bool begun;    /* something was printed */
    int exit_code; /* 0, or the exit status for a node that could not be read */
};

static void begin(struct listing *listing)
{
    listing->begun = true;
    if (listing->options->common.json)
        hf_json_begin_list(&listing->json, NULL);
    else if (listing->options->detailed)
        printf("%8s %8s %8s %-10s %-20s %s\n", "VERSION", "BYTES", "CHILDREN",
               "MODE", "MODIFIED",
               listing->options->recursive ? "PATH" : "NAME");
}

static int end(struct listing *listing)
{
    int exit_code;

    if (listing->options->common.json)
        hf_json_end_list(&listing->json);
    exit_code = hf_command_line_end_output();
    return exit_code != 0 ? exit_code : listing->exit_code;
}

static void print_columns(const struct hf_zookeeper_stat *stat)
{
    char modified[HF_TOOL_TIME_BYTES];

    hf_tool_format_time(stat->modified_utc_ms, modified);
    printf("%8" PRId32 " %8" PRId32 " %8" PRId32 " %-10s %-20s ", stat->version,
           stat->bytes, stat->children, hf_tool_mode_of(stat), modified);
}

/* Print a node; ${stat} is NULL if it was not asked for. */
static void print_node(struct listing *listing, const char *key,
                       const char *name, const struct hf_zookeeper_stat *stat)
{
    if (listing->options->common.json) {
        hf_json_begin_object(&listing->json, NULL);
        hf_json_string(&listing->json, key, name);
        if (stat != NULL)
            hf_tool_json_stat(&listing->json, "stat", stat);
        hf_json_end_object(&listing->json);
        return;
    }
    if (stat != NULL)
        print_columns(stat);
    hf_tool_print_word(stdout, name);
    putchar('\n');
}

/* The name of ${node}, or its path. */
static const char *label_of(const struct listing *listing,
                            const struct hf_tool_node *node)
{
    return listing->options->recursive ? node->path
                                       : strrchr(node->path, '/') + 1;
}

static hf_status enter(void *arg, const struct hf_tool_node *node)
{
    struct listing *listing = arg;
    const struct options *options = listing->options;

    if (node->depth == 0)
        begin(listing);
    if (node->depth == 0 && !options->recursive)
        return HF_OK;
    if (node->status != HF_OK) {
        hf_ui_print("%s", node->text);
        listing->exit_code = hf_tool_exit_status(node->status);
    }
    print_node(listing, options->recursive ? "path" : "name",
               label_of(listing, node),
               options->detailed && node->status == HF_OK ? &node->stat : NULL);
    return HF_OK;
}

/* List nodes that are read one by one. */
static int list_nodes(struct hf_tool *tool, struct listing *listing)
{
    const struct hf_tool_walk walk = {
        .depth_max = listing->options->recursive ? UINT_MAX : 1,
        .enter = enter,
        .arg = listing};
    struct hf_error error = {HF_OK, ""};

    if (hf_tool_walk_tree(tool, listing->options->path, &walk, &error) != HF_OK)
        listing->exit_code = hf_tool_fail_error(&error);
    return listing->begun ? end(listing) : listing->exit_code;
}

/* Print the names of ${result}, in order. */
static int print_names(struct listing *listing,
                       const struct hf_zookeeper_result *result)
{
    size_t count = result->child_count;
    const char **names = hf_alloc((count + 1) * sizeof *names);

    if (names == NULL)
        return hf_tool_fail_memory();
    for (size_t i = 0; i < count; i++)
        names[i] = result->children[i];
    hf_tool_sort(names, count);
    begin(listing);
    for (size_t i = 0; i < count; i++)
        print_node(listing, "name", names[i], NULL);
    hf_free(names);
    return end(listing);
}

/* List only the names of the children, which are all in one answer. */
static int list_names(struct hf_tool *tool, struct listing *listing)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_children(
        tool->zookeeper, listing->options->path, hf_tool_wait(tool), &result);
    int exit_code =
        status == HF_OK ? print_names(listing, result) : hf_tool_fail(status);

    hf_zookeeper_result_free(result);
    return exit_code;
}

int hf_tool_ls_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT};
    struct listing listing = {.options = &options, .json = {.out = stdout}};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_ls_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, options.recursive || options.detailed
                                    ? list_nodes(&tool, &listing)
                                    : list_names(&tool, &listing));
}
