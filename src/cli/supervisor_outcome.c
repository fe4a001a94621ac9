/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run ended: the exit status and the text, which the supervisor leaves on
 * the shared page for the launcher.
 */
#include "cli/supervisor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "command/exit_status.h"
#include "command/format.h"

/* Why the grant was lost.  The library's text begins with the name of the lock,
 * as ours does, so its beginning is left out.  Not so with several locks, where
 * only the library's text says which one was lost. */
static const char *why_lost(const struct hf_supervisor *supervisor,
                            struct hf_error *error)
{
    static const char before[] = "\" was lost: ";
    const char *why;

    if (supervisor->not_renewed)
        return "the engine did not confirm it in time";
    assert(supervisor->grant !=
           NULL); /* a grant that is lost has not been released yet */
    (void)hf_grant_check(supervisor->grant); /* for its reason */
    hf_format_error(hf_last_error()->text, hf_clock_now_ms(), error->text,
                    sizeof error->text);
    why = strstr(error->text, before);
    return why == NULL || supervisor->lock_count > 1 ? error->text
                                                     : why + strlen(before);
}

/* elect: it leads, and there is no command that would be started. */
static bool leads_without_command(const struct hf_supervisor *supervisor)
{
    return supervisor->leading && supervisor->run->options->command == NULL;
}

void hf_supervisor_describe_loss(const struct hf_supervisor *supervisor,
                                 char text[HF_ERROR_TEXT_BYTES])
{
    const char *when = "before the command could be started";
    struct hf_error error;

    if (supervisor->once == HF_ONCE_WRITING)
        when = "after the command had succeeded, before that was written, so "
               "that it may run again";
    else if (supervisor->next == HF_SUPERVISOR_KEEP)
        when = "after the command had ended, before the time of --at-least "
               "was over";
    else if (hf_supervisor_has_started(supervisor))
        when = supervisor->command.role == HF_ROLE_ON_LEAD
                   ? "while --on-lead ran, which was therefore stopped"
                   : "while the command ran, which was therefore stopped";
    else if (leads_without_command(supervisor))
        when = "while this machine led";
    hf_error_set(&error, HF_ELOST, "'%.200s' was lost %s: %s",
                 supervisor->run->options->label, when,
                 why_lost(supervisor, &error));
    memcpy(text, error.text, sizeof error.text);
}

void hf_supervisor_describe_request(const struct hf_supervisor *supervisor,
                                    char text[HF_ERROR_TEXT_BYTES])
{
    char asked[256] = "it", command[64];

    if (supervisor->lock_count > 1)
        snprintf(asked, sizeof asked, "'%.200s'", supervisor->by_request);
    if (supervisor->command.state == HF_COMMAND_ENDED)
        snprintf(command, sizeof command, "ended with status %d",
                 supervisor->command.exit_code);
    else
        snprintf(command, sizeof command, "was %s",
                 hf_supervisor_has_started(supervisor) ? "stopped"
                                                       : "not started");
    snprintf(text, HF_ERROR_TEXT_BYTES,
             "'%.200s' was released because another program asked for %s",
             supervisor->run->options->label, asked);
    if (hf_supervisor_has_started(supervisor) ||
        !leads_without_command(supervisor)) {
        size_t length = strlen(text);

        snprintf(text + length, HF_ERROR_TEXT_BYTES - length, "; %s %s",
                 hf_supervisor_command_name(supervisor), command);
    }
}

/* Outcome: the lock was lost before or while the command ran. */
static void set_lost(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;

    outcome->exit_code = HF_EXIT_LOST;
    hf_supervisor_describe_loss(supervisor, outcome->text);
}

void hf_supervisor_set_unconfirmed(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;

    if (outcome->exit_code == HF_EXIT_LOST)
        return;
    outcome->exit_code = HF_EXIT_LOST;
    snprintf(outcome->text, sizeof outcome->text,
             "'%.200s' may have been lost before the command ended: the engine "
             "did not confirm the release",
             supervisor->run->options->label);
}

/* Outcome: another program asked for the lock, and --on-revoke gives it up. */
static void set_revoked(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;

    outcome->exit_code = HF_EXIT_REVOKED;
    outcome->is_no_error = 1;
    hf_supervisor_describe_request(supervisor, outcome->text);
}

/* Outcome: there was no grant, or the command could not be started. */
static void set_failed(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;
    hf_status status = supervisor->failure.status;
    char reason[HF_ERROR_TEXT_BYTES];
    bool is_busy;

    /* If the wait ends before there was a connection, the connection has
     * failed. */
    if (status == HF_ETIMEDOUT && !supervisor->queued &&
        hf_client_state(supervisor->client) == HF_STATE_CONNECTING)
        status = HF_EUNREACHABLE;
    is_busy = hf_exit_status(status) == HF_EXIT_BUSY;
    outcome->is_no_error = is_busy;
    outcome->exit_code =
        is_busy ? supervisor->run->options->busy_exit : hf_exit_status(status);
    hf_format_error(supervisor->failure.text, hf_clock_now_ms(), reason,
                    sizeof reason);
    if (is_busy)
        snprintf(outcome->text, sizeof outcome->text,
                 "'%.200s' was not obtained: %.250s",
                 supervisor->run->options->label, reason);
    else
        snprintf(outcome->text, sizeof outcome->text, "%s", reason);
}

/* Outcome: the command has succeeded, but that could not be written, or perhaps
 * not. */
static void set_unwritten(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;
    hf_status status = supervisor->failure.status;

    outcome->exit_code =
        status == HF_EUNSURE ? HF_EXIT_LOST : hf_exit_status(status);
    snprintf(outcome->text, sizeof outcome->text,
             "the command has succeeded, and may run again within the period "
             "all the same: %.350s",
             supervisor->failure.text);
}

void hf_supervisor_set_outcome(struct hf_supervisor *supervisor)
{
    struct hf_run_outcome *outcome = &supervisor->run->page->outcome;

    if (supervisor->cancelled != 0 &&
        supervisor->command.state == HF_COMMAND_NONE)
        outcome->cancelled = supervisor->cancelled;
    else if (supervisor->lost || supervisor->not_renewed)
        set_lost(supervisor);
    else if (supervisor->by_request != NULL)
        set_revoked(supervisor);
    else if (supervisor->launcher == HF_LAUNCHER_GONE &&
             !hf_supervisor_has_started(supervisor))
        outcome->exit_code = HF_EXIT_LIMIT; /* see hf_launcher_send_awaited() */
    else if (supervisor->once == HF_ONCE_EARLY)
        outcome->exit_code = 0;
    else if (supervisor->once == HF_ONCE_UNWRITTEN)
        set_unwritten(supervisor);
    else if (!hf_supervisor_has_started(supervisor))
        set_failed(supervisor);
    else
        outcome->exit_code = supervisor->command.exit_code;
}
