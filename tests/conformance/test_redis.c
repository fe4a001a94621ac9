/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real Redis server at HF_REDIS, over TCP and by its unix
 * socket; or on a Redis Cluster if HF_REDIS_CLUSTER has the addresses of its
 * nodes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "conformance/raw_redis.h"
#include "conformance/real_host.h"
#include "conformance/suite.h"
#include "engines/redis/command.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/redis.h"

static const struct hf_engine_ops ops = HF_REDIS_OPS;

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
    raws[raw_count++] = raw;
}

/* The reply of the node that has ${key}, to be freed. */
static redisReply *ask(const char *format, const char *key)
{
    for (size_t i = 0; i < raw_count; i++) {
        redisReply *reply = redisCommand(raws[i], format, key);

        assert_non_null(reply);
        if (reply->type != REDIS_REPLY_ERROR)
            return reply;
        if (strncmp(reply->str, "MOVED ", 6) != 0)
            fail_msg("%s: %s", key, reply->str);
        freeReplyObject(reply);
    }
    fail_msg("no node has %s", key);
    return NULL;
}

static long long ask_number(const char *format, const char *key)
{
    redisReply *reply = ask(format, key);
    long long number = reply->integer;

    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
    return number;
}

/* -------------------------------------------------------------- fixture -- */

/* The engine and the server must agree on the hash slot of a queue. */
static void compare_slots(void)
{
    static const char *const queues[] = {"a",    "a/b", "a/",
                                         "{x}y", "50%", "caf\xc3\xa9"};
    char key[HF_REDIS_KEY_BYTES];

    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        hf_redis_key(queues[i], "queue", key);
        assert_int_equal(ask_number("CLUSTER KEYSLOT %s", key),
                         hf_redis_hash_slot_of_queue(queues[i]));
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
    while ((one = strsep(&rest, ",")) != NULL)
        begin_raw(raw_redis_open(one));
}

static void begin(struct conformance_fixture *of)
{
    const char *path = getenv("HF_REDIS_SOCKET");

    (void)of;
    raw_count = 0;
    if (path == NULL) {
        begin_cluster(address);
        compare_slots();
    } else {
        begin_raw(raw_redis_open_socket(path));
        freeReplyObject(raw_redis_ask(raws[0], "SELECT 3"));
    }
    for (size_t i = 0; i < raw_count; i++)
        freeReplyObject(raw_redis_ask(raws[i], "FLUSHDB"));
    ttl = "5s";
    real_host_begin();
}

static void finish(struct conformance_fixture *of)
{
    (void)of;
    for (size_t i = 0; i < raw_count; i++) {
        assert_true(raw_redis_is_clean(raws[i]));
        redisFree(raws[i]);
    }
    real_host_finish();
}

static struct hf_engine *open_client(struct conformance_fixture *of,
                                     const struct hf_engine_host *host)
{
    char text[256];

    (void)snprintf(text, sizeof text, form, address, ttl);
    return real_host_open(of, host, text);
}

#define EMPTY_BYTES (sizeof "2 1764000000000000" - 1)

/* Remove the ticket from the key "last", if it is there, alone. */
static bool evict_alone(const char *queue, const char *id)
{
    char key[HF_REDIS_KEY_BYTES];
    char command[64];
    redisReply *last;
    bool alone;

    hf_redis_key(queue, "last", key);
    last = ask("GET %s", key);
    alone = last->type == REDIS_REPLY_STRING && last->len > (int)EMPTY_BYTES &&
            strstr(last->str, id) != NULL;
    if (alone) {
        (void)snprintf(command, sizeof command, "SET %%s %.16s", last->str + 2);
        freeReplyObject(ask(command, key));
    }
    freeReplyObject(last);
    return alone;
}

static void evict(struct conformance_fixture *of, const char *queue,
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
    if (evict_alone(queue, id))
        return;
    for (size_t i = 0; i < 3; i++) {
        hf_redis_key(queue, keys[i], key);
        (void)snprintf(command, sizeof command, words[i], id);
        assert_int_equal(ask_number(command, key), 1);
    }
    if (ticket->kind != HF_TICKET_WRITE)
        return;
    hf_redis_key(queue, "writers", key);
    (void)snprintf(command, sizeof command, words[0], id);
    assert_int_equal(ask_number(command, key), 1);
}

static void be_short(void)
{
    ttl = "1s"; /* what the server then takes to see the death */
}

static int run(const char *name, const char *url_form, const char *where)
{
    struct conformance_fixture of = {
        .name = name,
        .ops = &ops,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = real_host_pump,
        .victim_start = real_host_victim,
        .victim_kill = real_host_kill,
        .evict = evict,
        .be_victim = be_short,
        .has_double_barriers = true,
        .cut = real_host_cut,
    };

    form = url_form;
    address = where;
    return suite_run(&of);
}

TEST_FILE(redis)
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
