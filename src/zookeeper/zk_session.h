/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ZooKeeper session and the connections that carry it, without I/O: bytes and
 * time go in, bytes and notifications to listeners come out.  It chooses the
 * server, does the handshake, matches answers to calls, and closes the session.
 * It keeps two clocks: the first says when the session counts as lost
 * (.alive_until_ms), the second until when the servers certainly keep it
 * (proof.h).  It knows nothing of locks.  It makes no system call and has no
 * clock, thread or descriptor, so the simulator, the fuzzers and the real
 * transport drive the same code.
 *
 * The driver does this after each call:
 *
 *     hf_zk_session_wanted_server()  another number than before: close the
 *                                    old connection; not NULL: connect
 *     hf_zk_session_output()         write it, then hf_zk_session_written()
 *     hf_zk_session_wake_at_ms()     set a timer for hf_zk_session_tick()
 *
 * All functions are called by one thread at a time.
 *
 * If .sasl of the configuration names a mechanism, its rounds (zk_sasl.h) come
 * between the ConnectResponse and everything else: credentials, SetWatches and
 * calls.  The driver then also calls hf_zk_session_sasl_step(), and
 * hf_zk_session_sasl_stepped() when it has done that step.
 *
 * Each server grants a timeout within its own limits.  The leader counts the
 * timeout of the last server that reported the session, and a new leader counts
 * the one from the session's creation.  A server that the session has left may
 * report it late, and a resume that got no answer may be carried out late.  So
 * the session computes with the shortest timeout that may be in force: for how
 * long it is safe, how often it must send, and when it counts as lost.
 *
 * A session that is lost because no server answers is ended before the next one
 * begins, so that what it held does not stay until the servers expire it (enum
 * hf_zk_lost_state has the exceptions).
 *
 * A server without a quorum may serve readers (readonlymode.enabled).  If
 * .read_only of the configuration is set, the session accepts such a server:
 *
 * - If such a server creates the session, no other server knows it.  So the
 *   session is not offered to any server again: it is lost with the connection,
 *   and the next connection begins a new session.  (In ZooKeeper's own clients
 *   this is .seenRwServerBefore.)
 * - If a server with a quorum has created the session, a server without a
 * quorum may resume it.  The answers of that server do not show that the
 * session lives, so the session is lost one timeout after the last answer of a
 * server with a quorum.
 * - The answers of such a server prove nothing (proof.h).
 * - Meanwhile the other servers are asked whether they have a quorum
 *   (zk_rw_probe.h).  When one has, the session moves to it.
 */
#ifndef HF_ZOOKEEPER_ZK_SESSION_H
#define HF_ZOOKEEPER_ZK_SESSION_H

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/connectivity.h"
#include "base/random.h"
#include "base/reconnect.h"
#include "zookeeper/call_window.h"
#include "zookeeper/listeners.h"
#include "zookeeper/proof.h"
#include "zookeeper/watch_set.h"
#include "zookeeper/zk_credentials.h"
#include "zookeeper/zk_rw_probe.h"
#include "zookeeper/zk_sasl.h"
#include "zookeeper/zk_wire.h"

#define HF_ZK_SERVERS_MAX (HF_CONNECTIVITY_SERVERS_MAX - 1)
/* The index of the current server if it is no longer in the list. */
#define HF_ZK_SERVER_LEFT HF_ZK_SERVERS_MAX
#define HF_ZK_HOST_BYTES 256 /* RFC 1035: 253 bytes and a NUL */
#define HF_ZK_AUTH_BYTES 512
#define HF_ZK_ID_TEXT_BYTES 19 /* 0x and 16 digits */
#define HF_ZK_ADDRESS_TEXT_BYTES                                               \
    (HF_ZK_HOST_BYTES + 8) /* with brackets, a colon and the port */

/* A server of the ensemble, as the URL names it. */
struct hf_zk_server {
    char host[HF_ZK_HOST_BYTES]; /* a host name or an address, without
                                    brackets */
    uint16_t port;
};

/* When the session is proven, and what a write proves: the option proof=. */
enum hf_zk_proof_mode {
    HF_ZK_PROOF_EAGER,
    HF_ZK_PROOF_LAZY,   /* proofs are made when they are asked for */
    HF_ZK_PROOF_STRICT, /* a write proves less, see proof.h */
};

