/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front: what the user, the shell and the terminal see of a run.  It has no
 * client, so that stopping it with Ctrl-Z stops no renewal.  It exits last.
 */
#include "cli/run.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/say.h"
#include "cli/sweep.h"

/* How often to look without an alarm, which takes a descriptor to set. */
#define HF_FRONT_POLL_MS 50

/* How much earlier than due a line of the wait may be: the keeper looks once a
 * minute, and not exactly. */
#define HF_EARLY_MS 5000

struct hf_front {
    struct hf_run *run;
    struct hf_alarm alarm;
    int hold_fds[HF_LOCKS_MAX]; /* keep the tickets in their queues */
    size_t hold_count;
    bool granted;
    bool started;
    bool keeper_hung;  /* killed by us, past its time */
    int ending_signal; /* that asked for the wait to end; 0: none */
    struct hf_signal_arrival arrivals[NSIG]; /* by number */
    uint64_t next_line_ms; /* of waiting, when to say so where no terminal is */
    uint32_t epoch;        /* counts SIGCONTs, see struct hf_message */
    siginfo_t keeper;      /* how it ended; si_pid 0: it lives */
};

static void send_word(struct hf_front *front, enum hf_message_kind kind,
                      int number)
{
    struct hf_message message = {.kind = kind};

    message.as.signal.number = number;
    message.as.signal.epoch = front->epoch;
    /* Cannot go only if the keeper is frozen and far behind, or gone. */
    (void)hf_message_send(front->run->front_end, &message, -1);
}

/* ------------------------------------------------------------- signals -- */

static void on_ending_signal(struct hf_front *front,
                             const struct signalfd_siginfo *info)
{
    bool relayed = info->ssi_pid == (uint32_t)front->run->keeper;
    int number = (int)info->ssi_signo;

    if (hf_signals_is_copy(&front->arrivals[number], relayed,
                           hf_clock_now_ms()))
        return;
    if (front->started) {
        if (!hf_signals_from_terminal(info))
            send_word(front, HF_MESSAGE_SIGNAL, number);
        return;
    }
    /* Asked twice: the keeper withdraws without us. */
    if (front->ending_signal) {
        hf_say_no_more_waiting();
        hf_signals_die(number);
    }
    front->ending_signal = number;
    send_word(front, HF_MESSAGE_SIGNAL, number);
}

/* Nobody could continue this process group: without our keeper in between the
 * kernel would have ignored the terminal's key, for all of the group. */
static void ignore_stop_key(void)
{
    kill(0, SIGCONT);
}

static void on_stop_signal(struct hf_front *front,
                           const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (front->started) {
        if (!hf_signals_from_terminal(info))
            send_word(front, HF_MESSAGE_SIGNAL, number);
        else if (number == SIGTSTP && !hf_process_under_job_control())
            ignore_stop_key();
        return;
    }
    hf_say_no_more_waiting();
    send_word(front, HF_MESSAGE_PAUSE, 0);
    hf_signals_stop(number);
    send_word(front, HF_MESSAGE_RESUME, 0);
}

static void on_continue(struct hf_front *front)
{
    struct hf_message message = {.kind = HF_MESSAGE_CONTINUED};

    message.as.signal.epoch = ++front->epoch;
    message.as.signal.alone = !hf_process_under_job_control();
    (void)hf_message_send(front->run->front_end, &message, -1);
}

static void on_signal(struct hf_front *front,
                      const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCONT) {
        on_continue(front);
    } else if (hf_signals_stops(number)) {
        on_stop_signal(front, info);
    } else if (hf_signals_ends(number)) {
        on_ending_signal(front, info);
    }
}

/* Those that have come; SIGCHLD needs no more than the wake-up. */
static void read_signals(struct hf_front *front)
{
    struct signalfd_siginfo infos[16];
    ssize_t got = read(front->run->signal_fd, infos, sizeof infos);

    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *infos; i++)
        on_signal(front, &infos[i]);
}

/* ------------------------------------------------------------ messages -- */

static bool continue_is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}

/* The command stopped: so does this job, for the shell to see. */
static void on_stopped(struct hf_front *front, int number, uint32_t epoch,
                       pid_t command)
{
    if (epoch != front->epoch || continue_is_pending())
        return; /* it has been continued since */
    if (hf_process_under_job_control()) {
        if (!hf_signals_stop_with(number, command))
            on_continue(front);
        return;
    }
    if (number == SIGTSTP)
        ignore_stop_key();
}

