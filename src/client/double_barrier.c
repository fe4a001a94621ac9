/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and freeing a double barrier, and entering it.  To enter is to
 * acquire: the grant comes when enough participants are there, and the barrier
 * keeps it for the user.
 */
#include "client/double_barrier.h"

#include <inttypes.h>

#include <holdfast/barrier.h>
#include <holdfast/grant.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/list_evict_revoke.h"
#include "operation/done.h"

/* ----------------------------------------------------------- life cycle -- */

/* A double barrier is a lock whose tickets are participants and whose limit is
 * the number of participants. */
hf_status hf_double_barrier_open(struct hf_client *client, const char *name,
                                 uint32_t participants,
                                 struct hf_double_barrier **barrier)
{
    static const char api_name[] = "hf_double_barrier_open";
    struct hf_double_barrier *made;
    struct hf_error error;
    hf_status status;

    *barrier = NULL;
    if (participants == 0 || participants > HF_PARTICIPANTS_MAX) {
        hf_error_set(&error, HF_EINVAL,
                     "%" PRIu32
                     " participants cannot be waited for; expected 1 to "
                     "%d",
                     participants, HF_PARTICIPANTS_MAX);
        return hf_open_fail(client, api_name, &error);
    }
    if ((made = hf_open_alloc(api_name, sizeof(*made))) == NULL)
        return HF_ENOMEM;
    status = hf_lock_open_for(client, api_name, name, NULL, &made->lock);
    if (status != HF_OK) {
        hf_free(made);
        return status;
    }
    made->lock->kind = HF_TICKET_PARTICIPANT;
    made->lock->limit = participants;
    made->state = HF_DOUBLE_BARRIER_OUTSIDE;
    made->references = 1;
    *barrier = made;
    return HF_OK;
}

/* Free ${barrier} if its last reference is gone.  Without the client's lock. */
static void free_if_last(struct hf_double_barrier *barrier, bool last)
{
    if (!last)
        return;
    hf_lock_free(barrier->lock);
    hf_free(barrier);
}

/* The grant that the caller is to release, without the lock, because ${barrier}
 * was freed while its participant is inside.  The participant then leaves
 * without waiting for the others.  NULL: there is none.  While a participant is
 * inside no operation is under way, so ${barrier} is freed next. */
static struct hf_grant *unwanted_grant(const struct hf_double_barrier *barrier)
{
    return barrier->freed && barrier->state == HF_DOUBLE_BARRIER_INSIDE
               ? barrier->grant
               : NULL;
}

/* Begin the release of ${grant}, which may be NULL, and do not wait for it. */
static void release_grant(struct hf_grant *grant)
{
    const struct hf_done no_done = {NULL, NULL, NULL};

    if (grant != NULL)
        (void)!hf_grant_release_start(grant, no_done);
}

/* The grant and the memory are released without the lock, because both may call
 * back or free the client.  In the child of a fork nothing is freed. */
void hf_double_barrier_free(struct hf_double_barrier *barrier)
{
    struct hf_grant *unwanted;
    struct hf_client *client;
    bool last;

    if (barrier == NULL)
        return;
    client = barrier->lock->client;
    if (hf_monitor_enter(&client->monitor, NULL) != HF_OK)
        return;
    barrier->freed = true;
    unwanted = unwanted_grant(barrier);
    last = --barrier->references == 0;
    hf_monitor_leave(&client->monitor);
    release_grant(unwanted);
    free_if_last(barrier, last);
}

/* ----------------------------------------------------------- operations -- */

/* The state of ${barrier} does not allow the operation ${api_name}: fail with
 * HF_ESTATE, and say what to do. */
static hf_status fail_state(const struct hf_double_barrier *barrier,
                            const char *api_name)
{
    static const char *const texts[] = {
        [HF_DOUBLE_BARRIER_OUTSIDE] = "it is not inside; enter first",
        [HF_DOUBLE_BARRIER_ENTERING] = "it is entering; wait for the end",
        [HF_DOUBLE_BARRIER_INSIDE] = "it is inside already; leave first",
        [HF_DOUBLE_BARRIER_LEAVING] = "it is leaving; wait for the end",
    };
    struct hf_error error;

    hf_error_set(&error, HF_ESTATE, "%s", texts[barrier->state]);
    return hf_fail(api_name, &error);
}

hf_status hf_double_barrier_begin(struct hf_double_barrier *barrier,
                                  const char *api_name,
                                  enum hf_double_barrier_state from,
                                  enum hf_double_barrier_state to)
{
    struct hf_client *client = barrier->lock->client;
    hf_status status = hf_monitor_enter(&client->monitor, api_name);

