/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a Redis server of a bench's own: how it looks at the keys and
 * meddles with them behind the engine's back.  What cannot be done fails the
 * test. */
#ifndef HF_TESTS_CONFORMANCE_RAW_REDIS_H
#define HF_TESTS_CONFORMANCE_RAW_REDIS_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* ${address} is HOST:PORT. */
redisContext *raw_redis_open(const char *address);
redisContext *raw_redis_open_socket(const char *path);

/* The answer, which is no error.  As redisCommand() otherwise. */
redisReply *raw_redis_ask(redisContext *raw, const char *format, ...);

/* Nothing is left but the last numbers given out, and for a while that somebody
 * has looked.  What else there is is printed. */
bool raw_redis_is_clean(redisContext *raw);

#endif
