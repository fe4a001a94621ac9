/* SPDX-License-Identifier: Apache-2.0 */
/* The top of the engine without I/O: accepts requests of the core, and passes
 * the session's notifications on as events. */
#include "engines/etcd/etcd_engine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "engines/etcd/etcd_request.h"
#include "engines/etcd/queue_order.h"
#include "engines/etcd/watches.h"

/* ----------------------------------------------------------------- proof -- */

/* HF_REQUEST_PROVE: a transaction that changes nothing.  It compares tickets of
 * ours and goes through the log, so its commit proves that the session lives as
 * of the last keep-alive (etcd/proof.h).
 *
 * Eager proofs are repeated all the time.  A keep-alive is sent right before
 * each, so that the age of the keep-alive does not shorten what is left of the
 * lease when a leader fails.  Before a lazy proof no keep-alive is sent,
 * because somebody waits for the proof. */

/* The most tickets that one request compares.  If there are more, later
 * requests compare the others. */
#define COMPARED_MAX 32

/* Append comparisons of tickets of ours.  Tickets that were looked at go to the
 * end of the list. */
static void compare_tickets(struct hf_etcd_engine *engine,
                            struct hf_etcd_buffer *buffer)
{
    struct hf_etcd_engine_own_ticket *own = engine->proofs.first, *next;
    struct hf_etcd_engine_own_ticket *last = engine->proofs.last;
    char key[HF_ETCD_KEY_BYTES];
    unsigned count = 0;

    for (; own != NULL && count < COMPARED_MAX; own = next) {
        next = own != last ? own->next_proof : NULL;
        if (own->state == HF_ETCD_OWN_QUEUED) {
            size_t bytes = hf_etcd_engine_own_key(engine, own, key);

            hf_etcd_engine_compare_created(buffer, key, bytes,
                                           own->create_revision);
            count++;
        }
        HF_LIST_REMOVE_BY(&engine->proofs, own, next_proof, previous_proof);
        HF_LIST_APPEND_BY(&engine->proofs, own, next_proof, previous_proof);
    }
}

/* The transaction has ended.  If a ticket is gone, its watch reports that. */
static void proof_answered(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_result *result)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "compare tickets below");
    } else if (!hf_etcd_read_txn(result->answer, &txn)) {
        hf_etcd_engine_request_fail_answer(req);
    } else if (!txn.succeeded) {
        hf_etcd_engine_request_fail(req, HF_FAILURE_RETRY, HF_EPROTOCOL,
                                    "a ticket that was to be compared is gone");
    } else if (result->proves_ms == 0) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_RETRY, HF_EUNREACHABLE,
            "the cluster has another leader than when the lease was renewed");
    } else {
        event.as.answer.anchor_ms = result->proves_ms;
        hf_etcd_engine_request_answer(req, &event);
    }
}

static void prove(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_buffer buffer = {0};

    compare_tickets(req->engine, &buffer);
    hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, proof_answered);
}

/* The core requests one proof at a time. */
void hf_etcd_engine_prove(struct hf_etcd_engine *engine,
                          struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);

    assert(engine->proof == NULL);
    if (req == NULL)
        return;
    if (engine->config.session.proof == HF_ETCD_PROOF_LAZY) {
        prove(req);
    } else {
        engine->proof = req;
        hf_etcd_keep_alive_want(&engine->session);
    }
}

/* A keep-alive was answered and counts (etcd/proof.h): send the proof that
 * waits for it. */
static void renewed(void *user)
{
    struct hf_etcd_engine *engine = user;
    struct hf_etcd_engine_request *req = engine->proof;

    engine->proof = NULL;
    if (req != NULL)
        prove(req);
}

/* Fail the proof that waits for a keep-alive, because the connection has ended.
 */
static void fail_proof(struct hf_etcd_engine *engine)
{
    struct hf_etcd_engine_request *req = engine->proof;

    engine->proof = NULL;
    if (req != NULL)
        hf_etcd_engine_request_fail(req, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                                    "the connection has ended");
}

/* -------------------------------------------------------------- requests -- */

/* Fail a request about the last success.  No answer of etcd contains a time:
 * the clock of a lease begins again with each leader, and the clocks of clients
 * are not trusted. */
static void fail_success(struct hf_etcd_engine *engine,
                         struct hf_request *request)
{
    hf_etcd_engine_fail(
        engine, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
        "etcd tells no time, so it cannot be known how long ago "
        "the last success was; expected another engine, such as "
        "redis: or postgresql:, for jobs that are to run once in "
        "a period; or let 'holdfast run -n --at-least' keep the "
        "lock for a while");
}

