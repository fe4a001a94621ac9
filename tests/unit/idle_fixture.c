/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a core with idle objects and counts what a step visits. */
#include "idle_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cohort.h"
#include "tracked_heap.h"

const char *const idle_names[IDLE_SORTS] = {
    [IDLE_GRANTS] = "grants",
    [IDLE_WAITERS] = "waiters",
    [IDLE_NAMES] = "names",
    [IDLE_PAUSED] = "paused",
    [IDLE_COHORT_WAITERS] = "cohort waiters",
    [IDLE_COHORTS] = "cohorts",
    [IDLE_BARRIERS] = "barriers",
};

uint64_t idle_step(struct idle_fixture *f, struct hf_event event)
{
    uint64_t before = f->core.visits;
    struct hf_effect *effect;

    event.now_ms = f->now_ms;
    hf_core_step(&f->core, &event);
    while ((effect = hf_core_next_effect(&f->core)) != NULL) {
        if (effect->kind == HF_EFFECT_REQUEST)
            f->asked[effect->request->kind] = effect->request;
    }
    if (f->filled)
        (void)hf_core_wake_at_ms(&f->core);
    return f->core.visits - before;
}

struct hf_event idle_user(enum hf_event_kind kind, struct hf_acquisition *a)
{
    return (struct hf_event){.kind = kind, .as.acquisition = a};
}

struct hf_event idle_operation(enum hf_event_kind kind, struct hf_operation *i)
{
    return (struct hf_event){.kind = kind, .as.operation = i};
}

struct hf_event idle_answer(const struct idle_fixture *f,
                            enum hf_event_kind kind,
                            enum hf_request_kind request)
{
    struct hf_event event = {.kind = kind};

    assert_non_null(f->asked[request]);
    assert_true(f->asked[request]->busy || request == HF_REQUEST_WATCH ||
                request == HF_REQUEST_WATCH_QUEUE);
    event.as.answer.request = f->asked[request];
    event.as.answer.anchor_ms = f->now_ms;
    event.as.answer.found = true;
    event.as.answer.text = "as the test wants it";
    return event;
}

uint64_t idle_listed(struct idle_fixture *f, enum hf_event_kind kind,
                     enum hf_request_kind request, enum hf_ticket_kind ahead)
{
    struct hf_event event = idle_answer(f, kind, request);
    const struct hf_request *asked = event.as.answer.request;
    struct hf_ticket tickets[2] = {
        {.id = {"other"}, .sequence = 1, .token = 1, .kind = ahead},
        {.id = asked->ticket, .sequence = 2, .kind = asked->ticket_kind},
    };
    bool own = asked->kind != HF_REQUEST_WATCH_QUEUE;

    tickets[0].weight = tickets[1].weight = 1;
    tickets[0].payload = tickets[1].payload = "who";
    tickets[1].token = 2;
    event.as.answer.snapshot.tickets = ahead != 0 ? tickets : tickets + 1;
    event.as.answer.snapshot.count = (size_t)(ahead != 0) + own;
    return idle_step(f, event);
}

/* ------------------------------------------------------------------ idle -- */

static void init(struct hf_acquisition *a, const char *queue)
{
    *a = (struct hf_acquisition){.queue = queue,
                                 .payload = "idle",
                                 .kind = HF_TICKET_MUTEX,
                                 .deadline_at_ms = HF_FOREVER};
}

void idle_subject(struct idle_fixture *f, struct hf_acquisition *a)
{
    init(a, f->names[0]);
}

static void want(struct idle_fixture *f, struct hf_acquisition *a)
{
    (void)idle_step(f, idle_user(HF_EVENT_ACQUIRE, a));
}

/* Enqueue it behind a mutex of another client, so that it watches that ticket
 * and its own. */
static void wait_behind(struct idle_fixture *f, struct hf_acquisition *a)
{
    want(f, a);
    (void)idle_listed(f, HF_EVENT_ENQUEUED, HF_REQUEST_ENQUEUE,
                      HF_TICKET_MUTEX);
    assert_true(hf_acquisition_is_queued(a));
}

