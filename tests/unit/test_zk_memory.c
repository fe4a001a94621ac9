/* SPDX-License-Identifier: Apache-2.0 */
/* Without memory: each allocation of a test fails once.  The test then makes
 * a failed request again, as the core does, and it must succeed after a few
 * tries; meanwhile all that the client reports must be true, and it may want
 * only so many TICKs and links.  The fixture checks that each request is
 * answered once and that nothing is left. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_fake_server.h"

/* How often a request is made again after one failed allocation. */
#define TRIES_MAX 4

static void bring_up(struct zk_fixture *f, struct zk_fake_server *h)
{
    for (int i = 0; !f->connected; i++) {
        assert_in_range(i, 0, TRIES_MAX);
        if (f->server == NULL || f->up)
            wake(f);
        else
            zk_fake_connect(f, h);
    }
    zk_fake_serve(f, h);
}

/* A client that could not go on without memory wants a TICK later. */
static void recover(struct zk_fixture *f, struct zk_fake_server *h)
{
    if (hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) <= f->now_ms)
        advance_to(f, f->now_ms);
    bring_up(f, h);
}

static bool insists(struct zk_fixture *f, struct zk_fake_server *h,
                    enum hf_request_kind kind, const char *ticket,
                    const char *wanted)
{
    const char *reported;

    (void)zk_fixture_events(f);
    ask(f, kind, ticket);
    zk_fake_serve(f, h);
    recover(f, h);
    assert_int_equal(f->under_way, 0);
    reported = zk_fixture_events(f);
    if (strstr(reported, wanted) != NULL)
        return true;
    assert_true(heap_failed());
    assert_non_null(strstr(reported, "FAILED "));
    /* The server is not to blame. */
    assert_int_not_equal(f->status, HF_EPROTOCOL);
    return false;
}

static void insist(struct zk_fixture *f, struct zk_fake_server *h,
                   enum hf_request_kind kind, const char *ticket,
                   const char *wanted)
{
    for (int i = 0; !insists(f, h, kind, ticket, wanted); i++)
        assert_in_range(i, 0, TRIES_MAX);
}

/* As the core does: enqueue again if it did not happen, list if it may have. */
static void take_ticket(struct zk_fixture *f, struct zk_fake_server *h,
                        const char *ticket)
{
    char enqueued[32], listed[32];
    int tries = 0;

    snprintf(enqueued, sizeof enqueued, "ENQUEUED %s:", ticket);
    snprintf(listed, sizeof listed, " %s%s", ticket,
             f->kind == HF_TICKET_PARTICIPANT ? "/m@"
             : f->kind == HF_TICKET_LEASE     ? "/l#"
                                              : "#");
    while (!insists(f, h, HF_REQUEST_ENQUEUE, ticket, enqueued)) {
        assert_in_range(tries++, 0, TRIES_MAX);
        if (strstr(f->events.taken, "UNSURE") == NULL)
            continue;
        insist(f, h, HF_REQUEST_LIST, ticket, "LISTED");
        if (strstr(f->events.taken, listed) != NULL)
            return;
    }
}

static void check_truth(struct zk_fixture *f, const struct hf_event *event_)
{
    const struct hf_request *request = event_->as.answer.request;
    const struct zk_fixture_request *r = (const void *)request;
    char name[16], ticket[64];
    bool there;

    if (event_->kind < HF_EVENT_ENQUEUED || request == NULL ||
        request->kind == HF_REQUEST_PROVE || request->kind == HF_REQUEST_LIST)
        return;
    zk_fixture_id_name(&r->about, name);
    snprintf(ticket, sizeof ticket, "%s/%s", request->queue, name);
    there = zk_fake_has(f->on_set_watch_arg, ticket);
    if (event_->kind == HF_EVENT_GONE || event_->kind == HF_EVENT_REMOVED)
        assert_false(there);
    else if (event_->kind == HF_EVENT_ENQUEUED ||
             event_->kind == HF_EVENT_WATCHING)
        assert_true(there);
    else if (event_->kind == HF_EVENT_FAILED &&
             request->kind == HF_REQUEST_ENQUEUE)
        assert_true(!there || event_->as.answer.failure == HF_FAILURE_UNSURE);
}

static void end(struct zk_fixture *f, struct zk_fake_server *h)
{
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_END, "");
    zk_fake_serve(f, h);
    for (int i = 0; !f->closed; i++) {
        assert_in_range(i, 0, TRIES_MAX);
        wake(f);
    }
    assert_int_equal(f->under_way, 0);
}

/* ---------------------------------------------------------------- cases -- */

