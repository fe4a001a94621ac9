/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Withdrawals (src/core/withdrawal.c): tickets that must not stay, each asked
 * to be taken out until it was answered.
 */
byte withdrawal[TICKETS];
bool last[TICKETS]; /* asked when it could no longer appear */

#define WITHDRAW(t) withdrawal[t] = DUE

/* hf_withdrawal_pump() */
inline pump_withdrawals(a)
{
    for (u : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
        if
        :: withdrawal[u] == DUE && session[CLIENT(a)] == UP ->
            withdrawal[u] = SENT;
            last[u] = !late[u]
        :: else
        fi
    }
}

/* hf_withdrawal_failed(): asked again. */
inline withdrawal_failed(t)
{
    if
    :: withdrawal[t] >= SENT ->
#ifdef WITHDRAW_ONCE
        withdrawal[t] = NONE;
#else
        withdrawal[t] = DUE;
#endif
        last[t] = false
    :: else
    fi
}

/* hf_withdrawal_done(): what was found and taken out was all there could be,
 * for an enqueue takes effect once. */
inline withdrawal_done(t)
{
    withdrawal[t] = (withdrawal[t] == FOUND || last[t] -> NONE : LURKS);
    last[t] = false
}

/* hf_acquisition_lurks() */
#define LURKS_AT(a, k)                                                         \
    (k < ATTEMPTS &&                                                           \
     withdrawal[(a) * ATTEMPTS + (k < ATTEMPTS -> k : 0)] != NONE)
#define LURKS_ANY(a)                                                           \
    (LURKS_AT(a, 0) || LURKS_AT(a, 1) || LURKS_AT(a, 2) || LURKS_AT(a, 3) ||   \
     LURKS_AT(a, 4))
