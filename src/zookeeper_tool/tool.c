/* SPDX-License-Identifier: Apache-2.0 */
/* See tool.h. */
#include "zookeeper_tool/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/url.h"
#include "client/client_url.h"
#include "command/clock.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/ui.h"

#define ANSWER_BYTES_MAX (64U << 20)

/* -------------------------------------------------------------- session -- */

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    hf_ui_log(level, "%s", line);
}

static void on_state(void *arg, enum hf_state state)
{
    struct hf_tool *tool = arg;

    if (state == HF_STATE_LOST)
        tool->was_lost = true;
}

/* Set ${url} to the URL of -c, or else of the environment; it is freed with
 * hf_client_url_free().  Fail if there is neither: unlike a lock, these
 * commands have no default engine. */
static hf_status take_url(const struct hf_tool_common *common, char **url,
                          struct hf_error *error)
{
    const char *given = common->url;
    hf_status status = HF_OK;

    *url = NULL;
    if (given == NULL)
        status = hf_client_url_of_environment(&given, error);
    if (status == HF_OK && given == NULL)
        status = hf_error_set(error, HF_EURL,
                              "no servers are named; expected -c "
                              "zk://HOST:PORT or HOLDFAST_URL in the "
                              "environment");
    return status == HF_OK ? hf_client_url_take(given, url, error) : status;
}

static hf_status open_session(const char *url, struct hf_tool *tool,
                              struct hf_error *error)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_url parsed;
    hf_status status = hf_url_parse(url, &parsed, error);

    if (status != HF_OK)
        return status;
    tool->has_chroot = parsed.path[0] != '\0' && strcmp(parsed.path, "/") != 0;
    hf_url_free(&parsed);
    opts.delivery = HF_DELIVER_DISPATCH;
    opts.connect_ms = tool->wait_ms;
    /* The names of a million children come in one answer. */
    opts.max_answer_bytes = ANSWER_BYTES_MAX;
    opts.on_state = (struct hf_on_state){on_state, tool, NULL};
    opts.on_log = (struct hf_on_log){on_log, NULL, HF_LOG_ERROR};
    status = hf_zookeeper_open(url, &opts, &tool->zookeeper);
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

bool hf_tool_open(const struct hf_tool_common *common, struct hf_tool *tool)
{
    struct hf_error error;
    hf_status status;
    char *url;

    *tool = (struct hf_tool){.wait_ms = common->wait_ms};
    hf_command_line_warn_password(common->url);
    status = take_url(common, &url, &error);
    if (status == HF_OK)
        status = open_session(url, tool, &error);
    hf_client_url_free(url);
    if (status == HF_OK)
        return true;
    tool->exit_code = hf_tool_fail_error(&error);
    return false;
}

uint64_t hf_tool_wait(const struct hf_tool *tool)
{
    if (hf_zookeeper_state(tool->zookeeper) == HF_STATE_CONNECTED)
        return tool->wait_ms;
    return hf_clock_add(tool->wait_ms, tool->wait_ms);
}

int hf_tool_close(struct hf_tool *tool, int exit_code)
{
    (void)hf_zookeeper_close(tool->zookeeper);
    return exit_code;
}

bool hf_tool_dispatch(struct hf_tool *tool, int fd)
{
    struct pollfd descriptors[] = {
        {hf_zookeeper_fd(tool->zookeeper), POLLIN, 0}, {fd, POLLIN, 0}};

    if (poll(descriptors, 2, -1) <= 0)
        return false;
    if (descriptors[0].revents != 0)
        (void)hf_zookeeper_dispatch(tool->zookeeper);
    return descriptors[1].revents != 0;
}

int hf_tool_signal_fd(void)
{
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (fd < 0)
        hf_ui_print("no descriptor for signals: %s; expected one more to be "
                    "allowed",
                    strerror(errno));
    return fd;
}

/* ------------------------------------------------------------- failures -- */

int hf_tool_exit_status(hf_status status)
{
    switch (status) {
    case HF_EGONE:
    case HF_EEXISTS:
    case HF_EVERSION:
    case HF_ENOTEMPTY:
        return HF_EXIT_CONDITION;
    default:
        return hf_exit_status(status);
    }
}

void hf_tool_error(struct hf_error *error)
{
    char text[HF_ERROR_TEXT_BYTES];

    hf_format_error(hf_last_error()->text, 0, text, sizeof text);
    (void)hf_error_set(error, hf_last_error()->status, "%s", text);
}

int hf_tool_fail(hf_status status)
{
    struct hf_error error;

    if (status == HF_ENOMEM)
        return hf_tool_fail_memory();
    hf_tool_error(&error);
    hf_ui_print("%s", error.text);
    return hf_tool_exit_status(status);
}

