/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. */
#include "torture/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/quote.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/json.h"
#include "command/ui.h"
#include "torture/timeline.h"

/* The most violations that are printed one by one. */
#define PRINTED_MAX 20

/* ------------------------------------------------------------------ text -- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static double us_to_s(uint64_t us)
{
    return (double)us / 1e6;
}

/* Seconds from the first event to ${at_us}. */
static double since_begin_s(const struct hf_history *history, uint64_t at_us)
{
    return us_to_s(at_us - history->began_us);
}

static struct hf_quoted client_of(const struct hf_history *history,
                                  uint32_t attempt)
{
    const char *name =
        history->clients.names[history->attempts[attempt].client];

    return hf_quote(name, strlen(name));
}

static struct hf_quoted lock_of(const struct hf_history *history,
                                uint32_t attempt)
{
    const char *name = history->locks.names[history->attempts[attempt].lock];

    return hf_quote(name, strlen(name));
}

/* Print one line: where, which rule, which client, and why it is a violation.
 */
static void print_violation(FILE *out, const struct hf_history *history,
                            const struct hf_violation *violation)
{
    const struct hf_history_attempt *attempt =
        &history->attempts[violation->attempt];
    const struct hf_history_attempt *other =
        &history->attempts[violation->other];

    fprintf(out, "line %zu: %s: %s at %.6f s ", violation->line,
            hf_check_rule_name(violation->rule),
            lock_of(history, violation->attempt).text,
            since_begin_s(history, violation->from_us));
    fprintf(out, "%s (token %" PRIu64 ") ",
            client_of(history, violation->attempt).text, attempt->token);
    switch (violation->rule) {
    case HF_CHECK_EXCLUSION:
        fprintf(out,
                "was let in while %s (token %" PRIu64
                ", line %zu) relied on it, for %.6f s\n",
                client_of(history, violation->other).text, other->token,
                other->granted_line,
                us_to_s(violation->until_us - violation->from_us));
        break;
    case HF_CHECK_TOKENS:
        fprintf(out,
                "came after %s (line %zu), whose token %" PRIu64
                " is not less\n",
                client_of(history, violation->other).text, other->granted_line,
                other->token);
        break;
    case HF_CHECK_ORDER:
        fprintf(out,
                "was let in before %s (line %zu), who was in the queue when "
                "it came\n",
                client_of(history, violation->other).text, other->want_line);
        break;
    case HF_CHECK_LOSS:
        fprintf(out,
                "was past its safe-until and was not notified of the loss, for "
                "%.6f s\n",
                us_to_s(violation->until_us - violation->from_us));
        break;
    case HF_CHECK_FENCE:
        fprintf(out, "was refused a write while it could rely on the lock\n");
        break;
    }
}

/* Print a line about the handoffs after releases or deaths, if there are any.
 */
static void print_handoffs(FILE *out, const char *after,
                           const struct hf_handoffs *handoffs)
{
    if (handoffs->count == 0)
        return;
    fprintf(out,
            "handoff   after %s: p50 %.3f ms, p99 %.3f ms, at most %.3f ms, "
            "of %zu\n",
            after, (double)hf_handoffs_percentile(handoffs, 50) / 1e3,
            (double)hf_handoffs_percentile(handoffs, 99) / 1e3,
            (double)hf_handoffs_percentile(handoffs, 100) / 1e3,
            handoffs->count);
}

/* Print the part of the last line that says how much was checked. */
static void print_extent(FILE *out, const struct hf_history *history,
                         const struct hf_check_result *result)
{
    size_t faults = history->deaths + history->freezes;
    size_t losses = result->endings[HF_ENDING_LOST];

    fprintf(out, " in %zu grant%s, %zu fault%s, %zu loss%s", result->grants,
            plural(result->grants), faults, plural(faults), losses,
            losses == 1 ? "" : "es");
}

/* Print the last line: the result, and how often each rule was broken. */
static void print_result(FILE *out, const struct hf_history *history,
                         const struct hf_check_result *result)
{
    size_t all = hf_check_result_violations(result);
    const char *comma = ":";

    if (result->grants == 0) {
        fputs("verdict   none: there is no grant to judge\n", out);
        return;
    }
    if (all == 0)
        fputs("verdict   no violation", out);
    else
        fprintf(out, "verdict   %zu violation%s", all, plural(all));
    print_extent(out, history, result);
    for (int i = 0; i < HF_CHECK_RULES; i++) {
        if (result->broken[i] == 0)
            continue;
        fprintf(out, "%s %s %zu", comma,
                hf_check_rule_name((enum hf_check_rule)i), result->broken[i]);
        comma = ",";
    }
    fputs("\n", out);
}

