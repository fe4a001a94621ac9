/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows when nothing of the command runs any more.  holdfast run ends,
 * or with --at-least keeps the lock for a while; holdfast elect starts the
 * command again, resigns and campaigns again, or ends.
 *
 * A candidacy is an acquire of a lock of HF_KIND_ELECTION, so it is in one
 * queue with the candidates of hf_election_open().  All that run does to keep
 * two holders apart also keeps two leaders apart, such as the tickets that the
 * launcher keeps; an hf_election does not hand those out.
 */
#include "cli/supervisor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/url.h"
#include "cli/signals.h"
#include "command/exit_status.h"

/* After a leadership that was lost within HF_RESTART_WELL_MS, wait so long
 * before the next campaign: what ended it may do so again. */
#define HF_LOST_DELAY_MS 1000

/* ------------------------------------------------------------- signals -- */

/* The signal that has asked the run or the election to end; 0: none.  SIGTERM,
 * SIGINT and SIGQUIT do, even if the command has ended in another way, because
 * it may have cleaned up.  Another signal does only if the command died of
 * it. */
static int asks_to_end(const struct hf_supervisor *supervisor)
{
    const struct hf_supervised_command *command = &supervisor->command;
    int died_of = command->state == HF_COMMAND_ENDED
                      ? command->exit_code - HF_EXIT_SIGNAL
                      : 0;

    for (int number = 1; number < NSIG; number++)
        if (hf_signals_asks_to_end(number) &&
            sigismember(&command->passed, number) == 1)
            return number;
    return died_of > 0 && sigismember(&command->passed, died_of) == 1 ? died_of
                                                                      : 0;
}

/* A hook has ended, and the signal ${number} asks for the end.  Is that the end
 * of all, as where nothing runs, because the hook says nothing else by its
 * status? */
static bool ends_by_signal(const struct hf_supervisor *supervisor, int number)
{
    const struct hf_supervised_command *command = &supervisor->command;

    return command->role != HF_ROLE_COMMAND &&
           (command->state != HF_COMMAND_ENDED || command->exit_code == 0 ||
            command->exit_code == HF_EXIT_SIGNAL + number);
}

/* ----------------------------------------------------------- decisions -- */

static void campaign_at(struct hf_supervisor *supervisor, uint64_t at_ms)
{
    supervisor->next = HF_SUPERVISOR_CAMPAIGN;
    supervisor->next_at_ms = at_ms;
}

/* Print ${text}, and have a service manager know it. */
static void report(struct hf_supervisor *supervisor, enum hf_verbosity at_least,
                   const char *text)
{
    hf_supervisor_print(supervisor, at_least, "%s", text);
    hf_supervisor_set_status(supervisor, text);
}

static void decide_after_loss(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    char text[HF_ERROR_TEXT_BYTES];
    bool lasted = now_ms - supervisor->granted_at_ms >= HF_RESTART_WELL_MS;

    hf_supervisor_describe_loss(supervisor, text);
    report(supervisor, HF_QUIET, text);
    campaign_at(supervisor, lasted ? now_ms : now_ms + HF_LOST_DELAY_MS);
}

/* The others in the queue come first, because our next ticket is made only when
 * the release is confirmed. */
static void decide_after_request(struct hf_supervisor *supervisor,
                                 uint64_t now_ms)
{
    char text[HF_ERROR_TEXT_BYTES];

    hf_supervisor_describe_request(supervisor, text);
    report(supervisor, HF_NORMAL, text);
    campaign_at(supervisor, now_ms);
}

static void report_restart(struct hf_supervisor *supervisor, uint64_t delay_ms)
{
    char text[HF_ERROR_TEXT_BYTES];
    char delay[HF_DURATION_BYTES];

    hf_duration_format_short(delay_ms, delay);
    (void)snprintf(text, sizeof text,
                   "the command ended with status %d; it is started again in "
                   "%s",
                   supervisor->command.exit_code, delay);
    report(supervisor, HF_NORMAL, text);
}

static void report_resignation(struct hf_supervisor *supervisor,
                               uint64_t delay_ms)
{
    const struct hf_run_options *options = supervisor->run->options;
    char text[HF_ERROR_TEXT_BYTES];
    char delay[HF_DURATION_BYTES];

    hf_duration_format_short(delay_ms, delay);
    (void)snprintf(text, sizeof text,
                   "the command failed %" PRIu64
                   " times in a row, at last with status "
                   "%d; resigning '%.200s', and campaigning again in %s",
                   options->restart.burst, supervisor->command.exit_code,
                   options->label, delay);
    report(supervisor, HF_QUIET, text);
}

/* What a shell means by the status of a hook, and what to do. */
static const char *explain_status(int exit_code)
{
    switch (exit_code) {
    case HF_EXIT_NOT_FOUND:
        return ": sh found no such program; expected one that is on PATH here, "
               "or a path that begins with '/'";
    case HF_EXIT_NOT_RUN:
        return ": it cannot be executed; expected a program with the right to "
               "that (chmod +x)";
    default:
        return "";
    }
}

/* --on-lead has ended by itself: start the command, or let another machine
 * try. */
static void decide_after_on_lead(struct hf_supervisor *supervisor,
                                 uint64_t now_ms)
{
    int exit_code = supervisor->command.exit_code;
    char text[HF_ERROR_TEXT_BYTES], delay[HF_DURATION_BYTES];
    uint64_t delay_ms;

    if (exit_code == 0) {
        supervisor->prepared = true;
        supervisor->next = HF_SUPERVISOR_RESTART;
        supervisor->next_at_ms = now_ms;
        return;
    }
    delay_ms = hf_restart_resign(&supervisor->restarts);
    hf_duration_format_short(delay_ms, delay);
    (void)snprintf(text, sizeof text,
                   "--on-lead ended with status %d%s; resigning '%.100s', and "
                   "campaigning again in %s",
                   exit_code, explain_status(exit_code),
                   supervisor->run->options->label, delay);
    report(supervisor, HF_QUIET, text);
    campaign_at(supervisor, hf_clock_add(now_ms, delay_ms));
}

