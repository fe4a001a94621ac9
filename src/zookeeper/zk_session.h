/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session and the connections that carry it, without I/O: bytes and time in,
 * bytes and what the listeners hear out.  Which server, the greeting, calls and
 * their answers, the two clocks (is the link alive, may the session be, and
 * what is proven of it: proof.h), and the goodbye.  It knows no locks.  It
 * makes no system call and has no clock, thread or descriptor, so that the
 * simulator, the fuzzers and the real transport drive the same machine.
 *
 * Whoever drives it does this after each call:
 *
 *     hf_zk_session_wanted_server()        another number than before: drop the
 * old connection; not NULL: begin a new one to it hf_zk_session_output() write
 * that, then hf_zk_session_written() hf_zk_session_wake_at_ms()  arm a timer,
 * to call hf_zk_session_tick()
 *
 * Each server grants a timeout of its own, within its limits.  The leader
 * counts the one of the last server that it heard of the session from, and a
 * new leader the one of the session's creation.  A server that was left may be
 * heard late, and a resume without an answer may be carried out late.  So the
 * session goes by the shortest that any of them may bring: for how long it is
 * safe, how often it is heard of, and when it is lost.
 */
#ifndef HF_ZOOKEEPER_ZK_SESSION_H
#define HF_ZOOKEEPER_ZK_SESSION_H

#include <holdfast/holdfast.h>

#include "core/random.h"
#include "core/reconnect_backoff.h"
#include "core/reconnect_policy.h"
#include "zookeeper/call_window.h"
#include "zookeeper/listeners.h"
#include "zookeeper/proof.h"
#include "zookeeper/watch_set.h"
#include "zookeeper/zk_wire.h"

#define HF_ZK_SERVERS_MAX 32
#define HF_ZK_HOST_BYTES 256 /* RFC 1035: 253 and the NUL */
#define HF_ZK_AUTH_BYTES 512

struct hf_zk_server {
    char host[HF_ZK_HOST_BYTES]; /* a name or an address, without brackets */
    uint16_t port;
};

struct hf_zk_session_config {
    struct hf_zk_server servers[HF_ZK_SERVERS_MAX];
    size_t server_count;         /* at least one */
    char auth[HF_ZK_AUTH_BYTES]; /* "user:password" for digest, or "" */
    bool private_nodes;          /* what we make is for this user only, not for
                                    everybody */
    struct hf_reconnect reconnect;
    uint64_t timeout_ms;       /* of a session, as it is asked for */
    uint64_t timeout_floor_ms; /* no server grants less, 0 if not given */
    uint64_t tick_ms;          /* the servers' tickTime, 0 if not given */
    bool lazy_proof;   /* proofs come when they are wanted; what relies on the
                          session ends with it and not before */
    bool strict_proof; /* see proof.h */
    unsigned window;   /* so many calls are under way at a time; 0:
                          HF_ZK_WINDOW */
    bool tls;
    struct hf_random random; /* seeded */
};