static void hold(struct idle_fixture *f, struct hf_acquisition *a)
{
    want(f, a);
    (void)idle_listed(f, HF_EVENT_ENQUEUED, HF_REQUEST_ENQUEUE, 0);
}

static void wait_at_barrier(struct idle_fixture *f, struct idle_object *o)
{
    o->operation = (struct hf_operation){.kind = HF_REQUEST_WATCH_QUEUE,
                                         .queue = o->queue,
                                         .deadline_at_ms = HF_FOREVER};
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &o->operation));
    (void)idle_listed(f, HF_EVENT_LISTED, HF_REQUEST_WATCH_QUEUE,
                      HF_TICKET_BARRIER);
    assert_int_equal(o->operation.state, HF_OPERATION_WATCHING);
}

static void add(struct idle_fixture *f, enum idle_sort sort,
                struct idle_object *o)
{
    init(&o->a, o->queue);
    switch (sort) {
    case IDLE_GRANTS:
        hold(f, &o->a);
        assert_int_equal(o->a.state, HF_ACQUISITION_HELD);
        break;
    case IDLE_WAITERS:
        o->a.queue = f->names[0];
        wait_behind(f, &o->a);
        break;
    case IDLE_NAMES:
        wait_behind(f, &o->a);
        break;
    case IDLE_PAUSED:
        o->a.not_before_ms = f->now_ms + 1000000;
        want(f, &o->a);
        break;
    case IDLE_COHORT_WAITERS:
        o->a.queue = f->names[1];
        hf_acquisition_use_cohort(&o->a, &f->cohort);
        want(f, &o->a);
        break;
    case IDLE_COHORTS:
        hf_cohort_init(&o->cohort, o->queue, 16, 0);
        hf_acquisition_use_cohort(&o->a, &o->cohort);
        hold(f, &o->a);
        assert_int_equal(o->a.state, HF_ACQUISITION_HELD);
        break;
    case IDLE_BARRIERS:
        wait_at_barrier(f, o);
        break;
    case IDLE_SORTS:
        break;
    }
}

/* The cohort of the subject: one holder and one waiter. */
static void fill_cohort(struct idle_fixture *f)
{
    hf_cohort_init(&f->cohort, f->names[1], 1000000, 0);
    for (size_t i = 0; i < 2; i++) {
        init(&f->waiters[i], f->names[1]);
        hf_acquisition_use_cohort(&f->waiters[i], &f->cohort);
    }
    hold(f, &f->waiters[0]);
    want(f, &f->waiters[1]);
    assert_ptr_equal(f->cohort.holder, &f->waiters[0]);
}

struct idle_fixture *idle_new(enum idle_sort sort, size_t count)
{
    struct hf_core_config config = {
        .traits = HF_ENGINE_GONE_ADMITS,
        .connect_ms = 15000,
        .retry = {.base_ms = 10,
                  .cap_ms = 100,
                  .tries = 3,
                  .elapsed_ms = HF_FOREVER},
    };
    struct idle_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tracked_heap_install();
    f->idle = calloc(count, sizeof *f->idle);
    assert_non_null(f->idle);
    f->now_ms = IDLE_START_MS;
    snprintf(f->names[0], sizeof f->names[0], "subject");
    snprintf(f->names[1], sizeof f->names[1], "subject's cohort");
    hf_random_seed(&config.random, 1);
    hf_core_init(&f->core, &config, f->now_ms);
    (void)idle_step(
        f, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                             .as.connected = {.timeout_ms = IDLE_TIMEOUT_MS,
                                              .clock_drift = 1,
                                              .anchor_ms = f->now_ms}});
    fill_cohort(f);
    for (size_t i = 0; i < count; i++) {
        snprintf(f->idle[i].queue, sizeof f->idle[i].queue, "idle%zu", i);
        add(f, sort, &f->idle[i]);
    }
    hf_core_check(&f->core);
    f->filled = true;
    memset(f->asked, 0, sizeof f->asked);
    return f;
}

void idle_free(struct idle_fixture *f)
{
    free(f->idle);
    free(f);
}
