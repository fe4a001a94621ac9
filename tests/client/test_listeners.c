/* SPDX-License-Identifier: Apache-2.0 */
/* Several listeners of one client, added and removed at any time, on the
 * scripted engine (src/operation/state_listener.c). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"
#include "scripted_engine.h"

struct listeners_fixture;

/* A listener that records the states it gets. */
struct client_listener {
    struct listeners_fixture *f;
    char name;
    struct hf_listener *listener;
    pthread_mutex_t callback_lock; /* a test that holds it makes calls wait */
    char received[256]; /* the first letters of the states, but l is LOST */
    _Atomic int started;
    _Atomic int count;
    _Atomic int drops;
    struct client_listener *removes; /* in its next call */
    _Atomic int unread; /* the most commands that were unread in a call */
};

#define LISTENERS 3 /* the first is the one of the options */

struct listeners_fixture {
    struct client_fixture fixture;
    int pipe[2];
    struct client_listener listeners[LISTENERS];
    char order[1024]; /* names, as they were called */
};

static void on_state(void *arg, enum hf_state state)
{
    static const char letters[] = "-CSlX";
    struct client_listener *test_listener = arg;
    struct client_listener *other = test_listener->removes;
    size_t length;
    int unread = 0;

    assert_int_equal(ioctl(test_listener->f->pipe[0], FIONREAD, &unread), 0);
    if (unread > atomic_load(&test_listener->unread))
        atomic_store(&test_listener->unread, unread);
    atomic_fetch_add(&test_listener->started, 1);
    pthread_mutex_lock(&test_listener->callback_lock);
    length = strlen(test_listener->received);
    assert_true(length + 1 < sizeof(test_listener->received));
    test_listener->received[length] = letters[state];
    strncat(test_listener->f->order, &test_listener->name, 1);
    pthread_mutex_unlock(&test_listener->callback_lock);
    test_listener->removes = NULL;
    if (other != NULL) {
        hf_client_remove_listener(test_listener->f->fixture.client,
                                  other->listener);
        assert_int_equal(atomic_load(&other->drops), other != test_listener);
    }
    atomic_fetch_add(&test_listener->count, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct client_listener *)arg)->drops, 1);
}

static struct hf_on_state callback_of(struct client_listener *test_listener)
{
    return (struct hf_on_state){on_state, test_listener, on_drop};
}

static void add(struct listeners_fixture *f, int i)
{
    assert_int_equal(hf_client_add_listener(f->fixture.client,
                                            callback_of(&f->listeners[i]),
                                            &f->listeners[i].listener),
                     HF_OK);
    assert_non_null(f->listeners[i].listener);
}

static void remove_one(struct listeners_fixture *f, int i)
{
    hf_client_remove_listener(f->fixture.client, f->listeners[i].listener);
    assert_int_equal(atomic_load(&f->listeners[i].drops), 1);
}

static void fixture_open(struct listeners_fixture *f, enum way way)
{
    char url[64];

    memset(f, 0, sizeof(*f));
    for (int i = 0; i < LISTENERS; i++) {
        f->listeners[i].f = f;
        f->listeners[i].name = (char)('a' + i);
        pthread_mutex_init(&f->listeners[i].callback_lock, NULL);
    }
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", f->pipe[0]);
    client_open(&f->fixture, way, url, callback_of(&f->listeners[0]));
}

/* Each listener that was added is dropped once. */
static void fixture_close(struct listeners_fixture *f)
{
    client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
    for (int i = 0; i < LISTENERS; i++) {
        assert_int_equal(atomic_load(&f->listeners[i].drops),
                         i == 0 || f->listeners[i].listener != NULL);
        pthread_mutex_destroy(&f->listeners[i].callback_lock);
    }
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct listeners_fixture f;                       \
    fixture_open(&f, way)

static void send_command(struct listeners_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

struct listener_expectation {
    struct client_listener *test_listener;
    int count;
};

static bool has_received(void *arg)
{
    struct listener_expectation *expectation = arg;

    return atomic_load(&expectation->test_listener->count) >=
           expectation->count;
}

static void expect(struct listeners_fixture *f, int i, const char *received)
{
    struct listener_expectation expectation = {&f->listeners[i],
                                               (int)strlen(received)};

    client_wait_until(&f->fixture, has_received, &expectation);
    assert_string_equal(f->listeners[i].received, received);
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(each_is_called_in_the_order_of_adding)
{
    struct listeners_fixture f;

    fixture_open(&f, way);
    add(&f, 1);
    add(&f, 2);
    send_command(&f, SCRIPTED_CONNECT);
    for (int i = 0; i < LISTENERS; i++)
        expect(&f, i, "C");
    send_command(&f, SCRIPTED_SUSPEND);
    for (int i = 0; i < LISTENERS; i++)
        expect(&f, i, "CS");
    assert_string_equal(f.order, "abcabc");
    fixture_close(&f);
    for (int i = 0; i < LISTENERS; i++)
        assert_string_equal(f.listeners[i].received, "CSX");
}

/* A listener does not get the state that it finds. */
TEST_IN_EACH_WAY(one_added_later_gets_later_states)
{
    FIXTURE(f, way);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 0, "C");
    add(&f, 1);
    assert_int_equal(hf_client_state(f.fixture.client), HF_STATE_CONNECTED);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f, 0, "CS");
    expect(&f, 1, "S");
}

TEST_IN_EACH_WAY(one_removed_is_not_called)
{
    FIXTURE(f, way);
    add(&f, 1);
    add(&f, 2);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 1, "C");
    remove_one(&f, 1);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f, 0, "CS");
    expect(&f, 2, "CS");
    assert_string_equal(f.listeners[1].received, "C");
    hf_client_remove_listener(f.fixture.client, NULL);
    remove_one(&f, 2);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 0, "CSC");
    assert_string_equal(f.listeners[2].received, "CS");
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct client_listener *)arg)->drops) > 0;
}

