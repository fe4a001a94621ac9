/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the session, and the arithmetic of safe-until and of the
 * proofs. */
#include "core/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time_math.h"
#include "base/url.h"
#include "base/utf8.h"

#define TO(state) (1u << HF_STATE_##state)

/* The legal moves. */
static const struct hf_state_machine_state states[] = {
    [HF_STATE_CONNECTING] = {"CONNECTING", TO(CONNECTED) | TO(CLOSED)},
    [HF_STATE_CONNECTED] = {"CONNECTED", TO(SUSPENDED) | TO(LOST) | TO(CLOSED)},
    [HF_STATE_SUSPENDED] = {"SUSPENDED", TO(CONNECTED) | TO(LOST) | TO(CLOSED)},
    [HF_STATE_LOST] = {"LOST", TO(CONNECTED) | TO(CLOSED)},
    [HF_STATE_CLOSED] = {"CLOSED", 0},
};

static const struct hf_state_machine table = {"session", states,
                                              sizeof states / sizeof states[0]};

/* A proof every quarter of the lease, unless the engine says otherwise, so that
 * two may fail before a grant is in danger.  After a failure the next one comes
 * after a sixteenth of the lease. */
#define PROOFS_PER_TIMEOUT 4
#define PROOFS_PER_TIMEOUT_AFTER_FAILURE 16

const char *hf_state_name(enum hf_state state)
{
    return (unsigned)state < table.count ? states[state].name : "?";
}

/* No resume limits safe-until. */
static void clear_resume(struct hf_session *session)
{
    session->resume_sent_ms = HF_FOREVER;
    session->resume_cap_ms = HF_FOREVER;
}

void hf_session_init(struct hf_session *session,
                     struct hf_effect_queue *effects, uint64_t connect_by_ms,
                     enum hf_loss_at loss_at)
{
    *session = (struct hf_session){0};
    session->state = HF_STATE_CONNECTING;
    session->connect_by_ms = connect_by_ms;
    session->loss_at = loss_at;
    session->timeout_ms = HF_FOREVER;
    clear_resume(session);
    session->prove_at_ms = HF_FOREVER;
    session->effects = effects;
    session->prove.kind = HF_REQUEST_PROVE;
    session->end.kind = HF_REQUEST_END;
}

bool hf_session_alive(const struct hf_session *session)
{
    return session->state == HF_STATE_CONNECTED ||
           session->state == HF_STATE_SUSPENDED;
}

bool hf_session_usable(const struct hf_session *session)
{
    return session->state == HF_STATE_CONNECTED && !session->closing;
}

bool hf_session_may_admit(const struct hf_session *session, uint64_t now_ms)
{
    uint64_t least_ms = session->timeout_ms / PROOFS_PER_TIMEOUT;

    return hf_session_usable(session) &&
           hf_after_ms(now_ms, least_ms) < session->safe_until_ms;
}

bool hf_session_is_lazy(const struct hf_session *session)
{
    return atomic_load(&session->published.lazy);
}

/* The resume of a lazy session may have been accepted by a leader that was
 * deposed and has not noticed.  Only a proof shows that this is not so; grants
 * end if it does not come in time. */
uint64_t hf_session_grants_end_at_ms(const struct hf_session *session)
{
    return hf_session_is_lazy(session) ? session->resume_cap_ms
                                       : session->safe_until_ms;
}

bool hf_session_grants_end_when_suspended(const struct hf_session *session)
{
    return session->loss_at == HF_LOSS_AT_SUSPENDED;
}

/* Change the state and report it.  A report that was not carried out yet is
 * replaced, unless it is LOST. */
static void move(struct hf_session *session, enum hf_state state)
{
    struct hf_effect *effect =
        state == HF_STATE_LOST ? &session->lost_effect : &session->state_effect;

    if (session->state == (unsigned)state)
        return;
    hf_state_machine_move(&table, &session->state, state);
    hf_effect_remove(session->effects, &session->state_effect);
    hf_effect_remove(session->effects, effect);
    effect->state = state;
    hf_effect_add(session->effects, effect, HF_EFFECT_STATE);
}

/* Take back a PROVE that the engine has not seen, and plan none. */
static void cancel_proof(struct hf_session *session)
{
    session->prove_at_ms = HF_FOREVER;
    session->prove_again = false;
    if (session->prove.effect.queued) {
        hf_effect_remove(session->effects, &session->prove.effect);
        session->prove.busy = false;
    }
}

