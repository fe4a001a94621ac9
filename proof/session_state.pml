/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a session, at the client and at the engine
 * (src/core/session.c, and its events in core_session.c).
 *
 * The model has no clock.  It knows of a time only what ends with it.  The
 * lease is what the engine keeps at least: it ends no session whose lease is
 * in force. safe_until is true while safe-until has not passed.  It becomes
 * false no later than the lease, because safe-until is counted from the
 * sending, less a margin for drift.  A resume with a server that grants less
 * shortens both, safe-until first, because its cap is applied at the
 * sending.  So the two still end in the same order, and no step is needed for
 * that.  Without the cap they may not (RESUME_LENGTHENS).
 */
#ifndef SESSION_STATE
#define SESSION_STATE
byte session[CLIENTS]; /* as the client sees it */
bool alive[CLIENTS];   /* the engine has it */
bool lease[CLIENTS];
bool safe_until[CLIENTS];
byte proof[CLIENTS]; /* NOTHING, ASKED or ANSWERED */

/* hf_session_may_admit() */
#ifdef ADMIT_EXPIRED
#define MAY_ADMIT(c) (session[c] == CONNECTED)
#else
#define MAY_ADMIT(c) (session[c] == CONNECTED && safe_until[c])
#endif
#endif