/* Carry out ${request}; the session is usable. */
static void begin(struct hf_etcd_engine *engine, struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        hf_etcd_engine_enqueue(engine, request);
        break;
    case HF_REQUEST_LIST:
        hf_etcd_engine_list_queue(engine, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        if (request->ticket_kind == HF_TICKET_BARRIER)
            hf_etcd_engine_watch_barrier(engine, request);
        else
            hf_etcd_engine_watch_queue(engine, request);
        break;
    case HF_REQUEST_WATCH:
        hf_etcd_engine_watch_ticket(engine, request);
        break;
    case HF_REQUEST_REMOVE:
        hf_etcd_engine_remove_ticket(engine, request);
        break;
    case HF_REQUEST_PROVE:
        hf_etcd_engine_prove(engine, request);
        break;
    case HF_REQUEST_DOWNGRADE:
        hf_etcd_engine_downgrade_ticket(engine, request);
        break;
    case HF_REQUEST_REVOKE:
        hf_etcd_engine_revoke_ticket(engine, request);
        break;
    case HF_REQUEST_DESCRIBE:
        hf_etcd_engine_describe_ticket(engine, request);
        break;
    case HF_REQUEST_SET_FLAG:
        hf_etcd_engine_set_flag(engine, request);
        break;
    case HF_REQUEST_CLEAR_FLAG:
        hf_etcd_engine_clear_flag(engine, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        hf_etcd_engine_new_generation(engine, request);
        break;
    case HF_REQUEST_NAMES:
        hf_etcd_engine_name_queues(engine, request);
        break;
    case HF_REQUEST_READ_SUCCESS:
    case HF_REQUEST_WRITE_SUCCESS:
        fail_success(engine, request);
        break;
    case HF_REQUEST_EXAMINE:
        hf_etcd_engine_fail(engine, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
                            "the engine for etcd examines nothing");
        break;
    case HF_REQUEST_END:
        break;
    }
}

/* Without a connection a request fails at once: the core repeats it when there
 * is a connection. */
void hf_etcd_engine_submit(struct hf_etcd_engine *engine,
                           struct hf_request *request, uint64_t now_ms)
{
    struct hf_etcd_session *session = &engine->session;

    hf_etcd_session_set_now(session, now_ms);
    if (request->kind == HF_REQUEST_END) {
        assert(engine->end == NULL);
        engine->end = request;
        hf_etcd_session_close(session);
    } else if (!hf_etcd_session_is_usable(session)) {
        hf_etcd_engine_fail(engine, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                            "there is no connection%s%s",
                            session->connectivity.error[0] != '\0' ? ": " : "",
                            session->connectivity.error);
    } else {
        begin(engine, request);
    }
}

/* ------------------------------------------------- events of the session -- */

/* The session's callback for log lines. */
static void log_line(void *user, enum hf_log_level level, const char *format,
                     ...)
{
    const struct hf_etcd_engine *engine = user;
    char text[2 * HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    engine->host.log(engine->host.host, level, "%s", text);
}

/* The session's callbacks: each becomes one event for the core. */
static void
connection_error(void *user,
                 const struct hf_etcd_connection_error *connection_error_)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTION_ERROR};

    event.as.connection_error.text = connection_error_->text;
    event.as.connection_error.status = connection_error_->status;
    event.as.connection_error.final = connection_error_->final;
    hf_etcd_engine_notify(user, &event);
}

/* No further attempt to connect is made. */
static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    event.as.gave_up.retries = retries;
    event.as.gave_up.elapsed_ms = elapsed_ms;
    hf_etcd_engine_notify(user, &event);
}

/* A keep-alive that resumes the session is sent now. */
static void resuming(void *user, uint64_t sent_ms, uint64_t least_timeout_ms)
{
    struct hf_event event = {.kind = HF_EVENT_RESUMING};

    event.as.resuming.sent_at_ms = sent_ms;
    event.as.resuming.least_timeout_ms = least_timeout_ms;
    hf_etcd_engine_notify(user, &event);
}

/* The election of a leader may take two seconds by default, and somewhat more
 * until a proof is answered.  At least that much time should always be left of
 * a lease, so a short lease is proven more often. */
#define ELECTION_MS 2500

