/* SPDX-License-Identifier: Apache-2.0 */
/* A link: two connections, the list of expected replies, and the calls that
 * wait for them.  A call may need several replies: one for each of its
 * commands, one to WAIT, and a PONG on the connection for notices.  When the
 * last of them has come, the call is answered. */
#include "engines/redis/redis_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/redis/examine.h"
#include "engines/redis/reply.h"

/* ----------------------------------------------------------------- calls -- */

/* Count one reply for ${call}.  If it was the last one, answer the call. */
static void reply_done(struct hf_redis_link *link, struct hf_store_call *call)
{
    struct hf_redis_answer *answer = call->store_data;

    assert(answer->pending > 0);
    if (--answer->pending > 0)
        return;
    call->store_data = NULL;
    /* The listener is store_events.c, quorum_store.c or successor.c. */
    answer->answer.ok = answer->answer.status == HF_OK;
    if (answer->redirect.kind != 0)
        link->listener.redirected(link->listener.arg, link, call,
                                  &answer->redirect);
    else
        link->listener.answered(link->listener.arg, link, call,
                                &answer->answer);
    hf_redis_answer_free(answer);
}

static bool read_redirect(const struct hf_redis_link *link,
                          struct hf_store_call *call,
                          const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;

    return reply->type == REDIS_REPLY_ERROR &&
           link->listener.redirected != NULL &&
           hf_redis_command_count(call) == 1 &&
           hf_redis_redirect_read(&answer->redirect, reply->str);
}

static struct hf_redis_error error_class_of(const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return hf_redis_error_classify(reply->str);
    return (struct hf_redis_error){0};
}

/* Handle a reply of the script.  The callbacks may close the link, which
 * changes .number of the connection. */
static void handle_script_reply(struct hf_redis_link *link,
                                struct hf_store_call *call,
                                const struct redisReply *reply)
{
    struct hf_redis_error error_class = error_class_of(reply);
    uint64_t number = link->calls.number;

    if (error_class.script_missing && !link->reloading) {
        link->reloading = true;
        hf_redis_load_script(link, HF_REDIS_REPLY_SCRIPT_RELOAD);
    }
    if (!read_redirect(link, call, reply))
        hf_redis_answer_add_reply(call->store_data, call, reply);
    reply_done(link, call);
    if (error_class.affects_server && number == link->calls.number)
        hf_redis_link_refused(link, "", reply);
}

static void handle_scan_reply(struct hf_redis_link *link,
                              struct hf_store_call *call,
                              const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;
    const char *queue;

    hf_redis_answer_add_scan_reply(answer, call, link->run_id, reply);
    for (size_t i = 0; (queue = hf_redis_answer_next_last(answer, i)) != NULL;
         i++) {
        hf_redis_scan_put_last(&link->calls.out, queue);
        answer->pending++;
        if (hf_redis_expect(link, HF_REDIS_REPLY_SCAN_LAST, call))
            continue;
        /* the list of expected replies does not have the call, so free its
         * answer here */
        if (i == 0)
            hf_redis_answer_drop(call);
        return;
    }
    reply_done(link, call);
}

static void handle_scan_last_reply(struct hf_redis_link *link,
                                   struct hf_store_call *call,
                                   const struct redisReply *reply)
{
    hf_redis_answer_add_last_reply(call->store_data, reply);
    reply_done(link, call);
}

static void handle_examine_reply(struct hf_redis_link *link,
                                 struct hf_store_call *call,
                                 const struct redisReply *reply)
{
    hf_redis_examine_reply(link, call, reply);
    reply_done(link, call);
}

/* Handle the reply to WAIT, which is sent with the option wait=. */
static void handle_wait_reply(struct hf_redis_link *link,
                              struct hf_store_call *call,
                              const struct redisReply *reply)
{
    uint64_t number = link->calls.number;

    hf_redis_answer_add_wait_reply(call->store_data,
                                   (unsigned)link->config.wait, reply);
    reply_done(link, call);
    if (error_class_of(reply).affects_server && number == link->calls.number)
        hf_redis_link_refused(link, "", reply);
}

/* Handle the reply to TIME.  TIME is sent for a call about no queue, because
 * such a call runs no script, which would report the server's clock.  If the
 * reply is no time, the call fails. */
static void handle_time_reply(struct hf_redis_link *link,
                              struct hf_store_call *call,
                              const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;

    if (!hf_redis_read_time(reply, &answer->answer.server_ms))
        hf_redis_answer_add_reply(answer, call, reply);
    reply_done(link, call);
}

