/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on the connection of a session: sending them, repeating them because of
 * a token, and ending them. */
#include "etcd/call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/list.h"
#include "base/time_math.h"
#include "etcd/call_result.h"
#include "etcd/session_private.h"

/* The text of a failure: the server's text, the name of the status, and advice.
 */
#define DETAIL_BYTES (HF_ETCD_TEXT_BYTES + 192)

/* How often a call is repeated because of its token. */
#define REPETITIONS_MAX 2

bool hf_etcd_call_is_idle(const struct hf_etcd_call *call)
{
    return call->state == HF_ETCD_CALL_IDLE;
}

/* --------------------------------------------------------------- its end -- */

/* Remove ${call} from the session's list.  It is idle afterwards. */
static void leave(struct hf_etcd_call *call)
{
    struct hf_etcd_session *session = call->session;

    assert(call->state != HF_ETCD_CALL_IDLE);
    if (call->state == HF_ETCD_CALL_RUNNING ||
        call->state == HF_ETCD_CALL_ANSWERED)
        session->calls_under_way--;
    if (session->ending == call)
        session->ending = NULL;
    HF_LIST_REMOVE(&session->calls, call);
    call->state = HF_ETCD_CALL_IDLE;
}

/* Call .ended.  Afterwards ${call} is not touched, because the user may have
 * freed it. */
static void notify(struct hf_etcd_call *call,
                   const struct hf_etcd_result *result)
{
    /* The message may contain the answer, and .ended may start the call again.
     */
    struct hf_etcd_buffer message = call->message;

    call->message = (struct hf_etcd_buffer){0};
    call->ended(call, result);
    hf_etcd_buffer_free(&message);
}

/* Log the reason of a failure if it has advice for somebody, unless it was also
 * the last reason logged about this server on this connection.  Before the
 * session is usable nothing is logged here, because the failure is then logged
 * as the reason why there is no connection. */
static void warn_of_refusal(struct hf_etcd_session *session, const char *detail)
{
    const struct hf_etcd_cause *cause = hf_etcd_cause_of(detail);
    char server[HF_ETCD_ADDRESS_TEXT_BYTES];

    if (cause == NULL || cause->advice == NULL ||
        !hf_etcd_session_is_usable(session) ||
        !hf_connectivity_text_changed(&session->connectivity, session->server,
                                      cause->words))
        return;
    hf_etcd_session_server_text(session, server);
    session->log.line(session->log.user, HF_LOG_WARNING, "%s: %s", server,
                      detail);
}

/* Write ${text}, which is the server's, the name of ${status}, and advice to
 * ${detail}. */
static void describe_failure(enum hf_grpc_status status, const char *text,
                             char detail[DETAIL_BYTES])
{
    const struct hf_etcd_cause *cause;
    char clean[HF_ETCD_TEXT_BYTES];
    size_t used;

    hf_etcd_clean_text(text, clean);
    (void)snprintf(detail, DETAIL_BYTES, "%s (%s)", clean,
                   hf_grpc_status_name(status));
    cause = hf_etcd_cause_of(detail);
    used = strlen(detail);
    if (cause != NULL && cause->advice != NULL)
        (void)snprintf(detail + used, DETAIL_BYTES - used, "; %s",
                       cause->advice);
}

/* End ${call} with ${result}, which is not DONE.  .text of ${result} is the
 * server's. */
static void end_failed(struct hf_etcd_call *call, struct hf_etcd_result result)
{
    struct hf_etcd_session *session = call->session;
    char detail[DETAIL_BYTES];
    bool epoch_unsure = result.end == HF_ETCD_UNSURE && !result.decided &&
                        call->message.compares_epoch;

    describe_failure(result.status, result.text, detail);
    result.text = detail;
    leave(call);
    warn_of_refusal(session, detail);
    if (epoch_unsure)
        hf_etcd_session_unsure(session);
    notify(call, &result);
}

/* Note that ${call}, a write, was answered at ${revision}.  A write follows all
 * that was answered before it was sent, so the revision cannot be lower, unless
 * a snapshot of the store was restored.  Then tickets that we have removed may
 * be back, on a lease that we keep alive.  In that case the session is lost,
 * the call has ended, and false is returned. */
static bool note_revision(struct hf_etcd_call *call, int64_t revision)
{
    struct hf_etcd_session *session = call->session;

    if (revision < call->known_revision) {
        call->state = HF_ETCD_CALL_CUT; /* the call was carried out, so it
                                           ends UNSURE */
        hf_etcd_session_lose(session,
                             "the servers are at revision %" PRId64
                             " and were at %" PRId64
                             " before: a snapshot was restored",
                             revision, call->known_revision);
        return false;
    }
    if (revision > session->revision)
        session->revision = revision;
    return true;
}

