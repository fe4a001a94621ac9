/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with an etcd cluster and the connections that carry it, without
 * I/O: bytes and time go in, bytes and notifications to a listener come out.
 * The session chooses the server, authenticates, has one lease, keeps it alive,
 * and revokes it at the end.  It has two clocks: until when keep-alives show
 * that the lease is being renewed, and until when the cluster certainly keeps
 * the lease (proof.h).  It knows nothing of locks.  It makes no system call and
 * has no clock, thread or descriptor, so the simulator, the fuzzers and the
 * real transport drive the same code.
 *
 * The driver does this after each call:
 *
 *     hf_etcd_session_wanted_server()  if the number differs from before, close
 *                                      the old connection; if the server is not
 *                                      NULL, connect to it
 *     hf_etcd_session_output()         write the bytes, then call
 *                                      hf_etcd_session_written()
 *     hf_etcd_session_wake_at_ms()     set a timer for hf_etcd_session_tick()
 *
 * All functions are called by one thread at a time.
 *
 * The session sends on each connection, in this order:
 *
 *     Status         a member is of no use if it has no leader or is a learner
 *     Authenticate   if there is a user; at the same time as Status
 *     LeaseRevoke    for a session that was lost, so that its tickets go before
 *                    its lease expires
 *     LeaseGrant     for a new session; or, if there is a lease, a keep-alive
 *                    for it, whose answer resumes the session
 *
 * Then the session is usable: its users make calls (call.h) and add watches
 * (watches.h).  At the same time the key of the session is put (epoch.h).
 *
 * The session leaves a connection for another server
 *  - when keep-alives are not answered (keep_alive.h), or no call for a third
 *    of the TTL (at least HF_ETCD_CALLS_LEAST_MS);
 *  - when keep-alives show that there is another leader, and a call hangs that
 *    may have been forwarded to the leader before it;
 *  - when the member says that it has no leader, or that it ends the
 *    connection.
 */
#ifndef HF_ETCD_SESSION_H
#define HF_ETCD_SESSION_H

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/connectivity.h"
#include "base/random.h"
#include "base/reconnect.h"
#include "etcd/call.h"
#include "etcd/epoch.h"
#include "etcd/keep_alive.h"
#include "etcd/message.h"
#include "etcd/proof.h"
#include "etcd/watches.h"
#include "grpc/grpc.h"

#define HF_ETCD_SERVERS_MAX (HF_CONNECTIVITY_SERVERS_MAX - 1)
#define HF_ETCD_HOST_BYTES 256 /* RFC 1035: 253 bytes; and a NUL */
#define HF_ETCD_ADDRESS_TEXT_BYTES                                             \
    (HF_ETCD_HOST_BYTES + 8) /* with brackets, a colon and the port */
#define HF_ETCD_USER_BYTES 256
#define HF_ETCD_PASSWORD_BYTES 512
#define HF_ETCD_TOKEN_BYTES 4096 /* usually a JWT of a few hundred bytes */
#define HF_ETCD_VERSION_BYTES 32

/* The longest answer, and the most bytes that wait to be sent. */
#define HF_ETCD_ANSWER_BYTES (64u << 20)
#define HF_ETCD_WAITING_BYTES (64u << 20)
/* The most calls at the same time.  The streams of watches and keep-alives
 * count as calls. */
#define HF_ETCD_CALLS_MAX (1u << 18)

/* If calls are under way and none is answered for a third of the TTL, the
 * session takes another server.  It waits at least this long, because the
 * election of a leader may take that long. */
#define HF_ETCD_CALLS_LEAST_MS 1500

/* A server of the cluster, as the URL names it. */
struct hf_etcd_server {
    char host[HF_ETCD_HOST_BYTES]; /* a host name or an address, without
                                      brackets */
    uint16_t port;
};

/* When the session makes proofs (proof.h): the option proof=. */
enum hf_etcd_proof_mode {
    HF_ETCD_PROOF_EAGER,
    HF_ETCD_PROOF_LAZY, /* only when they are asked for */
};

/* Whether the session has a lease. */
enum hf_etcd_lease_mode {
    HF_ETCD_LEASE_FOR_TICKETS,
    HF_ETCD_NO_LEASE, /* no lease: the session only reads and removes tickets
                         of others, creates nothing, and is never lost */
};