int hf_tool_fail_error(const struct hf_error *error)
{
    hf_ui_print_error(error);
    return hf_tool_exit_status(error->status);
}

const char *hf_tool_text_in_multi(const struct hf_zookeeper_result *result)
{
    const char *end = strstr(result->text, "]: ");

    return strncmp(result->text, ".ops[", 5) == 0 && end != NULL ? end + 3
                                                                 : result->text;
}

int hf_tool_fail_memory(void)
{
    hf_ui_print("no memory is left");
    return HF_EXIT_LIMIT;
}

/* ---------------------------------------------------------------- paths -- */

/* Create ${path} as a persistent node without data.  HF_OK also if it
 * exists. */
static hf_status create_plain(struct hf_tool *tool, const char *path)
{
    hf_status status =
        hf_zookeeper_create(tool->zookeeper, path, NULL, 0,
                            HF_ZOOKEEPER_PERSISTENT, hf_tool_wait(tool), NULL);

    return status == HF_EEXISTS ? HF_OK : status;
}

/* Cut ${path} at its last '/', so that it becomes the path of its parent.
 * False if that is "/". */
static bool cut(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* HF_OK if the node ${path} exists; HF_EGONE if not; another status if that is
 * not known. */
static hf_status look(struct hf_tool *tool, const char *path)
{
    hf_status status =
        hf_zookeeper_exists(tool->zookeeper, path, hf_tool_wait(tool), NULL);

    /* If this session may not read the node, the node exists. */
    return status == HF_EDENIED ? HF_OK : status;
}

hf_status hf_tool_create_parents(struct hf_tool *tool, const char *path)
{
    char *above = hf_strdup(path);
    size_t length = strlen(path);
    hf_status status = HF_EGONE;
    bool there;

    if (above == NULL)
        return HF_ENOMEM;
    /* Go up to the first parent that exists, because a session may have no
     * permission to create nodes further up. */
    while (status == HF_EGONE && cut(above))
        status = look(tool, above);
    there = status == HF_OK;
    /* "/" may be missing, too, if it is the path of the URL. */
    if (status == HF_EGONE)
        status = look(tool, "/");
    if (status == HF_EGONE)
        status = create_plain(tool, "/");
    /* Go down again and create: each NUL in the text was a '/'. */
    while (status == HF_OK && strlen(above) < length) {
        if (!there)
            status = create_plain(tool, above);
        there = false;
        above[strlen(above)] = '/';
    }
    hf_free(above);
    return status;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void hf_tool_sort(const char **names, size_t count)
{
    if (count > 1)
        qsort(names, count, sizeof *names, compare);
}

/* ---------------------------------------- operations under way together -- */

#define PENDING_MAX 256

/* An operation under way. */
struct call {
    struct hf_tool_window *window;
    size_t tag;
};

void hf_tool_window_init(struct hf_tool_window *window, struct hf_tool *tool,
                         hf_status ignored, hf_tool_on_result *on_result,
                         void *arg)
{
    *window = (struct hf_tool_window){
        .tool = tool, .ignored = ignored, .on_result = on_result, .arg = arg};
}

/* Remember the first failure. */
static void set_failure(struct hf_tool_window *window, hf_status status,
                        const char *text)
{
    if (window->error.status == HF_OK)
        (void)hf_error_set(&window->error, status, "%s", text);
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    const struct call *call = arg;
    struct hf_tool_window *window = call->window;

    window->pending--;
    if (result->status != HF_OK && result->status != window->ignored)
        set_failure(window, result->status, result->text);
    if (window->on_result != NULL)
        window->on_result(window->arg, call->tag, result);
}

hf_status hf_tool_window_start(struct hf_tool_window *window,
                               const struct hf_zookeeper_op *op, size_t tag)
{
    struct call *call;
    hf_status status;

    while (window->pending >= PENDING_MAX)
        (void)hf_tool_dispatch(window->tool, -1);
    if (window->error.status != HF_OK)
        return window->error.status;
    call = hf_alloc(sizeof *call);
    if (call == NULL) {
        set_failure(window, HF_ENOMEM, "no memory is left");
        return HF_ENOMEM;
    }
    *call = (struct call){window, tag};
    window->pending++;
    status = hf_zookeeper_start(
        window->tool->zookeeper, op, hf_tool_wait(window->tool),
        (struct hf_zookeeper_done){on_done, call, hf_free}, NULL);
    if (status != HF_OK) {
        struct hf_error error;

        window->pending--;
        hf_tool_error(&error);
        set_failure(window, status, error.text);
    }
    return status;
}

hf_status hf_tool_window_finish(struct hf_tool_window *window)
{
    while (window->pending > 0)
        (void)hf_tool_dispatch(window->tool, -1);
    return window->error.status;
}