TEST_IN_EACH_WAY(one_removes_itself)
{
    FIXTURE(f, way);
    add(&f, 1);
    f.listeners[1].removes = &f.listeners[1];
    send_command(&f, SCRIPTED_CONNECT);
    client_wait_until(&f.fixture, is_dropped, &f.listeners[1]);
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f, 0, "CS");
    assert_string_equal(f.listeners[1].received, "C");
}

/* The one that would be called next. */
TEST_IN_EACH_WAY(one_removes_another)
{
    FIXTURE(f, way);
    add(&f, 1);
    add(&f, 2);
    f.listeners[1].removes = &f.listeners[2];
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 1, "C");
    send_command(&f, SCRIPTED_SUSPEND);
    expect(&f, 1, "CS");
    assert_string_equal(f.listeners[2].received, "");
}

/* In the last call of all. */
TEST_IN_EACH_WAY(one_removes_itself_at_the_end)
{
    struct listeners_fixture f;

    fixture_open(&f, way);
    add(&f, 1);
    add(&f, 2);
    f.listeners[1].removes = &f.listeners[1];
    fixture_close(&f);
    assert_string_equal(f.listeners[1].received, "X");
    assert_string_equal(f.listeners[2].received, "X");
}

/* -------------------------------------------------------- slow callbacks -- */

static bool has_started(void *arg)
{
    return atomic_load(&((struct client_listener *)arg)->started) > 0;
}

static void *remove_main(void *arg)
{
    struct client_listener *test_listener = arg;

    hf_client_remove_listener(test_listener->f->fixture.client,
                              test_listener->listener);
    assert_int_equal(atomic_load(&test_listener->count), 1);
    atomic_fetch_add(&test_listener->count, 1);
    return NULL;
}

static bool is_suspended(void *arg)
{
    struct listeners_fixture *f = arg;

    return hf_client_state(f->fixture.client) == HF_STATE_SUSPENDED;
}

TEST(removing_waits_for_a_call)
{
    pthread_t thread;
    FIXTURE(f, WAY_THREAD);
    add(&f, 1);
    pthread_mutex_lock(&f.listeners[1].callback_lock);
    send_command(&f, SCRIPTED_CONNECT);
    wait_until(has_started, &f.listeners[1]);
    thread = start_thread(remove_main, &f.listeners[1]);
    send_command(&f,
                 SCRIPTED_SUSPEND); /* executed by the thread that removes */
    wait_until(is_suspended, &f);
    assert_int_equal(atomic_load(&f.listeners[1].count), 0);
    pthread_mutex_unlock(&f.listeners[1].callback_lock);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&f.listeners[1].drops), 1);
    expect(&f, 0, "CS");
    assert_string_equal(f.listeners[1].received, "C");
}

static bool ends_connected(void *arg)
{
    struct client_listener *test_listener = arg;
    size_t length;
    bool does;

    pthread_mutex_lock(&test_listener->callback_lock);
    length = strlen(test_listener->received);
    does = length > 0 && test_listener->received[length - 1] == 'C' &&
           strchr(test_listener->received, 'l') != NULL;
    pthread_mutex_unlock(&test_listener->callback_lock);
    return does;
}

/* A hundred suspensions and one loss while the first listener is stuck. */
TEST(every_slow_one_gets_what_counts)
{
    FIXTURE(f, WAY_THREAD);
    add(&f, 1);
    add(&f, 2);
    pthread_mutex_lock(&f.listeners[0].callback_lock);
    send_command(&f, SCRIPTED_CONNECT);
    for (int i = 0; i < 100; i++) {
        send_command(&f, i == 50 ? SCRIPTED_LOSE : SCRIPTED_SUSPEND);
        send_command(&f, SCRIPTED_CONNECT);
    }
    pthread_mutex_unlock(&f.listeners[0].callback_lock);
    for (int i = 0; i < LISTENERS; i++)
        client_wait_until(&f.fixture, ends_connected, &f.listeners[i]);
}

