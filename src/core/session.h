/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: what the engine ties tickets to, and the two clocks that judge
 * it.  "Link alive" is the engine's word (CONNECTED, SUSPENDED).  "Grant
 * proven" is safe-until: the instant before which nobody else can have been
 * admitted, computed from when a confirmed request was sent, never from when
 * its answer came, and from the shortest timeout that may be in force.
 *
 * As a rule grants end when safe-until passes.  Those of a lazy session outlast
 * it: they end when the link has been silent for so long that the session may
 * be over, which the engine says, or when a resume is not proven in time.
 */
#ifndef HF_CORE_SESSION_H
#define HF_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/safe_until.h"
#include "core/state_machine.h"

/* Room for a text that says what to do, such as a REVOKE; with the place in
 * front of it, it still fits an error text. */
#define HF_CONNECTION_ERROR_BYTES 352

struct hf_session {
    unsigned state;  /* enum hf_state, moved by the table in session.c */
    uint64_t number; /* counts sessions; a ticket remembers its own */
    bool ever_connected;
    bool closing;
    enum hf_loss_at loss_at;
    uint64_t connect_by_ms; /* first connection, HF_FOREVER once made */
    char connection_error[HF_CONNECTION_ERROR_BYTES]; /* why there is none, ""
                                                         if unknown */
    hf_status connection_error_status; /* HF_OK: nothing in particular */
    bool connection_error_final; /* all servers say so: waiting is no use */
    bool gave_up;                /* no attempt is made until CONNECT */
    /* The lease. */
    uint64_t timeout_ms;    /* the shortest in force; HF_FOREVER: no lease */
    uint64_t safe_until_ms; /* 0: nothing proven; HF_FOREVER: no lease */
    /* The same for readers, as of the last publishing; and which session that
     * was. */
    struct hf_safe_until published;
    uint64_t published_number;
    /* From the sending of a resume until something sent no earlier is proven;
     * else both are HF_FOREVER. */
    uint64_t resume_sent_ms; /* the last one */
    uint64_t resume_cap_ms;  /* safe-until is at most this */
    uint64_t prove_at_ms;    /* the next proof, HF_FOREVER if none is needed */
    uint64_t proof_due_ms;   /* not sooner than this, needed or not */
    bool prove_again;        /* the last one did not do, and was the first */
    bool check_pending;      /* by a CHECK, which has no answer yet */
    struct hf_request prove;
    struct hf_request end;
    struct hf_effect prove_effect;
    struct hf_effect end_effect;
    struct hf_effect connect_effect;
    struct hf_effect state_effect; /* the latest state but LOST, ... */
    struct hf_effect lost_effect;  /* ... which must not be missed */
    struct hf_effect proven_effect;
    /* Borrowed from the core. */
    struct hf_effect_queue *effects;
};

void hf_session_init(struct hf_session *session,
                     struct hf_effect_queue *effects, uint64_t connect_by_ms,
                     enum hf_loss_at loss_at);

/* Is there a session whose tickets may live? */
bool hf_session_alive(const struct hf_session *session);

/* May requests be made? */
bool hf_session_usable(const struct hf_session *session);

/* May a ticket that the rule admits be granted?  Not on what is left of an old
 * proof when that is less than a quarter of the lease: a new one is on its way
 * and the grant would be lost again before it is of use. */
bool hf_session_may_admit(const struct hf_session *session, uint64_t now_ms);

/* Is safe-until proven only when it is wanted? */
bool hf_session_is_lazy(const struct hf_session *session);

/* When what is held is lost unless it is proven before. */
uint64_t hf_session_grants_end_at_ms(const struct hf_session *session);

/* Do grants end when the link does, although their tickets may live? */
bool hf_session_grants_end_when_suspended(const struct hf_session *session);

/* CONNECTED: ${anchor_ms} is when the accepted request was sent, or earlier.
 * The session before it, if this is another, has been declared lost already.
 * A resume that brings a shorter ${timeout_ms} moves safe-until back. */
void hf_session_connected(struct hf_session *session, uint64_t timeout_ms,
                          uint64_t anchor_ms, bool resumed, bool lazy);
void hf_session_suspended(struct hf_session *session);

/* RESUMING: from ${sent_at_ms} on the server may count anew, with a timeout as
 * short as ${least_timeout_ms}.  Moves safe-until back to what is sure. */
void hf_session_resuming(struct hf_session *session, uint64_t sent_at_ms,
                         uint64_t least_timeout_ms);
void hf_session_lost(struct hf_session *session);
void hf_session_closed(struct hf_session *session);

/* There is no connection, for the reason ${text}; ${status} and ${final} as in
 * the event. */
void hf_session_connection_error(struct hf_session *session, hf_status status,
                                 bool final, const char *text);

/* Is there no first connection for a reason that waiting does not mend: who we
 * are, or what the URL names? */
bool hf_session_refused(const struct hf_session *session);

/* GAVE_UP: set ${why} to what ends everything that waits for ${place}. */
void hf_session_gave_up(struct hf_session *session, const char *engine_name,
                        uint32_t retries, uint64_t elapsed_ms,
                        struct hf_error *why);

/* The user wants something of the engine: after GAVE_UP begin to connect again,
 * and forget why there was no connection. */
void hf_session_connect_again(struct hf_session *session);

/* What they hear who have waited in vain for the first connection to
 * ${place}, or were refused it. */
void hf_session_explain_never_connected(const struct hf_session *session,
                                        const char *engine_name,
                                        uint64_t waited_ms,
                                        struct hf_error *why);

/* What they hear who lose their grants because safe-until has passed. */
void hf_session_explain_not_renewed(const struct hf_session *session,
                                    struct hf_error *why);

/* The session was alive at ${anchor_ms}. */
void hf_session_proven(struct hf_session *session, uint64_t anchor_ms);

/* A grant depends on safe-until: see that it is proven again every timeout/4,
 * counted from sending, with one proof under way at most. */
void hf_session_want_proof(struct hf_session *session, uint64_t now_ms);

/* One will, perhaps: a lazy session waits for that. */
void hf_session_want_proof_unless_lazy(struct hf_session *session,
                                       uint64_t now_ms);

/* CHECK: a lazy session wants a proof that is answered from now on, unless the
 * last one is younger than timeout/4 and leaves enough to admit by.  PROVEN
 * tells of it. */
void hf_session_begin_check(struct hf_session *session, uint64_t now_ms);

/* A proof has moved safe-until: if it has not passed meanwhile, that is the
 * answer to a CHECK, however little is left. */
void hf_session_answer_check(struct hf_session *session, uint64_t now_ms);

/* The PROVE under way was answered, with PROVEN if ${proven}; set when the next
 * one is due.  Where safe-until is now enough to admit by: at the usual time,
 * or when half of what is left is over, if that is sooner.  Where PROVEN was
 * not enough: at once, the first time.  Else after timeout/16. */
void hf_session_proof_answered(struct hf_session *session, bool proven,
                               uint64_t now_ms);

/* Begin to close: no request but END from now on. */
void hf_session_close(struct hf_session *session);

void hf_session_check(const struct hf_session *session);

#endif
