/* SPDX-License-Identifier: Apache-2.0 */
/* The owners of a mutex or a read/write lock as others see them: other
 * clients ask them to release, waits are cancelled by owner, and their
 * tickets are listed. */
#include <string.h>

#include "cmocka/runner.h"
#include "mutex_fixture.h"
#include "process.h"

#define NAME "nightly"
#define WAIT_MS 10000
#define FIBRE 7
#define CALLERS 3

/* What a callback got. */
struct revoke_record {
    _Atomic int requests;
    _Atomic int drops;
    void *subject;
    uint64_t owner;
    /* Set once the handle may be freed: no other thread is in a call on it. */
    _Atomic bool frees;
};

static void on_drop(void *arg)
{
    struct revoke_record *revoke_record = arg;

    atomic_fetch_add(&revoke_record->drops, 1);
}

static void on_mutex_revoke(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    struct revoke_record *revoke_record = arg;

    revoke_record->subject = mutex;
    revoke_record->owner = owner;
    if (atomic_load(&revoke_record->frees))
        hf_mutex_free(mutex);
    atomic_fetch_add(&revoke_record->requests, 1);
}

static void on_rwlock_revoke(void *arg, struct hf_rwlock *rwlock,
                             uint64_t owner)
{
    struct revoke_record *revoke_record = arg;

    revoke_record->subject = rwlock;
    revoke_record->owner = owner;
    atomic_fetch_add(&revoke_record->requests, 1);
}

static bool is_asked(void *arg)
{
    struct revoke_record *revoke_record = arg;

    return atomic_load(&revoke_record->requests) > 0;
}

static bool is_dropped(void *arg)
{
    struct revoke_record *revoke_record = arg;

    return atomic_load(&revoke_record->drops) > 0;
}

/* A client, and another one that asks for releases. */
struct mutex_owners_fixture {
    struct mutex_fixture base;
    struct hf_client *elsewhere;
    struct hf_lock *theirs;
    uint64_t fibre;
    struct revoke_record revoke_record;
};

static void fixture_open(struct mutex_owners_fixture *f)
{
    memset(f, 0, sizeof(*f));
    mutex_fixture_open(&f->base);
    f->elsewhere = open_client(f->base.directory.url);
    assert_int_equal(hf_lock_open(f->elsewhere, NAME, NULL, &f->theirs), HF_OK);
    f->fibre = FIBRE;
}

