/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child notifies its parent in the middle of a step, when the core is not yet
 * in order again.  The parent therefore only notes that something has happened
 * (defer_pump()) and acts on the states of its children at the end of the step
 * (pump()).  WAITING, REVOKED and LOST are passed on at once: LOST has to be,
 * because it precedes every other effect of a step.
 */
#include "core/multi_lock.h"

#include <assert.h>
#include <stddef.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/time_math.h"
#include "core/core_state.h"

#define STATE(name) HF_ACQUISITION_##name

static struct hf_acquisition *child_at(const struct hf_acquisition *parent,
                                       size_t i)
{
    return &parent->multi_lock->children[i];
}

/* Does ${child} have something to release? */
static bool was_granted(const struct hf_acquisition *child)
{
    return child->state == STATE(HELD) || child->state == STATE(LOST);
}

/* ------------------------------------ the parent as listener of a child -- */

/* Pump ${parent} when the step ends. */
static void defer_pump(struct hf_core *core, struct hf_acquisition *parent)
{
    hf_deferred_call_add(&core->deferred, &parent->multi_lock->deferred);
}

/* A lost child, unless it is an entry mutex, ends the grant of the parent.
 * While the parent waits the loss is handled at the end of the step:
 * roll_back(). */
static void child_lost(struct hf_core *core, struct hf_acquisition *child)
{
    if (child->parent->state == STATE(HELD) && !child->entry_mutex)
        hf_acquisition_lose(core, child->parent, false,
                            hf_acquisition_text(child));
    defer_pump(core, child->parent);
}

/* The position of the parent is that of the child that waits. */
static void child_waiting(struct hf_core *core, struct hf_acquisition *child)
{
    struct hf_acquisition *parent = child->parent;

    /* While the multi-lock rolls back, none of its children waits. */
    assert(parent->state == STATE(WAITING) &&
           !parent->multi_lock->rolling_back);
    parent->ahead = child->ahead;
    hf_acquisition_set_holder(core, parent, hf_shared_text_get(child->holder));
    parent->listener->waiting(core, parent);
}

/* A parent that waits has nothing to release yet: the request is reported with
 * its grant. */
static void child_revoked(struct hf_core *core, struct hf_acquisition *child)
{
    struct hf_acquisition *parent = child->parent;

    if (parent->state == STATE(WAITING) && !parent->multi_lock->rolling_back) {
        parent->multi_lock->revoked = child;
    } else if (parent->state == STATE(HELD) && !child->entry_mutex) {
        parent->multi_lock->revoked = child;
        parent->listener->revoked(core, parent);
    }
}

static void child_changed(struct hf_core *core, struct hf_acquisition *child)
{
    defer_pump(core, child->parent);
}

static void child_ended(struct hf_core *core, struct hf_acquisition *child,
                        enum hf_effect_kind how)
{
    (void)how;
    defer_pump(core, child->parent);
}

static void child_displaced(struct hf_acquisition *child)
{
    child->parent->position_lost = true;
}

static void child_queued(struct hf_acquisition *child)
{
    hf_acquisition_count_displaced(child->parent);
}

/* While the parent waits, nobody uses what the children hold. */
static bool child_is_relied_on(const struct hf_acquisition *child)
{
    return child->parent->state != STATE(WAITING);
}

static const struct hf_acquisition *
entry_mutex_of(const struct hf_acquisition *lease)
{
    assert(lease->kind == HF_TICKET_LEASE);
    if (lease == lease->parent->multi_lock->children || !lease[-1].entry_mutex)
        return NULL;
    return lease - 1;
}

const struct hf_acquisition_listener hf_acquisition_parent_listener = {
    .entry_mutex = entry_mutex_of,
    .waiting = child_waiting,
    .granted = child_changed,
    .revoked = child_revoked,
    .lost = child_lost,
    .gave_up = child_changed,
    .ended = child_ended,
    .done = child_changed,
    .changed = child_changed,
    .displaced = child_displaced,
    .queued = child_queued,
    .is_relied_on = child_is_relied_on,
};

