/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a step does not depend on idle objects.  Each kind of event
 * happens to one subject, beside a few and beside many idle objects, and the
 * core must visit as many objects in both cases.  An entry of the table names
 * the sorts of idle objects with which its cost still grows; an entry whose
 * cost does not grow must not name them.
 *
 * Events that concern the whole session may visit each object a few times:
 * CONNECTED, SESSION_LOST, GAVE_UP, CLOSE and CLOSED.  They must not visit
 * each object once for every other one.
 */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "core/cohort.h"
#include "idle_fixture.h"

#define FEW 10
#define MANY 10000

/* ------------------------------------------------------------- subjects -- */

static uint64_t user(struct idle_fixture *f, enum hf_event_kind kind)
{
    return idle_step(f, idle_user(kind, &f->a));
}

static uint64_t answer(struct idle_fixture *f, enum hf_event_kind kind,
                       enum hf_request_kind request)
{
    return idle_step(f, idle_answer(f, kind, request));
}

static uint64_t failed(struct idle_fixture *f, enum hf_request_kind request,
                       enum hf_failure failure)
{
    struct hf_event event = idle_answer(f, HF_EVENT_FAILED, request);

    event.as.answer.failure = failure;
    event.as.answer.status = HF_EUNREACHABLE;
    return idle_step(f, event);
}

static uint64_t enqueued(struct idle_fixture *f, enum hf_ticket_kind ahead)
{
    return idle_listed(f, HF_EVENT_ENQUEUED, HF_REQUEST_ENQUEUE, ahead);
}

static uint64_t listed(struct idle_fixture *f, enum hf_ticket_kind ahead)
{
    return idle_listed(f, HF_EVENT_LISTED, HF_REQUEST_LIST, ahead);
}

static uint64_t looked(struct idle_fixture *f, enum hf_ticket_kind ahead)
{
    return idle_listed(f, HF_EVENT_LISTED, HF_REQUEST_WATCH_QUEUE, ahead);
}

static uint64_t tick_after(struct idle_fixture *f, uint64_t ms)
{
    f->now_ms += ms;
    return idle_step(f, (struct hf_event){.kind = HF_EVENT_TICK});
}

/* States of the subject: its enqueue is not answered; it waits for a mutex of
 * another client; it holds. */
static void ask(struct idle_fixture *f)
{
    idle_subject(f, &f->a);
    (void)user(f, HF_EVENT_ACQUIRE);
}

static void wait_behind(struct idle_fixture *f, enum hf_ticket_kind ahead)
{
    ask(f);
    (void)enqueued(f, ahead);
    assert_true(hf_acquisition_is_queued(&f->a));
}

static void hold(struct idle_fixture *f)
{
    ask(f);
    (void)enqueued(f, 0);
    assert_int_equal(f->a.state, HF_ACQUISITION_HELD);
}

static void hold_as(struct idle_fixture *f, enum hf_ticket_kind kind)
{
    idle_subject(f, &f->a);
    f->a.kind = kind;
    (void)user(f, HF_EVENT_ACQUIRE);
    (void)enqueued(f, 0);
    assert_int_equal(f->a.state, HF_ACQUISITION_HELD);
}

/* End what the subject does, so that nothing of it is left. */
static void finish(struct idle_fixture *f, struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = a->tickets.current;
    bool has =
        a->state == HF_ACQUISITION_HELD || a->state == HF_ACQUISITION_LOST;

    if (a->state < HF_ACQUISITION_RELEASING)
        (void)idle_step(f,
                        idle_user(has ? HF_EVENT_RELEASE : HF_EVENT_CANCEL, a));
    if (ticket != NULL && ticket->request.busy &&
        ticket->request.kind == HF_REQUEST_ENQUEUE)
        (void)enqueued(f, 0);
    if (ticket != NULL && hf_own_ticket_has_question(ticket) &&
        ticket->question->kind == HF_REQUEST_LIST)
        (void)listed(f, 0);
    if (ticket != NULL && hf_text_update_is_busy(ticket->text_update))
        (void)answer(f, HF_EVENT_DESCRIBED, HF_REQUEST_DESCRIBE);
    if (hf_acquisition_awaits_removal(a))
        (void)answer(f, HF_EVENT_REMOVED, HF_REQUEST_REMOVE);
    assert_int_equal(a->state, HF_ACQUISITION_DONE);
}

