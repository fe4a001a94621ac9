/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: it waits for the lock, owns the grant, starts the command,
 * ends what the command leaves behind, and only then releases the lock.
 *
 * It is a state machine (enum hf_supervisor_state) around poll(2):
 * wait_for_event() collects what has happened, advance() decides.  It does not
 * use the terminal, because the launcher has that: lines for the user go
 * through the socket.  A signal that would end it has the same effect as on
 * the launcher, to which it is forwarded; signals of job control that are sent
 * to it alone do nothing, but for SIGSTOP.
 */
#include "cli/supervisor.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "base/time_math.h"
#include "cli/ipc.h"
#include "command/exit_status.h"

/* The loss of the grant is watched only from this time after the grant on,
 * because that takes a thread, which a shorter command need not pay for. */
#define HF_WATCH_AFTER_MS 20

/* How often to look when no timerfd could be made (no descriptor is free). */
#define HF_SUPERVISOR_POLL_MS 50

/* The launcher has this long to pass on the signals that it has got. */
#define HF_LAUNCHER_ANSWER_MS 1000

/* ------------------------------------------------------------ decisions -- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When to begin to end the tree if the lease was not renewed by then;
 * HF_FOREVER without a lease.  That is early enough for SIGTERM to have its
 * grace before SIGKILL is due, for --on-resign and, even without any grace, for
 * the launcher not to take us for frozen. */
static uint64_t terminate_at_ms(const struct hf_supervisor *supervisor)
{
    const struct hf_shared_page *page = supervisor->run->page;
    uint64_t kill_at_ms = hf_shared_page_kill_at_ms(page);
    uint64_t ahead_ms =
        max_u64(hf_supervisor_grace_ms(supervisor) +
                    hf_supervisor_resign_ms(supervisor),
                hf_shared_page_margin_ms(atomic_load(&page->lease_ms)) / 4);

    if (kill_at_ms == HF_FOREVER)
        return HF_FOREVER;
    return kill_at_ms > ahead_ms ? kill_at_ms - ahead_ms : 0;
}

/* Begin to end the command's tree: with grace, but no later than the lease
 * allows, less what --on-resign needs then; at once if the lock is lost
 * already. */
static void begin_termination(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    const struct hf_shared_page *page = supervisor->run->page;
    uint64_t grace_ms =
        hf_shared_page_grace_ms(page, supervisor->run->options->grace_ms);
    uint64_t kill_at_ms =
        min_u64(hf_clock_add(now_ms, grace_ms),
                hf_before_ms(hf_shared_page_kill_at_ms(page),
                             hf_supervisor_resign_ms(supervisor)));

    hf_termination_begin(&supervisor->termination,
                         supervisor->lost ? now_ms : kill_at_ms, NULL);
    hf_supervisor_give_command_up(supervisor);
    atomic_store(&supervisor->run->page->phase, HF_RUN_TERMINATING);
    hf_supervisor_move(supervisor, HF_SUPERVISOR_TERMINATING);
}

/* --on-resign has ended, or its time is over.  The phase stays: the
 * launcher knows that the tree is being ended, or that it does not bound it. */
static void end_resigning(struct hf_supervisor *supervisor, uint64_t now_ms,
                          uint64_t until_ms)
{
    uint64_t grace_ms = hf_supervisor_grace_ms(supervisor);

    hf_termination_begin(&supervisor->termination,
                         min_u64(hf_clock_add(now_ms, grace_ms), until_ms),
                         NULL);
    hf_supervisor_give_command_up(supervisor);
    hf_supervisor_move(supervisor, HF_SUPERVISOR_TERMINATING);
}

/* Notice a loss, publish the lease, and have a loss wake us.  Returns when to
 * do so again. */
static uint64_t check_grant(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    if (hf_grant_safe_until_ms(supervisor->grant) == 0)
        supervisor->lost = true;
    return min_u64(hf_supervisor_publish_lease(supervisor, now_ms),
                   hf_supervisor_watch_grant(supervisor, now_ms));
}

