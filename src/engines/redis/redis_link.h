/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link to one Redis server: one connection for calls, and one for notices,
 * since a connection of RESP 2 that has subscribed takes no other commands.
 * The link is up when both are there.  A store has one, or several.
 *
 * The rules are those of the store's side of the seam (leased/store.h), with
 * the user in the place of the leased client: nothing is told from inside
 * open(), close(), call() and flush(); after down() or close() calls that were
 * under way are the user's again and nothing is told until the next open();
 * calls take effect in the order in which they were made.  The user may close
 * or free a link from whatever it is told.
 */
#ifndef HF_ENGINES_REDIS_REDIS_LINK_H
#define HF_ENGINES_REDIS_REDIS_LINK_H

#include "engines/redis/command.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/link_shared.h"
#include "engines/redis/redis_connection.h"
#include "engines/redis/server_info.h"
#include "engines/redis/tls_probe.h"

struct hf_redis_expected_reply;
struct hf_redis_link;

/* All of it is told with the client's lock held and inside a turn of the
 * engine. */
struct hf_redis_link_user {
    /* ${server_ms}: its clock, as heard while the link was made. */
    void (*up)(void *arg, struct hf_redis_link *link, uint64_t server_ms);
    /* As hf_leased_down(). */
    void (*down)(void *arg, struct hf_redis_link *link, hf_status status,
                 const char *why);
    /* ${answer} lives for the call; ${call} is the user's again. */
    void (*answered)(void *arg, struct hf_redis_link *link,
                     struct hf_store_call *call,
                     const struct hf_store_answer *answer);
    void (*notice)(void *arg, struct hf_redis_link *link,
                   const struct hf_store_notice *notice);
    /* In the place of answered(), of a call that is one command: it was not
     * carried out, another node has the queue.  NULL: it is answered as failed.
     */
    void (*redirected)(void *arg, struct hf_redis_link *link,
                       struct hf_store_call *call,
                       const struct hf_redis_redirect *redirect);
    /* To hf_redis_link_ask_slots(); ${reply} lives for the call. */
    void (*slots)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    /* To hf_redis_link_ask_nodes(), in the same way. */
    void (*nodes)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    void *arg;
};

/* Replies on the connection for calls. */
enum hf_redis_reply_kind {
    HF_REDIS_REPLY_TLS_PROBE, /* to the question of TLS: it speaks none */
    HF_REDIS_REPLY_AUTH,
    HF_REDIS_REPLY_SELECT,
    HF_REDIS_REPLY_INFO,
    HF_REDIS_REPLY_SCRIPT_LOAD,
    HF_REDIS_REPLY_TIME,
    HF_REDIS_REPLY_SCRIPT_RELOAD,
    HF_REDIS_REPLY_SCRIPT,       /* of the script, for .call */
    HF_REDIS_REPLY_TIME_OF_CALL, /* the same, where there is nothing to run */
    HF_REDIS_REPLY_WAIT,         /* for replicas to have it */
    HF_REDIS_REPLY_ASKING, /* what is behind it is not to be sent elsewhere */
    HF_REDIS_REPLY_CLUSTER_SLOTS, /* CLUSTER SLOTS */
    HF_REDIS_REPLY_CLUSTER_NODES, /* CLUSTER NODES */
};

struct hf_redis_link {
    struct hf_redis_link_shared *shared;
    struct hf_redis_config config;
    struct hf_redis_link_user user;
    struct hf_redis_connection_user connection_user;
    uv_idle_t later; /* tells what cannot be told at once */
    hf_status why_status;
    char why[HF_CONNECTION_TEXT_BYTES];
    char run_id[HF_REDIS_RUN_ID_BYTES]; /* the process that answered last, or ""
                                         */
    uint64_t run_id_since_ms;           /* by our clock: when it first did */
    enum hf_redis_tls_probe tls;