/* The end of a lease of ${timeout_ms} that began at ${anchor_ms}, less the
 * margin for a server whose clock is fast. */
static uint64_t lease_end_ms(const struct hf_session *session,
                             uint64_t anchor_ms, uint64_t timeout_ms)
{
    return hf_before_ms(hf_after_ms(anchor_ms, timeout_ms),
                        hf_margin_ms(timeout_ms, session->clock_drift));
}

bool hf_session_refused(const struct hf_session *session)
{
    return session->number == 0 && session->connection_error.final;
}

/* The name of the engine for a text. */
static const char *engine_name_text(const char *engine_name)
{
    return engine_name != NULL && engine_name[0] != '\0' ? engine_name
                                                         : "the engine";
}

/* The status of an error without a first connection. */
static hf_status unreachable_status(const struct hf_session *session)
{
    return session->connection_error.status != HF_OK
               ? session->connection_error.status
               : HF_EUNREACHABLE;
}

/* Set ${why} to the error of a connection that all servers refuse. */
static void explain_refused(const struct hf_session *session,
                            const char *engine_name, struct hf_error *why)
{
    hf_error_set(why, session->connection_error.status,
                 "no connection to %.200s%s%s", engine_name_text(engine_name),
                 session->connection_error.text[0] != '\0' ? ": " : "",
                 session->connection_error.text);
}

void hf_session_explain_never_connected(const struct hf_session *session,
                                        const char *engine_name,
                                        uint64_t waited_ms,
                                        struct hf_error *why)
{
    char waited[HF_DURATION_BYTES];

    hf_duration_format_short(waited_ms, waited);
    if (hf_session_refused(session))
        explain_refused(session, engine_name, why);
    else
        hf_error_set(why, unreachable_status(session),
                     "no connection to %.200s within %s%s%s%s",
                     engine_name_text(engine_name), waited,
                     unreachable_status(session) == HF_EUNREACHABLE
                         ? "; see that it runs and that the URL is right"
                         : "",
                     session->connection_error.text[0] != '\0' ? ": " : "",
                     session->connection_error.text);
}

void hf_session_format_outage(const struct hf_session *session,
                              char text[HF_SESSION_OUTAGE_BYTES])
{
    const char *error = session->connection_error.text;

    text[0] = '\0';
    if (session->state != HF_STATE_CONNECTED)
        (void)snprintf(
            text, HF_SESSION_OUTAGE_BYTES, "; the session is %s%s%.200s",
            hf_state_name(session->state), error[0] != '\0' ? ": " : "", error);
}

void hf_session_gave_up(struct hf_session *session, const char *engine_name,
                        uint32_t retries, uint64_t elapsed_ms,
                        struct hf_error *why)
{
    char elapsed[HF_DURATION_BYTES];

    assert(session->state != HF_STATE_CONNECTED);
    hf_duration_format_short(elapsed_ms, elapsed);
    session->gave_up = true;
    if (session->connection_error.final)
        explain_refused(session, engine_name, why);
    else
        hf_error_set(why, unreachable_status(session),
                     "no connection to %.200s: gave up after %" PRIu32
                     " %s in %s, as the policy for reconnecting says%s%s",
                     engine_name_text(engine_name), retries,
                     retries == 1 ? "retry" : "retries", elapsed,
                     session->connection_error.text[0] != '\0' ? ": " : "",
                     session->connection_error.text);
}

void hf_session_connect_again(struct hf_session *session)
{
    assert(session->gave_up && session->state != HF_STATE_CONNECTED);
    if (session->closing)
        return;
    session->gave_up = false;
    session->connection_error = (struct hf_session_error){.status = HF_OK};
    hf_effect_add(session->effects, &session->connect_effect,
                  HF_EFFECT_CONNECT);
}

void hf_session_explain_not_renewed(const struct hf_session *session,
                                    struct hf_error *why)
{
    bool unreached = session->connection_error.text[0] != '\0';
    bool refused = !unreached && session->proof_error[0] != '\0';
    const char *text =
        unreached ? session->connection_error.text : session->proof_error;

