/* SPDX-License-Identifier: Apache-2.0 */
/* Two readings, what they have in common, and the cycle as a sentence. */
#include "core/deadlock_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"

/* Begin the current reading. */
static void begin_reading(struct hf_deadlock_search *search)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    reading->sessions = search->sessions;
    if (search->text != NULL)
        hf_deadlock_reading_begin(reading, search->names[0], search->kind,
                                  &search->subject, search->text);
    else
        hf_deadlock_reading_begin_locks(reading, search->names,
                                        search->name_count);
}

/* Copy ${names}.  False: no memory. */
static bool copy_names(struct hf_deadlock_search *search,
                       const char *const *names, size_t count)
{
    if ((search->names = hf_alloc(count * sizeof *search->names)) == NULL)
        return false;
    for (; search->name_count < count; search->name_count++) {
        char *copy = hf_strdup(names[search->name_count]);

        if (copy == NULL)
            return false;
        search->names[search->name_count] = copy;
    }
    return true;
}

hf_status hf_deadlock_search_begin(struct hf_deadlock_search *search,
                                   const char *name, enum hf_ticket_kind kind,
                                   const struct hf_ticket_id *subject,
                                   const char *text)
{
    search->kind = kind;
    search->subject = *subject;
    if (!copy_names(search, &name, 1) ||
        (search->text = hf_strdup(text)) == NULL)
        return HF_ENOMEM;
    begin_reading(search);
    return search->readings[0].graph.status;
}

hf_status hf_deadlock_search_begin_locks(struct hf_deadlock_search *search,
                                         const char *const *names, size_t count)
{
    if (!copy_names(search, names, count))
        return HF_ENOMEM;
    begin_reading(search);
    return search->readings[0].graph.status;
}

/* ----------------------------------------------------------- the verdict -- */

static struct hf_deadlock_graph *graph_of(struct hf_deadlock_search *search)
{
    return &search->readings[search->current].graph;
}

/* Find out which tickets are blocked, and begin with the first one. */
static void analyse(struct hf_deadlock_search *search, bool possible)
{
    search->possible = possible;
    search->last = NULL;
    search->walks = 0;
    hf_deadlock_analyse(graph_of(search), possible);
}

/* Set the cycle to the next one of the tickets that are blocked.  Those of the
 * locks that are asked about come first. */
static bool find_next_cycle(struct hf_deadlock_search *search)
{
    struct hf_deadlock_graph *graph = graph_of(search);
    struct hf_deadlock_ticket *ticket;

    while ((ticket = hf_deadlock_next_ticket(graph, search->last)) != NULL) {
        search->last = ticket;
        if (ticket->state != HF_DEADLOCK_BLOCKED)
            continue;
        ticket = hf_deadlock_follow(graph, ticket, ++search->walks);
        if (ticket != NULL &&
            hf_deadlock_find_cycle(graph, ticket, &search->cycle))
            return true;
    }
    search->cycle.count = 0;
    return false;
}

bool hf_deadlock_search_next_cycle(struct hf_deadlock_search *search)
{
    if (find_next_cycle(search))
        return true;
    if (search->possible)
        return false;
    analyse(search, true);
    return find_next_cycle(search);
}

/* Look for a cycle in the current reading: one through the subject, or any. */
static void decide(struct hf_deadlock_search *search)
{
    struct hf_deadlock_ticket *subject;

    search->cycle.count = 0;
    analyse(search, false);
    subject = hf_deadlock_reading_subject(&search->readings[search->current]);
    if (search->text == NULL)
        (void)hf_deadlock_search_next_cycle(search);
    else if (subject != NULL && subject->state == HF_DEADLOCK_BLOCKED)
        (void)hf_deadlock_find_cycle(graph_of(search), subject, &search->cycle);
}

/* ---------------------------------------------------------- two readings -- */

/* The ticket of ${before} that is like ${ticket}, which is in a queue of the
 * lock called ${name}; NULL: none. */
static const struct hf_deadlock_ticket *
find_before(const struct hf_deadlock_graph *before, const char *name,
            const struct hf_deadlock_ticket *ticket)
{
    size_t lock;

    if (!hf_deadlock_find_lock(before, name, &lock))
        return NULL;
    return hf_deadlock_find_ticket(before, lock, ticket->role, &ticket->id);
}

/* Does ${old}, a ticket of ${before}, say what ${hold} says about the lock
 * called ${name}, and no less surely? */
static bool says(const struct hf_deadlock_graph *before,
                 const struct hf_deadlock_ticket *old,
                 const struct hf_deadlock_hold *hold, const char *name)
{
    for (size_t i = 0; i < old->hold_count; i++) {
        const struct hf_deadlock_hold *said = &old->holds[i];

        if (said->id == hold->id && said->possible <= hold->possible &&
            strcmp(before->locks[said->lock].name, name) == 0)
            return true;
    }
    return false;
}

/* Take out of ${ticket}, one of ${graph}, the holds that ${old}, the same
 * ticket in ${before}, did not say. */
static void keep_holds(const struct hf_deadlock_graph *graph,
                       struct hf_deadlock_ticket *ticket,
                       const struct hf_deadlock_graph *before,
                       const struct hf_deadlock_ticket *old)
{
    size_t kept = 0;

    for (size_t i = 0; i < ticket->hold_count; i++) {
        const char *name = graph->locks[ticket->holds[i].lock].name;

        if (says(before, old, &ticket->holds[i], name))
            ticket->holds[kept++] = ticket->holds[i];
    }
    ticket->hold_count = kept;
}

/* Take out of ${queue}, one of ${lock}, the tickets that ${before} does not
 * have, and out of the others the holds that they did not say there. */
