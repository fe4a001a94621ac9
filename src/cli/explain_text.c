/* SPDX-License-Identifier: Apache-2.0 */
/* What `holdfast explain` prints: see holdfast-explain(1). */
#include <inttypes.h>
#include <string.h>

#include "base/quote.h"
#include "cli/deadlock_survey.h"
#include "cli/explain.h"
#include "command/clock.h"
#include "command/format.h"
#include "command/json.h"

/* ${hold} of ${waiter} may be held by another process, the run that the waiter
 * was started in: return the ticket of that.  Else NULL. */
static const struct hf_deadlock_ticket *
outer_run_of(const struct hf_deadlock_ticket *waiter,
             const struct hf_deadlock_hold *hold)
{
    const struct hf_deadlock_ticket *target = hold->target;

    if (target == NULL || hf_ticket_text_number(target->text, "pid") ==
                              hf_ticket_text_number(waiter->text, "pid"))
        return NULL;
    return target;
}

/* Call ${visit}, unless it is NULL, for each ticket of the explained lock that
 * holds it or, without ${holds}, that waits.  Returns how many they are.  The
 * lock was read first, so its number is 0. */
static size_t for_each(const struct hf_explanation *explanation, bool holds,
                       void (*visit)(void *arg,
                                     const struct hf_explanation *explanation,
                                     const struct hf_deadlock_ticket *ticket),
                       void *arg)
{
    const struct hf_deadlock_graph *graph =
        hf_deadlock_search_graph(&explanation->search);
    const struct hf_deadlock_ticket *ticket;
    size_t found = 0;

    FOR_EACH_TICKET (ticket, graph) {
        if (ticket->lock > 0)
            break;
        if ((ticket->state == HF_DEADLOCK_ADMITTED) != holds)
            continue;
        found++;
        if (visit != NULL)
            visit(arg, explanation, ticket);
    }
    return found;
}

/* Was there no verdict, because there was too much to look at? */
static bool is_cut(const struct hf_explanation *explanation)
{
    return hf_deadlock_search_status(&explanation->search) != HF_OK;
}

/* How many of the tickets that were read do not say all that their owner
 * holds. */
static size_t count_silent(const struct hf_explanation *explanation)
{
    const struct hf_deadlock_graph *graph =
        hf_deadlock_search_graph(&explanation->search);
    const struct hf_deadlock_ticket *ticket;
    size_t count = 0;

    FOR_EACH_TICKET (ticket, graph)
        count += hf_ticket_is_silent(ticket->kind, ticket->text);
    return count;
}

/* The name of the lock that ${hold} is about. */
static const char *lock_of(const struct hf_deadlock_search *search,
                           const struct hf_deadlock_hold *hold)
{
    return hf_deadlock_search_graph(search)->locks[hold->lock].name;
}

/* ------------------------------------------------------------------ text -- */

/* Print the owner of ${ticket} and for how long it has been in the queue. */
static void print_owner(FILE *out, const struct hf_deadlock_ticket *ticket)
{
    char text[HF_FORMAT_BYTES];

    hf_format_holder(ticket->text, hf_clock_now_ms(), text);
    fputs(text[0] != '\0' ? text : "an owner that says nothing of itself", out);
}

static void print_name(FILE *out, const char *name)
{
    fputs(hf_quote(name, strlen(name)).text, out);
}

/* Print what the owner of ${ticket}, which waits, holds. */
static void print_holds(FILE *out, const struct hf_deadlock_search *search,
                        const struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; i < ticket->hold_count; i++) {
        const struct hf_deadlock_hold *hold = &ticket->holds[i];
        const struct hf_deadlock_ticket *outer = outer_run_of(ticket, hold);

        fputs(i > 0                                  ? ", "
              : ticket->owner == HF_DEADLOCK_SESSION ? "; its session holds "
                                                     : "; holds ",
              out);
        print_name(out, lock_of(search, hold));
        if (outer != NULL)
            fprintf(out, " by the run that it is inside of, pid %" PRIu64,
                    hf_ticket_text_number(outer->text, "pid"));
    }
}

