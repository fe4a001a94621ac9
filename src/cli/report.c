/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/say.h"
#include "core/quote.h"
#include "history/picture.h"

/* So many violations are told one by one. */
#define TOLD 20

/* ------------------------------------------------------------------ text -- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static double seconds(uint64_t us)
{
    return (double)us / 1e6;
}

static double since(const struct hf_history *history, uint64_t at_us)
{
    return seconds(at_us - history->began_us);
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

static void tell(FILE *out, const struct hf_history *history,
                 const struct hf_violation *violation)
{
    const struct hf_attempt *attempt = &history->attempts[violation->attempt];
    const struct hf_attempt *other = &history->attempts[violation->other];

    fprintf(out, "line %zu: %s: %s at %.6f s ", violation->line,
            hf_rule_name(violation->rule),
            lock_of(history, violation->attempt).text,
            since(history, violation->from_us));
    fprintf(out, "%s (token %" PRIu64 ") ",
            client_of(history, violation->attempt).text, attempt->token);
    switch (violation->rule) {
    case HF_RULE_EXCLUSION:
        fprintf(out,
                "was let in while %s (token %" PRIu64
                ", line %zu) relied on it, for %.6f s\n",
                client_of(history, violation->other).text, other->token,
                other->granted_line,
                seconds(violation->until_us - violation->from_us));
        break;
    case HF_RULE_TOKENS:
        fprintf(out,
                "came after %s (line %zu), whose token %" PRIu64
                " is not less\n",
                client_of(history, violation->other).text, other->granted_line,
                other->token);
        break;
    case HF_RULE_ORDER:
        fprintf(out,
                "was let in before %s (line %zu), who was in the queue when "
                "it came\n",
                client_of(history, violation->other).text, other->want_line);
        break;
    case HF_RULE_LOSS:
        fprintf(out, "had no promise any more and was not told, for %.6f s\n",
                seconds(violation->until_us - violation->from_us));
        break;
    case HF_RULE_FENCE:
        fprintf(out, "was refused a write while it could rely on the lock\n");
        break;
    }
}

static void tell_handoffs(FILE *out, const char *after,
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

/* Behind a verdict: on how much it rests. */
static void tell_judged(FILE *out, const struct hf_history *history,
                        const struct hf_verdict *verdict)
{
    size_t faults = history->deaths + history->freezes;
    size_t losses = verdict->endings[HF_ENDING_LOST];

    fprintf(out, " in %zu grant%s, %zu fault%s, %zu loss%s", verdict->grants,
            plural(verdict->grants), faults, plural(faults), losses,
            losses == 1 ? "" : "es");
}

static void tell_verdict(FILE *out, const struct hf_history *history,
                         const struct hf_verdict *verdict)
{
    size_t all = hf_verdict_violations(verdict);
    const char *comma = ":";

    if (verdict->grants == 0) {
        fputs("verdict   none: there is no grant to judge\n", out);
        return;
    }
    if (all == 0)
        fputs("verdict   no violation", out);
    else
        fprintf(out, "verdict   %zu violation%s", all, plural(all));
    tell_judged(out, history, verdict);
    for (int i = 0; i < HF_RULES; i++) {
        if (verdict->broken[i] == 0)
            continue;
        fprintf(out, "%s %s %zu", comma, hf_rule_name((enum hf_rule)i),
                verdict->broken[i]);
        comma = ",";
    }
    fputs("\n", out);
}

static void tell_never(FILE *out, const struct hf_history *history,
                       const struct hf_verdict *verdict)
{
    const char *name;

    if (verdict->never == 0 || verdict->grants == 0)
        return;
    name = history->locks.names[verdict->never_lock];
    fprintf(out, "never     %zu lock%s never granted and %s not judged: %s%s\n",
            verdict->never, verdict->never == 1 ? " was" : "s were",
            verdict->never == 1 ? "is" : "are",
            hf_quote(name, strlen(name)).text,
            verdict->never == 1 ? "" : " is the first");
}

void hf_report_text(FILE *out, const struct hf_history *history,
                    const struct hf_verdict *verdict)
{
    const size_t *endings = verdict->endings;

    for (size_t i = 0; i < verdict->kept && i < TOLD; i++)
        tell(out, history, &verdict->violations[i]);
    if (hf_verdict_violations(verdict) > TOLD)
        fprintf(out, "and %zu more\n", hf_verdict_violations(verdict) - TOLD);
    fprintf(out,
            "history   %zu notes of %" PRIu32 " client%s and %" PRIu32
            " lock%s, %.3f s\n",
            history->note_count, history->clients.count,
            plural(history->clients.count), history->locks.count,
            plural(history->locks.count), since(history, history->ended_us));
    fprintf(out,
            "attempts  %" PRIu32 ": %zu granted; %zu released, %zu lost, "
            "%zu died, %zu gave up, %zu go on\n",
            history->attempt_count, verdict->grants,
            endings[HF_ENDING_RELEASED], endings[HF_ENDING_LOST],
            endings[HF_ENDING_DIED], endings[HF_ENDING_GAVE_UP],
            endings[HF_ENDING_NONE]);
    fprintf(out, "faults    %zu clients killed, %zu times one frozen\n",
            history->deaths, history->freezes);
    fprintf(out,
            "writes    %" PRIu32 ", of which %zu refused: of those who had "
            "lost the lock\n",
            history->write_count, verdict->refused);
    tell_handoffs(out, "release", &verdict->handoffs[HF_ENDING_RELEASED]);
    tell_handoffs(out, "death", &verdict->handoffs[HF_ENDING_DIED]);
    fprintf(out, "wait      at most %.3f s\n",
            seconds(verdict->longest_wait_us));
    tell_never(out, history, verdict);
    tell_verdict(out, history, verdict);
}

