/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of the queues of a name, on the scripted engine, whose only queue has
 * any name, and on files (src/client/queue_watch.h). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/queue_watch.h>

#include "client/client.h"
#include "client/queue_watch.h"
#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"
#include "scripted_engine.h"

/* Longer than after a change a list is late. */
#define LATE_MS 100

/* A watch that records its events, each as a letter. */
struct recorded_watch {
    struct client_fixture *fixture;
    struct hf_queue_watch *watch;
    pthread_mutex_t callback_lock; /* a test that holds it makes calls wait */
    char received[256];            /* without gaps */
    _Atomic int started;
    _Atomic size_t count; /* of .received */
    _Atomic int gaps;
    char before_gap; /* the event before the last one */
    _Atomic int drops;
    bool frees; /* in its next call */
    hf_status why;
};

struct queue_watch_fixture {
    struct client_fixture fixture;
    int pipe[2];
    struct recorded_watch watch;
};

static void on_event(void *arg, const struct hf_queue_event *event)
{
    static const char letters[] = "?tcg~r-.!SRX";
    struct recorded_watch *recorded = arg;
    size_t count = atomic_load(&recorded->count);

    atomic_fetch_add(&recorded->started, 1);
    pthread_mutex_lock(&recorded->callback_lock);
    pthread_mutex_unlock(&recorded->callback_lock);
    assert_int_equal(event->ticket != NULL, event->kind <= HF_QUEUE_GONE);
    assert_int_equal(event->position != 0, event->kind < HF_QUEUE_GONE);
    assert_int_equal(event->why != NULL, event->kind == HF_QUEUE_ENDED);
    assert_true(event->at_ms != 0 && event->at_utc_ms != 0);
    if (event->kind == HF_QUEUE_GAP) {
        recorded->before_gap = '?';
        if (count > 0)
            recorded->before_gap = recorded->received[count - 1];
        atomic_fetch_add(&recorded->gaps, 1);
        return;
    }
    if (event->why != NULL) {
        recorded->why = event->why->status;
        assert_last_error(recorded->why, event->why->text);
    }
    if (recorded->frees) {
        hf_queue_watch_free(recorded->watch);
        recorded->watch = NULL;
        assert_int_equal(atomic_load(&recorded->drops), 0);
    }
    assert_true(count + 1 < sizeof recorded->received);
    recorded->received[count] = letters[event->kind];
    atomic_store(&recorded->count, count + 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct recorded_watch *)arg)->drops, 1);
}

static void recorded_init(struct recorded_watch *recorded,
                          struct client_fixture *fixture)
{
    memset(recorded, 0, sizeof *recorded);
    recorded->fixture = fixture;
    pthread_mutex_init(&recorded->callback_lock, NULL);
}

static hf_status open_watch(struct recorded_watch *recorded, const char *name,
                            uint64_t queues)
{
    struct hf_queue_watch_opts opts = HF_QUEUE_WATCH_OPTS_INIT;

    opts.queues = queues;
    return hf_queue_watch_open(
        recorded->fixture->client, name, &opts,
        (struct hf_on_queue_event){on_event, recorded, on_drop},
        &recorded->watch);
}

static void watch_queues(struct recorded_watch *recorded, uint64_t queues)
{
    assert_int_equal(open_watch(recorded, "a", queues), HF_OK);
    assert_non_null(recorded->watch);
}

static void free_watch(struct recorded_watch *recorded)
{
    hf_queue_watch_free(recorded->watch);
    recorded->watch = NULL;
    assert_int_equal(atomic_load(&recorded->drops), 1);
}

/* A client of the scripted engine, which has not connected. */
static void fixture_open(struct queue_watch_fixture *f, enum way way,
                         uint64_t connect_ms)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    char url[64];

    memset(f, 0, sizeof *f);
    recorded_init(&f->watch, &f->fixture);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof url, "scripted:?fd=%d&timeout=0", f->pipe[0]);
    opts.connect_ms = connect_ms;
    client_open_with(&f->fixture, way, url, &opts);
}