/* Print what the owner of ${holder} waits for. */
static void print_waits_of(FILE *out, const struct hf_explanation *explanation,
                           const struct hf_deadlock_ticket *holder)
{
    const struct hf_holder_wait *wait = explanation->waits;
    bool first = true;

    for (; wait != NULL; wait = wait->next) {
        if (wait->holder != holder)
            continue;
        fputs(first ? "; waits for " : ", ", out);
        first = false;
        print_name(out, wait->name);
        if (wait->inner_run_pid != 0)
            fprintf(out, " by the run inside of it, pid %" PRIu64,
                    wait->inner_run_pid);
    }
}

static void print_holder(void *arg, const struct hf_explanation *explanation,
                         const struct hf_deadlock_ticket *ticket)
{
    FILE *out = arg;

    fputs("  holds  ", out);
    print_owner(out, ticket);
    print_waits_of(out, explanation, ticket);
    fputc('\n', out);
}

static void print_waiter(void *arg, const struct hf_explanation *explanation,
                         const struct hf_deadlock_ticket *ticket)
{
    FILE *out = arg;

    fputs("  waits  ", out);
    print_owner(out, ticket);
    print_holds(out, &explanation->search, ticket);
    fputc('\n', out);
}

/* Why the cycle of ${search} is only possible. */
static const char *doubt_of(const struct hf_deadlock_search *search)
{
    for (size_t i = 0; i < search->cycle.count; i++) {
        if (search->cycle.waiters[i]->owner == HF_DEADLOCK_SESSION)
            return "; but what a session holds may be held by another thread "
                   "than the one that waits";
    }
    return "; but a run that one of them is inside of may go on before that "
           "one has ended";
}

void hf_explain_cycle_text(FILE *out, const struct hf_deadlock_search *search)
{
    fprintf(out,
            "%s: each waits behind the next one, and the last behind the "
            "first%s\n",
            search->possible ? "possible deadlock" : "deadlock",
            search->possible ? doubt_of(search) : "");
    for (size_t i = 0; i < search->cycle.count; i++) {
        const struct hf_deadlock_ticket *waiter = search->cycle.waiters[i];

        fputs("  waits for ", out);
        print_name(out, hf_deadlock_search_lock(search, waiter));
        fputs(": ", out);
        print_owner(out, waiter);
        print_holds(out, search, waiter);
        fputs(waiter->detects ? "; looks for deadlocks\n" : "\n", out);
    }
}

void hf_explain_unknown(FILE *out, bool cut, uint64_t silent)
{
    fputs(" could not be known: ", out);
    if (cut)
        fprintf(out,
                "that would take more than %d queues, %d tickets, or %d locks "
                "of one session",
                HF_DEADLOCK_QUEUES_MAX, HF_DEADLOCK_TICKETS_MAX,
                HF_DEADLOCK_SESSION_HOLDS);
    else if (silent == 1)
        fputs("1 ticket does not say what its owner holds", out);
    else
        fprintf(out, "%" PRIu64 " tickets do not say what their owners hold",
                silent);
}

/* No deadlock was found: print what is known of that. */
static void print_none(FILE *out, const struct hf_explanation *explanation)
{
    size_t queues = hf_deadlock_search_lists(&explanation->search);
    size_t silent = count_silent(explanation);

    if (is_cut(explanation) || silent > 0) {
        fputs("whether there is a deadlock", out);
        hf_explain_unknown(out, is_cut(explanation), silent);
    } else {
        fputs("no deadlock was found", out);
    }
    fprintf(out, "; %zu queue%s looked at\n", queues,
            queues == 1 ? " was" : "s were");
}

void hf_explain_prefix(FILE *out, const char *prefix)
{
    if (strcmp(prefix, "") == 0 || strcmp(prefix, "/") == 0)
        return;
    fputs(" at or below ", out);
    print_name(out, prefix);
}

