/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of tickets that must not stay (src/core/removal.c).  Each is
 * asked for until that is answered.
 */
byte removal[TICKETS];
bool last[TICKETS]; /* asked when it could no longer appear */

/* hf_removal_begin(), now: the request WITHDRAW is due. */
#define WITHDRAW(t) removal[t] = DUE

/* hf_removal_pump() */
inline pump_removals(a)
{
    for (u : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
        if
        :: removal[u] == DUE && session[CLIENT(a)] == UP ->
            removal[u] = SENT;
            last[u] = !late[u]
        :: else
        fi
    }
}

/* hf_removal_failed(): asked again. */
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

/* hf_removal_done(): what was found and taken out was all there could be,
 * for an enqueue takes effect once. */
inline removal_done(t)
{
    removal[t] = (removal[t] == FOUND || last[t] -> NONE : WAITING);
    last[t] = false
}

/* Is a ticket of it REMOVING?  are_settled() */
#define REMOVING_AT(a, k)                                                      \
    (k < ATTEMPTS &&                                                           \
     removal[(a) * ATTEMPTS + (k < ATTEMPTS -> k : 0)] != NONE)
#define REMOVING_ANY(a)                                                        \
    (REMOVING_AT(a, 0) || REMOVING_AT(a, 1) || REMOVING_AT(a, 2) ||            \
     REMOVING_AT(a, 3) || REMOVING_AT(a, 4))