/* The launcher keeps no ticket: release, or end, which releases too. */
static void leave_queue(struct hf_supervisor *supervisor)
{
    if (supervisor->next == HF_SUPERVISOR_CAMPAIGN) {
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RELEASING);
        hf_supervisor_begin_release(supervisor);
    } else {
        hf_supervisor_move(supervisor, HF_SUPERVISOR_DONE);
    }
}

/* Nothing of the command runs: release, after the launcher has closed its
 * tickets if it has any. */
static void give_back(struct hf_supervisor *supervisor)
{
    if (hf_supervisor_ask_to_close_tickets(supervisor))
        hf_supervisor_move(supervisor, HF_SUPERVISOR_CLOSING_TICKETS);
    else
        leave_queue(supervisor);
}

/* Nothing of the command runs any more, or it was not started.  If it has
 * succeeded with --once-per, write that and come back here.  Else keep the
 * grant, for a while or for the next instance of the command; or release, after
 * --on-resign, at whose end come back here, too. */
static void finish_instance(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    if (hf_supervisor_has_succeeded(supervisor)) {
        atomic_store(&supervisor->run->page->phase, HF_RUN_RUNNING);
        hf_supervisor_move(supervisor, HF_SUPERVISOR_WRITING);
        hf_supervisor_write_success(supervisor);
        return;
    }
    hf_supervisor_decide_next(supervisor, now_ms);
    if (supervisor->next == HF_SUPERVISOR_RESTART) {
        atomic_store(&supervisor->run->page->phase, HF_RUN_RUNNING);
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RESTARTING);
    } else if (supervisor->next == HF_SUPERVISOR_KEEP) {
        atomic_store(&supervisor->run->page->phase, HF_RUN_RUNNING);
        hf_supervisor_move(supervisor, HF_SUPERVISOR_KEEPING);
    } else if (hf_supervisor_has_to_resign(supervisor) &&
               hf_supervisor_start_on_resign(supervisor, now_ms)) {
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RUNNING);
    } else {
        give_back(supervisor);
    }
}

/* Nothing of the command runs any more.  elect and --at-least may go on: first
 * ask the launcher which signals it has got, because a key of the terminal ends
 * the command without us. */
static void tree_is_gone(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    const struct hf_run_options *options = supervisor->run->options;

    if ((options->elect || options->at_least_ms > 0) &&
        hf_supervisor_ask_for_signals(supervisor)) {
        supervisor->decide_at_ms = now_ms + HF_LAUNCHER_ANSWER_MS;
        hf_supervisor_move(supervisor, HF_SUPERVISOR_ENDED);
    } else {
        finish_instance(supervisor, now_ms);
    }
}

/* ENDED: decide when the launcher has answered, is gone, or takes too long
 * because it is stopped.  Returns when to look again. */
static uint64_t advance_ended(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);

    if (supervisor->launcher != HF_LAUNCHER_GONE &&
        now_ms < supervisor->decide_at_ms)
        return min_u64(check_at_ms, supervisor->decide_at_ms);
    finish_instance(supervisor, now_ms);
    return now_ms;
}

/* WRITING: wait until the engine has answered, or the lock is lost or not
 * renewed.  Returns when to look again. */
static uint64_t advance_writing(struct hf_supervisor *supervisor,
                                uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);

    check_at_ms = min_u64(check_at_ms, terminate_at_ms(supervisor));
    supervisor->not_renewed = now_ms >= terminate_at_ms(supervisor);
    if (supervisor->once == HF_ONCE_WRITING && !supervisor->lost &&
        !supervisor->not_renewed)
        return check_at_ms;
    finish_instance(supervisor, now_ms);
    return now_ms;
}

/* KEEPING: give the grant back when the time is over or a signal has ended it
 * (.next_at_ms is 0); when another program asks for the lock and --on-revoke is
 * given; or when the lock is lost or not renewed, or the launcher gone.
 * Returns when to look again. */