static void fixture_close(struct queue_watch_fixture *f)
{
    if (f->watch.watch != NULL)
        free_watch(&f->watch);
    if (f->fixture.client != NULL)
        client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

/* Waits for the first connection for as long as a test may take. */
#define CONNECT_MS 60000

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct queue_watch_fixture f;                     \
    fixture_open(&f, way, CONNECT_MS)

/* The same, connected, and with a watch of the empty ${queues}. */
#define WATCHED_FIXTURE(f, way, queues)                                        \
    FIXTURE(f, way);                                                           \
    begin_watch(&f, queues)

/* ----------------------------------------------------------------- steps -- */

static void send_commands(struct queue_watch_fixture *f, const char *commands)
{
    size_t count = strlen(commands);

    assert_int_equal(write(f->pipe[1], commands, count), count);
}

static void send_command(struct queue_watch_fixture *f, char command)
{
    const char commands[] = {command, '\0'};

    send_commands(f, commands);
}

static bool is_read(void *arg)
{
    const struct queue_watch_fixture *f = arg;
    int unread = 1;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* The engine has read all commands.  It executes each under the client's lock,
 * before it releases that. */
static void await_commands(struct queue_watch_fixture *f)
{
    struct hf_monitor *monitor = &f->fixture.client->monitor;

    client_wait_until(&f->fixture, is_read, f);
    hf_monitor_lock(monitor);
    hf_monitor_unlock(monitor);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_past(void *arg)
{
    return now_ms() >= *(uint64_t *)arg;
}

/* Until what has happened so far would be listed late. */
static void await_late(struct queue_watch_fixture *f)
{
    uint64_t late_at_ms = now_ms() + LATE_MS;

    client_wait_until(&f->fixture, is_past, &late_at_ms);
}

struct expectation {
    struct recorded_watch *recorded;
    size_t count;
};

static bool has_received(void *arg)
{
    const struct expectation *expectation = arg;

    return atomic_load(&expectation->recorded->count) >= expectation->count;
}

static bool has_started(void *arg)
{
    const struct expectation *expectation = arg;

    return atomic_load(&expectation->recorded->started) >=
           (int)expectation->count;
}

/* Event number ${count} is being handed out. */
static void await_call(struct recorded_watch *recorded, size_t count)
{
    struct expectation expectation = {recorded, count};

    client_wait_until(recorded->fixture, has_started, &expectation);
}

/* The state of ${recorded}, whose invariants hold. */
static enum hf_queue_watch_state state_of(struct recorded_watch *recorded)
{
    struct hf_monitor *monitor = &recorded->fixture->client->monitor;
    enum hf_queue_watch_state state;

    hf_monitor_lock(monitor);
    hf_queue_watch_check(recorded->watch);
    state = recorded->watch->state;
    hf_monitor_unlock(monitor);
    return state;
}

static bool is_idle(void *arg)
{
    return state_of(arg) == HF_QUEUE_WATCH_IDLE;
}

static bool is_listing(void *arg)
{
    return state_of(arg) == HF_QUEUE_WATCH_LISTING;
}

/* All events so far, without gaps. */
static void expect(struct recorded_watch *recorded, const char *received)
{
    struct expectation expectation = {recorded, strlen(received)};

    client_wait_until(recorded->fixture, has_received, &expectation);
    /* Not what is behind them: the next call writes there. */
    assert_int_equal(atomic_load(&recorded->count), strlen(received));
    assert_memory_equal(recorded->received, received, strlen(received));
    if (recorded->watch != NULL)
        (void)state_of(recorded);
}

/* The same, and no list is to come. */
static void expect_at_last(struct recorded_watch *recorded,
                           const char *received)
{
    expect(recorded, received);
    client_wait_until(recorded->fixture, is_idle, recorded);
    expect(recorded, received);
}

static void begin_watch(struct queue_watch_fixture *f, uint64_t queues)
{
    send_command(f, SCRIPTED_CONNECT);
    watch_queues(&f->watch, queues);
    expect(&f->watch, ".");
}

/* --------------------------------------------------------------- tickets -- */

TEST_IN_EACH_WAY(tickets_come_and_go)
{
    WATCHED_FIXTURE(f, way, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".g.");
    send_command(&f, SCRIPTED_UNBLOCK);
    expect(&f.watch, ".g.-.");
}

TEST(what_is_there_is_reported_first)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, SCRIPTED_BLOCK);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, "t.");
}

