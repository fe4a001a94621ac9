/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers and records of ZooKeeper's client protocol.  The source is
 * zookeeper.jute and ZooDefs.java in ZooKeeper's tree. */
#ifndef HF_ZOOKEEPER_PROTOCOL_H
#define HF_ZOOKEEPER_PROTOCOL_H

#include "zookeeper/jute.h"

/* The type of a request: ZooDefs.OpCode of ZooKeeper 3.9, without those that
 * only servers use. */
enum hf_zk_opcode {
    HF_ZK_CREATE = 1,
    HF_ZK_DELETE = 2,
    HF_ZK_EXISTS = 3,
    HF_ZK_GET_DATA = 4,
    HF_ZK_SET_DATA = 5,
    HF_ZK_GET_ACL = 6,
    HF_ZK_SET_ACL = 7,
    HF_ZK_GET_CHILDREN = 8,
    HF_ZK_SYNC = 9,
    HF_ZK_PING = 11,
    HF_ZK_GET_CHILDREN2 = 12, /* answered with the node's Stat, too */
    HF_ZK_CHECK = 13,         /* only in a multi */
    HF_ZK_MULTI = 14,
    HF_ZK_CREATE2 = 15,
    HF_ZK_RECONFIG = 16,
    HF_ZK_CHECK_WATCHES = 17,
    HF_ZK_REMOVE_WATCHES = 18,
    HF_ZK_CREATE_CONTAINER = 19,
    HF_ZK_CREATE_TTL = 21,
    HF_ZK_MULTI_READ = 22,
    HF_ZK_AUTH = 100,
    HF_ZK_SET_WATCHES = 101,
    HF_ZK_SASL = 102,
    HF_ZK_GET_EPHEMERALS = 103,
    HF_ZK_GET_ALL_CHILDREN_NUMBER = 104,
    HF_ZK_SET_WATCHES2 = 105,
    HF_ZK_ADD_WATCH = 106,
    HF_ZK_WHO_AM_I = 107,
    HF_ZK_CLOSE_SESSION = -11,
    HF_ZK_ERROR_RESULT = -1, /* the type of a failed result within the answer
                                to a multi */
};

/* The xids of answers that belong to no call. */
enum hf_zk_xid {
    HF_ZK_XID_EVENT = -1,
    HF_ZK_XID_PING = -2,
    HF_ZK_XID_AUTH = -4,
    HF_ZK_XID_SET_WATCHES = -8,
};

/* Kinds of nodes: CreateMode. */
enum hf_zk_create_flags {
    HF_ZK_PERSISTENT = 0,
    HF_ZK_EPHEMERAL = 1,
    HF_ZK_EPHEMERAL_SEQUENTIAL = 3,
    HF_ZK_CONTAINER = 4,
};

/* What a watch reports: Watcher.Event.EventType. */
enum hf_zk_event_type {
    HF_ZK_NODE_CREATED = 1,
    HF_ZK_NODE_DELETED = 2,
    HF_ZK_NODE_DATA_CHANGED = 3,
    HF_ZK_NODE_CHILDREN_CHANGED = 4,
    /* Made by the client: what happened is not known, so read again. */
    HF_ZK_RESYNC = -2,
};

/* Errors of a server: KeeperException.Code.  X(name, number, text); the text
 * completes "cannot create ...: ". */
#define HF_ZK_ERROR_TABLE(X)                                                   \
    X(SYSTEM_ERROR, -1, "a fault of the server")                               \
    X(INCONSISTENCY, -2, "an inconsistency in the server")                     \
    X(DATA_INCONSISTENCY, -3, "an inconsistency in the server's data")         \
    X(CONNECTION_LOSS, -4, "the server lost its own connection")               \
    X(MARSHALLING, -5, "the server could not read the request")                \
    X(UNIMPLEMENTED, -6, "unknown to the server")                              \
    X(OPERATION_TIMEOUT, -7, "the server ran out of time")                     \
    X(BAD_ARGUMENTS, -8, "bad arguments")                                      \
    X(UNKNOWN_SESSION, -12, "the server does not know the session")            \
    X(NEW_CONFIG_NO_QUORUM, -13,                                               \
      "no quorum of the new configuration has the leader's data")              \
    X(RECONFIG_IN_PROGRESS, -14, "another reconfiguration is in progress")     \
    X(API_ERROR, -100, "the server found a mistake in the request")            \
    X(NO_NODE, -101, "no such node")                                           \
    X(NO_AUTH, -102, "no permission")                                          \
    X(BAD_VERSION, -103, "another version")                                    \
    X(NO_CHILDREN_FOR_EPHEMERALS, -108, "the parent is an ephemeral node")     \
    X(NODE_EXISTS, -110, "the node is there already")                          \
    X(NOT_EMPTY, -111, "the node has children")                                \
    X(SESSION_EXPIRED, -112, "the session has expired")                        \
    X(INVALID_CALLBACK, -113, "the server found an invalid callback")          \
    X(INVALID_ACL, -114, "the server does not accept the access list")         \
    X(AUTH_FAILED, -115, "the server did not accept the credentials")          \
    X(SESSION_MOVED, -118, "the session has moved to another server")          \
    X(NOT_READ_ONLY, -119, "the server is read-only")                          \
    X(EPHEMERAL_ON_LOCAL_SESSION, -120,                                        \
      "the session is local to one server and cannot have ephemeral nodes")    \
    X(NO_WATCHER, -121, "no such watch")                                       \
    X(REQUEST_TIMEOUT, -122, "the server ran out of time for the request")     \
    X(RECONFIG_DISABLED, -123, "the servers do not allow reconfiguration")     \
    X(SASL_REQUIRED, -124, "the server expects SASL")                          \
    X(QUOTA_EXCEEDED, -125, "the quota is used up")                            \
    X(THROTTLED, -127, "the server has too much to do")

