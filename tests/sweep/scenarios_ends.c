/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios that are cut short: cancel, close, fork; and callbacks on a
 * borrowed loop and by dispatch. */
#include <holdfast/uv.h>

#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

/* ---------------------------------------------------------------- cancel -- */

static void a_wait_is_cancelled(struct sweep_fixture *fixture)
{
    struct hf_client *a_client =
        scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_client *b_client =
        scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *a =
        scenario_lock(fixture, a_client, "nightly", HF_KIND_MUTEX);
    struct hf_lock *b =
        scenario_lock(fixture, b_client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = scenario_acquire(fixture, a);
    struct pending_op waiting;
    hf_status status;

    pending_op_init(&waiting, fixture);
    pending_op_acquire(&waiting, b);
    hf_op_cancel(waiting.op);
    status = pending_op_end(&waiting, HF_OK);
    if (status != HF_ECANCELLED)
        (void)scenario_ended_ok(fixture, "hf_lock_acquire_start", status, NULL);
    CHECK(fixture, status != HF_OK);
    scenario_release(fixture, grant);
    hf_lock_free(a);
    hf_lock_free(b);
    scenario_close_client(fixture, a_client);
    scenario_close_client(fixture, b_client);
}

/* ----------------------------------------------------------------- close -- */

/* The client of a holder is closed, and one with a waiter. */
static void clients_close_on_what_they_do(struct sweep_fixture *fixture)
{
    struct hf_client *a_client =
        scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_client *b_client =
        scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *a =
        scenario_lock(fixture, a_client, "nightly", HF_KIND_MUTEX);
    struct hf_lock *b =
        scenario_lock(fixture, b_client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = scenario_acquire(fixture, a);
    struct pending_op waiting;
    hf_status status;

    pending_op_init(&waiting, fixture);
    pending_op_acquire(&waiting, b);
    scenario_close_client(fixture, b_client);
    status = pending_op_end(&waiting, HF_OK);
    if (status != HF_ECLOSED)
        (void)scenario_ended_ok(fixture, "hf_lock_acquire_start", status, NULL);
    CHECK(fixture, status != HF_OK);
    scenario_close_client(fixture, a_client);
    CHECK(fixture, hf_grant_release(grant) == HF_ELOST);
    hf_lock_free(a);
    hf_lock_free(b);
}

/* -------------------------------------------------------------- dispatch -- */

static void close_by_dispatch(struct sweep_fixture *fixture,
                              struct hf_client *client)
{
    struct pending_op closing;
    hf_status status;

    pending_op_init(&closing, fixture);
    closing.dispatched = client;
    status = hf_client_close_start(client, pending_op_done(&closing));
    if (!scenario_ended_ok(fixture, "hf_client_close_start", status, NULL)) {
        (void)pending_op_end(&closing, status);
        status = hf_client_close_start(client, pending_op_done(&closing));
    }
    CHECK(fixture, status == HF_OK);
    (void)scenario_ended_ok(fixture, "hf_client_close_start",
                            pending_op_end(&closing, HF_OK), NULL);
}

static void callbacks_are_dispatched(struct sweep_fixture *fixture)
{
    struct hf_client *client =
        scenario_open_client(fixture, HF_DELIVER_DISPATCH);
    struct hf_lock *lock =
        scenario_lock(fixture, client, "nightly", HF_KIND_WRITE);
    struct hf_grant *grant = scenario_acquire(fixture, lock);
    struct pending_op pending_op;
    hf_status status;

    pending_op_init(&pending_op, fixture);
    pending_op.dispatched = client;
    status = hf_grant_downgrade_start(grant, pending_op_done(&pending_op));
    (void)scenario_ended_ok(fixture, "hf_grant_downgrade_start",
                            pending_op_end(&pending_op, status), NULL);
    pending_op_acquire(&pending_op, lock);
    status = hf_grant_release_start(grant, (struct hf_done){NULL, NULL, NULL});
    CHECK(fixture, status == HF_OK);
    grant = pending_op_grant(&pending_op, lock);
    status = hf_grant_release_start(grant, pending_op_done(&pending_op));
    CHECK(fixture, status == HF_OK);
    scenario_released(fixture, "hf_grant_release_start",
                      pending_op_end(&pending_op, HF_OK));
    hf_lock_free(lock);
    close_by_dispatch(fixture, client);
}

/* ------------------------------------------------------- a borrowed loop -- */

struct loop_user {
    struct pending_op pending_op;
    uv_loop_t loop;
};

static void run_until_ended(struct sweep_fixture *fixture,
                            struct loop_user *loop_user, hf_status *status)
{
    while (*status == HF_OK && atomic_load(&loop_user->pending_op.ended) == 0)
        CHECK(fixture, uv_run(&loop_user->loop, UV_RUN_ONCE) >= 0);
    *status = pending_op_end(&loop_user->pending_op, *status);
}

static struct hf_client *attach(struct sweep_fixture *fixture,
                                struct loop_user *loop_user)
{
    struct hf_client *client = NULL;
    hf_status status = HF_EBUG;

    for (int i = 0; i < 2; i++) {
        status =
            hf_client_open_uv(&loop_user->loop, fixture->url, NULL, &client);
        if (scenario_ended_ok(fixture, "hf_client_open_uv", status,
                              hf_last_error()->text))
            return client;
        while (uv_run(&loop_user->loop, UV_RUN_DEFAULT) != 0)
            ;
    }
    scenario_fail(fixture, "hf_client_open_uv: failed twice: %s",
                  hf_last_error()->text);
}

static struct hf_grant *acquire_on_loop(struct sweep_fixture *fixture,
                                        struct loop_user *loop_user,
                                        struct hf_lock *lock)
{
    hf_status status = HF_EBUG;

    for (int i = 0; i < 2; i++) {
        status = hf_lock_acquire_start(lock, NULL,
                                       pending_op_done(&loop_user->pending_op),
                                       &loop_user->pending_op.op);
        run_until_ended(fixture, loop_user, &status);
        if (scenario_ended_ok(fixture, "hf_lock_acquire_start", status, NULL))
            return loop_user->pending_op.grant;
    }
    scenario_fail(fixture, "hf_lock_acquire_start: failed twice");
}

static void live_on_loop(struct sweep_fixture *fixture,
                         struct loop_user *loop_user)
{
    struct hf_client *client = attach(fixture, loop_user);
    struct hf_lock *lock =
        scenario_lock(fixture, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = acquire_on_loop(fixture, loop_user, lock);
    hf_status status =
        hf_grant_release_start(grant, pending_op_done(&loop_user->pending_op));

    run_until_ended(fixture, loop_user, &status);
    scenario_released(fixture, "hf_grant_release_start", status);
    hf_lock_free(lock);
    status =
        hf_client_close_start(client, pending_op_done(&loop_user->pending_op));
    CHECK(fixture, status == HF_OK);
    run_until_ended(fixture, loop_user, &status);
    CHECK(fixture, status == HF_OK);
}

static void a_loop_is_borrowed(struct sweep_fixture *fixture)
{
    struct loop_user loop_user;

    fault_end(); /* the loop is that of the scenario */
    pending_op_init(&loop_user.pending_op, fixture);
    CHECK(fixture, uv_loop_init(&loop_user.loop) == 0);
    fault_begin();
    live_on_loop(fixture, &loop_user);
    while (uv_run(&loop_user.loop, UV_RUN_DEFAULT) != 0)
        ;
    CHECK(fixture, uv_loop_close(&loop_user.loop) == 0);
}

/* --------------------------------------------------------------- fork -- */

/* The child has none of the locks of its parent, and its end takes none from
 * it. */
static void a_child_is_forked(struct sweep_fixture *fixture)
{
    struct hf_client *client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *lock =
        scenario_lock(fixture, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = scenario_acquire(fixture, lock);
    int status = -1;
    pid_t child;

    fault_end(); /* libuv ends a child for which it can make no pipe */
    child = fork();
    if (child == 0)
        _exit(hf_grant_check(grant) == HF_EFORKED &&
                      hf_grant_release(grant) == HF_EFORKED
                  ? 0
                  : 1);
    fault_begin();
    CHECK(fixture, waitpid(child, &status, 0) == child);
    CHECK(fixture, status == 0);
    scenario_release(fixture, grant);
    hf_lock_free(lock);
    scenario_close_client(fixture, client);
}

const struct scenario scenarios_of_ends[] = {
    {"a_wait_is_cancelled", a_wait_is_cancelled},
    {"clients_close_on_what_they_do", clients_close_on_what_they_do},
    {"callbacks_are_dispatched", callbacks_are_dispatched},
    {"a_loop_is_borrowed", a_loop_is_borrowed},
    {"a_child_is_forked", a_child_is_forked},
    {NULL, NULL},
};
