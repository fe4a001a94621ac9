/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: it waits, owns the grant, starts the command, ends what the
 * command leaves, and only then releases.  It does not use the terminal: what
 * it has to say, the front says.  Signals that would end it have the same
 * effect as on the front, which receives them from here; signals of job control
 * that are sent to it alone (but SIGSTOP) do nothing.
 */
#include "cli/keeper.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/say.h"
#include "cli/spawn.h"
#include "cli/words.h"
#include "core/error.h"

/* How many deaths and stops are taken in before other things have their turn:
 * a command can fork faster than we reap. */
#define HF_REAP_MAX 256

/* A grant is watched from so long after the command was started: what is over
 * sooner need not pay for the thread that does it. */
#define HF_WATCH_AFTER_MS 20

/* How often to look without an alarm, which takes a descriptor to set. */
#define HF_KEEPER_POLL_MS 50

/* How long after the command was continued the front is looked after. */
#define HF_FRONT_LOOKS 20
#define HF_FRONT_LOOK_MS 50

/* ------------------------------------------------------------- command -- */

static void report_stop(struct hf_keeper *keeper, int number)
{
    struct hf_message message = {.kind = HF_MESSAGE_STOPPED};

    message.as.signal.number = number;
    message.as.signal.epoch = keeper->epoch;
    message.as.signal.process = keeper->command;
    (void)hf_message_send(keeper->run->keeper_end, &message, -1);
}

/* By somebody who sees only the command: what stopped with it, goes on with it.
 * A shell continues the whole job, and then the front counts that alone. */
static void continue_front(const struct hf_keeper *keeper)
{
    pid_t front = keeper->run->front;

    if (getppid() == front && hf_process_is_stopped(front))
        kill(front, SIGCONT);
}

/* A front that stops because the command did may do so after both were
 * continued: raising the stop discards a SIGCONT that came a moment before. */
static uint64_t look_after_front(struct hf_keeper *keeper, uint64_t now_ms)
{
    if (keeper->front_looks == 0)
        return HF_FOREVER;
    if (now_ms >= keeper->front_look_at_ms) {
        keeper->front_looks--;
        keeper->front_look_at_ms = now_ms + HF_FRONT_LOOK_MS;
        continue_front(keeper);
    }
    return keeper->front_look_at_ms;
}

static void on_command(struct hf_keeper *keeper, const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_STOPPED:
        keeper->command_stopped = true;
        keeper->command_turns++;
        keeper->front_looks = 0;
        report_stop(keeper, info->si_status);
        break;
    case CLD_CONTINUED:
        keeper->command_stopped = false;
        keeper->command_turns++;
        keeper->front_looks = HF_FRONT_LOOKS;
        keeper->front_look_at_ms = 0;
        break;
    case CLD_EXITED:
        keeper->command_ended = true;
        keeper->exit_code = info->si_status;
        break;
    case CLD_KILLED:
    case CLD_DUMPED:
        keeper->command_ended = true;
        keeper->exit_code = HF_EXIT_SIGNAL + info->si_status;
        break;
    default:
        break;
    }
}

/* Take in what became of children: the command, and orphans that came here. */
static void reap(struct hf_keeper *keeper)
{
    for (int i = 0; i < HF_REAP_MAX; i++) {
        siginfo_t info = {0};

        keeper->more_to_reap =
            waitid(P_ALL, 0, &info,
                   WEXITED | WSTOPPED | WCONTINUED | WNOHANG | __WALL) == 0 &&
            info.si_pid != 0;
        if (!keeper->more_to_reap)
            return;
        if (info.si_pid == keeper->command && !keeper->command_ended)
            on_command(keeper, &info);
    }
}

/* Is .command certain to be our child?  In a sweep it may be reaped. */
static bool command_runs(const struct hf_keeper *keeper)
{
    return keeper->state == HF_KEEPER_RUNNING && !keeper->command_ended;
}