static void fixture_close(struct mutex_owners_fixture *f)
{
    hf_lock_free(f->theirs);
    assert_int_equal(hf_client_close(f->elsewhere), HF_OK);
    mutex_fixture_close(&f->base);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct mutex_owners_fixture f;                    \
    fixture_open(&f)

/* For the fibre, with a text and with all callbacks. */
static struct hf_mutex *open_mutex(struct mutex_owners_fixture *f,
                                   const char *text)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.owner = owner_at;
    opts.owner_arg = &f->fibre;
    opts.text = text;
    opts.on_revoke = (struct hf_on_mutex_revoke){on_mutex_revoke,
                                                 &f->revoke_record, on_drop};
    assert_int_equal(hf_mutex_open(f->base.client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static struct hf_rwlock *open_rwlock(struct mutex_owners_fixture *f,
                                     const char *text)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct hf_rwlock *rwlock;

    opts.text = text;
    opts.on_revoke = (struct hf_on_rwlock_revoke){on_rwlock_revoke,
                                                  &f->revoke_record, on_drop};
    assert_int_equal(hf_rwlock_open(f->base.client, NAME, &opts, &rwlock),
                     HF_OK);
    return rwlock;
}

/* A thread that locks one of the two, and unlocks it when it is asked to. */
struct owner_thread {
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
    struct owner_thread *owner_thread = arg;

    owner_thread->self = hf_owner_self();
    if (owner_thread->rwlock == NULL)
        owner_thread->status = hf_mutex_lock(owner_thread->mutex);
    else if (owner_thread->writes)
        owner_thread->status = hf_rwlock_wrlock(owner_thread->rwlock);
    else
        owner_thread->status = hf_rwlock_rdlock(owner_thread->rwlock);
    if (owner_thread->status != HF_OK)
        owner_thread->unlocked = owner_thread->status;
    else if (owner_thread->rwlock == NULL)
        owner_thread->unlocked = hf_mutex_unlock(owner_thread->mutex);
    else if (owner_thread->writes)
        owner_thread->unlocked = hf_rwlock_wrunlock(owner_thread->rwlock);
    else
        owner_thread->unlocked = hf_rwlock_rdunlock(owner_thread->rwlock);
    atomic_store(&owner_thread->ended, true);
    return NULL;
}

static size_t count_tickets(const struct owner_thread *owner_thread)
{
    struct hf_tickets *tickets;
    hf_status status;
    size_t count;

    if (owner_thread->rwlock != NULL)
        status = hf_rwlock_tickets(owner_thread->rwlock, HF_TICKETS_ALL,
                                   WAIT_MS, &tickets);
    else
        status = hf_mutex_tickets(owner_thread->mutex, HF_TICKETS_ALL, WAIT_MS,
                                  &tickets);
    assert_int_equal(status, HF_OK);
    count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return count;
}

struct listed_tickets {
    const struct owner_thread *owner_thread;
    size_t count;
};

static bool is_listed(void *arg)
{
    const struct listed_tickets *expected_tickets = arg;

    return count_tickets(expected_tickets->owner_thread) ==
           expected_tickets->count;
}

static void await_listed(const struct owner_thread *owner_thread, size_t count)
{
    struct listed_tickets expected_tickets = {owner_thread, count};

    wait_until(is_listed, &expected_tickets);
}

/* Start one, and see it wait. */
static void call(struct owner_thread *owner_thread)
{
    size_t before = count_tickets(owner_thread);

    owner_thread->thread = start_thread(caller_main, owner_thread);
    await_listed(owner_thread, before + 1);
}

static hf_status end_of(struct owner_thread *owner_thread)
{
    pthread_join(owner_thread->thread, NULL);
    assert_int_equal(owner_thread->unlocked, owner_thread->status);
    return owner_thread->status;
}

/* -------------------------------------------------------------- revoking -- */

TEST(a_request_reaches_the_owner_of_a_mutex)
{
    struct mutex_owners_fixture f;
    struct hf_mutex *mutex;

    fixture_open(&f);
    mutex = open_mutex(&f, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    assert_int_equal(hf_lock_revoke(f.theirs, NULL, WAIT_MS), HF_OK);
    wait_until(is_asked, &f.revoke_record);
    assert_ptr_equal(f.revoke_record.subject, mutex);
    assert_int_equal(f.revoke_record.owner, FIBRE);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    wait_until(is_dropped, &f.revoke_record);
    fixture_close(&f);
    assert_int_equal(atomic_load(&f.revoke_record.requests), 1);
    assert_int_equal(atomic_load(&f.revoke_record.drops), 1);
}

/* Asks the waiter behind ${grant} to release, and only then releases it. */
struct other_client {
    struct client_directory *directory;
    struct hf_lock *lock;
    struct hf_grant *grant;
    hf_status listed, asked, released;
};

static void *other_client_main(void *arg)
{
    struct other_client *m = arg;
    struct hf_tickets *tickets;

    await_tickets(m->directory, 2);
    m->listed = hf_lock_tickets(m->lock, HF_TICKETS_WAITERS, WAIT_MS, &tickets);
    if (m->listed == HF_OK && hf_tickets_count(tickets) == 1)
        m->asked =
            hf_lock_revoke(m->lock, hf_tickets_at(tickets, 0)->id, WAIT_MS);
    hf_tickets_free(tickets);
    m->released = hf_grant_release(m->grant);
    return NULL;
}

TEST(a_request_before_the_grant_is_notified_with_it)
{
    struct hf_mutex *mutex;
    struct other_client m;
    pthread_t thread;
    FIXTURE(f);
    mutex = open_mutex(&f, NULL);
    m = (struct other_client){.directory = &f.base.directory, .lock = f.theirs};
    m.asked = HF_EBUG;
    assert_int_equal(hf_lock_acquire(f.theirs, NULL, &m.grant), HF_OK);
    thread = start_thread(other_client_main, &m);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    pthread_join(thread, NULL);
    assert_int_equal(m.listed, HF_OK);
    assert_int_equal(m.asked, HF_OK);
    assert_int_equal(m.released, HF_OK);
    wait_until(is_asked, &f.revoke_record);
    assert_int_equal(f.revoke_record.owner, FIBRE);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    wait_until(is_dropped, &f.revoke_record);
}

TEST(a_request_reaches_the_owner_of_a_rwlock)
{
    struct mutex_owners_fixture f;
    struct hf_rwlock *rwlock;

    fixture_open(&f);
    rwlock = open_rwlock(&f, NULL);
    assert_int_equal(hf_rwlock_rdlock(rwlock), HF_OK);
    assert_int_equal(hf_lock_revoke(f.theirs, NULL, WAIT_MS), HF_OK);
    wait_until(is_asked, &f.revoke_record);
    assert_ptr_equal(f.revoke_record.subject, rwlock);
    assert_int_equal(f.revoke_record.owner, hf_owner_self());
    assert_int_equal(hf_rwlock_rdunlock(rwlock), HF_OK);
    hf_rwlock_free(rwlock);
    wait_until(is_dropped, &f.revoke_record);
    fixture_close(&f);
    assert_int_equal(atomic_load(&f.revoke_record.drops), 1);
}

/* The handle may be freed while its callback runs: memory and .drop go
 * later. */
TEST(the_handle_may_be_freed_in_its_callback)
{
    struct mutex_owners_fixture f;
    struct hf_mutex *mutex;

    fixture_open(&f);
    mutex = open_mutex(&f, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    atomic_store(&f.revoke_record.frees, true);
    assert_int_equal(hf_lock_revoke(f.theirs, NULL, WAIT_MS), HF_OK);
    wait_until(is_asked, &f.revoke_record);
    wait_until(is_dropped, &f.revoke_record);
    await_tickets(&f.base.directory, 0);
    fixture_close(&f);
    assert_int_equal(atomic_load(&f.revoke_record.drops), 1);
}

/* ----------------------------------------------------------------- texts -- */

static const struct hf_ticket_view *view(const struct hf_tickets *tickets,
                                         size_t position)
{
    assert_in_range(position, 0, hf_tickets_count(tickets) - 1);
    return hf_tickets_at(tickets, position);
}

TEST(a_ticket_says_the_text)
{
    char text[] = "writes the ledger";
    struct hf_rwlock *rwlock;
    struct hf_tickets *tickets;
    FIXTURE(f);
    rwlock = open_rwlock(&f, text);
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
}

TEST(a_text_that_is_none_is_refused)
{
    struct hf_mutex_opts mutex_opts = HF_MUTEX_OPTS_INIT;
    struct hf_rwlock_opts rwlock_opts = HF_RWLOCK_OPTS_INIT;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    FIXTURE(f);
    mutex_opts.text = rwlock_opts.text = "two\nlines";
    mutex_opts.on_revoke =
        (struct hf_on_mutex_revoke){on_mutex_revoke, &f.revoke_record, on_drop};
    rwlock_opts.on_revoke = (struct hf_on_rwlock_revoke){
        on_rwlock_revoke, &f.revoke_record, on_drop};
    assert_int_equal(hf_mutex_open(f.base.client, NAME, &mutex_opts, &mutex),
                     HF_EINVAL);
    assert_null(mutex);
    assert_int_equal(hf_last_error()->status, HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "hf_mutex_open: the text "));
    assert_int_equal(atomic_load(&f.revoke_record.drops), 1);
    assert_int_equal(hf_rwlock_open(f.base.client, NAME, &rwlock_opts, &rwlock),
                     HF_EINVAL);
    assert_int_equal(atomic_load(&f.revoke_record.drops), 2);
}

/* ---------------------------------------------------------------- cancel -- */

static void one_wait_ends_or_all(uint32_t handoffs)
{
    struct mutex_owners_fixture f;
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;
    struct owner_thread callers[CALLERS];

    fixture_open(&f);
    opts.handoffs = handoffs;
    assert_int_equal(hf_mutex_open(f.base.client, NAME, &opts, &mutex), HF_OK);
    assert_int_equal(hf_mutex_cancel(mutex, 0), HF_EGONE);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct owner_thread){.mutex = mutex};
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
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 0);
    hf_mutex_free(mutex);
    fixture_close(&f);
}

TEST(cancel_ends_waits_behind_one_ticket)
{
    one_wait_ends_or_all(HF_MUTEX_HANDOFFS);
}

TEST(cancel_ends_waits_with_a_ticket_each)
{
    one_wait_ends_or_all(0);
}

TEST(cancel_ends_readers_and_writers)
{
    struct hf_rwlock *rwlock;
    struct owner_thread reads, writes;
    FIXTURE(f);
    rwlock = open_rwlock(&f, NULL);
    assert_int_equal(hf_rwlock_wrlock(rwlock), HF_OK);
    reads = (struct owner_thread){.rwlock = rwlock};
    writes = (struct owner_thread){.rwlock = rwlock, .writes = true};
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
}

static void assert_revoked(const struct hf_error *error, hf_status status,
                           const char *text)
{
    assert_int_equal(error->status, status);
    assert_non_null(strstr(error->text, text));
}

TEST(failures_have_a_text)
{
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
    struct hf_tickets *tickets;
    const enum hf_tickets_which none = (enum hf_tickets_which)3;
    FIXTURE(f);
    mutex = open_mutex(&f, NULL);
    rwlock = open_rwlock(&f, NULL);
    assert_int_equal(hf_mutex_cancel(mutex, FIBRE), HF_EGONE);
    assert_revoked(hf_last_error(), HF_EGONE,
                   "hf_mutex_cancel: no such owner waits");
    assert_int_equal(hf_mutex_tickets(mutex, none, WAIT_MS, &tickets),
                     HF_EINVAL);
    assert_null(tickets);
    assert_revoked(hf_last_error(), HF_EINVAL,
                   "hf_mutex_tickets: 'which' is 3");
    assert_int_equal(hf_rwlock_cancel(rwlock, 0), HF_EGONE);
    assert_revoked(hf_last_error(), HF_EGONE,
                   "hf_rwlock_cancel: no such owner waits");
    assert_int_equal(hf_rwlock_tickets(rwlock, none, WAIT_MS, &tickets),
                     HF_EINVAL);
    assert_revoked(hf_last_error(), HF_EINVAL,
                   "hf_rwlock_tickets: 'which' is 3");
    hf_mutex_free(mutex);
    hf_rwlock_free(rwlock);
}

/* --------------------------------------------------------------- listing -- */

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

/* Two of this client, with ${text} each, and one of another. */
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

/* Those that wait follow right behind the ticket that they share. */
TEST(threads_are_listed_behind_their_ticket)
{
    struct hf_mutex *first, *second, *other;
    struct owner_thread ours, theirs;
    struct hf_tickets *tickets;
    FIXTURE(f);
    first = open_called(f.base.client, "one");
    second = open_called(f.base.client, "two");
    other = open_called(f.elsewhere, "three");
    assert_int_equal(hf_mutex_lock(first), HF_OK);
    theirs = (struct owner_thread){.mutex = other};
    ours = (struct owner_thread){.mutex = second};
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
    hf_tickets_free(
        list(other, HF_TICKETS_ALL, 2)); /* number of tickets it sees */
    assert_int_equal(hf_lock_evict(f.theirs, "", NULL, WAIT_MS), HF_EINVAL);
    assert_int_equal(hf_mutex_unlock(first), HF_OK);
    assert_int_equal(end_of(&ours), HF_OK);
    assert_int_equal(end_of(&theirs), HF_OK);
    hf_mutex_free(first);
    hf_mutex_free(second);
    hf_mutex_free(other);
}

/* While it waits, a ticket is about the first in line. */
TEST(a_waiting_ticket_is_about_the_first_in_line)
{
    struct hf_mutex *first, *second;
    struct hf_grant *grant;
    struct owner_thread callers[2];
    struct hf_tickets *tickets;
    FIXTURE(f);
    first = open_called(f.base.client, "one");
    second = open_called(f.base.client, "two");
    assert_int_equal(hf_lock_acquire(f.theirs, NULL, &grant), HF_OK);
    callers[0] = (struct owner_thread){.mutex = first};
    callers[1] = (struct owner_thread){.mutex = second};
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
}

static int child_main(void *arg)
{
    struct hf_mutex *mutex = arg;
    struct hf_tickets *tickets;

    CHILD_CHECK(hf_mutex_cancel(mutex, 0) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_tickets(mutex, HF_TICKETS_ALL, 0, &tickets) ==
                HF_EFORKED);
    CHILD_CHECK(tickets == NULL);
    hf_mutex_free(mutex);
    return 0;
}

TEST(a_child_has_nothing_to_say)
{
    struct hf_mutex *mutex;
    FIXTURE(f);
    mutex = open_mutex(&f, NULL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    run_in_child(child_main, mutex);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    wait_until(is_dropped, &f.revoke_record);
}
