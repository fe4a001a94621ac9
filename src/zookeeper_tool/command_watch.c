/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk watch: print the events of a node or a tree, a line for each,
 * until a signal arrives. */
#include <inttypes.h>

#include "base/error.h"
#include "base/quote.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

#include <string.h>

struct options {
    struct hf_tool_common common;
    const char *path;
    bool recursive, children;
    uint64_t count; /* end after this many events; UINT64_MAX: no limit */
};

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('r', "recursive", NULL, hf_option_set, .also = 'R',
              FIELD(recursive), .set = true,
              .help = "of all nodes below it, too"),
    HF_OPTION('k', "children", NULL, hf_option_set, FIELD(children),
              .set = true,
              .help = "also when a child of PATH is created or deleted"),
    HF_OPTION('N', "count", "N", hf_option_number, FIELD(count), .min = 1,
              .max = UINT64_MAX - 1, .help = "end after N events"),
    HF_TOOL_JSON_OPTION,
};

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    const struct options *options = read_options;

    (void)line;
    if (options->recursive && options->children)
        return hf_error_set(error, HF_EINVAL,
                            "--children and --recursive: a recursive watch "
                            "shows each child as a node that is created or "
                            "deleted; expected one of the two");
    return HF_OK;
}

const struct hf_command hf_tool_watch_command = {
    .name = "zk watch",
    .synopsis = "[OPTION...] PATH",
    .about =
        "Print a line for each event of the node PATH, which need not be "
        "there:\ncreated, changed or deleted, and the path.  Goes on until "
        "a signal comes.\n",
    .notes = "'resync' means that events may be missing: read again.  --json "
             "writes an\nobject on each line.  Needs servers from 3.6 on.  See "
             "holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_TOOL_PATH_OPERAND(struct options, path)},
    .check = check,
};

/* --------------------------------------------------------------- events -- */

struct watching {
    const struct options *options;
    uint64_t left; /* events that are still to be printed */
    bool failed;   /* standard output cannot be written to */
};

static const char *name_of(enum hf_zookeeper_event_kind kind)
{
    switch (kind) {
    case HF_ZOOKEEPER_CREATED:
        return "created";
    case HF_ZOOKEEPER_DELETED:
        return "deleted";
    case HF_ZOOKEEPER_CHANGED:
        return "changed";
    case HF_ZOOKEEPER_CHILDREN_CHANGED:
        return "children";
    case HF_ZOOKEEPER_RESYNC:
        return "resync";
    }
    return "resync"; /* an unknown event: the reader should read the node
                        again */
}

static void print_event(const struct options *options,
                        const struct hf_zookeeper_event *event)
{
    struct hf_json json = {.out = stdout, .one_line = true};

    if (options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_string(&json, "event", name_of(event->kind));
        hf_json_string(&json, "path", event->path);
        hf_json_end_object(&json);
        return;
    }
    printf("%s ", name_of(event->kind));
    hf_tool_print_word(stdout, event->path);
    putchar('\n');
}

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    struct watching *watching = arg;

    if (watching->left == 0 || (event->kind == HF_ZOOKEEPER_CHILDREN_CHANGED &&
                                !watching->options->children))
        return;
    watching->left--;
    print_event(watching->options, event);
    watching->failed = fflush(stdout) != 0;
}

/* Set the watch and print that, because a script must know from when on it sees
 * events. */
static hf_status set_watch(struct hf_tool *tool, const struct options *options,
                           struct hf_zookeeper_watch *watch)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH,
                                       .watch = watch};
    hf_status status =
        hf_zookeeper_run(tool->zookeeper, &op, hf_tool_wait(tool), NULL);

    if (status == HF_OK)
        hf_ui_log(HF_LOG_INFO, "watching %s",
                  hf_quote(options->path, strlen(options->path)).text);
    return status;
}

static int watch_node(struct hf_tool *tool, const struct options *options,
                      int signal_fd)
{
    struct watching watching = {.options = options, .left = options->count};
    const struct hf_zookeeper_on_event notify = {on_event, &watching, NULL};
    struct hf_zookeeper_watch *watch;
    int exit_code = 0;
    hf_status status = hf_zookeeper_watch_open(
        tool->zookeeper, options->path,
        options->recursive ? HF_ZOOKEEPER_WATCH_RECURSIVE
                           : HF_ZOOKEEPER_WATCH_PERSISTENT,
        notify, &watch);

    if (status == HF_OK)
        status = set_watch(tool, options, watch);
    if (status != HF_OK)
        exit_code = hf_tool_fail(status);
    else
        while (watching.left > 0 && !watching.failed &&
               !hf_tool_dispatch(tool, signal_fd))
            continue;
    hf_zookeeper_watch_free(watch);
    return exit_code != 0 ? exit_code : hf_command_line_end_output();
}

int hf_tool_watch_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT,
                              .count = UINT64_MAX};
    struct hf_tool tool;
    int exit_code, signal_fd;

    if (!hf_command_line_read(&hf_tool_watch_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    signal_fd = hf_tool_signal_fd();
    if (signal_fd < 0)
        return HF_EXIT_LIMIT;
    if (!hf_tool_open(&options.common, &tool))
        return tool.exit_code;
    return hf_tool_close(&tool, watch_node(&tool, &options, signal_fd));
}
