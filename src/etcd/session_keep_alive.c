/* SPDX-License-Identifier: Apache-2.0 */
/* One keep-alive is under way at a time, so an answer is always that to the
 * last one.  That of a stream that was given up does not come any more. */
#include "etcd/keep_alive.h"

#include <assert.h>
#include <inttypes.h>

#include "base/container_of.h"
#include "base/state_machine.h"
#include "base/time_math.h"
#include "etcd/session_private.h"

#define PER_TTL 3      /* keep-alives */
#define PER_TTL_SOON 8 /* the second one of a chain of proofs, see proof.h */

#define STATE(name) HF_ETCD_KEEP_ALIVE_##name
#define TO(name) (1u << HF_ETCD_KEEP_ALIVE_##name)

static const struct hf_state_machine_state states[] = {
    [STATE(OFF)] = {"OFF", TO(OFF) | TO(IDLE) | TO(FIRST)},
    [STATE(IDLE)] = {"IDLE", TO(OFF) | TO(FIRST)},
    [STATE(FIRST)] = {"FIRST", TO(OFF) | TO(IDLE) | TO(FIRST) | TO(SECOND)},
    [STATE(SECOND)] = {"SECOND", TO(OFF) | TO(IDLE) | TO(FIRST)},
};

static const struct hf_state_machine table = {"keep-alive of a lease", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_etcd_keep_alive *keep_alive,
                 enum hf_etcd_keep_alive_state state)
{
    hf_state_machine_move(&table, &keep_alive->state, state);
}

/* How long an answer may take. */
static uint64_t silence_ms(const struct hf_etcd_session *session)
{
    return hf_max_ms(session->ttl_ms / 4, HF_ETCD_KEEP_ALIVE_LEAST_MS);
}

/* ---------------------------------------------------------------- answers --
 */

static struct hf_etcd_session *session_of(struct hf_grpc_call *stream)
{
    return container_of(stream, struct hf_etcd_session, keep_alive.stream);
}

/* The answer to the last keep-alive. */
static void answered(struct hf_etcd_session *session,
                     const struct hf_etcd_lease_answer *answer)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;
    uint64_t parts = PER_TTL;

    move(keep_alive, HF_ETCD_KEEP_ALIVE_IDLE);
    if (answer->ttl_s <= 0) {
        hf_etcd_session_lose(session, "the servers have ended the lease");
        return;
    }
    hf_etcd_session_kept_alive(session, keep_alive->sent_ms,
                               (uint64_t)answer->ttl_s * 1000,
                               answer->header.raft_term);
    if (hf_etcd_proof_wants_keep_alive_soon(&session->proof))
        parts = PER_TTL_SOON;
    keep_alive->next_ms =
        hf_after_ms(keep_alive->sent_ms, hf_max_ms(session->ttl_ms / parts, 1));
}

static void on_message(struct hf_grpc_call *stream, const void *bytes,
                       size_t count)
{
    struct hf_etcd_session *session = session_of(stream);
    struct hf_etcd_bytes message = {bytes, count};
    struct hf_etcd_lease_answer answer;
    bool due = session->keep_alive.state == HF_ETCD_KEEP_ALIVE_FIRST ||
               session->keep_alive.state == HF_ETCD_KEEP_ALIVE_SECOND;

    if (due && hf_etcd_read_lease(message, &answer) &&
        answer.lease == session->lease && answer.ttl_s < INT64_MAX / 1000)
        answered(session, &answer);
    else
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "an answer to a keep-alive that makes no "
                                   "sense");
}

/* The server has ended the stream. */
static void on_ended(struct hf_grpc_call *stream,
                     const struct hf_grpc_result *result)
{
    struct hf_etcd_session *session = session_of(stream);
    char text[HF_ETCD_TEXT_BYTES];

    if (result->answered &&
        hf_etcd_is_token_error(result->status, result->text) &&
        hf_etcd_session_renew_token(session, session->token_number))
        return; /* goes on with the new one: hf_etcd_keep_alive_renew() */
    hf_etcd_clean_text(result->text, text);
    hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                               "the server has ended the keep-alives: %s (%s)",
                               text, hf_grpc_status_name(result->status));
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

/* ---------------------------------------------------------------- sending --
 */

void hf_etcd_keep_alive_init(struct hf_etcd_session *session)
{
    session->keep_alive = (struct hf_etcd_keep_alive){
        .state = HF_ETCD_KEEP_ALIVE_OFF, .stream = {.ops = &ops}};
}

