/* SPDX-License-Identifier: Apache-2.0 */
/* See ticket_sets.h.  The copy of our tickets is cut into sets so that no set
 * is in two pieces. */
#include "engines/leased/ticket_sets.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "engines/leased/leased_private.h"

/* Returns how much of a piece ${set} takes up, in tickets.  A queue without
 * tickets costs the server about as much as one ticket. */
static size_t room_of(const struct hf_store_ticket_set *set)
{
    return set->count > 0 ? set->count : 1;
}

/* ------------------------------------------------------------------ copy -- */

/* How many sets, and how many bytes of text, the copy needs. */
struct sizes {
    size_t sets;
    size_t text;
};

static bool is_in_use(const struct hf_leased_queue *queue)
{
    return queue->tickets != NULL || queue->queue_watches != NULL;
}

/* Compute the sizes.  There is one set for each queue in use, and at most one
 * more for each piece, because a piece may end inside of a queue. */
static struct sizes sizes(const struct hf_leased *leased, size_t max)
{
    struct sizes sizes = {.text = HF_STORE_SESSION_BYTES};
    const struct hf_leased_queue *queue;

    for (queue = leased->queue_table.first; queue != NULL;
         queue = queue->next) {
        if (!is_in_use(queue))
            continue;
        sizes.sets++;
        sizes.text += strlen(queue->name) + 1;
    }
    sizes.sets += (sizes.sets + leased->queue_table.ticket_count) / max;
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

/* Append ${all}, what the session has in one queue, cut into sets that fit into
 * pieces.  ${room} is what is left in the piece that is being filled. */
static void cut(struct hf_leased_ticket_sets *sets,
                const struct hf_store_ticket_set *all, size_t *room)
{
    size_t done = 0;

    do {
        struct hf_store_ticket_set *set = &sets->sets[sets->count++];

        *set = *all;
        set->tickets += done;
        set->count -= done;
        if (set->count > *room)
            set->count = *room;
        done += set->count;
        *room -= room_of(set);
        if (*room == 0)
            *room = sets->max;
    } while (done < all->count);
}

struct hf_leased_ticket_sets *
hf_leased_ticket_sets_new(const struct hf_leased *leased, size_t max)
{
    struct sizes size = sizes(leased, max);
    struct hf_leased_ticket_sets *copy;
    const struct hf_leased_queue *queue;
    struct hf_ticket_id *ids;
    size_t room = max;
    char *text;

    copy = hf_alloc(sizeof *copy + size.sets * sizeof copy->sets[0] +
                    leased->queue_table.ticket_count * sizeof *ids + size.text);
    if (copy == NULL)
        return NULL;
    copy->max = max;
    ids = (struct hf_ticket_id *)(copy->sets + size.sets);
    text = (char *)(ids + leased->queue_table.ticket_count);
    for (queue = leased->queue_table.first; queue != NULL;
         queue = queue->next) {
        struct hf_store_ticket_set all = {
            .tickets = ids, .watches_queue = queue->queue_watches != NULL};

        if (!is_in_use(queue))
            continue;
        all.queue = copy_text(&text, queue->name);
        all.count = copy_tickets(ids, queue);
        ids += all.count;
        cut(copy, &all, &room);
    }
    assert(copy->count <= size.sets);
    /* copied, because another session may have begun when the call is sent */
    copy->session = copy_text(&text, leased->session.name);
    return copy;
}

/* ---------------------------------------------------------------- pieces -- */

void hf_leased_ticket_sets_next(struct hf_leased_ticket_sets *sets,
                                struct hf_store_call *call)
{
    size_t room = sets->max;

    call->not_first_piece = sets->at > 0;
    call->session = sets->session;
    call->ticket_sets = &sets->sets[sets->at];
    call->ticket_set_count = 0;
    while (room > 0 && !hf_leased_ticket_sets_done(sets)) {
        room -= room_of(&sets->sets[sets->at++]);
        call->ticket_set_count++;
    }
    call->not_last_piece = !hf_leased_ticket_sets_done(sets);
}

bool hf_leased_ticket_sets_done(const struct hf_leased_ticket_sets *sets)
{
    return sets->at == sets->count;
}
