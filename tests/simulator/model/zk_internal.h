/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the ZooKeeper model: what servers of ZooKeeper 3.8 do as far
 * as clients can see, in virtual time and on links that may be cut.  Source:
 * the classes of ZooKeeper 3.8 that are named below.
 *
 *   zk_tree.c        znodes, and transactions on them (DataTree)
 *   zk_watch.c       the watches of one server (WatchManager)
 *   zk_prepare.c     leader: from a request to a transaction or an error
 *                    (PrepRequestProcessor)
 *   zk_tracker.c     leader: when sessions end (SessionTrackerImpl)
 *   zk_leader.c      leader: proposals, commits, pings (Leader)
 *   zk_follower.c    what a follower and its leader send each other (Learner)
 *   zk_peer.c        the links between servers
 *   zk_server.c      the life of a server, and elections
 *   zk_connection.c  a client's connection, both ends
 *   zk_answer.c      the answer to a request (FinalRequestProcessor)
 *   zk_acl.c         access lists, and who a connection is
 *   zk_drive.c       drives a session on a simulated link
 *   zk_client.c      the engine: the real client of locks
 *   zk_handle.c      the real client for any user: operations and watches
 *   zk_committed.c   the committed state, and what other programs do to it
 *   zk_faults.c      faults of servers
 *
 * A replica is one server's copy of the tree.  One more replica has the
 * committed state: it applies each transaction at the instant in which a
 * majority has it.  Only what is in that replica is final; the checks read it,
 * and no server does.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_INTERNAL_H

#include "engines/zookeeper/zk_engine.h"
#include "simulator/model/sim_internal.h"
#include "simulator/model/zk_acl.h"
#include "zookeeper/jute.h"
#include "zookeeper/protocol.h"
#include "zookeeper/zk_url.h"

#define ZK_SERVERS_MAX 5
#define ZK_COMMITTED ZK_SERVERS_MAX
#define ZK_REPLICAS (ZK_SERVERS_MAX + 1)

/* Operations of ZooKeeper that only servers send each other. */
enum zk_opcode {
    ZK_CREATE_SESSION = -10,
    ZK_DELETE_CONTAINER = 20,
};

struct zk_server;
struct zk_connection;
struct zk_handle;

/* -------------------------------------------------------------- sessions -- */

/* A session as each server knows it: [i] is what server i knows, as a replica,
 * as a leader and as a follower. */
struct zk_session {
    int64_t id; /* 0: no session */
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    /* Of the first connection; all that a new leader knows of it. */
    uint64_t timeout_ms;
    struct hf_engine *engine; /* NULL: of another program, never ends */
    /* It was begun by that server without a quorum, and no other one knows it;
     * NULL: it was not. */
    const struct zk_server *local;
    /* It was created and not closed, in that replica. */
    bool known[ZK_REPLICAS];
    /* On that leader's clock; 0: the leader does not know the session. */
    uint64_t expires_us[ZK_SERVERS_MAX];
    bool closing[ZK_SERVERS_MAX];
    /* The server that may send writes of the session to that leader. */
    const struct zk_server *owner[ZK_SERVERS_MAX];
    /* That follower has received something from the session since its last
     * report to the leader, under this timeout; 0: it has not. */
    uint64_t touched_ms[ZK_SERVERS_MAX];
    struct zk_session *next;
};

/* ------------------------------------------------------------------ tree -- */

struct zk_node {
    const char *path; /* .path and .data are in the model's memory */
    const char *name; /* the last part of .path */
    const uint8_t *data;
    size_t bytes;
    int64_t czxid;
    int64_t mzxid;
    int64_t pzxid;
    uint64_t ctime_ms;
    uint64_t mtime_ms;
    uint64_t written_us; /* true time of .mtime_ms */
    int32_t version;
    int32_t aversion;
    int32_t cversion; /* number of creates of children so far */
    const struct zk_acl *acl;
    struct zk_session *owner;
    bool container;
    int32_t children;
    struct zk_node *parent;
    struct zk_node *first; /* first child */
    /* Next child of the parent; next of the spare nodes. */
    struct zk_node *next;
    struct sim_ticket *ticket; /* in the committed replica: its ticket */
};