/* ------------------------------------------------------------------ json -- */

/* As text: most readers of JSON have no room for 64 bits in a number. */
static void put_token(struct hf_json *json, const char *key, uint64_t token)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, token);
    hf_json_string(json, key, text);
}

static void put_attempt(struct hf_json *json, const char *key,
                        const struct hf_history *history, uint32_t place)
{
    const struct hf_attempt *attempt = &history->attempts[place];

    hf_json_begin_object(json, key);
    hf_json_string(json, "client", history->clients.names[attempt->client]);
    hf_json_string(json, "kind", hf_note_kind(attempt->kind));
    put_token(json, "token", attempt->token);
    hf_json_number(json, "wanted_line", attempt->want_line);
    hf_json_number(json, "granted_line", attempt->granted_line);
    hf_json_end_object(json);
}

static void put_violation(struct hf_json *json,
                          const struct hf_history *history,
                          const struct hf_violation *violation)
{
    const struct hf_attempt *attempt = &history->attempts[violation->attempt];

    hf_json_begin_object(json, NULL);
    hf_json_string(json, "rule", hf_rule_name(violation->rule));
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
                    const struct hf_verdict *verdict)
{
    struct hf_json json = {.out = out};
    const size_t *endings = verdict->endings;

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "verdict", hf_verdict_word(verdict));
    hf_json_number(&json, "violations", hf_verdict_violations(verdict));
    hf_json_begin_object(&json, "broken");
    for (int i = 0; i < HF_RULES; i++)
        hf_json_number(&json, hf_rule_name((enum hf_rule)i),
                       verdict->broken[i]);
    hf_json_end_object(&json);
    hf_json_begin_list(&json, "told");
    for (size_t i = 0; i < verdict->kept; i++)
        put_violation(&json, history, &verdict->violations[i]);
    hf_json_end_list(&json);
    hf_json_number(&json, "notes", history->note_count);
    hf_json_number(&json, "clients", history->clients.count);
    hf_json_number(&json, "locks", history->locks.count);
    hf_json_number(&json, "lasted_us", history->ended_us - history->began_us);
    hf_json_number(&json, "attempts", history->attempt_count);
    hf_json_number(&json, "granted", verdict->grants);
    hf_json_number(&json, "never_granted", verdict->never);
    hf_json_number(&json, "released", endings[HF_ENDING_RELEASED]);
    hf_json_number(&json, "lost", endings[HF_ENDING_LOST]);
    hf_json_number(&json, "died", endings[HF_ENDING_DIED]);
    hf_json_number(&json, "gave_up", endings[HF_ENDING_GAVE_UP]);
    hf_json_number(&json, "killed", history->deaths);
    hf_json_number(&json, "frozen", history->freezes);
    hf_json_number(&json, "writes", history->write_count);
    hf_json_number(&json, "refused", verdict->refused);
    hf_json_number(&json, "longest_wait_us", verdict->longest_wait_us);
    put_handoffs(&json, "after_release",
                 &verdict->handoffs[HF_ENDING_RELEASED]);
    put_handoffs(&json, "after_death", &verdict->handoffs[HF_ENDING_DIED]);
    hf_json_end_object(&json);
}

/* ---------------------------------------------------------------- report -- */

static bool draw(const char *name, const struct hf_history *history,
                 const struct hf_verdict *verdict)
{
    FILE *file = fopen(name, "we");
    bool failed;

    if (file == NULL) {
        hf_say("%s: cannot be written: %s; expected room for a picture there",
               name, strerror(errno));
        return false;
    }
    hf_picture_write(file, history, verdict);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        hf_say("%s: cannot be written in full; expected room for a picture "
               "there",
               name);
        return false;
    }
    return true;
}

/* Where nothing was granted nothing could go wrong, and that shows nothing. */
static int exit_of_verdict(const struct hf_report_opts *opts,
                           const struct hf_verdict *verdict)
{
    if (verdict->grants > 0)
        return hf_verdict_violations(verdict) > 0 ? HF_EXIT_VIOLATION : 0;
    if (opts->lock == NULL)
        hf_say("%s: no grant is in it, so nothing was judged; expected a "
               "history in which a lock was granted",
               opts->name);
    else
        hf_say("'%s' was never granted, so nothing was judged; see with "
               "'holdfast show' whether somebody else holds it, or give it "
               "more time with --for",
               opts->lock);
    return HF_EXIT_DATA;
}

static int judge(const struct hf_report_opts *opts,
                 const struct hf_history *history)
{
    struct hf_verdict verdict;
    int exit_code = HF_EXIT_LIMIT;

    if (hf_verdict_of(history, opts->late_ms * 1000, &verdict)) {
        if (opts->json)
            hf_report_json(stdout, history, &verdict);
        else
            hf_report_text(stdout, history, &verdict);
        exit_code = exit_of_verdict(opts, &verdict);
        if (fflush(stdout) != 0 || ferror(stdout) ||
            (opts->svg != NULL && !draw(opts->svg, history, &verdict)))
            exit_code = HF_EXIT_DIRECTORY;
    } else {
        hf_say("no memory is left to judge the history");
    }
    hf_verdict_free(&verdict);
    return exit_code;
}

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
        hf_say("%s: cannot be read: %s; expected a history", opts->name,
               strerror(errno));
        return HF_EXIT_NO_INPUT;
    }
    if (hf_history_read(file, &history, &error) == HF_OK) {
        exit_code = judge(opts, &history);
    } else {
        hf_say("%s: %s", opts->name, error.text);
        exit_code = exit_of(error.status);
    }
    hf_history_free(&history);
    if (!of_stdin)
        (void)fclose(file);
    return exit_code;
}
