/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload for a mutex that is used through `holdfast run`, which
 * guarantees that the lock is held for as long as its command lives.
 *
 * The command prints its fencing token and then sends back what it receives.
 * If it answers a probe, it was alive when the probe was sent.  So the lock was
 * held then, and this is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "command/clock.h"
#include "command/exit_status.h"
#include "command/program_path.h"
#include "command/ui.h"
#include "torture/workload.h"

/* If a command has not answered a probe for this long, it is not relied on any
 * more. */
#define PROBE_TIMEOUT_US 500000

#define TOKEN_BYTES 32

struct tool_workload {
    struct hf_workload workload; /* .fd is standard input and output of the
                                    command */
    char path[PATH_MAX];         /* path of holdfast */
    pid_t launcher;              /* the process of holdfast run */
    char text[TOKEN_BYTES];      /* what the command has printed of its token so
                                    far */
    size_t bytes;
    uint64_t probe_sent_us; /* when the current probe was sent; 0: all probes
                               are answered */
    uint64_t probe_at_ms;   /* when to send the next probe */
    bool written;           /* the resource was written to */
    bool killed;            /* we have killed the launcher */
    bool sigterm_sent;      /* we have sent SIGTERM to the launcher */
};

/* Return the struct that begins with ${workload}. */
static struct tool_workload *tool_of(struct hf_workload *workload)
{
    return container_of(workload, struct tool_workload, workload);
}

/* See struct hf_workload_ops. */
static hf_status open_workload(struct hf_workload *workload,
                               struct hf_error *error)
{
    workload->locks[0].wanted = true;
    if (hf_program_find(&hf_program_holdfast, tool_of(workload)->path))
        return HF_OK;
    return hf_error_set(error, HF_EUNSUPPORTED,
                        "the tool, which the workload 'tool' runs, is neither "
                        "beside this program nor in %s; install it, or choose "
                        "another --kind",
                        hf_program_holdfast.configured_dir);
}

/* ------------------------------------------------------------------ want -- */

/* In the child: become `holdfast run`, with ${end} as its input and output. */
static _Noreturn void exec_tool(const struct tool_workload *self, pid_t parent,
                                int end)
{
    static char wait[] = "10s";
    static char script[] = "echo $HOLDFAST_TOKEN && exec cat";
    char name[HF_NAME_BYTES + 1];
    char *argv[] = {(char[]){"holdfast"},
                    (char[]){"run"},
                    (char[]){"-q"},
                    (char[]){"-w"},
                    wait,
                    name,
                    (char[]){"--"},
                    (char[]){"sh"},
                    (char[]){"-c"},
                    script,
                    NULL};
    sigset_t none;

    /* If we are killed, only the launcher is killed with us. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(HF_EXIT_BUG);
    strcpy(name, self->workload.locks[0].name);
    dup2(end, STDIN_FILENO);
    dup2(end, STDOUT_FILENO);
    /* stderr is dropped, because losses are expected here. */
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(self->path, argv);
    _exit(HF_EXIT_NOT_RUN);
}

/* End the worker because of ${what} and errno, which are printed. */
static void fail(struct hf_workload *workload, const char *what)
{
    hf_ui_print("%s: %s; end some of what is running, or raise the limits "
                "(ulimit -a)",
                what, strerror(errno));
    workload->exit_code = HF_EXIT_LIMIT;
}

/* Start holdfast run. */
static void want(struct hf_workload *workload)
{
    struct tool_workload *self = tool_of(workload);
    pid_t parent = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        fail(workload, "no descriptors for a command");
        return;
    }
    hf_workload_begin_wait(workload);
    hf_workload_record_want(workload, HF_KIND_MUTEX, 1, 1);
    self->launcher = fork();
    if (self->launcher == 0)
        exec_tool(self, parent, ends[1]);
    close(ends[1]);
    workload->fd = ends[0];
    self->bytes = 0;
    self->probe_sent_us = self->probe_at_ms = 0;
    self->written = self->killed = self->sigterm_sent = false;
    if (self->launcher < 0)
        fail(workload, "no process for a command");
}

/* ------------------------------------------------------------- callbacks -- */

/* Parse a decimal number greater than 0. */
static bool parse_token(const char *text, uint64_t *token)
{
    char *end;

    errno = 0;
    *token = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *token > 0;
}

/* Collect what was printed until there is a whole line: the token. */
static void on_token_output(struct hf_workload *workload, const char *text,
                            size_t bytes)
{
    struct tool_workload *self = tool_of(workload);

    if (bytes > sizeof self->text - self->bytes)
        bytes = sizeof self->text - self->bytes;
    memcpy(self->text + self->bytes, text, bytes);
    self->bytes += bytes;
    if (self->bytes == 0 || self->text[self->bytes - 1] != '\n')
        return;
    self->text[self->bytes - 1] = '\0';
    if (!parse_token(self->text, &workload->locks[0].token)) {
        hf_ui_print("HOLDFAST_TOKEN of holdfast run: '%s'; expected a number",
                    self->text);
        workload->exit_code = HF_EXIT_BUG;
        return;
    }
    hf_workload_begin_hold(workload);
    hf_workload_record(workload, HF_HISTORY_GRANT);
}

