/* SPDX-License-Identifier: Apache-2.0 */
/* What a client counts of its acquires and of its session, exactly
 * (src/client/client_metrics.c, grant_metrics.c, src/metrics). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "process.h"
#include "scripted_engine.h"

#define ENTRIES 64

/* Two clients in one directory: ours, which counts, and another. */
struct metrics_fixture {
    struct client_directory directory;
    struct client_fixture ours;
    struct client_fixture theirs;
};

static void fixture_open_with(struct metrics_fixture *f,
                              struct hf_metrics_name name)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    memset(f, 0, sizeof(*f));
    client_directory_create(&f->directory);
    opts.metrics = HF_METRICS_COUNT;
    opts.metrics_name = name;
    client_open_with(&f->ours, WAY_THREAD, f->directory.url, &opts);
    client_open(&f->theirs, WAY_THREAD, f->directory.url, no_listener);
}

static void fixture_open(struct metrics_fixture *f)
{
    fixture_open_with(f, (struct hf_metrics_name){NULL, NULL});
}

static void fixture_close(struct metrics_fixture *f)
{
    hosts_close(&f->directory, &f->ours, &f->theirs);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct metrics_fixture f;                         \
    fixture_open(&f)

static struct hf_client_stats *stats_of(const struct client_fixture *fixture)
{
    struct hf_client_stats *stats;

    assert_int_equal(hf_client_stats(fixture->client, &stats), HF_OK);
    return stats;
}

/* The numbers of ${name}, or NULL. */
static const struct hf_lock_stats *find(const struct hf_client_stats *stats,
                                        const char *name)
{
    for (size_t i = 0; i < stats->name_count; i++)
        if (strcmp(stats->names[i]->name, name) == 0)
            return stats->names[i];
    return NULL;
}

static void assert_counts(const struct hf_lock_stats *stats, uint64_t acquired,
                          uint64_t waited, uint64_t failed, uint64_t lost,
                          uint64_t revoked)
{
    assert_int_equal(stats->acquired, acquired);
    assert_int_equal(stats->waited, waited);
    assert_int_equal(stats->failed, failed);
    assert_int_equal(stats->lost, lost);
    assert_int_equal(stats->revoked, revoked);
    assert_int_equal(stats->wait.count, acquired);
}

/* What hf_client_metrics_write() has written. */
struct text {
    char text[65536];
    size_t bytes;
    int calls;
    bool stops;
};

static bool collect(void *arg, const char *text, size_t bytes)
{
    struct text *to = arg;

    to->calls++;
    assert_true(to->bytes + bytes < sizeof(to->text));
    memcpy(to->text + to->bytes, text, bytes);
    to->bytes += bytes;
    return !to->stops;
}

/* Acquire and release ${lock}. */
static void pass(struct client_fixture *fixture, struct hf_lock *lock)
{
    assert_int_equal(client_give(fixture, client_take(fixture, lock)), HF_OK);
}

/* An acquire of ${ours} that waits until ${theirs} is released. */
static void pass_after_wait(struct metrics_fixture *f, struct hf_lock *ours,
                            struct hf_lock *theirs)
{
    struct hf_grant *grant = client_take(&f->theirs, theirs);
    struct outcome outcome;

    client_acquire(&f->ours, ours, NULL, &outcome);
    await_tickets(&f->directory, 2);
    assert_int_equal(client_give(&f->theirs, grant), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f->ours, outcome.grant), HF_OK);
}