struct zk_replica {
    struct hf_sim *sim;
    struct zk_server *server; /* NULL: the committed replica */
    unsigned index;
    struct zk_node *root;
    struct zk_txn *applied;
};

/* A transaction, which the leader makes of a request.  .previous is the
 * transaction before it; the chain of these is the history.  Histories of two
 * leaders may differ behind a common beginning. */
struct zk_txn {
    int64_t zxid;
    struct zk_txn *previous;
    struct zk_txn *following; /* used while a replica catches up */
    int32_t opcode; /* HF_ZK_ERROR_RESULT: the request failed with .error */
    int32_t error;
    struct zk_session *session;
    struct zk_request *request; /* NULL: no client waits for it */
    struct zk_command *command;
    const char *path;
    const uint8_t *data;
    size_t bytes;
    bool ephemeral;
    bool container;
    const struct zk_acl *acl; /* of a create or SET_ACL */
    uint64_t made_us;         /* when the leader made it, and what its wall */
    uint64_t wall_ms;         /* clock showed then */
    int32_t version;          /* of SET_DATA; of SET_ACL that of the list */
    int32_t parent_cversion;  /* of a create: the new .cversion of the parent */
    struct zk_txn *parts;     /* of MULTI: its operations */
    struct zk_txn *next;      /* next of .parts */
};

/* WatcherMode of ZooKeeper. */
enum zk_watch_mode {
    ZK_WATCH_ONE_SHOT,
    ZK_WATCH_PERSISTENT,
    ZK_WATCH_RECURSIVE,
};

struct zk_watch {
    const char *path;
    struct zk_connection *connection;
    bool child;
    enum zk_watch_mode mode;
    struct zk_watch *next;
};

/* An event that a server has sent, for the checks, because servers before 3.9
 * do not say which transaction it is of. */
struct zk_sent_event {
    int32_t type;
    const char *path;
    int64_t zxid;
    struct zk_sent_event *next;
};

/* -------------------------------------------------------------- requests -- */

struct zk_request {
    struct zk_connection *connection;
    const struct zk_server *server; /* the server that received it */
    struct zk_session *session;
    int32_t xid;
    int32_t opcode;
    const uint8_t *body;
    size_t bytes;
    uint64_t timeout_ms; /* of CREATE_SESSION */
    struct zk_identities who;
    bool throttled;
    bool late;          /* its connection had ended when it arrived */
    struct zk_txn *txn; /* NULL until it is committed */
    bool done; /* the leader has committed it, or has answered its sync */
    struct zk_request *next;
};

/* A write that no client sends: of another program, of an administrator, or
 * of the leader.  It is proposed again by each new leader until it is
 * committed. */
struct zk_command {
    int32_t opcode;
    const char *path;
    /* Of DELETE: of the node with this ticket, whatever its path. */
    struct hf_ticket_id ticket;
    bool by_ticket;
    bool sequential;
    struct zk_session *session; /* of CLOSE_SESSION and CREATE */
    bool proposed;
    bool done;
    struct zk_command *next;
};

/* --------------------------------------------------------------- servers -- */

enum zk_message_kind {
    /* To the leader: */
    ZK_REQUEST,
    ZK_ACK,
    ZK_PONG,
    ZK_REVALIDATE,
    /* To the follower: */
    ZK_PROPOSAL,
    ZK_COMMIT,
    ZK_PING,
    ZK_SYNCED,
    ZK_REVALIDATED,
    /* Both ways: this end has closed the link. */
    ZK_LINK_CLOSED,
};

struct zk_session_touch {
    struct zk_session *session;
    uint64_t timeout_ms;
    struct zk_session_touch *next;
};

struct zk_message {
    struct sim_pipe_item item;
    enum zk_message_kind kind;
    struct zk_txn *txn;
    struct zk_request *request;
    struct zk_session *session;
    struct zk_connection *connection;
    uint64_t timeout_ms;
    bool valid;
    struct zk_session_touch *touches;
};

/* The link of a follower to its leader.  Each end can close on its own. */
struct zk_peer_link {
    struct zk_server *leader;
    struct zk_server *follower;
    struct sim_pipe up; /* to the leader */
    struct sim_pipe down;
    bool leader_open;   /* the leader has not closed its end */
    bool follower_open; /* the follower has not closed its end */
    /* When the leader last received something, on its clock. */
    uint64_t received_us;
    int64_t acked;
};