/* The command has printed something: its token, or the answer to a probe. */
static void on_output(struct hf_workload *workload, const char *text,
                      size_t bytes)
{
    struct tool_workload *self = tool_of(workload);

    if (workload->state == HF_WORKLOAD_WAITING) {
        on_token_output(workload, text, bytes);
    } else if (workload->state == HF_WORKLOAD_HOLDING) {
        hf_workload_record_seen(workload, self->probe_sent_us);
        self->probe_sent_us = 0;
    }
}

/* May holdfast run end with the wait status ${status}, after what we did to it?
 */
static bool is_expected_status(const struct tool_workload *self, int status)
{
    if (WIFSIGNALED(status))
        return self->killed || self->sigterm_sent;
    switch (WEXITSTATUS(status)) {
    case HF_EXIT_SIGNAL +
        SIGTERM: /* the command was running and got the signal */
        return self->sigterm_sent;
    case 0:
    case HF_EXIT_UNREACHABLE:
    case HF_EXIT_BUSY:
    case HF_EXIT_LOST:
        return true;
    default:
        return false;
    }
}

/* The output was closed, so the launcher and the command have ended. */
static void on_output_end(struct hf_workload *workload)
{
    struct tool_workload *self = tool_of(workload);
    int status = 0;

    if (workload->state == HF_WORKLOAD_HOLDING)
        hf_workload_record(workload, HF_HISTORY_LOST);
    else if (workload->state == HF_WORKLOAD_WAITING)
        hf_workload_record(workload, HF_HISTORY_GAVEUP);
    close(workload->fd);
    workload->fd = -1;
    while (waitpid(self->launcher, &status, 0) < 0 && errno == EINTR)
        continue;
    hf_workload_end_hold(workload);
    hf_workload_idle(workload);
    if (is_expected_status(self, status))
        return;
    hf_ui_print(
        "holdfast run ended with the wait status %d; expected 0, %d, %d or "
        "%d: see what 'holdfast run %s -- true' says",
        status, HF_EXIT_UNREACHABLE, HF_EXIT_BUSY, HF_EXIT_LOST,
        workload->locks[0].name);
    workload->exit_code = WIFEXITED(status) ? WEXITSTATUS(status)
                                            : HF_EXIT_SIGNAL + WTERMSIG(status);
}

/* Read what was printed, and notice the end of it. */
static void receive_output(struct hf_workload *workload)
{
    char text[256];
    ssize_t bytes = 1;

    while (workload->fd >= 0 && bytes > 0) {
        bytes = recv(workload->fd, text, sizeof text, MSG_DONTWAIT);
        if (bytes > 0)
            on_output(workload, text, (size_t)bytes);
        else if (bytes == 0 || errno != EAGAIN)
            on_output_end(workload);
    }
}

/* ------------------------------------------------------------ operations -- */

/* Send a line, which the command sends back. */
static void send_probe(struct hf_workload *workload)
{
    uint64_t now_us = hf_workload_now_us();

    if (send(workload->fd, "\n", 1, MSG_NOSIGNAL) == 1)
        tool_of(workload)->probe_sent_us = now_us;
    tool_of(workload)->probe_at_ms = hf_clock_now_ms() + HF_WORKLOAD_POLL_MS;
}

/* Close the input of the command, which makes it end. */
static void begin_release(struct hf_workload *workload,
                          enum hf_history_event_type type)
{
    hf_workload_end_hold(workload);
    hf_workload_record(workload, type);
    shutdown(workload->fd, SHUT_WR);
}

/* HOLDING: send probes until it is time, then write.  Release once a probe that
 * was sent after the write is answered, unless the launcher was killed. */
static void hold(struct hf_workload *workload)
{
    struct tool_workload *self = tool_of(workload);
    bool due = hf_clock_now_ms() >= workload->until_ms || workload->ending;

    if (self->probe_sent_us != 0) {
        if (hf_workload_now_us() - self->probe_sent_us > PROBE_TIMEOUT_US)
            begin_release(workload, HF_HISTORY_LOST);
        return;
    }
    /* A probe was answered since the write. */
    if (self->written && !self->killed) {
        begin_release(workload, HF_HISTORY_RELEASE);
        return;
    }
    if (due && !self->written) {
        hf_workload_write_fenced(workload);
        self->written = true;
        self->killed = hf_workload_one_in(workload, 8) &&
                       kill(self->launcher, SIGKILL) == 0;
        send_probe(workload);
    } else if (hf_clock_now_ms() >= self->probe_at_ms) {
        send_probe(workload);
    }
}

/* See struct hf_workload_ops. */
static void advance(struct hf_workload *workload)
{
    struct tool_workload *self = tool_of(workload);

    receive_output(workload);
    if (workload->state == HF_WORKLOAD_IDLE && !workload->ending &&
        hf_clock_now_ms() >= workload->until_ms)
        want(workload);
    else if (workload->state == HF_WORKLOAD_HOLDING)
        hold(workload);
    else if (workload->state == HF_WORKLOAD_WAITING && workload->ending &&
             !self->sigterm_sent)
        self->sigterm_sent = kill(self->launcher, SIGTERM) == 0;
}

static void close_workload(struct hf_workload *workload)
{
    if (workload->fd >= 0)
        close(workload->fd);
}

struct hf_workload *hf_workload_new_tool(void)
{
    static const struct hf_workload_ops ops = {open_workload, advance,
                                               close_workload};
    struct tool_workload *self = hf_alloc(sizeof *self);

    if (self == NULL)
        return NULL;
    *self = (struct tool_workload){.workload.ops = &ops, .workload.fd = -1};
    return &self->workload;
}