TEST(acquires_are_counted_by_how_they_end)
{
    struct hf_lock *ours, *theirs;
    struct hf_grant *grant, *none;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client_stats *stats;
    FIXTURE(f);
    ours = client_open_lock(&f.ours, "a");
    theirs = client_open_lock(&f.theirs, "a");
    for (int i = 0; i < 5; i++)
        pass(&f.ours, ours);
    pass_after_wait(&f, ours, theirs);
    grant = client_take(&f.theirs, theirs);
    assert_int_equal(hf_lock_try_acquire(ours, &none), HF_EBUSY);
    opts.wait_ms = 1;
    assert_int_equal(hf_lock_acquire(ours, &opts, &none), HF_ETIMEDOUT);
    assert_int_equal(client_give(&f.theirs, grant), HF_OK);

    stats = stats_of(&f.ours);
    assert_counts(stats->all, 6, 3, 2, 0, 0);
    assert_int_equal(stats->by_status[HF_OK], 6);
    assert_int_equal(stats->by_status[HF_EBUSY], 1);
    assert_int_equal(stats->by_status[HF_ETIMEDOUT], 1);
    assert_true(stats->status_count > HF_EREADONLY);
    assert_int_equal(stats->all->hold.count, 6);
    assert_int_equal(stats->all->handoff.count, 1);
    assert_int_equal(stats->name_count, 1);
    assert_counts(find(stats, "a"), 6, 3, 2, 0, 0);
    assert_counts(stats->others, 0, 0, 0, 0, 0);
    /* One at a time is measured, of 8 enqueues and 8 removals at the least. */
    assert_true(stats->round_trip.count > 0);
    hf_client_stats_free(stats);
    hf_lock_free(ours);
    hf_lock_free(theirs);
}

static bool is_revoked(void *arg)
{
    struct hf_client_stats *stats = stats_of(arg);
    bool revoked = stats->all->revoked == 1;

    hf_client_stats_free(stats);
    return revoked;
}

static bool is_lost(void *arg)
{
    struct hf_client_stats *stats = stats_of(arg);
    bool lost = stats->all->lost == 1;

    hf_client_stats_free(stats);
    return lost;
}

static void nothing(void *arg, struct hf_grant *grant)
{
    (void)arg;
    (void)grant;
}

/* A lost grant is held until its loss, and its release counts nothing more. */
TEST(losses_and_requests_to_release_are_counted)
{
    struct hf_lock *ours, *theirs;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client_stats *stats;
    struct outcome outcome;
    FIXTURE(f);
    ours = client_open_lock(&f.ours, "a");
    theirs = client_open_lock(&f.theirs, "a");
    opts.on_revoke.fn = nothing;
    client_acquire(&f.ours, ours, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(hf_lock_revoke(theirs, NULL, 10000), HF_OK);
    wait_until(is_revoked, &f.ours);
    client_directory_remove_tickets(&f.directory);
    wait_until(is_lost, &f.ours);
    assert_int_equal(client_give(&f.ours, outcome.grant), HF_ELOST);
    stats = stats_of(&f.ours);
    assert_counts(stats->all, 1, 0, 0, 1, 1);
    assert_counts(find(stats, "a"), 1, 0, 0, 1, 1);
    assert_int_equal(stats->all->hold.count, 1);
    hf_client_stats_free(stats);
    hf_lock_free(ours);
    hf_lock_free(theirs);
}

/* Once in all, and once for each name. */
TEST(several_locks_count_for_each_name)
{
    struct hf_lock *locks[2];
    struct hf_grant *grant;
    struct hf_client_stats *stats;
    FIXTURE(f);
    locks[0] = client_open_lock(&f.ours, "a");
    locks[1] = client_open_lock(&f.ours, "b");
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    stats = stats_of(&f.ours);
    assert_counts(stats->all, 1, 0, 0, 0, 0);
    assert_int_equal(stats->by_status[HF_OK], 1);
    assert_counts(find(stats, "a"), 1, 0, 0, 0, 0);
    assert_counts(find(stats, "b"), 1, 0, 0, 0, 0);
    assert_counts(stats->others, 0, 0, 0, 0, 0);
    hf_client_stats_free(stats);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
}

/* Each lock and unlock that is no recursive one is an acquire, also where
 * threads share a ticket. */
TEST(a_mutex_counts_as_its_lock)
{
    struct hf_client_stats *stats;
    struct hf_mutex *mutex;
    FIXTURE(f);
    assert_int_equal(hf_mutex_open(f.ours.client, "m", NULL, &mutex), HF_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_mutex_lock(mutex), HF_OK);
        assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    }
    hf_mutex_free(mutex);
    stats = stats_of(&f.ours);
    assert_counts(find(stats, "m"), 3, 0, 0, 0, 0);
    assert_int_equal(stats->all->hold.count, 3);
    hf_client_stats_free(stats);
}

