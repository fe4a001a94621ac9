/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of locks of each kind. */
#include <unistd.h>

#include "scenario.h"

/* Two clients, each with its own handle of one lock. */
struct pair {
    struct hf_client *a_client, *b_client;
    struct hf_lock *a, *b;
};

static void meet(struct sweep_fixture *fixture, struct pair *pair,
                 enum hf_kind a, enum hf_kind b)
{
    pair->a_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    pair->a = scenario_lock(fixture, pair->a_client, "nightly", a);
    pair->b_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    pair->b = scenario_lock(fixture, pair->b_client, "nightly", b);
}

static void part(struct sweep_fixture *fixture, struct pair *pair)
{
    hf_lock_free(pair->a);
    hf_lock_free(pair->b);
    scenario_close_client(fixture, pair->a_client);
    scenario_close_client(fixture, pair->b_client);
}

/* ----------------------------------------------------------------- mutex -- */

static void a_mutex_is_taken(struct sweep_fixture *fixture)
{
    struct hf_client *client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *lock =
        scenario_lock(fixture, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = scenario_acquire(fixture, lock);
    int fd;

    EXPECT_OK(fixture, hf_grant_loss_fd(grant, &fd));
    CHECK(fixture, fd >= 0);
    EXPECT_OK(fixture, hf_grant_check(grant));
    scenario_release(fixture, grant);
    hf_lock_free(lock);
    scenario_close_client(fixture, client);
}

static void a_mutex_is_waited_for(struct sweep_fixture *fixture)
{
    struct pending_op waiting;
    struct pair pair;
    struct hf_grant *grant;
    uint64_t token;

    pending_op_init(&waiting, fixture);
    meet(fixture, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = scenario_acquire(fixture, pair.a);
    token = hf_grant_token(grant);
    pending_op_acquire(&waiting, pair.b);
    scenario_release(fixture, grant);
    grant = pending_op_grant(&waiting, pair.b);
    CHECK(fixture, hf_grant_token(grant) > token);
    scenario_release(fixture, grant);
    part(fixture, &pair);
}

static hf_status try_for(struct hf_lock *lock, struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = 3;
    return hf_lock_acquire(lock, &opts, grant);
}

static void a_mutex_is_not_had_in_time(struct sweep_fixture *fixture)
{
    struct pair pair;
    struct hf_grant *grant, *none;

    meet(fixture, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = scenario_acquire(fixture, pair.a);
    EXPECT_STATUS(fixture, hf_lock_try_acquire(pair.b, &none), HF_EBUSY);
    CHECK(fixture, none == NULL);
    EXPECT_STATUS(fixture, try_for(pair.b, &none), HF_ETIMEDOUT);
    CHECK(fixture, none == NULL);
    scenario_release(fixture, grant);
    /* After the fault the ticket that b gave up may still be in the queue. */
    if (atomic_load(&fixture->report->met) > 0)
        grant = scenario_acquire(fixture, pair.b);
    else
        EXPECT_OK(fixture, hf_lock_try_acquire(pair.b, &grant));
    scenario_release(fixture, grant);
    part(fixture, &pair);
}

/* Without sessions a descriptor can hold the ticket. */
static void a_descriptor_holds_a_mutex(struct sweep_fixture *fixture)
{
    struct pair pair;
    struct hf_grant *grant, *none;
    int fd;

    meet(fixture, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = scenario_acquire(fixture, pair.a);
    if (fixture->has_leases) {
        EXPECT_STATUS(fixture, hf_grant_hold_fd(grant, &fd), HF_EUNSUPPORTED);
        scenario_release(fixture, grant);
    } else {
        EXPECT_OK(fixture, hf_grant_hold_fd(grant, &fd));
        scenario_release(fixture, grant);
        EXPECT_STATUS(fixture, hf_lock_try_acquire(pair.b, &none), HF_EBUSY);
        (void)close(fd);
        grant = scenario_acquire(fixture, pair.b);
        scenario_release(fixture, grant);
    }
    part(fixture, &pair);
}

/* ------------------------------------------------------------- reentrant -- */

static uint64_t another_owner(void *arg)
{
    (void)arg;
    return 4711;
}

static void count_up_and_down(struct sweep_fixture *fixture,
                              struct hf_mutex *ours, struct hf_mutex *theirs)
{
    EXPECT_OK(fixture, hf_mutex_timedlock(ours, SCENARIO_TIMEOUT_MS));
    EXPECT_OK(fixture, hf_mutex_lock(ours));
    EXPECT_STATUS(fixture, hf_mutex_trylock(theirs), HF_EBUSY);
    EXPECT_STATUS(fixture, hf_mutex_unlock(theirs), HF_EOWNER);
    scenario_released(fixture, "hf_mutex_unlock", hf_mutex_unlock(ours));
    CHECK(fixture, hf_mutex_token(ours) != 0);
    scenario_released(fixture, "hf_mutex_unlock", hf_mutex_unlock(ours));
    EXPECT_OK(fixture, hf_mutex_timedlock(theirs, SCENARIO_TIMEOUT_MS));
}

static void a_mutex_is_counted(struct sweep_fixture *fixture)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    const char *name = scenario_name(fixture, "counted", &traced);
    struct hf_client *client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_mutex *ours, *theirs;
    struct hf_tickets *tickets;

    opts.text = "counts";
    opts.owner = another_owner;
    EXPECT_OK(fixture, hf_mutex_open(client, name, NULL, &ours));
    EXPECT_OK(fixture, hf_mutex_open(client, name, &opts, &theirs));
    count_up_and_down(fixture, ours, theirs);
    EXPECT_OK(fixture, hf_mutex_tickets(ours, HF_TICKETS_ALL,
                                        SCENARIO_TIMEOUT_MS, &tickets));
    hf_tickets_free(tickets);
    hf_mutex_free(ours);
    hf_mutex_free(theirs); /* still locked: it is released */
    scenario_close_client(fixture, client);
}

/* ------------------------------------------------------ readers, writers -- */

static void a_writer_becomes_a_reader(struct sweep_fixture *fixture)
{
    struct pending_op waiting;
    struct pair pair;
    struct hf_grant *writer, *reader;
    uint64_t token;

    pending_op_init(&waiting, fixture);
    meet(fixture, &pair, HF_KIND_WRITE, HF_KIND_READ);
    writer = scenario_acquire(fixture, pair.a);
    token = hf_grant_token(writer);
    pending_op_acquire(&waiting, pair.b);
    EXPECT_OK(fixture, hf_grant_downgrade(writer));
    CHECK(fixture, hf_grant_token(writer) == token);
    reader = pending_op_grant(&waiting, pair.b);
    scenario_release(fixture, writer);
    scenario_release(fixture, reader);
    part(fixture, &pair);
}

static void a_read_write_lock_is_counted(struct sweep_fixture *fixture)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name;
    struct hf_client *client;
    struct hf_rwlock *rwlock;

    traced.kind = HF_KIND_WRITE;
    name = scenario_name(fixture, "counted", &traced);
    client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    EXPECT_OK(fixture, hf_rwlock_open(client, name, NULL, &rwlock));
    EXPECT_OK(fixture, hf_rwlock_timedwrlock(rwlock, SCENARIO_TIMEOUT_MS));
    EXPECT_OK(fixture, hf_rwlock_rdlock(rwlock));
    /* The count has gone down also if the downgrade failed. */
    /* A read lock is held as well, so this is a downgrade. */
    (void)scenario_is_ok(fixture, "hf_rwlock_wrunlock",
                         hf_rwlock_wrunlock(rwlock));
    CHECK(fixture, hf_rwlock_token(rwlock) != 0);
    scenario_released(fixture, "hf_rwlock_rdunlock",
                      hf_rwlock_rdunlock(rwlock));
    CHECK(fixture, hf_rwlock_token(rwlock) == 0);
    hf_rwlock_free(rwlock);
    scenario_close_client(fixture, client);
}

/* ------------------------------------------------------------- semaphore -- */

static void permits_are_shared(struct sweep_fixture *fixture)
{
    struct pending_op waiting;
    struct pair pair;
    struct hf_grant *a, *b;

    pending_op_init(&waiting, fixture);
    pair.a_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    pair.a = scenario_permits(fixture, pair.a_client, "seats", 2, 3);
    pair.b_client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    pair.b = scenario_permits(fixture, pair.b_client, "seats", 2, 3);
    a = scenario_acquire(fixture, pair.a);
    pending_op_acquire(&waiting, pair.b);
    EXPECT_OK(fixture, hf_lock_set_limit(pair.b, 4));
    b = pending_op_grant(&waiting, pair.b);
    scenario_release(fixture, a);
    a = scenario_acquire(fixture, pair.b);
    scenario_release(fixture, b);
    scenario_release(fixture, a);
    part(fixture, &pair);
}

/* --------------------------------------------------------------- several -- */

static void take_all(struct sweep_fixture *fixture,
                     struct hf_lock *const *locks, struct hf_lock *blocking)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant, *all;

    opts.wait_ms = 0;
    grant = scenario_acquire(fixture, blocking);
    EXPECT_STATUS(fixture, hf_locks_acquire(locks, 3, &opts, &all), HF_EBUSY);
    CHECK(fixture, all == NULL);
    scenario_release(fixture, grant);
    opts.wait_ms = SCENARIO_TIMEOUT_MS;
    EXPECT_OK(fixture, hf_locks_acquire(locks, 3, &opts, &all));
    for (int i = 0; i < 3; i++)
        CHECK(fixture, hf_grant_token_of(all, locks[i]) != 0);
    scenario_release(fixture, all);
}

static void several_are_taken_at_once(struct sweep_fixture *fixture)
{
    struct hf_client *a = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_client *b = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *locks[3] = {
        scenario_permits(fixture, a, "seats", 1, 2),
        scenario_lock(fixture, a, "nightly", HF_KIND_WRITE),
        scenario_lock(fixture, a, "books", HF_KIND_MUTEX),
    };
    struct hf_lock *blocking =
        scenario_lock(fixture, b, "nightly", HF_KIND_READ);

    take_all(fixture, locks, blocking);
    for (int i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    hf_lock_free(blocking);
    scenario_close_client(fixture, a);
    scenario_close_client(fixture, b);
}

const struct scenario scenarios_of_locks[] = {
    {"a_mutex_is_taken", a_mutex_is_taken},
    {"a_mutex_is_waited_for", a_mutex_is_waited_for},
    {"a_mutex_is_not_had_in_time", a_mutex_is_not_had_in_time},
    {"a_descriptor_holds_a_mutex", a_descriptor_holds_a_mutex},
    {"a_mutex_is_counted", a_mutex_is_counted},
    {"a_writer_becomes_a_reader", a_writer_becomes_a_reader},
    {"a_read_write_lock_is_counted", a_read_write_lock_is_counted},
    {"permits_are_shared", permits_are_shared},
    {"several_are_taken_at_once", several_are_taken_at_once},
    {NULL, NULL},
};
