/* SPDX-License-Identifier: Apache-2.0 */
/* See queue_view.h. */
#include "command/queue_view.h"

#include <string.h>

#include <holdfast/barrier.h>

#include "base/error.h"
#include "base/memory.h"
#include "command/clock.h"
#include "core/ticket.h"

/* Number of digits in the name of a permit of kazoo. */
#define KAZOO_PERMIT_BYTES 32

static const enum hf_kind kinds[HF_QUEUE_VIEW_LOCKS] = {
    [HF_QUEUE_VIEW_LOCK] = HF_KIND_MUTEX,
    [HF_QUEUE_VIEW_SEMAPHORE] = HF_KIND_SEMAPHORE,
};

/* Return the time from now to ${until_ms}; 0 if that has passed. */
static uint64_t left_ms(uint64_t until_ms)
{
    uint64_t now_ms = hf_clock_now_ms();

    if (until_ms == HF_FOREVER)
        return HF_FOREVER;
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

/* Look up the tickets of ${name} as a lock of kinds[${index}]. */
static hf_status load_queue(struct hf_client *client, const char *name,
                            int index, enum hf_tickets_which which,
                            uint64_t until_ms, struct hf_queue_view *queue,
                            struct hf_error *error)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    hf_status status;

    opts.kind = kinds[index];
    status = hf_lock_open(client, name, &opts, &queue->locks[index]);
    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    status = hf_lock_tickets(queue->locks[index], which, left_ms(until_ms),
                             &queue->tickets[index]);
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

/* Look up the participants.  If the engine has no double barriers, there are
 * none. */
static hf_status load_participants(struct hf_client *client, const char *name,
                                   uint64_t until_ms,
                                   struct hf_queue_view *queue,
                                   struct hf_error *error)
{
    hf_status status = hf_double_barrier_open(client, name, 1, &queue->barrier);

    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    status = hf_double_barrier_participants(
        queue->barrier, left_ms(until_ms),
        &queue->tickets[HF_QUEUE_VIEW_PARTICIPANTS]);
    if (status == HF_EUNSUPPORTED)
        return HF_OK;
    if (status != HF_OK)
        *error = *hf_last_error();
    return status;
}

void hf_queue_view_free(struct hf_queue_view *queue)
{
    for (int i = 0; i < HF_QUEUE_VIEWS; i++)
        hf_tickets_free(queue->tickets[i]);
    for (int i = 0; i < HF_QUEUE_VIEW_LOCKS; i++)
        hf_lock_free(queue->locks[i]);
    hf_double_barrier_free(queue->barrier);
    hf_free(queue->views);
    hf_free(queue->unknown);
}

const struct hf_ticket_view *hf_queue_view_at(const struct hf_queue_view *queue,
                                              size_t index)
{
    return index < queue->view_count ? queue->views[index] : NULL;
}

/* The tickets of a double barrier are reached by the lock, because they are in
 * the directory of the lock's name as well. */
struct hf_lock *hf_queue_view_lock_of(const struct hf_queue_view *queue,
                                      const struct hf_ticket_view *view)
{
    return queue
        ->locks[view->kind == HF_KIND_SEMAPHORE ? HF_QUEUE_VIEW_SEMAPHORE
                                                : HF_QUEUE_VIEW_LOCK];
}

/* Does ${child}, a node below that of the name, belong to a semaphore of that
 * name?  It does if it is one of Curator's two queues or a permit of
 * kazoo's. */
static bool is_semaphore_child(const char *child)
{
    return strcmp(child, &HF_QUEUE_LOCKS[1]) == 0 ||
           strcmp(child, &HF_QUEUE_LEASES[1]) == 0 ||
           (strlen(child) == KAZOO_PERMIT_BYTES &&
            strspn(child, "0123456789abcdef") == KAZOO_PERMIT_BYTES);
}

/* Does ${child} belong to a double barrier of that name?  Its name decides and
 * not what was listed, because a participant may have come or gone since. */
static bool is_barrier_child(const char *child)
{
    struct hf_ticket_id id;

    return strcmp(child, "ready") == 0 ||
           hf_ticket_id_parse(&id, child, strlen(child));
}

const char *hf_queue_view_unknown(const struct hf_queue_view *queue, size_t n)
{
    return n < queue->unknown_count ? queue->unknown[n] : NULL;
}

/* Count the tickets and unknown children of ${tickets}; NULL has none. */
static void count(const struct hf_tickets *tickets, size_t *views,
                  size_t *unknown)
{
    *views = *unknown = 0;
    if (tickets == NULL)
        return;
    while (hf_tickets_at(tickets, *views) != NULL)
        ++*views;
    while (hf_tickets_unknown(tickets, *unknown) != NULL)
        ++*unknown;
}

/* Add ${view}, from the list ${index}, to the tickets.  The list of the
 * semaphore also shows the tickets of the lock, because kazoo's permits are in
 * the same directory.  These tickets are left out, because they were added
 * already. */
static void add_view(struct hf_queue_view *queue, int index,
                     const struct hf_ticket_view *view)
{
    if (index != HF_QUEUE_VIEW_SEMAPHORE || view->kind == HF_KIND_SEMAPHORE)
        queue->views[queue->view_count++] = view;
}

static void add_unknown(struct hf_queue_view *queue, int index,
                        const char *child)
{
    if (index != HF_QUEUE_VIEW_LOCK ||
        (!is_semaphore_child(child) && !is_barrier_child(child)))
        queue->unknown[queue->unknown_count++] = child;
}

/* Collect what was found in two arrays.  Returns false if there is no memory.
 */
static bool index_tickets(struct hf_queue_view *queue)
{
    size_t views[HF_QUEUE_VIEWS], unknown[HF_QUEUE_VIEWS];
    size_t all_views = 1, all_unknown = 1; /* so that no array has 0 bytes */

    for (int i = 0; i < HF_QUEUE_VIEWS; i++) {
        count(queue->tickets[i], &views[i], &unknown[i]);
        all_views += views[i];
        all_unknown += unknown[i];
    }
    queue->views = hf_alloc(all_views * sizeof(void *));
    queue->unknown = hf_alloc(all_unknown * sizeof(*queue->unknown));
    if (queue->views == NULL || queue->unknown == NULL)
        return false;
    for (int i = 0; i < HF_QUEUE_VIEWS; i++) {
        for (size_t k = 0; k < views[i]; k++)
            add_view(queue, i, hf_tickets_at(queue->tickets[i], k));
        for (size_t k = 0; i < HF_QUEUE_VIEW_LOCKS && k < unknown[i]; k++)
            add_unknown(queue, i, hf_tickets_unknown(queue->tickets[i], k));
    }
    return true;
}

hf_status hf_queue_view_load(struct hf_client *client, const char *name,
                             enum hf_tickets_which which, uint64_t wait_ms,
                             struct hf_queue_view *queue,
                             struct hf_error *error)
{
    uint64_t until_ms = hf_clock_add(hf_clock_now_ms(), wait_ms);
    hf_status status = HF_OK;

    *queue = (struct hf_queue_view){0};
    for (int i = 0; i < HF_QUEUE_VIEW_LOCKS && status == HF_OK; i++)
        status = load_queue(client, name, i, which, until_ms, queue, error);
    if (status == HF_OK && which == HF_TICKETS_ALL)
        status = load_participants(client, name, until_ms, queue, error);
    if (status != HF_OK)
        return status;
    queue->name = hf_lock_name(queue->locks[HF_QUEUE_VIEW_LOCK]);
    return index_tickets(queue)
               ? HF_OK
               : hf_error_set(error, HF_ENOMEM, "no memory is left");
}
