/* SPDX-License-Identifier: Apache-2.0 */
/* What others have to do with the owners of a mutex or a read/write lock: they
 * ask for a release, end a wait, and look at who wants it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "home.h"
#include "kit.h"

#define NAME "nightly"
#define WAIT_MS 10000
#define FIBRE 7
#define CALLERS 3

/* What a callback was told. */
struct told {
    _Atomic int requests;
    _Atomic int drops;
    void *subject;
    uint64_t owner;
    /* Set once the handle may be freed: no other thread is in a call on it. */
    _Atomic bool frees;
};

static void on_drop(void *arg)
{
    struct told *told = arg;

    atomic_fetch_add(&told->drops, 1);
}

static void on_mutex_revoke(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    struct told *told = arg;

    told->subject = mutex;
    told->owner = owner;
    if (atomic_load(&told->frees))
        hf_mutex_free(mutex);
    atomic_fetch_add(&told->requests, 1);
}

static void on_rwlock_revoke(void *arg, struct hf_rwlock *rwlock,
                             uint64_t owner)
{
    struct told *told = arg;

    told->subject = rwlock;
    told->owner = owner;
    atomic_fetch_add(&told->requests, 1);
}

static bool is_asked(void *arg)
{
    struct told *told = arg;

    return atomic_load(&told->requests) > 0;
}

static bool is_dropped(void *arg)
{
    struct told *told = arg;

    return atomic_load(&told->drops) > 0;
}

/* A client, and another one that meddles. */
struct world {
    struct home home;
    struct hf_client *elsewhere;
    struct hf_lock *theirs;
    uint64_t fibre;
    struct told told;
};

static void world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    home_open(&w->home);
    w->elsewhere = kit_client(w->home.place.url);
    assert_int_equal(hf_lock_open(w->elsewhere, NAME, NULL, &w->theirs), HF_OK);
    w->fibre = FIBRE;
}

static void world_close(struct world *w)
{
    hf_lock_free(w->theirs);
    assert_int_equal(hf_client_close(w->elsewhere), HF_OK);
    home_close(&w->home);
}

