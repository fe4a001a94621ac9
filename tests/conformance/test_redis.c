/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real Redis, whose address HF_REDIS has: over TCP and by its
 * unix socket; or on a Redis Cluster, if HF_REDIS_CLUSTER has the addresses of
 * its nodes. */
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
#include "engines/redis/slot.h"

static const struct hf_engine_ops ops = HF_REDIS_OPS;

#define PUMP_TURNS_MAX 1500 /* of 20 ms: a lease ends in a tenth of it */
#define NODES_MAX 8

static const char *form; /* of the URL, "%s" for the address */
static const char *address;
static const char *ttl;
static redisContext *raws[NODES_MAX]; /* to each node */
static size_t raw_count;

/* ------------------------------------------------------------------- raw -- */

static void begin_raw(redisContext *raw)
{
    assert_true(raw_count < NODES_MAX);
    assert_non_null(raw);
    assert_int_equal(raw->err, 0);
    raws[raw_count++] = raw;
}

/* The answer of ${raw}, which is no error but for one that sends elsewhere. */
static redisReply *ask(redisContext *raw, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(raw, format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "MOVED ", 6) != 0)
        fail_msg("%s", reply->str);
    return reply;
}

/* The number that the node says that has ${key}. */
static long long ask_number(const char *format, const char *key)
{
    for (size_t i = 0; i < raw_count; i++) {
        redisReply *reply = ask(raws[i], format, key);
        bool answered = reply->type == REDIS_REPLY_INTEGER;
        long long number = reply->integer;

        freeReplyObject(reply);
        if (answered)
            return number;
    }
    fail_msg("no node has %s", key);
    return 0;
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

/* Both sides say the same of where a queue is. */
static void compare_slots(void)
{
    static const char *const queues[] = {"a",    "a/b", "a/",
                                         "{x}y", "50%", "caf\xc3\xa9"};
    char key[HF_REDIS_KEY_BYTES];

    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        hf_redis_key(queues[i], "queue", key);
        assert_int_equal(ask_number("CLUSTER KEYSLOT %s", key),
                         hf_redis_slot_of_queue(queues[i]));
    }
}

/* "host:port,host:port" */
static void begin_cluster(const char *addresses)
{
    char text[256];
    char *rest = text;
    char *one;

    assert_true(strlen(addresses) < sizeof text);
    memcpy(text, addresses, strlen(addresses) + 1);
    while ((one = strsep(&rest, ",")) != NULL) {
        char *colon = strchr(one, ':');

        assert_non_null(colon);
        *colon = '\0';
        begin_raw(redisConnect(one, (int)strtol(colon + 1, NULL, 10)));
    }
}

static void begin(struct bench *of)
{
    const char *path = getenv("HF_REDIS_SOCKET");

    (void)of;
    raw_count = 0;
    if (path == NULL) {
        begin_cluster(address);
        compare_slots();
    } else {
        begin_raw(redisConnectUnix(path));
        freeReplyObject(ask(raws[0], "SELECT 3"));
    }
    for (size_t i = 0; i < raw_count; i++)
        freeReplyObject(ask(raws[i], "FLUSHDB"));
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
static void look_for_rest(redisContext *raw)
{
    redisReply *keys = ask(raw, "KEYS *");

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        if (!ends_with(key, ":last") && !ends_with(key, ":looks"))
            fail_msg("%s is left", key);
    }
    freeReplyObject(keys);
    redisFree(raw);
}

static void finish(struct bench *of)
{
    (void)of;
    for (size_t i = 0; i < raw_count; i++)
        look_for_rest(raws[i]);
    real_host_finish();
}

static struct hf_engine *open_client(struct bench *of,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    char text[256];

    real_host_fill(&whole);
    whole.log = log_line;
    (void)snprintf(text, sizeof text, form, address, ttl);
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

static void evict(struct bench *of, const char *queue,
                  const struct hf_ticket *ticket)
{
    static const char *const words[] = {"ZREM %%s %s", "ZREM %%s %s",
                                        "HDEL %%s %s"};
    static const char *const keys[] = {"queue", "until", "tickets"};
    char key[HF_REDIS_KEY_BYTES];
    char id[HF_TICKET_ID_TEXT_BYTES];
    char command[128];

    (void)of;
    hf_ticket_id_format(&ticket->id, id);
    for (size_t i = 0; i < 3; i++) {
        hf_redis_key(queue, keys[i], key);
        (void)snprintf(command, sizeof command, words[i], id);
        assert_int_equal(ask_number(command, key), 1);
    }
}

static void be_short(void)
{
    ttl = "1s"; /* what the server then takes to see the death */
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

static int run(const char *name, const char *url_form, const char *where)
{
    struct bench of = {
        .name = name,
        .ops = &ops,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = real_host_kill,
        .evict = evict,
        .has_members = true,
        .cut = cut,
    };

    form = url_form;
    address = where;
    return suite_run(&of);
}

int main(void)
{
    const char *tcp = getenv("HF_REDIS");
    const char *path = getenv("HF_REDIS_SOCKET");
    const char *cluster = getenv("HF_REDIS_CLUSTER");

    if (cluster != NULL)
        return run("conformance of a redis cluster", "redis://%s?ttl=%s",
                   cluster);
    if (tcp == NULL || path == NULL) {
        (void)fprintf(stderr, "start this by tests/servers/serve.py redis, or "
                              "redis-cluster\n");
        return 1;
    }
    return run("conformance of redis", "redis://%s/3?ttl=%s", tcp) +
           run("conformance of redis, unix socket", "redis:%s?db=3&ttl=%s",
               path);
}
