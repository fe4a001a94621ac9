/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of ZooKeeper: a session with an ensemble, every operation that
 * servers know, and watches.
 *
 *     struct hf_zookeeper *zookeeper;
 *     struct hf_zookeeper_result *result;
 *
 *     if (hf_zookeeper_open("zk://h1,h2/app", NULL, &zookeeper) != HF_OK)
 *         return;
 *     if (hf_zookeeper_get(zookeeper, "/config", 5000, &result) == HF_OK)
 *         use_config(result->data, result->bytes, result->stat.version);
 *     hf_zookeeper_result_free(result);
 *     hf_zookeeper_close(zookeeper);
 *
 * docs/zookeeper.md is the guide: what to do after an outage, with code.
 *
 * What <holdfast/holdfast.h> says of threads, callbacks, time, failures, forks
 * and growth holds here, too.  Besides that:
 *
 * Paths      are absolute, below the path of the URL, which results and events
 *            leave out again.
 * Order      The servers carry out the operations of one handle in the order in
 *            which they were started, except that each priority has an order of
 *            its own, and that an ADD_AUTH is sent at once.  Callbacks come in
 *            the order in which answers and events came.  So the event of a
 *            watch comes after the answer to the operation that set it, and
 *            before any answer that shows the change.  A call that waits may
 *            return before callbacks that were queued earlier have run.
 * Sending    An operation is sent by the call that starts it.  Those that
 *            callbacks start are sent together, in one write: when the last of
 *            the callbacks that waited has returned, or after one of them when
 *            a millisecond has passed or 16 operations wait for that.  An
 *            urgent one, and what the last callback starts, is sent at once.
 * Outages    While there is no connection, operations wait, in order.  When a
 *            connection ends, reads that were sent are repeated on the next
 *            one.  Writes are never repeated: they end with HF_EUNSURE, because
 *            they may have been carried out; <holdfast/zookeeper_retry.h> has
 *            calls that look.  When the session ends, all that waits ends with
 *            HF_ELOST, because what it builds on may be gone;
 *            operations that are started after that use the new session.  An
 *            ADD_AUTH does not end with a connection or a session, because it
 *            is sent again on the next one.
 * Bounds     An operation that is longer than the servers take is refused here
 *            (max_request_bytes), because a server would end the connection.
 *            An answer that is longer than max_answer_bytes fails that
 *            operation alone.  At most 512 operations are sent and unanswered,
 *            fewer on the session of a client of locks; up to a million others
 *            wait for them.
 */
#ifndef HOLDFAST_ZOOKEEPER_H
#define HOLDFAST_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a session with an ensemble; an interest in a node. */
struct hf_zookeeper;
struct hf_zookeeper_watch;

/* -------------------------------------------------------------- session -- */

/* A credential, such as {"digest", "user:password", 13}. */
struct hf_zookeeper_credential {
    const char *scheme;
    const void *bytes;
    size_t count;
};

#define HF_ZOOKEEPER_PASSWORD_BYTES 16

/* What another client needs to take a session over: all of it.  The servers may
 * count with .timeout_ms later, whatever is requested then. */
struct hf_zookeeper_session {
    int64_t id; /* 0: none */
    uint8_t password[HF_ZOOKEEPER_PASSWORD_BYTES];
    uint64_t timeout_ms; /* as the servers granted it; 0: that of the URL */
};

struct hf_zookeeper_opts {
    size_t size; /* set by HF_ZOOKEEPER_OPTS_INIT */
    enum hf_delivery delivery;
    /* How long the first connection may take, in milliseconds, before
     * operations that wait for it end with HF_EUNREACHABLE; as in struct
     * hf_client_opts. */
    uint64_t connect_ms;
    struct hf_on_state on_state;
    struct hf_on_log on_log;
    struct hf_reconnect reconnect;
    /* Sent on each connection before anything else, after the user of the URL.
     * While all servers refuse one of them, operations end with HF_EDENIED. */
    const struct hf_zookeeper_credential *credentials;
    size_t credential_count;
    /* Not NULL, and .id not 0: take this session over, see
     * hf_zookeeper_session().  Its .timeout_ms, if it is not 0, counts instead
     * of timeout= of the URL, also for sessions that follow. */
    const struct hf_zookeeper_session *session;
    /* Be content with a server that has lost its quorum, where the servers
     * allow it (readonlymode.enabled=true, localSessionsEnabled=true), so that
     * reads go on; see hf_zookeeper_is_read_only(). */
    bool read_only;
    /* The longest operation, in bytes as it is sent: jute.maxbuffer of the
     * servers (1 MiB by default), less 1024 that they need themselves. */
    size_t max_request_bytes;
    size_t max_answer_bytes; /* the longest answer, in bytes as it is sent;
                                both from 1 KiB to 1 GiB */
};
#define HF_ZOOKEEPER_OPTS_INIT                                                 \
    {                                                                          \
        sizeof(struct hf_zookeeper_opts), HF_DELIVER_THREAD, 15000,            \
            {NULL, NULL, NULL}, {NULL, NULL, HF_LOG_WARNING},                  \
            {50, 1000, HF_RECONNECT_UNLIMITED, HF_FOREVER, NULL, NULL}, NULL,  \
            0, NULL, false, 1047552, 16777216                                  \
    }