/* What the URL says.  The session changes only .random. */
struct hf_etcd_session_config {
    struct hf_etcd_server servers[HF_ETCD_SERVERS_MAX];
    size_t server_count;           /* at least 1 */
    char user[HF_ETCD_USER_BYTES]; /* "": no authentication, or by a
                                      certificate */
    char password[HF_ETCD_PASSWORD_BYTES];
    char prefix[HF_ETCD_PREFIX_BYTES]; /* beginning of all keys: "" or "a/b/" */
    struct hf_reconnect reconnect;
    uint64_t ttl_ms;      /* TTL to ask for; servers count whole seconds */
    uint64_t clock_drift; /* drift of the servers' clocks, in percent:
                             hf_margin_ms() */
    enum hf_etcd_proof_mode proof;
    enum hf_etcd_lease_mode lease_mode;
    size_t max_answer_bytes; /* 0: HF_ETCD_ANSWER_BYTES */
    bool tls;                /* the transport uses TLS */
    struct hf_random random; /* must be seeded */
};

/* Why the session has no connection. */
struct hf_etcd_connection_error {
    const char *text; /* includes the server's name */
    hf_status status;
    bool final; /* no later attempt can succeed */
};

/* What the listener gets when the session has become usable. */
struct hf_etcd_connected {
    uint64_t timeout_ms; /* the TTL that was granted; HF_FOREVER with
                            NO_LEASE */
    uint64_t anchor_ms;  /* the latest anchor that is proven: for a new
                            session when LeaseGrant was sent; with NO_LEASE
                            now */
    bool resumed;        /* the lease is the same as before */
};

/* The callbacks of a session.  A callback that is NULL is not called.  Each may
 * close the session, start calls while hf_etcd_session_is_usable(), and add and
 * remove watches.  None may free the session or call a function of the
 * connection.  No callback follows .closed. */
struct hf_etcd_listener {
    void *user;
    /* An attempt to connect has failed, or the connection has ended.  Called
     * once for each, before .suspended.  Not called if the connection ends
     * because the session was lost or is being closed. */
    void (*connection_error)(void *user,
                             const struct hf_etcd_connection_error *error);
    /* No further attempt to connect is made: the policy of reconnecting allows
     * none, or all servers fail for reasons that waiting does not mend (.final
     * of .connection_error).  ${retries} is the number of rounds of attempts
     * that failed after the first round, ${elapsed_ms} the time since the first
     * round failed. */
    void (*gave_up)(void *user, uint32_t retries, uint64_t elapsed_ms);
    /* A keep-alive that resumes the session is sent now, at ${sent_ms}.  Until
     * something is proven again, only this is known: if a leader has seen the
     * keep-alive, the lease lives for ${least_timeout_ms} from ${sent_ms}. */
    void (*resuming)(void *user, uint64_t sent_ms, uint64_t least_timeout_ms);
    void (*connected)(void *user, const struct hf_etcd_connected *connected);
    /* A usable connection has ended, and the session goes on.  Calls under way
     * end after this. */
    void (*suspended)(void *user);
    /* The lease has ended or was given up; its keys are deleted or will be.
     * All calls have ended and no watch is in the session. */
    void (*lost)(void *user, const char *why);
    /* The session is closed, as hf_etcd_session_close() asked. */
    void (*closed)(void *user);
    /* A keep-alive was answered, and counts: a write that is sent now proves it
     * (proof.h).  The session is usable. */
    void (*renewed)(void *user);
    /* The cluster keeps the lease for at least one TTL after ${anchor_ms}
     * (proof.h).  Within a session anchors only rise. */
    void (*proven)(void *user, uint64_t anchor_ms);
    /* The epoch is known (epoch.h).  Calls that compared an earlier epoch and
     * ended UNSURE cannot take effect any more, and tickets can be made. */
    void (*epoch_moved)(void *user);
};

