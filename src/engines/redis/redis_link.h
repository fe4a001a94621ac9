/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link to one Redis server: one connection for calls and one for notices,
 * because a RESP 2 connection that has subscribed accepts no other commands.
 * The link is up when both are ready.  A store has one link or several.
 *
 * The link follows the rules of a store (leased/store.h), with its user in the
 * place of the leased client.  It reports nothing from inside open(), close(),
 * call() and flush().  After down() or close(), calls that were under way
 * belong to the user again, and nothing is reported until the next open().
 * Calls take effect in the order in which they were made.  The user may close
 * or free a link from inside any of its callbacks.
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
    bool warned_info_denied; /* that we may not read INFO */
    /* that a server loses tickets in a restart; true from the start for a
     * quorum, which handles that */
    bool warned_not_durable;
};

/* Fill in ${shared} for ${engine}; ${config} has the TLS files.  On failure
 * there is nothing to free. */
hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

/* Call it when every link was freed.  A struct of zeros is allowed. */
void hf_redis_link_shared_free(struct hf_redis_link_shared *shared);

/* Where a link reports to.  All are called with the client's lock held, between
 * hf_leased_engine_enter() and _leave(). */
struct hf_redis_link_listener {
    /* The link is up.  ${server_ms}: the server's clock, read during the
     * handshake. */
    void (*up)(void *arg, struct hf_redis_link *link, uint64_t server_ms);
    /* The same as hf_leased_down(). */
    void (*down)(void *arg, struct hf_redis_link *link, hf_status status,
                 const char *why);
    /* ${answer} lives until the callback returns; ${call} belongs to the user
     * again. */
    void (*answered)(void *arg, struct hf_redis_link *link,
                     struct hf_store_call *call,
                     const struct hf_store_answer *answer);
    void (*notice)(void *arg, struct hf_redis_link *link,
                   const struct hf_store_notice *notice);
    /* Called instead of answered() for a call of one command that had no
     * effect, because another node has the queue.  If NULL, the call fails
     * instead. */
    void (*redirected)(void *arg, struct hf_redis_link *link,
                       struct hf_store_call *call,
                       const struct hf_redis_redirect *redirect);
    /* The reply to hf_redis_link_ask_slots(); lives until the callback
     * returns. */
    void (*slots)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    /* The reply to hf_redis_link_ask_nodes(); in the same way. */
    void (*nodes)(void *arg, struct hf_redis_link *link,
                  const struct redisReply *reply);
    void *arg;
};

/* What a reply on the connection for calls answers. */
enum hf_redis_reply_kind {
    HF_REDIS_REPLY_TLS_PROBE, /* the TLS probe: the server does not speak TLS */
    HF_REDIS_REPLY_AUTH,
    HF_REDIS_REPLY_SELECT,
    HF_REDIS_REPLY_INFO,
    HF_REDIS_REPLY_SCRIPT_LOAD,
    HF_REDIS_REPLY_TIME,
    HF_REDIS_REPLY_RIGHTS, /* what the user may do, from the script */
    HF_REDIS_REPLY_SCRIPT_RELOAD,
    HF_REDIS_REPLY_SCRIPT,       /* the script, for .call */
    HF_REDIS_REPLY_SCAN,         /* SCAN, for .call */
    HF_REDIS_REPLY_SCAN_LAST,    /* GET of a key of that SCAN, for .call */
    HF_REDIS_REPLY_EXAMINE,      /* a command of examine.c, for .call */
    HF_REDIS_REPLY_TIME_OF_CALL, /* TIME, for a call about no queue */
    HF_REDIS_REPLY_WAIT,         /* WAIT for replicas */
    /* ASKING, which goes before a call that follows an ASK */
    HF_REDIS_REPLY_ASKING,
    HF_REDIS_REPLY_CLUSTER_SLOTS, /* CLUSTER SLOTS */
    HF_REDIS_REPLY_CLUSTER_NODES, /* CLUSTER NODES */
};

enum hf_redis_link_state {
    HF_REDIS_LINK_CLOSED,
    HF_REDIS_LINK_CONNECTING, /* until both connections are ready */
    HF_REDIS_LINK_UP,         /* up() was called */
};

/* What INFO has said of the server since the link was opened. */
enum hf_redis_link_info {
    HF_REDIS_INFO_UNREAD,
    HF_REDIS_INFO_SINGLE_SERVER,
    HF_REDIS_INFO_CLUSTER_NODE,
    HF_REDIS_INFO_DENIED, /* we may not read it */
};

/* A link.  Its user sets .config before it opens the link, and only reads the
 * rest. */
struct hf_redis_link {
    struct hf_redis_link_shared *shared;
    struct hf_redis_config config;
    struct hf_redis_link_listener listener;
    struct hf_redis_connection_listener connection_listener;
    uv_idle_t later; /* reports a failure from the loop */
    /* The failure that .later reports. */
    hf_status why_status;
    char why[HF_CONNECTION_TEXT_BYTES];
    /* run id of the process that answered last, or "" */
    char run_id[HF_REDIS_RUN_ID_BYTES];
    /* Its replication id, and the one that it had until it was promoted; or "".
     * As of the last INFO. */
    char replication_id[HF_REDIS_RUN_ID_BYTES];
    char earlier_replication_id[HF_REDIS_RUN_ID_BYTES];
    uint64_t run_id_since_ms; /* when we first met that process, by our clock */
    enum hf_redis_tls_probe tls;

