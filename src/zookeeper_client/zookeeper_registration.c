/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a registration does next: after a step, an event of its watch, and a new
 * state of the session.
 */
#include "zookeeper_client/zookeeper_registration.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* ------------------------------------------------------------ what it is -- */

/* Note that the node is gone or will go, with the reason, and have UNREGISTERED
 * reported if the node was registered. */
static void unregister(struct hf_zookeeper_registration *r, hf_status status,
                       const char *text)
{
    r->written = 0;
    (void)hf_error_set(&r->why, status, "%.200s: %s", r->path, text);
    if (r->registered_czxid == HF_REGISTRATION_NO_NODE)
        return;
    r->registered_czxid = HF_REGISTRATION_NO_NODE;
    r->report.loss = r->why;
    hf_registration_notify(r);
}

/* The node exists and has the data: end the waits and have REGISTERED
 * reported. */
static void set_registered(struct hf_zookeeper_registration *r)
{
    const struct hf_error registered = {.status = HF_OK};

    hf_registration_move(r, HF_REGISTRATION_REGISTERED);
    r->registered_czxid = r->stat.czxid;
    r->retry = (struct hf_retry_state){0};
    r->why = registered;
    r->report.blocked.status = HF_OK;
    r->report.pending = HF_REGISTRATION_NOTHING_PENDING;
    hf_zookeeper_waits_end(&r->waits, &registered);
    hf_registration_notify(r);
}

/* The node cannot be created now, because of .why: report that, unless the last
 * report had the same status. */
static void report_blocked(struct hf_zookeeper_registration *r)
{
    if (r->report.blocked.status == r->why.status)
        return;
    r->report.blocked = r->why;
    r->report.pending = HF_REGISTRATION_BLOCKED_PENDING;
    hf_registration_notify(r);
}

/* The registration has failed for good, because of ${why}: from now on nobody
 * looks at the node. */
static void fail(struct hf_zookeeper_registration *r,
                 const struct hf_error *why)
{
    hf_registration_move(r, HF_REGISTRATION_FAILED);
    r->report.pending = HF_REGISTRATION_FAILED_PENDING;
    r->why = *why;
    hf_log_write(&r->zookeeper->monitor->log, HF_LOG_WARNING,
                 "a registration has failed: %s", why->text);
    hf_zookeeper_waits_end(&r->waits, why);
    hf_registration_notify(r);
}

/* Must a failure with ${status} be reported as an event?  Outages need not be,
 * because listeners are notified of them as states.  If somebody deletes the
 * node right after its creation, that is reported only if it happens again. */
static bool is_reported(const struct hf_zookeeper_registration *r,
                        hf_status status)
{
    if (status == HF_EGONE)
        return r->retry.tries > 0;
    return status != HF_EUNREACHABLE && status != HF_ELOST &&
           status != HF_EUNSURE && status != HF_ECLOSED;
}

/* A step has failed with ${why}: fail for good, or try again later. */
static void fail_or_retry(struct hf_zookeeper_registration *r,
                          const struct hf_error *why)
{
    const struct hf_error failure = *why;

    if (failure.status == HF_EDENIED || failure.status == HF_EINVAL) {
        fail(r, &failure);
        return;
    }
    r->why = failure;
    if (is_reported(r, failure.status))
        report_blocked(r);
    hf_registration_retry(r);
}

/* ------------------------------------------------------- nodes above it -- */

/* Create the first ${bytes} of the path. */
static void create_parent(struct hf_zookeeper_registration *r, size_t bytes)
{
    hf_registration_creating(r)->parent_bytes = bytes;
    memcpy(r->parent, r->path, bytes);
    r->parent[bytes] = '\0';
    hf_registration_begin(r, HF_REGISTRATION_PARENT);
}

/* Create the node above the first ${bytes} of the path.  A node above the
 * chroot is never created. */
static void ascend(struct hf_zookeeper_registration *r, size_t bytes)
{
    struct hf_error why;

    hf_registration_creating(r)->parents = HF_REGISTRATION_PARENTS_UP;
    if (bytes == 1) {
        (void)hf_error_set(
            &why, HF_EGONE,
            "%.200s: the node above the chroot of the URL is not "
            "there; create it",
            r->path);
        fail(r, &why);
        return;
    }
    do
        bytes--;
    while (r->path[bytes] != '/');
    create_parent(r, bytes > 0 ? bytes : 1);
}

