/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without memory: each allocation of a story fails once.  Whoever wanted
 * something then asks again until it is so, as the core does, and it has to
 * become so with few more tries; what the client says meanwhile has to be true,
 * and what it wants of its host bounded.  The stage sees to the rest: every
 * request answered once, nothing left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "zk_honest.h"

/* One allocation fails: whatever comes of that, the tries that it costs. */
#define TRIES_MAX 4

static void bring_up(struct stage *s, struct honest *h)
{
    for (int i = 0; !s->connected; i++) {
        assert_in_range(i, 0, TRIES_MAX);
        if (s->server == NULL || s->up)
            ring(s);
        else
            honest_connect(s, h);
    }
    honest_serve(s, h);
}

/* A client that could not go on for lack of memory says when it will. */
static void recover(struct stage *s, struct honest *h)
{
    if (hf_zk_session_wake_at_ms(hf_zk_session(s->zk)) <= s->now_ms)
        later(s, s->now_ms);
    bring_up(s, h);
}

static bool insists(struct stage *s, struct honest *h,
                    enum hf_request_kind kind, const char *ticket,
                    const char *wanted)
{
    const char *told;

    (void)stage_told(s);
    ask(s, kind, ticket);
    honest_serve(s, h);
    recover(s, h);
    assert_int_equal(s->under_way, 0);
    told = stage_told(s);
    if (strstr(told, wanted) != NULL)
        return true;
    assert_true(heap_failed());
    assert_non_null(strstr(told, "FAILED "));
    return false;
}

static void insist(struct stage *s, struct honest *h, enum hf_request_kind kind,
                   const char *ticket, const char *wanted)
{
    for (int i = 0; !insists(s, h, kind, ticket, wanted); i++)
        assert_in_range(i, 0, TRIES_MAX);
}

/* As the core: asked again only if it did not happen, looked for if it may
 * have. */
static void take_ticket(struct stage *s, struct honest *h, const char *ticket)
{
    char enqueued[32], listed[32];
    int tries = 0;

    snprintf(enqueued, sizeof enqueued, "ENQUEUED %s:", ticket);
    snprintf(listed, sizeof listed, " %s%s", ticket,
             s->kind == HF_TICKET_PARTICIPANT ? "/m@"
             : s->kind == HF_TICKET_LEASE     ? "/l#"
                                              : "#");
    while (!insists(s, h, HF_REQUEST_ENQUEUE, ticket, enqueued)) {
        assert_in_range(tries++, 0, TRIES_MAX);
        if (strstr(s->told.taken, "UNSURE") == NULL)
            continue;
        insist(s, h, HF_REQUEST_LIST, ticket, "LISTED");
        if (strstr(s->told.taken, listed) != NULL)
            return;
    }
}

static void check_truth(struct stage *s, const struct hf_event *event_)
{
    const struct hf_request *request = event_->as.answer.request;
    const struct stage_request *r = (const void *)request;
    char name[16], ticket[64];
    bool there;

    if (event_->kind < HF_EVENT_ENQUEUED || request == NULL ||
        request->kind == HF_REQUEST_PROVE || request->kind == HF_REQUEST_LIST)
        return;
    stage_id_name(&r->about, name);
    snprintf(ticket, sizeof ticket, "%s/%s", request->queue, name);
    there = honest_has(s->watched_arg, ticket);
    if (event_->kind == HF_EVENT_GONE || event_->kind == HF_EVENT_REMOVED)
        assert_false(there);
    else if (event_->kind == HF_EVENT_ENQUEUED ||
             event_->kind == HF_EVENT_WATCHING)
        assert_true(there);
    else if (event_->kind == HF_EVENT_FAILED &&
             request->kind == HF_REQUEST_ENQUEUE)
        assert_true(!there || event_->as.answer.failure == HF_FAILURE_UNSURE);
}

static void end(struct stage *s, struct honest *h)
{
    (void)stage_told(s);
    ask(s, HF_REQUEST_END, "");
    honest_serve(s, h);
    for (int i = 0; !s->closed; i++) {
        assert_in_range(i, 0, TRIES_MAX);
        ring(s);
    }
    assert_int_equal(s->under_way, 0);
}

/* --------------------------------------------------------------- stories -- */