    hf_error_set(why, HF_ELOST,
                 "the lease of %" PRIu64 " ms was not renewed in time, because "
                 "%s; the session is %s%s%s",
                 session->timeout_ms,
                 refused ? "the engine did not confirm the session"
                         : "the engine did not answer or this process stood "
                           "still",
                 hf_state_name(session->state), text[0] != '\0' ? ": " : "",
                 text);
}

/* Copy ${text}, cut between two characters. */
static void copy_text(char copy[HF_CONNECTION_ERROR_BYTES], const char *text)
{
    size_t bytes = strlen(text);

    if (bytes >= HF_CONNECTION_ERROR_BYTES)
        bytes = hf_utf8_cut(text, HF_CONNECTION_ERROR_BYTES - 1);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
}

void hf_session_connection_error(struct hf_session *session, hf_status status,
                                 bool final, const char *text)
{
    session->connection_error.status = status;
    session->connection_error.final = final;
    copy_text(session->connection_error.text, text);
}

/* A resume was sent: the server counts ${timeout_ms} anew from some instant
 * after the sending.  That may be less than what was left before. */
static void cap_safe_until(struct hf_session *session, uint64_t timeout_ms)
{
    uint64_t cap_ms =
        lease_end_ms(session, session->resume_sent_ms, timeout_ms);

    session->resume_cap_ms = hf_min_ms(session->resume_cap_ms, cap_ms);
    session->safe_until_ms = hf_min_ms(session->safe_until_ms, cap_ms);
}

/* If what is proven was sent no earlier than the last resume, nothing of that
 * resume is left open, and the cap ends. */
void hf_session_proven(struct hf_session *session, uint64_t anchor_ms)
{
    uint64_t end_ms = lease_end_ms(session, anchor_ms, session->timeout_ms);

    assert(session->safe_until_ms <= session->resume_cap_ms);
    if (anchor_ms >= session->resume_sent_ms)
        clear_resume(session);
    end_ms = hf_min_ms(end_ms, session->resume_cap_ms);
    session->safe_until_ms = hf_max_ms(session->safe_until_ms, end_ms);
}

void hf_session_connected(struct hf_session *session, uint64_t timeout_ms,
                          uint64_t clock_drift, uint64_t anchor_ms,
                          bool resumed, bool lazy, uint64_t proof_ms)
{
    assert(timeout_ms == HF_FOREVER || clock_drift >= HF_CLOCK_DRIFT_MIN);
    session->clock_drift = clock_drift;
    atomic_store(&session->published.lazy, lazy);
    if (!resumed) {
        assert(!hf_session_alive(session));
        session->number++;
        session->safe_until_ms = 0;
        clear_resume(session);
    } else {
        cap_safe_until(session, timeout_ms);
    }
    session->connect_by_ms = HF_FOREVER;
    session->timeout_ms = timeout_ms;
    session->proof_ms =
        proof_ms > 0 ? proof_ms : timeout_ms / PROOFS_PER_TIMEOUT;
    session->connection_error = (struct hf_session_error){.status = HF_OK};
    session->proof_error[0] = '\0';
    session->gave_up = false; /* another user of the session began again */
    if (timeout_ms == HF_FOREVER)
        session->safe_until_ms = HF_FOREVER;
    else
        hf_session_proven(session, anchor_ms);
    assert(session->safe_until_ms <= session->resume_cap_ms);
    session->proof_due_ms = hf_after_ms(anchor_ms, session->proof_ms);
    move(session, HF_STATE_CONNECTED);
}

void hf_session_suspended(struct hf_session *session)
{
    assert(session->state == HF_STATE_CONNECTED);
    cancel_proof(session);
    move(session, HF_STATE_SUSPENDED);
}

void hf_session_resuming(struct hf_session *session, uint64_t sent_at_ms,
                         uint64_t least_timeout_ms)
{
    assert(session->state == HF_STATE_SUSPENDED);
    session->resume_sent_ms = sent_at_ms;
    cap_safe_until(session, least_timeout_ms);
}

void hf_session_lost(struct hf_session *session)
{
    cancel_proof(session);
    session->prove.busy = false;
    session->check_pending = false;
    session->safe_until_ms = 0;
    clear_resume(session);
    move(session, HF_STATE_LOST);
}

