/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at queues and meddling with those in them, in each way to use a
 * client. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "errand.h"
#include "scripted.h"

#define WAIT_MS 10000

/* So often are the holders listed who are all gone when they are asked. */
#define HANDOVERS_MAX 16

struct world {
    struct place place;
    struct front a;
    struct front b;
    struct hf_lock *mine;
    struct hf_lock *theirs;
};

static void world_open(struct world *world, enum way way)
{
    fronts_open(&world->place, &world->a, &world->b, way);
    world->mine = front_lock(&world->a, "nightly");
    world->theirs = front_lock(&world->b, "nightly");
}

static void world_close(struct world *world)
{
    hf_lock_free(world->mine);
    hf_lock_free(world->theirs);
    fronts_close(&world->place, &world->a, &world->b);
}

/* -------------------------------------------- one call in each way -- */

enum call { TICKETS, HOLDERS, WAITERS, EVICT, ASK };

static hf_status wait_for(struct errand *e)
{
    switch ((enum call)e->call) {
    case TICKETS:
        return hf_lock_tickets(e->subject, HF_TICKETS_ALL, WAIT_MS,
                               &e->tickets);
    case HOLDERS:
        return hf_lock_tickets(e->subject, HF_TICKETS_HOLDERS, WAIT_MS,
                               &e->tickets);
    case WAITERS:
        return hf_lock_tickets(e->subject, HF_TICKETS_WAITERS, WAIT_MS,
                               &e->tickets);
    case EVICT:
        return hf_lock_evict(e->subject, e->id, WAIT_MS);
    case ASK:
        break;
    }
    return hf_lock_revoke(e->subject, e->id, WAIT_MS);
}

static hf_status start(struct errand *e, struct hf_done done)
{
    switch ((enum call)e->call) {
    case TICKETS:
        return hf_lock_tickets_start(e->subject, HF_TICKETS_ALL, WAIT_MS, done);
    case HOLDERS:
        return hf_lock_tickets_start(e->subject, HF_TICKETS_HOLDERS, WAIT_MS,
                                     done);
    case WAITERS:
        return hf_lock_tickets_start(e->subject, HF_TICKETS_WAITERS, WAIT_MS,
                                     done);
    case EVICT:
        return hf_lock_evict_start(e->subject, e->id, WAIT_MS, done);
    case ASK:
        break;
    }
    return hf_lock_revoke_start(e->subject, e->id, WAIT_MS, done);
}

static void error_of(const struct errand *e, struct hf_error *error)
{
    hf_lock_error(e->subject, error);
}

static const struct errand_calls calls = {wait_for, start, error_of};

/* Its status; .tickets, if there are any, go to ${tickets}. */
static hf_status run(struct front *front, struct hf_lock *lock, enum call call,
                     const char *id, struct hf_tickets **tickets)
{
    struct errand e = {.front = front,
                       .calls = &calls,
                       .subject = lock,
                       .call = (int)call,
                       .id = id};

    errand_begin(&e);
    (void)errand_end(&e);
    assert_true((e.tickets != NULL) == (e.status == HF_OK && call <= WAITERS));
    if (tickets != NULL)
        *tickets = e.tickets;
    else
        hf_tickets_free(e.tickets);
    return e.status;
}

static struct hf_tickets *list(struct front *front, struct hf_lock *lock,
                               enum call call)
{
    struct hf_tickets *tickets;

    assert_int_equal(run(front, lock, call, NULL, &tickets), HF_OK);
    return tickets;
}

/* The id of the ticket at ${place}. */
static void id_at(struct front *front, struct hf_lock *lock, size_t place,
                  char id[64])
{
    struct hf_tickets *tickets = list(front, lock, TICKETS);

    assert_true(place < hf_tickets_count(tickets));
    snprintf(id, 64, "%s", hf_tickets_at(tickets, place)->id);
    hf_tickets_free(tickets);
}

/* --------------------------------------------------------------- looking -- */

