/* SPDX-License-Identifier: Apache-2.0 */
/* When an acquisition looks, the lists of a look, and its verdict. */
#include "core/deadlock_detection.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/acquisition.h"
#include "core/core_state.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/multi_lock.h"
#include "core/ticket_text.h"
#include "core/time_math.h"

/* ------------------------------------------------------- its own ticket -- */

/* The child of ${multi_lock} whose ticket waits; NULL: none does.  While a
 * lease waits for permits, the ticket that waits is that of the entry mutex. */
static const struct hf_acquisition *
waiting_child(const struct hf_multi_lock *multi_lock)
{
    const struct hf_acquisition *child =
        &multi_lock->children[multi_lock->current];

    if (multi_lock->rolling_back || child->state != HF_ACQUISITION_WAITING)
        return NULL;
    if (child->kind == HF_TICKET_LEASE)
        return child[-1].state == HF_ACQUISITION_HELD ? child - 1 : NULL;
    return hf_acquisition_is_behind(child) ? child : NULL;
}

/* The acquisition whose ticket ${a} waits by: ${a} or a child of it; NULL: it
 * does not wait in a queue. */
static const struct hf_acquisition *waits_by(const struct hf_acquisition *a)
{
    const struct hf_multi_lock *multi_lock = hf_acquisition_multi_lock(a);

    if (a->state != HF_ACQUISITION_WAITING)
        return NULL;
    if (multi_lock != NULL)
        return waiting_child(multi_lock);
    return hf_acquisition_is_behind(a) ? a : NULL;
}

/* Does the ticket of ${a} say that its owner looks for deadlocks? */
static bool says_detect(const struct hf_acquisition *a)
{
    const char *value;
    size_t length;

    return hf_ticket_text_find(a->payload, "detect", &value, &length);
}

/* Write the name of the lock that ${a} waits for, which is not that of its
 * queue if that is the entry queue of a semaphore. */
static void write_lock(const struct hf_acquisition *a, char *name)
{
    size_t bytes = strlen(a->queue);

    if (a->entry_mutex)
        bytes -= strlen(HF_QUEUE_LOCKS);
    memcpy(name, a->queue, bytes);
    name[bytes] = '\0';
}

/* -------------------------------------------------------------- the look -- */

static void free_search(struct hf_deadlock_detection *detection)
{
    if (detection->search == NULL)
        return;
    hf_deadlock_search_free(detection->search);
    hf_free(detection->search);
    detection->search = NULL;
}

/* The look has ended: fail, if that is the verdict.  The wait ends last,
 * because that ends the look. */
static void decide(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_deadlock_search *search = a->detection->search;
    const struct hf_deadlock_ticket *victim =
        hf_deadlock_victim(&search->cycle);
    struct hf_error why = {.status = HF_EDEADLK};

    if (victim == NULL || !hf_ticket_id_equal(&victim->id, &search->subject)) {
        free_search(a->detection);
        return;
    }
    hf_deadlock_search_describe(search, why.text, sizeof why.text);
    hf_acquisition_give_up(core, a, &why);
}

static const struct hf_operation_listener listener;

/* Go on with the look: ask for the next list, or decide.  Nothing is decided
 * about a ticket that does not wait any more. */
static void go_on(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_deadlock_detection *detection = a->detection;
    const struct hf_acquisition *own = waits_by(a);

    if (own == NULL || !hf_ticket_id_equal(&hf_acquisition_ticket(own)->id,
                                           &detection->search->subject)) {
        free_search(detection);
    } else if (hf_deadlock_search_next(detection->search, detection->queue)) {
        detection->operation = (struct hf_operation){
            .kind = HF_REQUEST_LIST,
            .queue = detection->queue,
            .deadline_at_ms = HF_FOREVER,
            .listener = &listener,
        };
        detection->is_listing = true;
        hf_operation_start(core, &detection->operation);
    } else {
        decide(core, a);
    }
    hf_schedule_touch(core, &a->entry);
}