/* ------------------------------------------------------------- by name -- */

/* Acquire and release ENTRIES + 1 locks once each. */
static void use_more_names_than_entries(struct metrics_fixture *f)
{
    char name[16];

    for (int i = 0; i <= ENTRIES; i++) {
        struct hf_lock *lock;

        (void)snprintf(name, sizeof(name), "n%d", i);
        lock = client_open_lock(&f->ours, name);
        pass(&f->ours, lock);
        hf_lock_free(lock);
    }
}

static uint64_t sum_of_names(const struct hf_client_stats *stats)
{
    uint64_t sum = stats->others->acquired;

    for (size_t i = 0; i < stats->name_count; i++)
        sum += stats->names[i]->acquired;
    return sum;
}

/* Names get numbers of their own as they come; when there are too many, only
 * waits make room for another one.  The sum stays the same. */
TEST(the_most_contended_names_have_numbers)
{
    struct hf_lock *ours, *theirs;
    struct hf_client_stats *stats;
    FIXTURE(f);
    use_more_names_than_entries(&f);
    stats = stats_of(&f.ours);
    assert_int_equal(stats->name_count, ENTRIES);
    assert_null(find(stats, "n64"));
    assert_int_equal(stats->others->acquired, 1);
    assert_int_equal(sum_of_names(stats), ENTRIES + 1);
    hf_client_stats_free(stats);

    ours = client_open_lock(&f.ours, "n64");
    theirs = client_open_lock(&f.theirs, "n64");
    pass_after_wait(&f, ours, theirs);
    pass(&f.ours, ours);
    stats = stats_of(&f.ours);
    assert_int_equal(stats->name_count, ENTRIES);
    assert_counts(find(stats, "n64"), 2, 1, 0, 0, 0);
    assert_int_equal(stats->others->acquired, 2); /* n64 once, and another */
    assert_int_equal(sum_of_names(stats), ENTRIES + 3);
    assert_int_equal(stats->all->acquired, ENTRIES + 3);
    hf_client_stats_free(stats);
    hf_lock_free(ours);
    hf_lock_free(theirs);
}

/* A name of up to 1024 bytes is cut, and two of them stay two. */
TEST(long_names_are_cut)
{
    struct hf_client_stats *stats;
    char name[512];
    FIXTURE(f);
    for (int i = 0; i < 2; i++) {
        struct hf_lock *lock;

        memset(name, 'x', sizeof(name) - 2);
        name[200] = name[400] = '/';
        (void)snprintf(name + sizeof(name) - 2, 2, "%d", i);
        lock = client_open_lock(&f.ours, name);
        pass(&f.ours, lock);
        hf_lock_free(lock);
    }
    stats = stats_of(&f.ours);
    assert_int_equal(stats->name_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(stats->names[i]->acquired, 1);
        assert_int_equal(strlen(stats->names[i]->name), 255);
    }
    hf_client_stats_free(stats);
}

/* Names below "user/" are one, and "secret" has none. */
static const char *fold_users(void *arg, const char *name)
{
    *(int *)arg += 1;
    if (strncmp(name, "user/", 5) == 0)
        return "user";
    return strcmp(name, "secret") == 0 ? NULL : name;
}

TEST(a_program_says_what_a_lock_is_called)
{
    static const char *const names[] = {"user/1", "user/2", "a", "secret"};
    struct metrics_fixture f;
    struct hf_client_stats *stats;
    int calls = 0;

    fixture_open_with(&f, (struct hf_metrics_name){fold_users, &calls});
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct hf_lock *lock = client_open_lock(&f.ours, names[i]);

        pass(&f.ours, lock);
        pass(&f.ours, lock);
        hf_lock_free(lock);
    }
    assert_int_equal(calls, 4);
    stats = stats_of(&f.ours);
    assert_int_equal(stats->name_count, 2);
    assert_counts(find(stats, "user"), 4, 0, 0, 0, 0);
    assert_counts(find(stats, "a"), 2, 0, 0, 0, 0);
    assert_counts(stats->others, 2, 0, 0, 0, 0);
    hf_client_stats_free(stats);
    fixture_close(&f);
}