/* Returns whether ${call} must be followed by WAIT, because a replica that
 * becomes the primary must know what the answer says.  That is so for changes,
 * and for a list, which may admit a waiter.  It is not so for a detailed list,
 * which is for people; for EXISTS, which is followed by a list; and for
 * CLOSE_SESSION, whose answer nobody uses. */
static bool needs_wait(const struct hf_redis_link *link,
                       const struct hf_store_call *call)
{
    if (link->config.wait == 0 || call->kind == HF_STORE_EXISTS ||
        call->kind == HF_STORE_NAMES || call->kind == HF_STORE_CLOSE_SESSION)
        return false;
    return call->kind != HF_STORE_LIST || !call->detailed;
}

/* Less than the timeout of a call, because a link must not be ended only
 * because its replicas are slow. */
#define WAIT_MAX_MS UINT64_C(3000)

/* Send WAIT behind the commands of ${call}.  False if memory runs out. */
static bool wait_for_replicas(struct hf_redis_link *link,
                              struct hf_store_call *call)
{
    struct hf_resp *out = &link->calls.out;
    struct hf_redis_answer *answer = call->store_data;

    hf_resp_begin(out, 3);
    hf_resp_put_text(out, "WAIT");
    hf_resp_put_number(out, link->config.wait);
    hf_resp_put_number(out, hf_min_ms(link->config.ttl_ms / 6, WAIT_MAX_MS));
    answer->pending++;
    return hf_redis_expect(link, HF_REDIS_REPLY_WAIT, call);
}

void hf_redis_link_call(struct hf_redis_link *link, struct hf_store_call *call)
{
    struct hf_redis_answer *answer = hf_alloc(sizeof *answer);
    size_t count = hf_redis_command_count(call);
    bool expected = false;

    assert(link->state == HF_REDIS_LINK_UP);
    if (answer == NULL) {
        link->why_status = HF_EUNREACHABLE;
        (void)snprintf(link->why, sizeof link->why, "out of memory");
        hf_redis_link_fail_later(link);
        return;
    }
    call->store_data = answer;
    answer->pending = count;
    if (call->kind == HF_STORE_NAMES) {
        hf_redis_scan_put(&link->calls.out, call, link->run_id);
        if (!hf_redis_expect(link, HF_REDIS_REPLY_SCAN, call))
            hf_redis_answer_drop(call);
        return;
    }
    if (call->kind == HF_STORE_EXAMINE) {
        if (!hf_redis_examine_put(link, call))
            hf_redis_answer_drop(call);
        return;
    }
    hf_redis_command_put(&link->calls.out, call, &link->script);
    for (size_t i = 0; i < count; i++)
        expected |= hf_redis_expect(link, HF_REDIS_REPLY_SCRIPT, call);
    if (count == 0) {
        answer->pending++;
        expected |= hf_redis_ask_time(link, HF_REDIS_REPLY_TIME_OF_CALL, call);
    }
    if (needs_wait(link, call))
        expected |= wait_for_replicas(link, call);
    if (call->kind == HF_STORE_RENEW)
        hf_redis_refresh_info(link);
    /* The PONG will prove that the connection for notices is alive. */
    if (call->kind == HF_STORE_RENEW && link->renewal == NULL) {
        link->renewal = call;
        answer->pending++;
        hf_resp_begin(&link->notices.out, 1);
        hf_resp_put_text(&link->notices.out, "PING");
        expected = true;
    }
    /* the list of expected replies does not have the call, so free its answer
     * here */
    if (!expected)
        hf_redis_answer_drop(call);
}

void hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                     struct hf_store_call *call)
{
    assert(hf_redis_command_count(call) == 1);
    hf_resp_begin(&link->calls.out, 1);
    hf_resp_put_text(&link->calls.out, "ASKING");
    (void)hf_redis_expect(link, HF_REDIS_REPLY_ASKING, NULL);
    hf_redis_link_call(link, call);
}

static void ask_cluster(struct hf_redis_link *link, const char *word,
                        enum hf_redis_reply_kind what)
{
    hf_resp_begin(&link->calls.out, 2);
    hf_resp_put_text(&link->calls.out, "CLUSTER");
    hf_resp_put_text(&link->calls.out, word);
    (void)hf_redis_expect(link, what, NULL);
}

void hf_redis_link_ask_slots(struct hf_redis_link *link)
{
    ask_cluster(link, "SLOTS", HF_REDIS_REPLY_CLUSTER_SLOTS);
}

void hf_redis_link_ask_nodes(struct hf_redis_link *link)
{
    ask_cluster(link, "NODES", HF_REDIS_REPLY_CLUSTER_NODES);
}

/* ------------------------------------------------------------------- TLS -- */

