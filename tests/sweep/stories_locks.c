/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of those who take locks, of each kind. */
#include <unistd.h>

#include "story.h"

/* A pair of clients, each with its own handle of one lock. */
struct pair {
    struct hf_client *a_client, *b_client;
    struct hf_lock *a, *b;
};

static void meet(struct cast *cast, struct pair *pair, enum hf_kind a,
                 enum hf_kind b)
{
    pair->a_client = story_join(cast, HF_DELIVER_THREAD);
    pair->a = story_lock(cast, pair->a_client, "nightly", a);
    pair->b_client = story_join(cast, HF_DELIVER_THREAD);
    pair->b = story_lock(cast, pair->b_client, "nightly", b);
}

static void part(struct cast *cast, struct pair *pair)
{
    hf_lock_free(pair->a);
    hf_lock_free(pair->b);
    story_leave(cast, pair->a_client);
    story_leave(cast, pair->b_client);
}

/* ------------------------------------------------------------------ mutex --
 */

static void a_mutex_is_taken(struct cast *cast)
{
    struct hf_client *client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_lock *lock = story_lock(cast, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = story_acquire(cast, lock);
    int fd;

    WELL(cast, hf_grant_loss_fd(grant, &fd), NULL, NULL);
    CHECK(cast, fd >= 0);
    WELL(cast, hf_grant_check(grant), NULL, NULL);
    story_release(cast, grant);
    hf_lock_free(lock);
    story_leave(cast, client);
}

static void a_mutex_is_waited_for(struct cast *cast)
{
    struct later waiting;
    struct pair pair;
    struct hf_grant *grant;
    uint64_t token;

    later_init(&waiting, cast);
    meet(cast, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = story_acquire(cast, pair.a);
    token = hf_grant_token(grant);
    later_acquire(&waiting, pair.b);
    story_release(cast, grant);
    grant = later_grant(&waiting, pair.b);
    CHECK(cast, hf_grant_token(grant) > token);
    story_release(cast, grant);
    part(cast, &pair);
}

static hf_status try_for(struct hf_lock *lock, struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = 3;
    return hf_lock_acquire(lock, &opts, grant);
}

static void a_mutex_is_not_had_in_time(struct cast *cast)
{
    struct pair pair;
    struct hf_grant *grant, *none;

    meet(cast, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = story_acquire(cast, pair.a);
    GIVES(cast, hf_lock_try_acquire(pair.b, &none), HF_EBUSY, text_of_lock,
          pair.b);
    CHECK(cast, none == NULL);
    GIVES(cast, try_for(pair.b, &none), HF_ETIMEDOUT, text_of_lock, pair.b);
    CHECK(cast, none == NULL);
    story_release(cast, grant);
    /* What b has given up may be in the queue yet if the fault was there. */
    if (atomic_load(&cast->report->met) > 0)
        grant = story_acquire(cast, pair.b);
    else
        WELL(cast, hf_lock_try_acquire(pair.b, &grant), text_of_lock, pair.b);
    story_release(cast, grant);
    part(cast, &pair);
}

/* On an engine without sessions a descriptor can hold the ticket. */
static void a_descriptor_holds_a_mutex(struct cast *cast)
{
    struct pair pair;
    struct hf_grant *grant, *none;
    int fd;

    meet(cast, &pair, HF_KIND_MUTEX, HF_KIND_MUTEX);
    grant = story_acquire(cast, pair.a);
    if (cast->has_leases) {
        GIVES(cast, hf_grant_hold_fd(grant, &fd), HF_EUNSUPPORTED, NULL, NULL);
        story_release(cast, grant);
    } else {
        WELL(cast, hf_grant_hold_fd(grant, &fd), NULL, NULL);
        story_release(cast, grant);
        GIVES(cast, hf_lock_try_acquire(pair.b, &none), HF_EBUSY, text_of_lock,
              pair.b);
        (void)close(fd);
        grant = story_acquire(cast, pair.b);
        story_release(cast, grant);
    }
    part(cast, &pair);
}

/* -------------------------------------------------------------- reentrant --
 */

static uint64_t another_owner(void *arg)
{
    (void)arg;
    return 4711;
}

static void count_up_and_down(struct cast *cast, struct hf_mutex *ours,
                              struct hf_mutex *theirs)
{
    WELL(cast, hf_mutex_timedlock(ours, STORY_PATIENCE_MS), text_of_mutex,
         ours);
    WELL(cast, hf_mutex_lock(ours), text_of_mutex, ours);
    GIVES(cast, hf_mutex_trylock(theirs), HF_EBUSY, NULL, NULL);
    GIVES(cast, hf_mutex_unlock(theirs), HF_EOWNER, NULL, NULL);
    story_released(cast, "hf_mutex_unlock", hf_mutex_unlock(ours));
    CHECK(cast, hf_mutex_token(ours) != 0);
    story_released(cast, "hf_mutex_unlock", hf_mutex_unlock(ours));
    WELL(cast, hf_mutex_timedlock(theirs, STORY_PATIENCE_MS), text_of_mutex,
         theirs);
}

static void a_mutex_is_counted(struct cast *cast)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    const char *name = story_name(cast, "counted", &traced);
    struct hf_client *client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_mutex *ours, *theirs;
    struct hf_tickets *tickets;

    opts.text = "counts";
    opts.owner = another_owner;
    WELL(cast, hf_mutex_open(client, name, NULL, &ours), text_of_client,
         client);
    WELL(cast, hf_mutex_open(client, name, &opts, &theirs), text_of_client,
         client);
    count_up_and_down(cast, ours, theirs);
    WELL(cast,
         hf_mutex_tickets(ours, HF_TICKETS_ALL, STORY_PATIENCE_MS, &tickets),
         NULL, NULL);
    hf_tickets_free(tickets);
    hf_mutex_free(ours);
    hf_mutex_free(theirs); /* still locked: it is released */
    story_leave(cast, client);
}

/* ------------------------------------------------------- readers, writers --
 */

static void a_writer_becomes_a_reader(struct cast *cast)
{
    struct later waiting;
    struct pair pair;
    struct hf_grant *writer, *reader;
    uint64_t token;

    later_init(&waiting, cast);
    meet(cast, &pair, HF_KIND_WRITE, HF_KIND_READ);
    writer = story_acquire(cast, pair.a);
    token = hf_grant_token(writer);
    later_acquire(&waiting, pair.b);
    WELL(cast, hf_grant_downgrade(writer), text_of_lock, pair.a);
    CHECK(cast, hf_grant_token(writer) == token);
    reader = later_grant(&waiting, pair.b);
    story_release(cast, writer);
    story_release(cast, reader);
    part(cast, &pair);
}

static void a_read_write_lock_is_counted(struct cast *cast)
{
    struct hf_lock_opts traced = HF_LOCK_OPTS_INIT;
    const char *name;
    struct hf_client *client;
    struct hf_rwlock *rwlock;

    traced.kind = HF_KIND_WRITE;
    name = story_name(cast, "counted", &traced);
    client = story_join(cast, HF_DELIVER_THREAD);
    WELL(cast, hf_rwlock_open(client, name, NULL, &rwlock), text_of_client,
         client);
    WELL(cast, hf_rwlock_timedwrlock(rwlock, STORY_PATIENCE_MS), text_of_rwlock,
         rwlock);
    WELL(cast, hf_rwlock_rdlock(rwlock), text_of_rwlock, rwlock);
    /* Having counted down also if the downgrade failed. */
    /* It holds a read lock as well, so this is a downgrade. */
    (void)story_went_well(cast, "hf_rwlock_wrunlock",
                          hf_rwlock_wrunlock(rwlock), text_of_rwlock, rwlock);
    CHECK(cast, hf_rwlock_token(rwlock) != 0);
    story_released(cast, "hf_rwlock_rdunlock", hf_rwlock_rdunlock(rwlock));
    CHECK(cast, hf_rwlock_token(rwlock) == 0);
    hf_rwlock_free(rwlock);
    story_leave(cast, client);
}

/* -------------------------------------------------------------- semaphore --
 */

static void permits_are_shared(struct cast *cast)
{
    struct later waiting;
    struct pair pair;
    struct hf_grant *a, *b;

    later_init(&waiting, cast);
    pair.a_client = story_join(cast, HF_DELIVER_THREAD);
    pair.a = story_permits(cast, pair.a_client, "seats", 2, 3);
    pair.b_client = story_join(cast, HF_DELIVER_THREAD);
    pair.b = story_permits(cast, pair.b_client, "seats", 2, 3);
    a = story_acquire(cast, pair.a);
    later_acquire(&waiting, pair.b);
    WELL(cast, hf_lock_set_limit(pair.b, 4), text_of_lock, pair.b);
    b = later_grant(&waiting, pair.b);
    story_release(cast, a);
    a = story_acquire(cast, pair.b);
    story_release(cast, b);
    story_release(cast, a);
    part(cast, &pair);
}

/* ---------------------------------------------------------------- several --
 */

static void take_all(struct cast *cast, struct hf_lock *const *locks,
                     struct hf_lock *in_the_way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant, *all;

    opts.wait_ms = 0;
    grant = story_acquire(cast, in_the_way);
    GIVES(cast, hf_locks_acquire(locks, 3, &opts, &all), HF_EBUSY, text_of_lock,
          locks[0]);
    CHECK(cast, all == NULL);
    story_release(cast, grant);
    opts.wait_ms = STORY_PATIENCE_MS;
    WELL(cast, hf_locks_acquire(locks, 3, &opts, &all), text_of_lock, locks[0]);
    for (int i = 0; i < 3; i++)
        CHECK(cast, hf_grant_token_of(all, locks[i]) != 0);
    story_release(cast, all);
}

static void several_are_taken_at_once(struct cast *cast)
{
    struct hf_client *a = story_join(cast, HF_DELIVER_THREAD);
    struct hf_client *b = story_join(cast, HF_DELIVER_THREAD);
    struct hf_lock *locks[3] = {
        story_permits(cast, a, "seats", 1, 2),
        story_lock(cast, a, "nightly", HF_KIND_WRITE),
        story_lock(cast, a, "books", HF_KIND_MUTEX),
    };
    struct hf_lock *in_the_way = story_lock(cast, b, "nightly", HF_KIND_READ);

    take_all(cast, locks, in_the_way);
    for (int i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    hf_lock_free(in_the_way);
    story_leave(cast, a);
    story_leave(cast, b);
}

const struct story stories_of_locks[] = {
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