/* ---------------------------------------------------------- the events -- */

/* The events of a client, which are reported in one callback at a time. */
struct events {
    _Atomic unsigned count;
    struct hf_lock_event of[16];
    char names[16][8];
};

static void record(void *arg, const struct hf_lock_event *event)
{
    struct events *events = arg;
    unsigned i = atomic_load(&events->count);

    assert_true(i < 16);
    events->of[i] = *event;
    (void)snprintf(events->names[i], sizeof(events->names[i]), "%s",
                   event->name);
    atomic_store(&events->count, i + 1);
}

static void open_with_events(struct metrics_fixture *f, struct events *events,
                             uint64_t metrics)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    memset(f, 0, sizeof(*f));
    memset(events, 0, sizeof(*events));
    client_directory_create(&f->directory);
    opts.on_event = (struct hf_on_event){record, events};
    opts.metrics = metrics;
    client_open_with(&f->ours, WAY_THREAD, f->directory.url, &opts);
    client_open(&f->theirs, WAY_THREAD, f->directory.url, no_listener);
}

/* The event ${i}, of a lock alone. */
static void assert_event(const struct events *events, unsigned i,
                         enum hf_lock_event_kind kind, hf_status status,
                         bool waited, bool has_token)
{
    const struct hf_lock_event *event = &events->of[i];

    assert_true(i < atomic_load(&events->count));
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->status, status);
    assert_int_equal(event->waited, waited);
    assert_int_equal(event->token != 0, has_token);
    assert_int_equal(event->index, 0);
    assert_int_equal(event->count, 1);
    assert_string_equal(events->names[i], "a");
}

/* Tries of ${ours} that find it held. */
static void fail_twice(struct metrics_fixture *f, struct hf_lock *ours,
                       struct hf_lock *theirs)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant = client_take(&f->theirs, theirs), *none;

    opts.wait_ms = 1;
    assert_int_equal(hf_lock_try_acquire(ours, &none), HF_EBUSY);
    assert_int_equal(hf_lock_acquire(ours, &opts, &none), HF_ETIMEDOUT);
    assert_int_equal(client_give(&f->theirs, grant), HF_OK);
}

static bool is_last_revoked(void *arg)
{
    struct events *events = arg;
    unsigned count = atomic_load(&events->count);

    return count > 0 && events->of[count - 1].kind == HF_LOCK_EVENT_REVOKED;
}

static bool is_last_lost(void *arg)
{
    struct events *events = arg;
    unsigned count = atomic_load(&events->count);

    return count > 0 && events->of[count - 1].kind == HF_LOCK_EVENT_LOST;
}

static bool has_two(void *arg)
{
    return atomic_load(&((struct events *)arg)->count) >= 2;
}

static bool has_four(void *arg)
{
    return atomic_load(&((struct events *)arg)->count) >= 4;
}

/* A grant of ${ours} that is asked to be released, and lost. */
static void lose_after_request(struct metrics_fixture *f, struct hf_lock *ours,
                               struct hf_lock *theirs, struct events *events)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.on_revoke.fn = nothing;
    client_acquire(&f->ours, ours, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(hf_lock_revoke(theirs, NULL, 10000), HF_OK);
    wait_until(is_last_revoked, events);
    client_directory_remove_tickets(&f->directory);
    wait_until(is_last_lost, events);
    assert_int_equal(client_give(&f->ours, outcome.grant), HF_ELOST);
}

