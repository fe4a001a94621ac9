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

void hf_bundle_touch(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->bundle;

    if (bundle->dirty)
        return;
    bundle->dirty = true;
    bundle->next_dirty = core->dirty;
    core->dirty = whole;
}

void hf_bundle_lost(struct hf_core *core, struct hf_acquisition *part)
{
    if (part->whole->state == STATE(HELD) && !part->gate)
        hf_acquisition_lose(core, part->whole, false,
                            hf_acquisition_text(part));
    hf_bundle_touch(core, part->whole);
}

void hf_bundle_waits(struct hf_core *core, struct hf_acquisition *part)
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
void hf_bundle_revoked(struct hf_core *core, struct hf_acquisition *part)
{
    struct hf_acquisition *whole = part->whole;

    if (whole->state == STATE(WAITING) && !whole->bundle->undoing)
        whole->revoked = true;
    else if (whole->state == STATE(HELD) && !part->gate &&
             !whole->loss_effect.queued)
        hf_effect_add(&core->effects, &whole->loss_effect, HF_EFFECT_REVOKED);
}

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
    hf_schedule_touch(core, &whole->entry); /* its limits count again */
    hf_acquisition_displaced(whole);
    whole->revoked = false; /* of tickets that go */
    give_back(core, whole);
}

static void begin_again(struct hf_core *core, struct hf_acquisition *whole)
{
    struct hf_bundle *bundle = whole->bundle;

    for (size_t i = 0; i < bundle->count; i++)
        hf_acquisition_renew(core, part_at(whole, i));
    bundle->at = 0;
    bundle->undoing = false;
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
    hf_acquisition_move(core, whole, STATE(HELD));
    hf_effect_add(&core->effects, &whole->answer_effect, HF_EFFECT_GRANTED);
    if (whole->revoked)
        hf_effect_add(&core->effects, &whole->loss_effect, HF_EFFECT_REVOKED);
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

/* It ends: a look at one changes its parts, and they are done some time. */
void hf_bundles_pump(struct hf_core *core)
{
    struct hf_acquisition *whole;

    while ((whole = core->dirty) != NULL) {
        core->dirty = whole->bundle->next_dirty;
        whole->bundle->dirty = false;
        pump(core, whole);
    }
}

/* ------------------------------------------------------------- answers -- */

bool hf_bundle_is_taking(const struct hf_acquisition *whole)
{
    return whole->bundle != NULL && !whole->bundle->undoing;
}

bool hf_bundle_is_told(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->bundle->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->state != STATE(IDLE) && !part->told)
            return false;
    }
    return true;
}

uint64_t hf_bundle_tell_at_ms(const struct hf_acquisition *whole)
{
    uint64_t at_ms = HF_FOREVER;

    for (size_t i = 0; i < whole->bundle->count; i++) {
        const struct hf_acquisition *part = part_at(whole, i);

        if (part->tell_at_ms != 0) /* it gave up */
            at_ms = hf_earlier_ms(at_ms, part->tell_at_ms);
    }
    return at_ms;
}

bool hf_bundle_may_remain(const struct hf_acquisition *whole)
{
    for (size_t i = 0; i < whole->bundle->count; i++) {
        if (hf_acquisition_may_remain(part_at(whole, i)))
            return true;
    }
    return false;
}

hf_status hf_bundle_release_status(struct hf_core *core,
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

bool hf_bundle_lurks(const struct hf_acquisition *whole)
{
    return !are_over(whole);
}