static void two_tickets(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a");
    take_ticket(s, h, "b");
    insist(s, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(s, h, HF_REQUEST_PROVE, "", "PROVEN ");
    insist(s, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    insist(s, h, HF_REQUEST_LIST, "b", "LISTED b: b#1");
    insist(s, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
}

/* The watch survives; what it waits for happens meanwhile, or behind. */
static void a_reconnect(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a");
    take_ticket(s, h, "b");
    take_ticket(s, h, "c");
    insist(s, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(s, h, HF_REQUEST_WATCH, "b", "WATCHING b");
    (void)stage_told(s);
    link_down(s, "reset");
    honest_remove(s, h, "q/a");
    recover(s, h);
    assert_non_null(strstr(stage_told(s), "GONE a"));
    honest_remove(s, h, "q/b");
    recover(s, h);
    assert_non_null(strstr(stage_told(s), "GONE b"));
    insist(s, h, HF_REQUEST_PROVE, "", "PROVEN ");
}

static void a_deep_queue(struct stage *s, struct honest *h)
{
    s->queue = "team/app/nightly";
    take_ticket(s, h, "a");
    insist(s, h, HF_REQUEST_REMOVE, "a", "REMOVED a found");
}

static void an_old_server(struct stage *s, struct honest *h)
{
    h->no_containers = true;
    a_deep_queue(s, h);
}

/* The server made the ticket, and its answer went with the link. */
static void a_swallowed_create(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a");
    (void)stage_told(s);
    ask(s, HF_REQUEST_ENQUEUE, "b");
    if (s->first != NULL) {
        hold(s);
        honest_serve(s, h);
    }
    link_down(s, "reset");
    recover(s, h);
    if (honest_has(h, "q/b"))
        insist(s, h, HF_REQUEST_LIST, "b", "LISTED b: a#0@");
    else
        assert_non_null(strstr(stage_told(s), "FAILED ENQUEUE b"));
    insist(s, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
    insist(s, h, HF_REQUEST_LIST, "a", "LISTED a: a#0@");
}

/* Looked for in a queue with somebody ahead, whose payload is asked for. */
static void a_look(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a");
    insist(s, h, HF_REQUEST_LIST, "z", "LISTED z: a#0");
    insist(s, h, HF_REQUEST_WATCH, "z", "GONE z");
    insist(s, h, HF_REQUEST_REMOVE, "z", "REMOVED z");
}

/* One member for two parties: he comes, stamps with another, looks and goes. */
static void a_round(struct stage *s, struct honest *h)
{
    s->kind = HF_TICKET_PARTICIPANT;
    s->limit = 2;
    take_ticket(s, h, "a");
    take_ticket(s, h, "b");
    insist(s, h, HF_REQUEST_NEW_GENERATION, "a", "FLAG_UPDATED");
    insist(s, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: a/m@");
    assert_non_null(strstr(s->told.taken, " ready@"));
    insist(s, h, HF_REQUEST_REMOVE, "b", "REMOVED b");
    insist(s, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    s->kind = HF_TICKET_READY;
    insist(s, h, HF_REQUEST_CLEAR_FLAG, "z", "FLAG_UPDATED");
    assert_int_equal(h->count, 0);
    s->kind = HF_TICKET_MUTEX;
}

#define MANY 12

static const char *numbered(int i)
{
    static char ticket[16];

    snprintf(ticket, sizeof ticket, "n%d", i);
    return ticket;
}

/* A barrier is put up, waited for, and taken away. */
static void a_mark(struct stage *s, struct honest *h)
{
    s->kind = HF_TICKET_BARRIER;
    insist(s, h, HF_REQUEST_SET_FLAG, "a", "FLAG_UPDATED");
    insist(s, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: up@");
    insist(s, h, HF_REQUEST_CLEAR_FLAG, "a", "FLAG_UPDATED");
    assert_int_equal(h->count, 0);
    insist(s, h, HF_REQUEST_WATCH_QUEUE, "y", "LISTED y:");
    s->kind = HF_TICKET_MUTEX;
}

/* All of its nodes are watched by one, and go at once. */
static void several_permits(struct stage *s, struct honest *h)
{
    s->kind = HF_TICKET_LEASE;
    s->weight = 3;
    take_ticket(s, h, "a");
    insist(s, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(s, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: a/l#0*3");
    insist(s, h, HF_REQUEST_LIST, "z", "LISTED z: a/l#0*3");
    insist(s, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    insist(s, h, HF_REQUEST_REMOVE, "a", "REMOVED a found");
    assert_int_equal(h->count, 1); /* the queue */
    s->kind = HF_TICKET_MUTEX;
}

/* Somebody else's is looked at and watched. */
static void a_ticket_of_another_program(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a"); /* the queue */
    insist(s, h, HF_REQUEST_REMOVE, "a", "REMOVED a");
    honest_put(s, h, "q/x", false);
    insist(s, h, HF_REQUEST_WATCH_QUEUE, "z", "LISTED z: x#");
    insist(s, h, HF_REQUEST_WATCH, "x", "WATCHING x");
}

/* More of them than there is room for at first. */
static void a_list_for_people(struct stage *s, struct honest *h)
{
    s->whole = true;
    insist(s, h, HF_REQUEST_LIST, "z", "LISTED z:");
    for (int i = 0; i < MANY; i++)
        take_ticket(s, h, numbered(i));
    insist(s, h, HF_REQUEST_LIST, "z", "LISTED z: n0#0@");
    assert_non_null(strstr(s->told.taken, " n11#11@"));
    s->whole = false;
}

static void an_idle_session(struct stage *s, struct honest *h)
{
    for (int i = 0; i < 6; i++) {
        ring(s);
        while (s->pings > 0)
            pong(s);
        recover(s, h);
    }
    insist(s, h, HF_REQUEST_PROVE, "", "PROVEN ");
}

/* More than the buffers of a connection hold at first: in what is sent, and in
 * what comes in. */
static void many_in_a_queue(struct stage *s, struct honest *h)
{
    char watching[32];

    for (int i = 0; i < MANY; i++) {
        take_ticket(s, h, numbered(i));
        snprintf(watching, sizeof watching, "WATCHING %s", numbered(i));
        insist(s, h, HF_REQUEST_WATCH, numbered(i), watching);
    }
    insist(s, h, HF_REQUEST_PROVE, "", "PROVEN ");
    for (int i = 0; i < MANY; i++)
        ask(s, HF_REQUEST_LIST, numbered(i));
    if (s->first != NULL) {
        hold(s);
        honest_serve(s, h);
        deliver(s);
    }
    recover(s, h);
    assert_int_equal(s->under_way, 0);
    link_down(s, "reset");
    recover(s, h);
    (void)stage_told(s);
    honest_remove(s, h, "q/n5");
    recover(s, h);
    assert_non_null(strstr(stage_told(s), "GONE n5"));
    insist(s, h, HF_REQUEST_LIST, "n11", " n11#11@");
}

/* ----------------------------------------------------------------- sweep -- */

/* With the ${nth} allocation failing; false if there were not so many. */
static bool told_without(unsigned long nth,
                         void (*story)(struct stage *s, struct honest *h))
{
    struct honest h;
    struct stage s;
    bool failed;

    stage_init(&s);
    s.then = check_truth;
    heap_fail(nth, false);
    honest_begin(&s, &h);
    if (!stage_open(&s)) {
        assert_int_equal(nth, 1);
        return true;
    }
    bring_up(&s, &h);
    story(&s, &h);
    end(&s, &h);
    failed = heap_failed();
    stage_close(&s);
    return failed;
}

static void sweep(void (*story)(struct stage *s, struct honest *h))
{
    unsigned long nth = 1;

    while (told_without(nth, story))
        assert_in_range(++nth, 1, 1000);
    assert_in_range(nth, 4, 1000); /* or nothing was tried */
}

static void taking_and_giving_back(void **state)
{
    (void)state;
    sweep(two_tickets);
    sweep(many_in_a_queue);
}

static void setting_watches_again(void **state)
{
    (void)state;
    sweep(a_reconnect);
}

static void making_parents(void **state)
{
    (void)state;
    sweep(a_deep_queue);
    sweep(an_old_server);
}

static void fn26_searching(void **state)
{
    (void)state;
    sweep(a_swallowed_create);
    sweep(a_look);
    sweep(a_ticket_of_another_program);
}

static void going_round(void **state)
{
    (void)state;
    sweep(a_round);
}

static void waiting_at_a_barrier(void **state)
{
    (void)state;
    sweep(a_mark);
}

static void counting_permits(void **state)
{
    (void)state;
    sweep(several_permits);
}

static void showing_a_queue(void **state)
{
    (void)state;
    sweep(a_list_for_people);
}

static void keeping_up(void **state)
{
    (void)state;
    sweep(an_idle_session);
}

/* The goodbye itself: with requests and a watch under way, and while there is
 * no connection. */
static void ends(struct stage *s, struct honest *h)
{
    take_ticket(s, h, "a");
    insist(s, h, HF_REQUEST_WATCH, "a", "WATCHING a");
    ask(s, HF_REQUEST_ENQUEUE, "b");
    ask(s, HF_REQUEST_PROVE, "");
    ask(s, HF_REQUEST_LIST, "c");
}

static void ends_cut_off(struct stage *s, struct honest *h)
{
    ends(s, h);
    link_down(s, "reset");
}

static void ending(void **state)
{
    (void)state;
    sweep(ends);
    sweep(ends_cut_off);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(taking_and_giving_back),
        cmocka_unit_test(setting_watches_again),
        cmocka_unit_test(making_parents),
        cmocka_unit_test(fn26_searching),
        cmocka_unit_test(going_round),
        cmocka_unit_test(waiting_at_a_barrier),
        cmocka_unit_test(counting_permits),
        cmocka_unit_test(showing_a_queue),
        cmocka_unit_test(keeping_up),
        cmocka_unit_test(ending),
    };
    struct stage s;

    stage_init(&s); /* the allocator, before anything is allocated */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