static uint64_t advance_keeping(struct hf_supervisor *supervisor,
                                uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);

    check_at_ms = min_u64(check_at_ms, terminate_at_ms(supervisor));
    supervisor->not_renewed = now_ms >= terminate_at_ms(supervisor);
    if (!supervisor->lost && !supervisor->not_renewed &&
        supervisor->launcher != HF_LAUNCHER_GONE && supervisor->asked == NULL &&
        now_ms < supervisor->next_at_ms)
        return min_u64(check_at_ms, supervisor->next_at_ms);
    give_back(supervisor);
    return now_ms;
}

/* RUNNING: another program asks for the lock.  Nothing happens if the command
 * has ended by itself. */
static void act_on_request(struct hf_supervisor *supervisor)
{
    const struct hf_run_options *options = supervisor->run->options;
    const char *asked = supervisor->asked;

    supervisor->asked = NULL;
    if (!hf_supervisor_command_runs(supervisor))
        return;
    supervisor->by_request = asked;
    hf_supervisor_print(supervisor, HF_VERBOSE,
                        "another program asks for '%.200s'", asked);
    if (options->on_revoke == HF_ON_REVOKE_TERM)
        kill(supervisor->command.pid, SIGTERM);
    else if (options->on_revoke == HF_ON_REVOKE_HUP)
        kill(supervisor->command.pid, SIGHUP);
}

/* RUNNING --on-resign: end its tree when it has ended or its time is over.
 * Nothing else ends it: the lock is being given back already.  Returns when to
 * look again. */
static uint64_t advance_resigning(struct hf_supervisor *supervisor,
                                  uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);
    uint64_t until_ms = hf_supervisor_resign_until_ms(supervisor);

    if (supervisor->command.state == HF_COMMAND_ENDED || now_ms >= until_ms)
        end_resigning(supervisor, now_ms, until_ms);
    check_at_ms =
        min_u64(check_at_ms, hf_supervisor_check_launcher(supervisor, now_ms));
    return min_u64(check_at_ms, until_ms);
}

/* RUNNING: end the tree when the command or the launcher has ended, when the
 * lock is lost or cannot be proven to be held, or when another program asks
 * for it and that is to end the command.  Returns when to look again. */
static uint64_t advance_running(struct hf_supervisor *supervisor,
                                uint64_t now_ms)
{
    uint64_t check_at_ms;
    bool not_renewed;

    if (supervisor->command.role == HF_ROLE_ON_RESIGN)
        return advance_resigning(supervisor, now_ms);
    check_at_ms = check_grant(supervisor, now_ms);
    not_renewed = now_ms >= terminate_at_ms(supervisor);
    if (not_renewed)
        supervisor->not_renewed = true;
    if (supervisor->asked != NULL)
        act_on_request(supervisor);
    if (supervisor->command.state == HF_COMMAND_ENDED || supervisor->lost ||
        supervisor->launcher == HF_LAUNCHER_GONE || not_renewed ||
        (supervisor->by_request != NULL &&
         supervisor->run->options->on_revoke == HF_ON_REVOKE_EXIT))
        begin_termination(supervisor, now_ms);
    check_at_ms =
        min_u64(check_at_ms, hf_supervisor_check_launcher(supervisor, now_ms));
    return min_u64(check_at_ms, terminate_at_ms(supervisor));
}

/* TERMINATING: take one step of the termination.  Returns when to look again.
 */
static uint64_t advance_terminating(struct hf_supervisor *supervisor,
                                    uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);
    uint64_t step_at_ms = HF_FOREVER;

    if (supervisor->lost && supervisor->command.role != HF_ROLE_ON_RESIGN)
        hf_termination_hasten(&supervisor->termination, now_ms);
    if (hf_termination_step(&supervisor->termination, now_ms, &step_at_ms)) {
        hf_termination_free(&supervisor->termination);
        tree_is_gone(supervisor, now_ms);
        step_at_ms = now_ms; /* go on in the next state */
    }
    return min_u64(check_at_ms, step_at_ms);
}