static uint64_t finished(struct idle_fixture *f, uint64_t cost)
{
    finish(f, &f->a);
    return cost;
}

/* ---------------------------------------------------- from want to grant -- */

static uint64_t want(struct idle_fixture *f)
{
    idle_subject(f, &f->a);
    return finished(f, user(f, HF_EVENT_ACQUIRE));
}

static uint64_t is_granted(struct idle_fixture *f)
{
    ask(f);
    return finished(f, enqueued(f, 0));
}

static uint64_t is_queued(struct idle_fixture *f)
{
    ask(f);
    return finished(f, enqueued(f, HF_TICKET_MUTEX));
}

static uint64_t is_watching(struct idle_fixture *f)
{
    wait_behind(f, HF_TICKET_MUTEX);
    return finished(f, answer(f, HF_EVENT_WATCHING, HF_REQUEST_WATCH));
}

static struct hf_event gone(struct idle_fixture *f)
{
    struct hf_event event = idle_answer(f, HF_EVENT_GONE, HF_REQUEST_WATCH);

    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        struct hf_ticket_watch *watch = f->a.tickets.current->watches.slots[i];

        if (watch != NULL && watch->state == HF_TICKET_WATCH_ASKED &&
            hf_ticket_id_equal(&watch->request.ticket,
                               &f->a.tickets.current->in.queued.ahead[0].id))
            event.as.answer.request = &watch->request;
    }
    return event;
}

static uint64_t handoff(struct idle_fixture *f)
{
    uint64_t cost;

    wait_behind(f, HF_TICKET_MUTEX);
    cost = idle_step(f, gone(f));
    assert_int_equal(f->a.state, HF_ACQUISITION_HELD);
    return finished(f, cost);
}

/* Behind a ticket that may be a writer only a list decides. */
static uint64_t handoff_by_list(struct idle_fixture *f)
{
    uint64_t cost;

    wait_behind(f, HF_TICKET_EXCLUSIVE);
    cost = idle_step(f, gone(f));
    cost += listed(f, 0);
    assert_int_equal(f->a.state, HF_ACQUISITION_HELD);
    return finished(f, cost);
}

static uint64_t is_revoked(struct idle_fixture *f)
{
    wait_behind(f, HF_TICKET_MUTEX);
    return finished(f, answer(f, HF_EVENT_REVOKED, HF_REQUEST_WATCH));
}

/* Its description says that the request to let go was received. */
static uint64_t is_described(struct idle_fixture *f)
{
    uint64_t cost;

    wait_behind(f, HF_TICKET_MUTEX);
    (void)answer(f, HF_EVENT_REVOKED, HF_REQUEST_WATCH);
    cost = answer(f, HF_EVENT_DESCRIBED, HF_REQUEST_DESCRIBE);
    assert_false(hf_text_update_is_busy(f->a.tickets.current->text_update));
    return finished(f, cost);
}

/* Its description says something else, because its owner does. */
static uint64_t describes_again(struct idle_fixture *f)
{
    uint64_t cost;

    wait_behind(f, HF_TICKET_MUTEX);
    cost = user(f, HF_EVENT_DESCRIBE);
    cost += answer(f, HF_EVENT_DESCRIBED, HF_REQUEST_DESCRIBE);
    return finished(f, cost);
}

/* --------------------------------------------------------------- the end -- */

static uint64_t cancel(struct idle_fixture *f)
{
    wait_behind(f, HF_TICKET_MUTEX);
    return finished(f, user(f, HF_EVENT_CANCEL));
}

static uint64_t release(struct idle_fixture *f)
{
    hold(f);
    return finished(f, user(f, HF_EVENT_RELEASE));
}

static uint64_t is_removed(struct idle_fixture *f)
{
    uint64_t cost;

    hold(f);
    (void)user(f, HF_EVENT_RELEASE);
    cost = answer(f, HF_EVENT_REMOVED, HF_REQUEST_REMOVE);
    assert_int_equal(f->a.state, HF_ACQUISITION_DONE);
    return cost;
}

static uint64_t is_evicted(struct idle_fixture *f)
{
    hold_as(f, HF_TICKET_MUTEX);
    (void)tick_after(f, HF_OWN_WATCH_AFTER_MS);
    return finished(f, answer(f, HF_EVENT_GONE, HF_REQUEST_WATCH));
}

static uint64_t is_checked(struct idle_fixture *f)
{
    hold_as(f, HF_TICKET_MUTEX);
    return finished(f, user(f, HF_EVENT_CHECK));
}

