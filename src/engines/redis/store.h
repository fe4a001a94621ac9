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

/* Replies on the connection for calls. */
enum hf_redis_reply {
    HF_REDIS_AUTHENTICATED,
    HF_REDIS_SELECTED,
    HF_REDIS_INFORMED,
    HF_REDIS_LOADED,
    HF_REDIS_TIMED,
    HF_REDIS_RELOADED,
    HF_REDIS_RUN,       /* of the script, for .call */
    HF_REDIS_TOLD_TIME, /* the same, where there is nothing to run */
    HF_REDIS_WAITED,    /* for replicas to have it */
};

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

/* ------------------------------------------------- shared by its parts -- */

/* A reply is to come behind all others; ${call} if it is for one. */
void hf_redis_expect(struct hf_store *store, enum hf_redis_reply what,
                     struct hf_store_call *call);

/* There is no link any more, for the reason ${what}${text}: end it and tell. */
void hf_redis_tell_down(struct hf_store *store, hf_status status,
                        const char *what, const char *text);

/* The same for the error ${reply}. */
void hf_redis_refuse(struct hf_store *store, const char *what,
                     const struct redisReply *reply);

/* handshake.c: say what has to be said, and take in the replies to it. */
void hf_redis_greet(struct hf_store *store);
void hf_redis_greeted(struct hf_store *store, enum hf_redis_reply what,
                      const struct redisReply *reply);
void hf_redis_subscribe(struct hf_store *store);

/* Both connections may be of use now: tell so if they are. */
void hf_redis_go_up(struct hf_store *store);

void hf_redis_load_script(struct hf_store *store, enum hf_redis_reply what);
void hf_redis_ask_time(struct hf_store *store, enum hf_redis_reply what,
                       struct hf_store_call *call);
/* Milliseconds since 1970; false if ${reply} is none to TIME. */
bool hf_redis_read_time(const struct redisReply *reply, uint64_t *ms);

#endif
