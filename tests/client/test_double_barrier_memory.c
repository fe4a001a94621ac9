/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation at a double barrier fails, one after the other: each call
 * returns a status and sets an error text, every callback is called and
 * dropped, and nothing is left. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocation_faults.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "scripted_engine.h"

struct participant_fixture {
    int pipe[2];
    struct hf_client *client;
    struct hf_double_barrier *barrier;
    _Atomic int ended;
    _Atomic int dropped;
    _Atomic hf_status status;
};

static void send_command(struct participant_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

/* A barrier for two, where the other one is inside. */
static bool fixture_open(struct participant_fixture *f, char other)
{
    char url[64];

    memset(f, 0, sizeof(*f));
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", f->pipe[0]);
    send_command(f, SCRIPTED_CONNECT);
    send_command(f, other);
    if (!status_is_expected(hf_client_open(url, NULL, &f->client)))
        return false;
    if (status_is_expected(
            hf_double_barrier_open(f->client, "round", 2, &f->barrier)))
        return true;
    assert_null(f->barrier);
    assert_int_equal(hf_last_error()->status, HF_ENOMEM);
    return false;
}

static void fixture_close(struct participant_fixture *f)
{
    hf_double_barrier_free(f->barrier);
    assert_int_equal(hf_client_close(f->client), HF_OK);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

static bool check_status(const char *call, hf_status status)
{
    if (status_is_expected(status))
        return true;
    assert_int_equal(hf_last_error()->status, status);
    assert_non_null(strstr(hf_last_error()->text, call));
    return false;
}

/* --------------------------------------------------------------- waiting -- */

/* If the other one leaves later, this one must wait for it. */
static void enter_and_leave(struct participant_fixture *f, char other_leaves)
{
    hf_status status;

    if (!check_status(
            "hf_double_barrier_enter: ",
            hf_double_barrier_enter(f->barrier, allocation_wait_ms())))
        return;
    status = hf_double_barrier_leave(f->barrier, 0);
    assert_int_not_equal(status, HF_OK);
    if (status != HF_EBUSY)
        (void)check_status("hf_double_barrier_leave: ", status);
    assert_int_equal(hf_double_barrier_leave(f->barrier, 0), HF_ESTATE);
    send_command(f, other_leaves);
}

static void waiting(const struct client_directory *directory)
{
    struct participant_fixture f;

    (void)directory;
    if (fixture_open(&f, SCRIPTED_FIRST_ENTERS))
        enter_and_leave(&f, SCRIPTED_FIRST_LEAVES);
    fixture_close(&f);
    if (fixture_open(&f, SCRIPTED_LAST_ENTERS))
        enter_and_leave(&f, SCRIPTED_LAST_LEAVES);
    fixture_close(&f);
}

/* --------------------------------------------------------------- started -- */

static void on_done(void *arg, const struct hf_result *result)
{
    struct participant_fixture *f = arg;

    assert_true(result->status == HF_OK || result->text[0] != '\0');
    f->status = result->status;
    atomic_fetch_add(&f->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct participant_fixture *)arg)->dropped, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct participant_fixture *)arg)->dropped) > 0;
}

/* True if the call started and its operation succeeded.  The callback is
 * dropped in any case. */
static bool is_called_back(struct participant_fixture *f, const char *call,
                           hf_status started, struct hf_op *op)
{
    bool begun = check_status(call, started);

    wait_until(is_dropped, f);
    assert_int_equal(atomic_exchange(&f->dropped, 0), 1);
    assert_int_equal(atomic_exchange(&f->ended, 0), begun);
    assert_true(begun || op == NULL);
    hf_op_free(op);
    return begun && status_is_expected(f->status);
}

static void start_enter_and_leave(struct participant_fixture *f,
                                  char other_leaves)
{
    struct hf_done done = {on_done, f, on_drop};
    struct hf_op *op;
    hf_status started;

    started = hf_double_barrier_enter_start(f->barrier, allocation_wait_ms(),
                                            done, &op);
    if (!is_called_back(f, "hf_double_barrier_enter_start: ", started, op))
        return;
    started = hf_double_barrier_leave_start(f->barrier, allocation_wait_ms(),
                                            done, &op);
    send_command(f, other_leaves);
    (void)is_called_back(f, "hf_double_barrier_leave_start: ", started, op);
    assert_int_equal(hf_double_barrier_leave(f->barrier, 0), HF_ESTATE);
}

static void starting(const struct client_directory *directory)
{
    struct participant_fixture f;

    (void)directory;
    if (fixture_open(&f, SCRIPTED_FIRST_ENTERS))
        start_enter_and_leave(&f, SCRIPTED_FIRST_LEAVES);
    fixture_close(&f);
    if (fixture_open(&f, SCRIPTED_LAST_ENTERS))
        start_enter_and_leave(&f, SCRIPTED_LAST_LEAVES);
    fixture_close(&f);
}

/* ------------------------------------------------------------- the sweep -- */

EACH_ALLOCATION_FAILS(each_fails_while_waiting, all_fail_while_waiting, waiting)
EACH_ALLOCATION_FAILS(each_fails_with_callbacks, all_fail_with_callbacks,
                      starting)

TEST_FILE(double_barrier_memory)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
