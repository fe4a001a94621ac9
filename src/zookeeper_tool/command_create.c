/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast zk create: create a node.  An ephemeral node exists only while the
 * command has its session, so for such a node the command waits for a
 * signal. */
#include "zookeeper_tool/commands.h"
#include "zookeeper_tool/input.h"
#include "zookeeper_tool/output.h"
#include "zookeeper_tool/tool.h"

#include "base/error.h"
#include "command/exit_status.h"
#include "command/ui.h"

struct options {
    struct hf_tool_common common;
    const char *path;
    const char *word; /* DATA, or NULL */
    const char *file; /* or NULL */
    bool ephemeral, sequential, container, parents;
    uint64_t ttl_ms; /* NO_TTL: none */
    enum hf_zookeeper_mode mode;
};

#define NO_TTL UINT64_MAX
/* The most that fits into the 40 bits in which a server keeps it
 * (EphemeralType.java). */
#define TTL_MAX_MS ((UINT64_C(1) << 40) - 1)

#define FIELD(field) HF_OPTION_FIELD(struct options, field)

static const char one_kind[] =
    "--ephemeral, --container and --ttl contradict each other: give one";

static const struct hf_option_row rows[] = {
    HF_TOOL_OPTIONS,
    HF_OPTION('f', "file", "FILE", hf_option_text, FIELD(file),
              .help = "read the data from FILE"),
    HF_OPTION('e', "ephemeral", NULL, hf_option_set, FIELD(ephemeral),
              .set = true, .one_of = one_kind,
              .help = "delete the node when this command ends, which waits for "
                      "a signal"),
    HF_OPTION('s', "sequential", NULL, hf_option_set, FIELD(sequential),
              .set = true,
              .help = "the servers append ten digits that rise to the name"),
    HF_OPTION('C', "container", NULL, hf_option_set, FIELD(container),
              .set = true, .one_of = one_kind,
              .help = "the servers delete the node some time after its last "
                      "child"),
    HF_OPTION('t', "ttl", "DURATION", hf_option_duration, FIELD(ttl_ms),
              .one_of = one_kind,
              .help = "the servers delete the node after so long without a "
                      "change and without children"),
    HF_OPTION('p', "parents", NULL, hf_option_set, FIELD(parents), .set = true,
              .help = "create the nodes above it that are missing"),
    HF_TOOL_JSON_OPTION,
};

/* Set .mode by the options.  HF_EINVAL if they contradict each other. */
static hf_status choose_mode(struct options *options, struct hf_error *error)
{
    bool sequential = options->sequential;

    if (options->container && sequential)
        return hf_error_set(error, HF_EINVAL,
                            "--container and --sequential: ZooKeeper has no "
                            "such nodes; expected one of the two");
    if (options->ttl_ms != NO_TTL &&
        (options->ttl_ms == 0 || options->ttl_ms > TTL_MAX_MS))
        return hf_error_set(error, HF_EINVAL,
                            "--ttl: expected from 1ms to 12725d, which is what "
                            "servers can keep");
    if (options->ephemeral)
        options->mode = sequential ? HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL
                                   : HF_ZOOKEEPER_EPHEMERAL;
    else if (options->ttl_ms != NO_TTL)
        options->mode =
            sequential ? HF_ZOOKEEPER_TTL_SEQUENTIAL : HF_ZOOKEEPER_TTL;
    else if (options->container)
        options->mode = HF_ZOOKEEPER_CONTAINER;
    else
        options->mode =
            sequential ? HF_ZOOKEEPER_SEQUENTIAL : HF_ZOOKEEPER_PERSISTENT;
    return HF_OK;
}

static hf_status check(const struct hf_command_line *line, void *read_options,
                       struct hf_error *error)
{
    struct options *options = read_options;
    hf_status status;

    (void)line;
    if (options->word != NULL && options->file != NULL)
        return hf_error_set(error, HF_EINVAL,
                            "DATA and --file are two sources of data; expected "
                            "at most one");
    status = choose_mode(options, error);
    if (status == HF_OK)
        status =
            hf_tool_check_new_path(options->path, options->sequential, error);
    return status;
}