/* A transaction that the leader has proposed and not committed. */
struct zk_proposal {
    struct zk_txn *txn;
    /* Syncs that are answered when it is committed. */
    struct zk_sync *first_sync;
    struct zk_proposal *next;
};

struct zk_sync {
    struct zk_request *request;
    struct zk_peer_link *link; /* NULL: of a client of the leader itself */
    struct zk_sync *next;
};

/* A node as it will be when all proposals are committed; ZooKeeper has
 * ChangeRecord for this. */
struct zk_change_record {
    const char *path;
    int64_t zxid;
    bool exists;
    bool container;
    struct zk_session *owner;
    const struct zk_acl *acl;
    int32_t aversion;
    int32_t cversion;
    int32_t version;
    int32_t children;
    struct zk_change_record *next; /* an older one */
};

enum zk_role {
    ZK_DOWN,
    ZK_LOOKING,
    ZK_FOLLOWING,
    ZK_LEADING,
};

struct zk_server {
    struct hf_sim *sim;
    unsigned index;
    enum zk_role role;
    struct sim_clock clock; /* stops while its machine is paused */
    bool frozen;
    bool input_cut;          /* it receives nothing from other servers */
    bool output_cut;         /* other servers receive nothing from it */
    uint64_t timeout_max_ms; /* maxSessionTimeout */
    struct zk_replica replica;
    /* The last transaction in its log, committed or not. */
    struct zk_txn *logged;
    int64_t
        epoch; /* currentEpoch: of the last leader that it was, or followed */
    struct zk_connection *connections;
    struct zk_watch *watches;
    size_t watch_count;
    uint64_t armed_us;
    /* Following: */
    struct zk_peer_link *upstream;
    uint64_t received_us;
    /* Looking for a leader: since when, and the next try, on its clock */
    uint64_t looking_since_us;
    uint64_t election_at_us;
    /* Leading: */
    /* [i]: to follower i; NULL: none. */
    struct zk_peer_link *links[ZK_SERVERS_MAX];
    struct zk_proposal *first_proposal;
    struct zk_proposal *last_proposal;
    struct zk_change_record *changes; /* the newest first */
    int64_t zxid;                     /* the last number that it gave out */
    uint64_t ping_at_us;
    bool half_tick;
    uint64_t containers_at_us;
};

struct zk_ensemble {
    struct zk_server servers[ZK_SERVERS_MAX];
    unsigned count;
    struct zk_replica committed;
    /* The server that leads; NULL: the last one gave up. */
    struct zk_server *leader;
    int64_t epoch;
    struct zk_session *sessions; /* the newest first */
    int64_t session_count;
    struct zk_session *other_session;
    struct zk_command *first_command;
    struct zk_command *last_command;
    /* Tickets of several nodes that the current transaction has deleted some
     * of. */
    struct sim_ticket *touched;
    struct zk_node *spare_nodes;
    struct zk_watch *spare_watches;
    struct zk_chunk *spare_chunks;
    struct zk_connection *connections; /* all of this run */
    const char *denied; /* path below which creates are refused; NULL: none */
    uint64_t triggers;  /* calls of zk_watches_fire() so far */
    /* All data was lost once: tickets may vanish without an event. */
    bool wiped;
};

/* ----------------------------------------------------------- connections -- */

#define ZK_CHUNK_BYTES 480

enum zk_chunk_kind {
    ZK_BYTES,
    ZK_SYN,
    ZK_ACCEPTED,
    ZK_REFUSED,
    ZK_END,
};

struct zk_chunk {
    struct sim_pipe_item item;
    enum zk_chunk_kind kind;
    size_t count;
    uint8_t bytes[ZK_CHUNK_BYTES];
};

