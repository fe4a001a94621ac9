/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What owners do: they wait for locks, hold and release them, pass grants on,
 * ask for a release, and run others in their command.
 *
 * Nothing that an effect leads to acts at once: an owner plans what it does
 * next, so that a core is never stepped from inside itself, and a process that
 * is stopped does nothing.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "core/cohort.h"
#include "core/deadlock_detection.h"
#include "simulator/random/deadlock_private.h"

#define HANDOFFS 4

size_t deadlock_number(const struct deadlock_owner *owner)
{
    return (size_t)(owner - deadlock_run.owners);
}

void deadlock_trace(const struct deadlock_owner *owner, const char *format, ...)
{
    uint64_t now_us = hf_sim_now_us(deadlock_run.sim);
    char text[1024];
    va_list arguments;
    int used;

    if (deadlock_run.line == NULL)
        return;
    used =
        snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %zu  ", now_us / 1000,
                 (unsigned)(now_us % 1000), deadlock_number(owner));
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    deadlock_run.line(NULL, text);
}

struct deadlock_owner *deadlock_owner_new(struct deadlock_client *client)
{
    struct deadlock_owner *owner = &deadlock_run.owners[deadlock_run.count++];

    owner->client = client;
    owner->detects = true;
    client->owners++;
    return owner;
}

/* ----------------------------------------------------------- what is next */

static void do_next(void *arg)
{
    struct deadlock_owner *owner = arg;
    void (*next)(struct deadlock_owner * owner) = owner->next;

    if (next == NULL || hf_sim_now_us(deadlock_run.sim) < owner->next_us)
        return;
    if (hf_sim_frozen(owner->client->engine)) {
        deadlock_plan(owner, 10, next);
        return;
    }
    owner->next = NULL;
    next(owner);
}

void deadlock_plan(struct deadlock_owner *owner, uint64_t ms,
                   void (*next)(struct deadlock_owner *owner))
{
    owner->next = next;
    owner->next_us = hf_sim_now_us(deadlock_run.sim) + 1000 * ms;
    deadlock_later_us(1000 * ms, do_next, owner);
}

/* ------------------------------------------------------- what is held -- */

/* A lease is what a semaphore's ticket is known by. */
const struct hf_ticket_id *deadlock_ticket_of(const struct deadlock_want *want)
{
    return deadlock_run.locks[want->lock].limit > 0
               ? &want->children[1].ticket_id
               : &want->a.ticket_id;
}

bool deadlock_is_held(const struct deadlock_want *want)
{
    return want->granted && !want->released;
}

bool deadlock_holds_lock(const struct deadlock_owner *owner, size_t lock)
{
    for (; owner != NULL; owner = owner->outer) {
        for (const struct deadlock_want *w = owner->wants; w != NULL;
             w = w->next) {
            if (deadlock_is_held(w) && w->lock == lock)
                return true;
        }
    }
    return false;
}

void deadlock_add_holds(const struct deadlock_owner *owner,
                        struct deadlock_holds *holds)
{
    for (const struct deadlock_want *w = owner->wants; w != NULL; w = w->next) {
        if (deadlock_is_held(w) && !w->lost && w->way != DEADLOCK_UNLISTED &&
            holds->count < DEADLOCK_HOLDS_MAX)
            holds->holds[holds->count++] =
                (struct deadlock_hold){w->lock, *deadlock_ticket_of(w)};
    }
}

void deadlock_begin_inner(struct deadlock_owner *owner,
                          struct deadlock_owner *inner)
{
    inner->outer = owner;
    inner->inherited = owner->inherited;
    deadlock_add_holds(owner, &inner->inherited);
    owner->inner_count++;
    deadlock_trace(owner, "runs %zu", deadlock_number(inner));
}

void deadlock_end_inner(struct deadlock_owner *inner)
{
    inner->outer->inner_count--;
    inner->outer = NULL;
    inner->inherited.count = 0;
}

/* ----------------------------------------------------------------- wants -- */

/* Make ${want} of a semaphore: an entry mutex and a lease. */
static void use_semaphore(struct deadlock_want *want)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[want->lock];

    want->children[0].queue = lock->entry;
    want->children[0].kind = HF_TICKET_MUTEX;
    want->children[0].entry_mutex = true;
    want->children[1].queue = lock->leases;
    want->children[1].kind = HF_TICKET_LEASE;
    want->children[1].weight = want->permits;
    want->children[1].limit = lock->limit;
    for (size_t i = 0; i < 2; i++) {
        want->children[i].payload = want->payload;
        want->children[i].deadline_at_ms = want->a.deadline_at_ms;
    }
    want->multi_lock.children = want->children;
    want->multi_lock.count = 2;
    want->multi_lock.token_child = 1;
    hf_acquisition_use_multi_lock(&want->a, &want->multi_lock);
}

/* Make ${want} one of a ticket that the owners of its client share. */
static void use_cohort(struct deadlock_want *want)
{
    struct deadlock_cohort *shared = &want->owner->client->cohorts[want->lock];

    if (!shared->ready)
        hf_cohort_init(&shared->cohort, deadlock_run.locks[want->lock].name,
                       HANDOFFS, 0);
    shared->ready = true;
    hf_acquisition_use_cohort(&want->a, &shared->cohort);
}

