/* SPDX-License-Identifier: Apache-2.0 */
/* When sessions end (SessionTrackerImpl of ZooKeeper).  Only the leader decides
 * that.  It restarts a session's timeout when a connection is accepted, when a
 * client of its own sends something, and when a follower reports which of its
 * clients have sent something.  A write that a follower forwards does not
 * restart it.  Deadlines are rounded up to whole ticks. */
#include "simulator/model/zk_internal.h"

#include <assert.h>

static uint64_t rounded_us(const struct zk_server *leader, uint64_t at_us)
{
    uint64_t tick_us = 1000 * leader->sim->config.ensemble.tick_ms;

    return (at_us / tick_us + 1) * tick_us;
}

static void set_expiry(struct zk_server *leader, struct zk_session *session,
                       uint64_t timeout_ms)
{
    session->expires_us[leader->index] =
        rounded_us(leader, zk_clock_us(leader) + 1000 * timeout_ms);
    zk_server_arm(leader);
}

void zk_session_track(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms)
{
    session->closing[leader->index] = false;
    set_expiry(leader, session, timeout_ms);
}

bool zk_session_tracked(const struct zk_server *leader,
                        const struct zk_session *session)
{
    return session->expires_us[leader->index] != 0 &&
           !session->closing[leader->index];
}

bool zk_session_touch(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms)
{
    if (!zk_session_tracked(leader, session))
        return false;
    set_expiry(leader, session, timeout_ms);
    return true;
}

int32_t zk_session_check(struct zk_server *leader, struct zk_session *session,
                         const struct zk_server *from)
{
    if (!zk_session_tracked(leader, session))
        return HF_ZK_SESSION_EXPIRED;
    if (session->owner[leader->index] == NULL)
        session->owner[leader->index] = from;
    return session->owner[leader->index] == from ? 0 : HF_ZK_SESSION_MOVED;
}

/* A new leader knows no deadlines, so every session lives for one more
 * timeout. */
void zk_tracker_start(struct zk_server *leader)
{
    for (struct zk_session *s = leader->sim->zk->sessions; s != NULL;
         s = s->next) {
        s->expires_us[leader->index] = 0;
        s->closing[leader->index] = false;
        s->owner[leader->index] = NULL;
        if (s->known[leader->index] && s->engine != NULL)
            set_expiry(leader, s, s->timeout_ms);
    }
}

void zk_tracker_expire(struct zk_server *leader)
{
    uint64_t now_us = zk_clock_us(leader);

    for (struct zk_session *s = leader->sim->zk->sessions; s != NULL;
         s = s->next) {
        if (!zk_session_tracked(leader, s) ||
            s->expires_us[leader->index] > now_us)
            continue;
        sim_trace(leader->sim, s->engine, "server session expires");
        zk_leader_end_session(leader, s);
        if (leader->role != ZK_LEADING)
            return;
    }
}

/* The earliest deadline, UINT64_MAX: none. */
uint64_t zk_tracker_next_us(const struct zk_server *leader)
{
    uint64_t next_us = UINT64_MAX;

    for (struct zk_session *s = leader->sim->zk->sessions; s != NULL;
         s = s->next) {
        if (zk_session_tracked(leader, s) &&
            s->expires_us[leader->index] < next_us)
            next_us = s->expires_us[leader->index];
    }
    return next_us;
}