/* --------------------------------------------------------- rolling back -- */

/* End all children, the last one first: release those that were granted, end
 * the wait of the one that waits.  Each notifies the parent when that has
 * ended. */
static void release_children(struct hf_core *core,
                             struct hf_acquisition *parent)
{
    struct hf_error why;

    for (size_t i = parent->multi_lock->count; i-- > 0;) {
        struct hf_acquisition *child = child_at(parent, i);

        hf_error_set(&why, HF_ECANCELLED, "the other locks were not had");
        if (child->state == STATE(WAITING))
            hf_acquisition_give_up(core, child, &why);
        else if (was_granted(child))
            hf_acquisition_release(core, child);
    }
}

/* Has the engine nothing left of any child? */
static bool children_can_be_freed(const struct hf_acquisition *parent)
{
    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        if (!hf_acquisition_can_be_freed(child_at(parent, i)))
            return false;
    }
    return true;
}

/* A child that was granted is lost.  Somebody else may have its lock now, so
 * the locks behind it must not be kept while waiting for it again: that would
 * break the order in which locks are taken.  Those before it could be kept;
 * they are released as well, so that nobody waits for them meanwhile. restart()
 * follows as soon as no ticket of this round can be in a queue.  Nothing was
 * granted, so the user is notified only of the new position, once there is one.
 */
static void roll_back(struct hf_core *core, struct hf_acquisition *parent)
{
    assert(parent->state == STATE(WAITING) &&
           !parent->multi_lock->rolling_back);
    parent->multi_lock->rolling_back = true;
    hf_schedule_touch(core, &parent->entry);
    hf_acquisition_lose_position(parent);
    parent->multi_lock->revoked = NULL; /* it was about these tickets */
    release_children(core, parent);
}

/* Make ${child}, which is IDLE or has ended, ready for another ACQUIRE: keep
 * what is set before an ACQUIRE, zero everything else. */
static void reset_child(struct hf_core *core, struct hf_acquisition *child)
{
    assert(hf_acquisition_can_be_freed(child));
    hf_acquisition_free(core, child);
    *child = (struct hf_acquisition){
        .queue = child->queue,
        .payload = child->payload,
        .kind = child->kind,
        .weight = child->weight,
        .limit = child->limit,
        .parent = child->parent,
        .entry_mutex = child->entry_mutex,
        .only_try = child->only_try,
        .deadline_at_ms = child->deadline_at_ms,
        .report_every_ms = child->report_every_ms,
    };
}

/* The roll back is complete: begin with the first child again. */
static void restart(struct hf_core *core, struct hf_acquisition *parent)
{
    struct hf_multi_lock *multi_lock = parent->multi_lock;

    assert(parent->state == STATE(WAITING) && multi_lock->rolling_back);
    for (size_t i = 0; i < multi_lock->count; i++)
        reset_child(core, child_at(parent, i));
    multi_lock->current = 0;
    multi_lock->rolling_back = false;
    hf_schedule_touch(core, &parent->entry);
}

/* ------------------------------------------- taking one after the other -- */

/* Are all children before the current one still HELD, except entry mutexes that
 * were released? */
static bool earlier_children_held(const struct hf_acquisition *parent)
{
    const struct hf_multi_lock *multi_lock = parent->multi_lock;

    for (size_t i = 0; i < multi_lock->current; i++) {
        const struct hf_acquisition *child = child_at(parent, i);
        bool is_released = child->entry_mutex && i + 1 < multi_lock->current;

        if (child->state != STATE(HELD) && !is_released)
            return false;
    }
    return true;
}

/* The last child is HELD, and so are all others but the entry mutexes, which
 * were released: grant the parent. */
static void grant(struct hf_core *core, struct hf_acquisition *parent)
{
    const struct hf_multi_lock *multi_lock = parent->multi_lock;

    assert(multi_lock->current == multi_lock->count);
    assert(child_at(parent, multi_lock->token_child)->state == STATE(HELD));
    parent->token = child_at(parent, multi_lock->token_child)->token;
    parent->session = core->session.number;
    hf_acquisition_grant(core, parent, multi_lock->revoked != NULL);
}