/* Where log lines go. */
struct hf_etcd_log {
    void *user;
    void (*line)(void *user, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
};

/* The step of the handshake on a connection that is not usable yet. */
enum hf_etcd_handshake {
    HF_ETCD_HANDSHAKE_OFF,
    HF_ETCD_HANDSHAKE_ASKING,   /* Status and Authenticate */
    HF_ETCD_HANDSHAKE_REVOKING, /* LeaseRevoke, for the lost session */
    HF_ETCD_HANDSHAKE_GRANTING, /* LeaseGrant */
    HF_ETCD_HANDSHAKE_RESUMING, /* a keep-alive that resumes the session */
};

/* Whether a function of .grpc is running, which may call back.  Meanwhile the
 * connection cannot be freed. */
enum hf_etcd_inside {
    HF_ETCD_OUTSIDE,
    HF_ETCD_INSIDE_GRPC,
};

/* The state of the token. */
enum hf_etcd_authentication_state {
    HF_ETCD_NOT_AUTHENTICATED,
    HF_ETCD_AUTHENTICATING, /* calls wait for the answer */
    HF_ETCD_AUTHENTICATED,  /* .token is that of the user; or "" if the
                               servers want none */
};

enum hf_etcd_warning {
    HF_ETCD_NOT_WARNED,
    HF_ETCD_WARNED,
};

/* How far the session is from its end; session.c has the legal moves.  A close
 * that is asked for while the loss of the connection or of the session is being
 * notified must wait until the user is notified and all calls have ended. */
enum hf_etcd_session_end {
    HF_ETCD_END_NONE,
    HF_ETCD_END_NOTIFYING, /* a loss is being notified */
    HF_ETCD_END_DEFERRED,  /* a loss is being notified, and a close was asked
                              for */
    HF_ETCD_END_BEGUN,     /* the close is under way, or complete */
};

struct hf_etcd_session_ops;

/* A session.  Other files may read the fields.  Unless noted otherwise only
 * session.c, the other files session_....c, handshake.c and authentication.c
 * write them.  Times are those of the driver's monotonic clock. */
struct hf_etcd_session {
    struct hf_etcd_session_config *config;
    struct hf_etcd_log log;
    struct hf_etcd_listener listener;
    const struct hf_etcd_session_ops *ops; /* session_private.h */
    uint64_t now_ms; /* the time of the call in progress */

    /* The lease; .lease is 0 while there is none. */
    int64_t lease;
    uint64_t ttl_ms; /* the shortest TTL that was granted for the lease */
    /* The first clock: one TTL after the last keep-alive that was answered was
     * sent; with lazy proofs a margin earlier.  From this time on the client
     * treats the session as lost. */
    uint64_t alive_until_ms;
    struct hf_etcd_proof proof;
    struct hf_etcd_epoch epoch;
    struct hf_etcd_watches watches;
    int64_t lost_lease; /* a lease to be revoked on the next connection; 0:
                           none */

    /* The connection: its state, and when it is made again.  The session goes
     * on while there is no connection. */
    struct hf_connectivity connectivity;
    uint64_t connection_number; /* a new one for each attempt */
    size_t server;              /* index of the current server */
    struct hf_grpc *grpc;       /* NULL: there is no connection */
    /* A connection that ended while one of its functions was running.  It is
     * freed when that function has returned. */
    struct hf_grpc *ended_grpc;
    enum hf_etcd_inside inside;
    /* Why the connection cannot be used any more, for example because a call
     * could not be written; the next tick ends it.  NULL: there is no such
     * reason. */
    const char *broken;
    unsigned handshake; /* enum hf_etcd_handshake */
    struct hf_etcd_keep_alive keep_alive;
    struct {
        struct hf_etcd_call *first; /* all calls that are not idle */
        struct hf_etcd_call *last;
    } calls;
    size_t calls_under_way;      /* number of those that are on the
                                    connection */
    uint64_t call_answered_ms;   /* when the last call was answered; or when
                                    the first of these was sent */
    uint64_t leader_seen_ms;     /* when a keep-alive with another raft term
                                    than before began to count */
    struct hf_etcd_call *ending; /* a call that was answered, while .proven
                                    is being notified because of it; NULL:
                                    none */
    unsigned authentication;     /* enum hf_etcd_authentication_state */
    uint64_t token_number;       /* a new one for each token */
    char token[HF_ETCD_TOKEN_BYTES];
    /* The answer to the last Status. */
    char version[HF_ETCD_VERSION_BYTES]; /* "": not known */
    uint64_t member_id;                  /* of the current server; 0: unknown */
    uint64_t cluster_id;
    int64_t member_revision;   /* revision that this member had applied; 0:
                                  unknown */
    uint64_t lease_cluster_id; /* cluster that granted the lease */
    /* The highest revision in the answers to LeaseGrant and to the writes since
     * then.  A later write is answered with a lower revision only if a snapshot
     * of the store was restored. */
    int64_t revision;