/**
 * hf_zookeeper_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_ZOOKEEPER_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_zookeeper_opts_init(struct hf_zookeeper_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_zookeeper_open(url, opts, zookeeper):
 * Set ${zookeeper} to a new session with the servers of ${url}, such as
 * "zk://user:password@h1:2181,h2/app?timeout=10s", or zks:// for TLS
 * (docs/zookeeper.md).  The session is begun but not waited for.
 * hf_zookeeper_open_uv() in <holdfast/uv.h> does the same on a borrowed loop.
 *   Ownership ${url} and ${opts} (NULL: all defaults) are copied, with their
 *             credentials and session.  ${zookeeper} must be closed with
 *             hf_zookeeper_close().
 *   Callback  ${opts}->on_state, from then on: perhaps before this returns and
 *             ${zookeeper} is set.
 *   Fails     HF_EINVAL HF_EURL HF_EUNSUPPORTED HF_EDENIED HF_ELIMIT HF_ENOMEM;
 *             ${zookeeper} is then NULL.
 */
HF_API hf_status hf_zookeeper_open(const char *url,
                                   const struct hf_zookeeper_opts *opts,
                                   struct hf_zookeeper **zookeeper)
    HF_NONNULL(3) HF_MUST_CHECK;

/**
 * hf_client_zookeeper(client, zookeeper):
 * Set ${zookeeper} to a handle on the session of ${client}, whose URL begins
 * with zk: or zks:, so that what is registered by it and what ${client} locks
 * live and die together.  Paths are below that of the URL.  Any number of
 * handles may be on one session.  The locks go first: while some are at work,
 * one operation of each handle is in flight (docs/zookeeper.md).
 *
 * The session, its connections, and where callbacks run are those of ${client}.
 * The handle cannot close the session or take another one over.  It is never
 * read-only: while only servers without a quorum answer, the session is
 * suspended.  hf_zookeeper_set_servers() fails with HF_EUNSUPPORTED.
 * Identities that the handle adds are the session's until that ends.  What ends
 * a connection (HF_ZOOKEEPER_ADD_AUTH that is refused, HF_ZOOKEEPER_ADD_WATCH
 * that is refused, an operation that the server does not know) suspends the
 * locks.
 *
 * When ${client} is closed, what was not sent ends with HF_ECLOSED and what was
 * sent as with hf_zookeeper_close(); the state is HF_STATE_CLOSED, and every
 * call fails with HF_ECLOSED.
 *   Ownership ${zookeeper} must be closed with hf_zookeeper_close(), before
 *             ${client} or after it.
 *   Thread    any, also in a callback.
 *   Fails     HF_EUNSUPPORTED if the engine of ${client} is not ZooKeeper;
 *             HF_ECLOSED HF_ENOMEM HF_EFORKED.  ${zookeeper} is then NULL.
 */
HF_API hf_status hf_client_zookeeper(struct hf_client *client,
                                     struct hf_zookeeper **zookeeper)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_close(zookeeper):
 * End the session, so that its ephemeral nodes are deleted, and free
 * ${zookeeper} (NULL is fine).  Operations that were not sent end with
 * HF_ECLOSED.  Those that were sent end with their answers; without an answer a
 * write ends with HF_EUNSURE.  Watches bring nothing any more, and every
 * callback has returned before this does.  Watches and operations stay valid
 * handles: free them as usual.
 *
 * Of a handle of hf_client_zookeeper() the session goes on, with its ephemeral
 * nodes.  With HF_DELIVER_DISPATCH this call runs the callbacks of the client
 * that wait.  When the client was closed, from the callback of
 * hf_client_close_start() on, it waits for nothing and may be called anywhere.
 *   Time      at most a second.
 *   Fails     HF_EREENTRANT HF_EFORKED; ${zookeeper} is then not closed.
 */
HF_API hf_status hf_zookeeper_close(struct hf_zookeeper *zookeeper);

/**
 * hf_zookeeper_close_start(zookeeper, done):
 * The same without waiting.  ${zookeeper} must not be used again, but for
 * hf_zookeeper_fd() and hf_zookeeper_dispatch() where these bring ${done}.
 *   Callback  once, after every other callback of ${zookeeper}.
 *   Fails     HF_ELIMIT HF_EFORKED; HF_ECLOSED if its client
 *             (hf_client_zookeeper()) was closed.  ${zookeeper} is then not
 *             closed.
 */
