/* SPDX-License-Identifier: Apache-2.0 */
/* Several listeners of one client, added and removed at any time, on an engine
 * that obeys. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "scripted.h"

struct world;

/* One that writes down what it is told. */
struct ear {
    struct world *w;
    char name;
    struct hf_listener *listener;
    pthread_mutex_t gate; /* held, it makes its calls wait */
    char told[256];       /* the first letters of the states, but l is LOST */
    _Atomic int entered;
    _Atomic int count;
    _Atomic int drops;
    struct ear *removes; /* when it is called next */
    _Atomic int unread;  /* the most commands that were, when it was called */
};

#define EARS 3 /* the first is that of the options */

struct world {
    struct front front;
    int pipe[2];
    struct ear ears[EARS];
    char order[1024]; /* names, as they were called */
};

static void on_state(void *arg, enum hf_state state)
{
    static const char letters[] = "-CSlX";
    struct ear *ear = arg;
    struct ear *other = ear->removes;
    size_t length;
    int unread = 0;

    assert_int_equal(ioctl(ear->w->pipe[0], FIONREAD, &unread), 0);
    if (unread > atomic_load(&ear->unread))
        atomic_store(&ear->unread, unread);
    atomic_fetch_add(&ear->entered, 1);
    pthread_mutex_lock(&ear->gate);
    length = strlen(ear->told);
    assert_true(length + 1 < sizeof(ear->told));
    ear->told[length] = letters[state];
    strncat(ear->w->order, &ear->name, 1);
    pthread_mutex_unlock(&ear->gate);
    ear->removes = NULL;
    if (other != NULL) {
        hf_client_remove_listener(ear->w->front.client, other->listener);
        assert_int_equal(atomic_load(&other->drops), other != ear);
    }
    atomic_fetch_add(&ear->count, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct ear *)arg)->drops, 1);
}

static struct hf_on_state heard_by(struct ear *ear)
{
    return (struct hf_on_state){on_state, ear, on_drop};
}

static void add(struct world *w, int i)
{
    assert_int_equal(hf_client_add_listener(w->front.client,
                                            heard_by(&w->ears[i]),
                                            &w->ears[i].listener),
                     HF_OK);
    assert_non_null(w->ears[i].listener);
}

static void remove_one(struct world *w, int i)
{
    hf_client_remove_listener(w->front.client, w->ears[i].listener);
    assert_int_equal(atomic_load(&w->ears[i].drops), 1);
}

static void world_open(struct world *w, enum way way)
{
    char url[64];

    memset(w, 0, sizeof(*w));
    for (int i = 0; i < EARS; i++) {
        w->ears[i].w = w;
        w->ears[i].name = (char)('a' + i);
        pthread_mutex_init(&w->ears[i].gate, NULL);
    }
    assert_int_equal(pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", w->pipe[0]);
    front_open(&w->front, way, url, heard_by(&w->ears[0]));
}

/* Whoever was added has been dropped once. */
static void world_close(struct world *w)
{
    front_close(&w->front);
    close(w->pipe[0]);
    close(w->pipe[1]);
    for (int i = 0; i < EARS; i++) {
        assert_int_equal(atomic_load(&w->ears[i].drops),
                         i == 0 || w->ears[i].listener != NULL);
        pthread_mutex_destroy(&w->ears[i].gate);
    }
}

static void say(struct world *w, char command)
{
    assert_int_equal(write(w->pipe[1], &command, 1), 1);
}

struct hearing {
    struct ear *ear;
    int count;
};

static bool has_heard(void *arg)
{
    struct hearing *hearing = arg;

    return atomic_load(&hearing->ear->count) >= hearing->count;
}

static void expect(struct world *w, int i, const char *told)
{
    struct hearing hearing = {&w->ears[i], (int)strlen(told)};

    front_until(&w->front, has_heard, &hearing);
    assert_string_equal(w->ears[i].told, told);
}

/* ---------------------------------------------------------------------- */

static void each_hears_in_the_order_of_adding(enum way way)
{
    struct world w;

    world_open(&w, way);
    add(&w, 1);
    add(&w, 2);
    say(&w, SCRIPTED_CONNECT);
    for (int i = 0; i < EARS; i++)
        expect(&w, i, "C");
    say(&w, SCRIPTED_SUSPEND);
    for (int i = 0; i < EARS; i++)
        expect(&w, i, "CS");
    assert_string_equal(w.order, "abcabc");
    world_close(&w);
    for (int i = 0; i < EARS; i++)
        assert_string_equal(w.ears[i].told, "CSX");
}

/* Of the state there is already nobody is told. */
static void one_added_later_hears_what_comes(enum way way)
{
    struct world w;

    world_open(&w, way);
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 0, "C");
    add(&w, 1);
    assert_int_equal(hf_client_state(w.front.client), HF_STATE_CONNECTED);
    say(&w, SCRIPTED_SUSPEND);
    expect(&w, 0, "CS");
    expect(&w, 1, "S");
    world_close(&w);
}

