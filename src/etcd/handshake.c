/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a connection a usable session.  Ask the server for its status, and for
 * a token; revoke the lease of a session that was lost; then get a lease, or
 * resume the one that there is. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/time_math.h"
#include "etcd/server_version.h"
#include "etcd/session_private.h"

/* The longest TTL that etcd grants.  An answer with a longer one makes no
 * sense. */
#define TTL_MAX_S 9000000000

static bool is_in(const struct hf_etcd_session *session,
                  enum hf_etcd_handshake handshake)
{
    return hf_etcd_session_has_grpc(session) &&
           session->handshake == (unsigned)handshake;
}

/* The server has answered something, so the timeout of the attempt begins anew.
 */
static void note_answer(struct hf_etcd_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING)
        hf_connectivity_answered(&session->connectivity, session->now_ms);
}

/* ---------------------------------------------------------------- usable -- */

/* Is the member's revision lower than the one that we know?  Then the member
 * lags, or a snapshot of the store was restored.  The answer to a write shows
 * which.  The session's own write is the put of its key, so the epoch is moved.
 */
static void look_for_restore(struct hf_etcd_session *session)
{
    if (session->member_revision != 0 &&
        session->member_revision < session->revision)
        hf_etcd_epoch_unsure(session);
}

/* The session is usable.  Its watches, and the put of its key if that is due,
 * are written before the listener can make calls. */
static void accept(struct hf_etcd_session *session, bool resumed)
{
    struct hf_etcd_connected connected = {HF_FOREVER, session->now_ms, resumed};

    if (session->lease != 0) {
        connected.timeout_ms = session->proof.ttl_ms;
        connected.anchor_ms = session->proof.proven_ms;
    }
    session->handshake = HF_ETCD_HANDSHAKE_OFF;
    hf_connectivity_up(&session->connectivity, session->now_ms);
    hf_etcd_watches_begin(session);
    if (resumed)
        look_for_restore(session);
    hf_etcd_epoch_tick(session);
    HF_ETCD_NOTIFY(session, connected, session->listener.user, &connected);
}

/* ---------------------------------------------------------------- leases -- */

void hf_etcd_handshake_kept_alive(struct hf_etcd_session *session,
                                  uint64_t sent_ms, uint64_t ttl_ms,
                                  uint64_t raft_term)
{
    uint64_t until_ms = hf_after_ms(sent_ms, ttl_ms);
    uint64_t before = session->proof.counting.raft_term;

    /* With lazy proofs nothing else ends a grant in time, so the session is
     * lost a margin earlier. */
    if (session->config->proof == HF_ETCD_PROOF_LAZY)
        until_ms = hf_before_ms(
            until_ms, hf_margin_ms(ttl_ms, session->config->clock_drift));
    session->ttl_ms = hf_min_ms(session->ttl_ms, ttl_ms);
    session->alive_until_ms = hf_max_ms(session->alive_until_ms, until_ms);
    hf_etcd_proof_kept_alive(&session->proof, sent_ms, ttl_ms, raft_term,
                             session->now_ms);
    if (session->proof.counting.raft_term != before)
        session->leader_seen_ms = session->now_ms;
    if (is_in(session, HF_ETCD_HANDSHAKE_RESUMING))
        accept(session, true);
    else if (hf_etcd_session_is_usable(session) &&
             !hf_etcd_proof_wants_keep_alive_soon(&session->proof))
        HF_ETCD_NOTIFY(session, renewed, session->listener.user);
}

/* LeaseGrant was answered with ${answer}: begin the session. */
static void granted(struct hf_etcd_session *session,
                    const struct hf_etcd_lease_answer *answer)
{
    uint64_t sent_ms = session->granting_sent_ms;
    uint64_t ttl_ms = (uint64_t)answer->ttl_s * 1000;

    session->lease = answer->lease;
    session->ttl_ms = ttl_ms;
    session->alive_until_ms = 0;
    session->lease_cluster_id = answer->header.cluster_id;
    session->revision = answer->header.revision;
    hf_etcd_proof_granted(&session->proof, sent_ms, ttl_ms,
                          answer->header.raft_term,
                          session->config->clock_drift);
    hf_etcd_epoch_begin(session);
    hf_etcd_keep_alive_begin(session, sent_ms);
    hf_etcd_handshake_kept_alive(session, sent_ms, ttl_ms,
                                 answer->header.raft_term);
    accept(session, false);
}

