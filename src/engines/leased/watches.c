/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/watches.h"

#include <assert.h>

#include "core/memory.h"
#include "core/plant.h"
#include "engines/leased/private.h"

static struct hf_leased_watch *watch_new(struct hf_leased *leased,
                                         struct hf_request *request)
{
    struct hf_leased_watch *watch = hf_alloc(sizeof *watch);
    struct hf_leased_queue *queue;

    if (watch == NULL)
        return NULL;
    queue = hf_leased_queue_use(&leased->queues, request->queue);
    if (queue == NULL) {
        hf_free(watch);
        return NULL;
    }
    watch->request = request;
    watch->queue = queue;
    watch->id = request->ticket;
    watch->kind = request->ticket_kind;
    watch->from = &queue->watches;
    watch->next = queue->watches;
    if (watch->next != NULL)
        watch->next->from = &watch->next;
    queue->watches = watch;
    request->engine_data = watch;
    return watch;
}

static void watch_free(struct hf_leased *leased, struct hf_leased_watch *watch)
{
    *watch->from = watch->next;
    if (watch->next != NULL)
        watch->next->from = watch->from;
    watch->request->engine_data = NULL;
    hf_leased_queue_leave(&leased->queues, watch->queue);
    hf_free(watch);
}

void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch)
{
    watch_free(leased, watch);
}

/* Whoever is told may ask for anything, so that each of the following begins
 * its walk anew when it has told somebody, who is then not told again. */

static void tell_gone(struct hf_leased *leased, struct hf_leased_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = watch->request;
    watch_free(leased, watch);
    hf_leased_tell(leased, &event);
}

static void tell_watching(struct hf_leased *leased,
                          struct hf_leased_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_WATCHING};

    watch->watching = true;
    watch->op = 0;
    event.as.answer.request = watch->request;
    hf_leased_tell(leased, &event);
}

static bool is_of(const struct hf_leased_watch *watch,
                  const struct hf_ticket_id *id)
{
    return hf_ticket_id_equal(&watch->id, id);
}

/* One who is to be told that ${id} is no ticket of ${kind} any more. */
static struct hf_leased_watch *find_bereft(const struct hf_leased *leased,
                                           struct hf_leased_queue *queue,
                                           const struct hf_ticket_id *id,
                                           enum hf_ticket_kind kind)
{
    struct hf_leased_watch *watch = queue->watches;

    while (watch != NULL &&
           !(is_of(watch, id) && (kind == 0 || watch->kind == kind)) &&
           !(HF_PLANTED(LEASED_ANY_NOTICE_GONE) &&
             hf_leased_own_find(leased, &watch->id) == NULL))
        watch = watch->next;
    return watch;
}

void hf_leased_watches_gone(struct hf_leased *leased, const char *queue,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind)
{
    struct hf_leased_queue *place =
        hf_leased_queue_find(&leased->queues, queue);
    struct hf_leased_watch *watch;

    if (place == NULL)
        return;
    place->users++; /* it may be the last thing that they wanted of it */
    while ((watch = find_bereft(leased, place, id, kind)) != NULL)
        tell_gone(leased, watch);
    hf_leased_queue_leave(&leased->queues, place);
}

static struct hf_leased_watch *find_asked(struct hf_leased_queue *queue,
                                          const struct hf_ticket_id *id)
{
    struct hf_leased_watch *watch = queue->watches;

    while (watch != NULL && !(is_of(watch, id) && !watch->watching))
        watch = watch->next;
    return watch;
}

void hf_leased_watches_seen(struct hf_leased *leased,
                            struct hf_leased_queue *queue,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind)
{
    struct hf_leased_watch *watch;

    queue->users++;
    /* The other way round it is an old answer: no ticket becomes a writer. */
    if (kind == HF_TICKET_READ)
        hf_leased_watches_gone(leased, queue->name, id, HF_TICKET_WRITE);
    while ((watch = find_asked(queue, id)) != NULL)
        tell_watching(leased, watch);
    hf_leased_queue_leave(&leased->queues, queue);
}

static struct hf_leased_watch *find_unasked(struct hf_leased_queue *queue,
                                            const struct hf_ticket_id *id,
                                            uint32_t revoked)
{
    struct hf_leased_watch *watch = queue->watches;

    while (watch != NULL &&
           !(is_of(watch, id) && watch->watching && watch->revoked < revoked))
        watch = watch->next;
    return watch;
}

static void tell_revoked(struct hf_leased *leased, struct hf_leased_own *own)
{
    struct hf_leased_queue *queue = own->queue;
    const struct hf_ticket_id id = own->id;
    uint32_t revoked = own->revoked;
    struct hf_leased_watch *watch;

    queue->users++;
    while ((watch = find_unasked(queue, &id, revoked)) != NULL) {
        struct hf_event event = {.kind = HF_EVENT_REVOKED};

        watch->revoked = revoked;
        event.as.answer.request = watch->request;
        hf_leased_tell(leased, &event);
    }
    hf_leased_queue_leave(&leased->queues, queue);
}

void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, id);

    if (own == NULL || own->revoked >= revoked)
        return;
    own->revoked = revoked;
    tell_revoked(leased, own);
}

bool hf_leased_watched_by_owner(const struct hf_leased_own *own)
{
    const struct hf_leased_watch *watch = own->queue->watches;

    while (watch != NULL && !(is_of(watch, &own->id) &&
                              watch->request->acquisition == own->owner))
        watch = watch->next;
    return watch != NULL;
}

static struct hf_leased_watch *find_of_op(struct hf_leased_queue *queue,
                                          uint64_t op)
{
    struct hf_leased_watch *watch = queue->watches;

    while (watch != NULL && !(watch->op == op && !watch->watching))
        watch = watch->next;
    return watch;
}

void hf_leased_watches_fail(struct hf_leased *leased,
                            struct hf_leased_queue *queue, uint64_t op,
                            const struct hf_store_answer *answer)
{
    struct hf_leased_watch *watch;

    while ((watch = find_of_op(queue, op)) != NULL) {
        struct hf_request *request = watch->request;

        watch_free(leased, watch);
        hf_leased_fail_as(leased, request, answer);
    }
}

/* ------------------------------------------------------------------- new -- */

/* Ours, and at the server when we last heard of it. */
static bool is_known(const struct hf_leased_own *own)
{
    return own != NULL && own->state == HF_LEASED_OWN_THERE;
}

void hf_leased_watch(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, &request->ticket);
    struct hf_leased_watch *watch = watch_new(leased, request);

    if (watch == NULL) {
        hf_leased_fail_memory(leased, request);
        return;
    }
    if (!is_known(own)) {
        if (!hf_leased_probe_for(leased, watch)) {
            watch_free(leased, watch);
            hf_leased_fail_memory(leased, request);
        }
        return;
    }
    if (own->gone) {
        hf_leased_own_drop(leased, own);
        tell_gone(leased, watch);
        return;
    }
    if (watch->kind == HF_TICKET_WRITE && own->kind == HF_TICKET_READ) {
        tell_gone(leased, watch);
        return;
    }
    tell_watching(leased, watch);
    own = hf_leased_own_find(leased, &request->ticket);
    if (own != NULL)
        tell_revoked(leased, own);
}

void hf_leased_watches_clear(struct hf_leased *leased)
{
    struct hf_leased_queue *queue, *after;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = after) {
        after = hf_leased_queue_after(queue);
        queue->users++;
        while (queue->watches != NULL)
            watch_free(leased, queue->watches);
        hf_leased_queue_leave(&leased->queues, queue);
    }
}
