/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link to one Redis server: one connection for calls and one for notices,
 * because a RESP 2 connection that has subscribed accepts no other commands.
 * The link is up when both are ready.  A store has one link or several.
 *
 * A link keeps the rules that leased/store.h sets for a store; the user of the
 * link takes the part of the leased client there.  The link calls no callback
 * from inside open(), close(), call() and flush().  After down() or close() the
 * calls that were under way belong to the user again, and no callback comes
 * until the next open().  Calls take effect in the order in which they were
 * made.  The user may close or free a link from inside any of its callbacks.
 */
#ifndef HF_ENGINES_REDIS_REDIS_LINK_H
#define HF_ENGINES_REDIS_REDIS_LINK_H

#include "engines/leased/leased_engine.h"
#include "engines/redis/command.h"
#include "engines/redis/config.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/redis_connection.h"
#include "engines/redis/server_info.h"
#include "transport/resolver.h"
#include "transport/tls.h"

struct hf_redis_expected_reply;
struct hf_redis_link;

/* What all links of one store share: the engine, name lookups, TLS, and which
 * warnings were logged already. */
struct hf_redis_link_shared {
    struct hf_engine *engine;
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    /* NULL without TLS; hf_redis_link_shared_free() frees it. */
    struct hf_tls_context *context;
    /* a warning was logged that we may not read INFO */
    bool warned_info_denied;
    /* A warning was logged that the server loses tickets in a restart.  Set
     * from the start for a quorum, which copes with such losses. */
    bool warned_not_durable;
};

/* Fill in ${shared} for ${engine}; ${config} has the TLS files.  On failure
 * there is nothing to free. */
hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

/* Free ${shared}, after all its links were freed.  A struct of zeros is
 * allowed. */
void hf_redis_link_shared_free(struct hf_redis_link_shared *shared);

/* The callbacks of a link.  All are called with the client's lock held, between
 * hf_leased_engine_enter() and _leave(). */
struct hf_redis_link_listener {
    /* The link is up.  ${server_ms}: the server's clock, read during the
     * handshake. */
    void (*up)(void *arg, struct hf_redis_link *link, uint64_t server_ms);
    /* The same as hf_leased_down(). */
    void (*down)(void *arg, struct hf_redis_link *link, hf_status status,
                 const char *why);
    /* ${call} was answered and belongs to the user again.  ${answer} is freed
     * when the callback returns. */
    void (*answered)(void *arg, struct hf_redis_link *link,
                     struct hf_store_call *call,
                     const struct hf_store_answer *answer);
    void (*notice)(void *arg, struct hf_redis_link *link,
                   const struct hf_store_notice *notice);
    /* Called instead of answered() if another node has the queue of ${call},
     * which is a call of one command and had no effect.  If this callback is
     * NULL, such a call fails. */
    void (*redirected)(void *arg, struct hf_redis_link *link,
                       struct hf_store_call *call,
                       const struct hf_redis_redirect *redirect);
    /* The reply to hf_redis_link_ask_slots().  It is freed when the callback
     * returns. */
    void (*slots)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    /* The reply to hf_redis_link_ask_nodes().  It is freed when the callback
     * returns. */
    void (*nodes)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    void *arg;
};

/* The command that a reply on the connection for calls answers. */
enum hf_redis_reply_kind {
    HF_REDIS_REPLY_TLS_PROBE, /* the TLS probe: the server does not speak TLS */
    HF_REDIS_REPLY_AUTH,
    HF_REDIS_REPLY_SELECT,
    HF_REDIS_REPLY_INFO,
    HF_REDIS_REPLY_SCRIPT_LOAD,
    HF_REDIS_REPLY_TIME,
    /* the question to the script which commands the user may run */
    HF_REDIS_REPLY_RIGHTS,
    HF_REDIS_REPLY_SCRIPT_RELOAD,
    HF_REDIS_REPLY_SCRIPT, /* the script, for .call */
    HF_REDIS_REPLY_SCAN,   /* SCAN, which answers .call */
    /* GET of the key "last" of a queue that this SCAN found, for .call */
    HF_REDIS_REPLY_SCAN_LAST,
    HF_REDIS_REPLY_EXAMINE,      /* a command of examine.c, for .call */
    HF_REDIS_REPLY_TIME_OF_CALL, /* TIME, for a call about no queue */
    HF_REDIS_REPLY_WAIT,         /* WAIT for replicas */
    /* ASKING, which goes before a call that follows an ASK redirect */
    HF_REDIS_REPLY_ASKING,
    HF_REDIS_REPLY_CLUSTER_SLOTS, /* CLUSTER SLOTS */
    HF_REDIS_REPLY_CLUSTER_NODES, /* CLUSTER NODES */
};

