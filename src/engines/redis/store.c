/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instant.h"
#include "core/memory.h"
#include "engines/redis/answer.h"
#include "engines/redis/greeting.h"

/* A reply that is to come on the connection for calls. */
struct hf_redis_expected {
    enum hf_redis_reply what;
    struct hf_store_call *call;
    struct hf_redis_expected *next;
};

static uint64_t now_ms(const struct hf_store *store)
{
    return hf_leased_engine_now_ms(store->engine);
}

/* ------------------------------------------------------------------ down -- */

static void drop_answer(struct hf_store_call *call)
{
    if (call == NULL || call->store_data == NULL)
        return;
    hf_redis_answer_free(call->store_data);
    call->store_data = NULL;
}

/* There is no link any more, and no call under way. */
static void cut(struct hf_store *store)
{
    struct hf_redis_expected *expected;

    while ((expected = store->first) != NULL) {
        store->first = expected->next;
        drop_answer(expected->call);
        hf_free(expected);
    }
    store->last = NULL;
    drop_answer(store->renewal);
    store->renewal = NULL;
    store->linked = store->up = store->speaking = store->hearing = false;
    store->reloading = false;
    hf_redis_wire_close(&store->calls, HF_LINK_ABORT);
    hf_redis_wire_close(&store->notices, HF_LINK_ABORT);
    if (store->idling)
        (void)uv_idle_stop(&store->later);
}

void hf_redis_tell_down(struct hf_store *store, hf_status status,
                        const char *what, const char *text)
{
    char why[HF_LINK_TEXT_BYTES];

    (void)snprintf(why, sizeof why, "%s%.200s", what, text);
    cut(store);
    hf_leased_down(store->engine->leased, status, why, now_ms(store));
}

static void on_later(uv_idle_t *later)
{
    struct hf_store *store = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(store->engine);
    if (store->linked)
        hf_redis_tell_down(store, HF_EUNREACHABLE, "", store->why);
    hf_leased_engine_leave(store->engine);
}

/* As .why has it, in the next turn. */
static void fail_later(struct hf_store *store)
{
    (void)uv_idle_start(&store->later, on_later);
}

/* -------------------------------------------------------------- expected -- */

void hf_redis_expect(struct hf_store *store, enum hf_redis_reply what,
                     struct hf_store_call *call)
{
    struct hf_redis_expected *expected = hf_alloc(sizeof *expected);

    if (expected == NULL) {
        (void)snprintf(store->why, sizeof store->why, "out of memory");
        store->calls.out.failed = true; /* the replies would not fit */
        return;
    }
    expected->what = what;
    expected->call = call;
    if (store->last != NULL)
        store->last->next = expected;
    else
        store->first = expected;
    store->last = expected;
}

/* ----------------------------------------------------------------- calls -- */

/* One part of ${call} has been answered; the last one answers it. */
static void part_done(struct hf_store *store, struct hf_store_call *call)
{
    struct hf_redis_answer *answer = call->store_data;

    assert(answer->pending > 0);
    if (--answer->pending > 0)
        return;
    call->store_data = NULL;
    answer->answer.ok = answer->answer.status == HF_OK;
    hf_leased_answered(store->engine->leased, call, &answer->answer,
                       now_ms(store));
    hf_redis_answer_free(answer);
}

static void ran(struct hf_store *store, struct hf_store_call *call,
                const struct redisReply *reply)
{
    uint64_t number = store->calls.number;
    struct hf_redis_fault fault = {0};

    if (reply->type == REDIS_REPLY_ERROR)
        fault = hf_redis_fault_of(reply->str);
    if (fault.scripts_lost && !store->reloading) {
        store->reloading = true;
        hf_redis_load_script(store, HF_REDIS_RELOADED);
    }
    hf_redis_answer_take(call->store_data, call, reply);
    part_done(store, call);
    if (fault.of_server && number == store->calls.number)
        hf_redis_refuse(store, "", reply);
}

static void waited(struct hf_store *store, struct hf_store_call *call,
                   const struct redisReply *reply)
{
    hf_redis_answer_take_wait(call->store_data, store->config.wait, reply);
    part_done(store, call);
}

static void told_time(struct hf_store *store, struct hf_store_call *call,
                      const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;

    if (!hf_redis_read_time(reply, &answer->answer.server_ms))
        hf_redis_answer_take(answer, call, reply);
    part_done(store, call);
}

/* With wait=: does ${call} stand for something that a replica must have, lest
 * it is lost when that is promoted?  A list may admit, and whole ones do not.
 */
