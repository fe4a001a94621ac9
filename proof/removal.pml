/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of tickets that must not stay in their queue
 * (src/core/removal.c).
 *
 * The idea is a guaranteed delete, as in Curator: the REMOVE is repeated
 * until it is answered.
 */
byte removal[TICKETS];
bool last[TICKETS]; /* requested when the ticket could no longer appear */

/* hf_removal_begin(), at once: the REMOVE is due. */
#define BEGIN_REMOVAL(t) removal[t] = DUE

/* hf_removal_pump() */
inline pump_removals(a)
{
    for (u : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
        if
        :: removal[u] == DUE && session[CLIENT(a)] == CONNECTED ->
            removal[u] = SENT;
            last[u] = !late[u]
        :: else
        fi
    }
}

/* hf_removal_failed(): repeat it. */
inline removal_failed(t)
{
    if
    :: removal[t] >= SENT ->
#ifdef REMOVAL_NOT_RETRIED
        removal[t] = NONE;
#else
        removal[t] = DUE;
#endif
        last[t] = false
    :: else
    fi
}

/* hf_removal_done(): a ticket that was found and removed does not come back,
 * because an enqueue takes effect once. */
inline removal_done(t)
{
    removal[t] = (removal[t] == FOUND || last[t] -> NONE : WAITING);
    last[t] = false
}

/* Is a ticket of it being removed?  all_finished() in acquisition_ticket.c */
#define REMOVING_AT(a, k)                                                      \
    (k < ATTEMPTS &&                                                           \
     removal[(a) * ATTEMPTS + (k < ATTEMPTS -> k : 0)] != NONE)
#define REMOVING_ANY(a)                                                        \
    (REMOVING_AT(a, 0) || REMOVING_AT(a, 1) || REMOVING_AT(a, 2) ||            \
     REMOVING_AT(a, 3) || REMOVING_AT(a, 4))