static void close_stream(struct hf_etcd_session *session)
{
    struct hf_grpc_call *stream = &session->keep_alive.stream;

    if (hf_grpc_running(stream))
        hf_grpc_cancel(session->grpc, stream);
}

/* Send one, on the stream that there is or on a new one. */
static bool send(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;
    struct hf_grpc_call *stream = &keep_alive->stream;
    struct hf_grpc_metadata metadata = hf_etcd_session_metadata(session);
    struct hf_etcd_buffer request = {0};
    bool sent;

    assert(session->lease != 0);
    if (!hf_grpc_running(stream) &&
        hf_grpc_start(session->grpc, stream, HF_ETCD_KEEP_ALIVE_PATH,
                      &metadata) != HF_OK)
        return false;
    hf_etcd_write_keep_alive(&request, session->lease);
    sent = !request.failed && hf_grpc_send(session->grpc, stream, request.bytes,
                                           request.used, false) == HF_OK;
    hf_etcd_buffer_free(&request);
    keep_alive->sent_ms = session->now_ms;
    return sent;
}

/* Send one and expect its answer in ${state}, or give the connection up. */
static bool send_as(struct hf_etcd_session *session,
                    enum hf_etcd_keep_alive_state state)
{
    if (!send(session))
        return false;
    move(&session->keep_alive, state);
    return true;
}

bool hf_etcd_keep_alive_resume(struct hf_etcd_session *session)
{
    assert(!hf_grpc_running(&session->keep_alive.stream));
    return send_as(session, HF_ETCD_KEEP_ALIVE_FIRST);
}

void hf_etcd_keep_alive_begin(struct hf_etcd_session *session, uint64_t sent_ms)
{
    move(&session->keep_alive, HF_ETCD_KEEP_ALIVE_IDLE);
    session->keep_alive.sent_ms = sent_ms;
    session->keep_alive.next_ms =
        hf_after_ms(sent_ms, hf_max_ms(session->ttl_ms / PER_TTL, 1));
}

void hf_etcd_keep_alive_renew(struct hf_etcd_session *session)
{
    bool due = session->keep_alive.state == HF_ETCD_KEEP_ALIVE_FIRST ||
               session->keep_alive.state == HF_ETCD_KEEP_ALIVE_SECOND;

    close_stream(session);
    if (due && !send_as(session, HF_ETCD_KEEP_ALIVE_FIRST))
        hf_etcd_session_break(session, "a keep-alive could not be written");
}

void hf_etcd_keep_alive_end(struct hf_etcd_session *session)
{
    close_stream(session);
    move(&session->keep_alive, HF_ETCD_KEEP_ALIVE_OFF);
}

/* ------------------------------------------------------------------- time --
 */

/* Waiting for a token does not count as silence: the stream is closed then. */
void hf_etcd_keep_alive_tick(struct hf_etcd_session *session)
{
    struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;
    bool sent = true;

    if (session->now_ms < hf_etcd_keep_alive_wake_at_ms(session))
        return;
    switch (keep_alive->state) {
    case HF_ETCD_KEEP_ALIVE_IDLE:
        sent = send_as(session, HF_ETCD_KEEP_ALIVE_FIRST);
        break;
    case HF_ETCD_KEEP_ALIVE_FIRST:
        close_stream(session);
        sent = send_as(session, HF_ETCD_KEEP_ALIVE_SECOND);
        break;
    case HF_ETCD_KEEP_ALIVE_SECOND:
        hf_etcd_session_disconnect(
            session, HF_EUNREACHABLE,
            "two keep-alives were not answered for %" PRIu64 " ms each",
            silence_ms(session));
        break;
    default:
        break;
    }
    if (!sent)
        hf_etcd_session_not_begun(session);
}

uint64_t hf_etcd_keep_alive_wake_at_ms(const struct hf_etcd_session *session)
{
    const struct hf_etcd_keep_alive *keep_alive = &session->keep_alive;

    switch (keep_alive->state) {
    case HF_ETCD_KEEP_ALIVE_IDLE:
        return keep_alive->next_ms;
    case HF_ETCD_KEEP_ALIVE_FIRST:
    case HF_ETCD_KEEP_ALIVE_SECOND:
        return hf_after_ms(keep_alive->sent_ms, silence_ms(session));
    default:
        return HF_FOREVER;
    }
}