/* Into a session of our own, which the kernel gives its own share of the
 * processors where it groups by session (sched(7), autogroup): beside a command
 * that forks without end we could neither see its death nor kill as fast as it
 * forks.  Not before the command is there, which joins the front's group and so
 * has to be of its session.  A leader of a group cannot leave, nor one whose
 * group somebody else is in: so the command goes first, whether it was here
 * already or not, and then we do.  Where the front's group is gone we stay. */
static void leave_session(const struct hf_keeper *keeper)
{
    (void)setpgid(keeper->command, keeper->run->group);
    if (setpgid(0, keeper->run->group) == 0)
        (void)setsid();
}

static bool start_command(struct hf_keeper *keeper)
{
    struct hf_message message = {.kind = HF_MESSAGE_STARTED};
    const struct hf_run *run = keeper->run;
    struct hf_spawn spawn = {.argv = run->options->command,
                             .group = run->group,
                             .signals = &run->signals};
    struct hf_environment environment;

    hf_keeper_tell(keeper, HF_VERBOSE, "'%.200s' granted, token %" PRIu64,
                   run->options->label, hf_grant_token(keeper->grant));
    keeper->command = -1;
    if (hf_keeper_environment(keeper, &environment)) {
        spawn.environment = environment.entries;
        keeper->command = hf_spawn(&spawn);
    }
    if (keeper->command < 0)
        hf_error_set(&keeper->failure, HF_ELIMIT,
                     "cannot start a process for the command: %s; end some of "
                     "what is running, or raise the limits (ulimit -a)",
                     strerror(errno));
    else
        (void)hf_message_send(run->keeper_end, &message, -1);
    hf_environment_free(&environment);
    if (keeper->command > 0)
        leave_session(keeper);
    return keeper->command > 0;
}

/* ------------------------------------------------------------- signals -- */

/* A signal and not a message: a front that is stopped keeps one of a kind, and
 * its socket has a bound. */
static void relay(const struct hf_keeper *keeper,
                  const struct signalfd_siginfo *info)
{
    pid_t front = keeper->run->front;
    int number = (int)info->ssi_signo;

    if (hf_signals_ends(number) && !hf_signals_from_terminal(info) &&
        getppid() == front)
        kill(front, number);
}

/* SIGCHLD needs no more than the wake-up. */
static void read_signals(const struct hf_keeper *keeper)
{
    struct signalfd_siginfo infos[16];
    ssize_t got;

    while ((got = read(keeper->run->signal_fd, infos, sizeof infos)) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof *infos; i++)
            relay(keeper, &infos[i]);
}

/* ------------------------------------------------------------ messages -- */

static void withdraw(struct hf_keeper *keeper)
{
    if (!keeper->answered && keeper->op)
        hf_op_cancel(keeper->op);
}

static void on_forwarded(struct hf_keeper *keeper, int number)
{
    if (command_runs(keeper)) {
        kill(keeper->command, number);
    } else if (keeper->command == 0 && hf_signals_ends(number)) {
        keeper->withdrawing = true;
        withdraw(keeper);
    }
}

/* The front stops before it has heard of the command: if that runs by now it
 * may have missed the terminal's signal. */
static void on_pause(struct hf_keeper *keeper)
{
    keeper->front_paused = true;
    if (command_runs(keeper))
        kill(keeper->command, SIGTSTP);
}

/* ${alone}: as hf_message has it. */
static void on_continued(struct hf_keeper *keeper, uint32_t epoch, bool alone)
{
    unsigned turns = keeper->command_turns;

    keeper->epoch = epoch;
    keeper->front_paused = false;
    reap(keeper);
    /* Still stopped, and not anew: the SIGCONT was for the front alone.  A stop
     * that is news here may have come before it, or behind one for the job. */
    if (command_runs(keeper) && keeper->command_stopped &&
        (alone || keeper->command_turns == turns))
        kill(keeper->command, SIGCONT);
}

