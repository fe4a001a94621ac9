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
    return search->readings[0].status;
}

hf_status hf_deadlock_search_begin_locks(struct hf_deadlock_search *search,
                                         const char *const *names, size_t count)
{
    if (!copy_names(search, names, count))
        return HF_ENOMEM;
    begin_reading(search);
    return search->readings[0].status;
}

/* Set the cycle to one through the subject. */
static void find_cycle_of_subject(struct hf_deadlock_search *search,
                                  struct hf_deadlock_reading *reading)
{
    struct hf_deadlock_ticket *ticket =
        hf_deadlock_reading_find(reading, &search->subject);

    if (ticket != NULL && ticket->blocked)
        (void)hf_deadlock_find_cycle(&reading->locks, ticket, &search->cycle);
}

/* The next ticket of the current reading; NULL: there is no more.  Those of
 * the locks that are asked about come first. */
static struct hf_deadlock_ticket *next_ticket(struct hf_deadlock_search *search)
{
    struct hf_deadlock_locks *locks = &search->readings[search->current].locks;

    while (search->lock < locks->count) {
        struct hf_deadlock_queue *queue =
            &locks->locks[search->lock].queues[search->role];

        if (search->index < queue->count)
            return &queue->tickets[search->index++];
        search->index = 0;
        search->role = (search->role + 1) % HF_DEADLOCK_ROLES;
        search->lock += search->role == 0;
    }
    return NULL;
}

/* Find out which tickets are blocked, and begin with the first one. */
static void analyse(struct hf_deadlock_search *search, bool possible)
{
    search->possible = possible;
    search->lock = search->role = search->index = search->walks = 0;
    hf_deadlock_analyse(&search->readings[search->current].locks, possible);
}

/* Set the cycle to the next one of the tickets that are blocked. */
static bool find_next_cycle(struct hf_deadlock_search *search)
{
    struct hf_deadlock_locks *locks = &search->readings[search->current].locks;
    struct hf_deadlock_ticket *ticket;

    while ((ticket = next_ticket(search)) != NULL) {
        if (!ticket->blocked)
            continue;
        ticket = hf_deadlock_follow(locks, ticket, ++search->walks);
        if (ticket != NULL &&
            hf_deadlock_find_cycle(locks, ticket, &search->cycle))
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

/* Look for a cycle in the current reading. */
static void decide(struct hf_deadlock_search *search)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    search->cycle.count = 0;
    analyse(search, false);
    if (search->text != NULL)
        find_cycle_of_subject(search, reading);
    else
        (void)hf_deadlock_search_next_cycle(search);
}

/* Does the current reading go on?  Not once there is a circle through the
 * subject. */
static bool goes_on(struct hf_deadlock_search *search, char *queue,
                    struct hf_text_range *texts)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    if (reading->closed) {
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
        if (first->status != HF_OK)
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
    if (second->status != HF_OK)
        return false;
    hf_deadlock_reading_keep(second, first);
    decide(search);
    return false;
}

void hf_deadlock_search_listed(struct hf_deadlock_search *search,
                               const struct hf_snapshot *snapshot)
{
    hf_deadlock_reading_listed(&search->readings[search->current], snapshot);
}

hf_status hf_deadlock_search_status(const struct hf_deadlock_search *search)
{
    return search->readings[search->current].status;
}

const char *hf_deadlock_search_lock(const struct hf_deadlock_search *search,
                                    const struct hf_deadlock_ticket *waiter)
{
    return search->readings[search->current].locks.locks[waiter->lock].name;
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
