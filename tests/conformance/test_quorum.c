/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on three real Redis servers as one, whose addresses HF_QUORUM has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include <cmocka.h>

#include "conformance/real_host.h"
#include "conformance/suite.h"
#include "engines/redis/command.h"
#include "engines/redis/redis.h"

static const struct hf_engine_ops ops = HF_REDIS_OPS;

#define PUMP_TURNS_MAX 1500 /* of 20 ms: a lease ends in a tenth of it */
#define SERVERS 3

static char addresses[SERVERS][64];
static const char *ttl;
static redisContext *raw[SERVERS];

/* ------------------------------------------------------------------- raw -- */

static redisReply *ask(size_t server, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(raw[server], format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

/* ----------------------------------------------------------------- bench -- */

__attribute__((format(printf, 3, 4))) static void
log_line(void *host, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)host;
    if (level > HF_LOG_WARNING)
        return;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

static void begin(struct bench *of)
{
    char *colon;

    (void)of;
    for (size_t i = 0; i < SERVERS; i++) {
        char host[64];

        (void)snprintf(host, sizeof host, "%s", addresses[i]);
        colon = strrchr(host, ':');
        assert_non_null(colon);
        *colon = '\0';
        raw[i] = redisConnect(host, atoi(colon + 1));
        assert_non_null(raw[i]);
        assert_int_equal(raw[i]->err, 0);
        freeReplyObject(ask(i, "SELECT 3"));
        freeReplyObject(ask(i, "FLUSHDB"));
    }
    ttl = "5s";
    real_host_begin();
}

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text);

    return bytes >= strlen(end) && strcmp(text + bytes - strlen(end), end) == 0;
}

/* What may be left is the last numbers given out, and for a while that somebody
 * has looked. */
static bool is_clean(size_t server)
{
    redisReply *keys = ask(server, "KEYS *");
    bool clean = true;

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        clean = clean && (ends_with(key, ":last") || ends_with(key, ":looks"));
    }
    freeReplyObject(keys);
    return clean;
}

/* A minority may have more: a ticket of the dead that ran out there a little
 * later than at the others, when nobody cared for it any more. */
static void finish(struct bench *of)
{
    size_t clean = 0;

    (void)of;
    for (size_t i = 0; i < SERVERS; i++) {
        clean += is_clean(i) ? 1 : 0;
        redisFree(raw[i]);
    }
    assert_true(clean > SERVERS / 2);
    real_host_finish();
}

static struct hf_engine *open_client(struct bench *of,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    char text[512];

    real_host_fill(&whole);
    whole.log = log_line;
    (void)snprintf(text, sizeof text,
                   "quorum:redis://%s/3,redis://%s/3,redis://%s/3?ttl=%s&"
                   "rejoin=5s",
                   addresses[0], addresses[1], addresses[2], ttl);
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        of->ops->open(&url, &whole, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&url);
    return engine;
}

static void pump(struct bench *of, bool (*done)(void *arg), void *arg)
{
    (void)of;
    real_host_pump(done, arg, PUMP_TURNS_MAX);
}

/* What the majority did not wait for may be on its way; or not, where the link
 * came late. */
#define TRIES_MAX 5000

static bool remove_at(size_t server, const char *word, const char *key,
                      const char *id)
{
    long long removed = 0;
    redisReply *reply;

    for (size_t i = 0; i < TRIES_MAX && removed == 0; i++) {
        reply = ask(server, "%s %s %s", word, key, id);
        removed = reply->integer;
        freeReplyObject(reply);
    }
    return removed == 1;
}

static bool evict_at(size_t server, const char *queue, const char *id)
{
    static const char *const words[] = {"ZREM", "ZREM", "HDEL"};
    static const char *const keys[] = {"quorum:queue", "quorum:until",
                                       "quorum:tickets"};
    char key[HF_REDIS_KEY_BYTES];

    for (size_t i = 0; i < 3; i++) {
        hf_redis_key(queue, keys[i], key);
        if (!remove_at(server, words[i], key, id))
            return false;
    }
    return true;
}

static void evict(struct bench *of, const char *queue,
                  const struct hf_ticket *ticket)
{
    char id[HF_TICKET_ID_TEXT_BYTES];
    size_t count = 0;

    (void)of;
    hf_ticket_id_format(&ticket->id, id);
    for (size_t i = 0; i < SERVERS; i++)
        count += evict_at(i, queue, id) ? 1 : 0;
    assert_true(count > SERVERS / 2);
}

static void be_short(void)
{
    ttl = "1s"; /* what the servers then take to see the death */
}

static struct victim *victim_start(struct bench *of, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    return real_host_victim(of, queue, id, weight, be_short);
}

static void shut(uv_handle_t *handle, void *arg)
{
    int fd;

    (void)arg;
    if (handle->type == UV_POLL && !uv_is_closing(handle) &&
        uv_fileno(handle, &fd) == 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* As if the network had: the engines are not asked. */
static void cut(struct bench *of)
{
    (void)of;
    real_host_walk(shut);
}

int main(void)
{
    const char *text = getenv("HF_QUORUM");
    struct bench of = {
        .name = "conformance of a quorum of redis",
        .ops = &ops,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = real_host_kill,
        .evict = evict,
        .has_no_barriers = true,
        .tickets_linger = true,
        .cut = cut,
    };

    if (text == NULL || sscanf(text, "%63[^,],%63[^,],%63s", addresses[0],
                               addresses[1], addresses[2]) != SERVERS) {
        (void)fprintf(stderr, "start this by tests/servers/serve.py quorum\n");
        return 1;
    }
    return suite_run(&of);
}