/* ${metrics}: what is counted besides. */
static void check_events(uint64_t metrics)
{
    struct metrics_fixture f;
    struct events events;
    struct hf_lock *ours, *theirs;

    open_with_events(&f, &events, metrics);
    ours = client_open_lock(&f.ours, "/a");
    theirs = client_open_lock(&f.theirs, "a");
    fail_twice(&f, ours, theirs);
    pass(&f.ours, ours);
    pass_after_wait(&f, ours, theirs);
    lose_after_request(&f, ours, theirs, &events);
    assert_event(&events, 0, HF_LOCK_EVENT_FAILED, HF_EBUSY, true, false);
    assert_event(&events, 1, HF_LOCK_EVENT_FAILED, HF_ETIMEDOUT, true, false);
    assert_true(events.of[1].duration_us >= 1000);
    assert_event(&events, 2, HF_LOCK_EVENT_ACQUIRED, HF_OK, false, true);
    assert_event(&events, 3, HF_LOCK_EVENT_RELEASED, HF_OK, false, true);
    assert_event(&events, 4, HF_LOCK_EVENT_ACQUIRED, HF_OK, true, true);
    assert_true(events.of[4].duration_us > 0);
    assert_event(&events, 5, HF_LOCK_EVENT_RELEASED, HF_OK, false, true);
    assert_int_equal(events.of[5].token, events.of[4].token);
    assert_true(events.of[5].token > events.of[3].token);
    assert_event(&events, 6, HF_LOCK_EVENT_ACQUIRED, HF_OK, false, true);
    assert_event(&events, 7, HF_LOCK_EVENT_REVOKED, HF_OK, false, true);
    assert_event(&events, 8, HF_LOCK_EVENT_LOST, HF_OK, false, true);
    assert_int_equal(events.of[8].token, events.of[6].token);
    assert_true(events.of[8].duration_us > 0);
    hf_lock_free(ours);
    hf_lock_free(theirs);
    fixture_close(&f);
    assert_int_equal(atomic_load(&events.count), 9);
}

TEST(each_event_is_reported)
{
    check_events(HF_METRICS_NONE);
    check_events(HF_METRICS_COUNT);
}

TEST(several_locks_have_an_event_each)
{
    struct metrics_fixture f;
    struct events events;
    struct hf_lock *locks[2];
    struct hf_grant *grant;

    open_with_events(&f, &events, HF_METRICS_NONE);
    locks[0] = client_open_lock(&f.ours, "a");
    locks[1] = client_open_lock(&f.ours, "b");
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_OK);
    wait_until(has_two, &events);
    assert_int_equal(atomic_load(&events.count), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(events.of[i].kind, HF_LOCK_EVENT_ACQUIRED);
        assert_int_equal(events.of[i].index, i);
        assert_int_equal(events.of[i].count, 2);
        assert_string_equal(events.names[i], i == 0 ? "a" : "b");
        assert_int_equal(events.of[i].token,
                         hf_grant_token_of(grant, locks[i]));
    }
    assert_int_equal(hf_grant_release(grant), HF_OK);
    wait_until(has_four, &events);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    fixture_close(&f);
}

/* A client that is closed loses what it holds. */
TEST(elections_and_the_end_of_a_client_have_events)
{
    struct metrics_fixture f;
    struct events events;
    struct hf_election *election;
    struct hf_lock *lock;
    struct hf_grant *grant;
    uint64_t token;

    open_with_events(&f, &events, HF_METRICS_NONE);
    assert_int_equal(hf_election_open(f.ours.client, "a", NULL, &election),
                     HF_OK);
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    assert_int_equal(hf_election_wait(election, 10000), HF_OK);
    token = hf_election_token(election);
    assert_int_equal(hf_election_resign(election), HF_OK);
    wait_until(has_two, &events);
    assert_event(&events, 0, HF_LOCK_EVENT_ACQUIRED, HF_OK, false, true);
    assert_int_equal(events.of[0].token, token);
    assert_event(&events, 1, HF_LOCK_EVENT_RELEASED, HF_OK, false, true);
    hf_election_free(election);
    lock = client_open_lock(&f.ours, "a");
    grant = client_take(&f.ours, lock);
    fixture_close(&f);
    assert_event(&events, 3, HF_LOCK_EVENT_LOST, HF_OK, false, true);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    hf_lock_free(lock);
    assert_int_equal(atomic_load(&events.count), 4);
}

