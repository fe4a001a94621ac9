/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a registration does next: after a step, an event of its watch, and a new
 * state of the session.
 */
#include "zookeeper_client/zookeeper_registration.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* ------------------------------------------------------------ what it is -- */

/* The node is gone, or will be. */
static void unregister(struct hf_zookeeper_registration *r, hf_status status,
                       const char *text)
{
    r->is_made = false;
    r->written = 0;
    (void)hf_error_set(&r->why, status, "%.200s: %s", r->path, text);
    if (!r->registered)
        return;
    r->registered = false;
    r->loss = r->why;
    hf_registration_notify(r);
}

/* The node is there, and has the data. */
static void set_registered(struct hf_zookeeper_registration *r)
{
    const struct hf_error registered = {.status = HF_OK};

    r->registered = true;
    r->at_rest = true;
    r->retry = (struct hf_retry_state){0};
    r->why = registered;
    r->blocked.status = HF_OK;
    r->blocked_pending = false;
    hf_registration_waits_end(r, &registered);
    hf_registration_notify(r);
}

/* It cannot be made now, because of .why. */
static void report_blocked(struct hf_zookeeper_registration *r)
{
    if (r->blocked.status == r->why.status)
        return;
    r->blocked = r->why;
    r->blocked_pending = true;
    hf_registration_notify(r);
}

/* It will never be there again, because of ${why}. */
static void fail(struct hf_zookeeper_registration *r,
                 const struct hf_error *why)
{
    r->failed = true;
    r->failed_pending = true;
    r->blocked_pending = false;
    r->at_rest = true;
    r->why = *why;
    hf_log_write(&r->zookeeper->monitor->log, HF_LOG_WARNING,
                 "a registration has failed: %s", why->text);
    hf_registration_waits_end(r, why);
    hf_registration_notify(r);
}

/* Is a failure with ${status} worth an event?  Listeners to states are notified
 * of outages.  A node that somebody deletes right after it was made is nothing
 * special, unless it happens again and again. */
static bool is_reported(const struct hf_zookeeper_registration *r,
                        hf_status status)
{
    if (status == HF_EGONE)
        return r->retry.tries > 0;
    return status != HF_EUNREACHABLE && status != HF_ELOST &&
           status != HF_EUNSURE && status != HF_ECLOSED;
}

/* A step has failed with ${why}: is that for good? */
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
    if (r->zookeeper->queue.given_up)
        hf_registration_waits_end(r, &failure);
    hf_registration_retry(r);
}

/* ------------------------------------------------------- nodes above it -- */

/* Make the first ${bytes} of the path. */
static void make_parent(struct hf_zookeeper_registration *r, size_t bytes)
{
    r->parent_bytes = bytes;
    memcpy(r->parent, r->path, bytes);
    r->parent[bytes] = '\0';
    hf_registration_begin(r, HF_REGISTRATION_PARENT);
}

/* Make the node above the first ${bytes} of the path.  The one above "/" is
 * above the chroot. */
static void ascend(struct hf_zookeeper_registration *r, size_t bytes)
{
    struct hf_error why;

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
    make_parent(r, bytes > 0 ? bytes : 1);
}

/* The last one is there: make the next one below it, or the node. */
static void descend(struct hf_zookeeper_registration *r)
{
    size_t from = r->parent_bytes + (r->parent_bytes > 1);
    const char *slash = strchr(r->path + from, '/');

    r->parents_descend = true;
    r->parents_made = slash == NULL;
    if (slash != NULL)
        make_parent(r, (size_t)(slash - r->path));
    else
        hf_registration_begin(r, HF_REGISTRATION_CREATE);
}

/* From the deepest one up, because the session may have no permission to create
 * nodes further above, even those that are there. */
