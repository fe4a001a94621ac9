/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session, on both sides (src/core/session.c, and the events of core.c).
 *
 * Time is told only by what it ends.  A lease is what the other side keeps at
 * least: it ends no session whose lease is in force.  A promise is safe-until,
 * while that has not passed; it ends no later than the lease, which is what
 * counting from the sending and the margin for drift are for.  A resume with a
 * server that grants less makes both shorter, the promise first: the cap is put
 * on it at the sending.  So the order in which they end stays, and no step is
 * needed for it; without the cap it does not (RESUME_LENGTHENS).
 */
#ifndef SESSION_STATE
#define SESSION_STATE
byte session[CLIENTS]; /* as the client sees it */
bool alive[CLIENTS];   /* the other side has it */
bool lease[CLIENTS];
bool promise[CLIENTS];
byte proof[CLIENTS]; /* NOTHING, ASKED or ANSWERED */

/* hf_session_may_admit() */
#ifdef ADMIT_EXPIRED
#define MAY_ADMIT(c) (session[c] == UP)
#else
#define MAY_ADMIT(c) (session[c] == UP && promise[c])
#endif
#endif
