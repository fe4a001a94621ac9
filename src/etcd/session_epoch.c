/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the session's key and learns at which revision.  The transaction also
 * reads the key, in both branches, so one answer says what the epoch is:
 *
 *     if mod_revision(key) = the epoch that we know
 *         put(key, lease); get(key)
 *     else
 *         get(key)
 *
 * A revision that is greater than the known one is a new epoch, even if
 * somebody else has put the key, because none of our requests has compared it
 * yet. */
#include "etcd/epoch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/state_machine.h"
#include "base/time_math.h"
#include "etcd/session_private.h"

/* The pause before the put is repeated while the connection lasts. */
#define AGAIN_MS 100

#define STATE(name) HF_ETCD_EPOCH_##name
#define TO(name) (1u << HF_ETCD_EPOCH_##name)

static const struct hf_state_machine_state states[] = {
    [STATE(NONE)] = {"NONE", TO(NONE) | TO(DUE)},
    [STATE(DUE)] = {"DUE", TO(NONE) | TO(DUE) | TO(MOVING)},
    [STATE(MOVING)] = {"MOVING", TO(NONE) | TO(DUE) | TO(KNOWN)},
    [STATE(KNOWN)] = {"KNOWN", TO(NONE) | TO(DUE)},
};

static const struct hf_state_machine table = {"epoch of a session", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_etcd_epoch *epoch, enum hf_etcd_epoch_state state)
{
    hf_state_machine_move(&table, &epoch->state, state);
}

static void make_due(struct hf_etcd_session *session, uint64_t pause_ms)
{
    move(&session->epoch, HF_ETCD_EPOCH_DUE);
    session->epoch.due_ms = hf_after_ms(session->now_ms, pause_ms);
}

/* ----------------------------------------------------------- for engines -- */

bool hf_etcd_epoch_is_known(const struct hf_etcd_session *session)
{
    return session->epoch.state == HF_ETCD_EPOCH_KNOWN;
}

struct hf_etcd_bytes hf_etcd_epoch_key(const struct hf_etcd_session *session)
{
    return hf_etcd_bytes_of(session->epoch.key);
}

/* Append the comparison of the epoch.  The put appends it without setting
 * .compares_epoch, because a put that ends UNSURE is only repeated. */
static void compare(const struct hf_etcd_session *session,
                    struct hf_etcd_buffer *request)
{
    const struct hf_etcd_comparison comparison = {
        .key = hf_etcd_epoch_key(session),
        .target = HF_ETCD_MOD_REVISION,
        .result = HF_ETCD_EQUAL,
        .number = session->epoch.revision};

    hf_etcd_txn_compare(request, &comparison);
}

void hf_etcd_epoch_compare(const struct hf_etcd_session *session,
                           struct hf_etcd_buffer *request)
{
    assert(hf_etcd_epoch_is_known(session));
    compare(session, request);
    request->compares_epoch = true;
}

bool hf_etcd_epoch_check(struct hf_etcd_session *session, int64_t revision)
{
    if (session->epoch.state != HF_ETCD_EPOCH_KNOWN ||
        revision == session->epoch.revision)
        return session->epoch.state != HF_ETCD_EPOCH_KNOWN;
    make_due(session, 0);
    hf_etcd_epoch_tick(session);
    return true;
}

/* --------------------------------------------------------------- the put -- */

/* Set ${revision} to that of the last put of the key; 0 if the key is not
 * there.  The last operation of the transaction has read it.  Returns false if
 * the answer makes no sense. */
static bool read_revision(struct hf_etcd_bytes message, int64_t *revision)
{
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_response response, last = {0};
    struct hf_etcd_key_value kv;

    if (!hf_etcd_read_txn(message, &answer))
        return false;
    while (hf_etcd_next_response(&answer.responses, &response))
        last = response;
    (void)hf_etcd_next_kv(&last.range.kvs, &kv);
    *revision = kv.mod_revision;
    return last.kind == HF_ETCD_RANGE_RESPONSE && kv.mod_revision >= 0;
}

static void put_ended(struct hf_etcd_call *call,
                      const struct hf_etcd_result *result);

/* Send the put.  If memory or a connection is lacking, the put stays due. */
static void put(struct hf_etcd_session *session)
{
    struct hf_etcd_epoch *epoch = &session->epoch;
    struct hf_etcd_buffer request = {0};
    const struct hf_etcd_put operation = {.key = hf_etcd_epoch_key(session),
                                          .lease = session->lease};
    const struct hf_etcd_range range = {.key = hf_etcd_epoch_key(session)};

    compare(session, &request);
    hf_etcd_txn_put(&request, HF_ETCD_SUCCESS, &operation);
    hf_etcd_txn_range(&request, HF_ETCD_SUCCESS, &range);
    hf_etcd_txn_range(&request, HF_ETCD_FAILURE, &range);
    epoch->call.ended = put_ended;
    if (hf_etcd_call_start(session, &epoch->call, HF_ETCD_TXN, &request))
        move(epoch, HF_ETCD_EPOCH_MOVING);
    else
        make_due(session, AGAIN_MS);
}