TEST(a_watch_may_begin_before_there_is_a_connection)
{
    FIXTURE(f, WAY_THREAD);
    watch_queues(&f.watch, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f.watch, ".");
}

TEST(participants_come_and_go)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_PARTICIPANTS);
    send_command(&f, SCRIPTED_FIRST_ENTERS);
    expect(&f.watch, ".c.");
    send_command(&f, SCRIPTED_FIRST_LEAVES);
    expect(&f.watch, ".c.-.");
}

/* Nothing has to be looked at, and nothing is begun. */
TEST(an_idle_watch_costs_nothing)
{
    struct hf_client *client;

    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_ALL);
    expect_at_last(&f.watch, ".");
    client = f.fixture.client;
    hf_monitor_lock(&client->monitor);
    assert_null(client->queue_watch_pauses.first);
    hf_monitor_unlock(&client->monitor);
}

/* --------------------------------------------------------------- outages -- */

TEST_WITH_CALLBACKS(after_an_outage_there_may_be_a_gap)
{
    WATCHED_FIXTURE(f, way, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_BLOCK);
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SRg.");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
    assert_int_equal(f.watch.before_gap, 'R');
}

TEST(a_lost_session_is_followed_by_another_watch)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_LOSE);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SR");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".SRg.");
}

/* The list has not come yet when the connection is lost. */
TEST(a_list_survives_an_outage)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_MUTE);
    send_command(&f, SCRIPTED_BLOCK);
    client_wait_until(&f.fixture, is_listing, &f.watch);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_ANSWER);
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SRg.");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
}

/* One queue is being listed when the session is lost, and with it the watch of
 * the other one: that is a change, from long before the list that follows.  The
 * check of the invariants sees that nothing of it is left for a later list. */
TEST(a_session_that_is_lost_during_a_list_has_one_gap)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK | HF_QUEUE_PARTICIPANTS);
    send_command(&f, SCRIPTED_MUTE);
    send_command(&f, SCRIPTED_BLOCK);
    client_wait_until(&f.fixture, is_listing, &f.watch);
    send_command(&f, SCRIPTED_LOSE);
    expect(&f.watch, ".S");
    await_late(&f);
    send_command(&f, SCRIPTED_ANSWER);
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SR");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
}

/* Each time it is lost it is one outage more, and one gap. */
TEST(outages_may_follow_each_other)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_LOSE); /* the same outage */
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SR");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".SRS");
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, ".SRSR");
    assert_int_equal(atomic_load(&f.watch.gaps), 2);
}

/* What is there at the first list is no gap: nothing was known before. */
static void watch_from_an_outage_on(char outage)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, outage);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, "S");
    send_command(&f, SCRIPTED_BLOCK);
    send_command(&f, SCRIPTED_CONNECT);
    expect_at_last(&f.watch, "SRt.");
    assert_int_equal(atomic_load(&f.watch.gaps), 0);
}

TEST(a_watch_may_begin_while_the_connection_is_lost)
{
    watch_from_an_outage_on(SCRIPTED_SUSPEND);
}

TEST(a_watch_may_begin_while_the_session_is_lost)
{
    watch_from_an_outage_on(SCRIPTED_LOSE);
}

/* While the callback runs nothing is listed, so nothing is kept for it either:
 * what comes and goes meanwhile is not seen, and that is said. */
TEST(a_slow_callback_has_a_gap)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    pthread_mutex_lock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_BLOCK);
    await_call(&f.watch, 2);
    for (int i = 0; i < 10; i++) {
        send_command(&f, SCRIPTED_UNBLOCK);
        send_command(&f, SCRIPTED_BLOCK);
    }
    await_commands(&f);
    await_late(&f);
    atomic_store(&f.watch.gaps, 0);
    pthread_mutex_unlock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_UNBLOCK);
    expect(&f.watch, ".g.-.");
    assert_true(atomic_load(&f.watch.gaps) > 0);
}

/* -------------------------------------------------------------- failures -- */