/* Print a line about locks that were never granted, if there are any. */
static void print_never_granted(FILE *out, const struct hf_history *history,
                                const struct hf_check_result *result)
{
    const char *name;

    if (result->never_granted == 0 || result->grants == 0)
        return;
    name = history->locks.names[result->first_never_granted];
    fprintf(out, "never     %zu lock%s never granted and %s not judged: %s%s\n",
            result->never_granted,
            result->never_granted == 1 ? " was" : "s were",
            result->never_granted == 1 ? "is" : "are",
            hf_quote(name, strlen(name)).text,
            result->never_granted == 1 ? "" : " is the first");
}

void hf_report_text(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *result)
{
    const size_t *endings = result->endings;

    for (size_t i = 0; i < result->kept && i < PRINTED_MAX; i++)
        print_violation(out, history, &result->violations[i]);
    if (hf_check_result_violations(result) > PRINTED_MAX)
        fprintf(out, "and %zu more\n",
                hf_check_result_violations(result) - PRINTED_MAX);
    fprintf(out,
            "history   %zu notes of %" PRIu32 " client%s and %" PRIu32
            " lock%s, %.3f s\n",
            history->event_count, history->clients.count,
            plural(history->clients.count), history->locks.count,
            plural(history->locks.count),
            since_begin_s(history, history->ended_us));
    fprintf(out,
            "attempts  %" PRIu32 ": %zu granted; %zu released, %zu lost, "
            "%zu died, %zu gave up, %zu go on\n",
            history->attempt_count, result->grants, endings[HF_ENDING_RELEASED],
            endings[HF_ENDING_LOST], endings[HF_ENDING_DIED],
            endings[HF_ENDING_GAVE_UP], endings[HF_ENDING_NONE]);
    fprintf(out, "faults    %zu clients killed, %zu times one frozen\n",
            history->deaths, history->freezes);
    fprintf(out,
            "writes    %" PRIu32 ", of which %zu refused: of those who had "
            "lost the lock\n",
            history->write_count, result->refused);
    print_handoffs(out, "release", &result->handoffs[HF_ENDING_RELEASED]);
    print_handoffs(out, "death", &result->handoffs[HF_ENDING_DIED]);
    fprintf(out, "wait      at most %.3f s\n",
            us_to_s(result->longest_wait_us));
    print_never_granted(out, history, result);
    print_result(out, history, result);
}

/* ------------------------------------------------------------------ json -- */

/* Write a token as a string, because most JSON readers have no 64-bit numbers.
 */
static void put_token(struct hf_json *json, const char *key, uint64_t token)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, token);
    hf_json_string(json, key, text);
}

/* Write an attempt as an object. */
static void put_attempt(struct hf_json *json, const char *key,
                        const struct hf_history *history, uint32_t index)
{
    const struct hf_history_attempt *attempt = &history->attempts[index];

    hf_json_begin_object(json, key);
    hf_json_string(json, "client", history->clients.names[attempt->client]);
    hf_json_string(json, "kind", hf_history_kind_name(attempt->kind));
    put_token(json, "token", attempt->token);
    hf_json_number(json, "wanted_line", attempt->want_line);
    hf_json_number(json, "granted_line", attempt->granted_line);
    hf_json_end_object(json);
}

/* Write a violation as an object. */
static void put_violation(struct hf_json *json,
                          const struct hf_history *history,
                          const struct hf_violation *violation)
{
    const struct hf_history_attempt *attempt =
        &history->attempts[violation->attempt];

    hf_json_begin_object(json, NULL);
    hf_json_string(json, "rule", hf_check_rule_name(violation->rule));
    hf_json_number(json, "line", violation->line);
    hf_json_string(json, "lock", history->locks.names[attempt->lock]);
    hf_json_number(json, "from_us", violation->from_us);
    hf_json_number(json, "until_us", violation->until_us);
    put_attempt(json, "attempt", history, violation->attempt);
    if (violation->other != violation->attempt)
        put_attempt(json, "other", history, violation->other);
    else
        hf_json_null(json, "other");
    hf_json_end_object(json);
}

/* Write handoffs as an object. */
static void put_handoffs(struct hf_json *json, const char *key,
                         const struct hf_handoffs *handoffs)
{
    hf_json_begin_object(json, key);
    hf_json_number(json, "count", handoffs->count);
    hf_json_number(json, "p50_us", hf_handoffs_percentile(handoffs, 50));
    hf_json_number(json, "p99_us", hf_handoffs_percentile(handoffs, 99));
    hf_json_number(json, "most_us", hf_handoffs_percentile(handoffs, 100));
    hf_json_end_object(json);
}