struct zk_connection {
    struct hf_sim *sim;
    struct hf_engine *engine;
    struct zk_server *server;
    struct sim_pipe out; /* to the server */
    struct sim_pipe in;
    bool client_open;
    bool server_open;
    /* The client has closed it, and what it had sent still arrives. */
    bool lingers;
    /* The client has read that it is accepted, with which timeout. */
    bool client_accepted;
    /* The server closes it after the next watch event. */
    bool reset_after_event;
    /* Of the server's end: */
    struct hf_jute_writer received; /* bytes of an incomplete frame */
    struct zk_session *session;     /* NULL until the server has accepted it */
    bool connect_received;          /* a ConnectRequest has arrived */
    bool accepted;
    struct zk_identities who;
    uint64_t timeout_ms;
    struct zk_request *first; /* requests without an answer, in order */
    struct zk_request *last;
    bool synced; /* a sync was answered */
    /* The last call of zk_watches_fire() that has sent it an event. */
    uint64_t notified_by;
    struct zk_sent_event *first_event; /* all that it was sent, in order */
    struct zk_sent_event *last_event;
    struct zk_connection *next; /* of the same server */
    struct zk_connection *next_ever;
};

struct zk_watch_request {
    struct hf_request *request;
    bool watching;
    struct zk_watch_request *next;
};

/* A client process: a session, and its owner. */
struct zk_client {
    struct hf_engine *engine;
    struct hf_zk_session *session;
    struct hf_zk_engine *zk;  /* the owner, if it is the client of locks */
    struct zk_handle *handle; /* the public client: the owner, or one that uses
                                 the session of .zk, and others behind it; NULL:
                                 none */
    /* The owner's next deadline, and what it does then; NULL: it has none. */
    uint64_t (*due_at_ms)(const struct zk_client *client);
    void (*run_due)(struct zk_client *client, uint64_t now_ms);
    uint64_t number; /* of the link that the client asked for */
    uint64_t asked;  /* of the last server that was asked for its quorum */
    struct zk_connection *connection;
    struct zk_session *client_session;
    /* The server that this client's stall has cut off. */
    struct zk_server *stalled;
    struct zk_watch_request *watches;
    unsigned call_depth; /* depth of calls into .zk */
    /* Connections to other servers are refused; -1: to none. */
    int only_server;
};

/* ------------------------------------------------------------- zk_tree.c -- */

void zk_replica_init(struct zk_replica *replica, struct hf_sim *sim,
                     struct zk_server *server, unsigned index);
struct zk_node *zk_find(const struct zk_replica *replica, const char *path);
int64_t zk_replica_zxid(const struct zk_replica *replica);
/* Apply all transactions from the last that ${replica} has up to ${txn}. */
void zk_catch_up(struct zk_replica *replica, struct zk_txn *txn);
void zk_put_stat(struct hf_jute_writer *out, const struct zk_node *node);
/* The length of the path of ${path}'s parent, 0 for children of the root. */
size_t zk_parent_bytes(const char *path);

/* ------------------------------------------------------------ zk_watch.c -- */

/* Set a watch, in place of the one that the connection has there. */
void zk_watch_set(struct zk_connection *connection, const char *path,
                  bool child, enum zk_watch_mode mode);
/* Remove a watch.  False if there was none. */
bool zk_watch_unset(struct zk_connection *connection, const char *path,
                    bool child);
/* Send the event to all that watch ${path}, but not to those that the call
 * numbered ${suppressed} has sent one; 0: to all.  Servers from 3.8.4 on keep
 * it from those that may not read a node with the list ${acl}.  Returns the
 * number of this call. */
uint64_t zk_watches_fire(struct zk_server *server, const char *path, bool child,
                         int32_t type, const struct zk_acl *acl,
                         uint64_t suppressed);
/* Note that the connection is sent that event of the transaction ${zxid}. */
void zk_event_sent(struct zk_connection *connection, int32_t type,
                   const char *path, int64_t zxid);
void zk_watches_drop(struct zk_connection *connection);

/* ---------------------------------------------------------- zk_prepare.c -- */

/* The transaction that the leader makes of ${request} of a client of ${from},
 * numbered ${zxid}.  The second: of a command. */
struct zk_txn *zk_prepare(struct zk_server *leader, struct zk_request *request,
                          const struct zk_server *from, int64_t zxid);
struct zk_txn *zk_prepare_command(struct zk_server *leader,
                                  struct zk_command *command, int64_t zxid);
/* Drop the records of proposals up to ${zxid}, which are committed. */
void zk_change_records_drop(struct zk_server *leader, int64_t zxid);

