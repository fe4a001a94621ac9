/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a watcher.
 */
#include "zookeeper/watcher.h"

#include <assert.h>

#include "base/state_machine.h"

#define STATE(name) HF_ZK_WATCHER_##name
#define TO(name) (1u << HF_ZK_WATCHER_##name)

/* A read for an armed watcher arms it anew.  Only a watcher that was set by
 * AddWatch becomes LOST when the session ends; it is then set again, or
 * removed. */
static const struct hf_state_machine_state states[] = {
    [STATE(OUT)] = {"OUT", TO(UNSET)},
    [STATE(UNSET)] = {"UNSET", TO(OUT) | TO(ARMED) | TO(ARMED_MISSING)},
    [STATE(ARMED)] = {"ARMED", TO(OUT) | TO(UNSET) | TO(ARMED) |
                                   TO(ARMED_MISSING) | TO(LOST)},
    [STATE(ARMED_MISSING)] = {"ARMED_MISSING", TO(OUT) | TO(UNSET) | TO(ARMED) |
                                                   TO(ARMED_MISSING)},
    [STATE(LOST)] = {"LOST", TO(OUT) | TO(ARMED)},
};

static const struct hf_state_machine table = {"watcher", states,
                                              sizeof states / sizeof states[0]};

bool hf_zk_watch_mode_is_one_shot(enum hf_zk_watch_mode mode)
{
    return mode == HF_ZK_WATCH_DATA || mode == HF_ZK_WATCH_CHILDREN;
}

bool hf_zk_watcher_in_set(const struct hf_zk_watcher *watcher)
{
    return watcher->state != HF_ZK_WATCHER_OUT;
}

bool hf_zk_watcher_is_armed(const struct hf_zk_watcher *watcher)
{
    return watcher->state == HF_ZK_WATCHER_ARMED ||
           watcher->state == HF_ZK_WATCHER_ARMED_MISSING;
}

void hf_zk_watcher_move(struct hf_zk_watcher *watcher,
                        enum hf_zk_watcher_state state)
{
    hf_state_machine_move(&table, &watcher->state, state);
}

void hf_zk_watcher_disarm(struct hf_zk_watcher *watcher)
{
    if (hf_zk_watcher_is_armed(watcher))
        hf_zk_watcher_move(watcher, HF_ZK_WATCHER_UNSET);
}

void hf_zk_watcher_forget_server(struct hf_zk_watcher *watcher)
{
    watcher->reads = 0;
    watcher->leftover = HF_ZK_LEFTOVER_NONE;
    watcher->server_mode = watcher->answered_mode = HF_ZK_SERVER_ONE_SHOT;
}

void hf_zk_watcher_check(const struct hf_zk_watcher *watcher)
{
    bool one_shot = hf_zk_watch_mode_is_one_shot(watcher->mode);

    assert(watcher->leftover <= HF_ZK_LEFTOVER_READ);
    assert(one_shot || watcher->reads == 0);
    assert(one_shot || watcher->leftover == HF_ZK_LEFTOVER_NONE);
    switch (watcher->state) {
    case HF_ZK_WATCHER_OUT:
        assert(!watcher->event_due && !watcher->resync_due);
        break;
    case HF_ZK_WATCHER_UNSET:
        /* Only a one-shot watcher is disarmed when its session ends, before it
         * is notified; the others become LOST. */
        assert(one_shot || !watcher->resync_due);
        break;
    case HF_ZK_WATCHER_ARMED:
        break;
    case HF_ZK_WATCHER_ARMED_MISSING:
        assert(watcher->mode == HF_ZK_WATCH_DATA);
        break;
    case HF_ZK_WATCHER_LOST:
        assert(!one_shot && !watcher->resync_due);
        break;
    default:
        assert(false); /* no state of the table */
    }
}

/* --------------------------------------------------------------- answers -- */

/* The answer to a read of a connection that has ended may come after the set
 * has forgotten that connection. */
void hf_zk_watcher_read_answered(struct hf_zk_watcher *watcher,
                                 enum hf_zk_read_answer answer)
{
    assert(hf_zk_watch_mode_is_one_shot(watcher->mode));
    assert(answer != HF_ZK_READ_FOUND_NONE ||
           watcher->mode == HF_ZK_WATCH_DATA);
    if (watcher->reads > 0)
        watcher->reads--;
    if (answer == HF_ZK_READ_SET_NOTHING || !hf_zk_watcher_in_set(watcher))
        return;
    hf_zk_watcher_move(watcher, answer == HF_ZK_READ_FOUND_NODE
                                    ? HF_ZK_WATCHER_ARMED
                                    : HF_ZK_WATCHER_ARMED_MISSING);
}

void hf_zk_watcher_add_answered(struct hf_zk_watcher *watcher)
{
    bool lost = watcher->state == HF_ZK_WATCHER_LOST;

    assert(!hf_zk_watch_mode_is_one_shot(watcher->mode));
    hf_zk_watcher_move(watcher, HF_ZK_WATCHER_ARMED);
    if (lost)
        hf_zk_watcher_resync(watcher);
}

void hf_zk_watcher_resync(struct hf_zk_watcher *watcher)
{
    const struct hf_zk_watch_event event = {HF_ZK_RESYNC, watcher->path,
                                            watcher->bytes};

    assert(hf_zk_watcher_in_set(watcher));
    watcher->resync_due = false;
    watcher->fired(watcher, &event);
}