static bool is_waited_for(const struct hf_store *store,
                          const struct hf_store_call *call)
{
    if (store->config.wait == 0)
        return false;
    return call->kind == HF_STORE_ENQUEUE || call->kind == HF_STORE_RENEW ||
           call->kind == HF_STORE_DOWNGRADE || call->kind == HF_STORE_RAISE ||
           call->kind == HF_STORE_LOWER ||
           (call->kind == HF_STORE_LIST && !call->whole);
}

/* For less than a call may take: the link is not at fault. */
#define WAIT_MOST_MS UINT64_C(3000)

static void wait_for_replicas(struct hf_store *store,
                              struct hf_store_call *call)
{
    struct hf_resp *out = &store->calls.out;
    struct hf_redis_answer *answer = call->store_data;

    hf_resp_begin(out, 3);
    hf_resp_put_text(out, "WAIT");
    hf_resp_put_number(out, store->config.wait);
    hf_resp_put_number(out,
                       hf_earlier_ms(store->config.ttl_ms / 6, WAIT_MOST_MS));
    answer->pending++;
    hf_redis_expect(store, HF_REDIS_WAITED, call);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    struct hf_redis_answer *answer = hf_alloc(sizeof *answer);
    size_t count = hf_redis_command_count(call);

    assert(store->up);
    if (answer == NULL) {
        (void)snprintf(store->why, sizeof store->why, "out of memory");
        fail_later(store);
        return;
    }
    call->store_data = answer;
    answer->pending = count;
    hf_redis_command_put(&store->calls.out, call, &store->manner);
    for (size_t i = 0; i < count; i++)
        hf_redis_expect(store, HF_REDIS_RUN, call);
    if (count == 0) {
        answer->pending++;
        hf_redis_ask_time(store, HF_REDIS_TOLD_TIME, call);
    }
    if (is_waited_for(store, call))
        wait_for_replicas(store, call);
    /* A connection that only listens shows by this that it lives. */
    if (call->kind == HF_STORE_RENEW) {
        assert(store->renewal == NULL);
        store->renewal = call;
        answer->pending++;
        hf_resp_begin(&store->notices.out, 1);
        hf_resp_put_text(&store->notices.out, "PING");
    }
}

static void on_call_reply(struct hf_store *store,
                          const struct redisReply *reply)
{
    struct hf_redis_expected *expected = store->first;
    struct hf_store_call *call;
    enum hf_redis_reply what;

    if (expected == NULL) {
        hf_redis_tell_down(store, HF_EUNREACHABLE, "it says unasked: ",
                           reply->type == REDIS_REPLY_ERROR ? reply->str
                                                            : "something");
        return;
    }
    what = expected->what;
    call = expected->call;
    store->first = expected->next;
    if (store->first == NULL)
        store->last = NULL;
    hf_free(expected);
    if (what == HF_REDIS_RUN)
        ran(store, call, reply);
    else if (what == HF_REDIS_TOLD_TIME)
        told_time(store, call, reply);
    else if (what == HF_REDIS_WAITED)
        waited(store, call, reply);
    else
        hf_redis_greeted(store, what, reply);
}

/* --------------------------------------------------------------- notices -- */

static bool is_word(const struct redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, word) == 0;
}

static void take_message(struct hf_store *store, const struct redisReply *text)
{
    struct hf_store_notice notice;

    if (store->up && text->type == REDIS_REPLY_STRING &&
        hf_redis_notice_read(&notice, text->str))
        hf_leased_notice(store->engine->leased, &notice, now_ms(store));
}

static void take_pong(struct hf_store *store)
{
    struct hf_store_call *renewal = store->renewal;

    store->renewal = NULL;
    if (renewal != NULL)
        part_done(store, renewal);
}

static void on_notice_reply(struct hf_store *store,
                            const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        hf_redis_refuse(store, "", reply);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
        return; /* the answer to AUTH */
    if (is_word(reply->element[0], "message") && reply->elements == 3) {
        take_message(store, reply->element[2]);
    } else if (is_word(reply->element[0], "pong")) {
        take_pong(store);
    } else if (is_word(reply->element[0], "subscribe")) {
        store->hearing = true;
        hf_redis_go_up(store);
    }
}

/* ------------------------------------------------------------------ wire -- */

static void on_wire_up(void *arg, struct hf_redis_wire *wire)
{
    struct hf_store *store = arg;

    if (wire == &store->calls)
        hf_redis_greet(store);
    else
        hf_redis_subscribe(store);
}