/* Where log lines go: one place, however many listeners there are. */
struct hf_zk_log {
    void *user;
    void (*line)(void *user, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
};

enum hf_zk_session_state {
    HF_ZK_IDLE,        /* the policy gave up: waits for
                          hf_zk_session_reconnect() */
    HF_ZK_WAITING,     /* for the next attempt to connect */
    HF_ZK_CONNECTING,  /* a connection is being made */
    HF_ZK_HANDSHAKING, /* it is there, and so is our ConnectRequest */
    HF_ZK_UP,          /* accepted */
    HF_ZK_CLOSING,     /* we have said goodbye */
    HF_ZK_CLOSED,
};

/* A server for TLS closes a connection without it in silence, as one without a
 * quorum does.  So, before there ever was a session, each server that does so
 * is asked once: the next connection to it begins with TLS' own goodbye, which
 * a server for TLS answers with its own, and any other with nothing. */
enum hf_zk_tls_probe {
    HF_ZK_TLS_UNPROBED,
    HF_ZK_TLS_PROBE_NEXT, /* on the next connection */
    HF_ZK_TLS_PROBED,
};

struct hf_zk_session {
    struct hf_zk_session_config *config;
    struct hf_zk_log log;
    struct hf_zk_listeners listeners; /* whoever wants to hear of it joins */
    uint64_t now_ms; /* of the call that is being carried out */
    struct hf_zk_wire wire;
    struct hf_zk_window window;
    struct hf_zk_watch_set watches; /* whoever sets one joins */
    struct hf_zk_proof proof;
    uint64_t proven_anchor_ms; /* the latest that was told as proven */
    unsigned state;
    /* The session: .id is 0 while there is none. */
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t timeout_ms;       /* the shortest that may be in force */
    uint64_t least_granted_ms; /* the shortest ever granted, to any session */
    int64_t zxid;              /* all events up to this transaction have come */
    /* Link alive: when the last answered request was sent, and a timeout.
     * Later than this the session is no more for us. */
    uint64_t alive_until_ms;
    /* The connection. */
    uint64_t connection_number;
    size_t server; /* its index */
    enum hf_zk_tls_probe tls_probe[HF_ZK_SERVERS_MAX];
    struct hf_reconnect_backoff backoff;
    size_t silent_attempts; /* of them, since there was a session, those in
                        which nothing was heard */
    uint64_t up_at_ms;      /* since when it is UP */
    uint64_t connect_sent_at_ms;
    uint64_t until_ms; /* WAITING: the next attempt; OPENING, GREETING, ENDING:
                          the end of our patience */
    /* The goodbye. */
    bool close_requested;
    bool disconnecting; /* drop or lose is telling: an end waits for them */
    struct hf_zk_call close_call;
    char connection_error[HF_ERROR_TEXT_BYTES]; /* why there is no connection,
                                                   or "" */
    /* Of each server's last trouble, since there was a session: a list of dead
     * ones must not fill the log with what it says already. */
    uint64_t logged_digests[HF_ZK_SERVERS_MAX];
};

/* ${config} has to live as long; .random of it is drawn from.  ${log} is
 * copied. The first connection is wanted at once. */
void hf_zk_session_begin(struct hf_zk_session *session,
                         struct hf_zk_session_config *config,
                         const struct hf_zk_log *log, uint64_t now_ms);

/* Calls under way are answered with HF_ZK_DISCONNECTED, and what waits is
 * refused; no listener hears of anything else.  Not from within a notification.
 */
void hf_zk_session_free(struct hf_zk_session *session);

/* The policy had given up: try again. */
void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms);

/* May calls be made? */
bool hf_zk_session_usable(const struct hf_zk_session *session);

/* Is a connection there, or wanted? */
bool hf_zk_session_wants_connection(const struct hf_zk_session *session);

/* ----------------------------------------------------------------- calls -- */

/* It is ${now_ms}: before calls, or the end, that are asked for from outside of
 * what a listener hears. */
void hf_zk_session_set_now(struct hf_zk_session *session, uint64_t now_ms);

/* Write the header of a request, and end its record.  .answered, .user and
 * .owner of ${call} are set; between the two the record is put into .wire.out.
 */
size_t hf_zk_call_begin(struct hf_zk_session *session, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode);
void hf_zk_call_end(struct hf_zk_session *session, size_t begin);

/* What the transaction ${call}, which was just answered, proves.  Once for
 * each. */
uint64_t hf_zk_call_proves_ms(struct hf_zk_session *session,
                              const struct hf_zk_call *call);

/* ${call} is a multi and has been carried out: tell what that proves. */
void hf_zk_call_committed(struct hf_zk_session *session,
                          const struct hf_zk_call *call);

/* ------------------------------------------------------------ connection -- */

/* The server to be connected to; NULL: none.  ${number} is that of the
 * connection, another one for each. */
const struct hf_zk_server *
hf_zk_session_wanted_server(const struct hf_zk_session *session,
                            uint64_t *number);

/* Connection ${number} is there: bytes can be sent.  Calls about another than
 * the latest are without effect. */
void hf_zk_session_connection_up(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms);

/* It could not be made, or has ended: ${status} and ${why}, a text for people
 * without the server's name, are the link's.  NULL: the server ended it, and
 * did not say why. */
void hf_zk_session_connection_down(struct hf_zk_session *session,
                                   uint64_t number, uint64_t now_ms,
                                   hf_status status, const char *why);

void hf_zk_session_receive(struct hf_zk_session *session, uint64_t number,
                           uint64_t now_ms, const void *bytes, size_t count);

/* What is to be sent on the connection, valid until the next call; and that
 * the first ${count} bytes of it have been taken. */
const void *hf_zk_session_output(const struct hf_zk_session *session,
                                 size_t *count);
void hf_zk_session_written(struct hf_zk_session *session, size_t count);

/* The connection is of no use any more, for the reason given: another one. */
void hf_zk_session_drop(struct hf_zk_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --------------------------------------------------------------- the end -- */

/* Say goodbye; .closed comes when that was answered, or cannot be said. */
void hf_zk_session_close(struct hf_zk_session *session);

/* ------------------------------------------------------------------ time -- */

void hf_zk_session_tick(struct hf_zk_session *session, uint64_t now_ms);

/* When the next tick is wanted, HF_FOREVER if none; may be past. */
uint64_t hf_zk_session_wake_at_ms(const struct hf_zk_session *session);

#endif