/* The configuration that the URL describes.  The session changes only .random
 * and, by hf_zk_session_set_servers(), the servers. */
struct hf_zk_session_config {
    struct hf_zk_server servers[HF_ZK_SERVERS_MAX + 1];
    size_t server_count;         /* at least 1; does not count
                                    HF_ZK_SERVER_LEFT */
    char auth[HF_ZK_AUTH_BYTES]; /* "user:password" for the scheme digest, or
                                    for SASL by DIGEST-MD5, or "" */
    struct hf_zk_sasl_config sasl;
    bool private_nodes; /* created nodes are for this user only */
    struct hf_reconnect reconnect;
    /* A session of another client that the first connection takes over;
     * .timeout_ms must then be the timeout that it was granted.  .id 0: begin a
     * new session. */
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t timeout_ms;       /* session timeout to ask for */
    uint64_t timeout_floor_ms; /* no server grants less than this; 0: unknown */
    uint64_t tick_ms;          /* the servers' tickTime; 0: unknown */
    uint64_t clock_drift;      /* of the servers, in percent: hf_margin_ms() */
    enum hf_zk_proof_mode proof;
    unsigned window;         /* calls in flight; 0: HF_ZK_WINDOW_CALLS */
    size_t max_answer_bytes; /* a call whose answer is longer fails with
                                HF_ZK_ANSWER_TOO_LONG; from HF_ZK_HEADER_BYTES
                                to HF_ZK_DROPPED_MAX; 0: HF_ZK_FRAME_MAX */
    bool read_only;          /* accept a server without a quorum, too */
    bool tls;                /* the transport uses TLS */
    struct hf_random random; /* must be seeded */
};

/* What a server has granted in its ConnectResponse. */
struct hf_zk_granted {
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t timeout_ms;
    bool read_only; /* the server has no quorum */
};

