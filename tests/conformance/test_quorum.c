/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on three real Redis servers as a quorum, at the addresses in
 * HF_QUORUM. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "conformance/raw_redis.h"
#include "conformance/real_host.h"
#include "conformance/suite.h"
#include "engines/redis/command.h"
#include "engines/redis/redis.h"

static const struct hf_engine_ops ops = HF_REDIS_OPS;

#define SERVERS 3

static char addresses[SERVERS][64];
static const char *ttl;
static redisContext *raw[SERVERS];

/* -------------------------------------------------------------- fixture -- */

static void begin(struct conformance_fixture *of)
{
    (void)of;
    for (size_t i = 0; i < SERVERS; i++) {
        raw[i] = raw_redis_open(addresses[i]);
        freeReplyObject(raw_redis_ask(raw[i], "SELECT 3"));
        freeReplyObject(raw_redis_ask(raw[i], "FLUSHDB"));
    }
    ttl = "5s";
    real_host_begin();
}

/* A minority of the servers may have a ticket more: one of a dead client
 * whose lease ended there a little later, and that no client has looked at
 * since. */
static void finish(struct conformance_fixture *of)
{
    size_t clean = 0;

    (void)of;
    for (size_t i = 0; i < SERVERS; i++) {
        clean += raw_redis_is_clean(raw[i]) ? 1 : 0;
        redisFree(raw[i]);
    }
    assert_true(clean > SERVERS / 2);
    real_host_finish();
}

static struct hf_engine *open_client(struct conformance_fixture *of,
                                     const struct hf_engine_host *host)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "quorum:redis://%s/3,redis://%s/3,redis://%s/3?ttl=%s&"
                   "rejoin=5s",
                   addresses[0], addresses[1], addresses[2], ttl);
    return real_host_open(of, host, text);
}

/* A call that the majority did not need may still be on its way, or is lost
 * if the link came up too late. */
#define TRIES_MAX 5000

static bool remove_at(size_t server, const char *word, const char *key,
                      const char *id)
{
    long long removed = 0;
    redisReply *reply;

    for (size_t i = 0; i < TRIES_MAX && removed == 0; i++) {
        reply = raw_redis_ask(raw[server], "%s %s %s", word, key, id);
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

static void evict(struct conformance_fixture *of, const char *queue,
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

TEST_FILE(quorum)
{
    const char *text = getenv("HF_QUORUM");
    struct conformance_fixture of = {
        .name = "conformance of a quorum of redis",
        .ops = &ops,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = real_host_pump,
        .victim_start = real_host_victim,
        .victim_kill = real_host_kill,
        .evict = evict,
        .be_victim = be_short,
        .has_no_barriers = true,
        .tickets_linger = true,
        .cut = real_host_cut,
    };

    if (text == NULL || sscanf(text, "%63[^,],%63[^,],%63s", addresses[0],
                               addresses[1], addresses[2]) != SERVERS) {
        (void)fprintf(stderr, "start this by tests/servers/serve.py quorum\n");
        return 1;
    }
    return suite_run(&of);
}
