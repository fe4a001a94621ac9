/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL before each system call of the life of a ticket, and at random
 * moments among contenders.  And a counter that others truncate at such
 * moments, which kills nobody. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "conformance/real_host.h"
#include "core/admission.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

#define STEPS_MAX 128
#define CONTENDERS 6
#define ITERATIONS 400
#define KILLS 60
#define PIDS_MAX 256

/* ------------------------------------------------------ before each call -- */

struct ticket_life {
    const char *queue;
    unsigned step;
};

static void live(void *arg)
{
    const struct ticket_life *life = arg;
    struct hf_ticket_id id = fresh_id();
    struct engine_client *client;

    fault_die_at_call(life->step);
    client = client_open(&conformance_file);
    (void)client_enqueue(client, life->queue, id, HF_TICKET_MUTEX, "doomed");
    (void)client_ask(client, HF_REQUEST_WATCH, life->queue, id);
    (void)client_ask(client, HF_REQUEST_DESCRIBE, life->queue, id);
    (void)client_ask(client, HF_REQUEST_REMOVE, life->queue, id);
    client_close(client);
}

static uint64_t take_alone(const char *queue)
{
    struct engine_client *client = client_open(&conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_MUTEX, "");
    uint64_t token;

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->count, 1);
    token = request->tickets[0].token;
    client_close(client);
    return token;
}

static void fail_each_call_of(const char *queue)
{
    struct ticket_life life = {queue, 1};
    char path[CONFORMANCE_FILE_PATH_BYTES];
    uint64_t last = 0;
    int ended = SIGKILL;

    for (; ended == SIGKILL; life.step++) {
        pid_t pid = real_host_fork(live, &life);
        uint64_t token;

        assert_true(life.step < STEPS_MAX);
        assert_int_equal(waitpid(pid, &ended, 0), pid);
        token = take_alone(queue);
        assert_true(token > last);
        last = token;
        conformance_file_path(queue, path);
        assert_int_not_equal(access(path, F_OK),
                             0); /* nothing was left in it */
    }
    assert_int_equal(ended, 0);
    assert_true(life.step > 30);
}

FILE_TEST(a_kill_before_any_call_leaves_no_trace)
{
    fail_each_call_of("q");
}

FILE_TEST(nor_with_a_long_name)
{
    static char name[401];

    memset(name, 'n', sizeof(name) - 1);
    name[200] = '/';
    fail_each_call_of(name);
}

/* ---------------------------------------------------- among contenders -- */

struct kills_board {
    _Atomic int holder; /* a pid; 0: none */
    _Atomic uint64_t token;
    atomic_uint iterations;
    atomic_uint overlaps;
    atomic_uint disorders;
    atomic_uint failures;
    _Atomic int to_be_killed[PIDS_MAX]; /* set before the kill */
    atomic_uint to_be_killed_count;
};

static struct kills_board *board;

static bool is_to_be_killed(int pid)
{
    for (unsigned i = 0; i < atomic_load(&board->to_be_killed_count); i++)
        if (atomic_load(&board->to_be_killed[i]) == pid)
            return true;
    return false;
}

/* The critical section. */
static void hold_it(uint64_t token)
{
    int before = atomic_exchange(&board->holder, (int)getpid());

    if (before != 0 && !is_to_be_killed(before))
        atomic_fetch_add(&board->overlaps, 1);
    if (atomic_exchange(&board->token, token) >= token)
        atomic_fetch_add(&board->disorders, 1);
    for (unsigned i = 0; i < 20; i++)
        (void)getppid(); /* as long as others need to barge in */
    if (atomic_load(&board->holder) != (int)getpid())
        atomic_fetch_add(&board->overlaps, 1);
    atomic_store(&board->holder, 0);
    atomic_fetch_add(&board->iterations, 1);
}

/* Wait as the core does: watch the one ahead, and list again when it is gone.
 */
static bool wait_to_be_first(struct engine_client *client,
                             struct client_request *request,
                             struct hf_ticket_id id)
{
    for (unsigned i = 0; i < 100; i++) {
        struct hf_snapshot snapshot = {request->tickets, request->count,
                                       request->more};
        struct hf_admission admission =
            hf_admission_decide(&snapshot, &id, HF_TICKET_MUTEX);
        struct client_request *watch;

        if (admission.answer == HF_ADMITTED)
            return true;
        if (admission.answer != HF_WAIT_FOR)
            return false;
        watch =
            client_ask(client, HF_REQUEST_WATCH, "q", admission.nearest->id);
        if (!client_wait_gone(client, watch))
            return false;
        request = client_ask(client, HF_REQUEST_LIST, "q", id);
    }
    return false;
}

static void contend(void *arg)
{
    (void)arg;
    while (atomic_load(&board->iterations) < ITERATIONS) {
        struct engine_client *client = client_open(&conformance_file);

        for (unsigned i = 0; i < 5; i++) {
            struct hf_ticket_id id = fresh_id();
            struct client_request *request =
                client_enqueue(client, "q", id, HF_TICKET_MUTEX, "contender");

            if (request->answer == HF_EVENT_ENQUEUED &&
                wait_to_be_first(client, request, id))
                hold_it(client_request_find(request, id)->token);
            else
                atomic_fetch_add(&board->failures, 1);
            (void)client_ask(client, HF_REQUEST_REMOVE, "q", id);
        }
        client_close(client);
    }
}