static void on_message(struct hf_keeper *keeper,
                       const struct hf_message *message)
{
    assert(message->kind >= HF_MESSAGE_SIGNAL);
    switch (message->kind) {
    case HF_MESSAGE_SIGNAL:
        on_forwarded(keeper, message->as.signal.number);
        break;
    case HF_MESSAGE_PAUSE:
        on_pause(keeper);
        break;
    case HF_MESSAGE_RESUME:
        keeper->front_paused = false;
        break;
    case HF_MESSAGE_CONTINUED:
        on_continued(keeper, message->as.signal.epoch,
                     message->as.signal.alone);
        break;
    case HF_MESSAGE_LET_GO:
        keeper->shared = false;
        break;
    case HF_MESSAGE_TEXT:
    case HF_MESSAGE_WAITING:
    case HF_MESSAGE_TICKET:
    case HF_MESSAGE_GRANTED:
    case HF_MESSAGE_STARTED:
    case HF_MESSAGE_STOPPED:
    case HF_MESSAGE_RELEASING:
        break; /* for the front */
    }
}

static void read_messages(struct hf_keeper *keeper)
{
    struct hf_message message;
    int fd, got;

    while ((got = hf_message_take(keeper->run->keeper_end, &message, &fd)) > 0)
        on_message(keeper, &message);
    if (got < 0 && !keeper->front_gone) {
        keeper->front_gone = true;
        withdraw(keeper);
    }
}

/* ------------------------------------------------------------ decisions -- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Where there is a lease and nothing renews it, ending the tree begins so
 * early that grace is over when it has to be killed; and without any grace
 * still before the front takes us for frozen. */
static uint64_t end_at_ms(const struct hf_keeper *keeper)
{
    const struct hf_page *page = keeper->run->page;
    uint64_t kill_at_ms = hf_page_kill_at_ms(page);
    uint64_t grace_ms = hf_page_grace_ms(page, keeper->run->options->grace_ms);
    uint64_t ahead_ms =
        most(grace_ms, hf_page_margin_ms(atomic_load(&page->lease_ms)) / 4);

    if (kill_at_ms == HF_FOREVER)
        return HF_FOREVER;
    return kill_at_ms > ahead_ms ? kill_at_ms - ahead_ms : 0;
}

static void begin_sweep(struct hf_keeper *keeper, uint64_t now_ms)
{
    const struct hf_page *page = keeper->run->page;
    uint64_t grace_ms = hf_page_grace_ms(page, keeper->run->options->grace_ms);
    uint64_t kill_at_ms =
        least(hf_clock_add(now_ms, grace_ms), hf_page_kill_at_ms(page));

    hf_sweep_begin(&keeper->sweep, keeper->lost ? now_ms : kill_at_ms, NULL);
    atomic_store(&keeper->run->page->phase, HF_PHASE_SWEEPING);
    keeper->state = HF_KEEPER_SWEEPING;
}

/* Look after the grant; the instant to do so again. */
static uint64_t keep_grant(struct hf_keeper *keeper, uint64_t now_ms)
{
    if (hf_grant_safe_until_ms(keeper->grant) == 0)
        keeper->lost = true;
    return least(hf_keeper_publish_lease(keeper, now_ms),
                 hf_keeper_watch_grant(keeper, now_ms));
}

/* Nothing runs any more. */
static void part(struct hf_keeper *keeper)
{
    keeper->state = hf_keeper_part(keeper) ? HF_KEEPER_PARTING : HF_KEEPER_OVER;
}

static uint64_t advance_running(struct hf_keeper *keeper, uint64_t now_ms)
{
    uint64_t look_at_ms = keep_grant(keeper, now_ms);
    bool unproven = now_ms >= end_at_ms(keeper);

    if (unproven)
        keeper->unproven = true;
    if (keeper->command_ended || keeper->lost || keeper->front_gone || unproven)
        begin_sweep(keeper, now_ms);
    look_at_ms = least(look_at_ms, look_after_front(keeper, now_ms));
    return least(look_at_ms, end_at_ms(keeper));
}

