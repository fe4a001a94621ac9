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
    static const char letters[] = "?tcg~a-.!SRX";
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

static hf_status open_watch(struct recorded_watch *recorded, unsigned parts)
{
    return hf_queue_watch_open(
        recorded->fixture->client, "a", parts,
        (struct hf_on_queue_event){on_event, recorded, on_drop},
        &recorded->watch);
}

static void watch_parts(struct recorded_watch *recorded, unsigned parts)
{
    assert_int_equal(open_watch(recorded, parts), HF_OK);
    assert_non_null(recorded->watch);
}

static void free_watch(struct recorded_watch *recorded)
{
    hf_queue_watch_free(recorded->watch);
    recorded->watch = NULL;
    assert_int_equal(atomic_load(&recorded->drops), 1);
}

static void fixture_open(struct queue_watch_fixture *f, enum way way)
{
    char url[64];

    memset(f, 0, sizeof *f);
    recorded_init(&f->watch, &f->fixture);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof url, "scripted:?fd=%d&timeout=0", f->pipe[0]);
    client_open(&f->fixture, way, url, no_listener);
}

static void fixture_close(struct queue_watch_fixture *f)
{
    if (f->watch.watch != NULL)
        free_watch(&f->watch);
    client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct queue_watch_fixture f;                     \
    fixture_open(&f, way)

static void send_command(struct queue_watch_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
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

/* All events so far, without gaps. */
static void expect(struct recorded_watch *recorded, const char *received)
{
    struct expectation expectation = {recorded, strlen(received)};

    client_wait_until(recorded->fixture, has_received, &expectation);
    /* Not what is behind them: the next call writes there. */
    assert_int_equal(atomic_load(&recorded->count), strlen(received));
    assert_memory_equal(recorded->received, received, strlen(received));
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(tickets_come_and_go)
{
    FIXTURE(f, way);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
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
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, "t.");
}

TEST(a_watch_may_begin_before_there_is_a_connection)
{
    FIXTURE(f, WAY_THREAD);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f.watch, ".");
}

TEST(participants_come_and_go)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_PARTICIPANTS);
    expect(&f.watch, ".");
    send_command(&f, SCRIPTED_FIRST_ENTERS);
    expect(&f.watch, ".c.");
    send_command(&f, SCRIPTED_FIRST_LEAVES);
    expect(&f.watch, ".c.-.");
}

TEST_WITH_CALLBACKS(after_an_outage_there_may_be_a_gap)
{
    FIXTURE(f, way);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_BLOCK);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f.watch, ".SRg.");
    assert_true(atomic_load(&f.watch.gaps) > 0);
    assert_int_equal(f.watch.before_gap, 'R');
}

TEST(a_lost_session_is_followed_by_another_watch)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    send_command(&f, SCRIPTED_LOSE);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f.watch, ".SR");
    assert_true(atomic_load(&f.watch.gaps) > 0);
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".SRg.");
}

/* The list has not come yet when the connection is lost. */
TEST(a_list_survives_an_outage)
{
    FIXTURE(f, WAY_THREAD);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    send_command(&f, SCRIPTED_MUTE);
    send_command(&f, SCRIPTED_BLOCK);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f.watch, ".S");
    send_command(&f, SCRIPTED_ANSWER);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f.watch, ".SRg.");
}

static bool has_started(void *arg)
{
    const struct expectation *expectation = arg;

    return atomic_load(&expectation->recorded->started) >=
           (int)expectation->count;
}

static bool is_read(void *arg)
{
    const struct queue_watch_fixture *f = arg;
    int unread = 1;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
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

/* While the callback runs nothing is listed, so nothing is kept for it either:
 * what comes and goes meanwhile is not seen, and that is said. */
TEST(a_slow_callback_has_a_gap)
{
    struct expectation first = {.count = 2};
    uint64_t late_at_ms;

    FIXTURE(f, WAY_THREAD);
    first.recorded = &f.watch;
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    pthread_mutex_lock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_BLOCK);
    client_wait_until(&f.fixture, has_started, &first);
    for (int i = 0; i < 10; i++) {
        send_command(&f, SCRIPTED_UNBLOCK);
        send_command(&f, SCRIPTED_BLOCK);
    }
    client_wait_until(&f.fixture, is_read, &f);
    late_at_ms = now_ms() + LATE_MS;
    client_wait_until(&f.fixture, is_past, &late_at_ms);
    atomic_store(&f.watch.gaps, 0);
    pthread_mutex_unlock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_UNBLOCK);
    expect(&f.watch, ".g.-.");
    assert_true(atomic_load(&f.watch.gaps) > 0);
}