/* Print what became of --on-resign, unless it was well. */
static void report_on_resign(struct hf_supervisor *supervisor)
{
    int exit_code = supervisor->command.exit_code;
    char limit[HF_DURATION_BYTES];

    hf_duration_format_short(supervisor->run->options->resign_timeout_ms,
                             limit);
    if (supervisor->command.state != HF_COMMAND_ENDED)
        hf_supervisor_print(supervisor, HF_QUIET,
                            "--on-resign was killed because it took too long; "
                            "expected its end within %s, or before the lease "
                            "ends; --resign-timeout sets the former",
                            limit);
    else if (exit_code != 0)
        hf_supervisor_print(supervisor, HF_QUIET,
                            "--on-resign ended with status %d%s", exit_code,
                            explain_status(exit_code));
}

/* --on-resign has ended.  What follows was decided before it began; but a
 * signal that came since then asks for the end. */
static void decide_after_on_resign(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;
    int number = asks_to_end(supervisor);

    report_on_resign(supervisor);
    if (supervisor->next == HF_SUPERVISOR_END)
        return;
    if (number != 0) {
        if (ends_by_signal(supervisor, number))
            outcome->cancelled = number;
        outcome->exit_code = supervisor->command.exit_code;
        supervisor->outcome_is_set = true;
        supervisor->next = HF_SUPERVISOR_END;
        return;
    }
    hf_supervisor_forget_command(supervisor);
}

/* The command has ended by itself. */
static void decide_after_end(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    uint64_t delay_ms;

    switch (hf_restart_decide(
        &supervisor->run->options->restart, &supervisor->restarts,
        supervisor->command.ended_at_ms - supervisor->command.started_at_ms,
        supervisor->command.exit_code, &delay_ms)) {
    case HF_RESTART_AGAIN:
        report_restart(supervisor, delay_ms);
        supervisor->next = HF_SUPERVISOR_RESTART;
        supervisor->next_at_ms = hf_clock_add(now_ms, delay_ms);
        break;
    case HF_RESTART_RESIGN:
        report_resignation(supervisor, delay_ms);
        campaign_at(supervisor, hf_clock_add(now_ms, delay_ms));
        break;
    case HF_RESTART_END:
        break;
    }
}

/* run --at-least: has the command ended by itself, and before ${until_ms}?  A
 * command that could not be executed has done nothing, so the lock is released
 * for another machine. */
static bool is_to_be_kept(const struct hf_supervisor *supervisor,
                          uint64_t until_ms, uint64_t now_ms)
{
    return now_ms < until_ms && supervisor->command.state == HF_COMMAND_ENDED &&
           atomic_load(&supervisor->run->page->exec_error) == 0 &&
           !supervisor->lost && !supervisor->not_renewed &&
           supervisor->by_request == NULL && asks_to_end(supervisor) == 0;
}

static void decide_after_run(struct hf_supervisor *supervisor, uint64_t now_ms)
{
    const struct hf_run_options *options = supervisor->run->options;
    uint64_t until_ms =
        hf_clock_add(supervisor->granted_at_ms, options->at_least_ms);
    char left[HF_DURATION_BYTES];

    if (options->at_least_ms == 0 ||
        !is_to_be_kept(supervisor, until_ms, now_ms))
        return;
    hf_duration_format_short(until_ms - now_ms, left);
    hf_supervisor_print(supervisor, HF_VERBOSE,
                        "the command ended with status %d; keeping '%.200s' "
                        "for %s (--at-least)",
                        supervisor->command.exit_code, options->label, left);
    supervisor->next = HF_SUPERVISOR_KEEP;
    supervisor->next_at_ms = until_ms;
}

/* A signal asks for the end: the exit status is the command's, or that of
 * --on-lead. */
static void end_by_signal(struct hf_supervisor *supervisor)
{
    int number = asks_to_end(supervisor);

    supervisor->by_request = NULL;
    if (!ends_by_signal(supervisor, number))
        return;
    supervisor->cancelled = number;
    hf_supervisor_forget_command(supervisor);
}

void hf_supervisor_decide_next(struct hf_supervisor *supervisor,
                               uint64_t now_ms)
{
    if (supervisor->command.role == HF_ROLE_ON_RESIGN) {
        decide_after_on_resign(supervisor);
        return;
    }
    supervisor->next = HF_SUPERVISOR_END;
    if (supervisor->cancelled != 0 || supervisor->launcher == HF_LAUNCHER_GONE)
        return;
    if (!supervisor->run->options->elect) {
        decide_after_run(supervisor, now_ms);
        return;
    }
    if (hf_supervisor_has_started(supervisor) && asks_to_end(supervisor) != 0)
        end_by_signal(supervisor);
    else if (supervisor->lost || supervisor->not_renewed)
        decide_after_loss(supervisor, now_ms);
    else if (supervisor->by_request != NULL)
        decide_after_request(supervisor, now_ms);
    else if (hf_supervisor_has_started(supervisor) &&
             supervisor->command.role == HF_ROLE_ON_LEAD)
        decide_after_on_lead(supervisor, now_ms);
    else if (hf_supervisor_has_started(supervisor))
        decide_after_end(supervisor, now_ms);
    if (supervisor->next == HF_SUPERVISOR_END)
        return;
    hf_supervisor_forget_command(supervisor);
    supervisor->by_request = NULL;
}