/* On a terminal one line is redrawn; a log gets one every minute. */
static void on_waiting(struct hf_front *front, const struct hf_message *message)
{
    struct hf_say_wait wait = {.name = front->run->options->label,
                               .ahead = message->as.wait.ahead,
                               .waited_ms = message->as.wait.waited_ms,
                               .holder = message->as.wait.holder};

    if (front->ending_signal)
        return;
    if (hf_say_shows_wait(front->run->options->verbosity)) {
        hf_say_waiting(&wait);
    } else if (wait.waited_ms >= front->next_line_ms) {
        hf_say_still_waiting(&wait);
        front->next_line_ms = wait.waited_ms + HF_LINE_EVERY_MS - HF_EARLY_MS;
    }
}

static void on_ticket(struct hf_front *front, int fd)
{
    assert(fd >= 0 && front->hold_count < HF_LOCKS_MAX);
    front->hold_fds[front->hold_count++] = fd;
}

static void on_granted(struct hf_front *front)
{
    front->granted = true;
    hf_say_no_more_waiting();
    if (hf_say_shows_wait(front->run->options->verbosity))
        send_word(front, HF_MESSAGE_RESUME, 0);
}

static void let_go(struct hf_front *front)
{
    while (front->hold_count > 0)
        close(front->hold_fds[--front->hold_count]);
}

static void on_message(struct hf_front *front, const struct hf_message *message,
                       int fd)
{
    assert((fd >= 0) == (message->kind == HF_MESSAGE_TICKET));
    assert(message->kind < HF_MESSAGE_SIGNAL);
    switch (message->kind) {
    case HF_MESSAGE_TEXT:
        hf_say("%s", message->as.text.line);
        break;
    case HF_MESSAGE_WAITING:
        on_waiting(front, message);
        break;
    case HF_MESSAGE_TICKET:
        on_ticket(front, fd);
        break;
    case HF_MESSAGE_GRANTED:
        on_granted(front);
        break;
    case HF_MESSAGE_STARTED:
        front->started = true;
        break;
    case HF_MESSAGE_STOPPED:
        on_stopped(front, message->as.signal.number, message->as.signal.epoch,
                   message->as.signal.process);
        break;
    case HF_MESSAGE_RELEASING:
        let_go(front);
        send_word(front, HF_MESSAGE_LET_GO, 0);
        break;
    case HF_MESSAGE_SIGNAL:
    case HF_MESSAGE_PAUSE:
    case HF_MESSAGE_RESUME:
    case HF_MESSAGE_LET_GO:
    case HF_MESSAGE_CONTINUED:
        break; /* for the keeper */
    }
}

/* Bounded by the socket's buffer once the keeper is gone, and before by its
 * pace. */
static void read_messages(struct hf_front *front)
{
    struct hf_message message;
    int fd;

    while (hf_message_take(front->run->front_end, &message, &fd) > 0)
        on_message(front, &message, fd);
}

/* --------------------------------------------------------------- lease -- */

/* When the keeper must have ended the tree by itself. */
static uint64_t guard_at_ms(const struct hf_page *page)
{
    uint64_t kill_at_ms = hf_page_kill_at_ms(page);

    if (kill_at_ms == HF_FOREVER)
        return HF_FOREVER;
    switch ((enum hf_phase)atomic_load(&page->phase)) {
    case HF_PHASE_RUNNING:
        return kill_at_ms;
    case HF_PHASE_SWEEPING:
        /* It is awake and at it: it may use up its time. */
        return kill_at_ms + hf_page_margin_ms(atomic_load(&page->lease_ms)) / 2;
    case HF_PHASE_WAITING:
    case HF_PHASE_ENDED:
        break;
    }
    return HF_FOREVER;
}

static void guard_lease(struct hf_front *front)
{
    struct hf_run *run = front->run;

    if (front->keeper_hung || hf_clock_now_ms() < guard_at_ms(run->page))
        return;
    front->keeper_hung = true;
    kill(run->keeper, SIGKILL);
}

/* ---------------------------------------------------------------- loop -- */

