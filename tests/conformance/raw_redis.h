/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a Redis server without the engine, for fixtures that check
 * the keys or remove some.  An error fails the test. */
#ifndef HF_TESTS_CONFORMANCE_RAW_REDIS_H
#define HF_TESTS_CONFORMANCE_RAW_REDIS_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* ${address} is HOST:PORT. */
redisContext *raw_redis_open(const char *address);
redisContext *raw_redis_open_socket(const char *path);

/* As redisCommand(), but an error reply fails the test. */
redisReply *raw_redis_ask(redisContext *raw, const char *format, ...);

/* True if the only keys are those of the last numbers given out and those that
 * say, for a while, that somebody watches a queue.  Prints any other key. */
bool raw_redis_is_clean(redisContext *raw);

#endif
