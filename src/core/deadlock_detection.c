/* SPDX-License-Identifier: Apache-2.0 */
/* When an acquisition looks, the lists of a look, and its verdict. */
#include "core/deadlock_detection.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "core/core_state.h"
#include "core/ticket_text.h"

/* Set ${wait} to the ticket that the acquisition waits by; false: none. */
static bool waits_by(const struct hf_deadlock_detection *detection,
                     struct hf_deadlock_wait *wait)
{
    return detection->listener->waits_by(detection->acquisition, wait);
}

/* Does that ticket say that its owner looks for deadlocks? */
static bool says_detect(const struct hf_deadlock_wait *wait)
{
    const char *value;
    size_t length;

    return hf_ticket_text_find(wait->text, "detect", &value, &length);
}

/* Write to ${name} which lock is waited for: the name of the queue, which for
 * the entry queue of a semaphore is cut before its "/locks". */
static void write_lock(const struct hf_deadlock_wait *wait, char *name)
{
    size_t bytes = strlen(wait->queue);

    if (wait->kind == HF_TICKET_LEASE)
        bytes -= strlen(HF_QUEUE_LOCKS);
    memcpy(name, wait->queue, bytes);
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

/* The look has ended: end the wait, if that is the verdict.  That comes last,
 * because the end of the wait frees ${search}. */
static void decide(struct hf_core *core,
                   struct hf_deadlock_detection *detection)
{
    struct hf_deadlock_search *search = detection->search;
    const struct hf_deadlock_ticket *victim =
        hf_deadlock_victim(&search->cycle);
    struct hf_error why = {.status = HF_EDEADLK};

    assert(!detection->ended && !detection->is_listing);
    assert(victim == NULL || hf_deadlock_search_status(search) == HF_OK);
    if (hf_deadlock_search_status(search) == HF_EFULL)
        core->deadlocks_cut++;

    if (victim == NULL || !hf_ticket_id_equal(&victim->id, &search->subject)) {
        free_search(detection);
        return;
    }
    hf_deadlock_search_describe(search, why.text, sizeof why.text);
    detection->listener->found(core, detection->acquisition, &why);
}

static const struct hf_operation_listener listener;

/* Have the core list .queue; list_done() follows. */
static void list(struct hf_core *core, struct hf_deadlock_detection *detection)
{
    detection->operation = (struct hf_operation){
        .kind = HF_REQUEST_LIST,
        .queue = detection->queue,
        .texts = detection->texts,
        .deadline_at_ms = HF_FOREVER,
        .listener = &listener,
    };
    assert(!detection->is_listing && detection->search != NULL);
    detection->is_listing = true;
    hf_operation_start(core, &detection->operation);
}

/* Go on with the look: ask for the next list, or decide.  Nothing is decided
 * about a ticket that does not wait any more. */
static void go_on(struct hf_core *core, struct hf_deadlock_detection *detection)
{
    struct hf_deadlock_search *search = detection->search;
    struct hf_deadlock_wait wait;

    assert(!detection->is_listing && search != NULL);
    if (!waits_by(detection, &wait) ||
        !hf_ticket_id_equal(wait.ticket, &search->subject))
        free_search(detection);
    else if (hf_deadlock_search_next(search, detection->queue,
                                     &detection->texts))
        list(core, detection);
    else
        decide(core, detection);
    hf_schedule_touch(core, detection->entry);
}

/* Begin a look.  Without memory for it there is none. */
static void look(struct hf_core *core, struct hf_deadlock_detection *detection)
{
    struct hf_deadlock_wait wait;
    char name[HF_DEADLOCK_QUEUE_NAME_BYTES];

    assert(!detection->ended && !detection->is_listing &&
           detection->search == NULL);
    if (!waits_by(detection, &wait) || !says_detect(&wait) ||
        (detection->search = hf_alloc(sizeof *detection->search)) == NULL)
        return;
    write_lock(&wait, name);
    if (hf_deadlock_search_begin(detection->search, name, wait.kind,
                                 wait.ticket, wait.text) == HF_OK)
        go_on(core, detection);
    else
        free_search(detection);
}

/* ------------------------------------------------------------- the lists -- */

static void listed(struct hf_operation *operation,
                   const struct hf_snapshot *snapshot)
{
    struct hf_deadlock_detection *detection =
        container_of(operation, struct hf_deadlock_detection, operation);

    if (detection->search != NULL)
        hf_deadlock_search_listed(detection->search, snapshot);
}

static void done(struct hf_core *core, struct hf_operation *operation)
{
    hf_deferred_call_add(
        &core->deferred,
        &container_of(operation, struct hf_deadlock_detection, operation)
             ->deferred);
}

static const struct hf_operation_listener listener = {listed, done};

/* The core uses the operation no longer: go on, or say that the detection is
 * not busy any more. */
static void list_done(struct hf_core *core, struct hf_deferred_call *deferred)
{
    struct hf_deadlock_detection *detection =
        container_of(deferred, struct hf_deadlock_detection, deferred);

    assert(detection->is_listing);
    assert(!detection->ended || detection->search == NULL);
    detection->is_listing = false;
    if (detection->ended) {
        detection->listener->idle(core, detection->acquisition);
    } else if (detection->operation.status == HF_OK) {
        go_on(core, detection);
    } else {
        free_search(detection);
        hf_schedule_touch(core, detection->entry);
    }
}

/* ------------------------------------------------------- the acquisition -- */

void hf_deadlock_detection_begin(
    struct hf_core *core, struct hf_deadlock_detection *detection,
    const struct hf_deadlock_detection_listener *of_acquisition,
    struct hf_acquisition *a, struct hf_schedule_entry *entry)
{
    detection->listener = of_acquisition;
    detection->acquisition = a;
    detection->entry = entry;
    detection->look_at_ms =
        hf_after_ms(core->now_ms, HF_DEADLOCK_FIRST_LOOK_MS);
    detection->interval_ms = HF_DEADLOCK_INTERVAL_MS;
    detection->deferred.run = list_done;
}

uint64_t
hf_deadlock_detection_at_ms(const struct hf_deadlock_detection *detection)
{
    if (detection == NULL || detection->ended || detection->search != NULL)
        return HF_FOREVER;
    return detection->look_at_ms;
}

void hf_deadlock_detection_tick(struct hf_core *core,
                                struct hf_deadlock_detection *detection)
{
    if (core->now_ms < hf_deadlock_detection_at_ms(detection))
        return;
    detection->look_at_ms = hf_after_ms(core->now_ms, detection->interval_ms);
    detection->interval_ms =
        hf_min_ms(2 * detection->interval_ms, HF_DEADLOCK_INTERVAL_MAX_MS);
    hf_schedule_touch(core, detection->entry);
    look(core, detection);
}

void hf_deadlock_detection_end(struct hf_core *core,
                               struct hf_deadlock_detection *detection)
{
    if (detection == NULL)
        return;
    detection->ended = true;
    free_search(detection);
    if (detection->is_listing && !detection->deferred.queued)
        hf_operation_cancel(core, &detection->operation);
}

bool hf_deadlock_detection_is_busy(
    const struct hf_deadlock_detection *detection)
{
    return detection != NULL && detection->is_listing;
}

void hf_deadlock_detection_free(struct hf_deadlock_detection *detection)
{
    if (detection == NULL)
        return;
    free_search(detection);
    hf_free(detection);
}