    if (status != HF_OK)
        return status;
    if (barrier->state == from) {
        barrier->state = to;
        barrier->references++;
    } else {
        status = fail_state(barrier, api_name);
    }
    hf_monitor_leave(&client->monitor);
    return status;
}

/* As hf_double_barrier_free(): an operation may be the last that keeps a freed
 * barrier alive. */
void hf_double_barrier_end(struct hf_double_barrier *barrier,
                           struct hf_grant *grant)
{
    struct hf_client *client = barrier->lock->client;
    struct hf_grant *unwanted;
    bool last;

    if (hf_monitor_enter(&client->monitor, NULL) != HF_OK)
        return;
    barrier->grant = grant;
    barrier->state =
        grant != NULL ? HF_DOUBLE_BARRIER_INSIDE : HF_DOUBLE_BARRIER_OUTSIDE;
    unwanted = unwanted_grant(barrier);
    last = --barrier->references == 0;
    hf_monitor_leave(&client->monitor);
    release_grant(unwanted);
    free_if_last(barrier, last);
}

hf_status hf_double_barrier_participants(struct hf_double_barrier *barrier,
                                         uint64_t wait_ms,
                                         struct hf_tickets **participants)
{
    return hf_lock_list_for(barrier->lock, "hf_double_barrier_participants",
                            HF_TICKETS_ALL, wait_ms, participants);
}

hf_status
hf_double_barrier_participants_start(struct hf_double_barrier *barrier,
                                     uint64_t wait_ms, struct hf_done done)
{
    return hf_lock_list_start_for(barrier->lock,
                                  "hf_double_barrier_participants_start",
                                  HF_TICKETS_ALL, wait_ms, done);
}

/* ------------------------------------------------------------- entering -- */

/* The grant of a successful acquire is kept in the barrier and not given to the
 * user. */
hf_status hf_double_barrier_enter(struct hf_double_barrier *barrier,
                                  uint64_t wait_ms)
{
    static const char api_name[] = "hf_double_barrier_enter";
    struct hf_grant *grant = NULL;
    hf_status status;

    status =
        hf_double_barrier_begin(barrier, api_name, HF_DOUBLE_BARRIER_OUTSIDE,
                                HF_DOUBLE_BARRIER_ENTERING);
    if (status != HF_OK)
        return status;
    status = hf_acquire_for(barrier->lock, api_name, wait_ms, &grant);
    hf_double_barrier_end(barrier, grant);
    return status;
}

/* An enter that was started, until its .drop was called. */
struct enter_call {
    struct hf_double_barrier *barrier;
    struct hf_done done;
    bool ended; /* the user's callback was called */
};

/* The acquire has ended: change the state first, so that the user may leave in
 * the callback. */
static void enter_ended(void *arg, const struct hf_result *result)
{
    struct enter_call *enter = arg;
    struct hf_result outcome = {.status = result->status, .text = result->text};

    hf_double_barrier_end(enter->barrier, result->grant);
    enter->ended = true;
    if (enter->done.fn != NULL)
        enter->done.fn(enter->done.arg, &outcome);
}

/* The .drop of the acquire.  It is called without enter_ended() if the acquire
 * could not be begun. */
static void drop_enter(void *arg)
{
    struct enter_call *enter = arg;

    if (!enter->ended) /* it could not be begun */
        hf_double_barrier_end(enter->barrier, NULL);
    hf_done_drop(&enter->done);
    hf_free(enter);
}

/* The acquire calls enter_ended() and then drop_enter(), which wrap the user's
 * callback. */
hf_status hf_double_barrier_enter_start(struct hf_double_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done,
                                        struct hf_op **op)
{
    static const char api_name[] = "hf_double_barrier_enter_start";
    struct enter_call *enter = hf_open_alloc(api_name, sizeof(*enter));
    hf_status status = HF_ENOMEM;

    if (op != NULL)
        *op = NULL;
    if (enter == NULL)
        goto drop;
    *enter = (struct enter_call){barrier, done, false};
    status =
        hf_double_barrier_begin(barrier, api_name, HF_DOUBLE_BARRIER_OUTSIDE,
                                HF_DOUBLE_BARRIER_ENTERING);
    if (status != HF_OK)
        goto free_enter;
    return hf_acquire_start_for(
        barrier->lock, api_name, wait_ms,
        (struct hf_done){enter_ended, enter, drop_enter}, op);
free_enter:
    hf_free(enter);
drop:
    hf_done_drop(&done);
    return status;
}
