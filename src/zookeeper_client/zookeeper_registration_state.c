/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a registration and its memory, and what its user is notified
 * of.
 *
 * One callback serves all events.  It reads the registration when it runs, and
 * reports what has changed since the last report, in an order that makes sense:
 * the loss of a node comes before the next one.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/state_machine.h"
#include "zookeeper_client/zookeeper_registration.h"

/* ---------------------------------------------------------------- states -- */

#define STATE(name) HF_REGISTRATION_##name
#define TO(name) (1u << HF_REGISTRATION_##name)
#define END_OF_USE (TO(REMOVING) | TO(CLOSED))

/* The legal changes of the state.  A registration that has failed or was freed
 * never creates a node again. */
static const struct hf_state_machine_state states[] = {
    [STATE(CREATING)] = {"CREATING", TO(CREATING) | TO(BLOCKED) | TO(CHECKING) |
                                         TO(REGISTERED) | TO(FAILED) |
                                         END_OF_USE | TO(ENDED)},
    [STATE(BLOCKED)] = {"BLOCKED", TO(CREATING) | END_OF_USE},
    [STATE(CHECKING)] = {"CHECKING", TO(CREATING) | TO(BLOCKED) | TO(CHECKING) |
                                         TO(REGISTERED) | TO(FAILED) |
                                         END_OF_USE},
    [STATE(REGISTERED)] = {"REGISTERED",
                           TO(CREATING) | TO(CHECKING) | END_OF_USE},
    [STATE(FAILED)] = {"FAILED", END_OF_USE},
    [STATE(REMOVING)] = {"REMOVING", TO(ENDED)},
    [STATE(CLOSED)] = {"CLOSED", TO(REMOVING)},
    [STATE(ENDED)] = {"ENDED", 0},
};

static const struct hf_state_machine table = {"registration", states,
                                              sizeof states / sizeof states[0]};

/* The data of a state are zeroed when it is entered. */
void hf_registration_move(struct hf_zookeeper_registration *r,
                          enum hf_registration_state state)
{
    unsigned from = r->state;

    hf_state_machine_move(&table, &r->state, state);
    if (from != state)
        memset(&r->in, 0, sizeof r->in);
}

struct hf_registration_creating *
hf_registration_creating(struct hf_zookeeper_registration *r)
{
    assert(r->state == HF_REGISTRATION_CREATING);
    return &r->in.creating;
}

struct hf_registration_removing *
hf_registration_removing(struct hf_zookeeper_registration *r)
{
    assert(r->state == HF_REGISTRATION_REMOVING);
    return &r->in.removing;
}

bool hf_registration_has_node(const struct hf_zookeeper_registration *r)
{
    return r->state == HF_REGISTRATION_CHECKING ||
           r->state == HF_REGISTRATION_REGISTERED;
}

/* The invariants of a registration that waits for its watch. */
static void check_at_rest(const struct hf_zookeeper_registration *r)
{
    bool registered = r->state == HF_REGISTRATION_REGISTERED;

    assert(r->step.under_way == 0);
    assert(r->link != NULL && r->watch != NULL);
    assert(registered == (r->why.status == HF_OK));
    if (registered) {
        assert(r->registered_czxid == r->stat.czxid);
        assert(r->written == r->data_number);
        assert(r->session != 0 && r->created_in_session == 0);
        assert(r->waits == NULL);
    }
}

void hf_registration_check_invariants(const struct hf_zookeeper_registration *r)
{
    assert(r->references > 0);
    assert(r->written <= r->data_number);
    switch (r->state) {
    case HF_REGISTRATION_BLOCKED:
    case HF_REGISTRATION_REGISTERED:
        check_at_rest(r);
        break;
    case HF_REGISTRATION_CREATING:
        assert(r->registered_czxid == HF_REGISTRATION_NO_NODE);
        break;
    case HF_REGISTRATION_CHECKING:
        assert(r->session != 0);
        break;
    case HF_REGISTRATION_FAILED:
        assert(r->step.under_way == 0 && r->waits == NULL);
        assert(r->why.status != HF_OK);
        break;
    case HF_REGISTRATION_REMOVING:
        assert(hf_user_callback_is_retired(&r->report.user));
        assert(r->waits == NULL && r->link != NULL);
        break;
    default:
        assert(r->link == NULL && r->waits == NULL);
    }
}

/* -------------------------------------------------------------- lifetime -- */

static void run_event(void *arg);

struct hf_zookeeper_registration *
hf_registration_alloc(struct hf_zookeeper *zookeeper, const char *path)
{
    size_t bytes = strlen(path) + 1;
    struct hf_zookeeper_registration *r = hf_alloc(sizeof *r + 2 * bytes);

    if (r == NULL)
        return NULL;
    hf_zookeeper_reference(zookeeper);
    r->zookeeper = zookeeper;
    r->references = 1;
    memcpy(r->path, path, bytes);
    r->parent = r->path + bytes;
    r->parent_mode = HF_ZOOKEEPER_CONTAINER;
    r->session = zookeeper->begun ? zookeeper->session->id : 0;
    r->registered_czxid = HF_REGISTRATION_NO_NODE;
    r->report.reported_czxid = HF_REGISTRATION_NO_NODE;
    r->report.callback = (struct hf_callback){.run = run_event, .arg = r};
    return r;
}

