/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast hold: holds a lock until a signal or the end of standard input.
 *
 * There is no command that might outlive the lock, so one process does: when it
 * ends, however it ends, the ticket goes as that of any client does.  It is a
 * loop around poll(2) that ends with the first reason to end, and then
 * releases.
 */
#include "cli/commands.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <holdfast/grant.h>
#include <holdfast/mutex.h>

#include "base/error.h"
#include "base/time_math.h"
#include "cli/ipc.h"
#include "cli/nested.h"
#include "cli/notify_socket.h"
#include "cli/run.h"
#include "command/clock.h"
#include "command/format.h"
#include "monitor/log_default.h"

/* On a terminal the line about the wait is redrawn this often. */
#define WAIT_REDRAW_EVERY_MS 1000

/* A job in the background of a terminal may not read from it: when to try
 * again. */
#define INPUT_AGAIN_MS 1000

/* Why it ends. */
enum reason {
    GOES_ON,
    SIGNALLED,   /* .signal */
    INPUT_ENDED, /* standard input */
    NOT_GRANTED, /* .failure */
    LOST,        /* hf_grant_check() says why */
    REQUESTED,   /* another program asked for the lock */
    UNWRITABLE   /* standard output cannot be written to; said already */
};

struct hold {
    const struct hf_run_options *options;
    struct hf_signals signals;
    struct hf_client *client;
    struct hf_lock *locks[HF_LOCKS_MAX]; /* in the order of the command line */
    size_t lock_count;
    struct hf_op *op;        /* the acquire */
    struct hf_grant *grant;  /* NULL: not granted */
    bool queued;             /* a ticket of ours has been in a queue */
    bool acquired;           /* the acquire has ended, with a grant or not */
    bool waits_for_itself;   /* .failure says for which lock, which a run
                                around this one holds */
    enum reason reason;      /* the first one */
    int signal;              /* that ended it; 0: none */
    struct hf_error failure; /* why there is no grant: NOT_GRANTED */
    int signal_fd;
    int loss_fd;           /* readable when the grant is lost; -1: none yet */
    bool printed;          /* the tokens are on standard output */
    uint64_t input_at_ms;  /* when to look at standard input; HF_FOREVER: never
                              (again) */
    uint64_t next_line_ms; /* without a terminal: print the next line once the
                              wait has lasted this long */
    struct hf_notify_socket notify;
    struct hf_nested nested; /* the run that this process is part of */
};

static void end(struct hold *hold, enum reason reason)
{
    if (hold->reason == GOES_ON)
        hold->reason = reason;
}

/* ----------------------------------------------------------- callbacks -- */

/* The functions below run in hf_client_dispatch(). */

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    hf_ui_log(level, "%s", line);
}

static void on_wait(void *arg, const struct hf_wait *state)
{
    struct hold *hold = arg;
    const struct hf_run_options *options = hold->options;
    struct hf_ui_wait wait = {.name = state->name,
                              .among = options->name_count > 1 ? options->label
                                                               : NULL,
                              .ahead = state->ahead,
                              .waited_ms = state->waited_ms,
                              .holder = state->holder};

    hold->queued = true;
    if (hf_nested_waits_for_itself(options, state)) {
        hold->waits_for_itself = true;
        hf_nested_set_waited_for_itself(state->name, &hold->failure);
    }
    if (options->verbosity == HF_QUIET || hold->reason != GOES_ON)
        return;
    if (hf_run_shows_wait(options)) {
        hf_ui_show_wait(&wait);
    } else if (wait.waited_ms >= hold->next_line_ms) {
        hf_ui_print_wait(&wait);
        hold->next_line_ms = wait.waited_ms + HF_WAIT_LINE_EVERY_MS;
    }
}

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct hold *hold = arg;

    hold->acquired = true;
    hold->grant = result->grant;
    if (result->grant != NULL)
        return;
    end(hold, NOT_GRANTED);
    if (hold->waits_for_itself)
        return;
    hold->failure.status = result->status;
    /* The wait and the first connection may time out at the same moment. */
    if (result->status == HF_ETIMEDOUT && !hold->queued &&
        hf_client_state(hold->client) == HF_STATE_CONNECTING)
        hold->failure.status = HF_EUNREACHABLE;
    (void)snprintf(hold->failure.text, sizeof hold->failure.text, "%s",
                   result->text);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    (void)grant;
    end(arg, REQUESTED);
}

/* ---------------------------------------------------------------- open -- */