/* Of the fibre, with its text, and with all callbacks. */
static struct hf_mutex *open_mutex(struct world *w, const char *text)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.owner = home_fibre;
    opts.owner_arg = &w->fibre;
    opts.text = text;
    opts.on_revoke =
        (struct hf_on_mutex_revoke){on_mutex_revoke, &w->told, on_drop};
    assert_int_equal(hf_mutex_open(w->home.client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static struct hf_rwlock *open_rwlock(struct world *w, const char *text)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct hf_rwlock *rwlock;

    opts.text = text;
    opts.on_revoke =
        (struct hf_on_rwlock_revoke){on_rwlock_revoke, &w->told, on_drop};
    assert_int_equal(hf_rwlock_open(w->home.client, NAME, &opts, &rwlock),
                     HF_OK);
    return rwlock;
}

/* A thread that locks one of them, and unlocks it when it is told to. */
struct caller {
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    bool writes;
    pthread_t thread;
    uint64_t self;
    hf_status status, unlocked;
    _Atomic bool ended;
};

static void *caller_main(void *arg)
{
    struct caller *caller = arg;

    caller->self = hf_owner_self();
    if (caller->rwlock == NULL)
        caller->status = hf_mutex_lock(caller->mutex);
    else if (caller->writes)
        caller->status = hf_rwlock_wrlock(caller->rwlock);
    else
        caller->status = hf_rwlock_rdlock(caller->rwlock);
    if (caller->status != HF_OK)
        caller->unlocked = caller->status;
    else if (caller->rwlock == NULL)
        caller->unlocked = hf_mutex_unlock(caller->mutex);
    else if (caller->writes)
        caller->unlocked = hf_rwlock_wrunlock(caller->rwlock);
    else
        caller->unlocked = hf_rwlock_rdunlock(caller->rwlock);
    atomic_store(&caller->ended, true);
    return NULL;
}

static size_t count_tickets(const struct caller *caller)
{
    struct hf_tickets *tickets;
    hf_status status;
    size_t count;

    if (caller->rwlock != NULL)
        status = hf_rwlock_tickets(caller->rwlock, HF_TICKETS_ALL, WAIT_MS,
                                   &tickets);
    else
        status =
            hf_mutex_tickets(caller->mutex, HF_TICKETS_ALL, WAIT_MS, &tickets);
    assert_int_equal(status, HF_OK);
    count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return count;
}

struct expected {
    const struct caller *caller;
    size_t count;
};

static bool is_listed(void *arg)
{
    const struct expected *expected = arg;

    return count_tickets(expected->caller) == expected->count;
}

static void await_listed(const struct caller *caller, size_t count)
{
    struct expected expected = {caller, count};

    kit_until(is_listed, &expected);
}

/* Begin one, and see it wait. */
static void call(struct caller *caller)
{
    size_t before = count_tickets(caller);

    caller->thread = kit_thread(caller_main, caller);
    await_listed(caller, before + 1);
}

static hf_status end_of(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    assert_int_equal(caller->unlocked, caller->status);
    return caller->status;
}

/* -------------------------------------------------------------- revoking -- */

static void a_request_reaches_the_owner_of_a_mutex(void **state)
{
    struct world w;
    struct hf_mutex *mutex;

    (void)state;
    world_open(&w);
    mutex = open_mutex(&w, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    assert_int_equal(hf_lock_revoke(w.theirs, NULL, WAIT_MS), HF_OK);
    kit_until(is_asked, &w.told);
    assert_ptr_equal(w.told.subject, mutex);
    assert_int_equal(w.told.owner, FIBRE);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    kit_until(is_dropped, &w.told);
    world_close(&w);
    assert_int_equal(atomic_load(&w.told.requests), 1);
    assert_int_equal(atomic_load(&w.told.drops), 1);
}

/* Asks whoever waits behind ${grant} to release, and only then releases it. */
struct meddler {
    struct place *place;
    struct hf_lock *lock;
    struct hf_grant *grant;
    hf_status listed, asked, released;
};

static void *meddle_main(void *arg)
{
    struct meddler *m = arg;
    struct hf_tickets *tickets;

    kit_await_tickets(m->place, 2);
    m->listed = hf_lock_tickets(m->lock, HF_TICKETS_WAITERS, WAIT_MS, &tickets);
    if (m->listed == HF_OK && hf_tickets_count(tickets) == 1)
        m->asked =
            hf_lock_revoke(m->lock, hf_tickets_at(tickets, 0)->id, WAIT_MS);
    hf_tickets_free(tickets);
    m->released = hf_grant_release(m->grant);
    return NULL;
}

static void a_request_that_came_before_the_grant_is_told_with_it(void **state)
{
    struct world w;
    struct hf_mutex *mutex;
    struct meddler m;
    pthread_t thread;

    (void)state;
    world_open(&w);
    mutex = open_mutex(&w, NULL);
    m = (struct meddler){.place = &w.home.place, .lock = w.theirs};
    m.asked = HF_EBUG;
    assert_int_equal(hf_lock_acquire(w.theirs, NULL, &m.grant), HF_OK);
    thread = kit_thread(meddle_main, &m);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    pthread_join(thread, NULL);
    assert_int_equal(m.listed, HF_OK);
    assert_int_equal(m.asked, HF_OK);
    assert_int_equal(m.released, HF_OK);
    kit_until(is_asked, &w.told);
    assert_int_equal(w.told.owner, FIBRE);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    kit_until(is_dropped, &w.told);
    world_close(&w);
}

static void a_request_reaches_the_owner_of_a_rwlock(void **state)
{
    struct world w;
    struct hf_rwlock *rwlock;

    (void)state;
    world_open(&w);
    rwlock = open_rwlock(&w, NULL);
    assert_int_equal(hf_rwlock_rdlock(rwlock), HF_OK);
    assert_int_equal(hf_lock_revoke(w.theirs, NULL, WAIT_MS), HF_OK);
    kit_until(is_asked, &w.told);
    assert_ptr_equal(w.told.subject, rwlock);
    assert_int_equal(w.told.owner, hf_owner_self());
    assert_int_equal(hf_rwlock_rdunlock(rwlock), HF_OK);
    hf_rwlock_free(rwlock);
    kit_until(is_dropped, &w.told);
    world_close(&w);
    assert_int_equal(atomic_load(&w.told.drops), 1);
}

/* The handle may go while its callback runs: memory and .drop come after. */
static void the_handle_may_be_freed_in_its_callback(void **state)
{
    struct world w;
    struct hf_mutex *mutex;

    (void)state;
    world_open(&w);
    mutex = open_mutex(&w, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    atomic_store(&w.told.frees, true);
    assert_int_equal(hf_lock_revoke(w.theirs, NULL, WAIT_MS), HF_OK);
    kit_until(is_asked, &w.told);
    kit_until(is_dropped, &w.told);
    kit_await_tickets(&w.home.place, 0);
    world_close(&w);
    assert_int_equal(atomic_load(&w.told.drops), 1);
}

/* ---------------------------------------------------------------- texts -- */

static const struct hf_ticket_view *view(const struct hf_tickets *tickets,
                                         size_t place)
{
    assert_in_range(place, 0, hf_tickets_count(tickets) - 1);
    return hf_tickets_at(tickets, place);
}

static void a_ticket_says_the_text(void **state)
{
    char text[] = "writes the ledger";
    struct world w;
    struct hf_rwlock *rwlock;
    struct hf_tickets *tickets;

    (void)state;
    world_open(&w);
    rwlock = open_rwlock(&w, text);
    memset(text, 'x', sizeof(text) - 1); /* it was copied */
    assert_int_equal(hf_rwlock_wrlock(rwlock), HF_OK);
    assert_int_equal(
        hf_rwlock_tickets(rwlock, HF_TICKETS_HOLDERS, WAIT_MS, &tickets),
        HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_non_null(
        strstr(view(tickets, 0)->owner, " text=writes%20the%20ledger"));
    hf_tickets_free(tickets);
    assert_int_equal(hf_rwlock_wrunlock(rwlock), HF_OK);
    hf_rwlock_free(rwlock);
    world_close(&w);
}

static void a_text_that_is_none_is_refused(void **state)
{
    struct world w;
    struct hf_mutex_opts mutex_opts = HF_MUTEX_OPTS_INIT;
    struct hf_rwlock_opts rwlock_opts = HF_RWLOCK_OPTS_INIT;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_error error;

    (void)state;
    world_open(&w);
    mutex_opts.text = rwlock_opts.text = "two\nlines";
    mutex_opts.on_revoke =
        (struct hf_on_mutex_revoke){on_mutex_revoke, &w.told, on_drop};
    rwlock_opts.on_revoke =
        (struct hf_on_rwlock_revoke){on_rwlock_revoke, &w.told, on_drop};
    assert_int_equal(hf_mutex_open(w.home.client, NAME, &mutex_opts, &mutex),
                     HF_EINVAL);
    assert_null(mutex);
    hf_client_error(w.home.client, &error);
    assert_int_equal(error.status, HF_EINVAL);
    assert_non_null(strstr(error.text, "hf_mutex_open: the text "));
    assert_int_equal(atomic_load(&w.told.drops), 1);
    assert_int_equal(hf_rwlock_open(w.home.client, NAME, &rwlock_opts, &rwlock),
                     HF_EINVAL);
    assert_int_equal(atomic_load(&w.told.drops), 2);
    world_close(&w);
}

/* --------------------------------------------------------------- cancel -- */

static void one_wait_ends_or_all(uint32_t handoffs)
{
    struct world w;
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;
    struct caller callers[CALLERS];

    world_open(&w);
    opts.handoffs = handoffs;
    assert_int_equal(hf_mutex_open(w.home.client, NAME, &opts, &mutex), HF_OK);
    assert_int_equal(hf_mutex_cancel(mutex, 0), HF_EGONE);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.mutex = mutex};
        call(&callers[i]);
    }
    assert_int_equal(hf_mutex_cancel(mutex, hf_owner_self()), HF_EGONE);
    assert_int_equal(hf_mutex_cancel(mutex, callers[1].self), HF_OK);
    assert_int_equal(end_of(&callers[1]), HF_ECANCELLED);
    assert_int_equal(hf_mutex_cancel(mutex, callers[1].self), HF_EGONE);
    await_listed(&callers[0], CALLERS);
    assert_false(atomic_load(&callers[0].ended));
    assert_false(atomic_load(&callers[2].ended));
    assert_int_equal(hf_mutex_cancel(mutex, 0), HF_OK);
    assert_int_equal(end_of(&callers[0]), HF_ECANCELLED);
    assert_int_equal(end_of(&callers[2]), HF_ECANCELLED);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    assert_int_equal(place_tickets(&w.home.place), 0);
    hf_mutex_free(mutex);
    world_close(&w);
}

static void cancel_ends_waits_behind_one_ticket(void **state)
{
    (void)state;
    one_wait_ends_or_all(HF_MUTEX_HANDOFFS);
}

static void cancel_ends_waits_with_a_ticket_each(void **state)
{
    (void)state;
    one_wait_ends_or_all(0);
}

static void cancel_ends_readers_and_writers(void **state)
{
    struct world w;
    struct hf_rwlock *rwlock;
    struct caller reads, writes;

    (void)state;
    world_open(&w);
    rwlock = open_rwlock(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(rwlock), HF_OK);
    reads = (struct caller){.rwlock = rwlock};
    writes = (struct caller){.rwlock = rwlock, .writes = true};
    call(&writes);
    call(&reads);
    assert_int_equal(hf_rwlock_cancel(rwlock, writes.self), HF_OK);
    assert_int_equal(end_of(&writes), HF_ECANCELLED);
    assert_false(atomic_load(&reads.ended));
    assert_int_equal(hf_rwlock_cancel(rwlock, 0), HF_OK);
    assert_int_equal(end_of(&reads), HF_ECANCELLED);
    assert_int_equal(hf_rwlock_cancel(rwlock, 0), HF_EGONE);
    assert_int_equal(hf_rwlock_wrunlock(rwlock), HF_OK);
    hf_rwlock_free(rwlock);
    world_close(&w);
}

static void assert_told(const struct hf_error *error, hf_status status,
                        const char *text)
{
    assert_int_equal(error->status, status);
    assert_non_null(strstr(error->text, text));
}

static void what_fails_says_why(void **state)
{
    struct world w;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_tickets *tickets;
    struct hf_error error;
    const enum hf_tickets_which none = (enum hf_tickets_which)3;

    (void)state;
    world_open(&w);
    mutex = open_mutex(&w, NULL);
    rwlock = open_rwlock(&w, NULL);
    assert_int_equal(hf_mutex_cancel(mutex, FIBRE), HF_EGONE);
    hf_mutex_error(mutex, &error);
    assert_told(&error, HF_EGONE, "hf_mutex_cancel: no such owner waits");
    assert_int_equal(hf_mutex_tickets(mutex, none, WAIT_MS, &tickets),
                     HF_EINVAL);
    assert_null(tickets);
    hf_mutex_error(mutex, &error);
    assert_told(&error, HF_EINVAL, "hf_mutex_tickets: 'which' is 3");
    assert_int_equal(hf_rwlock_cancel(rwlock, 0), HF_EGONE);
    hf_rwlock_error(rwlock, &error);
    assert_told(&error, HF_EGONE, "hf_rwlock_cancel: no such owner waits");
    assert_int_equal(hf_rwlock_tickets(rwlock, none, WAIT_MS, &tickets),
                     HF_EINVAL);
    hf_rwlock_error(rwlock, &error);
    assert_told(&error, HF_EINVAL, "hf_rwlock_tickets: 'which' is 3");
    hf_mutex_free(mutex);
    hf_rwlock_free(rwlock);
    world_close(&w);
}

/* -------------------------------------------------------------- looking -- */

static bool says(const struct hf_ticket_view *view, const char *text)
{
    return strstr(view->owner, text) != NULL;
}

static void assert_waits_without_ticket(const struct hf_ticket_view *view,
                                        const char *text)
{
    assert_string_equal(view->id, "");
    assert_string_equal(view->layout, "");
    assert_int_equal(view->kind, HF_KIND_MUTEX);
    assert_int_equal(view->permits, 1);
    assert_int_equal(view->token, 0);
    assert_true(view->own);
    assert_false(view->holds);
    assert_true(view->age_ms < WAIT_MS);
    assert_true(view->created_utc_ms > 0);
    assert_true(says(view, text));
}

/* Two of this client's, ${text} each, and one of another. */
static struct hf_mutex *open_called(struct hf_client *client, const char *text)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.text = text;
    assert_int_equal(hf_mutex_open(client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static struct hf_tickets *list(struct hf_mutex *mutex,
                               enum hf_tickets_which which, size_t count)
{
    struct hf_tickets *tickets;

    assert_int_equal(hf_mutex_tickets(mutex, which, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), count);
    return tickets;
}

/* Those who wait come right behind the ticket that they share. */
static void threads_are_listed_behind_their_ticket(void **state)
{
    struct world w;
    struct hf_mutex *first, *second, *other;
    struct caller ours, theirs;
    struct hf_tickets *tickets;

    (void)state;
    world_open(&w);
    first = open_called(w.home.client, "one");
    second = open_called(w.home.client, "two");
    other = open_called(w.elsewhere, "three");
    assert_int_equal(hf_mutex_lock(first), HF_OK);
    theirs = (struct caller){.mutex = other};
    ours = (struct caller){.mutex = second};
    call(&theirs);
    call(&ours);
    tickets = list(first, HF_TICKETS_ALL, 3);
    assert_true(view(tickets, 0)->holds && view(tickets, 0)->own);
    assert_true(says(view(tickets, 0), "text=one"));
    assert_waits_without_ticket(view(tickets, 1), "text=two");
    assert_false(view(tickets, 2)->own);
    assert_true(says(view(tickets, 2), "text=three"));
    hf_tickets_free(tickets);
    hf_tickets_free(list(first, HF_TICKETS_HOLDERS, 1));
    tickets = list(second, HF_TICKETS_WAITERS, 2);
    assert_waits_without_ticket(view(tickets, 0), "text=two");
    hf_tickets_free(tickets);
    hf_tickets_free(list(other, HF_TICKETS_ALL, 2)); /* of tickets it sees */
    assert_int_equal(hf_lock_evict(w.theirs, "", WAIT_MS), HF_EINVAL);
    assert_int_equal(hf_mutex_unlock(first), HF_OK);
    assert_int_equal(end_of(&ours), HF_OK);
    assert_int_equal(end_of(&theirs), HF_OK);
    hf_mutex_free(first);
    hf_mutex_free(second);
    hf_mutex_free(other);
    world_close(&w);
}

/* While it waits a ticket is about the first in line, whoever that is now. */
static void a_waiting_ticket_is_about_the_first_in_line(void **state)
{
    struct world w;
    struct hf_mutex *first, *second;
    struct hf_grant *grant;
    struct caller callers[2];
    struct hf_tickets *tickets;

    (void)state;
    world_open(&w);
    first = open_called(w.home.client, "one");
    second = open_called(w.home.client, "two");
    assert_int_equal(hf_lock_acquire(w.theirs, NULL, &grant), HF_OK);
    callers[0] = (struct caller){.mutex = first};
    callers[1] = (struct caller){.mutex = second};
    call(&callers[0]);
    call(&callers[1]);
    tickets = list(first, HF_TICKETS_ALL, 3);
    assert_string_not_equal(view(tickets, 1)->id, "");
    assert_true(says(view(tickets, 1), "text=one"));
    assert_waits_without_ticket(view(tickets, 2), "text=two");
    hf_tickets_free(tickets);
    assert_int_equal(hf_mutex_cancel(first, 0), HF_OK);
    assert_int_equal(end_of(&callers[0]), HF_ECANCELLED);
    tickets = list(first, HF_TICKETS_ALL, 2);
    assert_true(view(tickets, 1)->own && !view(tickets, 1)->holds);
    assert_true(says(view(tickets, 1), "text=two"));
    hf_tickets_free(tickets);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(end_of(&callers[1]), HF_OK);
    hf_mutex_free(first);
    hf_mutex_free(second);
    world_close(&w);
}

static int child_story(void *arg)
{
    struct hf_mutex *mutex = arg;
    struct hf_tickets *tickets;

    KIT_CHECK(hf_mutex_cancel(mutex, 0) == HF_EFORKED);
    KIT_CHECK(hf_mutex_tickets(mutex, HF_TICKETS_ALL, 0, &tickets) ==
              HF_EFORKED);
    KIT_CHECK(tickets == NULL);
    hf_mutex_free(mutex);
    return 0;
}

static void a_child_has_nothing_to_say(void **state)
{
    struct world w;
    struct hf_mutex *mutex;

    (void)state;
    world_open(&w);
    mutex = open_mutex(&w, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    kit_in_child(child_story, mutex);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    kit_until(is_dropped, &w.told);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_reaches_the_owner_of_a_mutex),
        cmocka_unit_test(a_request_reaches_the_owner_of_a_rwlock),
        cmocka_unit_test(a_request_that_came_before_the_grant_is_told_with_it),
        cmocka_unit_test(the_handle_may_be_freed_in_its_callback),
        cmocka_unit_test(a_ticket_says_the_text),
        cmocka_unit_test(a_text_that_is_none_is_refused),
        cmocka_unit_test(cancel_ends_waits_behind_one_ticket),
        cmocka_unit_test(cancel_ends_waits_with_a_ticket_each),
        cmocka_unit_test(cancel_ends_readers_and_writers),
        cmocka_unit_test(what_fails_says_why),
        cmocka_unit_test(threads_are_listed_behind_their_ticket),
        cmocka_unit_test(a_waiting_ticket_is_about_the_first_in_line),
        cmocka_unit_test(a_child_has_nothing_to_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