/* The parent that the last step created exists: create the next node below it,
 * which is another parent or the node itself. */
static void descend(struct hf_zookeeper_registration *r)
{
    struct hf_registration_creating *creating = hf_registration_creating(r);
    size_t from = creating->parent_bytes + (creating->parent_bytes > 1);
    const char *slash = strchr(r->path + from, '/');

    if (slash != NULL) {
        creating->parents = HF_REGISTRATION_PARENTS_DOWN;
        create_parent(r, (size_t)(slash - r->path));
    } else {
        creating->parents = HF_REGISTRATION_PARENTS_MADE;
        hf_registration_begin(r, HF_REGISTRATION_CREATE);
    }
}

/* The create of a parent has ended.  Parents are tried from the deepest one
 * upwards, because a server may refuse a create further above for lack of
 * permission, even if the node exists there. */
static void parent_ended(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_creating *creating =
        hf_registration_creating(r);
    const struct hf_error *why = &r->step.write;

    if (why->status == HF_OK || why->status == HF_EEXISTS) {
        descend(r);
    } else if (why->status == HF_EGONE &&
               creating->parents == HF_REGISTRATION_PARENTS_UP) {
        ascend(r, creating->parent_bytes);
    } else if (why->status == HF_EUNSUPPORTED &&
               r->parent_mode == HF_ZOOKEEPER_CONTAINER) {
        r->parent_mode = HF_ZOOKEEPER_PERSISTENT;
        create_parent(r, creating->parent_bytes);
    } else {
        fail_or_retry(r, why);
    }
}

/* ---------------------------------------------------- the end of a step -- */

/* If the write of the step has succeeded, note that our node has its data. */
static void note_write(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;

    if ((step->kind == HF_REGISTRATION_CREATE ||
         step->kind == HF_REGISTRATION_SET) &&
        step->write.status == HF_OK)
        r->written = step->data_number;
}

/* The EXISTS shows a node of this session.  If the SET of the step failed
 * because of the version, or because the node was gone, it is repeated at once
 * with the version that this EXISTS shows.  After any other failure it is
 * repeated later. */
static void see_own(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;
    hf_status set =
        step->kind == HF_REGISTRATION_SET ? step->write.status : HF_OK;

    if (r->state == HF_REGISTRATION_CHECKING &&
        r->stat.czxid != step->stat.czxid)
        unregister(r, HF_EGONE,
                   "it was deleted, and made again in the same "
                   "session");
    hf_registration_move(r, HF_REGISTRATION_CHECKING);
    r->session = step->stat.ephemeral_owner;
    r->created_in_session = 0;
    r->stat = step->stat;
    if (r->written == r->data_number)
        set_registered(r);
    else if (set == HF_OK || set == HF_EVERSION || set == HF_EGONE)
        hf_registration_begin(r, HF_REGISTRATION_SET);
    else
        fail_or_retry(r, &step->write);
}

/* The EXISTS shows the node of another session, or a persistent one. */
static void see_other(struct hf_zookeeper_registration *r)
{
    int64_t owner = r->step.stat.ephemeral_owner;

    unregister(r, HF_EGONE, "it was deleted, and made again by another");
    hf_registration_move(r, HF_REGISTRATION_BLOCKED);
    r->stat = r->step.stat;
    if (owner != r->created_in_session)
        r->created_in_session = 0;
    if (owner == 0)
        (void)hf_error_set(&r->why, HF_EEXISTS,
                           "%.200s: there is a node that is not ephemeral; "
                           "expected none, delete it",
                           r->path);
    else
        (void)hf_error_set(&r->why, HF_EEXISTS,
                           "%.200s: there is the node of %s session, 0x%" PRIx64
                           "; it goes at the latest when that session ends",
                           r->path,
                           owner == r->created_in_session ? "our previous"
                                                          : "another",
                           (uint64_t)owner);
    report_blocked(r);
}

/* The EXISTS shows no node.  ${parents_made}: the nodes above it were created
 * right before the CREATE. */