/* Print that ${what} was looked for by ${walk} at or below ${prefix}. */
static void print_walk(FILE *out, const char *what,
                       const struct hf_waiters_walk *walk, const char *prefix)
{
    fprintf(out, "%s was looked for in %" PRIu64 " name%s", what,
            walk->name_count, walk->name_count == 1 ? "" : "s");
    hf_explain_prefix(out, prefix);
    if (walk->unreadable > 0)
        fprintf(out, "; %" PRIu64 " of what is there could not be read",
                walk->unreadable);
    if (!walk->ended)
        fputs("; there may be more", out);
}

/* Print where sessions and waits of the holders were looked for. */
static void print_walks(FILE *out, const struct hf_explanation *explanation)
{
    if (explanation->session_walk.client != NULL) {
        print_walk(out, "what the sessions of other programs hold",
                   &explanation->session_walk, explanation->beside);
        fputs(explanation->sessions.cut ? "; not all of it could be kept\n"
                                        : "\n",
              out);
    }
    if (explanation->within == NULL)
        return;
    print_walk(out, "what the holders wait for", &explanation->walk,
               explanation->within);
    if (explanation->waits_cut)
        fprintf(out, "; only the first %d waits are shown",
                HF_HOLDER_WAITS_MAX);
    fputc('\n', out);
}

void hf_explain_text(FILE *out, const struct hf_explanation *explanation)
{
    size_t holders = for_each(explanation, true, NULL, NULL);
    size_t waiters = for_each(explanation, false, NULL, NULL);

    print_name(out, explanation->name);
    if (holders + waiters == 0 && is_cut(explanation)) {
        fputc('\n', out);
    } else if (holders + waiters == 0) {
        fputs(": nobody holds it or waits for it\n", out);
        return;
    } else {
        fprintf(out, ": held by %zu, waited for by %zu\n", holders, waiters);
    }
    (void)for_each(explanation, true, print_holder, out);
    (void)for_each(explanation, false, print_waiter, out);
    if (explanation->search.cycle.count > 0)
        hf_explain_cycle_text(out, &explanation->search);
    else
        print_none(out, explanation);
    print_walks(out, explanation);
}

/* ------------------------------------------------------------------ JSON -- */

/* Write the ticket ${ticket} as far as it says who its owner is. */
static void write_owner(struct hf_json *json,
                        const struct hf_deadlock_ticket *ticket)
{
    char id[HF_TICKET_ID_TEXT_BYTES], token[24];
    struct hf_owner owner;

    hf_ticket_id_format(&ticket->id, id);
    hf_json_string(json, "id", id);
    (void)snprintf(token, sizeof token, "%" PRIu64, ticket->token);
    hf_json_string(json, "token", token);
    hf_json_string(json, "payload", ticket->text);
    if (!hf_owner_text_parse(ticket->text, hf_clock_now_ms(), &owner)) {
        hf_json_null(json, "owner");
        return;
    }
    hf_json_begin_object(json, "owner");
    hf_json_string(json, "host", owner.host);
    hf_json_number(json, "pid", owner.pid);
    hf_json_string(json, "command", owner.command);
    hf_json_string(json, "text", owner.text);
    if (owner.age_ms != HF_FOREVER)
        hf_json_number(json, "age_ms", owner.age_ms);
    else
        hf_json_null(json, "age_ms");
    hf_json_end_object(json);
}

static void write_holder(void *arg, const struct hf_explanation *explanation,
                         const struct hf_deadlock_ticket *ticket)
{
    const struct hf_holder_wait *wait = explanation->waits;
    char id[HF_TICKET_ID_TEXT_BYTES];
    struct hf_json *json = arg;

    hf_json_begin_object(json, NULL);
    write_owner(json, ticket);
    hf_json_begin_list(json, "waits_for");
    for (; wait != NULL; wait = wait->next) {
        if (wait->holder != ticket)
            continue;
        hf_ticket_id_format(&wait->id, id);
        hf_json_begin_object(json, NULL);
        hf_json_string(json, "name", wait->name);
        hf_json_string(json, "id", id);
        if (wait->inner_run_pid != 0)
            hf_json_number(json, "inner_run_pid", wait->inner_run_pid);
        else
            hf_json_null(json, "inner_run_pid");
        hf_json_end_object(json);
    }
    hf_json_end_list(json);
    hf_json_end_object(json);
}