const struct hf_command hf_tool_create_command = {
    .name = "zk create",
    .synopsis = "[OPTION...] PATH [DATA|-]",
    .about = "Create the node PATH with DATA, or with standard input if DATA "
             "is '-';\nwithout DATA they are absent.  Prints the path of the "
             "new node.\n",
    .notes = "The access list is that of acl= of the URL.  The exit status is "
             "1 if the\nnode is there already, or has no parent.  See "
             "holdfast-zk(1).\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .operands = {HF_OPERAND("PATH", struct options, path),
                 HF_OPERAND("DATA", struct options, word, .is_optional = true)},
    .check = check,
};

/* --------------------------------------------------------------- create -- */

/* Create the node; with --parents also those above it. */
static hf_status create(struct hf_tool *tool, const struct options *options,
                        const struct hf_tool_data *data,
                        struct hf_zookeeper_result **result)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_CREATE,
        .path = options->path,
        .data = data->data,
        .bytes = data->bytes,
        .mode = options->mode,
        .ttl_ms = options->ttl_ms == NO_TTL ? 0 : options->ttl_ms,
    };
    hf_status status =
        hf_zookeeper_run(tool->zookeeper, &op, hf_tool_wait(tool), result);

    if (status != HF_EGONE || !options->parents)
        return status;
    hf_zookeeper_result_free(*result);
    *result = NULL;
    status = hf_tool_create_parents(tool, options->path);
    if (status != HF_OK)
        return status;
    return hf_zookeeper_run(tool->zookeeper, &op, hf_tool_wait(tool), result);
}

/* Print the path of the new node. */
static int print(const struct options *options,
                 const struct hf_zookeeper_result *result)
{
    struct hf_json json = {.out = stdout};

    if (options->common.json) {
        hf_json_begin_object(&json, NULL);
        hf_json_string(&json, "path", result->path);
        if (result->has_stat)
            hf_tool_json_stat(&json, "stat", &result->stat);
        hf_json_end_object(&json);
    } else {
        hf_tool_print_word(stdout, result->path);
        putchar('\n');
    }
    return hf_command_line_end_output();
}

/* Wait until a signal arrives; meanwhile the session keeps the ephemeral node.
 * Returns the exit status. */
static int keep(struct hf_tool *tool, int signal_fd)
{
    while (!tool->was_lost)
        if (hf_tool_dispatch(tool, signal_fd))
            return 0;
    hf_ui_print("the session is over, and with it the node; expected the "
                "servers to be reached within the session timeout; create it "
                "again");
    return HF_EXIT_LOST;
}

static int create_and_print(struct hf_tool *tool, const struct options *options,
                            const struct hf_tool_data *data, int signal_fd)
{
    struct hf_zookeeper_result *result;
    hf_status status = create(tool, options, data, &result);
    int exit_code =
        status == HF_OK ? print(options, result) : hf_tool_fail(status);

    hf_zookeeper_result_free(result);
    if (exit_code == 0 && options->ephemeral)
        exit_code = keep(tool, signal_fd);
    return exit_code;
}

int hf_tool_create_main(int argc, char **argv)
{
    struct options options = {.common = HF_TOOL_COMMON_INIT, .ttl_ms = NO_TTL};
    struct hf_tool_data data;
    struct hf_tool tool;
    int exit_code, signal_fd = -1;

    if (!hf_command_line_read(&hf_tool_create_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    exit_code = hf_tool_data_read(options.word, options.file, &data);
    if (exit_code != 0)
        return exit_code;
    if (options.ephemeral && (signal_fd = hf_tool_signal_fd()) < 0)
        exit_code = HF_EXIT_LIMIT;
    else if (!hf_tool_open(&options.common, &tool))
        exit_code = tool.exit_code;
    else
        exit_code = hf_tool_close(
            &tool, create_and_print(&tool, &options, &data, signal_fd));
    hf_tool_data_free(&data);
    return exit_code;
}