static void see_none(struct hf_zookeeper_registration *r, bool parents_made)
{
    const struct hf_error *write = &r->step.write;
    bool created = r->step.kind == HF_REGISTRATION_CREATE;
    struct hf_error why;

    r->written = 0;
    if (r->state == HF_REGISTRATION_CHECKING)
        unregister(r, HF_EGONE, "somebody has deleted it");
    hf_registration_move(r, HF_REGISTRATION_CREATING);
    if (!created || write->status == HF_EEXISTS) {
        hf_registration_begin(r, HF_REGISTRATION_CREATE);
    } else if (write->status == HF_EGONE && !parents_made) {
        ascend(r, strlen(r->path));
    } else if (write->status == HF_OK) {
        (void)hf_error_set(&why, HF_EGONE,
                           "%.200s: it was deleted as soon as it was made; see "
                           "who does that",
                           r->path);
        fail_or_retry(r, &why);
    } else {
        fail_or_retry(r, write);
    }
}

/* Were all nodes above the node created right before the step that has ended?
 * Resets .parents for the next attempt. */
static bool take_parents(struct hf_zookeeper_registration *r)
{
    struct hf_registration_creating *creating;
    bool made;

    if (r->state != HF_REGISTRATION_CREATING)
        return false;
    creating = hf_registration_creating(r);
    made = creating->parents == HF_REGISTRATION_PARENTS_MADE;
    creating->parents = HF_REGISTRATION_PARENTS_NONE;
    return made;
}

static void exists_ended(struct hf_zookeeper_registration *r)
{
    hf_status exists = r->step.exists.status;
    bool parents_made = take_parents(r);

    if (hf_registration_sees_own(r))
        see_own(r);
    else if (exists == HF_OK)
        see_other(r);
    else if (exists == HF_EGONE)
        see_none(r, parents_made);
    else
        fail_or_retry(r, &r->step.exists);
}

static void step_ended(struct hf_zookeeper_registration *r)
{
    if (r->state == HF_REGISTRATION_CLOSED || r->state == HF_REGISTRATION_ENDED)
        return;
    note_write(r);
    if (r->state == HF_REGISTRATION_REMOVING)
        hf_registration_removal_step_ended(r);
    else if (r->step.kind == HF_REGISTRATION_PARENT)
        parent_ended(r);
    else
        exists_ended(r);
    hf_registration_check_invariants(r);
}

/* ---------------------------------------------------------------- events -- */

/* The .fn of the watch.  An event that comes during a step is ignored, because
 * the EXISTS of the step will show a later state.  A RESYNC says that the
 * session has ended, for which hf_zookeeper_registrations_lost() is called. */
static void fired(void *arg, enum hf_zookeeper_event_kind kind,
                  const char *path, size_t bytes)
{
    struct hf_zookeeper_registration *r = arg;
    bool own;

    (void)path;
    (void)bytes;
    if (kind == HF_ZOOKEEPER_RESYNC || r->step.under_way > 0 ||
        r->state == HF_REGISTRATION_FAILED ||
        r->state == HF_REGISTRATION_REMOVING ||
        r->state == HF_REGISTRATION_CLOSED)
        return;
    own = hf_registration_has_node(r);
    if (kind != HF_ZOOKEEPER_DELETED) {
        hf_registration_move(r, own ? HF_REGISTRATION_CHECKING
                                    : HF_REGISTRATION_CREATING);
        hf_registration_begin(r, HF_REGISTRATION_CHECK);
        return;
    }
    if (own)
        unregister(r, HF_EGONE, "somebody has deleted it");
    hf_registration_move(r, HF_REGISTRATION_CREATING);
    hf_registration_begin(r, HF_REGISTRATION_CREATE);
}

/* A node that is known is looked at before anything else, behind a sync,
 * because the server of a new connection may not have the last changes yet. */
void hf_registration_resume(struct hf_zookeeper_registration *r)
{
    hf_registration_check_invariants(r);
    if (r->step.under_way > 0)
        return;
    switch (r->state) {
    case HF_REGISTRATION_CREATING:
        hf_registration_begin(r, HF_REGISTRATION_CREATE);
        break;
    case HF_REGISTRATION_CHECKING:
        hf_registration_begin(r, HF_REGISTRATION_SYNC);
        break;
    case HF_REGISTRATION_REMOVING:
        hf_registration_removal_next(r);
        break;
    default: /* the watch goes on, or nothing does */
        break;
    }
}