void hf_report_json(FILE *out, const struct hf_history *history,
                    const struct hf_check_result *result)
{
    struct hf_json json = {.out = out};
    const size_t *endings = result->endings;

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "verdict", hf_check_result_name(result));
    hf_json_number(&json, "violations", hf_check_result_violations(result));
    hf_json_begin_object(&json, "broken");
    for (int i = 0; i < HF_CHECK_RULES; i++)
        hf_json_number(&json, hf_check_rule_name((enum hf_check_rule)i),
                       result->broken[i]);
    hf_json_end_object(&json);
    hf_json_begin_list(&json, "told");
    for (size_t i = 0; i < result->kept; i++)
        put_violation(&json, history, &result->violations[i]);
    hf_json_end_list(&json);
    hf_json_number(&json, "notes", history->event_count);
    hf_json_number(&json, "clients", history->clients.count);
    hf_json_number(&json, "locks", history->locks.count);
    hf_json_number(&json, "lasted_us", history->ended_us - history->began_us);
    hf_json_number(&json, "attempts", history->attempt_count);
    hf_json_number(&json, "granted", result->grants);
    hf_json_number(&json, "never_granted", result->never_granted);
    hf_json_number(&json, "released", endings[HF_ENDING_RELEASED]);
    hf_json_number(&json, "lost", endings[HF_ENDING_LOST]);
    hf_json_number(&json, "died", endings[HF_ENDING_DIED]);
    hf_json_number(&json, "gave_up", endings[HF_ENDING_GAVE_UP]);
    hf_json_number(&json, "killed", history->deaths);
    hf_json_number(&json, "frozen", history->freezes);
    hf_json_number(&json, "writes", history->write_count);
    hf_json_number(&json, "refused", result->refused);
    hf_json_number(&json, "longest_wait_us", result->longest_wait_us);
    put_handoffs(&json, "after_release", &result->handoffs[HF_ENDING_RELEASED]);
    put_handoffs(&json, "after_death", &result->handoffs[HF_ENDING_DIED]);
    hf_json_end_object(&json);
}

/* ---------------------------------------------------------------- report -- */

/* Write the timeline to the file ${name}.  Returns false after printing why
 * that failed. */
static bool draw(const char *name, const struct hf_history *history,
                 const struct hf_check_result *result)
{
    FILE *file = fopen(name, "we");
    bool failed;

    if (file == NULL) {
        hf_ui_print(
            "%s: cannot be written: %s; expected room for a picture there",
            name, strerror(errno));
        return false;
    }
    hf_timeline_write(file, history, result);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        hf_ui_print(
            "%s: cannot be written in full; expected room for a picture "
            "there",
            name);
        return false;
    }
    return true;
}

/* Return the exit status.  A history without a grant breaks no rule but proves
 * nothing, so it is no success. */
static int exit_of_result(const struct hf_report_opts *opts,
                          const struct hf_check_result *result)
{
    if (result->grants > 0)
        return hf_check_result_violations(result) > 0 ? HF_EXIT_VIOLATION : 0;
    if (opts->lock == NULL)
        hf_ui_print("%s: no grant is in it, so nothing was judged; expected a "
                    "history in which a lock was granted",
                    opts->name);
    else
        hf_ui_print(
            "'%s' was never granted, so nothing was judged; see with "
            "'holdfast show' whether somebody else holds it, or give it "
            "more time with --for",
            opts->lock);
    return HF_EXIT_DATA;
}

/* Check ${history} and write the report.  Returns the exit status. */
static int check(const struct hf_report_opts *opts,
                 const struct hf_history *history)
{
    struct hf_check_result result;
    int exit_code = HF_EXIT_LIMIT;

    if (hf_check_history(history, opts->late_ms * 1000, &result)) {
        if (opts->json)
            hf_report_json(stdout, history, &result);
        else
            hf_report_text(stdout, history, &result);
        exit_code = exit_of_result(opts, &result);
        if (hf_command_line_end_output() != 0 ||
            (opts->svg != NULL && !draw(opts->svg, history, &result)))
            exit_code = HF_EXIT_DIRECTORY;
    } else {
        hf_ui_print("no memory is left to judge the history");
    }
    hf_check_result_free(&result);
    return exit_code;
}

/* Return the exit status for a history that could not be read. */
static int exit_of(hf_status status)
{
    if (status == HF_EINVAL)
        return HF_EXIT_DATA;
    return status == HF_EDIR ? HF_EXIT_NO_INPUT : hf_exit_status(status);
}

int hf_report(const struct hf_report_opts *opts)
{
    bool of_stdin = strcmp(opts->name, "-") == 0;
    FILE *file = of_stdin ? stdin : fopen(opts->name, "re");
    struct hf_history history;
    struct hf_error error;
    int exit_code;

    if (file == NULL) {
        hf_ui_print("%s: cannot be read: %s; expected a history", opts->name,
                    strerror(errno));
        return HF_EXIT_NO_INPUT;
    }
    if (hf_history_read(file, HF_HISTORY_BYTES, &history, &error) == HF_OK) {
        exit_code = check(opts, &history);
    } else {
        hf_ui_print("%s: %s", opts->name, error.text);
        exit_code = exit_of(error.status);
    }
    hf_history_free(&history);
    if (!of_stdin)
        (void)fclose(file);
    return exit_code;
}