/* Find out what the answer of ${call} proves, and notify the listener of a new
 * anchor.  Returns false if the call has ended by that: the listener has
 * cancelled it, or the session was closed or lost. */
static bool prove(struct hf_etcd_call *call, struct hf_etcd_result *result)
{
    struct hf_etcd_session *session = call->session;
    uint64_t proven_ms = session->proof.proven_ms;
    struct hf_etcd_header header;

    if (!call->message.writes || session->lease == 0 ||
        !hf_etcd_read_header(result->answer, &header))
        return true;
    if (!note_revision(call, header.revision))
        return false;
    result->proves_ms =
        hf_etcd_proof_answered(&session->proof, &call->sent, header.raft_term);
    if (session->proof.proven_ms == proven_ms)
        return true;
    session->ending = call;
    HF_ETCD_NOTIFY(session, proven, session->listener.user,
                   session->proof.proven_ms);
    if (session->ending != call)
        return false;
    session->ending = NULL;
    return true;
}

/* End ${call}, which was answered. */
static void end_done(struct hf_etcd_call *call)
{
    struct hf_etcd_result result = {
        .end = HF_ETCD_DONE,
        .answer = {call->message.bytes, call->message.used},
        .text = ""};

    if (!prove(call, &result))
        return;
    leave(call);
    notify(call, &result);
}

/* ----------------------------------------------------- on the connection -- */

/* Keep the answer in place of the request, which is not sent again. */
static void on_message(struct hf_grpc_call *grpc, const void *bytes,
                       size_t count)
{
    struct hf_etcd_call *call = container_of(grpc, struct hf_etcd_call, grpc);
    bool writes = call->message.writes;
    bool compares_epoch = call->message.compares_epoch;

    if (call->state == HF_ETCD_CALL_ANSWERED) {
        hf_etcd_session_break(call->session, "two answers to one request");
        return;
    }
    hf_etcd_buffer_clear(&call->message);
    hf_etcd_put_raw(&call->message, bytes, count);
    call->message.writes = writes;
    call->message.compares_epoch = compares_epoch;
    call->state = HF_ETCD_CALL_ANSWERED;
}

static bool send_call(struct hf_etcd_call *call);

/* The token of ${call} is old: send the call again, now or when there is a new
 * token.  Returns false if it was repeated too often, or if no other token can
 * be had. */
static bool repeat(struct hf_etcd_call *call)
{
    struct hf_etcd_session *session = call->session;

    if (call->method == HF_ETCD_AUTHENTICATE ||
        call->repetitions == REPETITIONS_MAX ||
        !hf_etcd_session_renew_token(session, call->token_number))
        return false;
    call->repetitions++;
    session->calls_under_way--;
    call->state = HF_ETCD_CALL_WAITING;
    if (session->authentication == HF_ETCD_AUTHENTICATED && !send_call(call))
        hf_etcd_session_break(session, "a call could not be repeated");
    return true;
}