static void wait_until(struct hf_front *front, struct pollfd *polled,
                       nfds_t count, uint64_t at_ms)
{
    int timeout =
        hf_alarm_set(&front->alarm, at_ms) < 0 ? HF_FRONT_POLL_MS : -1;

    polled[count - 1].fd = front->alarm.fd;
    polled[count - 1].events = POLLIN;
    poll(polled, count, timeout);
}

/* Take in what there is, then see whether the keeper is dead. */
static void turn(struct hf_front *front)
{
    struct hf_run *run = front->run;
    struct pollfd polled[3] = {{run->signal_fd, POLLIN, 0},
                               {run->front_end, POLLIN, 0}};
    int how = WEXITED;

    wait_until(front, polled, 3, guard_at_ms(run->page));
    read_messages(front);
    read_signals(front);
    guard_lease(front);
    /* The end of the line comes in the middle of the end of the keeper: then
     * that need only be waited for. */
    if (!(polled[1].revents & POLLHUP))
        how |= WNOHANG;
    waitid(P_PID, (id_t)run->keeper, &front->keeper, how);
}

/* What the keeper left, if it could not do it itself. */
static void sweep(struct hf_front *front)
{
    const struct hf_run *run = front->run;
    struct pollfd polled[2] = {{run->signal_fd, POLLIN, 0}};
    uint64_t now_ms = hf_clock_now_ms(), again_at_ms = HF_FOREVER;
    uint64_t kill_at_ms = hf_clock_add(
        now_ms, hf_page_grace_ms(run->page, run->options->grace_ms));
    struct hf_sweep sweep;

    if (front->keeper_hung)
        kill_at_ms = now_ms;
    else if (hf_page_kill_at_ms(run->page) < kill_at_ms)
        kill_at_ms = hf_page_kill_at_ms(run->page);
    hf_sweep_begin(&sweep, kill_at_ms, &run->spared);
    while (!hf_sweep_step(&sweep, hf_clock_now_ms(), &again_at_ms)) {
        struct signalfd_siginfo infos[16];

        wait_until(front, polled, 2, again_at_ms);
        while (read(run->signal_fd, infos, sizeof infos) > 0)
            continue; /* the command is being ended already */
    }
    hf_sweep_free(&sweep);
}

/* The keeper ended without saying how the run did. */
static int broken(const struct hf_front *front)
{
    char cause[64] = "ended too early";

    if (front->keeper.si_code != CLD_EXITED)
        snprintf(cause, sizeof cause, "was killed by signal %d",
                 front->keeper.si_status);
    if (!front->granted) {
        hf_say("the process that waits for '%.200s' %s; run it again",
               front->run->options->label, cause);
        return HF_EXIT_BUG;
    }
    if (front->keeper_hung)
        hf_say("the process that holds '%.200s' did not move in time to prove "
               "that it still does; the command was killed",
               front->run->options->label);
    else
        hf_say("the process that holds '%.200s' %s; the command was stopped",
               front->run->options->label, cause);
    return HF_EXIT_LOST;
}

static int finish(struct hf_front *front)
{
    const struct hf_run *run = front->run;
    const struct hf_outcome *outcome = &run->page->outcome;

    read_messages(front);
    hf_say_no_more_waiting();
    sweep(front);
    let_go(front);
    if (atomic_load(&run->page->phase) != HF_PHASE_ENDED)
        return broken(front);
    if (outcome->text[0] &&
        !(outcome->expected && run->options->verbosity == HF_QUIET))
        hf_say("%s", outcome->text);
    if (front->keeper.si_code != CLD_EXITED)
        hf_say("the process that held '%.200s' was killed by signal %d while "
               "it released; its ticket is removed by the next in line",
               run->options->label, front->keeper.si_status);
    if (outcome->withdrawn && front->ending_signal)
        hf_signals_die(front->ending_signal);
    return outcome->exit_code;
}

int hf_front_main(struct hf_run *run)
{
    struct hf_front front = {.run = run, .alarm = HF_ALARM_INIT};

    if (run->options->verbosity != HF_VERBOSE)
        front.next_line_ms = HF_LINE_EVERY_MS - HF_EARLY_MS;
    while (front.keeper.si_pid == 0)
        turn(&front);
    return finish(&front);
}