enum hf_redis_link_state {
    HF_REDIS_LINK_CLOSED,
    HF_REDIS_LINK_CONNECTING, /* until both connections are ready */
    HF_REDIS_LINK_UP,         /* up() was called */
};

/* What INFO has shown about the server since the link was opened. */
enum hf_redis_link_info {
    HF_REDIS_INFO_UNREAD,
    HF_REDIS_INFO_SINGLE_SERVER,
    HF_REDIS_INFO_CLUSTER_NODE,
    HF_REDIS_INFO_DENIED, /* the user may not run INFO */
};

/* A link.  Its user may set .config before it opens the link, and only reads
 * the other members. */
struct hf_redis_link {
    struct hf_redis_link_shared *shared;
    struct hf_redis_config config;
    struct hf_redis_link_listener listener;
    struct hf_redis_connection_listener connection_listener;
    uv_idle_t later; /* reports a failure from the loop */
    /* The reason that .later reports. */
    hf_status why_status;
    char why[HF_CONNECTION_TEXT_BYTES];
    /* run id of the Redis process that sent the last INFO; "": unknown */
    char run_id[HF_REDIS_RUN_ID_BYTES];
    /* The server's replication id by the last INFO, or "".  A server that was
     * promoted also has the id of its former primary,
     * .earlier_replication_id. */
    char replication_id[HF_REDIS_RUN_ID_BYTES];
    char earlier_replication_id[HF_REDIS_RUN_ID_BYTES];
    /* when we first met the process .run_id, by our clock */
    uint64_t run_id_since_ms;
    enum hf_redis_tls_probe tls;

    enum hf_redis_link_state state;

    /* While the link is not CLOSED: */
    bool handshake_done; /* the handshake on .calls is complete */
    bool subscribed;     /* .notices has subscribed */
    uint64_t served_ms;  /* how long the process .run_id has run at least */
    enum hf_redis_link_info info;
    uint64_t info_asked_at_ms; /* when INFO was sent last */
    /* The server's clock, read during the handshake. */
    uint64_t server_ms;
    /* The channel of the session's notices. */
    char channel[sizeof HF_REDIS_CHANNEL + HF_STORE_SESSION_BYTES];
    struct hf_redis_script_options script;
    /* For commands and their replies. */
    struct hf_redis_connection calls;
    /* For SUBSCRIBE and the messages. */
    struct hf_redis_connection notices;
    /* The replies that are expected on .calls, in order. */
    struct hf_redis_expected_reply *first;
    struct hf_redis_expected_reply *last;
    /* The RENEW that is answered only after the PONG on .notices, too; or
     * NULL. */
    struct hf_store_call *renewal;
    bool reloading; /* the script is being loaded again */
};

/* Make a link to the server of ${config}; hf_redis_link_open() connects it.
 * ${config} and ${listener} are copied; ${shared} must outlive the link.
 * Returns NULL if memory runs out. */
struct hf_redis_link *
hf_redis_link_new(struct hf_redis_link_shared *shared,
                  const struct hf_redis_config *config,
                  const struct hf_redis_link_listener *listener);

/* Begin to connect, and subscribe to the notices of ${session}. */
void hf_redis_link_open(struct hf_redis_link *link, const char *session);

/* Close the link at once, without callbacks.  Does nothing if it is not
 * open. */
void hf_redis_link_close(struct hf_redis_link *link);

/* Returns what a link that is being made still waits for, as a text for
 * messages.  NULL means that it is just the connection. */
