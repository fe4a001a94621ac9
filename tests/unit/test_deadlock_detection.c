/* SPDX-License-Identifier: Apache-2.0 */
/* An acquisition that looks for deadlocks (core/deadlock_detection.h).  The
 * test plays the engine: it counts the requests and answers them. */
#include <string.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "core/core.h"
#include "core/deadlock_detection.h"
#include "tracked_heap.h"

#define START_MS 1000

struct detection_fixture {
    struct hf_core core;
    struct hf_acquisition a;
    uint64_t now_ms;
    struct hf_ticket_id own; /* of its ticket */
    /* With the engine; NULL: answered. */
    struct hf_request *watch;
    struct hf_request *own_watch; /* of its own ticket */
    struct hf_request *list;
    struct hf_request *remove;
    struct hf_request *enqueue;
    unsigned requests;
    unsigned lists;
    unsigned ended;
    unsigned done;
};

static void take(struct detection_fixture *f, struct hf_request *request)
{
    f->requests++;
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        f->enqueue = request;
        f->own = request->ticket;
        break;
    case HF_REQUEST_LIST:
        assert_null(f->list);
        assert_true(request->detailed);
        f->list = request;
        f->lists++;
        break;
    case HF_REQUEST_REMOVE:
        f->remove = request;
        break;
    case HF_REQUEST_WATCH:
        if (hf_ticket_id_equal(&request->ticket, &f->own))
            f->own_watch = request;
        f->watch = request;
        break;
    default:
        f->watch = request;
        break;
    }
}

/* Feed ${event} and read what follows. */
static void step(struct detection_fixture *f, struct hf_event event)
{
    struct hf_effect *effect;

    event.now_ms = f->now_ms;
    hf_core_step(&f->core, &event);
    hf_core_check(&f->core);
    while ((effect = hf_core_next_effect(&f->core)) != NULL) {
        if (effect->kind == HF_EFFECT_REQUEST)
            take(f, effect->request);
        f->ended += effect->kind == HF_EFFECT_ENDED;
        f->done += effect->kind == HF_EFFECT_ACQUISITION_DONE;
    }
}

/* Answer the request at ${link} with ${kind} and ${count} ${tickets}. */
static void answer(struct detection_fixture *f, struct hf_request **link,
                   enum hf_event_kind kind, const struct hf_ticket *tickets,
                   size_t count)
{
    struct hf_event event = {.kind = kind};

    assert_non_null(*link);
    event.as.answer.request = *link;
    event.as.answer.snapshot = (struct hf_snapshot){tickets, count, 0};
    event.as.answer.found = true;
    *link = NULL;
    step(f, event);
}

static struct hf_ticket ticket_of(uint8_t number, const char *text)
{
    return (struct hf_ticket){.id = {{number, 1, 1, 1}},
                              .sequence = number,
                              .token = UINT64_C(10) * number,
                              .kind = HF_TICKET_MUTEX,
                              .weight = 1,
                              .payload = text};
}

#define HOLDS_A "host=h pid=1 command=c detect holds=a:01010101"
#define HOLDS_B "host=h pid=2 command=d holds=b:02010101"

/* The acquisition waits for "b" behind ticket 2, with the text ${text}. */
static void wait_for_b(struct detection_fixture *f, const char *text)
{
    struct hf_core_config config = {
        .connect_ms = 15000,
        .retry = {.base_ms = 10, .cap_ms = 100, .tries = 3},
        .engine_name = "sim:here"};
    struct hf_ticket tickets[2];

    tracked_heap_install();
    hf_random_seed(&config.random, 1);
    memset(f, 0, sizeof *f);
    f->now_ms = START_MS;
    hf_core_init(&f->core, &config, f->now_ms);
    f->a.queue = "b";
    f->a.payload = text;
    f->a.kind = HF_TICKET_MUTEX;
    f->a.deadline_at_ms = HF_FOREVER;
    f->a.detection = hf_alloc(sizeof *f->a.detection);
    step(f, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                              .as.connected = {.timeout_ms = HF_FOREVER,
                                               .anchor_ms = f->now_ms}});
    step(f,
         (struct hf_event){.kind = HF_EVENT_ACQUIRE, .as.acquisition = &f->a});
    tickets[0] = ticket_of(2, "host=h pid=2");
    tickets[1] = ticket_of(3, text);
    tickets[1].id = f->own;
    answer(f, &f->enqueue, HF_EVENT_ENQUEUED, tickets, 2);
    assert_non_null(f->watch);
    f->requests = 0;
}

/* The clock is ${ms} after the begin. */
static void advance(struct detection_fixture *f, uint64_t ms)
{
    f->now_ms = START_MS + ms;
    step(f, (struct hf_event){.kind = HF_EVENT_TICK});
}

/* Answer the list of ${name}: "a" is held by us and wanted by the holder of
 * "b". */
