/* SPDX-License-Identifier: Apache-2.0 */
/* Redis without the engine, see raw_redis.h. */
#include "conformance/raw_redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static redisContext *opened(redisContext *raw)
{
    assert_non_null(raw);
    assert_int_equal(raw->err, 0);
    return raw;
}

redisContext *raw_redis_open(const char *address)
{
    const char *colon = strrchr(address, ':');
    char host[64] = "";

    assert_non_null(colon);
    assert_true((size_t)(colon - address) < sizeof host);
    memcpy(host, address, (size_t)(colon - address));
    return opened(redisConnect(host, (int)strtol(colon + 1, NULL, 10)));
}

redisContext *raw_redis_open_socket(const char *path)
{
    return opened(redisConnectUnix(path));
}

redisReply *raw_redis_ask(redisContext *raw, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(raw, format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    return reply;
}

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text);

    return bytes >= strlen(end) && strcmp(text + bytes - strlen(end), end) == 0;
}

/* Does ${key} have what stays: the last number, and no ticket behind it? */
static bool stays(redisContext *raw, const char *key)
{
    redisReply *last;
    bool alone;

    if (!ends_with(key, ":last"))
        return ends_with(key, ":watchers") || ends_with(key, ":success");
    last = raw_redis_ask(raw, "GET %s", key);
    alone = last->type == REDIS_REPLY_STRING &&
            last->len > (int)sizeof "2 1764000000000000" - 1;
    freeReplyObject(last);
    return !alone;
}

bool raw_redis_is_clean(redisContext *raw)
{
    redisReply *keys = raw_redis_ask(raw, "KEYS *");
    bool clean = true;

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;

        if (stays(raw, key))
            continue;
        print_message("%s is left\n", key);
        clean = false;
    }
    freeReplyObject(keys);
    return clean;
}
