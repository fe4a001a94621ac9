/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a session (src/core/session.c, and the events of core.c). */

/* needs_proof() in acquisition_limits.c */
#define NEEDS_PROOF_1(a)                                                       \
    (acq[a].phase == HELD || acq[a].phase == ENQUEUING ||                      \
     (acq[a].phase == QUEUED && acq[a].blocking <= 1))
#define NEEDS_PROOF(c)                                                         \
    (NEEDS_PROOF_1(c * PER) || NEEDS_PROOF_1(c * PER + PER - 1))

/* The engine has forgotten its watches. */
inline deafen(a)
{
    acq[a].watch_before =
        (acq[a].watch_before == WATCHING -> DEAF : acq[a].watch_before);
    acq[a].watch_beyond =
        (acq[a].watch_beyond == WATCHING -> DEAF : acq[a].watch_beyond)
}

/* Whatever was asked on this link and not answered: FAILED. */
inline fail_asked(a)
{
    if
    :: acq[a].ask == ENQUEUE_SENT || acq[a].ask == ENQUEUE_ANSWERED ->
        late[acq[a].ticket] =
            acq[a].ask == ENQUEUE_SENT && alive[CLIENT(a)];
        enqueue_unsure(a)
    :: acq[a].ask == LIST_SENT || acq[a].ask == LIST_ANSWERED ->
        list_failed(a)
    :: else
    fi;
    forget_answer(a);
    acq[a].watch_before =
        (acq[a].watch_before == ASKED -> UNWATCHED : acq[a].watch_before);
    acq[a].watch_beyond =
        (acq[a].watch_beyond == ASKED -> UNWATCHED : acq[a].watch_beyond);
#ifdef ZK_NOT_RESUMED /* watches end with their connection */
    deafen(a);
#endif
    fail_queue_watch(a);
    for (v : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
        removal_failed(v)
    }
}

/* suspended(): the link is down. */
inline suspended(c)
{
    session[c] = DOWN;
    proof[c] = NOTHING;
    for (y : c * PER .. c * PER + PER - 1) {
        fail_asked(y);
        acq[y].stale = acq[y].phase == QUEUED;
#ifdef SUSPENDED_ENDS
        if
        :: IS_WAITING(y) ->
            give_up(y)
        :: else
        fi
#endif
    };
    y = 0
}

/* connected(), to the same session or to a new one. */
inline connected(c)
{
    session[c] = UP;
    for (y : c * PER .. c * PER + PER - 1) {
        acq[y].stale = acq[y].phase == QUEUED;
        acq[y].list_wanted = acq[y].list_wanted || acq[y].phase == QUEUED
    };
    y = 0
}

/* session_over(): its tickets go with it, some time. */
inline session_over(c)
{
    session[c] = NO_SESSION;
    promise[c] = false;
    lease[c] = false;
    proof[c] = NOTHING;
    for (y : c * PER .. c * PER + PER - 1) {
        if
        :: acq[y].phase == HELD ->
            lose(y, false)
        :: else
        fi;
        fail_asked(y);
        for (v : y * ATTEMPTS .. y * ATTEMPTS + ATTEMPTS - 1) {
            removal[v] = NONE;
            late[v] = late[v] && (alive[c] || orphan[v]);
            orphan[v] = orphan[v] || place[v] > 0 || late[v]
        }
        forget_place(y);
        forget_queue_watch(y);
        if
        :: IS_WAITING(y) ->
            acq[y].phase = PAUSED
#ifdef LOST_SESSION_ENDS
            ; give_up(y)
#endif
        :: else
        fi
    }
    alive[c] = false;
    y = 0
}

/* expire() in core.c: safe-until has passed. */
inline expired(c)
{
    lease[c] = false;
    promise[c] = false;
    for (y : c * PER .. c * PER + PER - 1) {
        if
        :: acq[y].phase == HELD && session[c] == CRASHED ->
            acq[y].phase = DONE
#ifndef LOST_NOT_NOTIFIED
        :: acq[y].phase == HELD && session[c] != CRASHED ->
            lose(y, true)
#endif
        :: else
        fi
    };
    y = 0
}