static void on_reply(void *arg, struct hf_redis_wire *wire,
                     const struct redisReply *reply)
{
    struct hf_store *store = arg;

    if (wire == &store->calls)
        on_call_reply(store, reply);
    else
        on_notice_reply(store, reply);
}

static void on_wire_down(void *arg, struct hf_redis_wire *wire, const char *why)
{
    struct hf_store *store = arg;

    (void)wire;
    hf_redis_tell_down(store, HF_EUNREACHABLE, "", why);
}

static void on_enter(void *arg)
{
    hf_leased_engine_enter(((struct hf_store *)arg)->engine);
}

static void on_leave(void *arg)
{
    hf_leased_engine_leave(((struct hf_store *)arg)->engine);
}

/* ------------------------------------------------------------------ link -- */

static bool open_wire(struct hf_store *store, struct hf_redis_wire *wire)
{
    const struct hf_link_way way = {
        .loop = store->engine->loop,
        .resolver = store->resolver,
        .host = store->config.host,
        .port = store->config.port,
        .path = store->config.path[0] != '\0' ? store->config.path : NULL,
        .tls = store->tls,
        .context = store->context,
    };

    return hf_redis_wire_open(wire, &way, &store->user, store->why);
}

static void store_connect(struct hf_store *store, const char *session)
{
    assert(!store->linked);
    store->linked = true;
    (void)snprintf(store->channel, sizeof store->channel, "%s%s",
                   HF_REDIS_CHANNEL, session);
    if (!open_wire(store, &store->calls) || !open_wire(store, &store->notices))
        fail_later(store);
}

static void store_disconnect(struct hf_store *store)
{
    assert(store->linked);
    cut(store);
}

static void store_flush(struct hf_store *store)
{
    if (store->linked && (!hf_redis_wire_flush(&store->calls, store->why) ||
                          !hf_redis_wire_flush(&store->notices, store->why)))
        fail_later(store);
}

/* ----------------------------------------------------- beginning and end -- */

static void release(struct hf_store *store)
{
    explicit_bzero(&store->config, sizeof store->config);
    hf_free(store);
}

static void on_closed(uv_handle_t *handle)
{
    release(handle->data);
}

static void store_free(struct hf_store *store)
{
    cut(store);
    if (store->resolver != NULL)
        hf_resolver_free(store->resolver);
    if (store->context != NULL)
        store->tls->context_free(store->context);
    if (store->idling)
        uv_close((uv_handle_t *)&store->later, on_closed);
    else
        release(store);
}

static void store_after_fork(struct hf_store *store)
{
    if (store->calls.link != NULL)
        hf_link_after_fork(store->calls.link);
    if (store->notices.link != NULL)
        hf_link_after_fork(store->notices.link);
}

const struct hf_store_ops hf_redis_store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .flush = store_flush,
    .after_fork = store_after_fork,
    .free = store_free,
};

static hf_status get_tls(struct hf_store *store, struct hf_error *error)
{
    static const struct hf_tls_memory memory = {hf_alloc, hf_free};
    const struct hf_engine_host *host = &store->engine->host;
    struct hf_tls_files files = {store->config.ca, store->config.cert,
                                 store->config.key};
    hf_status status;

    if (!store->config.tls)
        return HF_OK;
    if (host->tls == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "there is no TLS where this engine is used; "
                            "expected redis:");
    status = host->tls(host->host, &store->tls, error);
    if (status == HF_OK)
        status =
            store->tls->context_new(&memory, &files, &store->context, error);
    return status;
}

struct hf_store *hf_redis_store_new(struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error)
{
    const struct hf_resolver_log log = {engine->host.log, engine->host.host};
    struct hf_store *store = hf_alloc(sizeof *store);

    if (store == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    store->engine = engine;
    store->config = *config;
    store->manner.plain = config->plain;
    store->user = (struct hf_redis_wire_user){
        .up = on_wire_up,
        .reply = on_reply,
        .down = on_wire_down,
        .enter = on_enter,
        .leave = on_leave,
        .arg = store,
    };
    if (get_tls(store, error) != HF_OK) {
        store_free(store);
        return NULL;
    }
    (void)uv_idle_init(engine->loop, &store->later);
    store->later.data = store;
    store->idling = true;
    store->resolver = hf_resolver_new(engine->loop, &log);
    if (store->resolver == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
        store_free(store);
        return NULL;
    }
    return store;
}