static void parent_ended(struct hf_zookeeper_registration *r)
{
    const struct hf_error *why = &r->step.write;

    if (why->status == HF_OK || why->status == HF_EEXISTS) {
        descend(r);
    } else if (why->status == HF_EGONE && !r->parents_descend) {
        ascend(r, r->parent_bytes);
    } else if (why->status == HF_EUNSUPPORTED && !r->no_containers) {
        r->no_containers = true;
        make_parent(r, r->parent_bytes);
    } else {
        fail_or_retry(r, why);
    }
}

/* ---------------------------------------------------- the end of a step -- */

/* What the write of the step says, whatever comes next. */
static void note_write(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;

    if ((step->kind == HF_REGISTRATION_CREATE ||
         step->kind == HF_REGISTRATION_SET) &&
        step->write.status == HF_OK)
        r->written = step->data_number;
}

/* A set that failed is not simply repeated, unless the version was another one:
 * the EXISTS has brought the new one. */
static void see_own(struct hf_zookeeper_registration *r)
{
    const struct hf_registration_step *step = &r->step;
    hf_status set =
        step->kind == HF_REGISTRATION_SET ? step->write.status : HF_OK;

    if (r->is_made && r->stat.czxid != step->stat.czxid)
        unregister(r, HF_EGONE,
                   "it was deleted, and made again in the same "
                   "session");
    r->is_made = true;
    r->may_be_left = false;
    r->made_in = step->stat.ephemeral_owner;
    r->stat = step->stat;
    if (r->written == r->data_number)
        set_registered(r);
    else if (set == HF_OK || set == HF_EVERSION || set == HF_EGONE)
        hf_registration_begin(r, HF_REGISTRATION_SET);
    else
        fail_or_retry(r, &step->write);
}

/* The node of another session, or a persistent one. */
static void see_other(struct hf_zookeeper_registration *r)
{
    int64_t owner = r->step.stat.ephemeral_owner;

    unregister(r, HF_EGONE, "it was deleted, and made again by another");
    r->stat = r->step.stat;
    r->at_rest = true;
    r->may_be_left &= owner == r->made_in;
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
                           owner == r->made_in ? "our previous" : "another",
                           (uint64_t)owner);
    report_blocked(r);
}

