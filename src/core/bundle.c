/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts tell their whole of what happens to them while the core is in the midst
 * of a step.  The whole only notes that it was told, and looks at its parts
 * when the step has ended: whatever it then asks of them meets a core that is
 * in order.  The one exception is a loss, which is passed on at once, for LOST
 * comes first.
 */
#include "core/bundle.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/acquisition.h"
#include "core/core.h"
#include "core/error.h"
#include "core/instant.h"

#define STATE(name) HF_ACQUISITION_##name

static struct hf_acquisition *part_at(const struct hf_acquisition *whole,
                                      size_t i)
{
    return &whole->multi_lock->parts[i];
}

static bool is_had(const struct hf_acquisition *part)
{
    return part->state == STATE(HELD) || part->state == STATE(LOST);
}

/* ------------------------------------------------------------- hearing -- */

static void touch(struct hf_core *core, struct hf_acquisition *whole)
{
    hf_later_add(&core->later, &whole->multi_lock->later);
}

static void child_lost(struct hf_core *core, struct hf_acquisition *part)
{
    if (part->parent->state == STATE(HELD) && !part->entry_mutex)
        hf_acquisition_lose(core, part->parent, false,
                            hf_acquisition_text(part));
    touch(core, part->parent);
}

static void child_waits(struct hf_core *core, struct hf_acquisition *part)
{
    struct hf_acquisition *whole = part->parent;

    /* Who gives back has nobody wait, from the step on that begins it. */
    assert(whole->state == STATE(WAITING) && !whole->multi_lock->undoing);
    whole->ahead = part->ahead;
    hf_acquisition_set_holder(core, whole, hf_text_of(part->holder));
    whole->owner->waiting(core, whole);
}

/* One who waits is asked as soon as there is something to let go. */
static void child_revoked(struct hf_core *core, struct hf_acquisition *part)
{
    struct hf_acquisition *whole = part->parent;

    if (whole->state == STATE(WAITING) && !whole->multi_lock->undoing)
        whole->multi_lock->revoked = true;
    else if (whole->state == STATE(HELD) && !part->entry_mutex)
        whole->owner->revoked(core, whole);
}

static void child_changed(struct hf_core *core, struct hf_acquisition *part)
{
    touch(core, part->parent);
}

static void child_ended(struct hf_core *core, struct hf_acquisition *part,
                        enum hf_effect_kind how)
{
    (void)how;
    touch(core, part->parent);
}

static void child_displaced(struct hf_acquisition *part)
{
    part->parent->placeless = true;
}

static void child_queued(struct hf_acquisition *part)
{
    hf_acquisition_count_place(part->parent);
}

/* Nobody does on a part of what is still waited for. */
static bool child_relies(const struct hf_acquisition *part)
{
    return !hf_acquisition_is_waiting(part->parent);
}

const struct hf_acquisition_owner hf_acquisition_of_parent = {
    .waiting = child_waits,
    .granted = child_changed,
    .revoked = child_revoked,
    .lost = child_lost,
    .gave_up = child_changed,
    .ended = child_ended,
    .over = child_changed,
    .changed = child_changed,
    .displaced = child_displaced,
    .queued = child_queued,
    .relies = child_relies,
};

/* --------------------------------------------------------- giving back -- */

/* In reverse of how they were taken.  Asked for; their ends are heard of. */
static void give_back(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_error why;

    for (size_t i = whole->multi_lock->count; i-- > 0;) {
        struct hf_acquisition *part = part_at(whole, i);

        hf_error_set(&why, HF_ECANCELLED, "the other locks were not had");
        if (part->state != STATE(IDLE) && hf_acquisition_is_waiting(part))
            hf_acquisition_give_up(core, part, &why);
        else if (is_had(part))
            hf_acquisition_release(core, part);
    }
}

static bool are_over(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->multi_lock->count; i++) {
        if (!hf_acquisition_is_over(part_at(whole, i)))
            return false;
    }
    return true;
}

/* Something that was had is lost, and with it the order of what comes after:
 * from the start, as soon as nothing of this try can be in a queue. */
static void undo(struct hf_core *core, struct hf_acquisition *whole)
{
    whole->multi_lock->undoing = true;
    whole->unlimited = false;
    hf_schedule_touch(core, &whole->entry);
    hf_acquisition_displaced(whole);
    whole->multi_lock->revoked = false; /* of tickets that go */
    give_back(core, whole);
}

/* Zero what is the core's own, of a part that is IDLE or has ended, for another
 * try. */
static void renew(struct hf_core *core, struct hf_acquisition *part)
{
    assert(hf_acquisition_is_over(part));
    hf_acquisition_free(core, part);
    *part = (struct hf_acquisition){
        .queue = part->queue,
        .payload = part->payload,
        .kind = part->kind,
        .weight = part->weight,
        .limit = part->limit,
        .parent = part->parent,
        .entry_mutex = part->entry_mutex,
        .only_try = part->only_try,
        .deadline_at_ms = part->deadline_at_ms,
        .report_every_ms = part->report_every_ms,
    };
}

static void begin_again(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->multi_lock;

    for (size_t i = 0; i < bundle->count; i++)
        renew(core, part_at(whole, i));
    bundle->at = 0;
    bundle->undoing = false;
    whole->unlimited = true;
    hf_schedule_touch(core, &whole->entry);
}

/* -------------------------------------------------------------- taking -- */