/* ---------------------------------------------------------- zk_tracker.c -- */

/* A new leader gives each session that it knows a whole timeout. */
void zk_tracker_start(struct zk_server *leader);
void zk_session_track(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms);
/* Restart the timeout of the session.  False: the leader does not know the
 * session, or is closing it. */
bool zk_session_touch(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms);
bool zk_session_tracked(const struct zk_server *leader,
                        const struct zk_session *session);
/* 0 if a client of ${from} may write in this session, else an error code. */
int32_t zk_session_check(struct zk_server *leader, struct zk_session *session,
                         const struct zk_server *from);
/* Close the sessions whose timeout has passed. */
void zk_tracker_expire(struct zk_server *leader);
uint64_t zk_tracker_next_us(const struct zk_server *leader);

/* ----------------------------------------------------------- zk_leader.c -- */

void zk_become_leader(struct zk_server *leader);
void zk_leader_stop(struct zk_server *leader);
/* A request of a client of the follower at ${link}; NULL: of a client of the
 * leader itself. */
void zk_leader_request(struct zk_server *leader, struct zk_request *request,
                       struct zk_peer_link *link);
void zk_leader_ack(struct zk_server *leader, struct zk_peer_link *link,
                   int64_t zxid);
void zk_leader_join(struct zk_server *leader, struct zk_server *follower);
void zk_leader_end_session(struct zk_server *leader,
                           struct zk_session *session);
void zk_leader_tick(struct zk_server *leader);
uint64_t zk_leader_next_us(const struct zk_server *leader);
/* The leader proposes the commands that no leader has proposed yet. */
void zk_commands_push(struct hf_sim *sim);
struct zk_command *zk_command_new(struct hf_sim *sim, int32_t opcode);

/* --------------------------------------------------------- zk_follower.c -- */

void zk_follower_receive(struct zk_peer_link *link, struct zk_message *message);
void zk_leader_receive(struct zk_peer_link *link, struct zk_message *message);
/* ${server} learns that ${txn} is committed, and answers its request. */
void zk_server_commit(struct zk_server *server, struct zk_txn *txn);

/* ------------------------------------------------------------- zk_peer.c -- */

struct zk_peer_link *zk_peer_link_new(struct zk_server *leader,
                                      struct zk_server *follower);
struct zk_message *zk_message_new(struct hf_sim *sim,
                                  enum zk_message_kind kind);
void zk_send_up(struct zk_peer_link *link, struct zk_message *message);
void zk_send_down(struct zk_peer_link *link, struct zk_message *message);
/* Deliver what was held up on the links of ${server}. */
void zk_peer_links_flush(struct zk_server *server);
/* Are none of the links of the two cut? */
bool zk_can_communicate(const struct zk_server *a, const struct zk_server *b);

/* ----------------------------------------------------------- zk_server.c -- */

struct zk_ensemble *zk_ensemble_new(struct hf_sim *sim);
uint64_t zk_clock_us(const struct zk_server *server);
/* Set the timer of ${server} to its next deadline. */
void zk_server_arm(struct zk_server *server);
/* Give up leading or following and close all connections of clients.  ${role}
 * is ZK_DOWN or ZK_LOOKING. */
void zk_server_leave_role(struct zk_server *server, enum zk_role role);
/* Draw its maxSessionTimeout, which may be another one each time it starts. */
void zk_server_configure(struct zk_server *server);
bool zk_serves(const struct zk_server *server);
/* Does it serve readers, although it has no leader? */
bool zk_serves_readers(const struct zk_server *server);
/* The server has a leader now: what it was as a read-only one ends. */
void zk_server_stop_reading(struct zk_server *server);
struct zk_session *zk_session_find(struct hf_sim *sim, int64_t id);
struct zk_session *zk_session_new(struct hf_sim *sim, struct hf_engine *engine,
                                  uint64_t timeout_ms);
/* Is there a leader with a majority, and does ${server} reach it? */
bool zk_can_commit(const struct zk_server *server);

/* ------------------------------------------------------- zk_connection.c -- */

struct zk_connection *zk_connection_new(struct hf_engine *engine,
                                        struct zk_server *server);
