/* SPDX-License-Identifier: Apache-2.0 */
/* Two readings, what they have in common, and the cycle as a sentence. */
#include "core/deadlock_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"

/* One try nearly always finds a cycle: a ticket that is blocked waits for one,
 * or for permits that there never are. */
#define TRIES_MAX 64

/* Begin the current reading. */
static void begin_reading(struct hf_deadlock_search *search)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    if (search->text != NULL)
        hf_deadlock_reading_begin(reading, search->name, search->is_semaphore,
                                  &search->subject, search->text);
    else
        hf_deadlock_reading_begin_lock(reading, search->name);
}

hf_status hf_deadlock_search_begin(struct hf_deadlock_search *search,
                                   const char *name, bool is_semaphore,
                                   const struct hf_ticket_id *subject,
                                   const char *text)
{
    search->is_semaphore = is_semaphore;
    search->subject = *subject;
    if ((search->name = hf_strdup(name)) == NULL ||
        (search->text = hf_strdup(text)) == NULL)
        return HF_ENOMEM;
    begin_reading(search);
    return search->readings[0].status;
}

hf_status hf_deadlock_search_begin_lock(struct hf_deadlock_search *search,
                                        const char *name)
{
    if ((search->name = hf_strdup(name)) == NULL)
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

/* Set the cycle to the first one; the queues of the lock that is asked about
 * come first. */
static void find_first_cycle(struct hf_deadlock_search *search,
                             struct hf_deadlock_reading *reading)
{
    unsigned tries = 0;

    for (size_t i = 0; i < reading->locks.count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue =
                &reading->locks.locks[i].queues[role];

            for (size_t k = 0; k < queue->count && tries < TRIES_MAX; k++) {
                struct hf_deadlock_ticket *ticket = &queue->tickets[k];

                if (!ticket->blocked)
                    continue;
                tries++;
                ticket = hf_deadlock_follow(&reading->locks, ticket);
                if (ticket != NULL &&
                    hf_deadlock_find_cycle(&reading->locks, ticket,
                                           &search->cycle))
                    return;
            }
        }
    }
}

/* Look for a cycle in the current reading. */
static void decide(struct hf_deadlock_search *search)
{
    struct hf_deadlock_reading *reading = &search->readings[search->current];

    search->cycle.count = 0;
    search->possible = false;
    hf_deadlock_analyse(&reading->locks, false);
    if (search->text != NULL) {
        find_cycle_of_subject(search, reading);
        return;
    }
    find_first_cycle(search, reading);
    if (search->cycle.count > 0)
        return;
    search->possible = true;
    hf_deadlock_analyse(&reading->locks, true);
    find_first_cycle(search, reading);
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
    hf_free(search->name);
    hf_free(search->text);
    memset(search, 0, sizeof *search);
}