static void list(struct detection_fixture *f, const char *name)
{
    struct hf_ticket tickets[2];

    assert_string_equal(f->list->queue, name);
    if (strcmp(name, "a") == 0) {
        tickets[0] = ticket_of(1, "host=h pid=1");
        tickets[1] = ticket_of(4, HOLDS_B);
        tickets[1].token = 5;
    } else {
        tickets[0] = ticket_of(2, "host=h pid=2");
        tickets[1] = ticket_of(3, HOLDS_A);
        tickets[1].id = f->own;
    }
    answer(f, &f->list, HF_EVENT_LISTED, tickets, 2);
}

static void cancel(struct detection_fixture *f)
{
    step(f,
         (struct hf_event){.kind = HF_EVENT_CANCEL, .as.acquisition = &f->a});
}

TEST(one_that_does_not_say_so_makes_no_request)
{
    struct detection_fixture f;

    wait_for_b(&f, "host=h pid=1");
    for (uint64_t ms = 0; ms <= 200000; ms += 100)
        advance(&f, ms);
    assert_int_equal(f.requests, 0);
}

TEST(it_looks_ever_more_rarely)
{
    static const unsigned seconds[] = {1, 3, 7, 15, 31, 63, 123, 183};
    struct detection_fixture f;
    size_t looks = 0;

    wait_for_b(&f, HOLDS_A);
    for (unsigned ms = 0; ms <= 200000; ms += 100) {
        advance(&f, ms);
        if (f.list == NULL)
            continue;
        assert_true(looks < sizeof seconds / sizeof *seconds);
        assert_int_equal(ms, 1000 * seconds[looks++]);
        while (f.list != NULL)
            answer(&f, &f.list, HF_EVENT_LISTED, NULL, 0);
    }
    assert_int_equal(looks, sizeof seconds / sizeof *seconds);
}

TEST(the_last_of_a_cycle_fails)
{
    struct detection_fixture f;

    wait_for_b(&f, HOLDS_A);
    advance(&f, 1000);
    list(&f, "a");
    list(&f, "b");
    list(&f, "a");
    assert_int_equal(f.ended, 0);
    list(&f, "b");
    assert_int_equal(f.lists, 4);
    answer(&f, &f.remove, HF_EVENT_REMOVED, NULL, 0);
    assert_int_equal(f.ended, 1);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.a.status, HF_EDEADLK);
    assert_string_equal(
        hf_acquisition_text(&f.a),
        "deadlock: this owner waits for \"b\" behind process 2 \"d\" on \"h\", "
        "which waits for \"a\" behind this owner; release what it holds and "
        "begin again");
}

/* The engine has the list yet: the end is reported at once, but the core keeps
 * the acquisition until the answer. */
TEST(a_wait_may_end_during_a_look)
{
    struct detection_fixture f;

    wait_for_b(&f, HOLDS_A);
    advance(&f, 1000);
    cancel(&f);
    answer(&f, &f.remove, HF_EVENT_REMOVED, NULL, 0);
    assert_int_equal(f.ended, 1);
    assert_int_equal(f.a.status, HF_ECANCELLED);
    assert_int_equal(f.done, 0);
    list(&f, "a");
    assert_int_equal(f.done, 1);
    assert_int_equal(f.lists, 1);
}

TEST(a_failed_list_ends_the_look)
{
    struct detection_fixture f;
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    wait_for_b(&f, HOLDS_A);
    advance(&f, 1000);
    event.as.answer.request = f.list;
    event.as.answer.failure = HF_FAILURE_FATAL;
    event.as.answer.status = HF_EDENIED;
    event.as.answer.text = "no";
    f.list = NULL;
    step(&f, event);
    assert_null(f.list);
    assert_int_equal(f.ended, 0);
    advance(&f, 3000);
    assert_non_null(f.list); /* the next look */
}

TEST(closing_ends_a_look)
{
    struct detection_fixture f;

    wait_for_b(&f, HOLDS_A);
    advance(&f, 1000);
    step(&f, (struct hf_event){.kind = HF_EVENT_CLOSE});
    assert_int_equal(f.ended, 1);
    list(&f, "a");
    assert_null(f.list);
}

/* Somebody evicts its ticket, and the last list of the look was made a moment
 * before.  It waits by another ticket then, and nobody may wait for that. */
TEST(a_look_ends_with_its_ticket)
{
    struct hf_ticket tickets[2];
    struct detection_fixture f;
    struct hf_ticket_id evicted, next;

    wait_for_b(&f, HOLDS_A);
    advance(&f, 1000);
    list(&f, "a");
    list(&f, "b");
    list(&f, "a");
    evicted = f.own;
    answer(&f, &f.own_watch, HF_EVENT_GONE, NULL, 0);
    for (uint64_t ms = 1000; f.enqueue == NULL && ms < 2000; ms += 10)
        advance(&f, ms);
    tickets[0] = ticket_of(2, "host=h pid=2");
    tickets[1] = ticket_of(5, HOLDS_A);
    tickets[1].id = f.own;
    answer(&f, &f.enqueue, HF_EVENT_ENQUEUED, tickets, 2);
    next = f.own;
    f.own = evicted;
    list(&f, "b");
    f.own = next;
    assert_null(f.list);
    assert_null(f.remove);
    assert_int_equal(f.ended, 0);
}
