/* SPDX-License-Identifier: Apache-2.0 */
/* Copies our tickets by queue into one block of memory, and cuts that into
 * pieces. */
#include "engines/leased/ticket_sets.h"

#include <string.h>

#include "core/memory.h"
#include "engines/leased/leased_private.h"

/* ------------------------------------------------------------------ copy -- */

/* How much the copy needs. */
struct sizes {
    size_t sets;
    size_t text;
};

static bool is_in_use(const struct hf_leased_queue *queue)
{
    return queue->tickets != NULL || queue->queue_watches != NULL;
}

/* Count the queues that are in use, and the bytes of their names. */
static struct sizes sizes(const struct hf_leased *leased)
{
    struct sizes sizes = {.text = HF_STORE_SESSION_BYTES};
    const struct hf_leased_queue *queue;

    for (queue = hf_leased_queue_first(&leased->queue_table); queue != NULL;
         queue = hf_leased_queue_next(queue)) {
        if (!is_in_use(queue))
            continue;
        sizes.sets++;
        sizes.text += strlen(queue->name) + 1;
    }
    return sizes;
}

static size_t copy_tickets(struct hf_ticket_id *to,
                           const struct hf_leased_queue *queue)
{
    size_t count = 0;

    for (const struct hf_leased_ticket *ticket = queue->tickets; ticket != NULL;
         ticket = ticket->next_in_queue)
        to[count++] = ticket->id;
    return count;
}

/* Copy ${text} to ${to}, and move ${to} behind the copy. */
static const char *copy_text(char **to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    const char *copy = memcpy(*to, text, bytes);

    *to += bytes;
    return copy;
}

struct hf_leased_ticket_sets *
hf_leased_ticket_sets_new(const struct hf_leased *leased)
{
    struct sizes size = sizes(leased);
    struct hf_leased_ticket_sets *copy;
    const struct hf_leased_queue *queue;
    struct hf_store_ticket_set *set;
    struct hf_ticket_id *ids;
    char *text;

    copy = hf_alloc(sizeof *copy + size.sets * sizeof *set +
                    leased->queue_table.ticket_count * sizeof *ids + size.text);
    if (copy == NULL)
        return NULL;
    set = copy->sets;
    ids = (struct hf_ticket_id *)(set + size.sets);
    text = (char *)(ids + leased->queue_table.ticket_count);
    for (queue = hf_leased_queue_first(&leased->queue_table); queue != NULL;
         queue = hf_leased_queue_next(queue)) {
        if (!is_in_use(queue))
            continue;
        set->queue = copy_text(&text, queue->name);
        set->tickets = ids;
        set->count = copy_tickets(ids, queue);
        set->watches_queue = queue->queue_watches != NULL;
        ids += set->count;
        set++;
    }
    copy->count = size.sets;
    /* The call may be sent when another session has begun. */
    copy->session = copy_text(&text, leased->session.name);
    return copy;
}

/* ---------------------------------------------------------------- pieces -- */

/* The rest of a set that was cut begins the next piece. */
static void continue_cut_set(struct hf_leased_ticket_sets *sets)
{
    struct hf_store_ticket_set *cut = &sets->sets[sets->at];

    if (sets->left == 0)
        return;
    cut->tickets += cut->count;
    cut->count = sets->left;
    sets->left = 0;
}

void hf_leased_ticket_sets_next(struct hf_leased_ticket_sets *sets, size_t max,
                                struct hf_store_call *call)
{
    size_t room = max;

    call->not_first_piece = sets->at > 0 || sets->left > 0;
    continue_cut_set(sets);
    call->session = sets->session;
    call->ticket_sets = &sets->sets[sets->at];
    call->ticket_set_count = 0;
    while (room > 0 && sets->left == 0 && sets->at < sets->count) {
        struct hf_store_ticket_set *set = &sets->sets[sets->at];

        if (set->count > room) {
            sets->left = set->count - room;
            set->count = room;
        } else {
            sets->at++;
        }
        /* A queue without tickets costs the server about as much as one
         * ticket. */
        room -= set->count > 0 ? set->count : 1;
        call->ticket_set_count++;
    }
    call->not_last_piece = !hf_leased_ticket_sets_done(sets);
}

bool hf_leased_ticket_sets_done(const struct hf_leased_ticket_sets *sets)
{
    return sets->at == sets->count;
}