static uint64_t becomes_reader(struct idle_fixture *f)
{
    uint64_t cost;

    hold_as(f, HF_TICKET_WRITE);
    cost = user(f, HF_EVENT_DOWNGRADE);
    cost += answer(f, HF_EVENT_DOWNGRADED, HF_REQUEST_DOWNGRADE);
    assert_int_equal(f->a.kind, HF_TICKET_READ);
    return finished(f, cost);
}

/* ----------------------------------------------------------------- clock -- */

static uint64_t tick(struct idle_fixture *f)
{
    return tick_after(f, 0);
}

static uint64_t deadline(struct idle_fixture *f)
{
    uint64_t cost;

    idle_subject(f, &f->a);
    f->a.deadline_at_ms = f->now_ms + 1;
    (void)user(f, HF_EVENT_ACQUIRE);
    (void)enqueued(f, HF_TICKET_MUTEX);
    cost = tick_after(f, 1);
    assert_int_equal(f->a.status, HF_ETIMEDOUT);
    return finished(f, cost);
}

static uint64_t retry(struct idle_fixture *f)
{
    uint64_t cost;

    ask(f);
    cost = failed(f, HF_REQUEST_ENQUEUE, HF_FAILURE_RETRY);
    cost += tick_after(f, 20);
    assert_int_equal(f->a.tickets.current->state, HF_OWN_TICKET_ENQUEUING);
    return finished(f, cost);
}

/* ------------------------------------------------------- doubt and proof -- */

/* The list does not have a ticket whose enqueue got no answer, so each later
 * list is searched for it until its window ends. */
static uint64_t doubt(struct idle_fixture *f)
{
    uint64_t cost;

    idle_subject(f, &f->b);
    f->b.queue = "doubt";
    (void)idle_step(f, idle_user(HF_EVENT_ACQUIRE, &f->b));
    cost = failed(f, HF_REQUEST_ENQUEUE, HF_FAILURE_UNSURE);
    f->asked[HF_REQUEST_LIST]->ticket = (struct hf_ticket_id){{1}};
    cost += listed(f, 0);
    assert_null(f->b.tickets.current);
    return cost;
}

static uint64_t proof(struct idle_fixture *f)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.anchor_ms = f->now_ms;
    return idle_step(f, event);
}

static uint64_t resuming(struct idle_fixture *f)
{
    struct hf_event event = {.kind = HF_EVENT_RESUMING};

    event.as.resuming.sent_at_ms = f->now_ms;
    event.as.resuming.least_timeout_ms = IDLE_TIMEOUT_MS - 100;
    return idle_step(f, event);
}

/* Each holder loses its grant, and no other object is visited. */
static uint64_t expires(struct idle_fixture *f)
{
    f->now_ms = f->core.session.safe_until_ms;
    return idle_step(f, (struct hf_event){.kind = HF_EVENT_TICK});
}

static uint64_t suspended(struct idle_fixture *f)
{
    return idle_step(f, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
}

static uint64_t connection_error(struct idle_fixture *f)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTION_ERROR};

    event.as.connection_error.text = "nobody there";
    return idle_step(f, event);
}

/* ---------------------------------------------------- other participants -- */

static uint64_t looks_for_room(struct idle_fixture *f)
{
    struct hf_event event = {.kind = HF_EVENT_SET_LIMIT};
    uint64_t cost;

    idle_subject(f, &f->a);
    f->a.kind = HF_TICKET_LEASE;
    f->a.weight = f->a.limit = 1;
    cost = user(f, HF_EVENT_ACQUIRE);
    cost += looked(f, HF_TICKET_LEASE);
    cost += answer(f, HF_EVENT_QUEUE_CHANGED, HF_REQUEST_WATCH_QUEUE);
    cost += looked(f, HF_TICKET_LEASE);
    event.as.limit.acquisition = &f->a;
    event.as.limit.permits = 2;
    cost += idle_step(f, event);
    assert_int_equal(f->a.tickets.current->state, HF_OWN_TICKET_UNQUEUED);
    return finished(f, cost);
}

static uint64_t generations(struct idle_fixture *f)
{
    uint64_t cost;

    idle_subject(f, &f->a);
    f->a.kind = HF_TICKET_PARTICIPANT;
    f->a.limit = 1;
    (void)user(f, HF_EVENT_ACQUIRE);
    cost = enqueued(f, 0);
    cost += answer(f, HF_EVENT_FLAG_UPDATED, HF_REQUEST_NEW_GENERATION);
    return finished(f, cost);
}