/* The least time between the failures number 1 and ${count} + 1. */
static uint64_t least_delay_ms(const struct hf_client *client, unsigned count)
{
    const struct hf_retry_policy *policy = &client->core.config.retry;
    uint64_t sum_ms = 0;

    for (unsigned i = 0; i < count; i++)
        sum_ms += hf_min_ms(policy->base_ms << i, policy->cap_ms) / 2;
    return sum_ms;
}

#define FAILURES 4

static bool has_failed(void *arg)
{
    struct recorded_watch *recorded = arg;
    struct hf_monitor *monitor = &recorded->fixture->client->monitor;
    uint32_t failures;

    hf_monitor_lock(monitor);
    failures = recorded->watch->failures;
    hf_monitor_unlock(monitor);
    return failures > FAILURES;
}

/* It is listed ever more seldom, and nothing of it is reported but one gap. */
TEST(without_memory_it_lists_later_each_time)
{
    uint64_t began_ms;

    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_NO_MEMORY);
    await_commands(&f);
    began_ms = now_ms();
    send_command(&f, SCRIPTED_BLOCK);
    client_wait_until(&f.fixture, has_failed, &f.watch);
    assert_true(now_ms() - began_ms >=
                least_delay_ms(f.fixture.client, FAILURES));
    expect(&f.watch, ".");
    assert_int_equal(atomic_load(&f.watch.gaps), 0);
    send_command(&f, SCRIPTED_MEMORY);
    expect_at_last(&f.watch, ".g.");
    assert_int_equal(atomic_load(&f.watch.gaps), 1);
    assert_int_equal(f.watch.watch->failures, 0);
}

TEST(without_memory_for_the_first_list_there_is_no_gap)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, SCRIPTED_NO_MEMORY);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_LOCK);
    client_wait_until(&f.fixture, has_failed, &f.watch);
    send_command(&f, SCRIPTED_MEMORY);
    expect_at_last(&f.watch, ".");
    assert_int_equal(atomic_load(&f.watch.gaps), 0);
}

TEST(a_queue_that_the_engine_does_not_have_is_left_out)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, SCRIPTED_NO_PARTICIPANTS);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_LOCK | HF_QUEUE_PARTICIPANTS);
    expect_at_last(&f.watch, ".");
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".g.");
}

TEST(a_watch_of_nothing_but_that_ends)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, SCRIPTED_NO_PARTICIPANTS);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_PARTICIPANTS);
    expect(&f.watch, "X");
    assert_int_equal(f.watch.why, HF_EUNSUPPORTED);
}

/* Else its tickets would seem to stay for ever. */
TEST(a_queue_that_was_listed_is_not_left_out)
{
    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK | HF_QUEUE_PARTICIPANTS);
    send_command(&f, SCRIPTED_NO_PARTICIPANTS);
    send_command(&f, SCRIPTED_FIRST_ENTERS);
    expect(&f.watch, ".X");
    assert_int_equal(f.watch.why, HF_EUNSUPPORTED);
}

/* ------------------------------------------------------------------ ends -- */

TEST_WITH_CALLBACKS(a_close_ends_it)
{
    WATCHED_FIXTURE(f, way, HF_QUEUE_LOCK);
    client_close(&f.fixture);
    f.fixture.client = NULL;
    assert_string_equal(f.watch.received, ".X");
    assert_int_equal(f.watch.why, HF_ECLOSED);
}

TEST(without_a_connection_it_ends)
{
    CLOSED_BY(fixture_close) struct queue_watch_fixture f;

    fixture_open(&f, WAY_THREAD, 10);
    watch_queues(&f.watch, HF_QUEUE_ALL);
    expect(&f.watch, "X");
    assert_int_equal(f.watch.why, HF_EUNREACHABLE);
}

/* What the server is refused for says nothing of the queue that was asked for,
 * which must not be left out. */
TEST(a_client_that_gives_up_ends_it)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    send_command(&f, SCRIPTED_MUTE);
    await_commands(&f);
    watch_queues(&f.watch, HF_QUEUE_ALL);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, "S");
    send_command(&f, SCRIPTED_GIVE_UP);
    expect(&f.watch, "SX");
    assert_int_equal(f.watch.why, HF_EUNSUPPORTED);
}