/* ------------------------------------------------------------------ ends -- */

TEST_WITH_CALLBACKS(a_close_ends_it)
{
    struct queue_watch_fixture f;

    fixture_open(&f, way);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    client_close(&f.fixture);
    assert_string_equal(f.watch.received, ".X");
    assert_int_equal(f.watch.why, HF_ECLOSED);
    free_watch(&f.watch);
    close(f.pipe[0]);
    close(f.pipe[1]);
}

TEST(without_a_connection_it_ends)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct queue_watch_fixture f;
    char url[64];

    memset(&f, 0, sizeof f);
    recorded_init(&f.watch, &f.fixture);
    assert_int_equal(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof url, "scripted:?fd=%d&timeout=0", f.pipe[0]);
    opts.connect_ms = 10;
    client_open_with(&f.fixture, WAY_THREAD, url, &opts);
    watch_parts(&f.watch, HF_QUEUE_ALL);
    expect(&f.watch, "X");
    assert_int_equal(f.watch.why, HF_EUNREACHABLE);
    fixture_close(&f);
}

TEST_WITH_CALLBACKS(it_may_be_freed_in_its_callback)
{
    FIXTURE(f, way);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    f.watch.frees = true;
    send_command(&f, SCRIPTED_BLOCK);
    expect(&f.watch, ".g");
    f.watch.frees = false;
    send_command(&f, SCRIPTED_UNBLOCK);
    client_wait_until(&f.fixture, is_read, &f);
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
    struct expectation second = {.count = 2};
    pthread_t thread;

    FIXTURE(f, WAY_THREAD);
    second.recorded = &f.watch;
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    pthread_mutex_lock(&f.watch.callback_lock);
    send_command(&f, SCRIPTED_BLOCK);
    client_wait_until(&f.fixture, has_started, &second);
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
    watch_parts(&f.watch, HF_QUEUE_ALL); /* before there is a connection */
    free_watch(&f.watch);
    send_command(&f, SCRIPTED_CONNECT);
    atomic_store(&f.watch.drops, 0);
    watch_parts(&f.watch, HF_QUEUE_ALL); /* while it is listed */
    free_watch(&f.watch);
    hf_queue_watch_free(NULL);
}

TEST(what_makes_no_sense_is_refused)
{
    FIXTURE(f, WAY_THREAD);
    assert_int_equal(open_watch(&f.watch, 8), HF_EINVAL);
    assert_null(f.watch.watch);
    assert_int_equal(atomic_load(&f.watch.drops), 1);
    assert_int_equal(
        hf_queue_watch_open(f.fixture.client, "a", HF_QUEUE_ALL,
                            (struct hf_on_queue_event){NULL, NULL, NULL},
                            &f.watch.watch),
        HF_EINVAL);
    assert_int_equal(hf_queue_watch_open(f.fixture.client, "a//b", HF_QUEUE_ALL,
                                         (struct hf_on_queue_event){
                                             on_event, &f.watch, on_drop},
                                         &f.watch.watch),
                     HF_ENAME);
    assert_int_equal(atomic_load(&f.watch.drops), 2);
}

/* In the child nothing of it may be touched, and the parent's goes on. */
TEST(a_child_of_a_fork_has_none)
{
    struct recorded_watch other;
    pid_t child;
    int status;

    FIXTURE(f, WAY_THREAD);
    recorded_init(&other, &f.fixture);
    send_command(&f, SCRIPTED_CONNECT);
    watch_parts(&f.watch, HF_QUEUE_LOCK);
    expect(&f.watch, ".");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool refused = open_watch(&other, HF_QUEUE_ALL) == HF_EFORKED &&
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
    watch_parts(&watch, HF_QUEUE_ALL);
    expect(&watch, "t.");
    assert_int_equal(client_give(&b, grant), HF_OK);
    expect(&watch, "t.-.");
    free_watch(&watch);
    hf_lock_free(lock);
    hosts_close(&directory, &a, &b);
}