/* The current child was granted: release the entry mutex before it, if that is
 * one, and go on with the next child. */
static void advance(struct hf_core *core, struct hf_acquisition *parent)
{
    struct hf_multi_lock *multi_lock = parent->multi_lock;

    assert(child_at(parent, multi_lock->current)->state == STATE(HELD));
    multi_lock->current++;
    if (multi_lock->current > 1 &&
        child_at(parent, multi_lock->current - 2)->entry_mutex)
        hf_acquisition_release(core, child_at(parent, multi_lock->current - 2));
    if (multi_lock->current == multi_lock->count)
        grant(core, parent);
}

/* The current child has given up, and with it the parent.  The other children
 * are released now: they need not wait until the ticket of this one is gone. */
static void give_up_with_child(struct hf_core *core,
                               struct hf_acquisition *parent,
                               const struct hf_acquisition *child)
{
    struct hf_error why;

    hf_error_set(&why, child->status, "%s", hf_acquisition_text(child));
    hf_acquisition_give_up(core, parent, &why);
}

/* WAITING: take one child after the other, until one has to wait. */
static void take_locks(struct hf_core *core, struct hf_acquisition *parent)
{
    struct hf_multi_lock *multi_lock = parent->multi_lock;
    struct hf_acquisition *child;

    while (parent->state == STATE(WAITING)) {
        child = child_at(parent, multi_lock->current);
        if (!earlier_children_held(parent)) {
            roll_back(core, parent);
            return;
        }
        /* The parent looks at a child in the step in which that is granted, so
         * it was not lost before the parent saw the grant. */
        assert(child->state != STATE(LOST));
        if (child->state == STATE(HELD)) {
            advance(core, parent);
        } else if (hf_acquisition_has_ended(child)) {
            give_up_with_child(core, parent, child);
        } else if (child->state == STATE(IDLE)) {
            child->started_at_ms = parent->started_at_ms;
            child->ops = &hf_acquisition_ticket_ops;
            child->listener = &hf_acquisition_parent_listener;
            hf_acquisition_start(core, child);
        } else {
            return;
        }
    }
}

/* ---------------------------------------------------- the end of a step -- */

/* Restart as soon as every child can be freed.  A ticket that may not be
 * removed stays until the session is over, so the roll back cannot end before;
 * end the wait instead. */
static void continue_roll_back(struct hf_core *core,
                               struct hf_acquisition *parent)
{
    struct hf_error why;

    if (children_can_be_freed(parent)) {
        restart(core, parent);
        return;
    }
    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        const struct hf_acquisition *child = child_at(parent, i);

        if (child->tickets.removal_denied == NULL)
            continue;
        hf_error_set(&why, HF_EDENIED, "%s",
                     hf_shared_text_get(child->tickets.removal_denied));
        hf_acquisition_give_up(core, parent, &why);
        return;
    }
}

/* Act on the states of the children, at the end of a step. */
static void pump(struct hf_core *core, struct hf_acquisition *parent)
{
    switch (parent->state) {
    case STATE(WAITING):
        if (parent->multi_lock->rolling_back)
            continue_roll_back(core, parent);
        if (parent->state == STATE(WAITING) &&
            !parent->multi_lock->rolling_back)
            take_locks(core, parent);
        break;
    case STATE(RELEASING):
    case STATE(GIVING_UP):
    case STATE(DRAINING):
        release_children(core, parent);
        hf_acquisition_finish(core, parent);
        break;
    default:
        break;
    }
}

/* The deferred call of a multi-lock. */
static void run_deferred(struct hf_core *core,
                         struct hf_deferred_call *deferred)
{
    pump(core, container_of(deferred, struct hf_multi_lock, deferred)->parent);
}

/* ----------------------------------------- the parent as an acquisition -- */

