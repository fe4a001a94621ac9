/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/ticket_sets.h"

#include <string.h>

#include "core/memory.h"
#include "engines/leased/private.h"

/* ------------------------------------------------------------------ copy -- */

struct measure {
    size_t sets;
    size_t text;
};

static bool has_any(const struct hf_leased_queue *queue)
{
    return queue->owns != NULL || queue->looks != NULL;
}

static struct measure measure(const struct hf_leased *leased)
{
    struct measure measure = {.text = HF_STORE_SESSION_BYTES};
    const struct hf_leased_queue *queue;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue)) {
        if (!has_any(queue))
            continue;
        measure.sets++;
        measure.text += strlen(queue->name) + 1;
    }
    return measure;
}

static size_t copy_tickets(struct hf_ticket_id *to,
                           const struct hf_leased_queue *queue)
{
    size_t count = 0;

    for (const struct hf_leased_own *own = queue->owns; own != NULL;
         own = own->next_in_queue)
        to[count++] = own->id;
    return count;
}

/* Copy ${text} to ${to}, and move that behind it. */
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
    struct measure size = measure(leased);
    struct hf_leased_ticket_sets *copy;
    const struct hf_leased_queue *queue;
    struct hf_store_stake *set;
    struct hf_ticket_id *ids;
    char *text;

    copy = hf_alloc(sizeof *copy + size.sets * sizeof *set +
                    leased->queues.own_count * sizeof *ids + size.text);
    if (copy == NULL)
        return NULL;
    set = copy->sets;
    ids = (struct hf_ticket_id *)(set + size.sets);
    text = (char *)(ids + leased->queues.own_count);
    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue)) {
        if (!has_any(queue))
            continue;
        set->queue = copy_text(&text, queue->name);
        set->tickets = ids;
        set->count = copy_tickets(ids, queue);
        set->looks = queue->looks != NULL;
        ids += set->count;
        set++;
    }
    copy->count = size.sets;
    /* It may be said when there is another session. */
    copy->session = copy_text(&text, leased->session.name);
    return copy;
}

/* ---------------------------------------------------------------- pieces -- */

/* What was cut off from the last piece begins the next one. */
static void mend_cut(struct hf_leased_ticket_sets *sets)
{
    struct hf_store_stake *cut = &sets->sets[sets->at];

    if (sets->left == 0)
        return;
    cut->tickets += cut->count;
    cut->count = sets->left;
    sets->left = 0;
}

void hf_leased_ticket_sets_take(struct hf_leased_ticket_sets *sets, size_t most,
                                struct hf_store_call *call)
{
    size_t room = most;

    call->follows = sets->at > 0 || sets->left > 0;
    mend_cut(sets);
    call->session = sets->session;
    call->stakes = &sets->sets[sets->at];
    call->stake_count = 0;
    while (room > 0 && sets->left == 0 && sets->at < sets->count) {
        struct hf_store_stake *set = &sets->sets[sets->at];

        if (set->count > room) {
            sets->left = set->count - room;
            set->count = room;
        } else {
            sets->at++;
        }
        /* A queue without tickets costs a server about as much as one. */
        room -= set->count > 0 ? set->count : 1;
        call->stake_count++;
    }
    call->more = !hf_leased_ticket_sets_taken(sets);
}

bool hf_leased_ticket_sets_taken(const struct hf_leased_ticket_sets *sets)
{
    return sets->at == sets->count;
}