static void keep_tickets(const struct hf_deadlock_graph *graph,
                         const struct hf_deadlock_lock *lock,
                         struct hf_deadlock_queue *queue,
                         const struct hf_deadlock_graph *before)
{
    size_t kept = 0;

    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];
        const struct hf_deadlock_ticket *old =
            find_before(before, lock->name, ticket);

        if (old == NULL)
            continue;
        keep_holds(graph, ticket, before, old);
        queue->tickets[kept++] = *ticket;
    }
    queue->count = kept;
}

/* Leave in ${graph} what ${before} has found too.  It is to be analysed next.
 */
static void keep_common(struct hf_deadlock_graph *graph,
                        const struct hf_deadlock_graph *before)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct hf_deadlock_lock *lock = &graph->locks[i];

        for (int role = 0; role < HF_DEADLOCK_ROLES; role++)
            keep_tickets(graph, lock, &lock->queues[role], before);
    }
}

/* Does the current reading go on?  Not once there is a cycle through the
 * subject.  A reading that has failed lacks some of what it has reached, so
 * nothing is decided about it: .cycle stays empty. */
static bool goes_on(struct hf_deadlock_search *search, char *queue,
                    struct hf_text_range *texts)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    if (reading->closed && reading->graph.status == HF_OK) {
        reading->closed = false;
        decide(search);
        if (search->cycle.count > 0)
            return false;
    }
    return hf_deadlock_reading_next(reading, queue, texts);
}

/* Most searches end after the first reading, because nothing is blocked. */
bool hf_deadlock_search_next(struct hf_deadlock_search *search,
                             char queue[HF_DEADLOCK_QUEUE_NAME_BYTES],
                             struct hf_text_range *texts)
{
    struct hf_deadlock_reading *first = &search->readings[0];
    struct hf_deadlock_reading *second = &search->readings[1];

    if (search->current == 0) {
        if (goes_on(search, queue, texts))
            return true;
        if (first->graph.status != HF_OK)
            return false;
        decide(search);
        if (search->cycle.count == 0)
            return false;
        search->cycle.count = 0;
        search->current = 1;
        begin_reading(search);
    }
    if (goes_on(search, queue, texts))
        return true;
    if (second->graph.status != HF_OK)
        return false;
    keep_common(&second->graph, &first->graph);
    decide(search);
    return false;
}

void hf_deadlock_search_listed(struct hf_deadlock_search *search,
                               const struct hf_snapshot *snapshot)
{
    hf_deadlock_reading_listed(&search->readings[search->current], snapshot);
}

size_t hf_deadlock_search_lists(const struct hf_deadlock_search *search)
{
    return search->readings[search->current].next_request;
}

const struct hf_deadlock_graph *
hf_deadlock_search_graph(const struct hf_deadlock_search *search)
{
    return &search->readings[search->current].graph;
}

hf_status hf_deadlock_search_status(const struct hf_deadlock_search *search)
{
    return hf_deadlock_search_graph(search)->status;
}

const char *hf_deadlock_search_lock(const struct hf_deadlock_search *search,
                                    const struct hf_deadlock_ticket *waiter)
{
    return hf_deadlock_search_graph(search)->locks[waiter->lock].name;
}

/* ------------------------------------------------------------------ text -- */

/* Append ${piece} to ${text}, as much as fits. */
static void append(char *text, size_t bytes, const char *piece)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, bytes - used, "%s", piece);
}

/* Append the value of ${key} in ${owner}, in quotes. */
static void append_word(char *text, size_t bytes, const char *owner,
                        const char *key)
{
    char decoded[HF_QUOTE_BYTES];
    const char *value = "?";
    size_t length = 1;

    (void)hf_ticket_text_find(owner, key, &value, &length);
    (void)hf_ticket_text_decode(decoded, sizeof decoded, value, length);
    append(text, bytes, hf_quote(decoded, strlen(decoded)).text);
}

/* Append whose ticket ${waiter} is.  The text that its program gave says more
 * than the name of the program, which is the same for all runs of the tool. */
static void append_owner(char *text, size_t bytes,
                         const struct hf_deadlock_ticket *waiter)
{
    const char *value;
    char pid[32];
    size_t length;

    (void)snprintf(pid, sizeof pid, "process %" PRIu64 " ",
                   hf_ticket_text_number(waiter->text, "pid"));
    append(text, bytes, pid);
    append_word(text, bytes, waiter->text,
                hf_ticket_text_find(waiter->text, "text", &value, &length)
                    ? "text"
                    : "command");
    append(text, bytes, " on ");
    append_word(text, bytes, waiter->text, "host");
}

void hf_deadlock_search_describe(const struct hf_deadlock_search *search,
                                 char *text, size_t bytes)
{
    const struct hf_deadlock_cycle *cycle = &search->cycle;

    (void)snprintf(text, bytes, "deadlock: this owner");
    for (size_t i = 0; i < cycle->count; i++) {
        const char *name = hf_deadlock_search_lock(search, cycle->waiters[i]);

        append(text, bytes, i == 0 ? " waits for " : ", which waits for ");
        append(text, bytes, hf_quote(name, strlen(name)).text);
        append(text, bytes, " behind ");
        if (i + 1 < cycle->count)
            append_owner(text, bytes, cycle->waiters[i + 1]);
        else
            append(text, bytes, cycle->count == 1 ? "itself" : "this owner");
    }
    append(text, bytes, "; release what it holds and begin again");
}

void hf_deadlock_search_free(struct hf_deadlock_search *search)
{
    hf_deadlock_reading_free(&search->readings[0]);
    hf_deadlock_reading_free(&search->readings[1]);
    for (size_t i = 0; i < search->name_count; i++)
        hf_free(search->names[i]);
    hf_free(search->names);
    hf_free(search->text);
    memset(search, 0, sizeof *search);
}