/* The other side ends it: every ticket of it goes at one instant. */
inline end_session(c)
{
    alive[c] = false;
    for (y : c * PER .. c * PER + PER - 1) {
        deafen(y)
    }
    for (u : c * PER * ATTEMPTS .. (c + 1) * PER * ATTEMPTS - 1) {
        if
        :: !orphan[u] ->
            late[u] = false;
            remove(u)
        :: else
        fi
    }
    u = 0
}

inline crashed(c)
{
    session[c] = CRASHED;
    proof[c] = NOTHING;
    for (y : c * PER .. c * PER + PER - 1) {
        if
        :: acq[y].ask == ENQUEUE_SENT ->
            late[acq[y].ticket] = alive[c]
        :: else
        fi;
        forget_answer(y);
        forget_place(y);
        forget_queue_watch(y);
        acq[y].phase = (acq[y].phase == HELD -> HELD : DONE);
        for (v : y * ATTEMPTS .. y * ATTEMPTS + ATTEMPTS - 1) {
            removal[v] = NONE;
            last[v] = false
        }
    }
    y = 0
}

#define MAY_FAIL(c, how) (spare > 0 && !CLIENT_IS_OUT(c) && (MISHAP & how))

proctype client(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] == UP && MAY_FAIL(c, CUT);
            spare--;
            suspended(c)
        }
        :: d_step { /* while UP: a proof is too slow, or the process */
            session[c] == UP && (lease[c] || promise[c]) &&
                MAY_FAIL(c, LAPSE);
            spare--;
            expired(c)
        }
        :: d_step {
            (session[c] == DOWN || session[c] == CRASHED) &&
                (lease[c] || promise[c]);
            expired(c)
        }
        :: d_step { /* told by the other side, or by our own clock */
            (session[c] == UP && !alive[c]) ||
                (session[c] == DOWN && (!alive[c] || !promise[c]));
            session_over(c)
        }
#ifdef RESUME_LENGTHENS
        :: d_step { /* hf_session_resuming(), without its cap: the other side
                       counts anew, with less than is promised */
            session[c] == DOWN && alive[c] && lease[c] && promise[c];
            lease[c] = false
        }
#endif
        :: d_step {
            session[c] == DOWN && alive[c];
            connected(c)
        }
        :: d_step {
            session[c] == NO_SESSION;
            alive[c] = true;
            lease[c] = true;
            promise[c] = true;
            connected(c)
        }
        :: d_step { /* hf_session_proven(): counted from the sending */
            session[c] == UP && proof[c] == ANSWERED;
            proof[c] = NOTHING;
#ifdef SAFE_FROM_ANSWER
            promise[c] = true;
#else
            promise[c] = lease[c];
#endif
            for (y : c * PER .. c * PER + PER - 1) {
                proven(y)
            }
            y = 0
        }
        fi;
        d_step { /* those who are told first have been told */
            if
            :: session[c] != CRASHED ->
                for (y : c * PER .. c * PER + PER - 1) {
                    pump(y)
                }
                y = 0;
                after(c)
            :: else
            fi
        }
    }
    :: d_step {
        session[c] != CRASHED && MAY_FAIL(c, CRASH);
        spare--;
        crashed(c)
    }
    :: d_step {
        session[c] != NO_SESSION && alive[c] && !lease[c];
        end_session(c)
    }
    :: d_step { /* hf_session_want_proof() */
        session[c] == UP && !promise[c] && proof[c] == NOTHING &&
            NEEDS_PROOF(c);
        proof[c] = ASKED
    }
    :: d_step {
        session[c] == UP && alive[c] && proof[c] == ASKED;
        lease[c] = true;
        proof[c] = ANSWERED
    }
    od
}
