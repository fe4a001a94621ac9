/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts: why a grant was lost, and why a call on any handle failed; in
 * calls and in callbacks. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"
#include "scripted_engine.h"

/* ${error} has ${status}, and its text contains both strings. */
static void assert_says(const struct hf_error *error, hf_status status,
                        const char *what, const char *why)
{
    if (error->status != status || strstr(error->text, what) == NULL ||
        strstr(error->text, why) == NULL)
        print_error("got \"%s\" of %s; expected \"%s\" and \"%s\" of %s\n",
                    error->text, hf_status_name(error->status), what, why,
                    hf_status_name(status));
    assert_int_equal(error->status, status);
    assert_non_null(strstr(error->text, what));
    assert_non_null(strstr(error->text, why));
}

/* ---------------------------------------------------------------- losses -- */

/* What the callback got. */
struct loss {
    struct hf_error error;
    _Atomic int calls;
};

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct loss *loss = arg;

    (void)grant;
    loss->error = *hf_last_error();
    atomic_fetch_add(&loss->calls, 1);
}

static bool is_notified(void *arg)
{
    struct loss *loss = arg;

    return atomic_load(&loss->calls) > 0;
}

struct errors_fixture {
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_client *other;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct loss loss;
    int commands[2]; /* to a scripted engine, else -1 */
};

static void take(struct errors_fixture *f)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.on_loss = (struct hf_on_loss){on_loss, &f->loss, NULL};
    f->lock = client_open_lock(&f->fixture, "nightly");
    client_acquire(&f->fixture, f->lock, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    f->grant = outcome.grant;
}

static void open_files(struct errors_fixture *f, enum way way)
{
    memset(f, 0, sizeof(*f));
    f->commands[0] = f->commands[1] = -1;
    client_directory_create(&f->directory);
    client_open(&f->fixture, way, f->directory.url, no_listener);
    f->other = open_client(f->directory.url);
    take(f);
}

static void send_command(struct errors_fixture *f, char command)
{
    assert_int_equal(write(f->commands[1], &command, 1), 1);
}

static void open_scripted(struct errors_fixture *f, enum way way)
{
    char url[64];

    memset(f, 0, sizeof(*f));
    assert_int_equal(pipe2(f->commands, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=400", f->commands[0]);
    client_open(&f->fixture, way, url, no_listener);
    send_command(f, SCRIPTED_CONNECT);
    take(f);
}

/* The last error is that of ${call}, and gives the reason of the callback. */
static void assert_same_reason(const struct loss *loss, const char *call)
{
    assert_int_equal(hf_last_error()->status, HF_ELOST);
    assert_memory_equal(hf_last_error()->text, call, strlen(call));
    assert_string_equal(hf_last_error()->text + strlen(call), loss->error.text);
}

/* The callback and later calls give the same reason. */
static void await_loss(struct errors_fixture *f, const char *why)
{
    client_wait_until(&f->fixture, is_notified, &f->loss);
    assert_says(&f->loss.error, HF_ELOST,
                "the grant of \"nightly\" was lost: ", why);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_grant_check(f->grant), HF_ELOST);
        assert_same_reason(&f->loss, "hf_grant_check: ");
    }
}

static void release_lost(struct errors_fixture *f, const char *why)
{
    struct outcome outcome;

    client_release(&f->fixture, f->grant, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ELOST);
    assert_non_null(strstr(outcome.text, why));
    if (f->fixture.way == WAY_BLOCKING)
        assert_non_null(strstr(outcome.text, "hf_grant_release: the grant"));
}

static void close_all(struct errors_fixture *f)
{
    hf_lock_free(f->lock);
    if (f->other != NULL)
        assert_int_equal(hf_client_close(f->other), HF_OK);
    client_close(&f->fixture);
    if (f->commands[0] < 0) {
        client_directory_remove(&f->directory);
        return;
    }
    close(f->commands[0]);
    close(f->commands[1]);
}

static void evict_holder(struct hf_client *client, const char *name,
                         const char *evicted_by)
{
    struct hf_tickets *tickets;
    struct hf_lock *lock;

    assert_int_equal(hf_lock_open(client, name, NULL, &lock), HF_OK);
    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_HOLDERS, HF_FOREVER, &tickets), HF_OK);
    assert_int_equal(hf_lock_evict(lock, hf_tickets_at(tickets, 0)->id,
                                   evicted_by, HF_FOREVER),
                     HF_OK);
    hf_tickets_free(tickets);
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(somebody_evicts_the_holder)
{
    struct errors_fixture f;

    open_files(&f, way);
    evict_holder(f.other, "nightly", NULL);
    await_loss(&f, "somebody evicted it");
    release_lost(&f, "somebody evicted it");
    close_all(&f);
}

