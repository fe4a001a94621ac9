/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of what is given up or cut short, and of callbacks in other places
 * than a thread of the client's own. */
#include <holdfast/uv.h>

#include <sys/wait.h>
#include <unistd.h>

#include "story.h"

/* ----------------------------------------------------------------- cancel --
 */

static void a_wait_is_cancelled(struct cast *cast)
{
    struct hf_client *a_client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_client *b_client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_lock *a = story_lock(cast, a_client, "nightly", HF_KIND_MUTEX);
    struct hf_lock *b = story_lock(cast, b_client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = story_acquire(cast, a);
    struct later waiting;
    hf_status status;

    later_init(&waiting, cast);
    later_acquire(&waiting, b);
    hf_op_cancel(waiting.op);
    status = later_end(&waiting, HF_OK);
    if (status != HF_ECANCELLED)
        (void)story_ended_well(cast, "hf_lock_acquire_start", status, NULL);
    CHECK(cast, status != HF_OK);
    story_release(cast, grant);
    hf_lock_free(a);
    hf_lock_free(b);
    story_leave(cast, a_client);
    story_leave(cast, b_client);
}

/* ------------------------------------------------------------------ close --
 */

/* A holder's client goes, and one that waits behind another. */
static void clients_close_on_what_they_do(struct cast *cast)
{
    struct hf_client *a_client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_client *b_client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_lock *a = story_lock(cast, a_client, "nightly", HF_KIND_MUTEX);
    struct hf_lock *b = story_lock(cast, b_client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = story_acquire(cast, a);
    struct later waiting;
    hf_status status;

    later_init(&waiting, cast);
    later_acquire(&waiting, b);
    story_leave(cast, b_client);
    status = later_end(&waiting, HF_OK);
    if (status != HF_ECLOSED)
        (void)story_ended_well(cast, "hf_lock_acquire_start", status, NULL);
    CHECK(cast, status != HF_OK);
    story_leave(cast, a_client);
    CHECK(cast, hf_grant_release(grant) == HF_ELOST);
    hf_lock_free(a);
    hf_lock_free(b);
}

/* --------------------------------------------------------------- dispatch --
 */

static void close_by_dispatch(struct cast *cast, struct hf_client *client)
{
    struct later closing;
    hf_status status;

    later_init(&closing, cast);
    closing.dispatched = client;
    status = hf_client_close_start(client, later_done(&closing));
    if (!story_ended_well(cast, "hf_client_close_start", status, NULL)) {
        (void)later_end(&closing, status);
        status = hf_client_close_start(client, later_done(&closing));
    }
    CHECK(cast, status == HF_OK);
    (void)story_ended_well(cast, "hf_client_close_start",
                           later_end(&closing, HF_OK), NULL);
}

static void callbacks_are_dispatched(struct cast *cast)
{
    struct hf_client *client = story_join(cast, HF_DELIVER_DISPATCH);
    struct hf_lock *lock = story_lock(cast, client, "nightly", HF_KIND_WRITE);
    struct hf_grant *grant = story_acquire(cast, lock);
    struct later later;
    hf_status status;

    later_init(&later, cast);
    later.dispatched = client;
    status = hf_grant_downgrade_start(grant, later_done(&later));
    (void)story_ended_well(cast, "hf_grant_downgrade_start",
                           later_end(&later, status), NULL);
    later_acquire(&later, lock);
    status = hf_grant_release_start(grant, (struct hf_done){NULL, NULL, NULL});
    CHECK(cast, status == HF_OK);
    grant = later_grant(&later, lock);
    status = hf_grant_release_start(grant, later_done(&later));
    CHECK(cast, status == HF_OK);
    story_released(cast, "hf_grant_release_start", later_end(&later, HF_OK));
    hf_lock_free(lock);
    close_by_dispatch(cast, client);
}

/* --------------------------------------------------------- a borrowed loop --
 */

struct lodger {
    struct later later;
    uv_loop_t loop;
};

static void run_until_ended(struct cast *cast, struct lodger *lodger,
                            hf_status *status)
{
    while (*status == HF_OK && atomic_load(&lodger->later.ended) == 0)
        CHECK(cast, uv_run(&lodger->loop, UV_RUN_ONCE) >= 0);
    *status = later_end(&lodger->later, *status);
}

static struct hf_client *lodge(struct cast *cast, struct lodger *lodger)
{
    struct hf_client *client = NULL;
    struct hf_error error;
    hf_status status = HF_EBUG;

    for (int i = 0; i < 2; i++) {
        status =
            hf_client_open_uv(&lodger->loop, cast->url, NULL, &client, &error);
        if (story_ended_well(cast, "hf_client_open_uv", status, error.text))
            return client;
        while (uv_run(&lodger->loop, UV_RUN_DEFAULT) != 0)
            ;
    }
    story_complain(cast, "hf_client_open_uv: failed twice: %s", error.text);
}

static struct hf_grant *
acquire_on_loop(struct cast *cast, struct lodger *lodger, struct hf_lock *lock)
{
    hf_status status = HF_EBUG;

    for (int i = 0; i < 2; i++) {
        status = hf_lock_acquire_start(lock, NULL, later_done(&lodger->later),
                                       &lodger->later.op);
        run_until_ended(cast, lodger, &status);
        if (story_ended_well(cast, "hf_lock_acquire_start", status, NULL))
            return lodger->later.grant;
    }
    story_complain(cast, "hf_lock_acquire_start: failed twice");
}

static void live_on_loop(struct cast *cast, struct lodger *lodger)
{
    struct hf_client *client = lodge(cast, lodger);
    struct hf_lock *lock = story_lock(cast, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = acquire_on_loop(cast, lodger, lock);
    hf_status status =
        hf_grant_release_start(grant, later_done(&lodger->later));

    run_until_ended(cast, lodger, &status);
    story_released(cast, "hf_grant_release_start", status);
    hf_lock_free(lock);
    status = hf_client_close_start(client, later_done(&lodger->later));
    CHECK(cast, status == HF_OK);
    run_until_ended(cast, lodger, &status);
    CHECK(cast, status == HF_OK);
}

static void a_loop_is_borrowed(struct cast *cast)
{
    struct lodger lodger;

    fault_end(); /* the loop is the story's */
    later_init(&lodger.later, cast);
    CHECK(cast, uv_loop_init(&lodger.loop) == 0);
    fault_begin();
    live_on_loop(cast, &lodger);
    while (uv_run(&lodger.loop, UV_RUN_DEFAULT) != 0)
        ;
    CHECK(cast, uv_loop_close(&lodger.loop) == 0);
}

/* --------------------------------------------------------------- fork -- */

/* Who has nothing of what its parent has, and takes nothing from it by its
 * end. */
static void a_child_is_forked(struct cast *cast)
{
    struct hf_client *client = story_join(cast, HF_DELIVER_THREAD);
    struct hf_lock *lock = story_lock(cast, client, "nightly", HF_KIND_MUTEX);
    struct hf_grant *grant = story_acquire(cast, lock);
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
    CHECK(cast, waitpid(child, &status, 0) == child);
    CHECK(cast, status == 0);
    story_release(cast, grant);
    hf_lock_free(lock);
    story_leave(cast, client);
}

const struct story stories_of_ends[] = {
    {"a_wait_is_cancelled", a_wait_is_cancelled},
    {"clients_close_on_what_they_do", clients_close_on_what_they_do},
    {"callbacks_are_dispatched", callbacks_are_dispatched},
    {"a_loop_is_borrowed", a_loop_is_borrowed},
    {"a_child_is_forked", a_child_is_forked},
    {NULL, NULL},
};