TEST_WITH_CALLBACKS(it_may_be_freed_in_its_callback)
{
    WATCHED_FIXTURE(f, way, HF_QUEUE_LOCK);
    f.watch.frees = true;
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".g");
    f.watch.frees = false;
    send_command(&f, SCRIPTED_UNBLOCK);
    await_commands(&f);
    assert_string_equal(f.watch.received, ".g");
    assert_int_equal(atomic_load(&f.watch.drops), 1);
}

static void *free_main(void *arg)
{
    free_watch(arg);
    return NULL;
}

TEST(freeing_waits_for_a_call)
{
    pthread_t thread;

    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    pthread_mutex_lock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_BLOCK);
    await_call(&f.watch, 2);
    thread = start_thread(free_main, &f.watch);
    send_command(&f, SCRIPTED_UNBLOCK); /* executed by the thread that frees */
    client_wait_until(&f.fixture, is_read, &f);
    assert_int_equal(atomic_load(&f.watch.drops), 0);
    pthread_mutex_unlock(&f.watch.callback_lock);
    pthread_join(thread, NULL);
    assert_string_equal(f.watch.received, ".g");
}

TEST(it_may_be_freed_at_any_time)
{
    FIXTURE(f, WAY_THREAD);
    watch_queues(&f.watch, HF_QUEUE_ALL); /* before there is a connection */
    free_watch(&f.watch);
    send_command(&f, SCRIPTED_CONNECT);
    atomic_store(&f.watch.drops, 0);
    watch_queues(&f.watch, HF_QUEUE_ALL); /* while it is listed */
    free_watch(&f.watch);
    hf_queue_watch_free(NULL);
}

TEST(what_makes_no_sense_is_refused)
{
    struct hf_queue_watch_opts no_size = {.queues = HF_QUEUE_LOCK};

    FIXTURE(f, WAY_THREAD);
    assert_int_equal(open_watch(&f.watch, "a", 8), HF_EINVAL);
    assert_null(f.watch.watch);
    assert_int_equal(atomic_load(&f.watch.drops), 1);
    assert_int_equal(open_watch(&f.watch, "a//b", HF_QUEUE_ALL), HF_ENAME);
    assert_null(f.watch.watch);
    assert_int_equal(atomic_load(&f.watch.drops), 2);
    assert_int_equal(
        hf_queue_watch_open(f.fixture.client, "a", NULL,
                            (struct hf_on_queue_event){NULL, NULL, NULL},
                            &f.watch.watch),
        HF_EINVAL);
    assert_null(f.watch.watch);
    assert_int_equal(hf_queue_watch_open(f.fixture.client, "a", &no_size,
                                         (struct hf_on_queue_event){
                                             on_event, &f.watch, on_drop},
                                         &f.watch.watch),
                     HF_EINVAL);
    assert_null(f.watch.watch);
    assert_int_equal(atomic_load(&f.watch.drops), 3);
}

/* In the child nothing of it may be touched, and the parent's goes on. */
TEST(a_child_of_a_fork_has_none)
{
    struct recorded_watch other;
    pid_t child;
    int status;

    WATCHED_FIXTURE(f, WAY_THREAD, HF_QUEUE_LOCK);
    recorded_init(&other, &f.fixture);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool refused = open_watch(&other, "a", HF_QUEUE_ALL) == HF_EFORKED &&
                       other.watch == NULL && other.drops == 1;

        hf_queue_watch_free(f.watch.watch);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".g.");
}

/* ----------------------------------------------------------------- files -- */

TEST(files_are_watched)
{
    struct client_directory directory;
    struct client_fixture a, b;
    struct recorded_watch watch;
    struct hf_grant *grant;
    struct hf_lock *lock;

    hosts_open(&directory, &a, &b, WAY_THREAD);
    recorded_init(&watch, &a);
    lock = client_open_lock(&b, "a");
    grant = client_take(&b, lock);
    watch_queues(&watch, HF_QUEUE_ALL);
    expect(&watch, "t.");
    assert_int_equal(client_give(&b, grant), HF_OK);
    expect(&watch, "t.-.");
    free_watch(&watch);
    hf_lock_free(lock);
    hosts_close(&directory, &a, &b);
}