/* Begin to connect.  A TLS probe is sent without TLS, because it finds out
 * whether the server speaks TLS. */
static bool open_connection(struct hf_redis_link *link,
                            struct hf_redis_connection *connection)
{
    const struct hf_redis_config *config = &link->config;
    bool probing = link->tls == HF_REDIS_TLS_PROBING;
    const struct hf_connection_config way = {
        .loop = link->shared->engine->loop,
        .resolver = link->shared->resolver,
        .host = config->host.name,
        .port = config->host.port,
        .path = config->path[0] != '\0' ? config->path : NULL,
        .tls = probing ? NULL : link->shared->tls,
        .context = link->shared->context,
    };

    return hf_redis_connection_open(connection, &way,
                                    &link->connection_listener,
                                    &link->why_status, link->why);
}

/* Open both connections; for a TLS probe only one. */
static void open_connections(struct hf_redis_link *link)
{
    if (!open_connection(link, &link->calls) ||
        (link->tls != HF_REDIS_TLS_PROBING &&
         !open_connection(link, &link->notices)))
        hf_redis_link_fail_later(link);
}

static void send_tls_probe(struct hf_redis_link *link)
{
    hf_resp_put_raw(&link->calls.out, hf_redis_tls_probe,
                    HF_REDIS_TLS_PROBE_BYTES);
    (void)hf_redis_expect(link, HF_REDIS_REPLY_TLS_PROBE, NULL);
}

/* Handle the reply to the TLS probe.  Any text means that the server speaks no
 * TLS. */
static void handle_tls_probe_reply(struct hf_redis_link *link)
{
    link->tls = HF_REDIS_TLS_KNOWN;
    if (link->shared->tls != NULL) {
        hf_redis_link_down(link, HF_EURL, "", HF_REDIS_SPEAKS_NO_TLS);
        return;
    }
    hf_redis_handshake_begin(link);
    if (!open_connection(link, &link->notices))
        hf_redis_link_fail_later(link);
}

/* The server has sent a TLS record on a connection without TLS. */
static void on_tls_record(void *arg, struct hf_redis_connection *connection)
{
    struct hf_redis_link *link = arg;

    (void)connection;
    if (link->shared->tls == NULL) {
        hf_redis_link_down(link, HF_EURL, "", HF_REDIS_SPEAKS_TLS);
        return;
    }
    /* the probe shows that TLS is right: connect again, with TLS */
    hf_redis_link_close(link);
    link->state = HF_REDIS_LINK_CONNECTING;
    open_connections(link);
}

const char *hf_redis_link_awaited(const struct hf_redis_link *link)
{
    bool in_tls_handshake =
        link->calls.link != NULL && hf_connection_awaits_tls(link->calls.link);

    return in_tls_handshake ? HF_REDIS_TLS_ANSWER : NULL;
}

/* --------------------------------------------------------------- replies -- */

/* Handle a reply on the connection for calls: find what it answers. */
static void on_call_reply(struct hf_redis_link *link,
                          const struct redisReply *reply)
{
    struct hf_store_call *call;
    enum hf_redis_reply_kind what;

    if (!hf_redis_expected_take(link, &what, &call)) {
        hf_redis_link_down(link, HF_EUNREACHABLE, "it says unasked: ",
                           reply->type == REDIS_REPLY_ERROR ? reply->str
                                                            : "something");
        return;
    }
    if (what == HF_REDIS_REPLY_TLS_PROBE)
        handle_tls_probe_reply(link);
    else if (what == HF_REDIS_REPLY_SCRIPT)
        handle_script_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_SCAN)
        handle_scan_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_SCAN_LAST)
        handle_scan_last_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_EXAMINE)
        handle_examine_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_TIME_OF_CALL)
        handle_time_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_WAIT)
        handle_wait_reply(link, call, reply);
    else if (what == HF_REDIS_REPLY_CLUSTER_SLOTS)
        link->listener.slots(link->listener.arg, link, reply);
    else if (what == HF_REDIS_REPLY_CLUSTER_NODES)
        link->listener.nodes(link->listener.arg, link, reply);
    else if (what == HF_REDIS_REPLY_ASKING)
        /* if ASKING was refused, the call behind it is refused as well */
        return;
    else
        hf_redis_handshake_reply(link, what, reply);
}

/* --------------------------------------------------------------- notices -- */

static bool is_word(const struct redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, word) == 0;
}

static void handle_message(struct hf_redis_link *link,
                           const struct redisReply *text)
{
    struct hf_store_notice notice;

    if (link->state == HF_REDIS_LINK_UP && text->type == REDIS_REPLY_STRING &&
        hf_redis_notice_read(&notice, text->str))
        link->listener.notice(link->listener.arg, link, &notice);
}