/* LeaseGrant was refused, or has no answer. */
static void grant_failed(struct hf_etcd_session *session,
                         const struct hf_etcd_result *result)
{
    hf_status status = hf_etcd_status_of(result);

    if (status == HF_EDENIED)
        hf_etcd_session_refused(
            session, status, "the server grants us no lease: %s", result->text);
    else
        hf_etcd_session_disconnect(
            session, status, "the server grants no lease: %s", result->text);
}

static void grant_ended(struct hf_etcd_call *call,
                        const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, lease_call);
    struct hf_etcd_lease_answer answer;

    if (!is_in(session, HF_ETCD_HANDSHAKE_GRANTING))
        return;
    if (result->end != HF_ETCD_DONE)
        grant_failed(session, result);
    else if (hf_etcd_read_lease(result->answer, &answer) &&
             answer.lease == session->granting_lease && answer.ttl_s > 0 &&
             answer.ttl_s <= TTL_MAX_S)
        granted(session, &answer);
    else
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "a lease that makes no sense");
}

/* Ask for a lease, with a new random number each time.  A lease whose grant got
 * no answer is not used: no key is attached to it, and it expires. */
static void grant(struct hf_etcd_session *session)
{
    const struct hf_etcd_session_config *config = session->config;
    struct hf_etcd_buffer request = {0};

    session->handshake = HF_ETCD_HANDSHAKE_GRANTING;
    do
        session->granting_lease =
            (int64_t)(hf_random_next(&session->config->random) >> 1);
    while (session->granting_lease == 0);
    session->granting_sent_ms = session->now_ms;
    hf_etcd_write_grant(&request, session->granting_lease,
                        (int64_t)((config->ttl_ms + 999) / 1000));
    session->lease_call.ended = grant_ended;
    if (!hf_etcd_call_begin(session, &session->lease_call, HF_ETCD_LEASE_GRANT,
                            &request))
        hf_etcd_session_not_begun(session);
}

/* The answer to LeaseRevoke of the lost session.  If the user may not revoke
 * the lease, it expires later. */
static void revoke_ended(struct hf_etcd_call *call,
                         const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, lease_call);

    if (!is_in(session, HF_ETCD_HANDSHAKE_REVOKING))
        return;
    note_answer(session);
    if (result->end != HF_ETCD_DONE && result->end != HF_ETCD_REFUSED) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the lease of the lost session could not "
                                   "be revoked: %s",
                                   result->text);
        return;
    }
    if (result->end == HF_ETCD_REFUSED && result->status != HF_GRPC_NOT_FOUND)
        session->log.line(session->log.user, HF_LOG_WARNING,
                          "the lease of the lost session is not revoked, and "
                          "its tickets stay until it expires: %s",
                          result->text);
    session->lost_lease = 0;
    grant(session);
}

static void revoke_lost(struct hf_etcd_session *session)
{
    struct hf_etcd_buffer request = {0};

    session->handshake = HF_ETCD_HANDSHAKE_REVOKING;
    hf_etcd_write_revoke(&request, session->lost_lease);
    session->lease_call.ended = revoke_ended;
    if (!hf_etcd_call_begin(session, &session->lease_call, HF_ETCD_LEASE_REVOKE,
                            &request))
        hf_etcd_session_not_begun(session);
}

static void resume(struct hf_etcd_session *session)
{
    uint64_t number = session->connection_number;

    session->handshake = HF_ETCD_HANDSHAKE_RESUMING;
    HF_ETCD_NOTIFY(session, resuming, session->listener.user, session->now_ms,
                   session->ttl_ms);
    if (!hf_etcd_session_is_current(session, number) ||
        !is_in(session, HF_ETCD_HANDSHAKE_RESUMING))
        return;
    if (!hf_etcd_keep_alive_resume(session))
        hf_etcd_session_not_begun(session);
}