/* Where log lines go.  A session has one log, shared by all listeners. */
struct hf_zk_log {
    void *user;
    void (*line)(void *user, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
};

/* Which servers know the session.  A read-only server has no quorum. */
enum hf_zk_session_mode {
    HF_ZK_SESSION_READ_WRITE, /* the server that last accepted it has a quorum;
                                 or there is no session */
    HF_ZK_SESSION_READ_ONLY,  /* a read-only server has resumed it */
    HF_ZK_SESSION_LOCAL, /* a read-only server has begun it, and no other server
                            knows it: it ends with the connection */
};

/* How far a close of the session has come.  If a listener asks for a close
 * while it is notified that the connection or the session is lost, the close
 * waits until all listeners are notified and all calls answered.  The legal
 * changes are in a table in zk_session.c. */
enum hf_zk_session_end {
    HF_ZK_END_NONE,
    HF_ZK_END_NOTIFYING, /* listeners are being notified of a loss */
    HF_ZK_END_DEFERRED,  /* the same, and a listener has asked for a close */
    HF_ZK_END_BEGUN,     /* the close is under way, or complete */
};

/* A server that expects TLS silently closes a connection that does not begin
 * with TLS.  A server without a quorum closes connections silently, too.  To
 * distinguish them, each server that does so is probed once, as long as there
 * has never been a session: the next connection to it begins with a TLS
 * close_notify alert.  A server that expects TLS answers with the same alert,
 * any other server with nothing. */
enum hf_zk_tls_probe {
    HF_ZK_TLS_UNPROBED,
    HF_ZK_TLS_PROBE_NEXT, /* due on the next connection */
    HF_ZK_TLS_PROBED,
};

/* The last session that was lost because no server answered, until it is ended.
 * The servers may still keep it with its ephemeral nodes, because after an
 * outage a new leader gives each session a whole timeout again.  For that time
 * its tickets would stay in their queues, and no ticket behind them would be
 * admitted.
 *
 * So the client ends the lost session before it begins the next one: it resumes
 * the lost session and asks the server to close it.  Nobody is notified of
 * that: a session that was reported as lost stays lost.  The resume asks for
 * the shortest timeout, so the servers end the session soon even if the request
 * to close it is lost.  Connections that end in the handshake again and again
 * do not keep the next session from beginning (TRIES in zk_handshake.c).
 *
 * Two kinds of lost sessions are not ended: one whose password was given to the
 * user, because another client may have taken it over, and one that only a
 * read-only server knew, because it is gone. */
enum hf_zk_lost_state {
    HF_ZK_LOST_NONE,
    HF_ZK_LOST_KEPT,     /* kept until a connection tries to end it */
    HF_ZK_LOST_RESUMING, /* its ConnectRequest has been sent */
    HF_ZK_LOST_CLOSING,  /* the request to close it has been sent */
};

struct hf_zk_lost_session {
    enum hf_zk_lost_state state;
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    unsigned unanswered; /* connections that ended in the handshake since it was
                            lost */
};

/* A session.  Other files read the fields; unless noted otherwise only
 * zk_session.c, zk_handshake.c, zk_connection.c and zk_server_change.c write
 * them. Times are of the driver's monotonic clock. */
struct hf_zk_session {
    struct hf_zk_session_config *config;
    struct hf_zk_log log;
    struct hf_zk_listeners listeners;
    uint64_t now_ms;            /* the time of the call in progress */
    struct hf_zk_wire wire;     /* of the current connection */
    struct hf_zk_window window; /* limits the calls in flight */
    struct hf_zk_credentials credentials;
    struct hf_zk_watch_set watches; /* owners of watchers add and remove them */
    struct hf_zk_proof proof;       /* of the current connection */
    uint64_t proven_anchor_ms;      /* the latest anchor that was proven */
    /* The id and password of the session; .id is 0 while there is none. */
    int64_t id;
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t timeout_ms;       /* the shortest timeout that may be in force */
    uint64_t least_granted_ms; /* the shortest ever granted to any session of
                                  this client; HF_FOREVER: none was */
    int64_t zxid; /* all events up to this transaction have arrived */
    /* First clock: one timeout after the last answered request was sent; with
     * lazy proofs a margin earlier.  Answers of a server that has resumed the
     * session without a quorum do not count.  From this time on the client
     * treats the session as lost.  HF_FOREVER for a session of another client,
     * until a server has answered: only the servers know when it ends. */
    uint64_t alive_until_ms;
    /* The connection: its state and when it is made again, which is not the
     * state of the session.  HANDSHAKING: the ConnectRequest, or the TLS probe,
     * has been sent. */
    struct hf_connectivity connectivity;
    uint64_t connection_number; /* a new one for each attempt */
    size_t server;              /* index of the current server */
    /* If true, no call is begun any more on the current connection.  When the
     * calls in flight are answered, the session moves to .next_server. */
    bool leaving;
    size_t next_server;
    enum hf_zk_session_mode mode;
    bool lost_local; /* the last session that was lost was LOCAL, so nothing
                        depended on it */
    /* The password was given to the user, so another client may take the
     * session over.  Written by the ZooKeeper client that owns the session. */
    bool handed_out;
    struct hf_zk_lost_session lost;
    struct hf_zk_rw_probe rw_probe; /* searches for a server with a quorum */
    enum hf_zk_tls_probe tls_probe[HF_ZK_SERVERS_MAX + 1];
    uint64_t connect_sent_at_ms;  /* when the ConnectRequest was sent */
    struct hf_zk_granted granted; /* what the server has granted; accepted when
                                     SASL has ended */
    struct hf_zk_sasl sasl;
    unsigned end;                 /* enum hf_zk_session_end */
    struct hf_zk_call close_call; /* the close request */
};

/* Start a session.  ${config} must stay valid as long as the session; its
 * .random is used and advanced.  ${log} is copied.
 * hf_zk_session_wanted_server() returns a server at once.  If the servers do
 * not know the session ${config}->id any more, or it has another password,
 * .lost of the listeners is called and a new session follows.  Until a server
 * has accepted the session ${config}->id, nothing is proven and .resuming is
 * not called. */
void hf_zk_session_begin(struct hf_zk_session *session,
                         struct hf_zk_session_config *config,
                         const struct hf_zk_log *log, uint64_t now_ms);

/* Add a credential of the scheme ${scheme}, such as "digest", whose ${count}
 * bytes are copied.  The credential is sent at once if the session is usable,
 * and on each later connection, behind credentials that were added earlier and
 * before SetWatches.  ${answered}, which may be NULL, is called with ${user}
 * when a server answers the credential for the first time.  If the connection
 * ends before, the next connection brings the answer.  HF_ENOMEM: nothing was
 * added, and ${answered} is not called.  Must not be called after
 * hf_zk_session_close().
 *
 * A server that refuses a credential then closes the connection.  If
 * ${answered} waits for the answer, the credential is removed before
 * ${answered} is called, and the session goes on without it.  Otherwise the
 * refusal ends the connection with HF_EDENIED.  When each server has refused
 * it, the session gives up and calls .gave_up of the listeners. */
hf_status hf_zk_session_add_credential(struct hf_zk_session *session,
                                       const char *scheme, const void *bytes,
                                       size_t count,
                                       hf_zk_credential_answered *answered,
                                       void *user);

/* Free everything.  Calls in flight are answered with HF_ZK_DISCONNECTED and
 * waiting work is refused, but no listener is notified.  Must not be called
 * from a notification. */
void hf_zk_session_free(struct hf_zk_session *session);

/* Start connecting again after .gave_up of the listeners; does nothing in other
 * states. */
void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms);