const char *hf_redis_link_awaited(const struct hf_redis_link *link);

/* Send ${call}.  Allowed only between up() and down() or close().  The link
 * uses .store_data of ${call}. */
void hf_redis_link_call(struct hf_redis_link *link, struct hf_store_call *call);

/* Send ${call} after ASKING, because an ASK redirect named this node: the node
 * then serves the slot for this one call. */
void hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                     struct hf_store_call *call);

/* Send CLUSTER SLOTS: which node has which hash slot? */
void hf_redis_link_ask_slots(struct hf_redis_link *link);

/* Send CLUSTER NODES: which nodes are there, including those without hash
 * slots? */
void hf_redis_link_ask_nodes(struct hf_redis_link *link);

/* Send the commands that the functions above have appended. */
void hf_redis_link_flush(struct hf_redis_link *link);

/* In the child of a fork: close the descriptors and touch nothing else. */
void hf_redis_link_after_fork(struct hf_redis_link *link);

/* Close and free it.  Handles are closed on the loop; memory lives until
 * then. */
void hf_redis_link_free(struct hf_redis_link *link);

/* --------------------------------------------------- shared by its files -- */

/* Implemented in link_state.c.  Append to the list of expected replies one of
 * kind ${what} for ${call}, which may be NULL.  Returns false if memory runs
 * out; the link then goes down. */
bool hf_redis_expect(struct hf_redis_link *link, enum hf_redis_reply_kind what,
                     struct hf_store_call *call);

/* Remove the first expected reply from the list, and set ${what} and ${call},
 * which may be NULL.  Returns false if no reply is expected. */
bool hf_redis_expected_take(struct hf_redis_link *link,
                            enum hf_redis_reply_kind *what,
                            struct hf_store_call **call);

/* Remove all expected replies, and free the unfinished answers of their
 * calls. */
void hf_redis_expected_clear(struct hf_redis_link *link);

/* Close the link and call down().  The reason given is ${what} followed by
 * ${text}. */
void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text);

/* Call hf_redis_link_down() later, from the loop, with .why_status and .why. */
void hf_redis_link_fail_later(struct hf_redis_link *link);

/* Implemented in handshake.c.  Call hf_redis_link_down() because the server
 * answered with the error ${reply}. */
void hf_redis_link_refused(struct hf_redis_link *link, const char *what,
                           const struct redisReply *reply);

/* hf_redis_handshake_begin() sends the commands of the handshake on .calls,
 * hf_redis_handshake_reply() handles a reply to one of them, and
 * hf_redis_handshake_subscribe() subscribes on .notices. */
void hf_redis_handshake_begin(struct hf_redis_link *link);
void hf_redis_handshake_reply(struct hf_redis_link *link,
                              enum hf_redis_reply_kind what,
                              const struct redisReply *reply);
void hf_redis_handshake_subscribe(struct hf_redis_link *link);

/* Call up() if both connections are ready now. */
void hf_redis_link_check_up(struct hf_redis_link *link);

/* Send INFO again if the last one is a minute old, because the configuration
 * may have changed.  Called when other commands are sent, too. */
void hf_redis_refresh_info(struct hf_redis_link *link);

/* Send SCRIPT LOAD. */
void hf_redis_load_script(struct hf_redis_link *link,
                          enum hf_redis_reply_kind what);
/* Have the script check what the user may do.  ${channel} is a channel to try a
 * PUBLISH on, or NULL.  Returns false if memory runs out. */
bool hf_redis_ask_rights(struct hf_redis_link *link,
                         enum hf_redis_reply_kind what, const char *channel,
                         struct hf_store_call *call);
/* Send TIME.  False if memory runs out. */
bool hf_redis_ask_time(struct hf_redis_link *link,
                       enum hf_redis_reply_kind what,
                       struct hf_store_call *call);
/* Set ${ms} to the time of ${reply}, in milliseconds since 1970.  Returns false
 * if ${reply} is not a reply to TIME. */
bool hf_redis_read_time(const struct redisReply *reply, uint64_t *ms);

#endif