static void print_grant(struct hf_supervisor *supervisor)
{
    const struct hf_run_options *options = supervisor->run->options;
    uint64_t token = hf_grant_token(supervisor->grant);

    if (options->elect)
        hf_supervisor_print(supervisor, HF_NORMAL,
                            "leading '%.200s', token %" PRIu64, options->label,
                            token);
    else
        hf_supervisor_print(supervisor, HF_VERBOSE,
                            "'%.200s' granted, token %" PRIu64, options->label,
                            token);
}

/* Send the launcher the tickets and the grant.  If it shows the wait on a
 * terminal it has to clear that line before the command writes to the same
 * terminal; under a lease it has to start the guard.  In both cases wait for
 * its RESUME.  False with .failure set. */
static bool announce(struct hf_supervisor *supervisor)
{
    if (!hf_supervisor_share_tickets(supervisor))
        return false;
    hf_supervisor_move(supervisor, HF_SUPERVISOR_ANNOUNCED);
    print_grant(supervisor);
    if ((supervisor->queued && hf_run_shows_wait(supervisor->run->options)) ||
        hf_shared_page_kill_at_ms(supervisor->run->page) != HF_FOREVER)
        hf_supervisor_set_launcher(supervisor, HF_LAUNCHER_PAUSED);
    return true;
}

/* There is a grant and no command yet: must it not be started any more?  So it
 * is if a signal or another program has ended that, the launcher is gone, or
 * the lock is lost. */
static bool may_not_start(struct hf_supervisor *supervisor)
{
    supervisor->by_request = supervisor->asked;
    return supervisor->cancelled != 0 ||
           supervisor->launcher == HF_LAUNCHER_GONE || supervisor->lost ||
           supervisor->by_request != NULL;
}

/* elect without a command: this machine leads, and that is all. */
static void lead_without_command(struct hf_supervisor *supervisor)
{
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof text, "leading '%.200s', token %" PRIu64,
                   supervisor->run->options->label,
                   hf_grant_token(supervisor->grant));
    hf_supervisor_set_status(supervisor, text);
    supervisor->leading = true;
    supervisor->restarts = (struct hf_restart_state){0};
    supervisor->next_at_ms = HF_FOREVER;
    if (supervisor->state != HF_SUPERVISOR_RESTARTING)
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RESTARTING);
}

/* Start the command or, before its first instance, --on-lead; unless the lease
 * is about to end, because we had to wait for a processor or were stopped since
 * the lease was checked. */
static void start_instance(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    enum hf_command_role role = hf_supervisor_next_role(supervisor);

    supervisor->not_renewed = hf_clock_now_ms() >= terminate_at_ms(supervisor);
    if (supervisor->not_renewed) {
        finish_instance(supervisor, now_ms);
    } else if (role == HF_ROLE_COMMAND &&
               supervisor->run->options->command == NULL) {
        lead_without_command(supervisor);
    } else if (hf_supervisor_start_command(supervisor, role)) {
        supervisor->leading = true;
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RUNNING);
    } else {
        finish_instance(supervisor, now_ms);
    }
}

/* GRANTED: read the last success, which decides whether to go on. */
static void read_success(struct hf_supervisor *supervisor)
{
    hf_supervisor_move(supervisor, HF_SUPERVISOR_READING);
    hf_supervisor_read_success(supervisor);
}

/* GRANTED, READING, ANNOUNCED: with --once-per see whether the command is due;
 * then announce the grant to the launcher; then start the command.  Each waits
 * while the launcher is paused.  The instance ends before it began if the wait
 * was ended meanwhile, another program asks for the lock, or the lock is
 * lost. */