static void one_removed_hears_no_more(enum way way)
{
    struct world w;

    world_open(&w, way);
    add(&w, 1);
    add(&w, 2);
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 1, "C");
    remove_one(&w, 1);
    say(&w, SCRIPTED_SUSPEND);
    expect(&w, 0, "CS");
    expect(&w, 2, "CS");
    assert_string_equal(w.ears[1].told, "C");
    hf_client_remove_listener(w.front.client, NULL);
    remove_one(&w, 2);
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 0, "CSC");
    assert_string_equal(w.ears[2].told, "CS");
    world_close(&w);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct ear *)arg)->drops) > 0;
}

static void one_removes_itself(enum way way)
{
    struct world w;

    world_open(&w, way);
    add(&w, 1);
    w.ears[1].removes = &w.ears[1];
    say(&w, SCRIPTED_CONNECT);
    front_until(&w.front, is_dropped, &w.ears[1]);
    say(&w, SCRIPTED_SUSPEND);
    expect(&w, 0, "CS");
    assert_string_equal(w.ears[1].told, "C");
    world_close(&w);
}

/* Whose turn would be next. */
static void one_removes_another(enum way way)
{
    struct world w;

    world_open(&w, way);
    add(&w, 1);
    add(&w, 2);
    w.ears[1].removes = &w.ears[2];
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 1, "C");
    say(&w, SCRIPTED_SUSPEND);
    expect(&w, 1, "CS");
    assert_string_equal(w.ears[2].told, "");
    world_close(&w);
}

/* The last thing that it hears. */
static void one_removes_itself_at_the_end(enum way way)
{
    struct world w;

    world_open(&w, way);
    add(&w, 1);
    add(&w, 2);
    w.ears[1].removes = &w.ears[1];
    world_close(&w);
    assert_string_equal(w.ears[1].told, "X");
    assert_string_equal(w.ears[2].told, "X");
}

#define STORIES(X)                                                             \
    X(each_hears_in_the_order_of_adding)                                       \
    X(one_added_later_hears_what_comes)                                        \
    X(one_removed_hears_no_more)                                               \
    X(one_removes_itself)                                                      \
    X(one_removes_another)                                                     \
    X(one_removes_itself_at_the_end)

#include "in_each_way.h"

/* ------------------------------------------------------------ a slow one -- */

static bool has_entered(void *arg)
{
    return atomic_load(&((struct ear *)arg)->entered) > 0;
}

static void *remove_main(void *arg)
{
    struct ear *ear = arg;

    hf_client_remove_listener(ear->w->front.client, ear->listener);
    assert_int_equal(atomic_load(&ear->count), 1);
    atomic_fetch_add(&ear->count, 1);
    return NULL;
}

static bool is_suspended(void *arg)
{
    struct world *w = arg;

    return hf_client_state(w->front.client) == HF_STATE_SUSPENDED;
}

static void removing_waits_for_a_call(void **state)
{
    struct world w;
    pthread_t thread;

    (void)state;
    world_open(&w, WAY_THREAD);
    add(&w, 1);
    pthread_mutex_lock(&w.ears[1].gate);
    say(&w, SCRIPTED_CONNECT);
    kit_until(has_entered, &w.ears[1]);
    thread = kit_thread(remove_main, &w.ears[1]);
    say(&w, SCRIPTED_SUSPEND); /* obeyed by the one who removes */
    kit_until(is_suspended, &w);
    assert_int_equal(atomic_load(&w.ears[1].count), 0);
    pthread_mutex_unlock(&w.ears[1].gate);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&w.ears[1].drops), 1);
    expect(&w, 0, "CS");
    assert_string_equal(w.ears[1].told, "C");
    world_close(&w);
}

static bool ends_connected(void *arg)
{
    struct ear *ear = arg;
    size_t length;
    bool does;

    pthread_mutex_lock(&ear->gate);
    length = strlen(ear->told);
    does = length > 0 && ear->told[length - 1] == 'C' &&
           strchr(ear->told, 'l') != NULL;
    pthread_mutex_unlock(&ear->gate);
    return does;
}

/* A hundred flaps and a LOST while the first of them is stuck. */
static void every_slow_one_hears_what_counts(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_THREAD);
    add(&w, 1);
    add(&w, 2);
    pthread_mutex_lock(&w.ears[0].gate);
    say(&w, SCRIPTED_CONNECT);
    for (int i = 0; i < 100; i++) {
        say(&w, i == 50 ? SCRIPTED_LOSE : SCRIPTED_SUSPEND);
        say(&w, SCRIPTED_CONNECT);
    }
    pthread_mutex_unlock(&w.ears[0].gate);
    for (int i = 0; i < EARS; i++)
        front_until(&w.front, ends_connected, &w.ears[i]);
    world_close(&w);
}

