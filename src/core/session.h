/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: what the engine ties tickets to.  Two things are known of it.
 * The first is the state of the connection, as the engine reports it
 * (CONNECTED, SUSPENDED).  The second is safe-until: the instant before which
 * nobody else can have been admitted.  Safe-until is computed from when a
 * confirmed request was sent, never from when its answer came, and from the
 * shortest timeout that may be in force (as the lease of Gray and Cheriton,
 * SOSP 1989).
 *
 * As a rule grants end when safe-until passes.  Grants of a lazy session
 * outlast it: they end when the connection has been silent for so long that the
 * session may be over, which the engine reports, or when a resume is not proven
 * in time.
 *
 * All instants are CLOCK_BOOTTIME in ms.
 */
#ifndef HF_CORE_SESSION_H
#define HF_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/state_machine.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/published_safe_until.h"

/* Room for a text that says what to do; with the name of the engine in front of
 * it, it still fits an error text. */
#define HF_CONNECTION_ERROR_BYTES 352

/* Why there is no connection, as the engine last said. */
struct hf_session_error {
    char text[HF_CONNECTION_ERROR_BYTES]; /* "": not known */
    hf_status status;                     /* HF_OK: no particular one */
    bool final; /* all servers say so: waiting does not help */
};

struct hf_session {
    unsigned state;  /* enum hf_state, by the table in session.c */
    uint64_t number; /* counts sessions; a ticket remembers its own.  0: there
                        never was a connection */
    bool closing;    /* CLOSE or CLOSED has come: no request but END */
    enum hf_loss_at loss_at;
    uint64_t connect_by_ms; /* deadline of the first connection; HF_FOREVER once
                               there was one */
    struct hf_session_error connection_error;
    /* Why the last PROVE on this connection failed; "": it did not. */
    char proof_error[HF_CONNECTION_ERROR_BYTES];
    bool gave_up; /* in any state without a connection: the engine makes no
                     attempt until CONNECT */
    /* The lease. */
    uint64_t timeout_ms;    /* the shortest in force; HF_FOREVER: no lease */
    uint64_t clock_drift;   /* percent, see hf_margin_ms() */
    uint64_t safe_until_ms; /* 0: nothing is proven; HF_FOREVER: no lease */
    /* The same for readers, as last published; and the number of its session.
     */
    struct hf_safe_until published;
    uint64_t published_number;
    /* From the sending of a resume until something that was sent no earlier is
     * proven; else both are HF_FOREVER. */
    uint64_t resume_sent_ms; /* the last resume */
    uint64_t resume_cap_ms;  /* safe-until is at most this */
    uint64_t prove_at_ms;    /* the next proof; HF_FOREVER: nobody needs one, or
                                one is under way */
    uint64_t proof_ms;       /* from the sending of a proof to the next */
    uint64_t proof_due_ms;   /* no proof before this, needed or not */
    bool prove_again; /* the last proof was not enough to admit by, so the next
                         one is due at once; not twice in a row */
    bool check_pending; /* a CHECK has no answer yet */
    struct hf_request prove;
    struct hf_request end;
    struct hf_effect connect_effect;
    struct hf_effect state_effect; /* the latest state other than LOST */
    struct hf_effect lost_effect;  /* LOST, which must not be missed */
    struct hf_effect proven_effect;
    struct hf_effect_queue *effects; /* the core's, borrowed */
};

/* A new session, CONNECTING.  ${effects} is borrowed. */
void hf_session_init(struct hf_session *session,
                     struct hf_effect_queue *effects, uint64_t connect_by_ms,
                     enum hf_loss_at loss_at);

/* Is there a session whose tickets may live? */
bool hf_session_alive(const struct hf_session *session);

/* May requests be made? */
bool hf_session_usable(const struct hf_session *session);

/* May a ticket that the rule admits be granted?  Only while requests may be
 * made, and not if a quarter of the lease or less is left of the last proof: a
 * new proof is on its way, and the grant would be lost again before it is of
 * use. */
bool hf_session_may_admit(const struct hf_session *session, uint64_t now_ms);

/* Is the session proven only when somebody needs it? */
bool hf_session_is_lazy(const struct hf_session *session);

/* When the grants end unless a proof comes before; HF_FOREVER: no such instant
 * is set. */
uint64_t hf_session_grants_end_at_ms(const struct hf_session *session);