static void a_queue_is_shown(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct hf_ticket_view *view;
    struct outcome first, second;
    struct hf_tickets *tickets;
    struct world w;

    world_open(&w, way);
    tickets = list(&w.a, w.mine, TICKETS);
    assert_int_equal(hf_tickets_count(tickets), 0);
    assert_null(hf_tickets_at(tickets, 0));
    assert_null(hf_tickets_unknown(tickets, 0));
    hf_tickets_free(tickets);
    assert_int_equal(place_tickets(&w.place), 0);

    opts.text = "the one and only";
    front_acquire(&w.a, w.mine, &opts, &first);
    front_await(&first);
    front_acquire(&w.b, w.theirs, NULL, &second);
    kit_await_tickets(&w.place, 2);
    tickets = list(&w.a, w.mine, TICKETS);
    assert_int_equal(hf_tickets_count(tickets), 2);
    view = hf_tickets_at(tickets, 0);
    assert_true(view->holds && view->own);
    assert_int_equal(view->kind, HF_KIND_MUTEX);
    assert_true(view->token == hf_grant_token(first.grant));
    assert_true(view->age_ms < 60000);
    assert_true(view->created_utc_ms > 0);
    assert_string_equal(view->layout, "holdfast");
    assert_non_null(strstr(view->owner, "text=the%20one%20and%20only"));
    view = hf_tickets_at(tickets, 1);
    assert_false(view->holds || view->own);
    assert_null(strstr(view->owner, "text="));
    hf_tickets_free(tickets);

    tickets = list(&w.b, w.theirs, HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_true(hf_tickets_at(tickets, 0)->holds);
    assert_false(hf_tickets_at(tickets, 0)->own);
    hf_tickets_free(tickets);
    tickets = list(&w.b, w.theirs, WAITERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_true(hf_tickets_at(tickets, 0)->own);
    hf_tickets_free(tickets);

    assert_int_equal(front_give(&w.a, first.grant), HF_OK);
    front_await(&second);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    world_close(&w);
}

/* -------------------------------------------------------------- evicting -- */

struct told {
    _Atomic int count;
    _Atomic int dropped;
    bool release; /* from inside the callback */
    struct outcome *outcome;
};

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct told *told = arg;

    (void)grant;
    atomic_fetch_add(&told->count, 1);
}

static void on_told_drop(void *arg)
{
    struct told *told = arg;

    atomic_fetch_add(&told->dropped, 1);
}

static bool is_told(void *arg)
{
    struct told *told = arg;

    return atomic_load(&told->count) > 0;
}

static void a_holder_is_evicted(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct told told = {.release = false};
    struct outcome first, second;
    struct world w;
    char id[64];

    world_open(&w, way);
    opts.on_loss = (struct hf_on_loss){on_loss, &told, on_told_drop};
    front_acquire(&w.a, w.mine, &opts, &first);
    front_await(&first);
    front_acquire(&w.b, w.theirs, NULL, &second);
    kit_await_tickets(&w.place, 2);
    id_at(&w.b, w.theirs, 0, id);
    assert_int_equal(run(&w.b, w.theirs, EVICT, id, NULL), HF_OK);
    front_until(&w.a, is_told, &told);
    front_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_true(hf_grant_token(second.grant) > hf_grant_token(first.grant));
    assert_int_equal(hf_grant_check(first.grant), HF_ELOST);
    assert_int_equal(run(&w.b, w.theirs, EVICT, id, NULL), HF_EGONE);
    assert_int_equal(front_give(&w.a, first.grant), HF_ELOST);
    assert_int_equal(atomic_load(&told.count), 1);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    world_close(&w);
    assert_int_equal(atomic_load(&told.dropped), 1);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    _Atomic uint32_t *displaced = arg;

    atomic_store(displaced, wait->displaced);
}

/* It gets the lock all the same, and hears first that it has another place; in
 * a blocking call only if it has to wait there. */
static void a_waiter_is_evicted(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    _Atomic uint32_t displaced = 0;
    struct outcome first, second;
    struct world w;
    char id[64];

    world_open(&w, way);
    front_acquire(&w.a, w.mine, NULL, &first);
    front_await(&first);
    opts.on_wait = (struct hf_on_wait){on_wait, &displaced, NULL};
    front_acquire(&w.b, w.theirs, &opts, &second);
    kit_await_tickets(&w.place, 2);
    id_at(&w.a, w.mine, 1, id);
    assert_int_equal(run(&w.a, w.mine, EVICT, id, NULL), HF_OK);
    assert_int_equal(front_give(&w.a, first.grant), HF_OK);
    front_await(&second);
    assert_int_equal(second.status, HF_OK);
    if (way != WAY_BLOCKING)
        assert_int_equal(atomic_load(&displaced), 1);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    world_close(&w);
}

static void one_evicts_oneself(enum way way)
{
    struct hf_grant *grant;
    struct world w;
    char id[64];

    world_open(&w, way);
    grant = front_take(&w.a, w.mine);
    id_at(&w.a, w.mine, 0, id);
    assert_int_equal(run(&w.a, w.mine, EVICT, id, NULL), HF_OK);
    assert_int_equal(place_tickets(&w.place), 0);
    assert_int_equal(front_give(&w.a, grant), HF_ELOST);
    world_close(&w);
}

/* ---------------------------------------------------------------- asking -- */

static void on_released(void *arg, const struct hf_result *result)
{
    struct told *told = arg;

    told->outcome->status = result->status;
    atomic_fetch_add(&told->outcome->ended, 1);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct told *told = arg;
    struct hf_done done = {on_released, told, NULL};

    assert_int_equal(hf_grant_release(grant), HF_EREENTRANT);
    if (told->release)
        assert_int_equal(hf_grant_release_start(grant, done), HF_OK);
    atomic_fetch_add(&told->count, 1);
}

static bool is_released(void *arg)
{
    struct told *told = arg;

    return atomic_load(&told->outcome->ended) > 0;
}

static void a_holder_lets_go(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome first, second, released = {.ended = 0};
    struct told told = {.release = true, .outcome = &released};
    struct world w;

    world_open(&w, way);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &told, on_told_drop};
    front_acquire(&w.a, w.mine, &opts, &first);
    front_await(&first);
    front_acquire(&w.b, w.theirs, NULL, &second);
    kit_await_tickets(&w.place, 2);
    assert_int_equal(run(&w.b, w.theirs, ASK, NULL, NULL), HF_OK);
    front_until(&w.a, is_released, &told);
    assert_int_equal(released.status, HF_OK);
    front_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    assert_int_equal(atomic_load(&told.count), 1);
    world_close(&w);
    assert_int_equal(atomic_load(&told.dropped), 1);
}