void deadlock_acquire(struct deadlock_owner *owner, size_t lock,
                      enum hf_ticket_kind kind, uint32_t permits,
                      uint64_t wait_ms, enum deadlock_way way)
{
    struct deadlock_want *want = calloc(1, sizeof *want);

    if (want == NULL)
        abort();
    want->owner = owner;
    want->lock = lock;
    want->way = way;
    want->permits = permits;
    want->a.queue = deadlock_run.locks[lock].name;
    want->a.kind = kind;
    want->a.payload = want->payload;
    want->a.deadline_at_ms =
        hf_after_ms(hf_sim_client_now_ms(owner->client->engine), wait_ms);
    if (owner->detects && way == DEADLOCK_LISTED)
        want->a.detection = hf_alloc(sizeof *want->a.detection);
    deadlock_write_owner(want);
    if (deadlock_run.locks[lock].limit > 0)
        use_semaphore(want);
    else if (way == DEADLOCK_SHARED)
        use_cohort(want);
    want->next = owner->wants;
    owner->wants = owner->waiting = want;
    deadlock_trace(owner, "wants %s%s%s", deadlock_run.locks[lock].name,
                   kind == HF_TICKET_READ ? " to read" : "",
                   way == DEADLOCK_SHARED     ? ", with a shared ticket"
                   : way == DEADLOCK_UNLISTED ? ", for any owner"
                                              : "");
    deadlock_client_step(owner->client,
                         (struct hf_event){.kind = HF_EVENT_ACQUIRE,
                                           .as.acquisition = &want->a});
}

void deadlock_cancel(struct deadlock_owner *owner)
{
    if (owner->waiting != NULL)
        deadlock_client_step(
            owner->client,
            (struct hf_event){.kind = HF_EVENT_CANCEL,
                              .as.acquisition = &owner->waiting->a});
}

static void unlink_want(struct deadlock_want *want)
{
    struct deadlock_want **link = &want->owner->wants;

    while (*link != want)
        link = &(*link)->next;
    *link = want->next;
}

/* The core has forgotten ${want}. */
void deadlock_forget(struct deadlock_want *want)
{
    struct hf_core *core = &want->owner->client->core;

    unlink_want(want);
    hf_acquisition_free(core, &want->a);
    for (size_t i = 0; i < want->multi_lock.count; i++)
        hf_acquisition_free(core, &want->children[i]);
    free(want);
}

static void release(struct deadlock_want *want)
{
    want->released = true;
    deadlock_trace(want->owner, "releases %s",
                   deadlock_run.locks[want->lock].name);
    deadlock_client_step(want->owner->client,
                         (struct hf_event){.kind = HF_EVENT_RELEASE,
                                           .as.acquisition = &want->a});
}

/* A release may free others, so look for the next one each time. */
void deadlock_release_all(struct deadlock_owner *owner)
{
    struct deadlock_want *want;

    do {
        for (want = owner->wants; want != NULL && !deadlock_is_held(want);
             want = want->next)
            ;
        if (want != NULL)
            release(want);
    } while (want != NULL);
}

/* Another owner of the client of ${owner}, that neither waits nor runs others;
 * NULL: none. */
static struct deadlock_owner *find_other(const struct deadlock_owner *owner)
{
    for (size_t i = 0; i < deadlock_run.count; i++) {
        struct deadlock_owner *other = &deadlock_run.owners[i];

        if (other != owner && other->client == owner->client &&
            other->waiting == NULL && other->inner_count == 0)
            return other;
    }
    return NULL;
}

void deadlock_pass_on(struct deadlock_owner *owner)
{
    struct deadlock_owner *other = find_other(owner);

    for (struct deadlock_want *w = owner->wants; other != NULL && w != NULL;
         w = w->next) {
        if (w->way != DEADLOCK_UNLISTED || !deadlock_is_held(w))
            continue;
        deadlock_trace(owner, "passes %s on to %zu",
                       deadlock_run.locks[w->lock].name,
                       deadlock_number(other));
        unlink_want(w);
        w->owner = other;
        w->next = other->wants;
        other->wants = w;
        deadlock_run.end->counts.passed++;
        return;
    }
}

/* The ticket that holds its lock, or else the one that waits for it. */
void deadlock_revoke(struct deadlock_owner *owner,
                     const struct deadlock_want *want)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[want->lock];
    struct hf_operation *operation = calloc(1, sizeof *operation);

    if (operation == NULL)
        abort();
    operation->kind = HF_REQUEST_REVOKE;
    operation->queue = lock->limit == 0 ? lock->name
                       : want->granted  ? lock->leases
                                        : lock->entry;
    operation->ticket = want->granted ? *deadlock_ticket_of(want)
                        : want->way == DEADLOCK_SHARED
                            ? want->owner->client->cohorts[want->lock].ticket
                            : want->tickets[0];
    operation->deadline_at_ms =
        hf_after_ms(hf_sim_client_now_ms(owner->client->engine), 5000);
    deadlock_trace(owner, "asks %zu for %s", deadlock_number(want->owner),
                   lock->name);
    deadlock_client_step(owner->client,
                         (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                           .as.operation = operation});
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed when it is done */
}