TEST_IN_EACH_WAY(alice_evicts_the_holder)
{
    struct errors_fixture f;

    open_files(&f, way);
    evict_holder(f.other, "nightly", "alice@db1: 100 %s full");
    await_loss(&f, "its ticket was evicted by alice@db1: 100 %s full");
    release_lost(&f, "its ticket was evicted by alice@db1: 100 %s full");
    close_all(&f);
}

/* One part of a program may evict what another part of it holds. */
TEST(alice_evicts_what_the_same_client_holds)
{
    static const char why[] = "its ticket was evicted by alice@db1: a disk";
    struct errors_fixture f;

    open_files(&f, WAY_BLOCKING);
    evict_holder(f.fixture.client, "nightly", "alice@db1: a disk is full");
    await_loss(&f, why);
    release_lost(&f, why);
    close_all(&f);
}

/* A release would leave a ticket in its queue that such a descriptor keeps
 * there. */
TEST(the_same_client_evicts_a_ticket_that_a_descriptor_keeps)
{
    struct errors_fixture f;
    int fd;

    open_files(&f, WAY_BLOCKING);
    assert_int_equal(hf_grant_hold_fd(f.grant, &fd), HF_OK);
    evict_holder(f.fixture.client, "nightly", NULL);
    assert_int_equal(client_directory_count_tickets(&f.directory), 0);
    await_loss(&f, "somebody evicted it");
    release_lost(&f, "somebody evicted it");
    assert_int_equal(close(fd), 0);
    close_all(&f);
}

/* Nothing looks after a grant of files that nobody is to be notified of: that
 * it is lost is known when a call looks, and the reason then too. */
static void check_finds(bool evicted, const char *why)
{
    struct client_directory directory;
    struct hf_client *client;
    struct hf_grant *grant;
    struct hf_lock *lock;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "a", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    if (evicted) {
        evict_holder(client, "a", "alice@db1: done");
    } else {
        client_directory_remove(&directory);
        assert_true(hf_grant_safe_until_ms(grant) == HF_FOREVER);
    }
    while (hf_grant_check(grant) == HF_OK)
        continue;
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    assert_says(hf_last_error(), HF_ELOST, "the grant of \"a\" was lost", why);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    if (evicted)
        client_directory_remove(&directory);
}

TEST(a_check_finds_that_the_lock_directory_is_deleted)
{
    check_finds(false, "the lock directory was deleted or moved away");
}

TEST(a_check_finds_who_has_evicted_the_holder)
{
    check_finds(true, "its ticket was evicted by alice@db1: done");
}

TEST_IN_EACH_WAY(the_lock_directory_is_moved_away)
{
    struct errors_fixture f;
    char here[sizeof(f.directory.path) + 8];
    char elsewhere[sizeof(f.directory.path) + 8];

    open_files(&f, way);
    snprintf(here, sizeof(here), "%s/run", f.directory.path);
    snprintf(elsewhere, sizeof(elsewhere), "%s/gone", f.directory.path);
    assert_int_equal(rename(here, elsewhere), 0);
    await_loss(&f, "the lock directory was deleted or moved away");
    assert_int_equal(rename(elsewhere, here), 0);
    release_lost(&f, "the lock directory was deleted or moved away");
    close_all(&f);
}

TEST_IN_EACH_WAY(the_session_ends)
{
    struct errors_fixture f;

    open_scripted(&f, way);
    send_command(&f, SCRIPTED_LOSE);
    await_loss(&f, "the session is over");
    release_lost(&f, "the session is over");
    close_all(&f);
}

TEST_IN_EACH_WAY(the_lease_is_not_renewed)
{
    static const char why[] = "the lease of 400 ms was not renewed in time";
    struct errors_fixture f;

    open_scripted(&f, way);
    send_command(&f, SCRIPTED_SUSPEND);
    await_loss(&f, why);
    assert_non_null(strstr(f.loss.error.text, "the session is SUSPENDED"));
    send_command(&f, SCRIPTED_CONNECT);
    release_lost(&f, why);
    close_all(&f);
}

TEST(the_client_is_closed)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct loss loss = {.calls = 0};
    struct hf_client *client;
    struct hf_grant *grant;
    struct hf_lock *lock;
    struct client_directory directory;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "a", NULL, &lock), HF_OK);
    opts.on_loss = (struct hf_on_loss){on_loss, &loss, NULL};
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_says(&loss.error, HF_ELOST,
                "\"a\" was lost: ", "the client was closed");
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    assert_same_reason(&loss, "hf_grant_check: ");
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    assert_same_reason(&loss, "hf_grant_release: ");
    hf_lock_free(lock);
    client_directory_remove(&directory);
}