struct asked {
    struct told *told;
    int count;
};

static bool is_asked(void *arg)
{
    struct asked *asked = arg;

    return atomic_load(&asked->told->count) >= asked->count;
}

/* And is asked again, and no other time. */
static void a_holder_finishes_first(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct told told = {.release = false};
    struct asked asked = {&told, 0};
    struct outcome first;
    struct world w;
    char id[64];

    world_open(&w, way);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &told, NULL};
    front_acquire(&w.a, w.mine, &opts, &first);
    front_await(&first);
    id_at(&w.b, w.theirs, 0, id);
    for (asked.count = 1; asked.count <= 3; asked.count++) {
        assert_int_equal(run(&w.b, w.theirs, ASK, id, NULL), HF_OK);
        front_until(&w.a, is_asked, &asked);
    }
    assert_int_equal(hf_grant_check(first.grant), HF_OK);
    assert_int_equal(front_give(&w.a, first.grant), HF_OK);
    assert_int_equal(run(&w.b, w.theirs, ASK, id, NULL), HF_EGONE);
    assert_int_equal(run(&w.b, w.theirs, ASK, NULL, NULL), HF_EGONE);
    world_close(&w);
    assert_int_equal(atomic_load(&told.count), 3);
}

static void a_waiter_hears_with_its_grant(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct told told = {.release = false};
    struct outcome first, second;
    struct world w;
    char id[64];

    world_open(&w, way);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &told, NULL};
    front_acquire(&w.a, w.mine, NULL, &first);
    front_await(&first);
    front_acquire(&w.b, w.theirs, &opts, &second);
    kit_await_tickets(&w.place, 2);
    id_at(&w.a, w.mine, 1, id);
    assert_int_equal(run(&w.a, w.mine, ASK, id, NULL), HF_OK);
    assert_int_equal(front_give(&w.a, first.grant), HF_OK);
    front_await(&second);
    front_until(&w.b, is_told, &told);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    world_close(&w);
    assert_int_equal(atomic_load(&told.count), 1);
}

/* -------------------------------------------- asking those who go at once --
 */

struct handover {
    struct front front;
    int pipe[2];
    struct hf_lock *lock;
};