/* ---------------------------------------------------------- one dispatch -- */

#define CHAIN 3

/* A listener that removes the last of those that wait, and starts an
 * operation that ends at once, whose callback does so again. */
struct callback_chain {
    struct listeners_fixture *f;
    struct hf_election *election;
    int links;
};

static void on_link(void *arg, const struct hf_result *result)
{
    struct callback_chain *callback_chain = arg;
    const struct hf_done done = {on_link, callback_chain, NULL};

    assert_int_equal(result->status, HF_OK);
    if (++callback_chain->links < CHAIN)
        assert_int_equal(
            hf_election_resign_start(callback_chain->election, done), HF_OK);
}

static void on_first(void *arg, enum hf_state state)
{
    struct callback_chain *callback_chain = arg;
    const struct hf_done done = {on_link, callback_chain, NULL};

    if (state != HF_STATE_CONNECTED)
        return;
    hf_client_remove_listener(callback_chain->f->fixture.client,
                              callback_chain->f->listeners[2].listener);
    assert_int_equal(hf_election_resign_start(callback_chain->election, done),
                     HF_OK);
}

static bool is_connected(void *arg)
{
    struct listeners_fixture *f = arg;

    return hf_client_state(f->fixture.client) == HF_STATE_CONNECTED;
}

/* Callbacks that are added during a dispatch wait for the next one, even if
 * the last of the old ones is gone. */
TEST(a_dispatch_ends_with_what_there_was)
{
    struct listeners_fixture f;
    struct callback_chain callback_chain = {.f = &f};
    struct hf_on_state first = {on_first, &callback_chain, NULL};
    struct hf_listener *listener;

    fixture_open(&f, WAY_DISPATCH);
    assert_int_equal(hf_election_open(f.fixture.client, "crown", NULL,
                                      &callback_chain.election),
                     HF_OK);
    assert_int_equal(hf_client_add_listener(f.fixture.client, first, &listener),
                     HF_OK);
    add(&f, 2);
    send_command(&f, SCRIPTED_CONNECT);
    wait_until(is_connected, &f);
    for (int i = 0; i <= CHAIN; i++) {
        assert_int_equal(hf_client_dispatch(f.fixture.client), HF_OK);
        assert_int_equal(callback_chain.links, i);
    }
    assert_string_equal(f.listeners[2].received, "");
    hf_election_free(callback_chain.election);
    fixture_close(&f);
}

/* ---------------------------------------------------------------- misuse -- */

TEST(one_without_a_function_is_refused)
{
    struct hf_on_state on_state = {NULL, NULL, on_drop};
    struct hf_listener *listener;
    struct client_listener spare = {.drops = 0};
    FIXTURE(f, WAY_THREAD);
    on_state.arg = &spare;
    assert_int_equal(
        hf_client_add_listener(f.fixture.client, on_state, &listener),
        HF_EINVAL);
    assert_null(listener);
    assert_int_equal(spare.drops, 1);
    assert_int_equal(hf_last_error()->status, HF_EINVAL);
    assert_string_equal(hf_last_error()->text,
                        "hf_client_add_listener: the callback is NULL, and "
                        "nobody would be notified; pass a function");
}

static int in_child(void *arg)
{
    struct listeners_fixture *f = arg;
    struct hf_listener *listener = f->listeners[1].listener;

    hf_client_remove_listener(f->fixture.client, listener);
    CHILD_CHECK(atomic_load(&f->listeners[1].drops) == 0);
    CHILD_CHECK(hf_client_add_listener(f->fixture.client,
                                       callback_of(&f->listeners[2]),
                                       &listener) == HF_EFORKED);
    CHILD_CHECK(listener == NULL);
    CHILD_CHECK(atomic_load(&f->listeners[2].drops) == 1);
    return 0;
}

TEST(not_in_a_child)
{
    FIXTURE(f, WAY_THREAD);
    add(&f, 1);
    run_in_child(in_child, &f);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 1, "C");
}

/* The engine executes one command in each turn of its loop. */
TEST(a_callback_does_not_wait_until_no_more_comes)
{
    static const char commands[] = "scscscscscscscscscscscscscscscscscscscsc";
    const int count = (int)sizeof(commands) - 1;
    FIXTURE(f, WAY_THREAD);
    add(&f, 1);
    send_command(&f, SCRIPTED_CONNECT);
    expect(&f, 1, "C");
    assert_int_equal(write(f.pipe[1], commands, (size_t)count), count);
    client_wait_until(&f.fixture, has_received,
                      &(struct listener_expectation){&f.listeners[1], 2});
    assert_in_range(atomic_load(&f.listeners[1].unread), count - 4, count);
}