TEST(of_several_locks_the_lost_one_is_named)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct loss loss = {.calls = 0};
    struct hf_client *client, *other;
    struct hf_lock *locks[2];
    struct hf_grant *grant;
    struct client_directory directory;

    client_directory_create(&directory);
    client = open_client(directory.url);
    other = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "a", NULL, &locks[0]), HF_OK);
    assert_int_equal(hf_lock_open(client, "b", NULL, &locks[1]), HF_OK);
    opts.on_loss = (struct hf_on_loss){on_loss, &loss, NULL};
    assert_int_equal(hf_locks_acquire(locks, 2, &opts, &grant), HF_OK);
    evict_holder(other, "b", NULL);
    wait_until(is_notified, &loss);
    assert_says(&loss.error, HF_ELOST,
                "\"b\" was lost: ", "somebody evicted it");
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    assert_says(hf_last_error(), HF_ELOST,
                "\"b\" was lost: ", "somebody evicted it");
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_client_close(other), HF_OK);
    client_directory_remove(&directory);
}

/* --------------------------------------------------------------- handles -- */

struct handles {
    struct client_directory directory;
    struct hf_client *client;
    struct hf_client *other;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;
};

static int setup(void **state)
{
    static struct handles handles;

    client_directory_create(&handles.directory);
    handles.client = open_client(handles.directory.url);
    handles.other = open_client(handles.directory.url);
    assert_int_equal(
        hf_mutex_open(handles.client, "mutex", NULL, &handles.mutex), HF_OK);
    assert_int_equal(
        hf_rwlock_open(handles.client, "rwlock", NULL, &handles.rwlock), HF_OK);
    *state = &handles;
    return 0;
}

static int teardown(void **state)
{
    struct handles *h = *state;

    hf_mutex_free(h->mutex);
    hf_rwlock_free(h->rwlock);
    assert_int_equal(hf_client_close(h->client), HF_OK);
    assert_int_equal(hf_client_close(h->other), HF_OK);
    client_directory_remove(&h->directory);
    return 0;
}