/* Is all that was taken still there? */
static bool is_sound(const struct hf_acquisition *whole)
{
    const struct hf_bundle *bundle = whole->multi_lock;

    for (size_t i = 0; i < bundle->at; i++) {
        const struct hf_acquisition *part = part_at(whole, i);
        bool let_go = part->entry_mutex && i + 1 < bundle->at;

        if (part->state != STATE(HELD) && !let_go)
            return false;
    }
    return true;
}

static void grant(struct hf_core *core, struct hf_acquisition *whole)
{
    const struct hf_bundle *bundle = whole->multi_lock;

    whole->token = part_at(whole, bundle->token)->token;
    whole->session = core->session.number;
    hf_acquisition_grant(core, whole, whole->multi_lock->revoked);
    whole->multi_lock->revoked = false;
}

/* The part that is waited for was granted. */
static void advance(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->multi_lock;

    bundle->at++;
    if (bundle->at > 1 && part_at(whole, bundle->at - 2)->entry_mutex)
        hf_acquisition_release(core, part_at(whole, bundle->at - 2));
    if (bundle->at == bundle->count)
        grant(core, whole);
}

/* The part that is waited for has given up: the others need not wait until its
 * ticket is gone. */
static void fail(struct hf_core *core, struct hf_acquisition *whole,
                 const struct hf_acquisition *part)
{
    struct hf_error why;

    hf_error_set(&why, part->status, "%s", hf_acquisition_text(part));
    hf_acquisition_give_up(core, whole, &why);
}

static void take(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->multi_lock;
    struct hf_acquisition *part;

    while (whole->state == STATE(WAITING)) {
        part = part_at(whole, bundle->at);
        if (!is_sound(whole)) {
            undo(core, whole);
            return;
        }
        assert(part->state != STATE(LOST)); /* a grant is seen in its step */
        if (part->state == STATE(HELD)) {
            advance(core, whole);
        } else if (part->state == STATE(WITHDRAWING) ||
                   part->state == STATE(DONE)) {
            fail(core, whole, part);
        } else if (part->state == STATE(IDLE)) {
            part->started_at_ms = whole->started_at_ms;
            part->ops = &hf_acquisition_by_ticket;
            part->owner = &hf_acquisition_of_parent;
            hf_acquisition_want(core, part);
        } else {
            return;
        }
    }
}

/* ------------------------------------------------------------- looking -- */

static void pump(struct hf_core *core, struct hf_acquisition *whole)
{
    switch (whole->state) {
    case STATE(WAITING):
        if (whole->multi_lock->undoing && are_over(whole))
            begin_again(core, whole);
        if (!whole->multi_lock->undoing)
            take(core, whole);
        break;
    case STATE(RELEASING):
    case STATE(WITHDRAWING):
        give_back(core, whole);
        hf_acquisition_settle(core, whole);
        break;
    default:
        break;
    }
}

static void look(struct hf_core *core, struct hf_later *later)
{
    char *at = (char *)later - offsetof(struct hf_bundle, later);

    pump(core, ((struct hf_bundle *)(void *)at)->whole);
}

/* ------------------------------------------------------------- the whole -- */

static bool is_told(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->multi_lock->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->state != STATE(IDLE) && !part->told)
            return false;
    }
    return true;
}

/* When the owner of a whole that gives up now is told at the latest, because a
 * part of it has waited for its removal since; HF_FOREVER if none has. */
static uint64_t tell_at_ms(const struct hf_acquisition *whole)
{
    uint64_t at_ms = HF_FOREVER;

    for (size_t i = 0; i < whole->multi_lock->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->tell_at_ms != 0) /* it gave up */
            at_ms = hf_earlier_ms(at_ms, part->tell_at_ms);
    }
    return at_ms;
}

static bool may_remain(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->multi_lock->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->state != STATE(IDLE) && part->ops->may_remain(part))
            return true;
    }
    return false;
}

static hf_status release_status(struct hf_core *core,
                                struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->multi_lock->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (!part->entry_mutex && part->status != HF_OK) {
            hf_acquisition_set_text(core, whole, hf_acquisition_text(part));
            return part->status;
        }
    }
    return HF_OK;
}

static bool is_leaving(const struct hf_acquisition *whole)
{
    return !is_told(whole);
}

static void begin(struct hf_core *core, struct hf_acquisition *whole)
{
    hf_acquisition_schedule(core, whole);
    hf_acquisition_link(core, whole);
    whole->multi_lock->whole = whole;
    for (size_t i = 0; i < whole->multi_lock->count; i++)
        part_at(whole, i)->parent = whole;
    whole->multi_lock->later.look = look;
    whole->unlimited = true;
}

static void leave(struct hf_core *core, struct hf_acquisition *whole)
{
    (void)core;
    if (hf_acquisition_is_waiting(whole))
        whole->tell_at_ms = hf_earlier_ms(whole->tell_at_ms, tell_at_ms(whole));
}

static bool place(struct hf_core *core, struct hf_acquisition *whole,
                  const struct hf_acquisition **at)
{
    (void)core;
    *at = whole;
    return false;
}

const struct hf_acquisition_ops hf_acquisition_by_bundle = {
    .begin = begin,
    .pump = touch,
    .leave = leave,
    .is_leaving = is_leaving,
    .may_remain = may_remain,
    .release_status = release_status,
    .may_finish = are_over,
    .finish = hf_acquisition_unlink,
    .place = place,
};
