/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of leased tickets on a Redis server: one connection for calls, and
 * one for notices, since a connection of RESP 2 that has subscribed takes no
 * other commands.  There is a link when both are there.
 */
#ifndef HF_ENGINES_REDIS_STORE_H
#define HF_ENGINES_REDIS_STORE_H

#include "engines/leased/engine.h"
#include "engines/redis/command.h"
#include "engines/redis/config.h"
#include "engines/redis/wire.h"

struct hf_redis_expected;

struct hf_store {
    struct hf_engine *engine;
    struct hf_redis_config config;
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: none */
    struct hf_tls_context *context;
    struct hf_redis_wire_user user;
    uv_idle_t later; /* tells what cannot be told at once */
    bool idling;     /* .later is open */
    char why[HF_LINK_TEXT_BYTES];

    /* The link. */
    bool linked;
    bool up;       /* and it has been told so */
    bool speaking; /* the greeting of .calls has been answered in full */
    bool hearing;  /* .notices has subscribed */
    uint64_t server_ms;
    char channel[sizeof HF_REDIS_CHANNEL + HF_STORE_SESSION_BYTES];
    struct hf_redis_manner manner;
    struct hf_redis_wire calls;
    struct hf_redis_wire notices;
    /* Replies that are to come on .calls, in order. */
    struct hf_redis_expected *first;
    struct hf_redis_expected *last;
    struct hf_store_call *renewal; /* waits for a PONG of .notices */
    bool reloading;                /* the script is being loaded again */
    bool told_unseen; /* that we may not see how the server is set up */
};

extern const struct hf_store_ops hf_redis_store_ops;

/* A store for ${engine}; ${config} is copied.  NULL with ${error}. */
struct hf_store *hf_redis_store_new(struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

#endif