static void question(struct idle_fixture *f)
{
    f->operation = (struct hf_operation){.kind = HF_REQUEST_REMOVE,
                                         .queue = f->names[0],
                                         .deadline_at_ms = HF_FOREVER};
}

static uint64_t start(struct idle_fixture *f)
{
    uint64_t cost;

    question(f);
    cost =
        idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    cost += answer(f, HF_EVENT_REMOVED, HF_REQUEST_REMOVE);
    assert_int_equal(f->operation.state, HF_OPERATION_DONE);
    return cost;
}

static uint64_t request_to_let_go(struct idle_fixture *f)
{
    question(f);
    f->operation.kind = HF_REQUEST_REVOKE;
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    return answer(f, HF_EVENT_REVOKE_SENT, HF_REQUEST_REVOKE);
}

static uint64_t names_are_named(struct idle_fixture *f)
{
    static const struct hf_names_request names = {.cursor = ""};

    question(f);
    f->operation.kind = HF_REQUEST_NAMES;
    f->operation.names = &names;
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    return answer(f, HF_EVENT_NAMED, HF_REQUEST_NAMES);
}

static uint64_t service_is_examined(struct idle_fixture *f)
{
    question(f);
    f->operation.kind = HF_REQUEST_EXAMINE;
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    return answer(f, HF_EVENT_EXAMINED, HF_REQUEST_EXAMINE);
}

/* The question ${kind}, which ends when it is answered by ${event}. */
static uint64_t success(struct idle_fixture *f, enum hf_request_kind kind,
                        enum hf_event_kind event)
{
    question(f);
    f->operation.kind = kind;
    f->operation.token = 1;
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    return answer(f, event, kind);
}

static uint64_t success_is_read(struct idle_fixture *f)
{
    return success(f, HF_REQUEST_READ_SUCCESS, HF_EVENT_SUCCESS_READ);
}

static uint64_t success_is_written(struct idle_fixture *f)
{
    return success(f, HF_REQUEST_WRITE_SUCCESS, HF_EVENT_SUCCESS_WRITTEN);
}

static uint64_t recall(struct idle_fixture *f)
{
    uint64_t cost;

    question(f);
    (void)idle_step(f, idle_operation(HF_EVENT_START_OPERATION, &f->operation));
    cost =
        idle_step(f, idle_operation(HF_EVENT_CANCEL_OPERATION, &f->operation));
    cost += answer(f, HF_EVENT_REMOVED, HF_REQUEST_REMOVE);
    return cost;
}

/* -------------------------------------------------------------- cohorts -- */

static void join(struct idle_fixture *f, uint64_t deadline_at_ms)
{
    idle_subject(f, &f->a);
    f->a.queue = f->names[1];
    hf_acquisition_use_cohort(&f->a, &f->cohort);
    f->a.deadline_at_ms = deadline_at_ms;
}

/* Behind the waiters that are there. */
static uint64_t cohort_waiter(struct idle_fixture *f)
{
    uint64_t cost;

    join(f, HF_FOREVER);
    cost = user(f, HF_EVENT_ACQUIRE);
    cost += user(f, HF_EVENT_CANCEL);
    assert_int_equal(f->a.state, HF_ACQUISITION_DONE);
    return cost;
}

static uint64_t cohort_waiter_deadline(struct idle_fixture *f)
{
    uint64_t cost;

    join(f, f->now_ms + 1);
    (void)user(f, HF_EVENT_ACQUIRE);
    cost = tick_after(f, 1);
    assert_int_equal(f->a.status, HF_ETIMEDOUT);
    return cost;
}

static uint64_t passes_on(struct idle_fixture *f)
{
    uint64_t cost = idle_step(f, idle_user(HF_EVENT_RELEASE, &f->waiters[0]));

    assert_ptr_equal(f->cohort.holder, &f->waiters[1]);
    return cost;
}

/* ----------------------------------------------------------------- table -- */

#define WITH(sort) (1u << IDLE_##sort)
#define NOTHING 0

struct cost_case {
    const char *what;
    enum hf_event_kind kind; /* that it shows */
    uint64_t (*cost)(struct idle_fixture *f);
    unsigned grows; /* with these: known, and to be mended */
};