/* ---------------------------------------------------------------- asking -- */

/* Go on with the lease, if Status and Authenticate have been answered. */
static void go_on(struct hf_etcd_session *session)
{
    if (!hf_etcd_call_is_idle(&session->status_call) ||
        session->authentication != HF_ETCD_AUTHENTICATED)
        return;
    if (session->lease != 0 && session->cluster_id != 0 &&
        session->lease_cluster_id != 0 &&
        session->cluster_id != session->lease_cluster_id)
        hf_etcd_session_lose(session, "the server belongs to another cluster "
                                      "than the one that has the lease");
    else if (session->config->lease_mode == HF_ETCD_NO_LEASE)
        accept(session, false);
    else if (session->lease != 0)
        resume(session);
    else if (session->lost_lease != 0)
        revoke_lost(session);
    else
        grant(session);
}

/* Warn once if the server's version lets a deposed leader end the leases of the
 * cluster. */
static void warn_of_version(struct hf_etcd_session *session)
{
    if (session->warned == HF_ETCD_WARNED ||
        session->config->lease_mode == HF_ETCD_NO_LEASE ||
        hf_etcd_version_checks_leader(session->version))
        return;
    session->warned = HF_ETCD_WARNED;
    session->log.line(
        session->log.user, HF_LOG_WARNING,
        "the server is etcd %s: before 3.4.31 and 3.5.13 a leader "
        "that stood still may end all leases early when it goes "
        "on, and a lock may then be held twice; check tokens "
        "where that matters, or upgrade",
        session->version);
}

/* Note what the member says of itself.  Returns false if the member cannot
 * serve us. */
static bool note_status(struct hf_etcd_session *session,
                        const struct hf_etcd_status_answer *answer)
{
    char clean[HF_ETCD_TEXT_BYTES];

    hf_etcd_clean_bytes(answer->version, clean);
    (void)snprintf(session->version, sizeof session->version, "%.*s",
                   (int)sizeof session->version - 1, clean);
    session->member_id = answer->header.member_id;
    session->cluster_id = answer->header.cluster_id;
    session->member_revision = answer->header.revision;
    if (answer->is_learner) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the member is a learner, which serves "
                                   "nobody yet");
        return false;
    }
    if (answer->leader == 0) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the member knows no leader; the cluster "
                                   "may have no majority");
        return false;
    }
    warn_of_version(session);
    return true;
}

/* The end of Status.  A server that refuses Status is used all the same. */
static void status_ended(struct hf_etcd_call *call,
                         const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, status_call);
    struct hf_etcd_status_answer answer;

    if (!is_in(session, HF_ETCD_HANDSHAKE_ASKING))
        return;
    note_answer(session);
    if (result->end == HF_ETCD_DONE) {
        if (!hf_etcd_read_status(result->answer, &answer))
            hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                       "a status that makes no sense");
        else if (note_status(session, &answer))
            go_on(session);
    } else if (result->end == HF_ETCD_REFUSED) {
        go_on(session);
    } else {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the member does not answer: %s",
                                   result->text);
    }
}

void hf_etcd_handshake_authenticated(struct hf_etcd_session *session)
{
    assert(session->handshake == HF_ETCD_HANDSHAKE_ASKING);
    note_answer(session);
    go_on(session);
}

void hf_etcd_handshake_begin(struct hf_etcd_session *session)
{
    struct hf_etcd_buffer request = {0};

    hf_connectivity_handshaking(&session->connectivity);
    session->handshake = HF_ETCD_HANDSHAKE_ASKING;
    session->member_id = session->cluster_id = 0;
    session->member_revision = 0;
    session->version[0] = '\0';
    session->authentication = session->config->user[0] == '\0'
                                  ? HF_ETCD_AUTHENTICATED
                                  : HF_ETCD_NOT_AUTHENTICATED;
    session->status_call.ended = status_ended;
    if (!hf_etcd_call_begin(session, &session->status_call, HF_ETCD_STATUS,
                            &request) ||
        (session->config->user[0] != '\0' &&
         !hf_etcd_session_authenticate(session)))
        hf_etcd_session_not_begun(session);
}