/* Replace the servers by the ${count} of ${servers}, which are copied.  If the
 * current server is among them, the session stays there, unless that server has
 * no quorum and the session was about to move to one of ${servers} that has.
 * Otherwise the session moves: to the server to which it was about to move
 * already, if that is among them, else to the first of them.  It moves at once
 * if it is not connected, else when no call is in flight; see .leaving.  If
 * ${servers} are the servers that it has already, nothing changes. */
void hf_zk_session_set_servers(struct hf_zk_session *session,
                               const struct hf_zk_server *servers, size_t count,
                               uint64_t now_ms);

/* True while calls can be made. */
static inline bool hf_zk_session_usable(const struct hf_zk_session *session)
{
    return session->connectivity.state == HF_CONNECTIVITY_UP;
}

/* True while the session is connected to a server without a quorum, which
 * refuses writes and sync with HF_ZK_NOT_READ_ONLY. */
static inline bool hf_zk_session_read_only(const struct hf_zk_session *session)
{
    return hf_zk_session_usable(session) &&
           session->mode != HF_ZK_SESSION_READ_WRITE;
}

/* True once hf_zk_session_close() was called. */
static inline bool
hf_zk_session_close_requested(const struct hf_zk_session *session)
{
    return session->end == HF_ZK_END_DEFERRED ||
           session->end == HF_ZK_END_BEGUN;
}

/* The longest answer in bytes that a call may get; a call with a longer answer
 * fails with HF_ZK_ANSWER_TOO_LONG. */
size_t hf_zk_session_answer_max(const struct hf_zk_session *session);

/* ----------------------------------------------------------------- calls -- */

/* Set the time.  To be called before calls are made or the session is closed,
 * except from a notification. */
void hf_zk_session_set_now(struct hf_zk_session *session, uint64_t now_ms);

/* Begin a request: write its header and register ${call}, whose .answered,
 * .user and .owner are set.  Then append the record to .wire.out, and end it
 * with hf_zk_call_end(), passing what hf_zk_call_begin() returned. */
size_t hf_zk_call_begin(struct hf_zk_session *session, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode);
void hf_zk_call_end(struct hf_zk_session *session, size_t begin);

/* The anchor that ${call} proves, in milliseconds (proof.h).  ${call} must be a
 * transaction that was just answered.  To be called once for each such call. */
uint64_t hf_zk_call_proves_ms(struct hf_zk_session *session,
                              const struct hf_zk_call *call);

/* ${call} is a transaction that succeeded: notify the listeners of what it
 * proves.  The user calls it for a multi; the session does for other calls. */
void hf_zk_call_committed(struct hf_zk_session *session,
                          const struct hf_zk_call *call);

/* The call window may have room: begin waiting work of locks while there is
 * room, then call .room of the listeners.  Called after received bytes were
 * handled, and by the queue of a handle (op_queue.h) when none of its
 * operations has to be the only call in flight any more. */