/* --------------------------------------------------------- the session -- */

struct scripted_fixture {
    struct client_fixture fixture;
    int pipe[2];
};

static bool command_is_read(void *arg)
{
    struct scripted_fixture *f = arg;
    int unread;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* Later calls take the client's lock, under which commands are executed. */
static void send_commands(struct scripted_fixture *f, const char *commands)
{
    for (; *commands != '\0'; commands++) {
        assert_int_equal(write(f->pipe[1], commands, 1), 1);
        client_wait_until(&f->fixture, command_is_read, f);
    }
}

/* c connects, s suspends, l loses the session. */
TEST(connections_and_sessions_are_counted)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client_stats *stats;
    struct scripted_fixture f = {.pipe = {-1, -1}};
    char url[64];

    assert_int_equal(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    (void)snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=10000",
                   f.pipe[0]);
    opts.metrics = HF_METRICS_COUNT;
    client_open_with(&f.fixture, WAY_THREAD, url, &opts);
    send_commands(&f, "cscscslc");
    stats = stats_of(&f.fixture);
    assert_int_equal(stats->reconnects, 3);
    assert_int_equal(stats->suspensions, 3);
    assert_int_equal(stats->sessions_lost, 1);
    hf_client_stats_free(stats);
    client_close(&f.fixture);
    close(f.pipe[0]);
    close(f.pipe[1]);
}

static uint64_t searches_cut(const struct client_fixture *fixture)
{
    struct hf_client_stats *stats = stats_of(fixture);
    uint64_t cut = stats->deadlock_searches_cut;

    hf_client_stats_free(stats);
    return cut;
}

static bool some_are_cut(void *arg)
{
    return searches_cut(arg) >= 2;
}

static void count_warning(void *arg, enum hf_log_level level, const char *line)
{
    atomic_uint *warnings = arg;

    (void)level;
    if (strstr(line, "look for a deadlock") != NULL)
        atomic_fetch_add(warnings, 1);
}

/* C: an owner that looks for a deadlock would have to read too much.  Each look
 * counts, and the first one is logged. */
TEST(looks_for_deadlocks_that_are_cut_are_counted)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_acquire_opts acquire = HF_ACQUIRE_OPTS_INIT;
    struct scripted_fixture f = {.pipe = {-1, -1}};
    atomic_uint warnings = 0;
    struct outcome outcome;
    struct hf_lock *held, *wanted;
    struct hf_grant *grant;
    char url[64], line[80];
    static struct text text;

    assert_int_equal(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    (void)snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=60000",
                   f.pipe[0]);
    opts.metrics = HF_METRICS_COUNT;
    opts.on_log = (struct hf_on_log){count_warning, &warnings, HF_LOG_WARNING};
    client_open_with(&f.fixture, WAY_THREAD, url, &opts);
    send_commands(&f, "cC");
    held = client_open_lock(&f.fixture, "held");
    wanted = client_open_lock(&f.fixture, "wanted");
    acquire.owner = 7;
    assert_int_equal(hf_lock_acquire(held, &acquire, &grant), HF_OK);
    acquire.detect_deadlock = true;
    client_acquire(&f.fixture, wanted, &acquire, &outcome);
    client_wait_until(&f.fixture, some_are_cut, &f.fixture);
    hf_op_cancel(outcome.op);
    client_await(&outcome); /* it looks no more */
    (void)snprintf(line, sizeof(line),
                   "\nholdfast_client_deadlock_searches_cut_total %" PRIu64
                   "\n",
                   searches_cut(&f.fixture));
    text = (struct text){.stops = false};
    assert_int_equal(
        hf_client_metrics_write(f.fixture.client,
                                (struct hf_metrics_write){collect, &text}),
        HF_OK);
    assert_non_null(strstr(text.text, line));
    assert_int_equal(client_give(&f.fixture, grant), HF_OK);
    hf_lock_free(held);
    hf_lock_free(wanted);
    client_close(&f.fixture);
    assert_int_equal(atomic_load(&warnings), 1);
    close(f.pipe[0]);
    close(f.pipe[1]);
}