/* Begin a look.  Without memory for it there is none. */
static void look(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_deadlock_detection *detection = a->detection;
    const struct hf_acquisition *own = waits_by(a);
    char name[HF_DEADLOCK_QUEUE_NAME_BYTES];

    if (own == NULL || !says_detect(own) ||
        (detection->search = hf_alloc(sizeof *detection->search)) == NULL)
        return;
    write_lock(own, name);
    if (hf_deadlock_search_begin(detection->search, name, own->entry_mutex,
                                 &hf_acquisition_ticket(own)->id,
                                 own->payload) == HF_OK)
        go_on(core, a);
    else
        free_search(detection);
}

/* ------------------------------------------------------------- the lists -- */

static struct hf_deadlock_detection *
of_operation(struct hf_operation *operation)
{
    return (
        struct hf_deadlock_detection *)((char *)operation -
                                        offsetof(struct hf_deadlock_detection,
                                                 operation));
}

static void listed(struct hf_operation *operation,
                   const struct hf_snapshot *snapshot)
{
    struct hf_deadlock_detection *detection = of_operation(operation);

    if (detection->search != NULL)
        hf_deadlock_search_listed(detection->search, snapshot);
}

static void done(struct hf_core *core, struct hf_operation *operation)
{
    hf_deferred_call_add(&core->deferred, &of_operation(operation)->deferred);
}

static const struct hf_operation_listener listener = {listed, done};

/* The core uses the operation no longer: go on, or let the acquisition be
 * DONE. */
static void list_done(struct hf_core *core, struct hf_deferred_call *deferred)
{
    struct hf_deadlock_detection *detection =
        (struct hf_deadlock_detection *)((char *)deferred -
                                         offsetof(struct hf_deadlock_detection,
                                                  deferred));
    struct hf_acquisition *a = detection->acquisition;

    detection->is_listing = false;
    if (detection->search == NULL) {
        hf_acquisition_finish(core, a);
    } else if (detection->operation.status == HF_OK) {
        go_on(core, a);
    } else {
        free_search(detection);
        hf_schedule_touch(core, &a->entry);
    }
}

/* ------------------------------------------------------- the acquisition -- */

void hf_deadlock_detection_begin(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_deadlock_detection *detection = a->detection;

    detection->acquisition = a;
    detection->look_at_ms =
        hf_after_ms(core->now_ms, HF_DEADLOCK_FIRST_LOOK_MS);
    detection->interval_ms = HF_DEADLOCK_INTERVAL_MS;
    detection->deferred.run = list_done;
}

uint64_t hf_deadlock_detection_at_ms(const struct hf_acquisition *a)
{
    if (a->detection == NULL || a->state != HF_ACQUISITION_WAITING ||
        a->detection->search != NULL || a->detection->is_listing)
        return HF_FOREVER;
    return a->detection->look_at_ms;
}

void hf_deadlock_detection_tick(struct hf_core *core, struct hf_acquisition *a)
{
    struct hf_deadlock_detection *detection = a->detection;

    if (core->now_ms < hf_deadlock_detection_at_ms(a))
        return;
    detection->look_at_ms = hf_after_ms(core->now_ms, detection->interval_ms);
    detection->interval_ms =
        hf_min_ms(2 * detection->interval_ms, HF_DEADLOCK_INTERVAL_MAX_MS);
    hf_schedule_touch(core, &a->entry);
    look(core, a);
}

void hf_deadlock_detection_end(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->detection == NULL)
        return;
    free_search(a->detection);
    if (a->detection->is_listing && !a->detection->deferred.queued)
        hf_operation_cancel(core, &a->detection->operation);
}

bool hf_deadlock_detection_is_busy(const struct hf_acquisition *a)
{
    return a->detection != NULL && a->detection->is_listing;
}

void hf_deadlock_detection_free(struct hf_deadlock_detection *detection)
{
    if (detection == NULL)
        return;
    free_search(detection);
    hf_free(detection);
}