static void see_none(struct hf_zookeeper_registration *r)
{
    const struct hf_error *write = &r->step.write;
    bool created = r->step.kind == HF_REGISTRATION_CREATE;
    struct hf_error why;

    r->written = 0;
    if (r->is_made)
        unregister(r, HF_EGONE, "somebody has deleted it");
    if (!created || write->status == HF_EEXISTS) {
        hf_registration_begin(r, HF_REGISTRATION_CREATE);
    } else if (write->status == HF_EGONE && !r->parents_made) {
        r->parents_descend = false;
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

static void look_ended(struct hf_zookeeper_registration *r)
{
    hf_status look = r->step.look.status;

    if (hf_registration_sees_own(r))
        see_own(r);
    else if (look == HF_OK)
        see_other(r);
    else if (look == HF_EGONE)
        see_none(r);
    else
        fail_or_retry(r, &r->step.look);
}

static void step_ended(struct hf_zookeeper_registration *r)
{
    bool parents_made = r->parents_made;

    if (r->finished || r->closed)
        return;
    note_write(r);
    if (r->removing) {
        hf_registration_removal_step_ended(r);
    } else if (r->step.kind == HF_REGISTRATION_PARENT) {
        parent_ended(r);
    } else {
        look_ended(r);
        r->parents_made &= !parents_made;
    }
}

/* ---------------------------------------------------------------- events -- */

/* The .fn of the watch.  An event that comes during a step is older than what
 * its EXISTS will show.  A RESYNC says that the session has ended, and so does
 * the session. */
static void fired(void *arg, enum hf_zookeeper_event_kind kind,
                  const char *path, size_t bytes)
{
    struct hf_zookeeper_registration *r = arg;

    (void)path;
    (void)bytes;
    if (kind == HF_ZOOKEEPER_RESYNC || r->step.under_way > 0 || r->failed ||
        r->removing || r->closed)
        return;
    if (kind == HF_ZOOKEEPER_DELETED && r->is_made)
        unregister(r, HF_EGONE, "somebody has deleted it");
    hf_registration_begin(r, kind == HF_ZOOKEEPER_DELETED
                                 ? HF_REGISTRATION_CREATE
                                 : HF_REGISTRATION_LOOK);
}

/* A node that is known is looked at before anything else, behind a sync,
 * because the server of a new connection may not have the last changes yet. */
void hf_registration_resume(struct hf_zookeeper_registration *r)
{
    if (r->step.under_way > 0 || r->closed || r->finished)
        return;
    if (r->removing)
        hf_registration_removal_next(r);
    else if (!r->at_rest)
        hf_registration_begin(r, r->is_made ? HF_REGISTRATION_SYNC
                                            : HF_REGISTRATION_CREATE);
}

/* The .fn of the timer.  Where nothing could be written, the next connection
 * goes on. */
static void try_again(void *arg)
{
    struct hf_zookeeper_registration *r = arg;
    const struct hf_zk_session *session = r->zookeeper->session;

    if (hf_zk_session_usable(session) && !hf_zk_session_read_only(session))
        hf_registration_resume(r);
}

/* The watch, which is set again, would report what happened to a node of ours
 * since the last connection.  But that event is still on its way, and until
 * then a set or a delete of the user would hit what is there now. */
void hf_zookeeper_registrations_up(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_registration *r, *next;

    for (r = zookeeper->registrations; r != NULL; r = next) {
        next = r->next;
        r->retry = (struct hf_retry_state){0};
        r->may_exist = true;
        r->at_rest &= !r->is_made || r->failed;
        hf_registration_resume(r);
    }
}

/* Operations of a session that only a server without a quorum knew have not
 * ended with it.  A node that was not seen yet is that of the session, too,
 * unless that of another blocks it. */
static void lose(struct hf_zookeeper_registration *r)
{
    bool blocked = r->at_rest && !r->is_made && !r->failed;

    if (r->may_exist && !blocked) {
        r->may_be_left = true;
        r->made_in = r->zookeeper->retries.session;
    }
    r->may_exist = false;
    if (r->removing) {
        hf_registration_removal_next(r);
        return;
    }
    if (r->failed)
        return;
    r->at_rest = false;
    unregister(r, HF_ELOST, "the session has ended");
}

void hf_zookeeper_registrations_lost(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_registration *r, *next;

    for (r = zookeeper->registrations; r != NULL; r = next) {
        next = r->next;
        lose(r);
    }
}

/* Take ${r} out of the handle. */
static void close_one(struct hf_zookeeper_registration *r)
{
    static const struct hf_error closed = {.status = HF_ECLOSED,
                                           .text = "the handle was closed"};

    r->closed = true;
    if (r->removing) {
        hf_registration_removal_end(r, HF_ECLOSED, closed.text);
        return;
    }
    hf_zookeeper_timer_stop(&r->retry_timer);
    r->zookeeper->registrations = r->next;
    if (r->next != NULL)
        r->next->link = &r->zookeeper->registrations;
    r->link = NULL;
    hf_registration_waits_end(r, &closed);
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
    size_t bytes = strlen(path) + 1;
    struct hf_zookeeper_registration *r = hf_alloc(sizeof *r + 2 * bytes);

    if (r == NULL)
        return NULL;
    r->watch = hf_zookeeper_watch_new(zookeeper, path, HF_ZOOKEEPER_WATCH_DATA,
                                      (struct hf_zookeeper_on_fired){fired, r});
    if (r->watch == NULL) {
        hf_free(r);
        return NULL;
    }
    hf_zookeeper_reference(zookeeper);
    r->zookeeper = zookeeper;
    r->references = 1;
    memcpy(r->path, path, bytes);
    r->parent = r->path + bytes;
    r->step_ended = step_ended;
    r->retry_timer.fn = try_again;
    r->retry_timer.arg = r;
    r->may_exist = zookeeper->begun && zookeeper->session->id != 0;
    hf_registration_events_init(r);
    link_to_handle(r);
    return r;
}