static uint64_t advance_sweeping(struct hf_keeper *keeper, uint64_t now_ms)
{
    uint64_t look_at_ms = keep_grant(keeper, now_ms);
    uint64_t again_at_ms = HF_FOREVER;

    if (keeper->lost)
        hf_sweep_hasten(&keeper->sweep, now_ms);
    if (hf_sweep_step(&keeper->sweep, now_ms, &again_at_ms))
        part(keeper);
    return least(look_at_ms, again_at_ms);
}

/* Tell the front of the grant.  Where it shows the wait it has to take that
 * away before the command writes to the same terminal, and then says so. */
static bool announce(struct hf_keeper *keeper)
{
    if (!hf_keeper_share_grant(keeper))
        return false;
    keeper->announced = true;
    if (keeper->queued && hf_say_shows_wait(keeper->run->options->verbosity))
        keeper->front_paused = true;
    return true;
}

static void advance_granted(struct hf_keeper *keeper, uint64_t now_ms)
{
    if (hf_grant_safe_until_ms(keeper->grant) == 0)
        keeper->lost = true;
    keeper->watch_at_ms = now_ms + HF_WATCH_AFTER_MS;
    if (keeper->withdrawing || keeper->front_gone || keeper->lost) {
        part(keeper);
        return;
    }
    if (!keeper->announced && !keeper->front_paused && !announce(keeper)) {
        part(keeper);
        return;
    }
    if (keeper->front_paused)
        return;
    if (start_command(keeper))
        keeper->state = HF_KEEPER_RUNNING;
    else
        part(keeper);
}

/* Do what can be done now.  The instant to look again; HF_FOREVER: when
 * something happens. */
static uint64_t advance(struct hf_keeper *keeper, uint64_t now_ms)
{
    uint64_t at_ms;

    if (keeper->state == HF_KEEPER_WAITING && keeper->answered)
        keeper->state = keeper->grant ? HF_KEEPER_GRANTED : HF_KEEPER_OVER;
    if (keeper->state == HF_KEEPER_GRANTED)
        advance_granted(keeper, now_ms);
    if (keeper->state == HF_KEEPER_RUNNING) {
        at_ms = advance_running(keeper, now_ms);
        if (keeper->state == HF_KEEPER_RUNNING)
            return at_ms;
    }
    if (keeper->state == HF_KEEPER_SWEEPING)
        return advance_sweeping(keeper, now_ms);
    /* A front that is frozen keeps the ticket itself: no use in hurrying. */
    if (keeper->state == HF_KEEPER_PARTING &&
        (!keeper->shared || keeper->front_gone))
        keeper->state = HF_KEEPER_OVER;
    return HF_FOREVER;
}

/* ---------------------------------------------------------------- loop -- */

static void wait_for_news(struct hf_keeper *keeper, uint64_t at_ms)
{
    int timeout =
        hf_alarm_set(&keeper->alarm, at_ms) < 0 ? HF_KEEPER_POLL_MS : -1;
    struct pollfd polled[] = {
        {hf_client_fd(keeper->client), POLLIN, 0},
        {keeper->front_gone ? -1 : keeper->run->keeper_end, POLLIN, 0},
        {keeper->run->signal_fd, POLLIN, 0},
        {keeper->alarm.fd, POLLIN, 0},
        {keeper->lost ? -1 : keeper->loss_fd, POLLIN, 0}};

    poll(polled, sizeof polled / sizeof *polled,
         keeper->more_to_reap ? 0 : timeout);
    /* Before the children are looked at, so that none is missed. */
    read_signals(keeper);
    if (polled[0].revents)
        hf_client_dispatch(keeper->client);
    if (keeper->waits_for_itself)
        withdraw(keeper);
    if (polled[1].revents)
        read_messages(keeper);
    if (polled[4].revents)
        keeper->lost = true;
    if (keeper->state != HF_KEEPER_SWEEPING)
        reap(keeper);
}

static void run_loop(struct hf_keeper *keeper)
{
    for (;;) {
        uint64_t at_ms = advance(keeper, hf_clock_now_ms());

        if (keeper->state == HF_KEEPER_OVER)
            break;
        wait_for_news(keeper, at_ms);
    }
    hf_sweep_free(&keeper->sweep);
}