void hf_zk_session_use_room(struct hf_zk_session *session);

/* ------------------------------------------------------------ connection -- */

/* The server that the driver should be connected to, or NULL for none.  Sets
 * ${number} to the connection's number, which is a new one for each
 * connection. */
const struct hf_zk_server *
hf_zk_session_wanted_server(const struct hf_zk_session *session,
                            uint64_t *number);

/* The connection ${number} is established: bytes can be sent.  Reports about a
 * connection that is not the current one do nothing, here and below. */
void hf_zk_session_connection_up(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms);

/* The connection could not be made or has ended.  ${status} and ${why}, a text
 * without the server's name, come from the transport.  ${why} is NULL if the
 * server closed the connection. */
void hf_zk_session_connection_down(struct hf_zk_session *session,
                                   uint64_t number, uint64_t now_ms,
                                   hf_status status, const char *why);

/* ${count} bytes have arrived on the connection.  Calls are answered and
 * watchers notified from within. */
void hf_zk_session_receive(struct hf_zk_session *session, uint64_t number,
                           uint64_t now_ms, const void *bytes, size_t count);

/* Where the session is, for the log: its id as zkCli.sh and the four-letter
 * words print it, and the server of the connection. */
void hf_zk_session_origin(const struct hf_zk_session *session,
                          char id[HF_ZK_ID_TEXT_BYTES],
                          char server[HF_ZK_ADDRESS_TEXT_BYTES]);

/* The bytes to be sent on the connection; valid until the next call of any of
 * these functions.  Report with hf_zk_session_written() how many of them were
 * taken. */
const void *hf_zk_session_output(const struct hf_zk_session *session,
                                 size_t *count);
void hf_zk_session_written(struct hf_zk_session *session, size_t count);

/* hf_zk_session_sasl_step() returns true if a step of SASL is due on the
 * current connection, and sets ${step}.  The driver does the step, during which
 * the session may be called, and reports the outcome with
 * hf_zk_session_sasl_stepped() and the number of that connection.  At most one
 * step is under way.  If the connection has changed meanwhile, or .sasl.state
 * is OFF, the step is no longer needed. */
bool hf_zk_session_sasl_step(struct hf_zk_session *session,
                             struct hf_zk_sasl_step *step);
void hf_zk_session_sasl_stepped(struct hf_zk_session *session, uint64_t number,
                                uint64_t now_ms,
                                const struct hf_zk_sasl_result *result);

/* The server that the driver should ask, on a second connection, whether it has
 * a quorum; NULL for none.  Sets ${number} to the number of that second
 * connection.  The driver sends HF_ZK_RW_PROBE_COMMAND when the connection is
 * up, and reports what arrives, or that the connection could not be made or has
 * ended.  Always NULL unless .read_only of the configuration is set. */
const struct hf_zk_server *
hf_zk_session_rw_probe_server(const struct hf_zk_session *session,
                              uint64_t *number);
void hf_zk_session_rw_probe_received(struct hf_zk_session *session,
                                     uint64_t number, uint64_t now_ms,
                                     const void *bytes, size_t count);
void hf_zk_session_rw_probe_down(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms);

/* Give up the current connection, and connect to the next server when the
 * reconnect policy allows it.  The text says why.  While the session is being
 * closed, this completes the close instead. */
void hf_zk_session_disconnect(struct hf_zk_session *session, const char *format,
                              ...) __attribute__((format(printf, 2, 3)));

/* --------------------------------------------------------------- closing -- */

/* Close the session.  .closed of the listeners is called when the server has
 * answered the close request, when the wait for that times out, or when the
 * connection or the session ends before.  If there is no usable connection,
 * .closed is called at once.  If listeners are being notified that the
 * connection or the session is lost, .closed is called after that.  May be
 * called once. */
void hf_zk_session_close(struct hf_zk_session *session);

/* ------------------------------------------------------------------ time -- */

/* Do what is due at ${now_ms}. */
void hf_zk_session_tick(struct hf_zk_session *session, uint64_t now_ms);

/* When hf_zk_session_tick() should be called next; HF_FOREVER for never.  May
 * lie in the past. */
uint64_t hf_zk_session_wake_at_ms(const struct hf_zk_session *session);

#endif
