/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation at a double barrier fails, one after the other: each call
 * then has a status and a story, whoever is to be told is, and nothing is
 * left. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "scripted.h"
#include "shortage.h"

struct party {
    int pipe[2];
    struct hf_client *client;
    struct hf_double_barrier *barrier;
    _Atomic int ended;
    _Atomic int dropped;
    _Atomic hf_status status;
};

static void say(struct party *party, char command)
{
    assert_int_equal(write(party->pipe[1], &command, 1), 1);
}

/* One of two, the other being there. */
static bool party_open(struct party *party, char other)
{
    struct hf_error error;
    char url[64];

    memset(party, 0, sizeof(*party));
    assert_int_equal(pipe2(party->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", party->pipe[0]);
    say(party, SCRIPTED_CONNECT);
    say(party, other);
    if (!shortage_note(hf_client_open(url, NULL, &party->client, &error)))
        return false;
    if (shortage_note(
            hf_double_barrier_open(party->client, "round", 2, &party->barrier)))
        return true;
    assert_null(party->barrier);
    hf_client_error(party->client, &error);
    assert_int_equal(error.status, HF_ENOMEM);
    return false;
}

static void party_close(struct party *party)
{
    hf_double_barrier_free(party->barrier);
    assert_int_equal(hf_client_close(party->client), HF_OK);
    close(party->pipe[0]);
    close(party->pipe[1]);
}

static bool note(struct party *party, const char *call, hf_status status)
{
    struct hf_error error;

    if (shortage_note(status))
        return true;
    hf_double_barrier_error(party->barrier, &error);
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.text, call));
    return false;
}

/* --------------------------------------------------------------- waiting -- */

/* He who has the other one's word for it, that he leaves, waits for that. */
static void go_round(struct party *party, char other_goes)
{
    hf_status status;

    if (!note(party, "hf_double_barrier_enter: ",
              hf_double_barrier_enter(party->barrier, shortage_patience_ms())))
        return;
    status = hf_double_barrier_leave(party->barrier, 0);
    assert_int_not_equal(status, HF_OK);
    if (status != HF_EBUSY)
        (void)note(party, "hf_double_barrier_leave: ", status);
    assert_int_equal(hf_double_barrier_leave(party->barrier, 0), HF_ESTATE);
    say(party, other_goes);
}

static void waiting(const struct place *place)
{
    struct party party;

    (void)place;
    if (party_open(&party, SCRIPTED_FIRST_COMES))
        go_round(&party, SCRIPTED_FIRST_GOES);
    party_close(&party);
    if (party_open(&party, SCRIPTED_LAST_COMES))
        go_round(&party, SCRIPTED_LAST_GOES);
    party_close(&party);
}

/* --------------------------------------------------------------- started -- */

static void on_done(void *arg, const struct hf_result *result)
{
    struct party *party = arg;

    assert_true(result->status == HF_OK || result->text[0] != '\0');
    party->status = result->status;
    atomic_fetch_add(&party->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct party *)arg)->dropped, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct party *)arg)->dropped) > 0;
}

/* True if it was started, and has ended well; dropped it is in any case. */
static bool is_called_back(struct party *party, const char *call,
                           hf_status started, struct hf_op *op)
{
    bool begun = note(party, call, started);

    kit_until(is_dropped, party);
    assert_int_equal(atomic_exchange(&party->dropped, 0), 1);
    assert_int_equal(atomic_exchange(&party->ended, 0), begun);
    assert_true(begun || op == NULL);
    hf_op_free(op);
    return begun && shortage_note(party->status);
}

static void start_round(struct party *party, char other_goes)
{
    struct hf_done done = {on_done, party, on_drop};
    struct hf_op *op;
    hf_status started;

    started = hf_double_barrier_enter_start(party->barrier,
                                            shortage_patience_ms(), done, &op);
    if (!is_called_back(party, "hf_double_barrier_enter_start: ", started, op))
        return;
    started = hf_double_barrier_leave_start(party->barrier,
                                            shortage_patience_ms(), done, &op);
    say(party, other_goes);
    (void)is_called_back(party, "hf_double_barrier_leave_start: ", started, op);
    assert_int_equal(hf_double_barrier_leave(party->barrier, 0), HF_ESTATE);
}

static void starting(const struct place *place)
{
    struct party party;

    (void)place;
    if (party_open(&party, SCRIPTED_FIRST_COMES))
        start_round(&party, SCRIPTED_FIRST_GOES);
    party_close(&party);
    if (party_open(&party, SCRIPTED_LAST_COMES))
        start_round(&party, SCRIPTED_LAST_GOES);
    party_close(&party);
}

/* ------------------------------------------------------------- the sweep -- */

SHORTAGE(each_fails_while_waiting, all_fail_while_waiting, waiting)
SHORTAGE(each_fails_with_callbacks, all_fail_with_callbacks, starting)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fails_while_waiting),
        cmocka_unit_test(all_fail_while_waiting),
        cmocka_unit_test(each_fails_with_callbacks),
        cmocka_unit_test(all_fail_with_callbacks),
    };

    heap_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