/* ------------------------------------------------------------ one dispatch --
 */

#define CHAIN 3

/* One that removes the last of those that wait, and begins what is answered at
 * once, by a callback that does so again. */
struct chain {
    struct world *w;
    struct hf_election *election;
    int links;
};

static void on_link(void *arg, const struct hf_result *result)
{
    struct chain *chain = arg;
    const struct hf_done done = {on_link, chain, NULL};

    assert_int_equal(result->status, HF_OK);
    if (++chain->links < CHAIN)
        assert_int_equal(hf_election_resign_start(chain->election, done),
                         HF_OK);
}

static void on_first(void *arg, enum hf_state state)
{
    struct chain *chain = arg;
    const struct hf_done done = {on_link, chain, NULL};

    if (state != HF_STATE_CONNECTED)
        return;
    hf_client_remove_listener(chain->w->front.client,
                              chain->w->ears[2].listener);
    assert_int_equal(hf_election_resign_start(chain->election, done), HF_OK);
}

static bool is_connected(void *arg)
{
    struct world *w = arg;

    return hf_client_state(w->front.client) == HF_STATE_CONNECTED;
}

/* What callbacks add is left for the next one, although the last of those that
 * there were is gone. */
static void a_dispatch_ends_with_what_there_was(void **state)
{
    struct world w;
    struct chain chain = {.w = &w};
    struct hf_on_state first = {on_first, &chain, NULL};
    struct hf_listener *listener;

    (void)state;
    world_open(&w, WAY_DISPATCH);
    assert_int_equal(
        hf_election_open(w.front.client, "crown", NULL, &chain.election),
        HF_OK);
    assert_int_equal(hf_client_add_listener(w.front.client, first, &listener),
                     HF_OK);
    add(&w, 2);
    say(&w, SCRIPTED_CONNECT);
    kit_until(is_connected, &w);
    for (int i = 0; i <= CHAIN; i++) {
        assert_int_equal(hf_client_dispatch(w.front.client), HF_OK);
        assert_int_equal(chain.links, i);
    }
    assert_string_equal(w.ears[2].told, "");
    hf_election_free(chain.election);
    world_close(&w);
}

/* ---------------------------------------------------------------- misuse -- */

static void one_without_a_function_is_refused(void **state)
{
    struct hf_on_state on_state = {NULL, NULL, on_drop};
    struct hf_listener *listener;
    struct hf_error error;
    struct world w;
    struct ear spare = {.drops = 0};

    (void)state;
    world_open(&w, WAY_THREAD);
    on_state.arg = &spare;
    assert_int_equal(
        hf_client_add_listener(w.front.client, on_state, &listener), HF_EINVAL);
    assert_null(listener);
    assert_int_equal(spare.drops, 1);
    hf_client_error(w.front.client, &error);
    assert_int_equal(error.status, HF_EINVAL);
    assert_string_equal(error.text,
                        "hf_client_add_listener: the callback is NULL, and "
                        "nobody would be notified; pass a function");
    world_close(&w);
}

static int in_child(void *arg)
{
    struct world *w = arg;
    struct hf_listener *listener = w->ears[1].listener;

    hf_client_remove_listener(w->front.client, listener);
    KIT_CHECK(atomic_load(&w->ears[1].drops) == 0);
    KIT_CHECK(hf_client_add_listener(w->front.client, heard_by(&w->ears[2]),
                                     &listener) == HF_EFORKED);
    KIT_CHECK(listener == NULL);
    KIT_CHECK(atomic_load(&w->ears[2].drops) == 1);
    return 0;
}

static void not_in_a_child(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, WAY_THREAD);
    add(&w, 1);
    kit_in_child(in_child, &w);
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 1, "C");
    world_close(&w);
}

/* The engine obeys one command in each turn of its loop. */
static void a_callback_does_not_wait_until_no_more_comes(void **state)
{
    static const char commands[] = "scscscscscscscscscscscscscscscscscscscsc";
    const int count = (int)sizeof(commands) - 1;
    struct world w;

    (void)state;
    world_open(&w, WAY_THREAD);
    add(&w, 1);
    say(&w, SCRIPTED_CONNECT);
    expect(&w, 1, "C");
    assert_int_equal(write(w.pipe[1], commands, (size_t)count), count);
    front_until(&w.front, has_heard, &(struct hearing){&w.ears[1], 2});
    assert_in_range(atomic_load(&w.ears[1].unread), count - 4, count);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(removing_waits_for_a_call),
        cmocka_unit_test(every_slow_one_hears_what_counts),
        cmocka_unit_test(a_dispatch_ends_with_what_there_was),
        cmocka_unit_test(one_without_a_function_is_refused),
        cmocka_unit_test(not_in_a_child),
        cmocka_unit_test(a_callback_does_not_wait_until_no_more_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