void hf_registration_reference(struct hf_zookeeper_registration *r)
{
    r->references++;
}

void hf_registration_dereference(struct hf_zookeeper_registration *r)
{
    struct hf_zookeeper *zookeeper = r->zookeeper;

    assert(r->references > 0);
    if (--r->references > 0)
        return;
    assert(r->link == NULL && r->watch == NULL && r->waits == NULL);
    hf_free(r->data);
    hf_free(r->acls);
    hf_free(r);
    hf_zookeeper_dereference(zookeeper);
}

void hf_registration_unlink(struct hf_zookeeper_registration *r)
{
    if (r->link == NULL)
        return;
    *r->link = r->next;
    if (r->next != NULL)
        r->next->link = r->link;
    r->link = NULL;
}

/* ------------------------------------------------------------- reporting -- */

/* Is the node gone that was last reported as REGISTERED? */
static bool is_loss_due(const struct hf_zookeeper_registration *r)
{
    int64_t reported_czxid = r->report.reported_czxid;

    return reported_czxid != HF_REGISTRATION_NO_NODE &&
           reported_czxid != r->registered_czxid;
}

static bool is_registered_due(const struct hf_zookeeper_registration *r)
{
    return r->report.reported_czxid == HF_REGISTRATION_NO_NODE &&
           r->registered_czxid != HF_REGISTRATION_NO_NODE;
}

void hf_registration_notify(struct hf_zookeeper_registration *r)
{
    struct hf_registration_report *report = &r->report;

    if (hf_user_callback_is_retired(&report->user) ||
        report->on_event.fn == NULL || report->callback.queued)
        return;
    if (!is_loss_due(r) && !is_registered_due(r) &&
        report->pending == HF_REGISTRATION_NOTHING_PENDING)
        return;
    hf_registration_reference(r);
    hf_monitor_queue(r->zookeeper->monitor, &report->callback);
}

void hf_registration_discard_events(struct hf_zookeeper_registration *r)
{
    hf_user_callback_retire(&r->report.user);
    if (!r->report.callback.queued)
        return;
    hf_callback_queue_remove(&r->zookeeper->monitor->callback_queue,
                             &r->report.callback);
    hf_registration_dereference(r);
}

/* Set ${event} to the next event to report, and note that it was reported.
 * False: there is nothing to report. */
static bool take_event(struct hf_zookeeper_registration *r,
                       struct hf_zookeeper_registration_event *event,
                       struct hf_error *why)
{
    struct hf_registration_report *report = &r->report;

    *event = (struct hf_zookeeper_registration_event){.path = r->path};
    *why = r->why;
    if (is_loss_due(r)) {
        event->kind = HF_ZOOKEEPER_UNREGISTERED;
        *why = report->loss;
        report->reported_czxid = HF_REGISTRATION_NO_NODE;
    } else if (is_registered_due(r)) {
        event->kind = HF_ZOOKEEPER_REGISTERED;
        *why = (struct hf_error){.status = HF_OK};
        report->reported_czxid = r->registered_czxid;
    } else if (report->pending == HF_REGISTRATION_BLOCKED_PENDING) {
        event->kind = HF_ZOOKEEPER_REGISTRATION_BLOCKED;
        *why = report->blocked;
        report->pending = HF_REGISTRATION_NOTHING_PENDING;
    } else if (report->pending == HF_REGISTRATION_FAILED_PENDING) {
        event->kind = HF_ZOOKEEPER_REGISTRATION_FAILED;
        report->pending = HF_REGISTRATION_NOTHING_PENDING;
    } else {
        return false;
    }
    event->status = why->status;
    event->text = why->text;
    event->has_stat = why->status == HF_OK || why->status == HF_EEXISTS;
    if (event->has_stat)
        event->stat = r->stat;
    return true;
}

/* The .run of the callback: report one event, and queue it again if there is
 * another. */
static void run_event(void *arg)
{
    struct hf_zookeeper_registration *r = arg;
    struct hf_monitor *monitor = r->zookeeper->monitor;
    struct hf_registration_report *report = &r->report;
    struct hf_zookeeper_registration_event event;
    struct hf_error why;

    if (take_event(r, &event, &why) &&
        hf_user_callback_enter(&report->user, monitor)) {
        hf_last_error_report(event.status, event.text);
        report->on_event.fn(report->on_event.arg, r, &event);
        if (!hf_user_callback_leave(&report->user, monitor))
            return;
    }
    hf_registration_notify(r);
    hf_registration_dereference(r);
}
