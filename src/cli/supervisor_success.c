/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run --once-per: before the command is started the last success is read, and
 * if that is not long enough ago the command is not started.  When the command
 * has succeeded that is written, and only then is the lock released.
 */
#include "cli/supervisor.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "base/url.h"

/* How long to wait for the engine.  If it has leases, the loss of the grant
 * ends the wait earlier. */
#define HF_SUCCESS_WAIT_MS 60000

/* Set .failure to that of ${result}.  A timeout is none of the wait for the
 * lock, which is held, so it becomes HF_EUNREACHABLE. */
static void take_failure(struct hf_supervisor *supervisor,
                         const struct hf_result *result)
{
    hf_error_set(&supervisor->failure,
                 result->status == HF_ETIMEDOUT ? HF_EUNREACHABLE
                                                : result->status,
                 "%s", result->text);
}

/* ------------------------------------------------------- when it is due -- */

/* Are both times on one day of the time zone?  Then ${due_in_ms} is how long it
 * is from ${now_ms} to the next day. */
static bool is_same_day(int64_t then_ms, int64_t now_ms, uint64_t *due_in_ms)
{
    time_t then_s = (time_t)(then_ms / 1000), now_s = (time_t)(now_ms / 1000);
    struct tm then, now;

    if (localtime_r(&then_s, &then) == NULL ||
        localtime_r(&now_s, &now) == NULL)
        return false;
    if (then.tm_year != now.tm_year || then.tm_yday != now.tm_yday)
        return false;
    now.tm_mday++;
    now.tm_hour = now.tm_min = now.tm_sec = 0;
    now.tm_isdst = -1;
    *due_in_ms = (uint64_t)((int64_t)mktime(&now) * 1000 - now_ms);
    return true;
}

/* Has a job that is to succeed once in ${period_ms} succeeded too recently, as
 * ${last} says?  Then ${due_in_ms} is how long it has to wait.  The engine has
 * said when that was and how long ago, so the clock of this machine is not
 * read; but a day of the calendar is that of the time zone of this process. */
static bool is_early(uint64_t period_ms, const struct hf_success *last,
                     uint64_t *due_in_ms)
{
    uint64_t age_ms = last->age_ms > 0 ? (uint64_t)last->age_ms : 0;

    if (last->token == 0)
        return false;
    if (period_ms == HF_ONCE_PER_DAY)
        return is_same_day(last->at_utc_ms, last->at_utc_ms + (int64_t)age_ms,
                           due_in_ms);
    *due_in_ms = period_ms > age_ms ? period_ms - age_ms : 0;
    return age_ms < period_ms;
}

/* Print when the command has succeeded, and when it is due. */
static void print_early(struct hf_supervisor *supervisor,
                        const struct hf_success *last, uint64_t due_in_ms)
{
    char age[HF_DURATION_BYTES], due[HF_DURATION_BYTES], at[32] = "";
    time_t seconds = (time_t)(last->at_utc_ms / 1000);
    struct tm utc;

    hf_duration_format_short((uint64_t)last->age_ms, age);
    hf_duration_format_short(due_in_ms, due);
    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(at, sizeof at, "%Y-%m-%d %H:%M UTC, ", &utc);
    hf_supervisor_print(
        supervisor, HF_NORMAL,
        "'%.200s' has succeeded %s ago (%stoken %" PRIu64 "); it is due in %s",
        supervisor->run->options->label, age, at, last->token, due);
}

/* The last success was read, or cannot be.  Runs in hf_client_dispatch(). */
static void on_last_success(void *arg, const struct hf_result *result)
{
    struct hf_supervisor *supervisor = arg;
    uint64_t due_in_ms;

    if (result->status != HF_OK) {
        take_failure(supervisor, result);
        supervisor->once = HF_ONCE_FAILED;
    } else if (is_early(supervisor->run->options->once_per_ms, &result->success,
                        &due_in_ms)) {
        print_early(supervisor, &result->success, due_in_ms);
        supervisor->once = HF_ONCE_EARLY;
    } else {
        supervisor->once = HF_ONCE_DUE;
    }
}

void hf_supervisor_read_success(struct hf_supervisor *supervisor)
{
    struct hf_done done = {on_last_success, supervisor, NULL};

    supervisor->once = HF_ONCE_READING;
    if (hf_grant_last_success_start(supervisor->grant, HF_SUCCESS_WAIT_MS,
                                    done) == HF_OK)
        return;
    supervisor->failure = *hf_last_error();
    supervisor->once = HF_ONCE_FAILED;
}

/* The success was written, or cannot be.  Runs in hf_client_dispatch(). */
static void on_written(void *arg, const struct hf_result *result)
{
    struct hf_supervisor *supervisor = arg;

    supervisor->once = HF_ONCE_WRITTEN;
    if (result->status == HF_OK)
        return;
    take_failure(supervisor, result);
    supervisor->once = HF_ONCE_UNWRITTEN;
}

bool hf_supervisor_has_succeeded(const struct hf_supervisor *supervisor)
{
    return supervisor->once == HF_ONCE_DUE &&
           supervisor->command.state == HF_COMMAND_ENDED &&
           supervisor->command.exit_code == 0 && !supervisor->lost &&
           !supervisor->not_renewed && supervisor->by_request == NULL;
}

void hf_supervisor_write_success(struct hf_supervisor *supervisor)
{
    struct hf_done done = {on_written, supervisor, NULL};

    supervisor->once = HF_ONCE_WRITING;
    if (hf_grant_write_success_start(supervisor->grant, HF_SUCCESS_WAIT_MS,
                                     done) == HF_OK)
        return;
    supervisor->failure = *hf_last_error();
    supervisor->once = HF_ONCE_UNWRITTEN;
}