/* ------------------------------------------------------------- outcome -- */

/* Why the grant was lost.  The library's text names the lock first, which our
 * own does too; of several locks only the library knows which it was. */
static const char *why_lost(const struct hf_keeper *keeper,
                            struct hf_error *error)
{
    static const char before[] = "\" was lost: ";
    const char *why;

    if (keeper->unproven)
        return "the engine did not confirm it in time";
    assert(keeper->grant != NULL); /* what is lost is not released yet */
    hf_grant_error(keeper->grant, error);
    why = strstr(error->text, before);
    return why == NULL || keeper->lock_count > 1 ? error->text
                                                 : why + strlen(before);
}

static void set_lost(struct hf_keeper *keeper)
{
    struct hf_outcome *outcome = &keeper->run->page->outcome;
    struct hf_error error;

    hf_error_set(&error, HF_ELOST, "'%.200s' was lost %s: %s",
                 keeper->run->options->label,
                 keeper->command > 0
                     ? "while the command ran, which was therefore stopped"
                     : "before the command could be started",
                 why_lost(keeper, &error));
    outcome->exit_code = HF_EXIT_LOST;
    memcpy(outcome->text, error.text, sizeof outcome->text);
}

/* The command has ended by itself.  Whether the lock was its own until then,
 * the release could not confirm. */
static void set_unconfirmed(struct hf_keeper *keeper)
{
    struct hf_outcome *outcome = &keeper->run->page->outcome;

    if (outcome->exit_code == HF_EXIT_LOST)
        return;
    outcome->exit_code = HF_EXIT_LOST;
    snprintf(outcome->text, sizeof outcome->text,
             "'%.200s' may have been lost before the command ended: the engine "
             "did not confirm the release",
             keeper->run->options->label);
}

static void set_failed(struct hf_keeper *keeper)
{
    struct hf_outcome *outcome = &keeper->run->page->outcome;
    hf_status status = keeper->failure.status;
    char reason[HF_ERROR_TEXT_BYTES];

    /* The same time is up for the wait and for the first connection. */
    if (status == HF_ETIMEDOUT && !keeper->queued &&
        hf_client_state(keeper->client) == HF_STATE_CONNECTING)
        status = HF_EUNREACHABLE;
    outcome->expected = hf_exit_status(status) == HF_EXIT_BUSY;
    outcome->exit_code = outcome->expected ? keeper->run->options->busy_exit
                                           : hf_exit_status(status);
    hf_words_message(keeper->failure.text, hf_clock_now_ms(), reason,
                     sizeof reason);
    if (outcome->expected)
        snprintf(outcome->text, sizeof outcome->text,
                 "'%.200s' was not obtained: %.250s",
                 keeper->run->options->label, reason);
    else
        snprintf(outcome->text, sizeof outcome->text, "%s", reason);
}

static void set_outcome(struct hf_keeper *keeper)
{
    struct hf_outcome *outcome = &keeper->run->page->outcome;

    if (keeper->withdrawing && keeper->command == 0)
        outcome->withdrawn = 1;
    else if (keeper->lost || keeper->unproven)
        set_lost(keeper);
    else if (keeper->command <= 0)
        set_failed(keeper);
    else
        outcome->exit_code = keeper->exit_code;
}

void hf_keeper_main(struct hf_run *run)
{
    struct hf_keeper keeper = {
        .run = run, .alarm = HF_ALARM_INIT, .loss_fd = -1};

    /* Out of the terminal's reach. */
    setpgid(0, 0);
    if (hf_keeper_open(&keeper))
        run_loop(&keeper);
    if (keeper.waits_for_itself && !keeper.grant && !keeper.withdrawing)
        hf_keeper_set_waited_for_itself(&keeper);
    set_outcome(&keeper);
    atomic_store(&run->page->phase, HF_PHASE_ENDED);
    if (!hf_keeper_close(&keeper) && keeper.command > 0)
        set_unconfirmed(&keeper);
    _exit(0);
}