/* Note that the key was put at ${revision}.  From now on every request that
 * compares an earlier epoch fails, whenever it was sent. */
static void note_revision(struct hf_etcd_session *session, int64_t revision)
{
    struct hf_etcd_epoch *epoch = &session->epoch;
    bool moved = revision > epoch->revision;

    epoch->revision = revision;
    if (!moved) {
        make_due(session, AGAIN_MS); /* somebody has deleted the key */
        return;
    }
    move(epoch, HF_ETCD_EPOCH_KNOWN);
    HF_ETCD_NOTIFY(session, epoch_moved, session->listener.user);
}

/* The put was refused.  A session that cannot put its key is of no use, so a
 * refusal that no retry mends counts as a refusal of the session. */
static void refused(struct hf_etcd_session *session,
                    const struct hf_etcd_result *result)
{
    hf_status status = hf_etcd_status_of(result);

    make_due(session, HF_ETCD_EPOCH_RETRY_MS);
    if (result->status == HF_GRPC_NOT_FOUND)
        hf_etcd_session_lose(session, "the servers have ended the lease");
    else if (hf_etcd_is_token_error(result->status, result->text))
        hf_etcd_session_refused(session, HF_EDENIED,
                                "the servers want a user: %s; expected "
                                "USER:PASSWORD@ or auth_file= in the URL",
                                result->text);
    else if (status == HF_EDENIED)
        hf_etcd_session_refused(session, status,
                                "the user may not write the key %s, which each "
                                "session has: %s",
                                session->epoch.key, result->text);
    else if (status == HF_EUNSUPPORTED || status == HF_EPROTOCOL)
        hf_etcd_session_refused(session, status,
                                "the server does not take the transaction that "
                                "each session makes: %s",
                                result->text);
}

/* How long to wait before the put is repeated after it has ended RETRY or
 * UNSURE. */
static uint64_t pause_ms(const struct hf_etcd_session *session,
                         const struct hf_etcd_result *result)
{
    if (!hf_etcd_session_is_usable(session))
        return 0;
    return result->status == HF_GRPC_RESOURCE_EXHAUSTED ? HF_ETCD_EPOCH_RETRY_MS
                                                        : AGAIN_MS;
}

static void put_ended(struct hf_etcd_call *call,
                      const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, epoch.call);
    int64_t revision;

    if (session->epoch.state != HF_ETCD_EPOCH_MOVING)
        return; /* the session is over */
    switch (result->end) {
    case HF_ETCD_DONE:
        if (read_revision(result->answer, &revision)) {
            note_revision(session, revision);
            break;
        }
        make_due(session, AGAIN_MS);
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "an answer to a transaction that makes no "
                                   "sense");
        break;
    case HF_ETCD_REFUSED:
        refused(session, result);
        break;
    default:
        make_due(session, pause_ms(session, result));
        break;
    }
}

/* ------------------------------------------------------- for the session -- */

void hf_etcd_epoch_begin(struct hf_etcd_session *session)
{
    struct hf_etcd_epoch *epoch = &session->epoch;

    assert(session->lease != 0 && epoch->state == HF_ETCD_EPOCH_NONE);
    epoch->revision = 0;
    (void)snprintf(epoch->key, sizeof epoch->key, "%s%s%" PRIx64,
                   session->config->prefix, HF_ETCD_EPOCH_NAME,
                   (uint64_t)session->lease);
    make_due(session, 0);
}

void hf_etcd_epoch_unsure(struct hf_etcd_session *session)
{
    if (session->epoch.state != HF_ETCD_EPOCH_KNOWN)
        return; /* the put that is due or under way ends the earlier epoch as
                   well */
    make_due(session, 0);
    hf_etcd_epoch_tick(session);
}

void hf_etcd_epoch_end(struct hf_etcd_session *session)
{
    move(&session->epoch, HF_ETCD_EPOCH_NONE);
    session->epoch.key[0] = '\0';
}

void hf_etcd_epoch_tick(struct hf_etcd_session *session)
{
    if (session->now_ms >= hf_etcd_epoch_wake_at_ms(session))
        put(session);
}

uint64_t hf_etcd_epoch_wake_at_ms(const struct hf_etcd_session *session)
{
    return session->epoch.state == HF_ETCD_EPOCH_DUE &&
                   hf_etcd_session_is_usable(session)
               ? session->epoch.due_ms
               : HF_FOREVER;
}