/* Kill a contender at a moment that depends on how far all are. */
static void kill_and_replace(pid_t *pids, struct hf_random *random)
{
    pid_t *pid = &pids[hf_random_below(random, CONTENDERS)];
    unsigned count = atomic_load(&board->to_be_killed_count);

    assert_true(count < PIDS_MAX);
    atomic_store(&board->to_be_killed[count], (int)*pid);
    atomic_store(&board->to_be_killed_count, count + 1);
    assert_int_equal(kill(*pid, SIGKILL), 0);
    assert_int_equal(waitpid(*pid, NULL, 0), *pid);
    *pid = real_host_fork(contend, NULL);
}

FILE_TEST(one_at_a_time_whoever_is_killed)
{
    pid_t pids[CONTENDERS];
    struct hf_random random;
    int ended;

    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    hf_random_seed(&random, 56);
    for (unsigned i = 0; i < CONTENDERS; i++)
        pids[i] = real_host_fork(contend, NULL);
    for (unsigned i = 0; i < KILLS; i++) {
        unsigned goal = atomic_load(&board->iterations) +
                        (unsigned)hf_random_below(&random, 5);

        while (atomic_load(&board->iterations) < goal &&
               atomic_load(&board->iterations) < ITERATIONS) {
            for (unsigned who = 0; who < CONTENDERS; who++)
                test_check_child(pids[who]);
            (void)sched_yield();
        }
        kill_and_replace(pids, &random);
    }
    for (unsigned i = 0; i < CONTENDERS; i++) {
        assert_int_equal(waitpid(pids[i], &ended, 0), pids[i]);
        assert_int_equal(ended, 0);
    }
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->disorders), 0);
    assert_int_equal(atomic_load(&board->failures), 0);
    assert_true(atomic_load(&board->iterations) >= ITERATIONS);
    (void)munmap(board, sizeof(*board));
    (void)take_alone("q");
}

/* ------------------------------------------------ a counter is truncated -- */

/* What the children of a test have seen: the tokens, each as often as it was
 * given out. */
struct tokens_board {
    _Atomic uint64_t tokens[2 * STEPS_MAX];
    atomic_uint count;
    atomic_uint refused;
};

static struct tokens_board *tokens;
static unsigned calls_left; /* the counter is truncated before the last */

static int truncate_counter(void)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/counter", conformance_file_root());
    return truncate(path, 0);
}

static int truncate_before_call(const char *call)
{
    (void)call;
    if (--calls_left == 0)
        (void)truncate_counter();
    return 0;
}

/* A writer that becomes a reader. */
static void live_with_truncation(void *arg)
{
    struct hf_ticket_id id = fresh_id();
    struct engine_client *client;
    struct client_request *request;
    bool truncated;

    calls_left = *(unsigned *)arg;
    hf_file_sys_hook = truncate_before_call;
    client = client_open(&conformance_file);
    request = client_enqueue(client, "q", id, HF_TICKET_WRITE, "writer");
    if (request->answer == HF_EVENT_ENQUEUED) {
        atomic_store(&tokens->tokens[atomic_fetch_add(&tokens->count, 1)],
                     client_request_find(request, id)->token);
        (void)client_ask(client, HF_REQUEST_DOWNGRADE, "q", id);
        request = client_ask(client, HF_REQUEST_LIST, "q", id);
        assert_int_equal(request->answer, HF_EVENT_LISTED);
        assert_int_equal(request->count, 1);
    } else {
        atomic_fetch_add(&tokens->refused, 1);
    }
    (void)client_ask(client, HF_REQUEST_REMOVE, "q", id);
    hf_file_sys_hook = NULL;
    truncated = calls_left == 0 || calls_left > STEPS_MAX;
    client_close(client);
    if (!truncated)
        exit(1); /* past the last call */
}

/* In a root that others may write to: another one comes after each, too. */
FILE_TEST(a_truncation_before_any_call_kills_nobody)
{
    unsigned step = 1;
    int ended = 0;

    conformance_file_share();
    tokens = mmap(NULL, sizeof(*tokens), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(tokens != MAP_FAILED);
    for (; ended == 0; step++) {
        pid_t pid = real_host_fork(live_with_truncation, &step);
        uint64_t token;

        assert_true(step < STEPS_MAX);
        assert_int_equal(waitpid(pid, &ended, 0), pid);
        assert_true(WIFEXITED(ended));
        token = take_alone("q");
        for (unsigned i = 0; i < atomic_load(&tokens->count); i++)
            assert_true(atomic_load(&tokens->tokens[i]) < token);
        atomic_store(&tokens->tokens[atomic_fetch_add(&tokens->count, 1)],
                     token);
    }
    assert_true(step > 30);
    assert_int_equal(atomic_load(&tokens->refused), 0);
    (void)munmap(tokens, sizeof(*tokens));
}

static int truncate_now_and_then(const char *call)
{
    static atomic_uint calls; /* of two threads */

    (void)call;
    if (atomic_fetch_add(&calls, 1) % 61 == 60)
        (void)truncate_counter();
    return 0;
}

static void contend_and_truncate(void *arg)
{
    hf_file_sys_hook = truncate_now_and_then;
    contend(arg);
    hf_file_sys_hook = NULL;
}

/* Each of the contenders is the other user of the others.  A number that came
 * twice, or was too low, would be a disorder or an overlap. */
FILE_TEST(nor_does_one_at_any_moment)
{
    pid_t pids[CONTENDERS];
    int ended;

    conformance_file_share();
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    for (unsigned i = 0; i < CONTENDERS; i++)
        pids[i] = real_host_fork(contend_and_truncate, NULL);
    for (unsigned i = 0; i < CONTENDERS; i++) {
        assert_int_equal(waitpid(pids[i], &ended, 0), pids[i]);
        assert_int_equal(ended, 0);
    }
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->disorders), 0);
    assert_true(atomic_load(&board->iterations) >= ITERATIONS);
    (void)munmap(board, sizeof(*board));
}
