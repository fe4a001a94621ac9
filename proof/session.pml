/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a session (src/core/session.c, and its events in core_session.c):
 * links that are cut, sessions that are lost, safe-until that passes, proofs,
 * crashes. */

/* needs_proof() in acquisition_deadline.c */
#define NEEDS_PROOF_1(a)                                                       \
    (acq[a].phase == HELD || acq[a].phase == ENQUEUING ||                      \
     (acq[a].phase == QUEUED && acq[a].blocking <= 1))
#define NEEDS_PROOF(c)                                                         \
    (NEEDS_PROOF_1(c * PER_CLIENT) ||                                          \
     NEEDS_PROOF_1(c * PER_CLIENT + PER_CLIENT - 1))

/* The engine has lost its watches. */
inline forget_watches(a)
{
    acq[a].watch_nearest =
        (acq[a].watch_nearest == WATCHING -> FORGOTTEN : acq[a].watch_nearest);
    acq[a].watch_second =
        (acq[a].watch_second == WATCHING -> FORGOTTEN : acq[a].watch_second)
}

/* Requests on this link that have no answer yet end with FAILED. */
inline fail_requests(a)
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
    acq[a].watch_nearest =
        (acq[a].watch_nearest == ASKED -> UNWATCHED : acq[a].watch_nearest);
    acq[a].watch_second =
        (acq[a].watch_second == ASKED -> UNWATCHED : acq[a].watch_second);
#ifdef ZK_NOT_RESUMED /* watches end with their connection */
    forget_watches(a);
#endif
    fail_queue_watch(a);
    for (v : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
        removal_failed(v)
    }
}

/* suspended(): the link is down. */
inline suspended(c)
{
    session[c] = SUSPENDED;
    proof[c] = NOTHING;
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        fail_requests(y);
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

/* connected(): to the same session or to a new one. */
inline connected(c)
{
    session[c] = CONNECTED;
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        acq[y].stale = acq[y].phase == QUEUED;
        acq[y].list_wanted = acq[y].list_wanted || acq[y].phase == QUEUED
    };
    y = 0
}

/* session_over(): the tickets of the session go at some later time. */
inline session_over(c)
{
    session[c] = NO_SESSION;
    safe_until[c] = false;
    lease[c] = false;
    proof[c] = NOTHING;
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        if
        :: acq[y].phase == HELD ->
            lose(y, false)
        :: else
        fi;
        fail_requests(y);
        for (v : y * ATTEMPTS .. y * ATTEMPTS + ATTEMPTS - 1) {
            removal[v] = NONE;
            late[v] = late[v] && (alive[c] || orphan[v]);
            orphan[v] = orphan[v] || position[v] > 0 || late[v]
        }
        forget_position(y);
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

/* hf_core_expire() in core_session.c: safe-until has passed. */
inline expired(c)
{
    lease[c] = false;
    safe_until[c] = false;
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        if
        :: acq[y].phase == HELD && session[c] == CRASHED ->
            acq[y].phase = DONE
#ifndef LOST_NOT_NOTIFIED
        :: acq[y].phase == HELD && session[c] != CRASHED &&
           IS_LOST_WITH_SAFE_UNTIL(y) ->
            lose(y, true)
#endif
        :: else
        fi
    };
    y = 0
}

/* The engine ends the session: all its tickets go at one instant. */
inline end_session(c)
{
    alive[c] = false;
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        forget_watches(y)
    }
    for (u : c * PER_CLIENT * ATTEMPTS .. (c + 1) * PER_CLIENT * ATTEMPTS - 1) {
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
    for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
        if
        :: acq[y].ask == ENQUEUE_SENT ->
            late[acq[y].ticket] = alive[c]
        :: else
        fi;
        forget_answer(y);
        forget_position(y);
        forget_queue_watch(y);
        acq[y].phase = (acq[y].phase == HELD -> HELD : DONE);
        for (v : y * ATTEMPTS .. y * ATTEMPTS + ATTEMPTS - 1) {
            removal[v] = NONE;
            last[v] = false
        }
    }
    y = 0
}

#define MAY_FAIL(c, how)                                                       \
    (faults_left > 0 && !CLIENT_IS_FINISHED(c) && (FAULT & how))

proctype client(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] == CONNECTED && MAY_FAIL(c, CUT);
            faults_left--;
            suspended(c)
        }
        :: d_step { /* the proof is too slow, or the process is */
            session[c] == CONNECTED && (lease[c] || safe_until[c]) &&
                MAY_FAIL(c, EXPIRY);
            faults_left--;
            expired(c)
        }
        :: d_step {
            (session[c] == SUSPENDED || session[c] == CRASHED) &&
                (lease[c] || safe_until[c]);
            expired(c)
        }
        :: d_step { /* the engine says so, or our own clock does */
            (session[c] == CONNECTED && !alive[c]) ||
                (session[c] == SUSPENDED && (!alive[c] || !safe_until[c]));
            session_over(c)
        }
#ifdef RESUME_LENGTHENS
        :: d_step { /* hf_session_resuming() without its cap: the engine
                       begins a new lease that is shorter than safe-until */
            session[c] == SUSPENDED && alive[c] && lease[c] && safe_until[c];
            lease[c] = false
        }
#endif
        :: d_step {
            session[c] == SUSPENDED && alive[c];
            connected(c)
        }
        :: d_step {
            session[c] == NO_SESSION;
            alive[c] = true;
            lease[c] = true;
            safe_until[c] = true;
            connected(c)
        }
        :: d_step { /* hf_session_proven(): counted from the sending */
            session[c] == CONNECTED && proof[c] == ANSWERED;
            proof[c] = NOTHING;
#ifdef SAFE_FROM_ANSWER
            safe_until[c] = true;
#else
            safe_until[c] = lease[c];
#endif
            for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
                proven(y)
            }
            y = 0
        }
        fi;
        d_step { /* every loss was reported before this */
            if
            :: session[c] != CRASHED ->
                for (y : c * PER_CLIENT .. c * PER_CLIENT + PER_CLIENT - 1) {
                    pump(y)
                }
                y = 0;
                end_of_step(c)
            :: else
            fi
        }
    }
    :: d_step {
        session[c] != CRASHED && MAY_FAIL(c, CRASH);
        faults_left--;
        crashed(c)
    }
    :: d_step {
        session[c] != NO_SESSION && alive[c] && !lease[c];
        end_session(c)
    }
    :: d_step { /* hf_session_want_proof() */
        session[c] == CONNECTED && !safe_until[c] && proof[c] == NOTHING &&
            NEEDS_PROOF(c);
        proof[c] = ASKED
    }
    :: d_step {
        session[c] == CONNECTED && alive[c] && proof[c] == ASKED;
        lease[c] = true;
        proof[c] = ANSWERED
    }
    od
}