static const struct cost_case cases[] = {
    {"want", HF_EVENT_ACQUIRE, want, NOTHING},
    {"granted", HF_EVENT_ENQUEUED, is_granted, NOTHING},
    {"queued", HF_EVENT_ENQUEUED, is_queued, NOTHING},
    {"watching", HF_EVENT_WATCHING, is_watching, NOTHING},
    {"handoff", HF_EVENT_GONE, handoff, NOTHING},
    {"handoff by list", HF_EVENT_LISTED, handoff_by_list, NOTHING},
    {"revoked", HF_EVENT_REVOKED, is_revoked, NOTHING},
    {"described", HF_EVENT_DESCRIBED, is_described, NOTHING},
    {"describes again", HF_EVENT_DESCRIBE, describes_again, NOTHING},
    {"cancel", HF_EVENT_CANCEL, cancel, NOTHING},
    {"release", HF_EVENT_RELEASE, release, NOTHING},
    {"removed", HF_EVENT_REMOVED, is_removed, NOTHING},
    {"evicted", HF_EVENT_GONE, is_evicted, NOTHING},
    {"downgrade", HF_EVENT_DOWNGRADED, becomes_reader, NOTHING},
    {"tick", HF_EVENT_TICK, tick, NOTHING},
    {"deadline", HF_EVENT_TICK, deadline, NOTHING},
    {"retry", HF_EVENT_FAILED, retry, NOTHING},
    {"queue watch of leases", HF_EVENT_QUEUE_CHANGED, looks_for_room, NOTHING},
    {"limit", HF_EVENT_SET_LIMIT, looks_for_room, NOTHING},
    {"new generation", HF_EVENT_FLAG_UPDATED, generations, NOTHING},
    {"operation", HF_EVENT_START_OPERATION, start, NOTHING},
    {"asked", HF_EVENT_REVOKE_SENT, request_to_let_go, NOTHING},
    {"named", HF_EVENT_NAMED, names_are_named, NOTHING},
    {"examined", HF_EVENT_EXAMINED, service_is_examined, NOTHING},
    {"success read", HF_EVENT_SUCCESS_READ, success_is_read, NOTHING},
    {"success written", HF_EVENT_SUCCESS_WRITTEN, success_is_written, NOTHING},
    {"cancel operation", HF_EVENT_CANCEL_OPERATION, recall, NOTHING},
    {"a cohort waiter enters and leaves", HF_EVENT_ACQUIRE, cohort_waiter,
     NOTHING},
    {"deadline in a cohort", HF_EVENT_TICK, cohort_waiter_deadline, NOTHING},
    {"handoff in a cohort", HF_EVENT_RELEASE, passes_on, NOTHING},
    {"check", HF_EVENT_CHECK, is_checked, NOTHING},
    {"proof", HF_EVENT_PROVEN, proof, NOTHING},
    {"unsure enqueue", HF_EVENT_FAILED, doubt, NOTHING},
    {"granted, with an unsure enqueue", HF_EVENT_ENQUEUED, is_granted, NOTHING},
    {"suspended", HF_EVENT_SUSPENDED, suspended, NOTHING},
    {"connection error", HF_EVENT_CONNECTION_ERROR, connection_error, NOTHING},
    {"want, suspended", HF_EVENT_ACQUIRE, want, NOTHING},
    {"tick, suspended", HF_EVENT_TICK, tick, NOTHING},
    {"resuming", HF_EVENT_RESUMING, resuming, NOTHING},
    /* The last one: it ends the idle grants. */
    {"safe-until passes", HF_EVENT_TICK, expires, WITH(GRANTS) | WITH(COHORTS)},
};

#define CASES (sizeof cases / sizeof cases[0])

/* All cases, one after the other, beside the same idle objects. */
static void print_costs(enum idle_sort sort, size_t count, uint64_t *costs)
{
    struct idle_fixture *f = idle_new(sort, count);

    for (size_t i = 0; i < CASES; i++)
        costs[i] = cases[i].cost(f);
    hf_core_check(&f->core);
    idle_free(f);
}