/* Do grants end with the connection, although their tickets may live? */
bool hf_session_grants_end_when_suspended(const struct hf_session *session);

/* CONNECTED: ${anchor_ms} is when the accepted request was sent, or earlier.
 * If this is another session, the one before it has been declared lost already.
 * A resume that brings a shorter ${timeout_ms} may move safe-until back. */
void hf_session_connected(struct hf_session *session, uint64_t timeout_ms,
                          uint64_t clock_drift, uint64_t anchor_ms,
                          bool resumed, bool lazy, uint64_t proof_ms);

/* SUSPENDED. */
void hf_session_suspended(struct hf_session *session);

/* RESUMING: from ${sent_at_ms} on the server may count anew, with a timeout as
 * short as ${least_timeout_ms}.  Moves safe-until back if it is later than what
 * is certain then. */
void hf_session_resuming(struct hf_session *session, uint64_t sent_at_ms,
                         uint64_t least_timeout_ms);

/* The session is over. */
void hf_session_lost(struct hf_session *session);

/* CLOSED: there will be no further session. */
void hf_session_closed(struct hf_session *session);

/* There is no connection because of ${text}; ${status} and ${final} as in the
 * event.  Copied. */
void hf_session_connection_error(struct hf_session *session, hf_status status,
                                 bool final, const char *text);

/* Is there no first connection for a reason that waiting does not change, such
 * as our credentials or what the URL names? */
bool hf_session_refused(const struct hf_session *session);

/* GAVE_UP: set ${why} to the error of everything that waits.  ${engine_name}
 * may be NULL. */
void hf_session_gave_up(struct hf_session *session, const char *engine_name,
                        uint32_t retries, uint64_t elapsed_ms,
                        struct hf_error *why);

/* The user needs the engine after GAVE_UP: begin to connect again, and forget
 * why there was no connection.  Nothing if the session is being closed. */
void hf_session_connect_again(struct hf_session *session);

/* Set ${why} to the error of a wait of ${waited_ms} for the first connection,
 * which did not come or was refused. */
void hf_session_explain_never_connected(const struct hf_session *session,
                                        const char *engine_name,
                                        uint64_t waited_ms,
                                        struct hf_error *why);

/* Write to ${text}, for the error of a wait, the state of a session that is not
 * connected and why it is not: "; the session is SUSPENDED: zk1:2181:
 * connection refused".  "" while it is connected. */
#define HF_SESSION_OUTAGE_BYTES 256
void hf_session_format_outage(const struct hf_session *session,
                              char text[HF_SESSION_OUTAGE_BYTES]);

/* Set ${why} to the error of grants that end because safe-until has passed. */
void hf_session_explain_not_renewed(const struct hf_session *session,
                                    struct hf_error *why);

/* PROVEN: the session was alive at ${anchor_ms}. */
void hf_session_proven(struct hf_session *session, uint64_t anchor_ms);

/* A grant depends on safe-until: see that it is proven again every quarter of
 * the timeout, or as often as the engine says, counted from sending, with one
 * proof under way at most. */
void hf_session_want_proof(struct hf_session *session, uint64_t now_ms);

/* A grant may soon depend on safe-until.  A lazy session does not prove ahead.
 */
void hf_session_want_proof_unless_lazy(struct hf_session *session,
                                       uint64_t now_ms);

/* CHECK: have a lazy session proven; HF_EFFECT_PROVEN is the answer.  Nothing,
 * and no answer, if the session is not lazy, or if no proof is due yet and the
 * last one leaves enough to admit by. */
void hf_session_begin_check(struct hf_session *session, uint64_t now_ms);

/* A proof has moved safe-until.  If safe-until is in the future, that answers a
 * CHECK, however little time is left. */
void hf_session_answer_check(struct hf_session *session, uint64_t now_ms);

/* The PROVE under way was answered, with PROVEN if ${error} is NULL, else it
 * has failed with that text; set when the next one is due.  After PROVEN, if
 * safe-until is now enough to admit by: at the usual time, or when half of what
 * is left is over, if that is sooner.  If PROVEN was not enough: at once, the
 * first time.  Else after a sixteenth of the timeout. */
void hf_session_proof_answered(struct hf_session *session, const char *error,
                               uint64_t now_ms);

/* Begin to close: no request but END from now on. */
void hf_session_close(struct hf_session *session);

/* Assert the invariants of the session. */
void hf_session_check(const struct hf_session *session);

#endif
