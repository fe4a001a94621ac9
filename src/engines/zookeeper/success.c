/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_READ_SUCCESS and HF_REQUEST_WRITE_SUCCESS.  The success of a lock
 * is a record that its work was done, with the holder's token and the time
 * (core/engine.h).
 *
 * The success of the lock a/b is the persistent node a/holdfast-success-b: its
 * data are the token in decimal, and its mtime is the time.  The node is beside
 * the node of the lock and not below it, because other programs take children
 * of the lock's node for tickets, and because a container with a child would
 * never be deleted.  No lock has that name (core/lock_name.c).
 *
 * A write is one transaction with the check of our ticket's node.  The next
 * holder has learned from its server that our ticket is gone, so that server
 * shows what we have written before.
 *
 * No request of ZooKeeper reads the clock of its servers, but the answer to a
 * write shows it.  So a holder that finds a success writes to the node clock
 * below it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "core/lock_name.h"
#include "engines/zookeeper/zk_request.h"

/* Room for a token and its NUL. */
#define TOKEN_BYTES 21

#define NO_NODE (-1)

/* The path of the clock node below the node of the success. */
#define CLOCK "/clock"

/* The path of the node, with ${below}, "" or CLOCK, behind it.  Valid until the
 * next path is made. */
static const char *success_path(struct hf_zk_engine *zk,
                                const struct hf_zk_engine_request *req,
                                const char *below)
{
    const char *path = req->queue->path;
    const char *name = strrchr(path, '/') + 1;

    (void)snprintf(zk->path, sizeof zk->path, "%.*s" HF_NAME_SUCCESS "%s%s",
                   (int)(name - path), path, name, below);
    return zk->path;
}

/* Our ticket that the request names; NULL: it is gone, or about to be. */
static struct hf_zk_engine_own_ticket *
find_ticket(const struct hf_zk_engine *zk,
            const struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);

    return own_ticket == NULL || own_ticket->removing ? NULL : own_ticket;
}

/* Does the request name no ticket, because it is for people? */
static bool is_for_people(const struct hf_zk_engine_request *req)
{
    static const struct hf_ticket_id nobody;

    return hf_ticket_id_equal(&req->request->ticket, &nobody);
}

/* Set ${token} to the number that ${data} show.  False if they are no
 * number. */
static bool parse_token(struct hf_jute_piece data, uint64_t *token)
{
    char text[TOKEN_BYTES];

    if (data.count == 0 || data.count >= sizeof text ||
        memcmp(data.bytes, "0", 1) == 0)
        return false;
    memcpy(text, data.bytes, data.count);
    text[data.count] = '\0';
    return strspn(text, "0123456789") == data.count &&
           sscanf(text, "%" SCNu64, token) == 1;
}

/* ------------------------------------------------------------------ read -- */

/* The answer to the read of the node. */
static void node_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_success *part = hf_zk_engine_request_success(req);
    struct hf_jute_reader body = reply->body;
    struct hf_jute_piece data;
    struct hf_zk_stat stat;

    part->success = (struct hf_success){0};
    part->version = NO_NODE;
    if (reply->error == HF_ZK_OK) {
        data = hf_jute_get_buffer(&body);
        stat = hf_zk_get_stat(&body);
        part->success.at_utc_ms = stat.mtime;
        part->version = stat.version;
        if (body.failed || !parse_token(data, &part->success.token))
            req->error = HF_ZK_MALFORMED;
    } else if (reply->error != HF_ZK_NO_NODE) {
        req->error = reply->error;
    }
    hf_zk_engine_request_answered(zk, req);
}

/* Begin the step that reads the node; if the request is for people, behind a
 * sync. */
static void read_node(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                      void (*then)(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req))
{
    hf_zk_engine_request_step(req, then);
    req->error = HF_ZK_OK;
    if (is_for_people(req))
        hf_zk_send_sync(
            &zk->session,
            hf_zk_engine_request_call(req, hf_zk_engine_request_sync_answered),
            success_path(zk, req, ""));
    hf_zk_send_get_data(&zk->session,
                        hf_zk_engine_request_call(req, node_answered),
                        success_path(zk, req, ""), false);
}

static void fail_gone(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_FATAL,
                      HF_ELOST, "the ticket is not in its queue any more");
}

/* Answer with the success, which is ${age_ms} old. */
static void answer_read(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req, int64_t age_ms)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_READ};

    event.as.answer.success = hf_zk_engine_request_success(req)->success;
    event.as.answer.success.age_ms = age_ms;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

static void fail_read(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                      enum hf_zk_error error)
{
    hf_zk_engine_request_fail(zk, req, error, "read the success at",
                              success_path(zk, req, ""));
}

static void read_clock(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req);

/* The clock node was written, so the servers' clock is known.  If somebody has
 * deleted or created the node meanwhile, try again. */
static void clock_read(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_success *part = hf_zk_engine_request_success(req);

    if (req->error == HF_ZK_OK)
        answer_read(zk, req, part->now_utc_ms - part->success.at_utc_ms);
    else if ((req->error == HF_ZK_NO_NODE || req->error == HF_ZK_NODE_EXISTS) &&
             req->attempts++ < HF_ZK_ATTEMPTS_MAX)
        read_clock(zk, req);
    else
        fail_read(zk, req, req->error);
}

/* The answer to the write of the clock node: a Stat, behind the path if it was
 * created. */
static void clock_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_stat stat;

    if (reply->error == HF_ZK_OK && req->error == HF_ZK_NO_NODE)
        (void)hf_jute_get_buffer(&body);
    req->error = reply->error;
    if (reply->error == HF_ZK_OK) {
        stat = hf_zk_get_stat(&body);
        hf_zk_engine_request_success(req)->now_utc_ms = stat.mtime;
        if (body.failed)
            req->error = HF_ZK_MALFORMED;
    }
    hf_zk_engine_request_answered(zk, req);
}