static void on_ended(struct hf_grpc_call *grpc,
                     const struct hf_grpc_result *ended)
{
    struct hf_etcd_call *call = container_of(grpc, struct hf_etcd_call, grpc);
    struct hf_etcd_session *session = call->session;
    uint64_t number = session->connection_number;
    bool useless = hf_etcd_is_useless_member(ended);

    if (ended->answered)
        session->call_answered_ms = session->now_ms;
    if (ended->status == HF_GRPC_OK && call->state == HF_ETCD_CALL_ANSWERED &&
        !call->message.failed) {
        end_done(call);
        return;
    }
    if (call->state == HF_ETCD_CALL_RUNNING && ended->answered &&
        hf_etcd_is_token_error(ended->status, ended->text) && repeat(call))
        return;
    if (ended->status == HF_GRPC_OK)
        end_failed(call, (struct hf_etcd_result){
                             .end = call->message.writes ? HF_ETCD_UNSURE
                                                         : HF_ETCD_RETRY,
                             .status = HF_GRPC_INTERNAL,
                             .text = "the server ended a call without an "
                                     "answer, or there was no memory for it"});
    else
        end_failed(call, (struct hf_etcd_result){
                             .end = hf_etcd_end_of(ended, call->message.writes,
                                                   call->repetitions > 0),
                             .status = ended->status,
                             .decided = hf_etcd_is_decided(ended),
                             .text = ended->text});
    if (useless && hf_etcd_session_is_current(session, number))
        hf_etcd_session_break(session, "the member has no leader, or is no "
                                       "full member of the cluster");
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

/* Send ${call}, which is WAITING, on the connection.  If that fails, the call
 * is still WAITING, and false is returned. */
static bool send_call(struct hf_etcd_call *call)
{
    struct hf_etcd_session *session = call->session;
    struct hf_grpc_metadata metadata = hf_etcd_session_metadata(session);

    if (call->method == HF_ETCD_AUTHENTICATE || call->method == HF_ETCD_STATUS)
        metadata = (struct hf_grpc_metadata){0};
    call->grpc.ops = &ops;
    if (hf_grpc_start(session->grpc, &call->grpc,
                      hf_etcd_method_path(call->method), &metadata) != HF_OK)
        return false;
    if (hf_grpc_send(session->grpc, &call->grpc, call->message.bytes,
                     call->message.used, true) != HF_OK) {
        hf_grpc_cancel(session->grpc, &call->grpc);
        return false;
    }
    if (session->calls_under_way++ == 0)
        session->call_answered_ms = session->now_ms;
    call->state = HF_ETCD_CALL_RUNNING;
    call->token_number = session->token_number;
    call->sent = hf_etcd_proof_sent(&session->proof);
    call->known_revision = session->revision;
    return true;
}

/* ------------------------------------------------------------- interface -- */

bool hf_etcd_call_begin(struct hf_etcd_session *session,
                        struct hf_etcd_call *call, enum hf_etcd_method method,
                        struct hf_etcd_buffer *request)
{
    assert(call->state == HF_ETCD_CALL_IDLE && call->ended != NULL);
    call->session = session;
    call->method = method;
    call->message = *request;
    call->repetitions = 0;
    *request = (struct hf_etcd_buffer){0};
    call->state = HF_ETCD_CALL_WAITING;
    if (!call->message.failed && hf_etcd_session_has_grpc(session) &&
        ((session->authentication == HF_ETCD_AUTHENTICATING &&
          method != HF_ETCD_AUTHENTICATE && method != HF_ETCD_STATUS) ||
         send_call(call))) {
        HF_LIST_APPEND(&session->calls, call);
        return true;
    }
    call->state = HF_ETCD_CALL_IDLE;
    hf_etcd_buffer_free(&call->message);
    return false;
}

bool hf_etcd_call_start(struct hf_etcd_session *session,
                        struct hf_etcd_call *call, enum hf_etcd_method method,
                        struct hf_etcd_buffer *request)
{
    if (hf_etcd_session_is_usable(session))
        return hf_etcd_call_begin(session, call, method, request);
    hf_etcd_buffer_free(request);
    return false;
}

/* Take ${call} off the connection.  Returns whether the server may have seen
 * it.  It has if the call left the connection because it was answered and is
 * about to end (prove()). */
static bool take_off(struct hf_etcd_call *call)
{
    struct hf_etcd_session *session = call->session;
    bool sent = true;

    if (call->state == HF_ETCD_CALL_CUT)
        return true;
    if (call->state != HF_ETCD_CALL_RUNNING &&
        call->state != HF_ETCD_CALL_ANSWERED)
        return false;
    if (hf_grpc_running(&call->grpc)) {
        sent = hf_grpc_sent(&call->grpc);
        hf_grpc_cancel(session->grpc, &call->grpc);
    }
    return sent;
}

void hf_etcd_call_cancel(struct hf_etcd_call *call)
{
    struct hf_etcd_session *session = call->session;
    bool epoch_unsure;

    if (call->state == HF_ETCD_CALL_IDLE)
        return;
    epoch_unsure = take_off(call) && call->message.compares_epoch;
    leave(call);
    hf_etcd_buffer_free(&call->message);
    if (epoch_unsure)
        hf_etcd_session_unsure(session);
}

/* ------------------------------------------------------- for the session -- */

/* If a call cannot be sent it stays in the list, and the next tick gives the
 * connection up. */
void hf_etcd_calls_repeat(struct hf_etcd_session *session)
{
    struct hf_etcd_call *call;

    for (call = session->calls.first; call != NULL; call = call->next) {
        if (call->state == HF_ETCD_CALL_WAITING && !send_call(call)) {
            hf_etcd_session_break(session, "a call could not be repeated");
            return;
        }
    }
}

void hf_etcd_calls_cut(struct hf_etcd_session *session)
{
    struct hf_etcd_call *call;

    for (call = session->calls.first; call != NULL; call = call->next)
        call->state = take_off(call) && call->message.writes
                          ? HF_ETCD_CALL_CUT
                          : HF_ETCD_CALL_UNSENT;
    session->calls_under_way = 0;
}

void hf_etcd_calls_fail(struct hf_etcd_session *session)
{
    struct hf_etcd_call *call;

    while ((call = session->calls.first) != NULL) {
        assert(call->state == HF_ETCD_CALL_CUT ||
               call->state == HF_ETCD_CALL_UNSENT);
        end_failed(
            call, (struct hf_etcd_result){.end = call->state == HF_ETCD_CALL_CUT
                                                     ? HF_ETCD_UNSURE
                                                     : HF_ETCD_RETRY,
                                          .status = HF_GRPC_UNAVAILABLE,
                                          .text = "the connection has ended"});
    }
}