/* False with .failure set. */
static bool open_client(struct hold *hold)
{
    static const enum hf_log_level levels[] = {
        [HF_QUIET] = HF_LOG_ERROR,
        [HF_NORMAL] = HF_LOG_WARNING,
        [HF_VERBOSE] = HF_LOG_INFO,
    };
    const struct hf_run_options *options = hold->options;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.connect_ms = HF_CONNECT_MAX_MS;
    if (options->wait_ms > 0)
        opts.connect_ms = hf_min_ms(options->wait_ms, HF_CONNECT_MAX_MS);
    if (!hf_log_is_chosen())
        opts.on_log.fn = on_log;
    opts.on_log.level = levels[options->verbosity];
    opts.metrics = HF_METRICS_DIR;
    if (hf_client_open(options->url, &opts, &hold->client) == HF_OK)
        return true;
    hold->failure = *hf_last_error();
    return false;
}

static bool open_locks(struct hold *hold)
{
    const struct hf_run_options *options = hold->options;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = options->kind;
    opts.permits = options->permits;
    opts.limit = options->limit;
    for (int i = 0; i < options->name_count; i++) {
        if (hf_lock_open(hold->client, options->names[i], &opts,
                         &hold->locks[i]) != HF_OK) {
            hold->failure = *hf_last_error();
            return false;
        }
        hold->lock_count++;
    }
    return !hf_nested_refuse(options, hold->client, hold->locks,
                             hold->lock_count, &hold->failure);
}

/* Have the ticket name the locks of the runs around.  Without -U the wait
 * counts as one that ends by itself, because standard input can end it. */
static void inherit(struct hold *hold)
{
    const struct hf_run_options *options = hold->options;

    hold->nested = (struct hf_nested){
        .options = options,
        .client = hold->client,
        .waited_for = getpid(),
        .ends_by_itself = options->wait_ms != HF_FOREVER ||
                          !options->until_signal || hf_process_has_timer()};
    hf_nested_inherit(&hold->nested);
}

/* Begin to wait. */
static bool acquire(struct hold *hold)
{
    const struct hf_run_options *options = hold->options;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_acquired, hold, NULL};

    opts.wait_ms = options->wait_ms;
    opts.text = options->text[0] != '\0' ? options->text : NULL;
    opts.owner = hf_owner_self(); /* so that the ticket has what is inherited */
    opts.on_wait.fn = on_wait;
    opts.on_wait.arg = hold;
    opts.on_wait_every_ms = hf_run_shows_wait(options) ? WAIT_REDRAW_EVERY_MS
                                                       : HF_WAIT_LINE_EVERY_MS;
    if (options->on_revoke != HF_ON_REVOKE_IGNORE) {
        opts.on_revoke.fn = on_revoke;
        opts.on_revoke.arg = hold;
    }
    if (hf_locks_acquire_start(hold->locks, hold->lock_count, &opts, done,
                               &hold->op) == HF_OK)
        return true;
    hold->failure = *hf_last_error();
    return false;
}

/* ------------------------------------------------------- what it reads -- */

/* Read standard input, whose content means nothing.  Its end, or an error, ends
 * the hold. */
static void read_input(struct hold *hold, uint64_t now_ms)
{
    char bytes[4096];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);

    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)))
        return;
    /* Another job has the foreground of the terminal: try again later. */
    if (got < 0 && errno == EIO && isatty(STDIN_FILENO)) {
        hold->input_at_ms = now_ms + INPUT_AGAIN_MS;
        return;
    }
    hold->input_at_ms = HF_FOREVER;
    end(hold, INPUT_ENDED);
}

/* Has standard input ended already, or can it not be read?  Then the lock would
 * be released at once.  False for a terminal, and with -U, which reads nothing.
 * May read some of the input, which loses nothing: its content has no use. */
static bool input_is_empty(struct hold *hold)
{
    struct pollfd polled = {STDIN_FILENO, POLLIN, 0};

    if (hold->input_at_ms == HF_FOREVER || isatty(STDIN_FILENO) ||
        poll(&polled, 1, 0) <= 0)
        return false;
    read_input(hold, hf_clock_now_ms());
    return hold->reason == INPUT_ENDED;
}

static void on_signal(struct hold *hold, int number)
{
    if (hf_signals_stops(number)) {
        hf_ui_clear_wait();
        hf_signals_stop(number);
    } else if (hf_signals_ends(number)) {
        /* A second signal during the wait, before the first has ended it. */
        if (hold->signal != 0 && hold->grant == NULL)
            hf_signals_die(number);
        hold->signal = number;
        end(hold, SIGNALLED);
    }
}

static void read_signals(struct hold *hold)
{
    struct signalfd_siginfo infos[16];
    ssize_t got = read(hold->signal_fd, infos, sizeof infos);

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *infos; i++)
        on_signal(hold, (int)infos[i].ssi_signo);
}

/* --------------------------------------------------------------- grant -- */