/* Read the clock of the servers by a write.  .error says whether the node has
 * to be created. */
static void read_clock(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req)
{
    struct hf_zk_call *call;

    if (!hf_zk_session_usable(&zk->session)) {
        fail_read(zk, req, HF_ZK_DISCONNECTED);
        return;
    }
    hf_zk_engine_request_step(req, clock_read);
    call = hf_zk_engine_request_call(req, clock_answered);
    if (req->error == HF_ZK_NO_NODE)
        hf_zk_send_create(&zk->session, call, HF_ZK_CREATE2,
                          success_path(zk, req, CLOCK), "", HF_ZK_PERSISTENT);
    else
        hf_zk_send_set_data(&zk->session, call, success_path(zk, req, CLOCK),
                            "", HF_ZK_ANY_VERSION);
}

/* The node was read. */
static void success_read(struct hf_zk_engine *zk,
                         struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_success *part = hf_zk_engine_request_success(req);

    if (req->error == HF_ZK_OK && req->sync_error != HF_ZK_OK)
        req->error = req->sync_error;
    if (req->error != HF_ZK_OK)
        fail_read(zk, req, req->error);
    else if (part->version == NO_NODE)
        answer_read(zk, req, 0);
    else if (is_for_people(req))
        answer_read(zk, req, HF_SUCCESS_AGE_UNKNOWN);
    else if (find_ticket(zk, req) == NULL)
        fail_gone(zk, req);
    else
        read_clock(zk, req);
}

/* If we hold the lock, our server has already applied what earlier holders have
 * written, so no sync is needed.  A reader without a ticket needs a sync. */
void hf_zk_engine_read_success(struct hf_zk_engine *zk,
                               struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    hf_zk_engine_request_enter(req, HF_ZK_SUCCESS);
    if (find_ticket(zk, req) == NULL && !is_for_people(req))
        fail_gone(zk, req);
    else
        read_node(zk, req, success_read);
}

/* ----------------------------------------------------------------- write -- */

static void answer_written(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req, bool written)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_WRITTEN};

    event.as.answer.found = written;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

static void fail_write(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req)
{
    hf_zk_engine_request_fail(zk, req, req->error, "write the success at",
                              success_path(zk, req, ""));
}

static void node_read(struct hf_zk_engine *zk,
                      struct hf_zk_engine_request *req);

/* The transaction was answered.  If the node has changed since it was read, a
 * transaction of ours that got no answer has done it: read it again. */
static void success_written(struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK)
        answer_written(zk, req, true);
    else if (hf_zk_engine_request_success(req)->ticket_gone ||
             find_ticket(zk, req) == NULL)
        answer_written(zk, req, false);
    else if ((req->error == HF_ZK_BAD_VERSION ||
              req->error == HF_ZK_NODE_EXISTS || req->error == HF_ZK_NO_NODE) &&
             req->attempts++ < HF_ZK_ATTEMPTS_MAX &&
             hf_zk_session_usable(&zk->session))
        read_node(zk, req, node_read);
    else
        fail_write(zk, req);
}

/* The answer to the transaction.  Its first operation is the check of our
 * ticket: if that fails, the ticket is gone. */
static void written_answered(void *user, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_success *part = hf_zk_engine_request_success(req);
    struct hf_jute_piece paths[2];

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, paths,
                                        part->version == NO_NODE ? 2 : 0);
    if (req->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    part->ticket_gone = req->error == HF_ZK_NO_NODE &&
                        hf_zk_multi_failed_index(&reply->body) == 0;
    hf_zk_engine_request_answered(zk, req);
}

/* Send the transaction: a check that our ticket is there, and the write of the
 * success. */
static void send_write(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req,
                       const struct hf_zk_engine_own_ticket *own_ticket)
{
    int32_t version = hf_zk_engine_request_success(req)->version;
    char token[TOKEN_BYTES];
    struct hf_zk_call *call;
    size_t begin;

    (void)snprintf(token, sizeof token, "%" PRIu64,
                   req->request->success_token);
    hf_zk_engine_request_step(req, success_written);
    call = hf_zk_engine_request_call(req, written_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    hf_zk_multi_check(&zk->session,
                      hf_zk_engine_own_ticket_path(zk, own_ticket, 0));
    if (version != NO_NODE) {
        hf_zk_multi_set_data(&zk->session, success_path(zk, req, ""), token,
                             version);
    } else {
        hf_zk_multi_create(&zk->session, success_path(zk, req, ""), token,
                           HF_ZK_PERSISTENT);
        hf_zk_multi_create(&zk->session, success_path(zk, req, CLOCK), "",
                           HF_ZK_PERSISTENT);
    }
    hf_zk_multi_end(&zk->session, begin);
}

/* The node of the success was read, or there is none. */
static void node_read(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_own_ticket *own_ticket = find_ticket(zk, req);

    if (req->error == HF_ZK_OK && !hf_zk_session_usable(&zk->session))
        req->error = HF_ZK_DISCONNECTED;
    if (req->error != HF_ZK_OK)
        fail_write(zk, req);
    else if (own_ticket == NULL ||
             hf_zk_engine_request_success(req)->success.token >
                 req->request->success_token)
        answer_written(zk, req, false);
    else
        send_write(zk, req, own_ticket);
}

void hf_zk_engine_write_success(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    hf_zk_engine_request_enter(req, HF_ZK_SUCCESS);
    if (find_ticket(zk, req) == NULL)
        answer_written(zk, req, false);
    else
        read_node(zk, req, node_read);
}
