/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk rm: delete a node, or a tree from its leaves up.  The deletes of
 * a tree are started in order, without waiting for each.  It is no error if a
 * node of the tree is gone already. */
#include <inttypes.h>
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
    bool recursive, dry_run, force;
    int32_t version;
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('r', "recursive", NULL, hf_option_set, .also = 'R',
              FIELD(recursive), .set = true,
              .help = "delete what is below it, too"),
    HF_OPTION('n', "dry-run", NULL, hf_option_set, FIELD(dry_run), .set = true,
              .help = "with -r: print what would be deleted, and delete "
                      "nothing"),
    HF_OPTION('F', "force", NULL, hf_option_set, FIELD(force), .set = true,
              .help = "with -r: also if PATH is /"),
    HF_OPTION('V', "version", "N", hf_tool_option_version, FIELD(version),
              .help = "only if the data have this version"),
    HF_TOOL_JSON_OPTION,
};

/* Do the options go together? */
static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct options *options = read_options;

    (void)line;
    bool is_root = strcmp(options->path, "/") == 0;

    if (options->recursive && options->version != HF_ZOOKEEPER_ANY_VERSION)
        return hf_error_set(error, HF_EINVAL,
                            "--version is of one node; expected it without "
                            "--recursive");
    if (!options->recursive && (options->dry_run || options->force))
        return hf_error_set(error, HF_EINVAL,
                            "%s is for a tree; expected it with --recursive",
                            options->dry_run ? "--dry-run" : "--force");
    if (is_root && options->recursive && !options->force && !options->dry_run)
        return hf_error_set(error, HF_EINVAL,
                            "rm -r / deletes all nodes there are; expected "
                            "another path, or --force if you mean it; "
                            "--dry-run shows them");
    return HF_OK;
}

const struct hf_command hf_tool_rm_command = {
    .name = "zk rm",
    .synopsis = "[OPTION...] PATH",
    .about = "Delete the node PATH; with --recursive also all nodes below it, "
             "and print\nhow many.\n",
    .notes = "With --recursive --force /, the node / itself and /zookeeper "
             "stay.  The\nexit status is 1 if there is no such node, if it has "
             "another version, or\nif it has children.  See holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
    .check = check,
};

/* ------------------------------------------------------------ recursive -- */

struct removal {
    const struct options *options;
    struct hf_tool_window window;
    uint64_t deleted; /* nodes that were deleted; with --dry-run, that would
                         be */
    uint64_t unsure;  /* deletes without an answer, which may have been carried
                         out */
};

static void on_result(void *arg, size_t tag,
                      const struct hf_zookeeper_result *result)
{
    struct removal *removal = arg;

    (void)tag;
    if (result->status == HF_OK)
        removal->deleted++;
    if (result->status == HF_EUNSURE)
        removal->unsure++;
}

/* A node that cannot be read ends the command: its children are not known, so
 * it cannot be deleted. */
static hf_status enter(void *arg, const struct hf_tool_node *node)
{
    struct removal *removal = arg;

    if (node->status == HF_OK)
        return HF_OK;
    return hf_error_set(&removal->window.error, node->status, "%s", node->text);
}

/* Start the delete of ${node}.  The deletes of all nodes below it were started
 * before, and servers carry them out in that order. */
static hf_status leave(void *arg, const struct hf_tool_node *node)
{
    struct removal *removal = arg;
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_DELETE,
                                       .path = node->path,
                                       .version = HF_ZOOKEEPER_ANY_VERSION};

    /* Servers do not delete their root, and a chroot is not ours to delete. */
    if (strcmp(node->path, "/") == 0)
        return HF_OK;
    if (!removal->options->dry_run)
        return hf_tool_window_start(&removal->window, &op, 0);
    removal->deleted++;
    if (!removal->options->common.json) {
        hf_tool_print_word(stdout, node->path);
        putchar('\n');
    }
    return HF_OK;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Print how many nodes were deleted. */
static int print_count(const struct removal *removal)
{
    const struct options *options = removal->options;
    struct hf_json json = {.out = stdout};

    if (options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_number(&json, "deleted", removal->deleted);
        hf_json_bool(&json, "dry_run", options->dry_run);
        hf_json_end_object(&json);
    } else if (options->dry_run) {
        hf_ui_log(HF_LOG_INFO,
                  "%" PRIu64 " node%s would be deleted; nothing was",
                  removal->deleted, plural(removal->deleted));
    } else {
        printf("deleted %" PRIu64 " node%s\n", removal->deleted,
               plural(removal->deleted));
    }
    return hf_command_line_end_output();
}

/* Print ${error}, and behind it how many nodes were deleted, or may have been,
 * if there are any. */
static int fail_removal(const struct removal *removal,
                        const struct hf_error *error)
{
    int exit_code = hf_tool_fail_error(error);

    if (removal->options->dry_run || removal->deleted + removal->unsure == 0)
        return exit_code;
    if (removal->unsure == 0)
        hf_ui_print("%" PRIu64 " node%s deleted before that; run it again for "
                    "the rest",
                    removal->deleted,
                    removal->deleted == 1 ? " was" : "s were");
    else
        hf_ui_print("%" PRIu64 " node%s deleted before that, and %" PRIu64
                    " may have been; run it again for the rest",
                    removal->deleted, removal->deleted == 1 ? " was" : "s were",
                    removal->unsure);
    return exit_code;
}

static int remove_tree(struct hf_tool *tool, const struct options *options)
{
    struct removal removal = {.options = options};
    const struct hf_tool_walk walk = {.skip_system = true,
                                      .depth_max = UINT_MAX,
                                      .enter = enter,
                                      .leave = leave,
                                      .arg = &removal};
    struct hf_error error = {HF_OK, ""};
    hf_status walked, deleted;

    hf_tool_window_init(&removal.window, tool, HF_EGONE, on_result, &removal);
    walked = hf_tool_walk_tree(tool, options->path, &walk, &error);
    deleted = hf_tool_window_finish(&removal.window);
    if (deleted != HF_OK)
        return fail_removal(&removal, &removal.window.error);
    if (walked != HF_OK)
        return fail_removal(&removal, &error);
    return print_count(&removal);
}

/* ------------------------------------------------------------- one node -- */

static int remove_one(struct hf_tool *tool, const struct options *options)
{
    hf_status status = hf_zookeeper_delete(
        tool->zookeeper, options->path, options->version, hf_tool_wait(tool));
    struct removal removal = {.options = options, .deleted = 1};

    if (status == HF_OK)
        return options->common.json ? print_count(&removal) : 0;
    return hf_tool_fail(status);
}

int hf_tool_rm_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT,
                              .version = HF_ZOOKEEPER_ANY_VERSION};
    struct hf_tool tool;
    int exit_code;

    if (!hf_command_line_read(&hf_tool_rm_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, options.recursive
                                    ? remove_tree(&tool, &options)
                                    : remove_one(&tool, &options));
}