    enum hf_redis_link_state state;

    /* While the link is not CLOSED: */
    bool handshake_done; /* .calls has finished its handshake */
    bool subscribed;     /* .notices has subscribed */
    uint64_t served_ms;  /* how long that process has run at least */
    enum hf_redis_link_info info;
    uint64_t info_asked_at_ms; /* when INFO was asked last */
    /* The server's clock during the handshake. */
    uint64_t server_ms;
    /* The channel of the session's notices. */
    char channel[sizeof HF_REDIS_CHANNEL + HF_STORE_SESSION_BYTES];
    struct hf_redis_script_options script;
    /* For commands and their replies. */
    struct hf_redis_connection calls;
    /* For SUBSCRIBE and the messages. */
    struct hf_redis_connection notices;
    /* Replies to be expected on .calls, in order. */
    struct hf_redis_expected_reply *first;
    struct hf_redis_expected_reply *last;
    /* the RENEW whose answer also waits for a PONG on .notices; or NULL */
    struct hf_store_call *renewal;
    bool reloading; /* the script is being loaded again */
};

/* Make a link to the server of ${config}.  ${config} and ${listener} are
 * copied; ${shared} must outlive the link.  NULL if memory runs out. */
struct hf_redis_link *
hf_redis_link_new(struct hf_redis_link_shared *shared,
                  const struct hf_redis_config *config,
                  const struct hf_redis_link_listener *listener);

/* Begin to connect, for ${session}. */
void hf_redis_link_open(struct hf_redis_link *link, const char *session);

/* End it abruptly; allowed if it is not open. */
void hf_redis_link_close(struct hf_redis_link *link);

/* What has not arrived yet while the link is being made; NULL: a connection. */
const char *hf_redis_link_awaited(const struct hf_redis_link *link);

/* Carry out ${call}; only between up() and down() or close().  The link uses
 * its .store_data. */
void hf_redis_link_call(struct hf_redis_link *link, struct hf_store_call *call);

/* The same after an ASK redirect: the server serves the slot for this call
 * only. */
void hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                     struct hf_store_call *call);

/* Ask which nodes have which hash slots. */
void hf_redis_link_ask_slots(struct hf_redis_link *link);

/* Ask which nodes there are, also those without hash slots. */
void hf_redis_link_ask_nodes(struct hf_redis_link *link);

/* Send the commands that were made. */
void hf_redis_link_flush(struct hf_redis_link *link);

/* In the child of a fork: close the descriptors and touch nothing else. */
void hf_redis_link_after_fork(struct hf_redis_link *link);

/* Close and free it.  Handles are closed on the loop; memory lives until
 * then. */
void hf_redis_link_free(struct hf_redis_link *link);

/* --------------------------------------------------- shared by its files -- */

/* link_state.c: expect a reply of kind ${what} behind all others, for
 * ${call} if it is not NULL.  False if memory runs out; the link then goes
 * down. */
bool hf_redis_expect(struct hf_redis_link *link, enum hf_redis_reply_kind what,
                     struct hf_store_call *call);

/* The reply that comes now: take it off the list, and set ${what} and ${call},
 * which may be NULL.  False if no reply is expected. */
bool hf_redis_expected_take(struct hf_redis_link *link,
                            enum hf_redis_reply_kind *what,
                            struct hf_store_call **call);

/* Expect nothing any more, and free the answers of the calls that wait. */
void hf_redis_expected_clear(struct hf_redis_link *link);

/* End the link and call down().  The reason is ${what} followed by
 * ${text}. */
void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text);

/* The same later, from the loop, for the reason .why_status and .why. */
void hf_redis_link_fail_later(struct hf_redis_link *link);

/* handshake.c: the same as hf_redis_link_down() for the error ${reply}. */
void hf_redis_link_refused(struct hf_redis_link *link, const char *what,
                           const struct redisReply *reply);

/* Begin the handshake on .calls, handle a reply of it, and subscribe on
 * .notices. */
void hf_redis_handshake_begin(struct hf_redis_link *link);
void hf_redis_handshake_reply(struct hf_redis_link *link,
                              enum hf_redis_reply_kind what,
                              const struct redisReply *reply);
void hf_redis_handshake_subscribe(struct hf_redis_link *link);

/* Call up() if both connections are ready now. */
void hf_redis_link_check_up(struct hf_redis_link *link);

/* Ask for INFO again if a minute has passed, because the configuration can
 * change meanwhile.  Called along with other commands. */
void hf_redis_refresh_info(struct hf_redis_link *link);

/* Send SCRIPT LOAD. */
void hf_redis_load_script(struct hf_redis_link *link,
                          enum hf_redis_reply_kind what);
/* Ask the script what the user may do; ${channel} is one to publish on, or NULL
 * for none.  False if memory runs out. */
bool hf_redis_ask_rights(struct hf_redis_link *link,
                         enum hf_redis_reply_kind what, const char *channel,
                         struct hf_store_call *call);
/* Send TIME.  False if memory runs out. */
bool hf_redis_ask_time(struct hf_redis_link *link,
                       enum hf_redis_reply_kind what,
                       struct hf_store_call *call);
/* The reply to TIME in milliseconds since 1970; false if it is another one. */
bool hf_redis_read_time(const struct redisReply *reply, uint64_t *ms);

#endif
