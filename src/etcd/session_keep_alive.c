/* SPDX-License-Identifier: Apache-2.0 */
/* Several keep-alives may be under way, each on a stream of its own.  So an
 * answer always belongs to the last keep-alive of its stream, and a stream that
 * was closed brings no answer. */
#include "etcd/keep_alive.h"

#include <assert.h>
#include <inttypes.h>

#include "base/container_of.h"
#include "base/state_machine.h"
#include "base/time_math.h"
#include "etcd/session_private.h"

#define PER_TTL 3      /* keep-alives in one TTL */
#define PER_TTL_SOON 8 /* the same after a chain of proofs began: proof.h */

#define STATE(name) HF_ETCD_KEEP_ALIVE_##name
#define TO(name) (1u << HF_ETCD_KEEP_ALIVE_##name)

static const struct hf_state_machine_state states[] = {
    [STATE(OFF)] = {"OFF", TO(OFF) | TO(IDLE) | TO(SENT)},
    [STATE(IDLE)] = {"IDLE", TO(OFF) | TO(WANTED) | TO(SENT)},
    [STATE(WANTED)] = {"WANTED", TO(OFF) | TO(WANTED) | TO(SENT)},
    [STATE(SENT)] = {"SENT", TO(OFF) | TO(IDLE) | TO(SENT)},
};

static const struct hf_state_machine table = {"keep-alive of a lease", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_etcd_keep_alive *keep_alive,
                 enum hf_etcd_keep_alive_state state)
{
    hf_state_machine_move(&table, &keep_alive->state, state);
}

/* Return in SENT when the last keep-alive was sent; in IDLE when the last one
 * that was answered was sent, or LeaseGrant if no keep-alive was answered yet.
 */
static uint64_t sent_ms(const struct hf_etcd_keep_alive *keep_alive)
{
    size_t last = keep_alive->count > 0 ? keep_alive->count - 1 : 0;

    return keep_alive
        ->tries[(keep_alive->first + last) % HF_ETCD_KEEP_ALIVE_TRIES]
        .sent_ms;
}

/* --------------------------------------------------------------- streams -- */

static void close_stream(struct hf_etcd_session *session,
                         struct hf_etcd_keep_alive_try *try)
{
    if (hf_grpc_running(&try->stream))
        hf_grpc_cancel(session->grpc, &try->stream);
}

/* Close all streams but the one of ${kept}; with NULL close all. */
static void close_others(struct hf_etcd_session *session,
                         const struct hf_etcd_keep_alive_try *kept)
{
    for (size_t i = 0; i < HF_ETCD_KEEP_ALIVE_TRIES; i++)
        if (&session->keep_alive.tries[i] != kept)
            close_stream(session, &session->keep_alive.tries[i]);
}

/* --------------------------------------------------------------- answers -- */

/* Handle the answer to ${try}. */
static void answered(struct hf_etcd_session *session,
                     struct hf_etcd_keep_alive_try *try,
                     const struct hf_etcd_lease_answer *answer)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;

    close_others(session, try);
    keep_alive->first = (size_t)(try - keep_alive->tries);
    keep_alive->count = 0;
    move(keep_alive, HF_ETCD_KEEP_ALIVE_IDLE);
    if (answer->ttl_s <= 0)
        hf_etcd_session_lose(session, "the servers have ended the lease");
    else
        hf_etcd_session_kept_alive(session, try->sent_ms,
                                   (uint64_t)answer->ttl_s * 1000,
                                   answer->header.raft_term);
}

static void on_message(struct hf_grpc_call *stream, const void *bytes,
                       size_t count)
{
    struct hf_etcd_session *session = stream->user;
    struct hf_etcd_bytes message = {bytes, count};
    struct hf_etcd_lease_answer answer;

    if (session->keep_alive.state == HF_ETCD_KEEP_ALIVE_SENT &&
        hf_etcd_read_lease(message, &answer) &&
        answer.lease == session->lease && answer.ttl_s < INT64_MAX / 1000)
        answered(session,
                 container_of(stream, struct hf_etcd_keep_alive_try, stream),
                 &answer);
    else
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "an answer to a keep-alive that makes no "
                                   "sense");
}

/* The server has ended the stream. */
static void on_ended(struct hf_grpc_call *stream,
                     const struct hf_grpc_result *result)
{
    struct hf_etcd_session *session = stream->user;
    char text[HF_ETCD_TEXT_BYTES];

    if (result->answered &&
        hf_etcd_is_token_error(result->status, result->text) &&
        hf_etcd_session_renew_token(session, session->token_number))
        return; /* it goes on with the new token: hf_etcd_keep_alive_renew() */
    hf_etcd_clean_text(result->text, text);
    hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                               "the server has ended the keep-alives: %s (%s)",
                               text, hf_grpc_status_name(result->status));
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

/* --------------------------------------------------------------- sending -- */