/* The .fn of the timer.  If there is no connection, or only a read-only one,
 * nothing is done here, and the next connection goes on. */
static void try_again(void *arg)
{
    struct hf_zookeeper_registration *r = arg;
    const struct hf_zk_session *session = r->zookeeper->session;

    if (hf_zk_session_usable(session) && !hf_zk_session_read_only(session))
        hf_registration_resume(r);
}

/* The watch, which is set again, would report what happened to a node of ours
 * since the last connection.  But that event is still on its way, and until it
 * comes a set or a delete of the user would hit what is there now.  So the node
 * is checked first. */
void hf_zookeeper_registrations_up(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_registration *r, *next;

    for (r = zookeeper->registrations; r != NULL; r = next) {
        next = r->next;
        r->retry = (struct hf_retry_state){0};
        r->session = zookeeper->session->id;
        if (r->state == HF_REGISTRATION_REGISTERED)
            hf_registration_move(r, HF_REGISTRATION_CHECKING);
        hf_registration_resume(r);
    }
}

/* The session has ended: its node may be there until the servers notice, even
 * if the node was not seen yet, unless the node of another blocks it.  A step
 * may still be under way, because reads outlive a session that only a server
 * without a quorum knew. */
static void lose(struct hf_zookeeper_registration *r)
{
    if (r->session != 0 && r->state != HF_REGISTRATION_BLOCKED)
        r->created_in_session = r->session;
    r->session = 0;
    if (r->state == HF_REGISTRATION_REMOVING) {
        hf_registration_removal_next(r);
        return;
    }
    if (r->state == HF_REGISTRATION_FAILED)
        return;
    unregister(r, HF_ELOST, "the session has ended");
    hf_registration_move(r, HF_REGISTRATION_CREATING);
}

void hf_zookeeper_registrations_lost(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_registration *r, *next;

    for (r = zookeeper->registrations; r != NULL; r = next) {
        next = r->next;
        lose(r);
    }
}

/* The waits end; the registrations themselves go on with the next
 * connection. */
void hf_zookeeper_registrations_gave_up(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_registration *r;

    for (r = zookeeper->registrations; r != NULL; r = r->next)
        hf_zookeeper_waits_gave_up(zookeeper, &r->waits);
}

/* The handle is closed: end the waits or the removal of ${r}, and take it out
 * of the list. */
static void close_one(struct hf_zookeeper_registration *r)
{
    static const struct hf_error closed = {.status = HF_ECLOSED,
                                           .text = "the handle was closed"};

    if (r->state == HF_REGISTRATION_REMOVING) {
        hf_registration_removal_end(r, HF_ECLOSED, closed.text);
        return;
    }
    hf_registration_move(r, HF_REGISTRATION_CLOSED);
    hf_zookeeper_timer_stop(&r->retry_timer);
    hf_registration_unlink(r);
    hf_zookeeper_waits_end(&r->waits, &closed);
}

void hf_zookeeper_registrations_closed(struct hf_zookeeper *zookeeper)
{
    while (zookeeper->registrations != NULL)
        close_one(zookeeper->registrations);
}

/* ------------------------------------------------------------------- new -- */

static void link_to_handle(struct hf_zookeeper_registration *r)
{
    struct hf_zookeeper *z = r->zookeeper;

    r->link = &z->registrations;
    r->next = z->registrations;
    if (r->next != NULL)
        r->next->link = &r->next;
    z->registrations = r;
}

struct hf_zookeeper_registration *
hf_registration_new(struct hf_zookeeper *zookeeper, const char *path)
{
    struct hf_zookeeper_registration *r =
        hf_registration_alloc(zookeeper, path);

    if (r == NULL)
        return NULL;
    r->watch = hf_zookeeper_watch_new(zookeeper, path, HF_ZOOKEEPER_WATCH_DATA,
                                      (struct hf_zookeeper_on_fired){fired, r});
    if (r->watch == NULL) {
        hf_registration_dereference(r);
        return NULL;
    }
    r->step_ended = step_ended;
    r->retry_timer.fn = try_again;
    r->retry_timer.arg = r;
    link_to_handle(r);
    return r;
}