/* It is granted: watch it, and say so. */
static void begin_to_hold(struct hold *hold)
{
    const struct hf_run_options *options = hold->options;
    char status[sizeof hold->notify.status];

    hf_ui_clear_wait();
    hf_ui_begin_guarding();
    if (hf_grant_loss_fd(hold->grant, &hold->loss_fd) != HF_OK) {
        hold->loss_fd = -1;
        hf_error_set(&hold->failure, HF_ELIMIT,
                     "'%.200s' was granted, but its loss could not be noticed: "
                     "no descriptor or no thread is free; end some of what is "
                     "running",
                     options->label);
        end(hold, NOT_GRANTED);
        return;
    }
    (void)snprintf(status, sizeof status, "holding '%.200s', token %" PRIu64,
                   options->label, hf_grant_token(hold->grant));
    if (options->verbosity == HF_VERBOSE)
        hf_ui_log(HF_LOG_INFO, "%s", status);
    hf_notify_socket_set_status(&hold->notify, status);
}

/* Standard output has room: write the tokens, in the order of the names.  In
 * one write(2), which a pipe takes as a whole. */
static void print_tokens(struct hold *hold)
{
    char line[HF_LOCKS_MAX * sizeof "18446744073709551615 "];
    size_t used = 0;
    ssize_t written;

    assert(hold->grant != NULL && !hold->printed);
    for (size_t i = 0; i < hold->lock_count; i++)
        used +=
            (size_t)snprintf(line + used, sizeof line - used, "%" PRIu64 "%c",
                             hf_grant_token_of(hold->grant, hold->locks[i]),
                             i + 1 < hold->lock_count ? ' ' : '\n');
    assert(used < sizeof line);
    written = write(STDOUT_FILENO, line, used);
    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    hold->printed = true;
    if (written == (ssize_t)used)
        return;
    hf_ui_print("standard output cannot be written to: %s; '%.200s' is "
                "released, because nobody would know that it is held",
                written < 0 ? strerror(errno) : "no room",
                hold->options->label);
    end(hold, UNWRITABLE);
}

/* ---------------------------------------------------------------- loop -- */

/* Do what is due at ${now_ms}.  Returns when to do that again at the latest. */
static uint64_t next_at_ms(struct hold *hold, uint64_t now_ms)
{
    uint64_t at_ms = hold->notify.retry_at_ms;

    if (now_ms < hold->input_at_ms)
        at_ms = hf_min_ms(at_ms, hold->input_at_ms);
    if (hold->queued && !hold->acquired)
        at_ms =
            hf_min_ms(at_ms, hf_nested_check(&hold->nested, hold->op, now_ms));
    return at_ms;
}

/* Wait until something happens or is due, and handle it. */
static void wait_for_event(struct hold *hold)
{
    bool holds = hold->grant != NULL;
    uint64_t now_ms = hf_clock_now_ms();
    bool reads = now_ms >= hold->input_at_ms;
    uint64_t at_ms = next_at_ms(hold, now_ms);
    struct pollfd polled[] = {
        {hf_client_fd(hold->client), POLLIN, 0},
        {hold->signal_fd, POLLIN, 0},
        {reads ? STDIN_FILENO : -1, POLLIN, 0},
        {holds && !hold->printed ? STDOUT_FILENO : -1, POLLOUT, 0},
        {hold->loss_fd, POLLIN, 0}};

    poll(polled, sizeof polled / sizeof *polled,
         at_ms == HF_FOREVER
             ? -1
             : (int)hf_min_ms(at_ms > now_ms ? at_ms - now_ms : 0,
                              INPUT_AGAIN_MS));
    if (polled[1].revents != 0)
        read_signals(hold);
    if (polled[0].revents != 0)
        hf_client_dispatch(hold->client);
    if (holds &&
        (polled[4].revents != 0 || hf_grant_safe_until_ms(hold->grant) == 0))
        end(hold, LOST);
    if (polled[2].revents != 0)
        read_input(hold, hf_clock_now_ms());
    if (polled[3].revents != 0 && hold->reason == GOES_ON)
        print_tokens(hold);
    hf_notify_socket_retry(&hold->notify, hf_clock_now_ms());
}

/* Wait for the grant, and hold until there is a reason to end.  If that comes
 * first, the wait is cancelled, and may have become a grant all the same. */
static void run_loop(struct hold *hold)
{
    while (hold->reason == GOES_ON && !hold->acquired &&
           !hold->waits_for_itself)
        wait_for_event(hold);
    if (!hold->acquired) {
        hf_op_cancel(hold->op);
        while (!hold->acquired)
            wait_for_event(hold);
    }
    if (hold->reason == GOES_ON)
        begin_to_hold(hold);
    while (hold->reason == GOES_ON)
        wait_for_event(hold);
    hf_ui_clear_wait();
}

/* ------------------------------------------------------------- outcome -- */

/* The lock was not obtained because of ${why}: print that.  Returns the exit
 * status. */