void hf_etcd_keep_alive_init(struct hf_etcd_session *session)
{
    session->keep_alive =
        (struct hf_etcd_keep_alive){.state = HF_ETCD_KEEP_ALIVE_OFF};
    for (size_t i = 0; i < HF_ETCD_KEEP_ALIVE_TRIES; i++) {
        session->keep_alive.tries[i].stream.ops = &ops;
        session->keep_alive.tries[i].stream.user = session;
    }
}

/* Send a keep-alive as ${try}, on the stream that it has or on a new one.
 * Returns false if that fails. */
static bool send_try(struct hf_etcd_session *session,
                     struct hf_etcd_keep_alive_try *try)
{
    struct hf_grpc_metadata metadata = hf_etcd_session_metadata(session);
    struct hf_etcd_buffer request = {0};
    bool sent;

    assert(session->lease != 0);
    if (!hf_grpc_running(&try->stream) &&
        hf_grpc_start(session->grpc, &try->stream, HF_ETCD_KEEP_ALIVE_PATH,
                      &metadata) != HF_OK)
        return false;
    hf_etcd_write_keep_alive(&request, session->lease);
    sent = !request.failed &&
           hf_grpc_send(session->grpc, &try->stream, request.bytes,
                        request.used, false) == HF_OK;
    hf_etcd_buffer_free(&request);
    try->sent_ms = session->now_ms;
    return sent;
}

/* Send one more keep-alive.  Returns false if that fails; then the connection
 * must be given up. */
static bool send_next(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;
    size_t next =
        (keep_alive->first + keep_alive->count) % HF_ETCD_KEEP_ALIVE_TRIES;

    assert(keep_alive->count < HF_ETCD_KEEP_ALIVE_TRIES);
    if (!send_try(session, &keep_alive->tries[next]))
        return false;
    keep_alive->count++;
    move(keep_alive, HF_ETCD_KEEP_ALIVE_SENT);
    return true;
}

bool hf_etcd_keep_alive_resume(struct hf_etcd_session *session)
{
    assert(session->keep_alive.state == HF_ETCD_KEEP_ALIVE_OFF);
    return send_next(session);
}

void hf_etcd_keep_alive_begin(struct hf_etcd_session *session,
                              uint64_t granted_ms)
{
    move(&session->keep_alive, HF_ETCD_KEEP_ALIVE_IDLE);
    session->keep_alive.tries[session->keep_alive.first].sent_ms = granted_ms;
}

void hf_etcd_keep_alive_want(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;

    if (keep_alive->state == HF_ETCD_KEEP_ALIVE_IDLE &&
        !hf_etcd_proof_wants_keep_alive_soon(&session->proof))
        move(keep_alive, HF_ETCD_KEEP_ALIVE_WANTED);
}

/* Keep-alives on the streams of the old token may never be answered. */
void hf_etcd_keep_alive_renew(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;

    close_others(session, NULL);
    if (keep_alive->state != HF_ETCD_KEEP_ALIVE_SENT)
        return;
    keep_alive->count = 0;
    if (!send_next(session))
        hf_etcd_session_break(session, "a keep-alive could not be written");
}

void hf_etcd_keep_alive_end(struct hf_etcd_session *session)
{
    close_others(session, NULL);
    session->keep_alive.count = 0;
    move(&session->keep_alive, HF_ETCD_KEEP_ALIVE_OFF);
}

/* ------------------------------------------------------------------ time -- */

/* After a new token the tries are counted anew: hf_etcd_keep_alive_renew(). */
void hf_etcd_keep_alive_tick(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;

    if (session->now_ms < hf_etcd_keep_alive_wake_at_ms(session))
        return;
    if (keep_alive->count == HF_ETCD_KEEP_ALIVE_TRIES)
        hf_etcd_session_disconnect(
            session, HF_EUNREACHABLE,
            "no keep-alive was answered for %" PRIu64 " ms",
            HF_ETCD_KEEP_ALIVE_TRIES * hf_etcd_silence_ms(session->ttl_ms));
    else if (!send_next(session))
        hf_etcd_session_not_begun(session);
}

uint64_t hf_etcd_silence_ms(uint64_t ttl_ms)
{
    return hf_max_ms(ttl_ms / 2 / HF_ETCD_KEEP_ALIVE_TRIES,
                     HF_ETCD_KEEP_ALIVE_LEAST_MS);
}

uint64_t hf_etcd_keep_alive_wake_at_ms(const struct hf_etcd_session *session)
{
    const struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;
    uint64_t parts = hf_etcd_proof_wants_keep_alive_soon(&session->proof)
                         ? PER_TTL_SOON
                         : PER_TTL;

    switch (keep_alive->state) {
    case HF_ETCD_KEEP_ALIVE_IDLE:
        return hf_after_ms(sent_ms(keep_alive),
                           hf_max_ms(session->ttl_ms / parts, 1));
    case HF_ETCD_KEEP_ALIVE_WANTED:
        return session->now_ms;
    case HF_ETCD_KEEP_ALIVE_SENT:
        return hf_after_ms(sent_ms(keep_alive),
                           hf_etcd_silence_ms(session->ttl_ms));
    default:
        return HF_FOREVER;
    }
}