static bool is_obeyed(void *arg)
{
    struct handover *h = arg;
    int unread;

    assert_int_equal(ioctl(h->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* A stranger holds.  While the holders are asked to let go, the lock is handed
 * on ${times} times, each time before the one who was listed is asked. */
static void handover_open(struct handover *h, enum way way, int times)
{
    char commands[HANDOVERS_MAX + 2] = {SCRIPTED_CONNECT, SCRIPTED_BLOCK};
    char url[64];

    memset(h, 0, sizeof(*h));
    memset(commands + 2, SCRIPTED_SUCCEED, (size_t)times);
    assert_int_equal(pipe2(h->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", h->pipe[0]);
    front_open(&h->front, way, url, (struct hf_on_state){NULL, NULL, NULL});
    h->lock = front_lock(&h->front, "nightly");
    assert_int_equal(write(h->pipe[1], commands, (size_t)times + 2), times + 2);
    front_until(&h->front, is_obeyed, h);
}

static void handover_close(struct handover *h)
{
    hf_lock_free(h->lock);
    front_close(&h->front);
    close(h->pipe[0]);
    close(h->pipe[1]);
}

static void whoever_takes_over_is_asked(enum way way)
{
    struct handover h;

    handover_open(&h, way, HANDOVERS_MAX - 1);
    assert_int_equal(run(&h.front, h.lock, ASK, NULL, NULL), HF_OK);
    handover_close(&h);
}

static void too_many_take_over(enum way way)
{
    struct handover h;

    handover_open(&h, way, HANDOVERS_MAX);
    assert_int_equal(run(&h.front, h.lock, ASK, NULL, NULL), HF_EGONE);
    assert_int_equal(run(&h.front, h.lock, ASK, NULL, NULL), HF_OK);
    handover_close(&h);
}

#define STORIES(X)                                                             \
    X(a_queue_is_shown)                                                        \
    X(a_holder_is_evicted)                                                     \
    X(a_waiter_is_evicted)                                                     \
    X(one_evicts_oneself)                                                      \
    X(a_holder_lets_go)                                                        \
    X(a_holder_finishes_first)                                                 \
    X(a_waiter_hears_with_its_grant)                                           \
    X(whoever_takes_over_is_asked)                                             \
    X(too_many_take_over)

#include "in_each_way.h"

/* ---------------------------------------------------------------- misuse -- */

static void wrong_calls_are_refused(void **state)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct errand e = {.ended = 0};
    struct hf_done done = errand_done(&e);
    struct hf_done none = {NULL, done.arg, done.drop};
    char longer[HF_OWNER_TEXT_BYTES + 2];
    struct hf_tickets *tickets;
    struct hf_client *client;
    struct hf_error error;
    struct hf_grant *grant;
    struct place place;
    struct hf_lock *lock;

    (void)state;
    place_make(&place);
    client = kit_client(place.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_evict(lock, "nobody", 0), HF_EINVAL);
    hf_lock_error(lock, &error);
    assert_non_null(strstr(error.text, "hf_lock_evict: 'nobody' is no id"));
    assert_int_equal(hf_lock_revoke(lock, "", 0), HF_EINVAL);
    assert_int_equal(hf_lock_evict_start(lock, "x", 0, done), HF_EINVAL);
    assert_int_equal(atomic_load(&e.dropped), 1);
    assert_int_equal(hf_lock_tickets_start(lock, HF_TICKETS_ALL, 0, none),
                     HF_EINVAL);
    assert_int_equal(atomic_load(&e.dropped), 2);
    assert_int_equal(atomic_load(&e.ended), 0);
    assert_int_equal(
        hf_lock_tickets(lock, (enum hf_tickets_which)3, 0, &tickets),
        HF_EINVAL);
    assert_null(tickets);
    hf_lock_error(lock, &error);
    assert_non_null(strstr(error.text, "'which' is 3; expected"));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    opts.text = longer;
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    opts.text = "a\nb";
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    opts.text = "\xff";
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_lock_tickets(lock, HF_TICKETS_ALL, 0, &tickets),
                     HF_ECLOSED);
    assert_null(tickets);
    hf_tickets_free(NULL);
    hf_lock_free(lock);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) cmocka_unit_test(wrong_calls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