static void does_not_grow_with(enum idle_sort sort)
{
    uint64_t few[CASES], many[CASES];
    size_t wrong = 0;

    print_costs(sort, FEW, few);
    print_costs(sort, MANY, many);
    for (size_t i = 0; i < CASES; i++) {
        bool grows = many[i] != few[i];

        if (grows == ((cases[i].grows & 1u << sort) != 0))
            continue;
        print_error("%s: %d %s: %llu, %d: %llu; expected to %s\n",
                    cases[i].what, FEW, idle_names[sort],
                    (unsigned long long)few[i], MANY,
                    (unsigned long long)many[i], grows ? "stay" : "grow");
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

#define SORT_TEST(sort, name)                                                  \
    TEST(name)                                                                 \
    {                                                                          \
        does_not_grow_with(sort);                                              \
    }

SORT_TEST(IDLE_GRANTS, cost_does_not_grow_with_grants)
SORT_TEST(IDLE_WAITERS, cost_does_not_grow_with_waiters)
SORT_TEST(IDLE_NAMES, cost_does_not_grow_with_names)
SORT_TEST(IDLE_PAUSED, cost_does_not_grow_with_what_is_paused)
SORT_TEST(IDLE_COHORT_WAITERS, cost_does_not_grow_with_waiters_of_a_cohort)
SORT_TEST(IDLE_COHORTS, cost_does_not_grow_with_cohorts)
SORT_TEST(IDLE_BARRIERS, cost_does_not_grow_with_waits_at_barriers)

/* True for the events that concern the whole session, see above. */
static bool is_of_all(enum hf_event_kind kind)
{
    return kind == HF_EVENT_CONNECTED || kind == HF_EVENT_SESSION_LOST ||
           kind == HF_EVENT_GAVE_UP || kind == HF_EVENT_CLOSE ||
           kind == HF_EVENT_CLOSED;
}

TEST(each_kind_of_event_has_a_row)
{
    uint64_t seen = UINT64_C(1) << HF_EVENT_DOWNGRADE; /* before DOWNGRADED */

    for (size_t i = 0; i < CASES; i++)
        seen |= UINT64_C(1) << cases[i].kind;
    for (unsigned kind = 0; kind <= HF_EVENT_TICK; kind++) {
        if (!is_of_all(kind) && (seen & UINT64_C(1) << kind) == 0)
            fail_msg("no row for the event %u", kind);
    }
}

/* ------------------------------------------ events of the whole session -- */

#define VISITS_EACH 12

static uint64_t event(struct idle_fixture *f, enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    if (kind == HF_EVENT_CONNECTED) {
        event.as.connected.timeout_ms = IDLE_TIMEOUT_MS;
        event.as.connected.clock_drift = 1;
        event.as.connected.anchor_ms = f->now_ms;
        event.as.connected.resumed = true;
    }
    return idle_step(f, event);
}

/* ${first} and then ${second}. */
static void costs_each_the_same(enum idle_sort sort, enum hf_event_kind first,
                                enum hf_event_kind second)
{
    struct idle_fixture *f = idle_new(sort, MANY);
    uint64_t cost = event(f, first);

    cost += event(f, second);
    if (cost > (uint64_t)MANY * VISITS_EACH)
        fail_msg("%d %s: %llu visits by the events %d and %d", MANY,
                 idle_names[sort], (unsigned long long)cost, (int)first,
                 (int)second);
    hf_core_check(&f->core);
    idle_free(f);
}

TEST(what_concerns_all_comes_by_each_some_times)
{
    for (enum idle_sort sort = 0; sort < IDLE_SORTS; sort++) {
        costs_each_the_same(sort, HF_EVENT_SUSPENDED, HF_EVENT_CONNECTED);
        costs_each_the_same(sort, HF_EVENT_CLOSE, HF_EVENT_CLOSED);
    }
}

TEST(a_lost_session_comes_by_each_some_times)
{
    for (enum idle_sort sort = 0; sort < IDLE_SORTS; sort++)
        costs_each_the_same(sort, HF_EVENT_SESSION_LOST, HF_EVENT_GAVE_UP);
}

TEST(participants_that_time_out_at_once_come_by_each_some_times)
{
    struct idle_fixture *f = idle_new(IDLE_COHORT_WAITERS, MANY);

    for (size_t i = 0; i < MANY; i++) {
        f->idle[i].a.deadline_at_ms = f->now_ms + 1;
        hf_schedule_touch(&f->core, &f->idle[i].a.entry);
    }
    assert_true(tick_after(f, 1) <= (uint64_t)MANY * VISITS_EACH);
    assert_int_equal(f->idle[MANY - 1].a.status, HF_ETIMEDOUT);
    hf_core_check(&f->core);
    idle_free(f);
}
