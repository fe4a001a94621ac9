/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to an acquisition and to its tickets: events, each with its
 * handler and the pump (hf_own_ticket_answered(), and the user's events of
 * core.c). */

#define RUNS(a) (session[CLIENT(a)] != CRASHED)
#define HEARS(a) (session[CLIENT(a)] == UP)
/* The engine takes up what it asks. */
#define REACHES(a) (HEARS(a) && alive[CLIENT(a)])

/* Its events, from the engine and from its owner. */
proctype contender(byte a)
{
end: /* what has to end is asked by init */
    do
    :: atomic {
        if
        :: d_step {
            RUNS(a) && acq[a].phase == IDLE && IS_WANTED(a);
            acq[a].phase = PAUSED
        }
        :: d_step {
            HEARS(a) && acq[a].ask == ENQUEUE_ANSWERED;
            enqueued(a)
        }
        :: d_step {
            HEARS(a) && acq[a].ask == LIST_ANSWERED;
            listed(a)
        }
        :: d_step {
            HEARS(a) && acq[a].ask == DOWNGRADE_ANSWERED;
            downgraded(a)
        }
        :: d_step {
            HEARS(a) && acq[a].watch_before == FIRED;
            gone_before(a)
        }
        :: d_step {
            HEARS(a) && acq[a].watch_beyond == FIRED;
            gone_beyond(a)
        }
        :: d_step {
            RUNS(a) && acq[a].phase == HELD && OWNER_LETS_GO(a);
            release(a)
        }
        :: d_step {
            RUNS(a) && IS_WAITING(a) && OWNER_LETS_GO(a) && cancels > 0;
            cancels--;
            acq[a].cancelled = true;
            give_up(a)
        }
        :: d_step {
            RUNS(a) && acq[a].phase == HELD && acq[a].writes &&
                !acq[a].downgrading && downgrades > 0;
            downgrades--;
            acq[a].downgrading = true
        }
        fi;
        d_step {
            pump(a);
            after(CLIENT(a))
        }
    }
    od
}

/* The removal of one ticket: its answer, and when one that waits is asked for.
 * That is once a list shows the ticket (hf_removals_find()), or when the ticket
 * can appear no more (hf_removal_pump()). */
proctype fate(byte t)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            HEARS(OWNER(t)) &&
                (removal[t] == FOUND || removal[t] == NOT_FOUND);
            removal_done(t)
        }
        :: d_step {
            RUNS(OWNER(t)) && removal[t] == WAITING &&
                (place[t] > 0 || !late[t]);
            WITHDRAW(t)
        }
        fi;
        d_step {
            pump(OWNER(t));
            after(CLIENT(OWNER(t)))
        }
    }
    :: d_step { /* the engine: it takes effect */
        REACHES(OWNER(t)) && removal[t] == SENT;
        removal[t] = (place[t] > 0 -> FOUND : NOT_FOUND);
        remove(t)
    }
    :: d_step { /* what was on its way on a link that was cut arrives */
        late[t] && MAY_BE_SERVED(OWNER(t));
        late[t] = false;
        served[OWNER(t)] = true;
        append(t)
    }
    :: d_step { /* or never does */
        late[t];
        late[t] = false;
        orphan[t] = false
    }
    :: d_step { /* the session ends that its client had given up */
        orphan[t] && place[t] > 0;
        remove(t);
        orphan[t] = false
    }
    od
}