/* Has every child that was started reported its end? */
static bool children_notified(const struct hf_acquisition *parent)
{
    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        const struct hf_acquisition *child = child_at(parent, i);

        if (child->state != STATE(IDLE) && child->state < STATE(DRAINING))
            return false;
    }
    return true;
}

/* When the first of the children that gave up reports its end at the latest;
 * HF_FOREVER: none gave up.  A parent that gives up reports its own end by
 * then, because its HF_REMOVAL_WAIT_MS began when the first child gave up, in a
 * roll back too. */
static uint64_t first_child_notify_at_ms(const struct hf_acquisition *parent)
{
    uint64_t at_ms = HF_FOREVER;

    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        const struct hf_acquisition *child = child_at(parent, i);

        if (child->notify_at_ms != 0) /* it gave up */
            at_ms = hf_min_ms(at_ms, child->notify_at_ms);
    }
    return at_ms;
}

static bool may_remain(const struct hf_acquisition *parent)
{
    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        const struct hf_acquisition *child = child_at(parent, i);

        if (child->state != STATE(IDLE) && child->ops->may_remain(child))
            return true;
    }
    return false;
}

/* The status of the first child that was not released with HF_OK.  Those of
 * entry mutexes do not count. */
static hf_status release_status(struct hf_core *core,
                                struct hf_acquisition *parent)
{
    for (size_t i = 0; i < parent->multi_lock->count; i++) {
        const struct hf_acquisition *child = child_at(parent, i);

        if (!child->entry_mutex && child->status != HF_OK) {
            hf_acquisition_set_text(core, parent, hf_acquisition_text(child));
            return child->status;
        }
    }
    return HF_OK;
}

static bool must_wait(const struct hf_acquisition *parent)
{
    return !children_notified(parent);
}

/* Connect the parent with its children. */
static void begin(struct hf_core *core, struct hf_acquisition *parent)
{
    hf_schedule_enter(core, &parent->entry, &hf_acquisition_schedule_ops);
    hf_acquisition_link(core, parent);
    parent->multi_lock->parent = parent;
    for (size_t i = 0; i < parent->multi_lock->count; i++)
        child_at(parent, i)->parent = parent;
    parent->multi_lock->deferred.run = run_deferred;
}

/* In a roll back no child waits.  Otherwise the deadline of the child that
 * waits ends the wait. */
static bool has_deadline(const struct hf_acquisition *parent)
{
    return parent->multi_lock->rolling_back;
}

/* See first_child_notify_at_ms(). */
static void leave(struct hf_core *core, struct hf_acquisition *parent)
{
    (void)core;
    if (parent->state == STATE(WAITING))
        parent->notify_at_ms =
            hf_min_ms(parent->notify_at_ms, first_child_notify_at_ms(parent));
}

static bool position(struct hf_core *core, struct hf_acquisition *parent,
                     const struct hf_acquisition **waits_by)
{
    (void)core;
    *waits_by = parent;
    return false;
}

/* The child that waits.  While a lease waits for permits, the ticket that waits
 * is that of the entry mutex. */
static const struct hf_acquisition *behind(const struct hf_acquisition *parent)
{
    const struct hf_multi_lock *multi_lock = parent->multi_lock;
    const struct hf_acquisition *child = child_at(parent, multi_lock->current);

    if (multi_lock->rolling_back || child->state != STATE(WAITING))
        return NULL;
    if (child->kind == HF_TICKET_LEASE)
        return child[-1].state == STATE(HELD) ? child - 1 : NULL;
    return hf_acquisition_is_behind(child) ? child : NULL;
}

const struct hf_acquisition_ops hf_acquisition_multi_lock_ops = {
    .begin = begin,
    .pump = defer_pump,
    .leave = leave,
    .has_deadline = has_deadline,
    .must_wait = must_wait,
    .may_remain = may_remain,
    .release_status = release_status,
    .may_finish = children_can_be_freed,
    .finish = hf_acquisition_unlink,
    .position = position,
    .behind = behind,
};
