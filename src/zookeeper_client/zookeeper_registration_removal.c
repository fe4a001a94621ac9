/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of a registration: its node is deleted, and nothing that was sent
 * can make it again.
 *
 * Every node of this session at the path counts as that of the registration,
 * even if an earlier registration of the path or a create of the user made it.
 * So what this registration has sent does not show that there is no such node.
 *
 * A create whose answer was lost may have been carried out or not.  A sync and
 * an EXISTS behind it in the same session show which.  Servers carry out the
 * requests of a session in order.  A request of an earlier connection is either
 * carried out before the requests of the next connection, or refused because
 * the session has moved (PrepRequestProcessor.checkSession() of ZooKeeper).
 * Once the session is over, its node is not ours to delete: it goes with the
 * session.
 */
#include <string.h>

#include "base/error.h"
#include "zookeeper_client/zookeeper_registration.h"

void hf_registration_removal_end(struct hf_zookeeper_registration *r,
                                 hf_status status, const char *text)
{
    struct hf_zookeeper_wait *wait = NULL;
    struct hf_error why = {.status = HF_OK};

    if (r->state == HF_REGISTRATION_REMOVING)
        wait = hf_registration_removing(r)->wait;
    hf_registration_move(r, HF_REGISTRATION_ENDED);
    hf_zookeeper_timer_stop(&r->retry_timer);
    hf_zookeeper_watch_delete(r->watch);
    r->watch = NULL;
    hf_registration_unlink(r);
    if (wait != NULL) {
        if (status != HF_OK)
            (void)hf_error_set(&why, status, "%s", text);
        hf_zookeeper_wait_end(wait, &why);
    } else if (status == HF_EDENIED) {
        hf_log_write(&r->zookeeper->monitor->log, HF_LOG_WARNING,
                     "the node of the registration of %.200s stays until the "
                     "session ends, because it may not be deleted",
                     r->path);
    }
    hf_registration_dereference(r);
}

void hf_registration_removal_next(struct hf_zookeeper_registration *r)
{
    bool seen = hf_registration_removing(r)->seen;

    if (r->session == 0 && r->created_in_session != 0)
        hf_registration_removal_end(r, HF_ELOST,
                                    "the session has ended, and the node goes "
                                    "when the servers notice");
    else if (r->session == 0)
        hf_registration_removal_end(r, HF_OK, "");
    else if (seen)
        hf_registration_begin(r, HF_REGISTRATION_DELETE);
    else
        hf_registration_begin(r, HF_REGISTRATION_SYNC);
}

/* Try again later, unless ${why} is final. */
static void try_later(struct hf_zookeeper_registration *r,
                      const struct hf_error *why)
{
    if (why->status == HF_EDENIED)
        hf_registration_removal_end(r, HF_EDENIED, why->text);
    else
        hf_registration_retry(r);
}

static void delete_ended(struct hf_zookeeper_registration *r)
{
    hf_status status = r->step.write.status;

    hf_registration_removing(r)->seen = false;
    if (status == HF_OK || status == HF_EGONE)
        hf_registration_removal_end(r, HF_OK, "");
    else if (status == HF_EVERSION)
        hf_registration_removal_next(r);
    else
        try_later(r, &r->step.write);
}

/* The step did not show the node, and what was known of it before may be out of
 * date: look at it again. */
static void check_first(struct hf_zookeeper_registration *r)
{
    hf_registration_removing(r)->seen = false;
    hf_registration_removal_next(r);
}

/* The EXISTS of a step was answered.  The step may have begun before the
 * removal, and the node may be that of an earlier session. */
static void exists_ended(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;
    bool seen = hf_registration_sees_own(r);

    hf_registration_removing(r)->seen = seen;
    if (seen) {
        r->stat = step->stat;
    } else if (step->kind == HF_REGISTRATION_SYNC &&
               step->write.status == HF_OK) {
        r->session = 0;
        if (step->exists.status != HF_OK ||
            step->stat.ephemeral_owner != r->created_in_session)
            r->created_in_session = 0;
    }
    hf_registration_removal_next(r);
}

void hf_registration_removal_step_ended(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;
    hf_status exists = step->exists.status;

    if (r->session == 0)
        hf_registration_removal_next(r);
    else if (step->kind == HF_REGISTRATION_DELETE)
        delete_ended(r);
    else if (step->kind == HF_REGISTRATION_PARENT || exists == HF_ECANCELLED)
        check_first(r);
    else if (step->kind == HF_REGISTRATION_SYNC && step->write.status != HF_OK)
        try_later(r, &step->write);
    else if (exists == HF_OK || exists == HF_EGONE)
        exists_ended(r);
    else
        try_later(r, &step->exists);
}

/* The removal has a reference of its own.  A step that is under way must end
 * first, because its answer shows whether there is a node.  Its unsent
 * operations are cancelled, so that it ends sooner. */
void hf_registration_remove(struct hf_zookeeper_registration *r,
                            struct hf_zookeeper_wait *wait)
{
    bool closed = r->state == HF_REGISTRATION_CLOSED;
    bool seen = hf_registration_has_node(r);

    hf_registration_reference(r);
    hf_zookeeper_timer_stop(&r->retry_timer);
    hf_registration_move(r, HF_REGISTRATION_REMOVING);
    *hf_registration_removing(r) =
        (struct hf_registration_removing){.seen = seen, .wait = wait};
    if (closed)
        hf_registration_removal_end(r, HF_ECLOSED, "the handle was closed");
    else if (r->step.under_way == 0)
        hf_registration_removal_next(r);
    else
        hf_registration_cancel_unsent(r);
}