/* The client's end: send ${count} bytes; close it; reset both ends. */
void zk_connection_write(struct zk_connection *connection, const void *bytes,
                         size_t count);
void zk_connection_close_client(struct zk_connection *connection);
/* What was sent to the client still arrives, and then the end of the
 * connection. */
void zk_connection_end_after_output(struct zk_connection *connection);
void zk_connection_reset(struct zk_connection *connection);
/* The server's end: send ${count} bytes; close it. */
void zk_reply(struct zk_connection *connection, const void *bytes,
              size_t count);
void zk_connection_close_server(struct zk_connection *connection);
/* Answer requests from the first on, up to one that waits for the leader. */
void zk_connection_answer_ready(struct zk_connection *connection);
void zk_revalidated(struct zk_connection *connection,
                    struct zk_session *session, uint64_t timeout_ms,
                    bool valid);
/* ${server} has learned that the session is closed: close its connections.
 * ${asked} is the CLOSE_SESSION request that gets an answer first, or NULL. */
void zk_session_closed(struct zk_server *server, struct zk_session *session,
                       const struct zk_request *closing_request);
bool zk_needs_leader(const struct zk_request *request);

/* ----------------------------------------------------------- zk_answer.c -- */

void zk_answer(struct zk_request *request);
void zk_answer_error(struct zk_connection *connection, int32_t xid,
                     int32_t error);
void zk_answer_connect(struct zk_connection *connection,
                       const struct zk_session *session);
/* A request to a server without a quorum. */
void zk_answer_reader(struct zk_request *request);

/* ------------------------------------------------------------ zk_drive.c -- */

/* The options of a session that this run has drawn. */
void zk_drive_configure(struct hf_sim *sim, struct hf_zk_url_config *config);
uint64_t zk_drive_now_ms(const struct zk_client *client);
/* Around each call into the session: the outermost zk_drive_end() connects,
 * writes and sets the timer as the session asks. */
void zk_drive_begin(struct zk_client *client);
void zk_drive_end(struct zk_client *client);
/* Close the connection, if there is one. */
void zk_drive_close(struct zk_client *client);
void zk_drive_receive(struct zk_client *client,
                      struct zk_connection *connection,
                      const struct zk_chunk *chunk);
/* As in struct sim_model_ops. */
void zk_drive_thaw(struct hf_engine *engine);
void zk_drive_flush(struct hf_engine *engine);
void zk_drive_reset(struct hf_engine *engine);
void zk_drive_kill_session(struct hf_engine *engine);
const void *zk_drive_owner(const struct hf_engine *engine);
bool zk_drive_alive(const struct hf_engine *engine);
bool zk_drive_connected(const struct hf_engine *engine);

/* -------------------------------------------------------- zk_committed.c -- */

/* Update the committed queues and notify the observer of a node that was
 * created, written or deleted.  ${following}: the operations of the same
 * transaction that come after this one. */
void zk_committed_create(struct hf_sim *sim, struct zk_node *node,
                         const struct zk_txn *following);
void zk_committed_write(struct hf_sim *sim, struct zk_node *node);
void zk_committed_delete(struct hf_sim *sim, struct zk_node *node);
/* Notify the observer of the change of ${node} by the last transaction. */
void zk_committed_observe(struct hf_sim *sim, enum hf_sim_node_change_kind kind,
                          const struct zk_node *node);
/* The transaction has been applied completely. */
void zk_committed_end(struct hf_sim *sim);
uint64_t zk_lease_end_us(const struct hf_engine *engine,
                         const struct hf_ticket_id *ticket);
bool zk_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
              struct sim_ticket *found);
void zk_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                      enum hf_ticket_kind kind,
                      const struct hf_ticket_id *ticket,
                      const struct sim_ticket *beside);
void zk_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up);
void zk_touch_barrier(struct hf_sim *sim, struct sim_queue *queue);
void zk_make_parents(struct hf_sim *sim, const char *path);
/* Another program creates a node of any name. */
void zk_other_create(struct hf_sim *sim, const char *path, bool sequential);

/* ----------------------------------------------------------- zk_faults.c -- */

void zk_stall(struct hf_engine *engine, bool out, bool in);
void zk_restart(struct hf_sim *sim);
void zk_end_faults(struct hf_sim *sim);

#endif