static void advance_granted(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    if (hf_grant_safe_until_ms(supervisor->grant) == 0)
        supervisor->lost = true;
    supervisor->watch_at_ms = now_ms + HF_WATCH_AFTER_MS;
    if (may_not_start(supervisor)) {
        finish_instance(supervisor, now_ms);
        return;
    }
    if (supervisor->once == HF_ONCE_READING ||
        supervisor->launcher == HF_LAUNCHER_PAUSED)
        return;
    if (supervisor->state == HF_SUPERVISOR_ANNOUNCED)
        start_instance(supervisor, now_ms);
    else if (supervisor->once == HF_ONCE_UNKNOWN &&
             supervisor->run->options->once_per_ms != 0)
        read_success(supervisor);
    else if (supervisor->once == HF_ONCE_EARLY ||
             supervisor->once == HF_ONCE_FAILED)
        finish_instance(supervisor, now_ms);
    else if (!announce(supervisor))
        finish_instance(supervisor, now_ms);
}

/* RESTARTING: start the command when it is time, or give the grant back if
 * something has come that would end a running command.  A lease that is not
 * renewed is given up at the same instant as under a running command: later the
 * launcher would take us for frozen.  Returns when to look again. */
static uint64_t advance_restarting(struct hf_supervisor *supervisor,
                                   uint64_t now_ms)
{
    uint64_t check_at_ms = check_grant(supervisor, now_ms);

    check_at_ms = min_u64(check_at_ms, terminate_at_ms(supervisor));
    supervisor->not_renewed = now_ms >= terminate_at_ms(supervisor);
    if (supervisor->not_renewed || may_not_start(supervisor)) {
        finish_instance(supervisor, now_ms);
        return now_ms;
    }
    if (now_ms < supervisor->next_at_ms)
        return min_u64(check_at_ms, supervisor->next_at_ms);
    if (supervisor->launcher == HF_LAUNCHER_PAUSED)
        return check_at_ms;
    start_instance(supervisor, now_ms);
    return now_ms;
}

/* RESIGNED: campaign when it is time.  Returns when to look again. */
static uint64_t advance_resigned(struct hf_supervisor *supervisor,
                                 uint64_t now_ms)
{
    if (supervisor->cancelled != 0 ||
        supervisor->launcher == HF_LAUNCHER_GONE) {
        hf_supervisor_move(supervisor, HF_SUPERVISOR_DONE);
        return now_ms;
    }
    if (now_ms < supervisor->next_at_ms)
        return supervisor->next_at_ms;
    hf_supervisor_move(supervisor, hf_supervisor_acquire(supervisor)
                                       ? HF_SUPERVISOR_WAITING
                                       : HF_SUPERVISOR_DONE);
    return HF_FOREVER;
}

/* Do what can be done in this state.  Returns when to look again at the latest;
 * HF_FOREVER: only when something happens. */
static uint64_t advance_state(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    switch ((enum hf_supervisor_state)supervisor->state) {
    case HF_SUPERVISOR_WAITING:
        return supervisor->queued ? hf_nested_check(&supervisor->nested,
                                                    supervisor->op, now_ms)
                                  : HF_FOREVER;
    case HF_SUPERVISOR_GRANTED:
    case HF_SUPERVISOR_READING:
    case HF_SUPERVISOR_ANNOUNCED:
        advance_granted(supervisor, now_ms);
        break;
    case HF_SUPERVISOR_RUNNING:
        return advance_running(supervisor, now_ms);
    case HF_SUPERVISOR_TERMINATING:
        return advance_terminating(supervisor, now_ms);
    case HF_SUPERVISOR_ENDED:
        return advance_ended(supervisor, now_ms);
    case HF_SUPERVISOR_WRITING:
        return advance_writing(supervisor, now_ms);
    case HF_SUPERVISOR_KEEPING:
        return advance_keeping(supervisor, now_ms);
    case HF_SUPERVISOR_RESTARTING:
        return advance_restarting(supervisor, now_ms);
    case HF_SUPERVISOR_CLOSING_TICKETS:
        /* A launcher that is frozen keeps the tickets anyway, so releasing
         * before it answers is of no use. */
        if (!supervisor->tickets_shared ||
            supervisor->launcher == HF_LAUNCHER_GONE)
            leave_queue(supervisor);
        break;
    case HF_SUPERVISOR_RESIGNED:
        return advance_resigned(supervisor, now_ms);
    case HF_SUPERVISOR_RELEASING: /* until the engine has answered */
    case HF_SUPERVISOR_DONE:
        break;
    }
    return HF_FOREVER;
}