/* ------------------------------------------------------- what is refused -- */

TEST(a_client_that_was_not_asked_counts_nothing)
{
    struct hf_client_stats *stats;
    FIXTURE(f);
    assert_int_equal(hf_client_stats(f.theirs.client, &stats), HF_ESTATE);
    assert_null(stats);
    assert_non_null(strstr(hf_last_error()->text, "HF_METRICS_COUNT"));
}

TEST(an_unknown_option_is_refused)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct client_directory directory;
    struct hf_client *client;

    client_directory_create(&directory);
    opts.metrics = 4;
    assert_int_equal(hf_client_open(directory.url, &opts, &client), HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "'metrics' is 4"));
    client_directory_remove(&directory);
}

/* ------------------------------------------------------------ the file -- */

/* The descriptor of this process that is a file in ${path}; -1: none. */
static int find_descriptor_in(const char *path)
{
    char link[32], target[256];

    for (int fd = 3; fd < 1000; fd++) {
        ssize_t bytes;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        bytes = readlink(link, target, sizeof(target) - 1);
        target[bytes > 0 ? bytes : 0] = '\0';
        if (strncmp(target, path, strlen(path)) == 0)
            return fd;
    }
    return -1;
}

/* A program closes what it did not open, and its next file gets the number. */
TEST(a_descriptor_that_became_another_file_is_not_written_to)
{
    char text[] = "/tmp/holdfast-text-XXXXXX";
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct client_directory locks, metrics;
    struct client_fixture fixture;
    struct hf_lock *lock;
    int fd, other = mkstemp(text);

    memset(&fixture, 0, sizeof(fixture));
    client_directory_create(&locks);
    client_directory_create(&metrics);
    assert_int_equal(setenv("HOLDFAST_METRICS_DIR", metrics.path, 1), 0);
    opts.metrics = HF_METRICS_DIR;
    client_open_with(&fixture, WAY_THREAD, locks.url, &opts);
    fd = find_descriptor_in(metrics.path);
    assert_true(fd >= 0 && other >= 0);
    assert_int_equal(dup2(other, fd), fd);
    lock = client_open_lock(&fixture, "a");
    pass(&fixture, lock);
    hf_lock_free(lock);
    client_close(&fixture);
    assert_int_equal(lseek(other, 0, SEEK_END), 0);
    assert_int_equal(fcntl(fd, F_GETFD), 0); /* it is the program's now */
    assert_int_equal(unsetenv("HOLDFAST_METRICS_DIR"), 0);
    close(fd);
    close(other);
    assert_int_equal(unlink(text), 0);
    client_directory_remove(&metrics);
    client_directory_remove(&locks);
}

/* tests/cli/test_metrics.py has the text read by a parser of others. */
TEST(the_text_ends_or_is_stopped)
{
    static struct text text;
    struct hf_lock *lock;
    FIXTURE(f);
    lock = client_open_lock(&f.ours, "a\"\\b");
    pass(&f.ours, lock);
    assert_int_equal(
        hf_client_metrics_write(f.ours.client,
                                (struct hf_metrics_write){collect, &text}),
        HF_OK);
    text.text[text.bytes] = '\0';
    assert_string_equal(text.text + text.bytes - 6, "# EOF\n");
    assert_non_null(strstr(text.text,
                           "\nholdfast_client_lock_acquires_total{name=\"a\\\""
                           "\\\\b\"} 1\n"));
    assert_true(text.calls > 1);
    text = (struct text){.stops = true};
    assert_int_equal(
        hf_client_metrics_write(f.ours.client,
                                (struct hf_metrics_write){collect, &text}),
        HF_ECANCELLED);
    assert_int_equal(text.calls, 1);
    hf_lock_free(lock);
}