void hf_session_closed(struct hf_session *session)
{
    cancel_proof(session);
    session->closing = true;
    session->prove.busy = false;
    session->check_pending = false;
    session->end.busy = false;
    session->safe_until_ms = 0;
    session->connect_by_ms = HF_FOREVER;
    hf_effect_remove(session->effects, &session->connect_effect);
    move(session, HF_STATE_CLOSED);
}

/* Hand ${request} to the engine. */
static void send_request(struct hf_session *session, struct hf_request *request)
{
    assert(!request->busy);
    request->busy = true;
    request->engine_data = NULL;
    hf_effect_add_request(session->effects, request, HF_EFFECT_REQUEST);
}

void hf_session_want_proof(struct hf_session *session, uint64_t now_ms)
{
    if (!hf_session_usable(session) || session->timeout_ms == HF_FOREVER ||
        session->prove.busy)
        return;
    session->prove_at_ms = session->proof_due_ms;
    if (now_ms < session->proof_due_ms)
        return;
    session->prove_at_ms = HF_FOREVER;
    session->proof_due_ms =
        hf_after_ms(now_ms, hf_max_ms(session->proof_ms, 1));
    send_request(session, &session->prove);
}

void hf_session_want_proof_unless_lazy(struct hf_session *session,
                                       uint64_t now_ms)
{
    if (!hf_session_is_lazy(session))
        hf_session_want_proof(session, now_ms);
}

/* Answer the CHECK. */
static void notify_proven(struct hf_session *session)
{
    assert(session->check_pending && hf_session_is_lazy(session));
    session->check_pending = false;
    hf_effect_remove(session->effects, &session->proven_effect);
    hf_effect_add(session->effects, &session->proven_effect, HF_EFFECT_PROVEN);
}

void hf_session_begin_check(struct hf_session *session, uint64_t now_ms)
{
    if (!hf_session_is_lazy(session) || (now_ms < session->proof_due_ms &&
                                         hf_session_may_admit(session, now_ms)))
        return;
    session->check_pending = true;
}

void hf_session_answer_check(struct hf_session *session, uint64_t now_ms)
{
    if (session->check_pending && now_ms < session->safe_until_ms)
        notify_proven(session);
}

void hf_session_proof_answered(struct hf_session *session, const char *error,
                               uint64_t now_ms)
{
    bool proven = error == NULL;
    bool suffices = proven && hf_session_may_admit(session, now_ms);
    uint64_t soon_ms =
        hf_max_ms(session->timeout_ms / PROOFS_PER_TIMEOUT_AFTER_FAILURE, 1);
    uint64_t left_ms = hf_before_ms(session->safe_until_ms, now_ms);

    assert(session->prove.busy);
    session->prove.busy = false;
    copy_text(session->proof_error, proven ? "" : error);
    /* After a pause the first proof of an engine may not be enough, and
     * somebody may wait for the second.  A third one is not sent at once. */
    session->prove_again = proven && !suffices && !session->prove_again;
    /* The first proof of a session that was idle may leave little more than a
     * quarter of the lease, in which the next one is to be answered. */
    if (suffices)
        session->proof_due_ms =
            hf_min_ms(session->proof_due_ms,
                      hf_after_ms(now_ms, hf_max_ms(left_ms / 2, 1)));
    else
        session->proof_due_ms =
            session->prove_again ? now_ms : hf_after_ms(now_ms, soon_ms);
}

void hf_session_close(struct hf_session *session)
{
    assert(!session->closing);
    cancel_proof(session);
    session->closing = true;
    hf_effect_remove(session->effects, &session->connect_effect);
    send_request(session, &session->end);
}

void hf_session_check(const struct hf_session *session)
{
    assert(session->safe_until_ms == 0 || hf_session_alive(session));
    assert(session->safe_until_ms <= session->resume_cap_ms);
    assert(session->connect_by_ms == HF_FOREVER || session->number == 0);
    assert(session->prove_at_ms == HF_FOREVER || hf_session_usable(session));
    assert(!session->prove.effect.queued || session->prove.busy);
    assert(!session->end.effect.queued || session->end.busy);
    assert(!session->check_pending ||
           (hf_session_is_lazy(session) && hf_session_alive(session)));
    assert(session->state != HF_STATE_CLOSED || session->closing);
    assert(!session->gave_up || session->state != HF_STATE_CONNECTED);
    assert(!session->connect_effect.queued || !session->gave_up);
}
