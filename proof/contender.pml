/* SPDX-License-Identifier: Apache-2.0 */
/* The events of an acquisition and of its tickets.  Each is followed by its
 * handler and by the pump (hf_own_ticket_answered(), and the user's events in
 * core.c). */

#define RUNS(a) (session[CLIENT(a)] != CRASHED)
#define RECEIVES(a) (session[CLIENT(a)] == CONNECTED)
/* Its requests reach the engine. */
#define REACHES(a) (RECEIVES(a) && alive[CLIENT(a)])

/* The events of an acquisition, from the engine and from its user. */
proctype contender(byte a)
{
end: /* init checks that everything ends */
    do
    :: atomic {
        if
        :: d_step {
            RUNS(a) && acq[a].phase == IDLE && IS_WANTED(a);
            acq[a].phase = PAUSED
        }
        :: d_step {
            RECEIVES(a) && acq[a].ask == ENQUEUE_ANSWERED;
            enqueued(a)
        }
        :: d_step {
            RECEIVES(a) && acq[a].ask == LIST_ANSWERED;
            listed(a)
        }
        :: d_step {
            RECEIVES(a) && acq[a].ask == DOWNGRADE_ANSWERED;
            downgraded(a)
        }
        :: d_step {
            RECEIVES(a) && acq[a].watch_nearest == FIRED;
            nearest_gone(a)
        }
        :: d_step {
            RECEIVES(a) && acq[a].watch_second == FIRED;
            second_gone(a)
        }
        :: d_step {
            RUNS(a) && acq[a].phase == HELD && USER_RELEASES(a);
            release(a)
        }
        :: d_step {
            RUNS(a) && IS_WAITING(a) && USER_RELEASES(a) && cancels_left > 0;
            cancels_left--;
            acq[a].cancelled = true;
            give_up(a)
        }
        :: d_step {
            RUNS(a) && acq[a].phase == HELD && acq[a].writes &&
                !acq[a].downgrading && downgrades_left > 0;
            downgrades_left--;
            acq[a].downgrading = true
        }
        fi;
        d_step {
            pump(a);
            end_of_step(CLIENT(a))
        }
    }
    od
}

/* The events of one ticket: the answer to its removal, and the end of a
 * removal's wait.  A removal waits until a list shows the ticket
 * (hf_removals_find()) or until the ticket can no longer appear
 * (hf_removal_pump()). */
proctype ticket_events(byte t)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            RECEIVES(OWNER(t)) &&
                (removal[t] == FOUND || removal[t] == NOT_FOUND);
            removal_done(t)
        }
        :: d_step {
            RUNS(OWNER(t)) && removal[t] == WAITING &&
                (position[t] > 0 || !late[t]);
            BEGIN_REMOVAL(t)
        }
        fi;
        d_step {
            pump(OWNER(t));
            end_of_step(CLIENT(OWNER(t)))
        }
    }
    :: d_step { /* the engine: the removal takes effect */
        REACHES(OWNER(t)) && removal[t] == SENT;
        removal[t] = (position[t] > 0 -> FOUND : NOT_FOUND);
        remove(t)
    }
    :: d_step { /* an enqueue arrives late, from a link that was cut */
        late[t] && MAY_BE_SERVED(OWNER(t));
        late[t] = false;
        served[OWNER(t)] = true;
        append(t)
    }
    :: d_step { /* or it never arrives */
        late[t];
        late[t] = false;
        orphan[t] = false
    }
    :: d_step { /* a session ends that its client has given up */
        orphan[t] && position[t] > 0;
        remove(t);
        orphan[t] = false
    }
    od
}