    /* While it is open. */
    bool open;
    bool up;             /* and it has been told so */
    bool handshake_done; /* the greeting of .calls has been answered in full */
    bool subscribed;     /* .notices has subscribed */
    uint64_t served_ms;  /* how long that process has served, at the least */
    /* From when it is up: of a Redis Cluster; or we may not see whether. */
    bool clustered;
    bool info_denied;
    uint64_t info_asked_at_ms; /* when it was last asked how it is set up */
    uint64_t server_ms;
    char channel[sizeof HF_REDIS_CHANNEL + HF_STORE_SESSION_BYTES];
    struct hf_redis_script_options script;
    struct hf_redis_connection calls;
    struct hf_redis_connection notices;
    /* Replies that are to come on .calls, in order. */
    struct hf_redis_expected_reply *first;
    struct hf_redis_expected_reply *last;
    struct hf_store_call *renewal; /* the first that waits for a PONG */
    bool reloading;                /* the script is being loaded again */
};

/* A link to the server of ${config}, which is copied as ${user} is; ${base}
 * outlives it.  NULL for lack of memory. */
struct hf_redis_link *hf_redis_link_new(struct hf_redis_link_shared *shared,
                                        const struct hf_redis_config *config,
                                        const struct hf_redis_link_user *user);

/* Begin to connect, for ${session}. */
void hf_redis_link_open(struct hf_redis_link *link, const char *session);

/* End it abruptly; also where it is not open. */
void hf_redis_link_close(struct hf_redis_link *link);

/* What has not come while it is being made, for a text; NULL: a connection. */
const char *hf_redis_link_awaited(const struct hf_redis_link *link);

/* Between up() and down() or close().  .store_data of ${call} is the link's
 * while it is under way. */
void hf_redis_link_call(struct hf_redis_link *link, struct hf_store_call *call);

/* The same for a call that the server itself is not responsible for yet. */
void hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                     struct hf_store_call *call);

/* Which nodes have which slots. */
void hf_redis_link_ask_slots(struct hf_redis_link *link);

/* Which nodes there are, those without slots included. */
void hf_redis_link_ask_nodes(struct hf_redis_link *link);

/* Send what has been said. */
void hf_redis_link_flush(struct hf_redis_link *link);

void hf_redis_link_after_fork(struct hf_redis_link *link);

/* Close it; handles are closed on the loop, and memory lives until they are. */
void hf_redis_link_free(struct hf_redis_link *link);

/* ------------------------------------------------- shared by its parts -- */

/* A reply is to come behind all others; ${call} if it is for one.  False for
 * lack of memory: the link then goes down. */
bool hf_redis_expect(struct hf_redis_link *link, enum hf_redis_reply_kind what,
                     struct hf_store_call *call);

/* There is no link any more, for the reason ${what}${text}: end it and tell. */
void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text);

/* The same for the error ${reply}. */
void hf_redis_link_refused(struct hf_redis_link *link, const char *what,
                           const struct redisReply *reply);

/* handshake.c: say what has to be said, and take in the replies to it. */
void hf_redis_handshake_begin(struct hf_redis_link *link);
void hf_redis_handshake_reply(struct hf_redis_link *link,
                              enum hf_redis_reply_kind what,
                              const struct redisReply *reply);
void hf_redis_handshake_subscribe(struct hf_redis_link *link);

/* Both connections may be of use now: tell so if they are. */
void hf_redis_link_check_up(struct hf_redis_link *link);

/* Ask the server how it is set up, if it was not asked for a minute: that can
 * change while we are connected.  To be sent along with something else. */
void hf_redis_refresh_info(struct hf_redis_link *link);

void hf_redis_load_script(struct hf_redis_link *link,
                          enum hf_redis_reply_kind what);
bool hf_redis_ask_time(struct hf_redis_link *link,
                       enum hf_redis_reply_kind what,
                       struct hf_store_call *call);
/* Milliseconds since 1970; false if ${reply} is none to TIME. */
bool hf_redis_read_time(const struct redisReply *reply, uint64_t *ms);

#endif
