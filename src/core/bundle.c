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
    return &whole->bundle->parts[i];
}

static bool is_had(const struct hf_acquisition *part)
{
    return part->state == STATE(HELD) || part->state == STATE(LOST);
}

/* ------------------------------------------------------------- hearing -- */

static void touch(struct hf_core *core, struct hf_acquisition *whole)
{
    hf_later_add(&core->later, &whole->bundle->later);
}

static void child_lost(struct hf_core *core, struct hf_acquisition *part)
{
    if (part->whole->state == STATE(HELD) && !part->gate)
        hf_acquisition_lose(core, part->whole, false,
                            hf_acquisition_text(part));
    touch(core, part->whole);
}

static void child_waits(struct hf_core *core, struct hf_acquisition *part)
{
    struct hf_acquisition *whole = part->whole;

    /* Who gives back has nobody wait, from the step on that begins it. */
    assert(whole->state == STATE(WAITING) && !whole->bundle->undoing);
    whole->ahead = part->ahead;
    hf_acquisition_set_holder(core, whole, hf_text_of(part->holder));
    if (!whole->waiting_effect.queued)
        hf_effect_add(&core->effects, &whole->waiting_effect,
                      HF_EFFECT_WAITING);
}

/* One who waits is asked as soon as there is something to let go. */
static void child_revoked(struct hf_core *core, struct hf_acquisition *part)
{
    struct hf_acquisition *whole = part->whole;

    if (whole->state == STATE(WAITING) && !whole->bundle->undoing)
        whole->revoked = true;
    else if (whole->state == STATE(HELD) && !part->gate &&
             !whole->loss_effect.queued)
        hf_effect_add(&core->effects, &whole->loss_effect, HF_EFFECT_REVOKED);
}

static void child_changed(struct hf_core *core, struct hf_acquisition *part)
{
    touch(core, part->whole);
}

static void child_ended(struct hf_core *core, struct hf_acquisition *part,
                        enum hf_effect_kind how)
{
    (void)how;
    touch(core, part->whole);
}

static void child_displaced(struct hf_acquisition *part)
{
    part->whole->placeless = true;
}

static void child_queued(struct hf_acquisition *part)
{
    hf_acquisition_count_place(part->whole);
}

/* Nobody does on a part of what is still waited for. */
static bool child_relies(const struct hf_acquisition *part)
{
    return !hf_acquisition_is_waiting(part->whole);
}

static const struct hf_acquisition_owner child_owner = {
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

    for (size_t i = whole->bundle->count; i-- > 0;) {
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
    for (size_t i = 0; i < whole->bundle->count; i++) {
        if (!hf_acquisition_is_over(part_at(whole, i)))
            return false;
    }
    return true;
}

/* Something that was had is lost, and with it the order of what comes after:
 * from the start, as soon as nothing of this try can be in a queue. */
static void undo(struct hf_core *core, struct hf_acquisition *whole)
{
    whole->bundle->undoing = true;
    whole->unlimited = false;
    hf_schedule_touch(core, &whole->entry);
    hf_acquisition_displaced(whole);
    whole->revoked = false; /* of tickets that go */
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
        .whole = part->whole,
        .gate = part->gate,
        .only_try = part->only_try,
        .deadline_at_ms = part->deadline_at_ms,
        .report_every_ms = part->report_every_ms,
    };
}

static void begin_again(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->bundle;

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
    const struct hf_bundle *bundle = whole->bundle;

    for (size_t i = 0; i < bundle->at; i++) {
        const struct hf_acquisition *part = part_at(whole, i);
        bool let_go = part->gate && i + 1 < bundle->at;

        if (part->state != STATE(HELD) && !let_go)
            return false;
    }
    return true;
}

static void grant(struct hf_core *core, struct hf_acquisition *whole)
{
    const struct hf_bundle *bundle = whole->bundle;

    whole->token = part_at(whole, bundle->token)->token;
    whole->session = core->session.number;
    hf_acquisition_grant(core, whole, whole->revoked);
    whole->revoked = false;
}

/* The part that is waited for was granted. */
static void advance(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->bundle;

    bundle->at++;
    if (bundle->at > 1 && part_at(whole, bundle->at - 2)->gate)
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
    struct hf_bundle *bundle = whole->bundle;
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
            part->owner = &child_owner;
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
        if (whole->bundle->undoing && are_over(whole))
            begin_again(core, whole);
        if (!whole->bundle->undoing)
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
    for (size_t i = 0; i < whole->bundle->count; i++) {
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

    for (size_t i = 0; i < whole->bundle->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->tell_at_ms != 0) /* it gave up */
            at_ms = hf_earlier_ms(at_ms, part->tell_at_ms);
    }
    return at_ms;
}

static bool may_remain(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->bundle->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->state != STATE(IDLE) && part->ops->may_remain(part))
            return true;
    }
    return false;
}

static hf_status release_status(struct hf_core *core,
                                struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->bundle->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (!part->gate && part->status != HF_OK) {
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
    whole->bundle->whole = whole;
    whole->bundle->later.look = look;
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