/* clang-format off */
enum hf_zk_error {
    HF_ZK_OK = 0,
#define HF_ZK_ERROR_ENUM_(name, number, text) HF_ZK_##name = number,
    HF_ZK_ERROR_TABLE(HF_ZK_ERROR_ENUM_)
#undef HF_ZK_ERROR_ENUM_
    /* Made by the client: the connection ended before the answer came.  The
     * request may have taken effect, or may take effect later. */
    HF_ZK_DISCONNECTED = 1,
    /* Made by the client: the answer does not fit the request. */
    HF_ZK_MALFORMED = 2,
    /* Made by the client: there was no memory for what the answer says. */
    HF_ZK_OUT_OF_MEMORY = 3,
    /* Made by the client: the answer says success and is longer than the
     * session takes.  The request has been carried out. */
    HF_ZK_ANSWER_TOO_LONG = 4,
};
/* clang-format on */

/* The text of ${error} in the table; for any other error, a text that says that
 * it is unknown. */
const char *hf_zk_error_text(enum hf_zk_error error);

/* The node of the configuration of the ensemble, whatever the chroot is. */
#define HF_ZK_CONFIG_PATH "/zookeeper/config"

#define HF_ZK_PASSWORD_BYTES 16
#define HF_ZK_PERMISSIONS_ALL 31

/* A node's Stat.  Times are UTC in milliseconds, by the clock of some server.
 */
struct hf_zk_stat {
    int64_t czxid;      /* the transaction that created the node; the fencing
                           token */
    int64_t mzxid;      /* the transaction that last wrote its data */
    int64_t pzxid;      /* the transaction that last created or deleted a
                           child */
    int64_t ctime;      /* when it was created */
    int64_t mtime;      /* when its data were last written */
    int64_t owner;      /* ephemeralOwner: the session of an ephemeral node.
                           For other nodes 0, or a mark for a container or a
                           time to live */
    int32_t version;    /* counts the writes of the node's data */
    int32_t cversion;   /* counts the creates and deletes of children */
    int32_t aversion;   /* counts the writes of the access list */
    int32_t data_bytes; /* dataLength */
    int32_t children;   /* numChildren */
};
#define HF_ZK_STAT_BYTES 68

/* Is ${owner}, which is .owner of a Stat, the id of a session? */
bool hf_zk_is_session(int64_t owner);

/* Read a Stat.  Zeros if there are too few bytes. */
struct hf_zk_stat hf_zk_get_stat(struct hf_jute_reader *reader);

/* A ConnectRequest: begin a session, or resume the one that .id names. */
struct hf_zk_connect_request {
    int64_t zxid; /* the server must have applied this transaction */
    uint64_t timeout_ms;
    int64_t id;              /* 0: begin a session */
    const uint8_t *password; /* HF_ZK_PASSWORD_BYTES */
    bool read_only;          /* a server without a quorum may accept it */
};

/* hf_zk_put_connect_request() appends the first request of a connection.
 * hf_zk_put_close_request() appends a request that closes the session directly
 * after that; nothing may be sent between the two. */
void hf_zk_put_connect_request(struct hf_jute_writer *out,
                               const struct hf_zk_connect_request *request);
void hf_zk_put_close_request(struct hf_jute_writer *out);

/* The expected version that matches any version of a node. */
#define HF_ZK_ANY_VERSION (-1)

/* ---------------------------------------------------------------- multi -- */

/* The record of a multi consists of operations, and that of its answer of
 * results.  Each has a header before it, and a header ends the record. */

/* hf_zk_multi_put_header() writes the header before an operation of ${type}.
 * hf_zk_multi_put_end() writes the header that ends the record. */
void hf_zk_multi_put_header(struct hf_jute_writer *out, int32_t type);
void hf_zk_multi_put_end(struct hf_jute_writer *out);

/* Read a header.  Returns the type of what follows.  ${done} is set to true for
 * the header that ends the record. */
int32_t hf_zk_multi_get_header(struct hf_jute_reader *reader, bool *done);

/* The result of a multi from the body of its answer: HF_ZK_OK, the error of the
 * operation that failed, or HF_ZK_MALFORMED.  With HF_ZK_OK exactly ${count} of
 * its operations were creates, and ${paths} is set to the paths of the created
 * nodes.  Servers answer a create2 within a multi like a create, without a
 * Stat. */
enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count);

/* Read the header of the next operation's answer from ${body}, the answer to a
 * HF_ZK_MULTI_READ.  HF_ZK_OK: the result of the operation follows.  Else the
 * error of that operation, or HF_ZK_MALFORMED. */
enum hf_zk_error hf_zk_multi_read_next(struct hf_jute_reader *body);

/* The index, from 0, of the operation that failed; only for a multi that
 * failed. */
size_t hf_zk_multi_failed_index(const struct hf_jute_reader *body);

#endif