static void two_tickets(struct zk_fixture *f, struct zk_fake_server *h)
{
    take_ticket(f, h, "a");
    take_ticket(f, h, "b");
    insist(f, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(f, h, HF_REQUEST_PROVE, "", "PROVEN ");
    insist(f, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    insist(f, h, HF_REQUEST_LIST, "b", "LISTED b: b#1");
    insist(f, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
}

/* The watch survives.  Its event comes meanwhile, or later. */
static void a_reconnect(struct zk_fixture *f, struct zk_fake_server *h)
{
    take_ticket(f, h, "a");
    take_ticket(f, h, "b");
    take_ticket(f, h, "c");
    insist(f, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(f, h, HF_REQUEST_WATCH, "b", "WATCHING b");
    (void)zk_fixture_events(f);
    link_down(f, "reset");
    zk_fake_remove(f, h, "q/a");
    recover(f, h);
    assert_non_null(strstr(zk_fixture_events(f), "GONE a"));
    zk_fake_remove(f, h, "q/b");
    recover(f, h);
    assert_non_null(strstr(zk_fixture_events(f), "GONE b"));
    insist(f, h, HF_REQUEST_PROVE, "", "PROVEN ");
}

static void a_deep_queue(struct zk_fixture *f, struct zk_fake_server *h)
{
    f->queue = "team/app/nightly";
    take_ticket(f, h, "a");
    insist(f, h, HF_REQUEST_REMOVE, "a", "REMOVED a found");
}

static void an_old_server(struct zk_fixture *f, struct zk_fake_server *h)
{
    h->no_containers = true;
    a_deep_queue(f, h);
}

/* The server made the ticket, and its answer was lost with the link. */
static void a_swallowed_create(struct zk_fixture *f, struct zk_fake_server *h)
{
    take_ticket(f, h, "a");
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    if (f->first != NULL) {
        hold_answers(f);
        zk_fake_serve(f, h);
    }
    link_down(f, "reset");
    recover(f, h);
    if (zk_fake_has(h, "q/b"))
        insist(f, h, HF_REQUEST_LIST, "b", "LISTED b: a#0@");
    else
        assert_non_null(strstr(zk_fixture_events(f), "FAILED ENQUEUE b"));
    insist(f, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
    insist(f, h, HF_REQUEST_LIST, "a", "LISTED a: a#0@");
}

/* Found in a queue behind a ticket whose payload is read. */
static void a_look(struct zk_fixture *f, struct zk_fake_server *h)
{
    take_ticket(f, h, "a");
    insist(f, h, HF_REQUEST_LIST, "z", "LISTED z: a#0");
    insist(f, h, HF_REQUEST_WATCH, "z", "GONE z");
    insist(f, h, HF_REQUEST_REMOVE, "z", "REMOVED z");
}

/* A double barrier for two: one enters, makes a generation with another
 * participant, watches and leaves. */
static void a_generation(struct zk_fixture *f, struct zk_fake_server *h)
{
    f->kind = HF_TICKET_PARTICIPANT;
    f->limit = 2;
    take_ticket(f, h, "a");
    take_ticket(f, h, "b");
    insist(f, h, HF_REQUEST_NEW_GENERATION, "a", "FLAG_UPDATED");
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: a/m@");
    assert_non_null(strstr(f->events.taken, " ready@"));
    insist(f, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
    insist(f, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    f->kind = HF_TICKET_READY;
    insist(f, h, HF_REQUEST_CLEAR_FLAG, "z", "FLAG_UPDATED");
    assert_int_equal(h->count, 0);
    f->kind = HF_TICKET_MUTEX;
}

#define MANY 12

static const char *numbered(int i)
{
    static char ticket[16];

    snprintf(ticket, sizeof ticket, "n%d", i);
    return ticket;
}

/* A flag is set, waited for, and cleared. */
static void a_flag(struct zk_fixture *f, struct zk_fake_server *h)
{
    f->kind = HF_TICKET_BARRIER;
    insist(f, h, HF_REQUEST_SET_FLAG, "a", "FLAG_UPDATED");
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: up@");
    insist(f, h, HF_REQUEST_CLEAR_FLAG, "a", "FLAG_UPDATED");
    assert_int_equal(h->count, 0);
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "y", "LISTED y:");
    f->kind = HF_TICKET_MUTEX;
}

/* A queue without a node is watched, on two connections. */
static void a_missing_queue(struct zk_fixture *f, struct zk_fake_server *h)
{
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z:");
    link_down(f, "reset");
    recover(f, h);
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "y", "LISTED y:");
    assert_int_equal(h->count, 0);
}

/* One watcher waits for a lease; all its nodes go at once. */
static void several_permits(struct zk_fixture *f, struct zk_fake_server *h)
{
    f->kind = HF_TICKET_LEASE;
    f->weight = 3;
    take_ticket(f, h, "a");
    insist(f, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: a/l#0*3");
    insist(f, h, HF_REQUEST_LIST, "z", "LISTED z: a/l#0*3");
    insist(f, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(f, h, HF_REQUEST_REMOVE, "a", "REMOVED a found");
    assert_int_equal(h->count, 1); /* the queue */
    f->kind = HF_TICKET_MUTEX;
}

/* The ticket of another program is listed and watched. */
static void a_ticket_of_another_program(struct zk_fixture *f,
                                        struct zk_fake_server *h)
{
    take_ticket(f, h, "a"); /* the queue */
    insist(f, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    zk_fake_put(f, h, "q/x", false);
    insist(f, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: x#");
    insist(f, h, HF_REQUEST_WATCH, "x", "WATCHING x");
}

/* More tickets than there is room for at first. */
static void a_list_for_people(struct zk_fixture *f, struct zk_fake_server *h)
{
    f->detailed = true;
    insist(f, h, HF_REQUEST_LIST, "z", "LISTED z:");
    for (int i = 0; i < MANY; i++)
        take_ticket(f, h, numbered(i));
    insist(f, h, HF_REQUEST_LIST, "z", "LISTED z: n0#0@");
    assert_non_null(strstr(f->events.taken, " n11#11@"));
    f->detailed = false;
}

static void an_idle_session(struct zk_fixture *f, struct zk_fake_server *h)
{
    for (int i = 0; i < 6; i++) {
        wake(f);
        while (f->pings > 0)
            pong(f);
        recover(f, h);
    }
    insist(f, h, HF_REQUEST_PROVE, "", "PROVEN ");
}

/* More than the first buffers of a connection hold, in both directions. */
static void many_in_a_queue(struct zk_fixture *f, struct zk_fake_server *h)
{
    char watching[32];

    for (int i = 0; i < MANY; i++) {
        take_ticket(f, h, numbered(i));
        snprintf(watching, sizeof watching, "WATCHING %s", numbered(i));
        insist(f, h, HF_REQUEST_WATCH, numbered(i), watching);
    }
    insist(f, h, HF_REQUEST_PROVE, "", "PROVEN ");
    for (int i = 0; i < MANY; i++)
        ask(f, HF_REQUEST_LIST, numbered(i));
    if (f->first != NULL) {
        hold_answers(f);
        zk_fake_serve(f, h);
        deliver_answers(f);
    }
    recover(f, h);
    assert_int_equal(f->under_way, 0);
    link_down(f, "reset");
    recover(f, h);
    (void)zk_fixture_events(f);
    zk_fake_remove(f, h, "q/n5");
    recover(f, h);
    assert_non_null(strstr(zk_fixture_events(f), "GONE n5"));
    insist(f, h, HF_REQUEST_LIST, "n11", " n11#11@");
}

/* ----------------------------------------------------- every allocation -- */

/* Run with the ${nth} allocation failing; false if there were fewer. */
static bool events_without(unsigned long nth,
                           void (*steps)(struct zk_fixture *f,
                                         struct zk_fake_server *h))
{
    struct zk_fake_server h;
    struct zk_fixture f;
    bool failed;

    zk_fixture_init(&f);
    f.event_hook = check_truth;
    heap_fail(nth, false);
    zk_fake_begin(&f, &h);
    if (!zk_fixture_open(&f)) {
        assert_int_equal(nth, 1);
        return true;
    }
    bring_up(&f, &h);
    steps(&f, &h);
    end(&f, &h);
    failed = heap_failed();
    zk_fixture_close(&f);
    return failed;
}

static void fail_each_allocation(void (*steps)(struct zk_fixture *f,
                                               struct zk_fake_server *h))
{
    unsigned long nth = 1;

    while (events_without(nth, steps))
        assert_in_range(++nth, 1, 1000);
    assert_in_range(nth, 4, 1000); /* or nothing was tried */
}

TEST(taking_and_giving_back)
{
    fail_each_allocation(two_tickets);
    fail_each_allocation(many_in_a_queue);
}

TEST(setting_watches_again)
{
    fail_each_allocation(a_reconnect);
}

TEST(making_parents)
{
    fail_each_allocation(a_deep_queue);
    fail_each_allocation(an_old_server);
}

TEST(fn26_searching)
{
    fail_each_allocation(a_swallowed_create);
    fail_each_allocation(a_look);
    fail_each_allocation(a_ticket_of_another_program);
}

TEST(any_generation)
{
    fail_each_allocation(a_generation);
}

TEST(waiting_for_a_queue)
{
    fail_each_allocation(a_missing_queue);
}

TEST(waiting_at_a_barrier)
{
    fail_each_allocation(a_flag);
}

TEST(counting_permits)
{
    fail_each_allocation(several_permits);
}

TEST(showing_a_queue)
{
    fail_each_allocation(a_list_for_people);
}

TEST(keeping_up)
{
    fail_each_allocation(an_idle_session);
}

/* The close itself: with requests and a watch pending, and without a
 * connection. */
static void ends(struct zk_fixture *f, struct zk_fake_server *h)
{
    take_ticket(f, h, "a");
    insist(f, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_PROVE, "");
    ask(f, HF_REQUEST_LIST, "c");
}

static void ends_cut_off(struct zk_fixture *f, struct zk_fake_server *h)
{
    ends(f, h);
    link_down(f, "reset");
}

TEST(ending)
{
    fail_each_allocation(ends);
    fail_each_allocation(ends_cut_off);
}

TEST_FILE(zk_memory)
{
    struct zk_fixture f;

    zk_fixture_init(&f); /* the allocator, before anything is allocated */
    return RUN_TESTS(NULL, NULL);
}