    unsigned end;                /* enum hf_etcd_session_end */
    int64_t granting_lease;      /* GRANTING: the number that was asked for */
    uint64_t granting_sent_ms;   /* GRANTING: when it was asked for */
    enum hf_etcd_warning warned; /* whether the user was warned of the
                                    servers' version */
    struct hf_etcd_call status_call;
    struct hf_etcd_call authenticate_call;
    struct hf_etcd_call lease_call; /* LeaseGrant or LeaseRevoke */
};

/* Start a session.  ${config} must stay valid as long as the session; random
 * numbers are drawn from its .random.  ${listener} and ${log} are copied.  The
 * first connection is wanted at once. */
void hf_etcd_session_begin(struct hf_etcd_session *session,
                           struct hf_etcd_session_config *config,
                           const struct hf_etcd_listener *listener,
                           const struct hf_etcd_log *log, uint64_t now_ms);

/* Free everything.  Calls under way end, but the listener is not notified.
 * Must not be called from a notification. */
void hf_etcd_session_free(struct hf_etcd_session *session);

/* Start connecting again after .gave_up of the listener.  Does nothing in other
 * states. */
void hf_etcd_session_reconnect(struct hf_etcd_session *session,
                               uint64_t now_ms);

/* Can calls be made now? */
bool hf_etcd_session_is_usable(const struct hf_etcd_session *session);

/* Was hf_etcd_session_close() called? */
bool hf_etcd_session_close_requested(const struct hf_etcd_session *session);

/* Set the time.  Call this before starting calls or closing the session, unless
 * that is done from within a notification. */
void hf_etcd_session_set_now(struct hf_etcd_session *session, uint64_t now_ms);

/* Write for the log: the lease as etcdctl prints it ("" if there is none), and
 * the server of the connection. */
void hf_etcd_session_origin(const struct hf_etcd_session *session,
                            char lease[HF_ETCD_LEASE_TEXT_BYTES],
                            char server[HF_ETCD_ADDRESS_TEXT_BYTES]);

/* ------------------------------------------------------------ connection -- */

/* Return the server that the driver should be connected to; NULL: none.  Sets
 * ${number} to the number of the connection, which changes with each
 * connection. */
const struct hf_etcd_server *
hf_etcd_session_wanted_server(const struct hf_etcd_session *session,
                              uint64_t *number);

/* The connection ${number} is established: bytes can be sent.  This function
 * and those below do nothing if ${number} is not the current connection. */
void hf_etcd_session_connection_up(struct hf_etcd_session *session,
                                   uint64_t number, uint64_t now_ms);

/* The connection could not be made or has ended.  ${status} and ${why} come
 * from the transport; ${why} is without the server's name, and NULL if the
 * server closed the connection. */
void hf_etcd_session_connection_down(struct hf_etcd_session *session,
                                     uint64_t number, uint64_t now_ms,
                                     hf_status status, const char *why);

/* ${count} bytes have arrived on the connection.  From within this function
 * calls end, watches report events, and the listener is notified. */
void hf_etcd_session_receive(struct hf_etcd_session *session, uint64_t number,
                             uint64_t now_ms, const void *bytes, size_t count);

/* Return the bytes to be sent on the connection.  They are valid until the next
 * call of any of these functions.  Report by hf_etcd_session_written() how many
 * of them were taken, and ask again until there are none. */
const void *hf_etcd_session_output(struct hf_etcd_session *session,
                                   size_t *count);
void hf_etcd_session_written(struct hf_etcd_session *session, size_t count);

/* --------------------------------------------------------------- closing -- */

/* Close the session: revoke the lease.  .closed of the listener is called when
 * the server has answered, when that times out, or when the connection or the
 * lease ends before.  It is called at once if there is no lease, no usable
 * connection or no memory.  If the close is asked for while a loss of the
 * connection or the session is being notified, .closed is called after that.
 * May be called once. */
void hf_etcd_session_close(struct hf_etcd_session *session);

/* ------------------------------------------------------------------ time -- */

/* Do what is due at ${now_ms}. */
void hf_etcd_session_tick(struct hf_etcd_session *session, uint64_t now_ms);

/* Return when hf_etcd_session_tick() should be called next; HF_FOREVER: never.
 * The instant may be in the past. */
uint64_t hf_etcd_session_wake_at_ms(const struct hf_etcd_session *session);

#endif
