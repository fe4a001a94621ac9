/* SPDX-License-Identifier: Apache-2.0 */
/* A semaphore, used as the core uses it by processes that are killed at
 * random: never are more permits out than its limit, and none is lost. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
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

#define LOCKS "s" HF_QUEUE_LOCKS
#define LEASES "s" HF_QUEUE_LEASES
#define CONTENDERS 6
#define LIMIT 4
#define WEIGHT_MOST 3
#define ITERATIONS 400
#define KILLS 60
#define STEPS_MAX 200

/* The board has a byte for each contender: the permits that it holds, and
 * whether it is about to be killed.  Those of a killed contender do not
 * count. */
#define TO_BE_KILLED 0x80u
#define BYTE(who, value) ((uint64_t)(value) << 8 * (who))

struct semaphore_board {
    _Atomic uint64_t permits;
    atomic_uint iterations;
    atomic_uint most; /* permits out at one time */
    atomic_uint overdrafts;
    atomic_uint failures;
};

static struct semaphore_board *board;

static int begin(void **state)
{
    (void)state;
    conformance_file.begin(&conformance_file);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    assert_int_equal(munmap(board, sizeof(*board)), 0);
    conformance_file.finish(&conformance_file);
    return 0;
}

static unsigned permits_out(uint64_t permits)
{
    unsigned sum = 0;

    for (unsigned who = 0; who < CONTENDERS; who++) {
        unsigned byte = (unsigned)(permits >> 8 * who) & 0xff;

        if ((byte & TO_BE_KILLED) == 0)
            sum += byte;
    }
    return sum;
}

static void hold_them(unsigned who, uint32_t weight)
{
    uint64_t mine = BYTE(who, weight);
    unsigned out = permits_out(atomic_fetch_add(&board->permits, mine) + mine);
    unsigned most = atomic_load(&board->most);

    if (out > LIMIT)
        atomic_fetch_add(&board->overdrafts, 1);
    while (out > most &&
           !atomic_compare_exchange_weak(&board->most, &most, out))
        continue;
    for (unsigned i = 0; i < 20; i++)
        (void)sched_yield(); /* as long as others need to barge in */
    atomic_fetch_sub(&board->permits, mine);
    atomic_fetch_add(&board->iterations, 1);
}

/* Wait to be at the head of the locks. */
static bool wait_for_start(struct engine_client *client, struct hf_ticket_id id)
{
    struct client_request *request =
        client_enqueue(client, LOCKS, id, HF_TICKET_MUTEX, "contender");

    if (request->answer != HF_EVENT_ENQUEUED)
        return false;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        struct hf_snapshot snapshot = {request->tickets, request->count, 0};
        struct hf_admission admission =
            hf_admission_decide(&snapshot, &id, HF_TICKET_MUTEX);
        struct client_request *watch;

        if (admission.answer != HF_WAIT_FOR)
            return admission.answer == HF_ADMITTED;
        watch =
            client_ask(client, HF_REQUEST_WATCH, LOCKS, admission.nearest->id);
        if (!client_wait_gone(client, watch))
            return false;
        request = client_ask(client, HF_REQUEST_LIST, LOCKS, id);
    }
    return false;
}

/* Wait until the leases leave room for ${weight} permits. */
static bool wait_for_room(struct engine_client *client, uint32_t weight)
{
    struct hf_ticket_id nobody = {{0}};

    for (unsigned i = 0; i < STEPS_MAX; i++) {
        struct client_request *request =
            client_ask(client, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);
        struct hf_snapshot leases = {request->tickets, request->count, 0};

        if (request->answer != HF_EVENT_LISTED)
            return false;
        if (hf_admission_has_room(&leases, weight, LIMIT)) {
            client_forget(client, request);
            return true;
        }
        if (!client_wait_gone(client, request))
            return false;
    }
    return false;
}

static bool take_lease(struct engine_client *client, struct hf_ticket_id id,
                       uint32_t weight)
{
    struct client_request *request = client_lease(client, LEASES, id, weight);
    struct hf_snapshot leases = {request->tickets, request->count, 0};

    return request->answer == HF_EVENT_ENQUEUED &&
           hf_admission_decide_lease(&leases, &id, LIMIT).answer == HF_ADMITTED;
}

static void take_and_give_back(struct engine_client *client, unsigned who,
                               uint32_t weight)
{
    struct hf_ticket_id start = fresh_id();
    struct hf_ticket_id lease = fresh_id();
    bool taken = wait_for_start(client, start) &&
                 wait_for_room(client, weight) &&
                 take_lease(client, lease, weight);

    (void)client_ask(client, HF_REQUEST_REMOVE, LOCKS, start);
    if (taken)
        hold_them(who, weight);
    else
        atomic_fetch_add(&board->failures, 1);
    (void)client_ask(client, HF_REQUEST_REMOVE, LEASES, lease);
}

static void contend(void *arg)
{
    unsigned who = *(const unsigned *)arg;
    struct hf_random random;

    hf_random_seed(&random, (uint64_t)getpid());
    while (atomic_load(&board->iterations) < ITERATIONS) {
        struct engine_client *client = client_open(&conformance_file);

        for (unsigned i = 0; i < 3; i++)
            take_and_give_back(
                client, who,
                1 + (uint32_t)hf_random_below(&random, WEIGHT_MOST));
        client_close(client);
    }
}

static void kill_and_replace(pid_t *pids, struct hf_random *random)
{
    unsigned who = (unsigned)hf_random_below(random, CONTENDERS);

    atomic_fetch_or(&board->permits, BYTE(who, TO_BE_KILLED));
    assert_int_equal(kill(pids[who], SIGKILL), 0);
    assert_int_equal(waitpid(pids[who], NULL, 0), pids[who]);
    atomic_fetch_and(&board->permits, ~BYTE(who, 0xff));
    pids[who] = real_host_fork(contend, &who);
}

/* The tickets of killed contenders must not block the next client. */
static void expect_all_free(void)
{
    struct engine_client *client = client_open(&conformance_file);
    struct hf_ticket_id start = fresh_id();

    assert_true(wait_for_start(client, start));
    assert_true(wait_for_room(client, LIMIT));
    assert_true(take_lease(client, fresh_id(), LIMIT));
    client_close(client);
}

TEST_WITH(never_too_many_whoever_is_killed, begin, finish)
{
    pid_t pids[CONTENDERS];
    struct hf_random random;
    int ended;

    hf_random_seed(&random, 57);
    for (unsigned i = 0; i < CONTENDERS; i++)
        pids[i] = real_host_fork(contend, &i);
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
    assert_int_equal(atomic_load(&board->overdrafts), 0);
    assert_int_equal(atomic_load(&board->failures), 0);
    assert_int_equal(atomic_load(&board->most), LIMIT);
    expect_all_free();
}