TEST_WITH(a_mutex_has_its_error, setup, teardown)
{
    struct handles *h = *state;
    struct hf_mutex *other;

    assert_int_equal(hf_mutex_unlock(h->mutex), HF_EOWNER);
    assert_says(hf_last_error(), HF_EOWNER,
                "hf_mutex_unlock: ", "no lock to give back");
    assert_int_equal(hf_mutex_open(h->other, "mutex", NULL, &other), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(hf_mutex_trylock(h->mutex), HF_EBUSY);
    assert_says(hf_last_error(), HF_EBUSY, "hf_mutex_trylock: ", "held by");
    assert_int_equal(hf_mutex_timedlock(h->mutex, 1), HF_ETIMEDOUT);
    assert_says(hf_last_error(), HF_ETIMEDOUT,
                "hf_mutex_timedlock: ", "waited");
    assert_int_equal(hf_mutex_unlock(other), HF_OK);
    hf_mutex_free(other);
}

static bool is_mutex_lost(void *arg)
{
    struct handles *h = arg;

    return hf_mutex_lock(h->mutex) == HF_ELOST;
}

TEST_WITH(a_mutex_says_why_it_was_lost, setup, teardown)
{
    static const char why[] = "\"mutex\" was lost: its ticket was taken out";
    struct handles *h = *state;

    assert_int_equal(hf_mutex_lock(h->mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(h->mutex), HF_OK);
    evict_holder(h->other, "mutex", NULL);
    wait_until(is_mutex_lost, h);
    assert_says(hf_last_error(), HF_ELOST, "hf_mutex_lock: ", why);
    do {
        assert_int_equal(hf_mutex_unlock(h->mutex), HF_ELOST);
        assert_says(hf_last_error(), HF_ELOST, "hf_mutex_unlock: ", why);
    } while (hf_mutex_token(h->mutex) != 0);
}

static bool is_rwlock_lost(void *arg)
{
    struct handles *h = arg;

    return hf_rwlock_rdlock(h->rwlock) == HF_ELOST;
}

TEST_WITH(a_read_write_lock_has_its_error, setup, teardown)
{
    static const char why[] = "\"rwlock\" was lost: its ticket was taken out";
    struct handles *h = *state;

    assert_int_equal(hf_rwlock_rdunlock(h->rwlock), HF_EOWNER);
    assert_says(hf_last_error(), HF_EOWNER,
                "hf_rwlock_rdunlock: ", "no read to give back");
    assert_int_equal(hf_rwlock_wrunlock(h->rwlock), HF_EOWNER);
    assert_says(hf_last_error(), HF_EOWNER,
                "hf_rwlock_wrunlock: ", "no write to give back");
    assert_int_equal(hf_rwlock_rdlock(h->rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(h->rwlock), HF_EREENTRANT);
    assert_says(hf_last_error(), HF_EREENTRANT,
                "hf_rwlock_wrlock: ", "unlock the read first");
    evict_holder(h->other, "rwlock", NULL);
    wait_until(is_rwlock_lost, h);
    assert_says(hf_last_error(), HF_ELOST, "hf_rwlock_rdlock: ", why);
    do {
        assert_int_equal(hf_rwlock_rdunlock(h->rwlock), HF_ELOST);
        assert_says(hf_last_error(), HF_ELOST, "hf_rwlock_rdunlock: ", why);
    } while (hf_rwlock_token(h->rwlock) != 0);
}

/* ---------------------------------------------------------- in callbacks -- */

/* Calls that wait, inside a callback. */
struct inside {
    struct handles *h;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct hf_election *election;
    struct hf_error errors[6]; /* of the calls, in their order */
    _Atomic int calls;
};

static void note(struct inside *in, size_t call, hf_status status)
{
    assert_int_equal(status, HF_EREENTRANT);
    in->errors[call] = *hf_last_error();
}

static void call_all(void *arg, const struct hf_result *result)
{
    struct inside *in = arg;
    struct hf_grant *unwanted;

    in->grant = result->grant;
    note(in, 0, hf_lock_acquire(in->lock, NULL, &unwanted));
    note(in, 1, hf_grant_release(in->grant));
    note(in, 2, hf_mutex_lock(in->h->mutex));
    note(in, 3, hf_rwlock_rdlock(in->h->rwlock));
    note(in, 4, hf_election_resign(in->election));
    note(in, 5, hf_client_close(in->h->client));
    atomic_fetch_add(&in->calls, 1);
}

static bool has_called(void *arg)
{
    struct inside *in = arg;

    return atomic_load(&in->calls) > 0;
}

TEST_WITH(calls_that_wait_are_refused_in_a_callback, setup, teardown)
{
    static const char why[] = "it waits, and was called in a callback";
    static const char *const names[] = {
        "hf_lock_acquire: ",  "hf_grant_release: ",   "hf_mutex_lock: ",
        "hf_rwlock_rdlock: ", "hf_election_resign: ", "hf_client_close: "};
    struct handles *h = *state;
    struct inside in = {.h = h};

    assert_int_equal(hf_lock_open(h->client, "a", NULL, &in.lock), HF_OK);
    assert_int_equal(hf_election_open(h->client, "e", NULL, &in.election),
                     HF_OK);
    assert_int_equal(
        hf_lock_acquire_start(in.lock, NULL,
                              (struct hf_done){call_all, &in, NULL}, NULL),
        HF_OK);
    wait_until(has_called, &in);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_says(&in.errors[i], HF_EREENTRANT, names[i], why);
    assert_int_equal(hf_grant_release(in.grant), HF_OK);
    hf_election_free(in.election);
    hf_lock_free(in.lock);
}

/* ------------------------------------------------------------- elections -- */

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct loss *loss = arg;

    (void)election;
    (void)token;
    atomic_fetch_add(&loss->calls, 1);
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct loss *loss = arg;

    (void)election;
    (void)token;
    loss->error = *hf_last_error();
    atomic_fetch_add(&loss->calls, 1);
}

TEST_WITH(a_leader_learns_why_it_is_deposed, setup, teardown)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct loss elected = {.calls = 0};
    struct loss deposed = {.calls = 0};
    struct handles *h = *state;
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;
    struct hf_election *election;
    struct hf_tickets *tickets;
    struct hf_lock *lock;

    opts.on_elected = (struct hf_on_election){on_elected, &elected, NULL};
    opts.on_deposed = (struct hf_on_election){on_deposed, &deposed, NULL};
    assert_int_equal(hf_election_open(h->client, "e", &opts, &election), HF_OK);
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    wait_until(is_notified, &elected);
    lock_opts.kind = HF_KIND_ELECTION;
    assert_int_equal(hf_lock_open(h->other, "e", &lock_opts, &lock), HF_OK);
    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_HOLDERS, HF_FOREVER, &tickets), HF_OK);
    assert_int_equal(
        hf_lock_evict(lock, hf_tickets_at(tickets, 0)->id, NULL, HF_FOREVER),
        HF_OK);
    hf_tickets_free(tickets);
    hf_lock_free(lock);
    wait_until(is_notified, &deposed);
    assert_says(&deposed.error, HF_ELOST,
                "the leadership of \"e\" was lost: ", "somebody evicted it");
    assert_int_equal(hf_election_resign(election), HF_OK);
    hf_election_free(election);
}