static void handle_pong(struct hf_redis_link *link)
{
    struct hf_store_call *renewal = link->renewal;

    link->renewal = NULL;
    if (renewal != NULL)
        reply_done(link, renewal);
}

/* Handle a message or a reply on the connection for notices. */
static void on_notice_reply(struct hf_redis_link *link,
                            const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        hf_redis_link_refused(link, "", reply);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return; /* the reply to AUTH */
    if (is_word(reply->element[0], "message") && reply->elements == 3) {
        handle_message(link, reply->element[2]);
    } else if (is_word(reply->element[0], "pong")) {
        handle_pong(link);
    } else if (is_word(reply->element[0], "subscribe")) {
        link->subscribed = true;
        hf_redis_link_check_up(link);
    }
}

/* ----------------------------------------------------------- connections -- */

static void on_connection_up(void *arg, struct hf_redis_connection *connection)
{
    struct hf_redis_link *link = arg;

    if (link->tls == HF_REDIS_TLS_PROBING)
        send_tls_probe(link);
    else if (connection == &link->calls)
        hf_redis_handshake_begin(link);
    else
        hf_redis_handshake_subscribe(link);
}

static void on_reply(void *arg, struct hf_redis_connection *connection,
                     const struct redisReply *reply)
{
    struct hf_redis_link *link = arg;

    if (connection == &link->calls)
        on_call_reply(link, reply);
    else
        on_notice_reply(link, reply);
}

static void on_connection_down(void *arg,
                               struct hf_redis_connection *connection,
                               hf_status status, const char *why)
{
    struct hf_redis_link *link = arg;

    (void)connection;
    hf_redis_link_down(link, status, "", why);
}

static void on_enter(void *arg)
{
    hf_leased_engine_enter(((struct hf_redis_link *)arg)->shared->engine);
}

static void on_leave(void *arg)
{
    hf_leased_engine_leave(((struct hf_redis_link *)arg)->shared->engine);
}

/* ----------------------------------------------------- beginning and end -- */

struct hf_redis_link *
hf_redis_link_new(struct hf_redis_link_shared *shared,
                  const struct hf_redis_config *config,
                  const struct hf_redis_link_listener *listener)
{
    struct hf_redis_link *link = hf_alloc(sizeof *link);

    if (link == NULL)
        return NULL;
    link->shared = shared;
    link->config = *config;
    link->listener = *listener;
    link->script.redis_py = config->layout == HF_REDIS_LAYOUT_REDIS_PY;
    link->connection_listener = (struct hf_redis_connection_listener){
        .up = on_connection_up,
        .reply = on_reply,
        .got_tls_record = on_tls_record,
        .down = on_connection_down,
        .enter = on_enter,
        .leave = on_leave,
        .arg = link,
    };
    (void)uv_idle_init(shared->engine->loop, &link->later);
    link->later.data = link;
    return link;
}

void hf_redis_link_open(struct hf_redis_link *link, const char *session)
{
    assert(link->state == HF_REDIS_LINK_CLOSED);
    link->state = HF_REDIS_LINK_CONNECTING;
    link->info = HF_REDIS_INFO_UNREAD;
    link->script.declares_keys = true;
    link->served_ms = 0;
    if (link->tls == HF_REDIS_TLS_PROBE_NEXT)
        link->tls = HF_REDIS_TLS_PROBING;
    (void)snprintf(link->channel, sizeof link->channel, "%s%s",
                   HF_REDIS_CHANNEL, session);
    open_connections(link);
}

static bool flush_connection(struct hf_redis_link *link,
                             struct hf_redis_connection *connection)
{
    return hf_redis_connection_flush(connection, &link->why_status, link->why);
}

void hf_redis_link_flush(struct hf_redis_link *link)
{
    if (link->state != HF_REDIS_LINK_CLOSED &&
        (!flush_connection(link, &link->calls) ||
         !flush_connection(link, &link->notices)))
        hf_redis_link_fail_later(link);
}

void hf_redis_link_after_fork(struct hf_redis_link *link)
{
    if (link->calls.link != NULL)
        hf_connection_after_fork(link->calls.link);
    if (link->notices.link != NULL)
        hf_connection_after_fork(link->notices.link);
}

static void on_closed(uv_handle_t *handle)
{
    struct hf_redis_link *link = handle->data;

    explicit_bzero(&link->config, sizeof link->config);
    hf_free(link);
}

void hf_redis_link_free(struct hf_redis_link *link)
{
    hf_redis_link_close(link);
    uv_close((uv_handle_t *)&link->later, on_closed);
}