static void write_waiter(void *arg, const struct hf_explanation *explanation,
                         const struct hf_deadlock_ticket *ticket)
{
    struct hf_json *json = arg;

    hf_json_begin_object(json, NULL);
    write_owner(json, ticket);
    hf_json_begin_list(json, "holds");
    for (size_t i = 0; i < ticket->hold_count; i++) {
        const struct hf_deadlock_ticket *outer =
            outer_run_of(ticket, &ticket->holds[i]);

        hf_json_begin_object(json, NULL);
        hf_json_string(json, "name",
                       lock_of(&explanation->search, &ticket->holds[i]));
        if (outer != NULL)
            hf_json_number(json, "outer_run_pid",
                           hf_ticket_text_number(outer->text, "pid"));
        else
            hf_json_null(json, "outer_run_pid");
        hf_json_bool(json, "by_session", ticket->owner == HF_DEADLOCK_SESSION);
        hf_json_end_object(json);
    }
    hf_json_end_list(json);
    hf_json_end_object(json);
}

void hf_explain_cycle_json(struct hf_json *json, const char *key,
                           const struct hf_deadlock_search *search)
{
    hf_json_begin_list(json, key);
    for (size_t i = 0; i < search->cycle.count; i++) {
        const struct hf_deadlock_ticket *waiter = search->cycle.waiters[i];

        hf_json_begin_object(json, NULL);
        hf_json_string(json, "waits_for",
                       hf_deadlock_search_lock(search, waiter));
        hf_json_bool(json, "detects", waiter->detects);
        write_owner(json, waiter);
        hf_json_end_object(json);
    }
    hf_json_end_list(json);
}

/* Write the cycle as a list called ${key}.  null if there is no cycle, or if it
 * is certain and ${possible} ones are wanted, or the other way round. */
static void write_cycle(struct hf_json *json, const char *key, bool possible,
                        const struct hf_explanation *explanation)
{
    const struct hf_deadlock_search *search = &explanation->search;

    if (search->cycle.count == 0 || search->possible != possible)
        hf_json_null(json, key);
    else
        hf_explain_cycle_json(json, key, search);
}

/* Write who holds and who waits. */
static void write_tickets(struct hf_json *json,
                          const struct hf_explanation *explanation)
{
    hf_json_begin_list(json, "holders");
    (void)for_each(explanation, true, write_holder, json);
    hf_json_end_list(json);
    hf_json_begin_list(json, "waiters");
    (void)for_each(explanation, false, write_waiter, json);
    hf_json_end_list(json);
}

/* Write ${walk} over names at or below ${prefix} as ${key}; null if that is
 * NULL.  ${cut}: not all that it has found was kept. */
static void write_walk(struct hf_json *json, const char *key,
                       const struct hf_waiters_walk *walk, const char *prefix,
                       bool cut)
{
    if (prefix == NULL) {
        hf_json_null(json, key);
        return;
    }
    hf_json_begin_object(json, key);
    hf_json_string(json, "prefix", prefix);
    hf_json_number(json, "names", walk->name_count);
    hf_json_number(json, "unreadable", walk->unreadable);
    hf_json_bool(json, "complete", walk->ended && !cut);
    hf_json_end_object(json);
}

void hf_explain_json(FILE *out, const struct hf_explanation *explanation)
{
    struct hf_json json = {.out = out};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", explanation->name);
    hf_json_string(&json, "engine", explanation->engine);
    hf_json_bool(&json, "complete", !is_cut(explanation));
    hf_json_number(&json, "queues",
                   hf_deadlock_search_lists(&explanation->search));
    write_tickets(&json, explanation);
    write_cycle(&json, "deadlock", false, explanation);
    write_cycle(&json, "possible_deadlock", true, explanation);
    hf_json_number(&json, "silent", count_silent(explanation));
    write_walk(&json, "sessions", &explanation->session_walk,
               explanation->session_walk.client != NULL ? explanation->beside
                                                        : NULL,
               explanation->sessions.cut);
    write_walk(&json, "within", &explanation->walk, explanation->within,
               explanation->waits_cut);
    hf_json_end_object(&json);
}