static int not_obtained(const struct hold *hold, const char *why)
{
    if (hold->options->verbosity != HF_QUIET)
        hf_ui_log(HF_LOG_WARNING, "'%.200s' was not obtained: %.400s",
                  hold->options->label, why);
    return hold->options->busy_exit;
}

static int not_granted(const struct hold *hold)
{
    char reason[HF_ERROR_TEXT_BYTES];
    int exit_code = hf_exit_status(hold->failure.status);

    hf_format_error(hold->failure.text, hf_clock_now_ms(), reason,
                    sizeof reason);
    if (exit_code == HF_EXIT_BUSY)
        return not_obtained(hold, reason);
    hf_ui_print("%s", reason);
    return exit_code;
}

/* Print that the lock was lost, and why.  Returns the exit status. */
static int lost(const struct hold *hold)
{
    (void)hf_grant_check(hold->grant); /* for its reason */
    hf_ui_print_error(hf_last_error());
    return HF_EXIT_LOST;
}

/* Print why the hold has ended, before the grant is released.  Returns the exit
 * status. */
static int report(const struct hold *hold, bool was_held)
{
    switch (hold->reason) {
    case SIGNALLED:
        return 0;
    case INPUT_ENDED:
        return was_held ? 0
                        : not_obtained(hold, "standard input has ended during "
                                             "the wait");
    case NOT_GRANTED:
        return not_granted(hold);
    case LOST:
        return lost(hold);
    case REQUESTED:
        if (hold->options->verbosity != HF_QUIET)
            hf_ui_log(HF_LOG_WARNING,
                      "'%.200s' was released because another program asked for "
                      "it",
                      hold->options->label);
        return HF_EXIT_REVOKED;
    case UNWRITABLE:
        return HF_EXIT_DIRECTORY;
    case GOES_ON:
        break;
    }
    return HF_EXIT_BUG;
}

/* Release the grant, if there is one, and close everything.  Returns the exit
 * status: ${exit_code}, unless the release shows that the lock may have been
 * lost. */
static int finish(struct hold *hold, int exit_code)
{
    if (hold->grant != NULL && hf_grant_release(hold->grant) == HF_ELOST &&
        exit_code != HF_EXIT_LOST) {
        hf_ui_print("'%.200s' may have been lost before it was released: the "
                    "engine did not confirm the release",
                    hold->options->label);
        exit_code = HF_EXIT_LOST;
    }
    hf_op_free(hold->op);
    for (size_t i = 0; i < hold->lock_count; i++)
        hf_lock_free(hold->locks[i]);
    hf_client_close(hold->client);
    hf_ui_end_guarding();
    return exit_code;
}

/* The acquire is under way: wait, hold, and finish.  Returns the exit
 * status. */
static int wait_and_hold(struct hold *hold)
{
    bool was_held;
    int exit_code;

    run_loop(hold);
    was_held = hold->loss_fd >= 0;
    exit_code = finish(hold, report(hold, was_held));
    if (hold->reason == SIGNALLED && !was_held)
        hf_signals_die(hold->signal);
    return exit_code;
}

/* Hold the locks of the command line.  Returns the exit status. */
static int hold_locks(struct hold *hold)
{
    if (input_is_empty(hold)) {
        hf_ui_print("standard input has ended already, so '%.200s' would be "
                    "released at once; expected an open pipe or a terminal, or "
                    "-U to hold it until a signal",
                    hold->options->label);
        return HF_EXIT_USAGE;
    }
    if (!open_client(hold))
        return not_granted(hold);
    if (open_locks(hold)) {
        inherit(hold);
        if (acquire(hold))
            return wait_and_hold(hold);
    }
    hold->reason = NOT_GRANTED;
    return finish(hold, not_granted(hold));
}

int hf_hold_main(int argc, char **argv)
{
    struct hf_run_options options = HF_RUN_OPTIONS_INIT;
    struct hold hold = {
        .options = &options, .loss_fd = -1, .notify = HF_NOTIFY_SOCKET_INIT};
    int exit_code;

    if (!hf_command_line_read(&hf_hold_command, argc, argv, &options,
                              &exit_code))
        return exit_code;
    if (options.verbosity != HF_QUIET)
        hf_command_line_warn_password(options.url);
    if (options.verbosity != HF_VERBOSE)
        hold.next_line_ms = HF_WAIT_LINE_EVERY_MS;
    if (options.until_signal)
        hold.input_at_ms = HF_FOREVER;
    hf_signals_block(&hold.signals);
    hold.signal_fd =
        signalfd(-1, &hold.signals.handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (hold.signal_fd < 0) {
        hf_ui_print("cannot set up: %s; end some of what is running, or raise "
                    "the limits (ulimit -a)",
                    strerror(errno));
        return HF_EXIT_LIMIT;
    }
    return hold_locks(&hold);
}