/* How often a lease of ${ttl_ms} is proven while a proof is needed. */
static uint64_t proof_ms(uint64_t ttl_ms)
{
    uint64_t rest_ms = hf_max_ms(hf_before_ms(ttl_ms, ELECTION_MS), ttl_ms / 6);

    return hf_min_ms(rest_ms, ttl_ms / 4);
}

static void connected(void *user, const struct hf_etcd_connected *connected_)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};
    struct hf_etcd_engine *engine = user;
    const struct hf_etcd_session_config *config = &engine->config.session;

    hf_etcd_engine_watches_resume(engine);
    event.as.connected.timeout_ms = connected_->timeout_ms;
    event.as.connected.clock_drift = config->clock_drift;
    event.as.connected.anchor_ms = connected_->anchor_ms;
    event.as.connected.resumed = connected_->resumed;
    event.as.connected.lazy = config->proof == HF_ETCD_PROOF_LAZY;
    if (!event.as.connected.lazy && connected_->timeout_ms != HF_FOREVER)
        event.as.connected.proof_ms = proof_ms(connected_->timeout_ms);
    hf_etcd_engine_notify(engine, &event);
}

/* The connection has ended; the session may still live. */
static void suspended(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};
    struct hf_etcd_engine *engine = user;

    fail_proof(engine);
    hf_etcd_engine_unblock(engine);
    hf_etcd_engine_notify(engine, &event);
}

/* Fail all requests that have not begun, and forget all tickets and watches,
 * because the session has ended. */
static void forget_all(struct hf_etcd_engine *engine)
{
    fail_proof(engine);
    hf_etcd_engine_unblock(engine);
    hf_etcd_engine_flush(engine, engine->session.now_ms);
    hf_etcd_engine_watches_clear(engine);
    hf_etcd_engine_own_clear(engine);
}

/* The session has ended.  Tickets and watches are forgotten first, because the
 * core may enqueue again from within the event. */
static void lost(void *user, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};

    forget_all(user);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_etcd_engine_notify(user, &event);
}

/* The session is closed, which answers HF_REQUEST_END. */
static void closed(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};
    struct hf_etcd_engine *engine = user;

    forget_all(engine);
    event.as.answer.request = engine->end;
    hf_etcd_engine_notify(engine, &event);
}

/* A write has proven that the session lives. */
static void proven(void *user, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.anchor_ms = anchor_ms;
    hf_etcd_engine_notify(user, &event);
}

/* The epoch is known again: requests that waited for it begin with the next
 * flush. */
static void epoch_moved(void *user)
{
    hf_etcd_engine_unblock(user);
}

/* ------------------------------------------------------- create and free -- */

struct hf_etcd_engine *
hf_etcd_engine_new(const struct hf_etcd_url_config *config,
                   const struct hf_engine_host *host, uint64_t now_ms)
{
    struct hf_etcd_engine *engine = hf_alloc(sizeof *engine);
    const struct hf_etcd_log log = {engine, log_line};
    const struct hf_etcd_listener listener = {
        .user = engine,
        .connection_error = connection_error,
        .gave_up = gave_up,
        .resuming = resuming,
        .connected = connected,
        .suspended = suspended,
        .lost = lost,
        .closed = closed,
        .renewed = renewed,
        .proven = proven,
        .epoch_moved = epoch_moved,
    };

    if (engine == NULL)
        return NULL;
    engine->config = *config;
    engine->host = *host;
    if (host->list_only)
        engine->config.session.lease_mode = HF_ETCD_NO_LEASE;
    hf_etcd_engine_tables_init(engine);
    hf_etcd_session_begin(&engine->session, &engine->config.session, &listener,
                          &log, now_ms);
    return engine;
}

/* Nobody is notified while the engine is freed; tests may free it early. */
static void ignore_event(void *host, struct hf_event *event)
{
    (void)host;
    (void)event;
}

void hf_etcd_engine_free(struct hf_etcd_engine *engine)
{
    engine->host.event = ignore_event;
    hf_etcd_session_free(&engine->session);
    forget_all(engine);
    assert(engine->queues.root == NULL);
    explicit_bzero(&engine->config, sizeof engine->config);
    hf_free(engine);
}

const struct hf_etcd_url_config *
hf_etcd_engine_url(const struct hf_etcd_engine *engine)
{
    return &engine->config;
}

struct hf_etcd_session *hf_etcd_engine_session(struct hf_etcd_engine *engine)
{
    return &engine->session;
}
