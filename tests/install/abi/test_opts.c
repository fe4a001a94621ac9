/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a program that was compiled with another version of the library,
 * through the public calls. Built three times, and "grown" is a version whose
 * structs of options have one more field each:
 *
 *     program       library
 *     as here       as here
 *     as here       one whose structs of options have grown
 *     grown         as here: HF_GROWN
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "opts_0_1_0.h"
#include "process.h"

/* What 0.1.0 has stays where it is. */
#define STAYS(type, field)                                                     \
    _Static_assert(offsetof(struct type, field) ==                             \
                           offsetof(struct type##_0_1_0, field) &&             \
                       sizeof(((struct type *)0)->field) ==                    \
                           sizeof(((struct type##_0_1_0 *)0)->field),          \
                   #type "." #field " has moved");
STAYS(hf_client_opts, size)
STAYS(hf_client_opts, delivery)
STAYS(hf_client_opts, connect_ms)
STAYS(hf_client_opts, on_state)
STAYS(hf_client_opts, on_log)
STAYS(hf_client_opts, reconnect)
STAYS(hf_client_opts, loss_at)
STAYS(hf_lock_opts, size)
STAYS(hf_lock_opts, kind)
STAYS(hf_lock_opts, permits)
STAYS(hf_lock_opts, limit)
STAYS(hf_acquire_opts, size)
STAYS(hf_acquire_opts, wait_ms)
STAYS(hf_acquire_opts, on_wait)
STAYS(hf_acquire_opts, on_wait_every_ms)
STAYS(hf_acquire_opts, on_loss)
STAYS(hf_acquire_opts, on_revoke)
STAYS(hf_acquire_opts, text)
STAYS(hf_acquire_opts, owner)
STAYS(hf_mutex_opts, size)
STAYS(hf_mutex_opts, owner)
STAYS(hf_mutex_opts, owner_arg)
STAYS(hf_mutex_opts, handoffs)
STAYS(hf_mutex_opts, text)
STAYS(hf_mutex_opts, on_revoke)
STAYS(hf_rwlock_opts, size)
STAYS(hf_rwlock_opts, owner)
STAYS(hf_rwlock_opts, owner_arg)
STAYS(hf_rwlock_opts, text)
STAYS(hf_rwlock_opts, on_revoke)
STAYS(hf_election_opts, size)
STAYS(hf_election_opts, kind)
STAYS(hf_election_opts, text)
STAYS(hf_election_opts, on_elected)
STAYS(hf_election_opts, on_deposed)
STAYS(hf_election_opts, on_revoke)
STAYS(hf_election_opts, on_ended)
STAYS(hf_election_opts, id)

struct fixture {
    struct client_directory directory;
    struct hf_client *client;
    struct hf_lock *lock;
};

static int setup(void **state)
{
    static struct fixture fixture;

    client_directory_create(&fixture.directory);
    fixture.client = open_client(fixture.directory.url);
    assert_int_equal(hf_lock_open(fixture.client, "a", NULL, &fixture.lock),
                     HF_OK);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    hf_lock_free(f->lock);
    assert_int_equal(hf_client_close(f->client), HF_OK);
    client_directory_remove(&f->directory);
    return 0;
}

/* ------------------------------------------------- a program of 0.1.0 -- */

/* With noise where a struct has no field. */

static void client_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_client_opts_0_1_0 opts;
    struct hf_client *client;

    memset(&opts, 0xff, sizeof(opts));
    opts.size = sizeof(opts);
    opts.delivery = HF_DELIVER_THREAD;
    opts.connect_ms = 15000;
    opts.on_state.fn = NULL;
    opts.on_state.drop = NULL;
    opts.on_log.fn = NULL;
    opts.on_log.level = HF_LOG_WARNING;
    opts.reconnect = (struct hf_reconnect){.pause_ms = 50,
                                           .retries = HF_RECONNECT_UNLIMITED,
                                           .elapsed_ms = HF_FOREVER};
    opts.loss_at = HF_LOSS_AT_LOST;
    assert_int_equal(hf_client_open(f->directory.url, (void *)&opts, &client),
                     HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* Two permits of three are had once. */
static void lock_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_lock_opts_0_1_0 opts;
    struct hf_grant *grant, *other;
    struct hf_lock *lock;

    memset(&opts, 0xff, sizeof(opts));
    opts.size = sizeof(opts);
    opts.kind = HF_KIND_SEMAPHORE;
    opts.permits = 2;
    opts.limit = 3;
    assert_int_equal(hf_lock_open(f->client, "s", (void *)&opts, &lock), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &other), HF_EBUSY);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
}

static void acquire_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_acquire_opts_0_1_0 opts = {.size = sizeof(opts)};
    struct hf_tickets *tickets;
    struct hf_grant *grant;

    opts.text = "of-0.1.0";
    assert_int_equal(hf_lock_acquire(f->lock, (void *)&opts, &grant), HF_OK);
    assert_int_equal(
        hf_lock_tickets(f->lock, HF_TICKETS_ALL, HF_FOREVER, &tickets), HF_OK);
    assert_non_null(strstr(hf_tickets_at(tickets, 0)->owner, "of-0.1.0"));
    hf_tickets_free(tickets);
    assert_int_equal(hf_grant_release(grant), HF_OK);
}

static void mutex_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_mutex_opts_0_1_0 opts = {.size = sizeof(opts)};
    struct hf_mutex *mutex;

    assert_int_equal(hf_mutex_open(f->client, "m", (void *)&opts, &mutex),
                     HF_OK);
    assert_int_equal(hf_mutex_trylock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
}

static void rwlock_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_rwlock_opts_0_1_0 opts = {.size = sizeof(opts)};
    struct hf_rwlock *rwlock;

    assert_int_equal(hf_rwlock_open(f->client, "r", (void *)&opts, &rwlock),
                     HF_OK);
    assert_int_equal(hf_rwlock_tryrdlock(rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdunlock(rwlock), HF_OK);
    hf_rwlock_free(rwlock);
}

static void election_of_0_1_0(void **state)
{
    struct fixture *f = *state;
    struct hf_election_opts_0_1_0 opts = {.size = sizeof(opts)};
    struct hf_election *election;

    opts.kind = HF_KIND_ELECTION;
    assert_int_equal(hf_election_open(f->client, "e", (void *)&opts, &election),
                     HF_OK);
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    assert_int_equal(hf_election_resign(election), HF_OK);
    hf_election_free(election);
}

#ifndef HF_LIBRARY_GROWN
/* ----------------------------------------------- a program that is newer -- */

/* Each struct of options, and whether it was taken. */

static hf_status call_client_open(struct fixture *f, void *opts)
{
    struct hf_client *client;
    hf_status status = hf_client_open(f->directory.url, opts, &client);

    if (status == HF_OK)
        assert_int_equal(hf_client_close(client), HF_OK);
    return status;
}

static hf_status open_lock(struct fixture *f, void *opts)
{
    struct hf_lock *lock;
    hf_status status = hf_lock_open(f->client, "b", opts, &lock);

    hf_lock_free(lock);
    return status;
}

static hf_status acquire(struct fixture *f, void *opts)
{
    struct hf_grant *grant;
    hf_status status = hf_lock_acquire(f->lock, opts, &grant);

    if (status == HF_OK)
        assert_int_equal(hf_grant_release(grant), HF_OK);
    return status;
}

static hf_status open_mutex(struct fixture *f, void *opts)
{
    struct hf_mutex *mutex;
    hf_status status = hf_mutex_open(f->client, "b", opts, &mutex);

    hf_mutex_free(mutex);
    return status;
}

static hf_status open_rwlock(struct fixture *f, void *opts)
{
    struct hf_rwlock *rwlock;
    hf_status status = hf_rwlock_open(f->client, "b", opts, &rwlock);

    hf_rwlock_free(rwlock);
    return status;
}

static hf_status open_election(struct fixture *f, void *opts)
{
    struct hf_election *election;
    hf_status status = hf_election_open(f->client, "b", opts, &election);

    hf_election_free(election);
    return status;
}

/* ${opts}, of ${bytes}, begin with their size and are all defaults. */
struct user {
    hf_status (*use)(struct fixture *f, void *opts);
    void *opts;
    size_t bytes;
};

static void check(struct fixture *f, const struct user *user)
{
    union {
        size_t size;
        unsigned char bytes[512];
    } opts = {0};

    assert_true(user->bytes < sizeof(opts));
    memcpy(&opts, user->opts, user->bytes);
    opts.size = sizeof(opts);
    assert_int_equal(user->use(f, &opts), HF_OK);
    for (size_t i = user->bytes; i < sizeof(opts); i++) {
        opts.bytes[i] = 1;
        assert_int_equal(user->use(f, &opts), HF_EUNSUPPORTED);
        opts.bytes[i] = 0;
    }
    opts.size = 0;
    assert_int_equal(user->use(f, &opts), HF_EINVAL);
    opts.size = 4097;
    assert_int_equal(user->use(f, &opts), HF_EINVAL);
}

/* Of the grown structs the library knows all but the last field. */
#ifdef HF_PROGRAM_GROWN
#define KNOWN(type) offsetof(struct type, grown)
#else
#define KNOWN(type) sizeof(struct type)
#endif

static void what_is_newer_is_taken_as_long_as_it_is_zero(void **state)
{
    struct hf_client_opts client = HF_CLIENT_OPTS_INIT;
    struct hf_lock_opts lock = HF_LOCK_OPTS_INIT;
    struct hf_acquire_opts acquire_ = HF_ACQUIRE_OPTS_INIT;
    struct hf_mutex_opts mutex = HF_MUTEX_OPTS_INIT;
    struct hf_rwlock_opts rwlock = HF_RWLOCK_OPTS_INIT;
    struct hf_election_opts election = HF_ELECTION_OPTS_INIT;
    const struct user users[] = {
        {call_client_open, &client, KNOWN(hf_client_opts)},
        {open_lock, &lock, KNOWN(hf_lock_opts)},
        {acquire, &acquire_, KNOWN(hf_acquire_opts)},
        {open_mutex, &mutex, KNOWN(hf_mutex_opts)},
        {open_rwlock, &rwlock, KNOWN(hf_rwlock_opts)},
        {open_election, &election, KNOWN(hf_election_opts)},
    };

    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
        check(*state, &users[i]);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_of_0_1_0),
        cmocka_unit_test(lock_of_0_1_0),
        cmocka_unit_test(acquire_of_0_1_0),
        cmocka_unit_test(mutex_of_0_1_0),
        cmocka_unit_test(rwlock_of_0_1_0),
        cmocka_unit_test(election_of_0_1_0),
#ifndef HF_LIBRARY_GROWN
        cmocka_unit_test(what_is_newer_is_taken_as_long_as_it_is_zero),
#endif
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