/* Do all that can be done now, from state to state.  The loop ends, because no
 * state is entered again before time has passed or something has happened.
 * Returns when to look again. */
static uint64_t advance(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    unsigned before;
    uint64_t at_ms;

    do {
        before = supervisor->state;
        at_ms = advance_state(supervisor, now_ms);
    } while (supervisor->state != before);
    return at_ms;
}

/* ---------------------------------------------------------------- loop -- */

/* Wait until something happens or it is ${at_ms}, and handle what has happened.
 * Do not wait if children are ${left} to be reaped.  Returns whether children
 * are left now; the termination reaps those of a tree that is being ended. */
static bool wait_for_event(struct hf_supervisor *supervisor, uint64_t at_ms,
                           bool left)
{
    int timeout = hf_alarm_set(&supervisor->alarm, at_ms) < 0
                      ? HF_SUPERVISOR_POLL_MS
                      : -1;
    struct pollfd polled[] = {
        {hf_client_fd(supervisor->client), POLLIN, 0},
        {supervisor->launcher == HF_LAUNCHER_GONE
             ? -1
             : supervisor->run->supervisor_end,
         POLLIN, 0},
        {supervisor->run->signal_fd, POLLIN, 0},
        {supervisor->alarm.fd, POLLIN, 0},
        {supervisor->lost ? -1 : supervisor->loss_fd, POLLIN, 0}};

    poll(polled, sizeof polled / sizeof *polled, left ? 0 : timeout);
    /* Before the reaping, so that a child that ends in between wakes us
     * again. */
    hf_supervisor_read_signals(supervisor);
    if (polled[0].revents)
        hf_client_dispatch(supervisor->client);
    if (supervisor->held_outside != NULL)
        hf_supervisor_cancel_wait(supervisor);
    if (polled[1].revents)
        hf_supervisor_read_messages(supervisor);
    if (polled[4].revents)
        supervisor->lost = true;
    return supervisor->state != HF_SUPERVISOR_TERMINATING &&
           hf_supervisor_reap(supervisor);
}

/* Until the state is DONE. */
static void run_loop(struct hf_supervisor *supervisor)
{
    bool children_left = false;

    for (;;) {
        uint64_t at_ms = advance(supervisor, hf_clock_now_ms());

        hf_supervisor_check(supervisor);
        if (supervisor->state == HF_SUPERVISOR_DONE)
            break;
        children_left = wait_for_event(supervisor, at_ms, children_left);
    }
    hf_termination_free(&supervisor->termination);
}

void hf_supervisor_main(struct hf_run *run)
{
    struct hf_supervisor supervisor = {
        .run = run, .alarm = HF_ALARM_INIT, .loss_fd = -1};

    /* A group of our own: signals of the terminal go to the launcher and the
     * command, not to us. */
    setpgid(0, 0);
    if (hf_supervisor_open(&supervisor))
        run_loop(&supervisor);
    if (supervisor.held_outside != NULL && !supervisor.grant &&
        !supervisor.cancelled)
        hf_nested_set_waited_for_itself(supervisor.held_outside,
                                        &supervisor.failure);
    if (!supervisor.outcome_is_set)
        hf_supervisor_set_outcome(&supervisor);
    atomic_store(&run->page->phase, HF_RUN_ENDED);
    if (!hf_supervisor_close(&supervisor) &&
        hf_supervisor_has_started(&supervisor))
        hf_supervisor_set_unconfirmed(&supervisor);
    _exit(0);
}