HF_API hf_status hf_zookeeper_close_start(struct hf_zookeeper *zookeeper,
                                          struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_zookeeper_state(zookeeper):
 * The state of the session now.
 *   Thread    any.
 */
HF_API enum hf_state hf_zookeeper_state(const struct hf_zookeeper *zookeeper)
    HF_NONNULL(1);

/**
 * hf_zookeeper_is_read_only(zookeeper):
 * Is the session connected, and to a server without a quorum?  Then what is
 * read may be old, even older than an event that was reported before, and
 * writes and HF_ZOOKEEPER_SYNC end at once with HF_EREADONLY.  The other
 * servers are asked, 1 s later at first and once a minute at last, whether they
 * have a quorum.  When one has, the session moves to it, between operations.
 *
 * A session that a server without a quorum has begun is known to that server
 * alone.  So it is lost with the connection (HF_STATE_LOST), and a new one
 * follows; operations that wait are not ended by that.  A session that was
 * begun before is lost when no server with a quorum has answered for its
 * timeout.
 *   Thread    any.  False in a child of a fork.
 */
HF_API bool hf_zookeeper_is_read_only(const struct hf_zookeeper *zookeeper)
    HF_NONNULL(1);

/**
 * hf_zookeeper_set_servers(zookeeper, servers):
 * Replace the servers of the URL by ${servers}, such as "h1:2181,h2,[::1]",
 * which have to be of the same ensemble.  If the session is connected to one of
 * them, it stays there.  Otherwise it moves to one of them as soon as all
 * operations that were sent are answered; others wait for the move.
 *   Fails     HF_EURL if ${servers} is no such list; HF_EUNSUPPORTED if the
 *             session is that of a client of locks, which has the servers of
 *             its URL; HF_ECLOSED HF_EFORKED.
 */
HF_API hf_status hf_zookeeper_set_servers(struct hf_zookeeper *zookeeper,
                                          const char *servers)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_session(zookeeper, session):
 * Set ${session} to the session as it is now; .id is 0 while there is none.  It
 * is another one after each HF_STATE_LOST.
 *
 * Another process can take the session over, and with it its ephemeral nodes,
 * but neither watches nor credentials: it passes ${session}, all of it, in the
 * options of hf_zookeeper_open() before .timeout_ms are over.  This handle must
 * be gone without hf_zookeeper_close(), which ends the session: its process has
 * ended.  If the servers do not know the session any more, the state of the
 * other handle is HF_STATE_LOST, and a new session follows.  Keep ${session} as
 * a password is kept, because nothing else is needed to take the session over.
 *
 * Of a handle of hf_client_zookeeper() .password is all zeros, so that nobody
 * can take the session over: its locks would stay locked, and have no holder.
 *   Fails     HF_EUNREACHABLE if there is none, or one that only a server
 *             without a quorum knows; HF_EFORKED.
 */
HF_API hf_status hf_zookeeper_session(struct hf_zookeeper *zookeeper,
                                      struct hf_zookeeper_session *session)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_add_listener(zookeeper, on_state, listener),
 * hf_zookeeper_remove_listener(zookeeper, listener):
 * As hf_client_add_listener() and hf_client_remove_listener().
 */
HF_API hf_status hf_zookeeper_add_listener(struct hf_zookeeper *zookeeper,
                                           struct hf_on_state on_state,
                                           struct hf_listener **listener)
    HF_NONNULL(1, 3) HF_MUST_CHECK;
HF_API void hf_zookeeper_remove_listener(struct hf_zookeeper *zookeeper,
                                         struct hf_listener *listener)
    HF_NONNULL(1);

/**
 * hf_zookeeper_fd(zookeeper), hf_zookeeper_dispatch(zookeeper):
 * As hf_client_fd() and hf_client_dispatch().
 */
HF_API int hf_zookeeper_fd(const struct hf_zookeeper *zookeeper) HF_NONNULL(1);
HF_API hf_status hf_zookeeper_dispatch(struct hf_zookeeper *zookeeper)
    HF_NONNULL(1);

/* ------------------------------------------ operations: hf_zookeeper_op -- */

enum hf_zookeeper_op_kind {
    HF_ZOOKEEPER_CREATE = 1,
    HF_ZOOKEEPER_DELETE = 2,
    HF_ZOOKEEPER_EXISTS = 3,
    HF_ZOOKEEPER_GET = 4,
    HF_ZOOKEEPER_SET = 5,
    HF_ZOOKEEPER_CHECK = 6, /* in a multi only: the node has .version */
    HF_ZOOKEEPER_CHILDREN = 7,
    HF_ZOOKEEPER_SYNC = 8, /* what is read after it is at least as new as the
                              leader's state when the leader got it */
    HF_ZOOKEEPER_GET_ACL = 9,
    HF_ZOOKEEPER_SET_ACL = 10,    /* .version is compared to aversion */
    HF_ZOOKEEPER_MULTI = 11,      /* .ops, all of them or none */
    HF_ZOOKEEPER_MULTI_READ = 12, /* .ops, GET and CHILDREN only, each with a
                                     status of its own */
    HF_ZOOKEEPER_EPHEMERALS = 13, /* the paths of this session's ephemeral nodes
                                     at and below .path, as .children */
    HF_ZOOKEEPER_COUNT = 14,      /* how many nodes are below .path */
    HF_ZOOKEEPER_ADD_WATCH = 15,  /* .watch, a persistent one */
    HF_ZOOKEEPER_ADD_AUTH = 16,   /* .scheme and .data: sent at once, ahead of
                                     all that waits, and on each connection */
    HF_ZOOKEEPER_WHO_AM_I = 17,   /* the identities of this session, as .acls
                                     without permissions */
    HF_ZOOKEEPER_GET_CONFIG = 18, /* the configuration of the ensemble, as
                                     .data */
    HF_ZOOKEEPER_RECONFIG = 19    /* change it by .joining and .leaving, or to
                                     .servers; the new one is .data */
};

enum hf_zookeeper_mode {
    HF_ZOOKEEPER_PERSISTENT = 0,
    HF_ZOOKEEPER_EPHEMERAL = 1,  /* deleted when this session ends */
    HF_ZOOKEEPER_SEQUENTIAL = 2, /* the server appends ten digits that rise */
    HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL = 3,
    HF_ZOOKEEPER_CONTAINER = 4, /* deleted some time after its last child */
    HF_ZOOKEEPER_TTL = 5,       /* deleted some time after .ttl_ms without a
                                   change and without children */
    HF_ZOOKEEPER_TTL_SEQUENTIAL = 6
};

/* Operations wait for one another in three queues; those of a queue are sent in
 * order.  An urgent one is sent before all normal ones that wait, and bulk ones
 * are sent when none of the others waits. */
enum hf_zookeeper_priority {
    HF_ZOOKEEPER_NORMAL = 0,
    HF_ZOOKEEPER_URGENT = 1,
    HF_ZOOKEEPER_BULK = 2
};

/* Instead of a version: whatever version the node has. */
#define HF_ZOOKEEPER_ANY_VERSION (-1)

/* Permissions of an access list; a sum of them. */
#define HF_ZOOKEEPER_PERM_READ 1
#define HF_ZOOKEEPER_PERM_WRITE 2
#define HF_ZOOKEEPER_PERM_CREATE 4
#define HF_ZOOKEEPER_PERM_DELETE 8
#define HF_ZOOKEEPER_PERM_ADMIN 16
#define HF_ZOOKEEPER_PERM_ALL 31

/* An entry of an access list, such as {HF_ZOOKEEPER_PERM_ALL, "world",
 * "anyone"}. */
struct hf_zookeeper_acl {
    int32_t permissions;
    const char *scheme;
    const char *id;
};

/* An operation: set .kind and what that needs, and leave the rest at zero. */
struct hf_zookeeper_op {
    enum hf_zookeeper_op_kind kind;
    enum hf_zookeeper_priority priority;
    const char *path; /* all kinds but MULTI, MULTI_READ, ADD_WATCH, ADD_AUTH,
                         WHO_AM_I, GET_CONFIG and RECONFIG */
    /* CREATE, SET; ADD_AUTH.  NULL is null, which is not the same as no bytes:
     * readers get NULL. */
    const void *data;
    size_t bytes;
    int32_t version;                     /* DELETE, SET, CHECK, SET_ACL: the one
                                            it must have (0 is one), or
                                            HF_ZOOKEEPER_ANY_VERSION */
    enum hf_zookeeper_mode mode;         /* CREATE */
    uint64_t ttl_ms;                     /* CREATE of a TTL mode */
    const struct hf_zookeeper_acl *acls; /* CREATE, SET_ACL.  NULL in a CREATE:
                                            acl= of the URL */
    size_t acl_count;
    const struct hf_zookeeper_op *ops; /* MULTI: CREATE, DELETE, SET, CHECK;
                                          MULTI_READ: GET, CHILDREN */
    size_t op_count;
    const char *scheme; /* ADD_AUTH */
    /* GET, EXISTS: a DATA watch, CHILDREN: a CHILDREN watch, opened with the
     * same handle and path: set it, if the node is read.  An EXISTS sets it
     * also if there is no node.  ADD_WATCH: a persistent or recursive watch.
     * NULL: none. */
    struct hf_zookeeper_watch *watch;
    /* RECONFIG: servers that are added or changed, such as
     * "server.4=h4:2888:3888;2181", with ',' between them; the ids of servers
     * that are removed, such as "2,3".  Or, instead of both, all servers of the
     * new configuration, as .joining has them. */
    const char *joining;
    const char *leaving;
    const char *servers;
    int64_t config_version; /* RECONFIG: the one that the configuration must
                               have: its last line, in hexadecimal; or
                               HF_ZOOKEEPER_ANY_VERSION */
    uint64_t reserved[4];
};

/* ----------------------------------------- results: hf_zookeeper_result -- */

/* What servers know of a node besides its data.  Times are UTC in
 * milliseconds, by the clock of some server. */
struct hf_zookeeper_stat {
    int64_t czxid; /* the transaction that created it */
    int64_t mzxid; /* that changed its data last */
    int64_t pzxid; /* that created or deleted a child last */
    int64_t created_utc_ms;
    int64_t modified_utc_ms;
    int32_t version;         /* counts changes of its data */
    int32_t cversion;        /* counts creations and deletions of children */
    int32_t aversion;        /* counts changes of its access list */
    int64_t ephemeral_owner; /* the session of an ephemeral node; 0 if none */
    int32_t bytes;           /* of its data */
    int32_t children;
};

/* How an operation ended.  Fields that the kind does not bring are zero. */
struct hf_zookeeper_result {
    /* HF_OK; HF_EGONE: there is no such node, or none above it; HF_EEXISTS;
     * HF_EVERSION; HF_ENOTEMPTY; HF_EDENIED; HF_EREADONLY; HF_EUNSUPPORTED: the
     * server does not know the operation or has it switched off; HF_EINVAL: the
     * server refused an argument; HF_EFULL: a quota; HF_EUNSURE HF_EUNREACHABLE
     * HF_ETIMEDOUT HF_ECANCELLED HF_ELOST HF_ECLOSED.  HF_EPROTOCOL HF_ENOMEM
     * HF_ELIMIT: the answer made no sense, found no memory, or was longer than
     * max_answer_bytes; a write may have been carried out then. */
    hf_status status;
    int32_t error;    /* what the server answered (KeeperException.Code); 0 if
                         it answered HF_OK or did not answer */
    const char *text; /* why it failed; "" if HF_OK */
    int64_t zxid;     /* of a write: its transaction; of a read: the last one
                         that the server had seen */
    const char *path; /* CREATE: of the new node; else NULL */
    bool has_stat;
    bool watching; /* the watch of the operation is set */
    struct hf_zookeeper_stat stat;
    const void *data; /* NULL: null, or none */
    size_t bytes;
    int64_t count;               /* COUNT */
    const char *const *children; /* CHILDREN: names; EPHEMERALS: paths */
    size_t child_count;
    const struct hf_zookeeper_acl *acls; /* GET_ACL, WHO_AM_I */
    size_t acl_count;
    /* MULTI, MULTI_READ: one for each operation, freed with this one.  Of a
     * MULTI that failed because one of .ops did, that one has its status, and
     * the others, which were not carried out, have HF_ECANCELLED.  A MULTI that
     * was refused as a whole, or not answered, has none: .result_count is 0. */
    const struct hf_zookeeper_result *const *results;
    size_t result_count;
};

/* Called once when an operation has ended.  ${result} is valid until it
 * returns; unless its status is HF_OK, hf_last_error() has that and the text
 * here. */
struct hf_zookeeper_done {
    void (*fn)(void *arg, const struct hf_zookeeper_result *result);
    void *arg;
    void (*drop)(void *arg);
};

/**
 * hf_zookeeper_result_free(result):
 * Free ${result} (NULL is fine), with all that it points to.
 */
HF_API void hf_zookeeper_result_free(struct hf_zookeeper_result *result);

/* ------------------------------------ to carry one out: hf_zookeeper_op -- */

/**
 * hf_zookeeper_run(zookeeper, op, wait_ms, result):
 * Carry out ${op} and return its status.  It is waited for at most ${wait_ms}
 * milliseconds, or HF_FOREVER; before the first connection at most for
 * .connect_ms of the options, then it ends with HF_EUNREACHABLE.  A write that
 * was sent by then and not answered ends with HF_EUNSURE, anything else with
 * HF_ETIMEDOUT, whose text says why there is no connection.  0: it does not
 * wait for a connection that was lost, and ends with HF_EUNREACHABLE instead.
 *   Ownership ${op} is not needed after the call.  ${result} (may be NULL) is
 *             set to how it ended, also if it failed, and must be freed with
 *             hf_zookeeper_result_free(); to NULL if ${op} was refused.
 *   Fails     as .status of struct hf_zookeeper_result; HF_EINVAL HF_ELIMIT
 *             HF_ENOMEM HF_EUNSUPPORTED HF_ECLOSED HF_EREENTRANT HF_EFORKED if
 *             ${op} was refused.
 */
HF_API hf_status hf_zookeeper_run(struct hf_zookeeper *zookeeper,
                                  const struct hf_zookeeper_op *op,
                                  uint64_t wait_ms,
                                  struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);

/**
 * hf_zookeeper_start(zookeeper, op, wait_ms, done, handle):
 * The same without waiting.
 *   Ownership ${op} is not needed after the call.  ${handle} (may be NULL) can
 *             be passed to hf_op_cancel(), after which a write that was sent
 *             ends with HF_EUNSURE, and must be freed with hf_op_free().
 *   Callback  ${done}, once.  .fn may be NULL.
 *   Fails     HF_EINVAL HF_ELIMIT HF_ENOMEM HF_EUNSUPPORTED HF_ECLOSED
 *             HF_EFORKED.
 */
HF_API hf_status hf_zookeeper_start(struct hf_zookeeper *zookeeper,
                                    const struct hf_zookeeper_op *op,
                                    uint64_t wait_ms,
                                    struct hf_zookeeper_done done,
                                    struct hf_op **handle)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/* ------------------------- the common ones, with types: hf_zookeeper_op -- */

/*
 * Each call is hf_zookeeper_run(), and each with _start hf_zookeeper_start(),
 * of one operation; what these say of waiting, ownership, callbacks and
 * failures holds.
 */

/**
 * hf_zookeeper_create(zookeeper, path, data, bytes, mode, wait_ms, result),
 * hf_zookeeper_create_start(zookeeper, path, data, bytes, mode, wait_ms, done):
 * Create the node ${path} with ${bytes} bytes of ${data} and the access list of
 * acl= of the URL.
 * A node with a TTL needs .ttl_ms, and so hf_zookeeper_run().
 *   Fails     HF_EEXISTS; HF_EGONE if its parent is not there; HF_EINVAL if its
 *             parent is ephemeral, or for a TTL mode; HF_EUNSUPPORTED if the
 *             server does not know containers.
 */
HF_API hf_status hf_zookeeper_create(struct hf_zookeeper *zookeeper,
                                     const char *path, const void *data,
                                     size_t bytes, enum hf_zookeeper_mode mode,
                                     uint64_t wait_ms,
                                     struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_create_start(
    struct hf_zookeeper *zookeeper, const char *path, const void *data,
    size_t bytes, enum hf_zookeeper_mode mode, uint64_t wait_ms,
    struct hf_zookeeper_done done) HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_delete(zookeeper, path, version, wait_ms),
 * hf_zookeeper_delete_start(zookeeper, path, version, wait_ms, done):
 * Delete the node ${path}, if the version of its data is ${version}.
 *   Fails     HF_EGONE; HF_EVERSION; HF_ENOTEMPTY if it has children.
 */
HF_API hf_status hf_zookeeper_delete(struct hf_zookeeper *zookeeper,
                                     const char *path, int32_t version,
                                     uint64_t wait_ms) HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_delete_start(struct hf_zookeeper *zookeeper,
                                           const char *path, int32_t version,
                                           uint64_t wait_ms,
                                           struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_exists(zookeeper, path, wait_ms, result),
 * hf_zookeeper_exists_start(zookeeper, path, wait_ms, done):
 * Get the Stat of the node ${path}.
 *   Fails     HF_EGONE if it is not there.
 */
HF_API hf_status hf_zookeeper_exists(struct hf_zookeeper *zookeeper,
                                     const char *path, uint64_t wait_ms,
                                     struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_exists_start(struct hf_zookeeper *zookeeper,
                                           const char *path, uint64_t wait_ms,
                                           struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_get(zookeeper, path, wait_ms, result),
 * hf_zookeeper_get_start(zookeeper, path, wait_ms, done):
 * Get the data and the Stat of the node ${path}.
 *   Fails     HF_EGONE.
 */
HF_API hf_status hf_zookeeper_get(struct hf_zookeeper *zookeeper,
                                  const char *path, uint64_t wait_ms,
                                  struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                        const char *path, uint64_t wait_ms,
                                        struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_set(zookeeper, path, data, bytes, version, wait_ms, result),
 * hf_zookeeper_set_start(zookeeper, path, data, bytes, version, wait_ms, done):
 * Replace the data of the node ${path} by ${bytes} bytes of ${data}, if their
 * version is ${version}.  The result has the new Stat.
 *   Fails     HF_EGONE; HF_EVERSION.
 */
HF_API hf_status hf_zookeeper_set(struct hf_zookeeper *zookeeper,
                                  const char *path, const void *data,
                                  size_t bytes, int32_t version,
                                  uint64_t wait_ms,
                                  struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_set_start(struct hf_zookeeper *zookeeper,
                                        const char *path, const void *data,
                                        size_t bytes, int32_t version,
                                        uint64_t wait_ms,
                                        struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_children(zookeeper, path, wait_ms, result),
 * hf_zookeeper_children_start(zookeeper, path, wait_ms, done):
 * Get the names of the children of the node ${path}, in no order, and its Stat.
 *   Fails     HF_EGONE.
 */
HF_API hf_status hf_zookeeper_children(struct hf_zookeeper *zookeeper,
                                       const char *path, uint64_t wait_ms,
                                       struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_children_start(struct hf_zookeeper *zookeeper,
                                             const char *path, uint64_t wait_ms,
                                             struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_sync(zookeeper, path, wait_ms),
 * hf_zookeeper_sync_start(zookeeper, path, wait_ms, done):
 * Everything that is read after this, through ${zookeeper}, is at least as new
 * as what the leader had carried out when it got the sync.  It is for all
 * nodes; ${path} need not be there.  A read may be started right after it,
 * without waiting for its end.  A busy leader may carry out what was committed
 * some milliseconds later than its followers.
 */
HF_API hf_status hf_zookeeper_sync(struct hf_zookeeper *zookeeper,
                                   const char *path, uint64_t wait_ms)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_sync_start(struct hf_zookeeper *zookeeper,
                                         const char *path, uint64_t wait_ms,
                                         struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_multi(zookeeper, ops, op_count, wait_ms, result),
 * hf_zookeeper_multi_start(zookeeper, ops, op_count, wait_ms, done):
 * Carry out all of ${ops} in one transaction, or none: CREATE, DELETE, SET and
 * CHECK.
 *   Fails     as the first of them that fails.
 */
HF_API hf_status hf_zookeeper_multi(struct hf_zookeeper *zookeeper,
                                    const struct hf_zookeeper_op *ops,
                                    size_t op_count, uint64_t wait_ms,
                                    struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_multi_start(struct hf_zookeeper *zookeeper,
                                          const struct hf_zookeeper_op *ops,
                                          size_t op_count, uint64_t wait_ms,
                                          struct hf_zookeeper_done done)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_zookeeper_get_acl(zookeeper, path, wait_ms, result):
 * Get the access list and the Stat of the node ${path}.
 *   Fails     HF_EGONE.
 */
HF_API hf_status hf_zookeeper_get_acl(struct hf_zookeeper *zookeeper,
                                      const char *path, uint64_t wait_ms,
                                      struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);

/**
 * hf_zookeeper_set_acl(zookeeper, path, acls, acl_count, version, wait_ms):
 * Replace the access list of the node ${path} if its .aversion is ${version}.
 *   Fails     HF_EGONE; HF_EVERSION; HF_EINVAL if the server does not accept
 *             ${acls}.
 */
HF_API hf_status hf_zookeeper_set_acl(struct hf_zookeeper *zookeeper,
                                      const char *path,
                                      const struct hf_zookeeper_acl *acls,
                                      size_t acl_count, int32_t version,
                                      uint64_t wait_ms) HF_NONNULL(1, 2, 3);

/**
 * hf_zookeeper_add_auth(zookeeper, scheme, bytes, count, wait_ms):
 * Prove an identity to the servers, such as "digest" and "user:password", at
 * once and on each later connection, in each later session too.  Operations
 * that were sent before do not have it.  If it is refused, the connection ends,
 * with what that means for operations, and the next one is made without it.  If
 * ${wait_ms} is over before the answer, the identity stays.
 *   Ownership ${bytes} are copied, and overwritten before they are freed.
 *   Fails     HF_EDENIED.
 */
HF_API hf_status hf_zookeeper_add_auth(struct hf_zookeeper *zookeeper,
                                       const char *scheme, const void *bytes,
                                       size_t count, uint64_t wait_ms)
    HF_NONNULL(1, 2);

/* ---------------------------------------------- fencing: hf_zookeeper_op -- */

/**
 * hf_zookeeper_op_check_grant(zookeeper, grant, op):
 * Set ${op} to the condition that the ticket of ${grant} is there, for
 * hf_zookeeper_multi(): a holder that was paused and has lost the lock writes
 * nothing, because its transaction fails with HF_EGONE.  It goes with a handle
 * of hf_client_zookeeper(), or with any other one of the same ensemble.
 *
 * The ticket is that of the first lock of ${grant}, as with hf_grant_token(),
 * and of a lease of several permits the first one.  A downgrade
 * (hf_grant_downgrade()) gives the grant another ticket: the old ${op} then
 * fails, so call this again.  Threads of one client that hand a mutex on to
 * each other share a ticket, so that it does not distinguish them.
 *   Ownership ${op}->path is valid until ${grant} is released.
 *   Thread    any, also in a callback.
 *   Fails     HF_ELOST if ${grant} is known to be lost; HF_ESTATE while it is
 *             being downgraded; HF_EINVAL if its ticket is not below the path
 *             of ${zookeeper}; HF_EUNSUPPORTED if it is of another engine than
 *             ZooKeeper; HF_ENOMEM HF_EFORKED.
 */
HF_API hf_status hf_zookeeper_op_check_grant(struct hf_zookeeper *zookeeper,
                                             struct hf_grant *grant,
                                             struct hf_zookeeper_op *op)
    HF_NONNULL(1, 2, 3) HF_MUST_CHECK;

/* ------------------------------------------ watches: hf_zookeeper_watch -- */

enum hf_zookeeper_watch_kind {
    /* One event, then it has to be set again: the data of the node change, or
     * it is deleted or created. */
    HF_ZOOKEEPER_WATCH_DATA = 1,
    /* One event: a child is created or deleted, or the node is deleted. */
    HF_ZOOKEEPER_WATCH_CHILDREN = 2,
    /* Every event of the node, of both kinds.  Servers from 3.6 on. */
    HF_ZOOKEEPER_WATCH_PERSISTENT = 3,
    /* Every creation, deletion and change of the node and of all nodes below
     * it.  Servers from 3.6 on. */
    HF_ZOOKEEPER_WATCH_RECURSIVE = 4
};

enum hf_zookeeper_event_kind {
    HF_ZOOKEEPER_CREATED = 1,
    HF_ZOOKEEPER_DELETED = 2,
    HF_ZOOKEEPER_CHANGED = 3,          /* its data */
    HF_ZOOKEEPER_CHILDREN_CHANGED = 4, /* a child was created or deleted */
    /* What happened is not known: read again what the watch is about.  A
     * persistent or recursive watch gets this once on each new connection,
     * before later events, because servers do not say what happened between
     * two connections.  A one-shot watch gets it when the session ends while it
     * is set; it is not set any more then.  Any watch gets it in place of
     * events for which there was no memory, or of which 4096 waited. */
    HF_ZOOKEEPER_RESYNC = 5
};

struct hf_zookeeper_event {
    enum hf_zookeeper_event_kind kind;
    const char *path; /* of the node it is about; of a RESYNC that of the
                         watch */
};

/* Called for the events of a watch, one at a time.  ${event} is valid until it
 * returns.  .drop is called when the watch was freed, or not opened. */
struct hf_zookeeper_on_event {
    void (*fn)(void *arg, const struct hf_zookeeper_event *event);
    void *arg;
    void (*drop)(void *arg);
};

/**
 * hf_zookeeper_watch_open(zookeeper, path, kind, on_event, watch):
 * Set ${watch} to a watch of ${path}, which is not set yet: an operation with
 * that .watch sets it.  A DATA or CHILDREN watch is set by each read, any
 * number of times; set twice before its event, it brings one.  A persistent or
 * recursive watch is set by HF_ZOOKEEPER_ADD_WATCH and stays set, in each later
 * session too; setting it again changes nothing.  If a server refuses an
 * ADD_WATCH, the connection ends and another one is made.
 *   Ownership ${path} is copied.  ${watch} must be freed with
 *             hf_zookeeper_watch_free().
 *   Callback  ${on_event}, from when it is set, in the order of the events.
 *   Fails     HF_EINVAL HF_ECLOSED HF_ELIMIT HF_ENOMEM HF_EFORKED; ${watch} is
 *             then NULL.
 */
HF_API hf_status hf_zookeeper_watch_open(struct hf_zookeeper *zookeeper,
                                         const char *path,
                                         enum hf_zookeeper_watch_kind kind,
                                         struct hf_zookeeper_on_event on_event,
                                         struct hf_zookeeper_watch **watch)
    HF_NONNULL(1, 2, 5) HF_MUST_CHECK;

/**
 * hf_zookeeper_watch_free(watch):
 * Free ${watch} (NULL is fine).  None of its events comes after this, and .drop
 * has been called, as with hf_client_remove_listener().  A read under way that
 * was to set it goes on without it; an ADD_WATCH ends with HF_ECANCELLED.  The
 * server is asked to forget the watch, unless another watch of the handle needs
 * what the server keeps for it.
 *   Time      until a call of ${watch} that runs on another thread has
 *             returned.
 */
HF_API void hf_zookeeper_watch_free(struct hf_zookeeper_watch *watch);

/**
 * hf_zookeeper_unreadable(zookeeper):
 * How many watches of ${zookeeper} may be silent, because their node may not be
 * read: they are set, and the last GET or CHILDREN of their path, or an EXISTS
 * after it, was refused for want of the permission.  Servers from 3.8.4 and
 * 3.9.2 on send no events of such a node, and say nothing in place of them.  A
 * node that was not read is not counted, and of a recursive watch only its own
 * node is.  Watches of caches and registrations are among these; of the nodes
 * of a cache see hf_zookeeper_cache_unreadable().
 *   Thread    any.  0 in a child of a fork.
 */
HF_API size_t hf_zookeeper_unreadable(const struct hf_zookeeper *zookeeper)
    HF_NONNULL(1);

#ifdef __cplusplus
}
#endif

#endif
