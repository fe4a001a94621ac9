/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the model ensemble: what servers of ZooKeeper 3.8 do, as far as
 * clients can tell, in virtual time and on links that the world may cut.
 *
 *   zk_tree.c      znodes, and what a transaction does to them
 *   zk_watch.c     who watches what at one server
 *   zk_prepare.c   the leader: from a request to a transaction or an error
 *   zk_tracker.c   the leader: when sessions end, in buckets of a tick
 *   zk_leader.c    the leader: the order of transactions; pings
 *   zk_follower.c  the follower: what it tells its leader, and hears
 *   zk_peer.c      the links between them
 *   zk_server.c    a server's life, and elections
 *   zk_connection.c  the server's end of a client's connection
 *   zk_answer.c    what is answered to a request
 *   zk_client.c    the engine: the real client on a model link
 *   zk_truth.c     what is so, whatever any server believes
 *   zk_fault.c     what may go wrong with servers
 *
 * A replica is one server's copy of the tree; one more, the truth, has each
 * transaction the moment that it is committed.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_INTERNAL_H

#include "engines/zookeeper/zk_machine.h"
#include "simulator/model/sim_internal.h"
#include "zookeeper/jute.h"
#include "zookeeper/protocol.h"

#define ZK_SERVERS_MAX 5
#define ZK_COMMITTED ZK_SERVERS_MAX
#define ZK_REPLICAS (ZK_SERVERS_MAX + 1)

/* What only servers of the real thing need to know. */
enum zk_opcode {
    ZK_CREATE_SESSION = -10,
    ZK_GET_CHILDREN2 = 12,
    ZK_REMOVE_WATCHES = 18,
    ZK_DELETE_CONTAINER = 20,
};

#define ZK_NO_WATCHER (-121) /* an error */

struct zk_server;
struct zk_connection;

/* ------------------------------------------------------------- sessions -- */

/* How each server sees it: as a replica, as a leader, as a learner. */
struct zk_session {
    int64_t id; /* 0 is nobody's */
    uint8_t password[HF_ZK_PASSWORD_BYTES];
    uint64_t
        timeout_ms; /* of its first connection; a new leader has no other */
    struct hf_engine *engine;            /* NULL: foreign */
    bool known[ZK_REPLICAS];             /* begun and not ended */
    uint64_t expires_us[ZK_SERVERS_MAX]; /* on the leader's clock; 0: never
                                            heard of */
    bool closing[ZK_SERVERS_MAX];
    const struct zk_server *owner[ZK_SERVERS_MAX]; /* whose clients' writes
                                                      the leader accepts */
    uint64_t touched_ms[ZK_SERVERS_MAX]; /* heard of since the last report,
                                            with this timeout; 0: not */
    struct zk_session *next;
};

/* ----------------------------------------------------------------- tree -- */

struct zk_node {
    const char *path; /* of the model's memory, as is .data */
    const char *name; /* in .path */
    const uint8_t *data;
    size_t bytes;
    int64_t czxid;
    int64_t mzxid;
    int64_t pzxid;
    int32_t version;
    int32_t cversion; /* children ever created */
    struct zk_session *owner;
    bool container;
    int32_t children;
    struct zk_node *parent;
    struct zk_node *first;     /* child */
    struct zk_node *next;      /* sibling, or spare */
    struct sim_ticket *ticket; /* of the truth */
};

struct zk_replica {
    struct hf_sim *sim;
    struct zk_server *server; /* NULL: the truth */
    unsigned index;
    struct zk_node *root;
    struct zk_txn *applied;
};

/* A transaction, what the leader made of a request.  The chain of .previous is
 * the history up to it; histories of two leaders may part. */
struct zk_txn {
    int64_t zxid;
    struct zk_txn *previous;
    struct zk_txn *following; /* only while a replica catches up */
    int32_t opcode;           /* HF_ZK_ERROR_RESULT: it failed, see .error */
    int32_t error;
    struct zk_session *session;
    struct zk_request *request; /* NULL: nobody waits for it */
    struct zk_command *command;
    const char *path;
    const uint8_t *data;
    size_t bytes;
    bool ephemeral;
    bool container;
    int32_t version;         /* SET_DATA */
    int32_t parent_cversion; /* creates */
    struct zk_txn *parts;    /* MULTI */
    struct zk_txn *next;     /* part */
};

struct zk_watch {
    const char *path;
    struct zk_connection *connection;
    bool child;
    struct zk_watch *next;
};

/* ------------------------------------------------------------- requests -- */

struct zk_request {
    struct zk_connection *connection;
    const struct zk_server *server; /* that was asked */
    struct zk_session *session;
    int32_t xid;
    int32_t opcode;
    const uint8_t *body;
    size_t bytes;
    uint64_t timeout_ms; /* CREATE_SESSION */
    bool throttled;
    bool late;          /* its connection had ended */
    struct zk_txn *txn; /* once committed */
    bool done;          /* by the leader: committed, or synced */
    struct zk_request *next;
};

/* Somebody else's write: repeated until it is committed. */
struct zk_command {
    int32_t opcode;
    const char *path;
    struct hf_ticket_id ticket; /* DELETE: whatever node it has */
    bool by_ticket;
    bool sequential;
    struct zk_session *session; /* CLOSE_SESSION, CREATE */
    bool proposed;
    bool done;
    struct zk_command *next;
};

/* -------------------------------------------------------------- servers -- */

enum zk_message_kind {
    /* To the leader. */
    ZK_REQUEST,
    ZK_ACK,
    ZK_PONG,
    ZK_REVALIDATE,
    /* To the follower. */
    ZK_PROPOSAL,
    ZK_COMMIT,
    ZK_PING,
    ZK_SYNCED,
    ZK_REVALIDATED,
    /* Both ways: the end of the link. */
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

/* A follower's link to its leader, as long as both hold on to it. */
struct zk_peer_link {
    struct zk_server *leader;
    struct zk_server *follower;
    struct sim_pipe up; /* to the leader */
    struct sim_pipe down;
    bool leader_open;     /* the leader's end is open */
    bool follower_open;   /* the follower's end is */
    uint64_t received_us; /* on the leader's clock */
    int64_t acked;
};

/* What the leader has decided on and not committed. */
struct zk_proposal {
    struct zk_txn *txn;
    struct zk_sync *first_sync; /* to be answered behind it */
    struct zk_proposal *next;
};

struct zk_sync {
    struct zk_request *request;
    struct zk_peer_link *link; /* NULL: the leader's own client */
    struct zk_sync *next;
};

/* A node as it will be when all that is decided on is committed. */
struct zk_change_record {
    const char *path;
    int64_t zxid;
    bool exists;
    bool container;
    struct zk_session *owner;
    int32_t cversion;
    int32_t version;
    int32_t children;
    struct zk_change_record *next; /* older */
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
    struct sim_clock clock; /* stands while its machine is paused */
    bool frozen;
    bool input_cut;          /* nothing of other servers reaches it */
    bool output_cut;         /* nothing of it reaches them */
    uint64_t timeout_max_ms; /* maxSessionTimeout */
    struct zk_replica replica;
    struct zk_txn *logged; /* the last, committed or not */
    struct zk_connection *connections;
    struct zk_watch *watches;
    size_t watch_count;
    uint64_t armed_us;
    /* Following. */
    struct zk_peer_link *upstream;
    uint64_t received_us;
    /* Looking. */
    uint64_t election_at_us;
    /* Leading. */
    struct zk_peer_link *links[ZK_SERVERS_MAX]; /* by the follower's index */
    struct zk_proposal *first_proposal;
    struct zk_proposal *last_proposal;
    struct zk_change_record *changes; /* newest first */
    int64_t zxid;                     /* given out last */
    uint64_t ping_at_us;
    bool half_tick;
    uint64_t containers_at_us;
};

struct zk_ensemble {
    struct zk_server servers[ZK_SERVERS_MAX];
    unsigned count;
    struct zk_replica committed;
    struct zk_server *leader; /* the latest there was; NULL: it gave up */
    int64_t epoch;
    struct zk_session *sessions; /* newest first */
    int64_t session_count;
    struct zk_session *other_session;
    struct zk_command *first_command;
    struct zk_command *last_command;
    struct sim_ticket *touched; /* leases that this transaction has deleted
                                   nodes of */
    struct zk_node *spare_nodes;
    struct zk_watch *spare_watches;
    struct zk_chunk *spare_chunks;
    struct zk_connection *connections; /* all there ever were */
    const char *denied; /* creates below it are refused; NULL: none are */
    bool wiped;         /* tickets may vanish without a word */
};

/* ---------------------------------------------------------- connections -- */

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
    bool lingers; /* the client is gone, and what it sent still arrives */
    bool client_accepted;   /* the client knows that it is accepted, and for how
                               long */
    bool reset_after_event; /* ends behind the next event */
    /* The server's. */
    struct hf_jute_writer received; /* less than a frame */
    struct zk_session *session;     /* once it is accepted */
    bool connect_received;          /* there was a ConnectRequest */
    bool accepted;
    uint64_t timeout_ms;
    struct zk_request *first; /* in order, not yet answered */
    struct zk_request *last;
    struct zk_connection *next; /* at the server */
    struct zk_connection *next_ever;
};

struct zk_watch_request {
    struct hf_request *request;
    bool watching;
    struct zk_watch_request *next;
};

struct zk_client {
    struct hf_engine *engine;
    struct hf_zk *zk;
    uint64_t number; /* of the link that the client wants */
    struct zk_connection *connection;
    struct zk_session *client_session;
    struct zk_server *stalled; /* by this client's fault */
    struct zk_watch_request *watches;
    unsigned call_depth; /* calls into .zk */
    int only_server;     /* no other server takes its connections; -1: any */
};

/* ------------------------------------------------------------ zk_tree.c -- */

void zk_replica_init(struct zk_replica *replica, struct hf_sim *sim,
                     struct zk_server *server, unsigned index);
struct zk_node *zk_find(const struct zk_replica *replica, const char *path);
int64_t zk_replica_zxid(const struct zk_replica *replica);
/* Have ${txn} be the last that ${replica} has, with all before it. */
void zk_catch_up(struct zk_replica *replica, struct zk_txn *txn);
void zk_put_stat(struct hf_jute_writer *out, const struct zk_node *node);
/* The length of ${path}'s parent; that of the root's children is 0. */
size_t zk_parent_bytes(const char *path);

/* ----------------------------------------------------------- zk_watch.c -- */

void zk_watch_set(struct zk_connection *connection, const char *path,
                  bool child);
/* False if there was none. */
bool zk_watch_unset(struct zk_connection *connection, const char *path,
                    bool child);
void zk_watches_fire(struct zk_server *server, const char *path, bool child,
                     int32_t type);
void zk_watches_drop(struct zk_connection *connection);

/* --------------------------------------------------------- zk_prepare.c -- */

/* The transaction for ${request} of ${from}'s client, with the number
 * ${zxid}. */
struct zk_txn *zk_prepare(struct zk_server *leader, struct zk_request *request,
                          const struct zk_server *from, int64_t zxid);
struct zk_txn *zk_prepare_command(struct zk_server *leader,
                                  struct zk_command *command, int64_t zxid);
/* What is committed up to ${zxid} need not be remembered. */
void zk_change_records_drop(struct zk_server *leader, int64_t zxid);

/* --------------------------------------------------------- zk_tracker.c -- */

/* Every session that ${leader} knows gets a full timeout. */
void zk_tracker_start(struct zk_server *leader);
void zk_session_track(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms);
/* False: it is over, or nearly so. */
bool zk_session_touch(struct zk_server *leader, struct zk_session *session,
                      uint64_t timeout_ms);
bool zk_session_tracked(const struct zk_server *leader,
                        const struct zk_session *session);
/* May ${from}'s client write?  0 or an error. */
int32_t zk_session_check(struct zk_server *leader, struct zk_session *session,
                         const struct zk_server *from);
/* End those whose time is over. */
void zk_tracker_expire(struct zk_server *leader);
uint64_t zk_tracker_next_us(const struct zk_server *leader);

/* ---------------------------------------------------------- zk_leader.c -- */

void zk_become_leader(struct zk_server *leader);
void zk_leader_stop(struct zk_server *leader);
/* ${link} is NULL for the leader's own clients. */
void zk_leader_request(struct zk_server *leader, struct zk_request *request,
                       struct zk_peer_link *link);
void zk_leader_ack(struct zk_server *leader, struct zk_peer_link *link,
                   int64_t zxid);
void zk_leader_join(struct zk_server *leader, struct zk_server *follower);
void zk_leader_end_session(struct zk_server *leader,
                           struct zk_session *session);
void zk_leader_tick(struct zk_server *leader);
uint64_t zk_leader_next_us(const struct zk_server *leader);
/* Propose what has not been. */
void zk_commands_push(struct hf_sim *sim);
struct zk_command *zk_command_new(struct hf_sim *sim, int32_t opcode);

/* -------------------------------------------------------- zk_follower.c -- */

void zk_follower_receive(struct zk_peer_link *link, struct zk_message *message);
void zk_leader_receive(struct zk_peer_link *link, struct zk_message *message);
/* A transaction is committed as far as ${server} knows. */
void zk_server_commit(struct zk_server *server, struct zk_txn *txn);

/* ------------------------------------------------------------ zk_peer.c -- */

struct zk_peer_link *zk_peer_link_new(struct zk_server *leader,
                                      struct zk_server *follower);
struct zk_message *zk_message_new(struct hf_sim *sim,
                                  enum zk_message_kind kind);
void zk_send_up(struct zk_peer_link *link, struct zk_message *message);
void zk_send_down(struct zk_peer_link *link, struct zk_message *message);
/* Let what was held up at ${server} move. */
void zk_peer_links_flush(struct zk_server *server);
/* May the two hear each other? */
bool zk_can_communicate(const struct zk_server *a, const struct zk_server *b);

/* ---------------------------------------------------------- zk_server.c -- */

struct zk_ensemble *zk_ensemble_new(struct hf_sim *sim);
uint64_t zk_clock_us(const struct zk_server *server);
/* See to it that the server looks at its clock at ${at_us} of it. */
void zk_server_arm(struct zk_server *server);
/* Give up the role it has, and its clients; DOWN or LOOKING. */
void zk_server_leave_role(struct zk_server *server, enum zk_role role);
/* Its configuration, which may be another one each time it starts. */
void zk_server_configure(struct zk_server *server);
bool zk_serves(const struct zk_server *server);
struct zk_session *zk_session_find(struct hf_sim *sim, int64_t id);
struct zk_session *zk_session_new(struct hf_sim *sim, struct hf_engine *engine,
                                  uint64_t timeout_ms);
/* Has the ensemble a leader that can commit what ${server} forwards? */
bool zk_can_commit(const struct zk_server *server);

/* ------------------------------------------------------ zk_connection.c -- */

struct zk_connection *zk_connection_new(struct hf_engine *engine,
                                        struct zk_server *server);
/* The client's end of it: send, and close; ${reset}: both ends. */
void zk_connection_write(struct zk_connection *connection, const void *bytes,
                         size_t count);
void zk_connection_close_client(struct zk_connection *connection);
/* What was sent to the client still arrives, and nothing behind it. */
void zk_connection_end_after_output(struct zk_connection *connection);
void zk_connection_reset(struct zk_connection *connection);
/* The server's. */
void zk_reply(struct zk_connection *connection, const void *bytes,
              size_t count);
void zk_connection_close_server(struct zk_connection *connection);
/* Answer what can be answered. */
void zk_connection_answer_ready(struct zk_connection *connection);
void zk_revalidated(struct zk_connection *connection,
                    struct zk_session *session, uint64_t timeout_ms,
                    bool valid);
/* The session is over, as its server knows now. */
void zk_session_closed(struct zk_server *server, struct zk_session *session,
                       const struct zk_request *asked);
bool zk_needs_leader(const struct zk_request *request);

/* ---------------------------------------------------------- zk_answer.c -- */

void zk_answer(struct zk_request *request);
void zk_answer_error(struct zk_connection *connection, int32_t xid,
                     int32_t error);
void zk_answer_connect(struct zk_connection *connection,
                       const struct zk_session *session);

/* ---------------------------------------------------------- zk_client.c -- */

void zk_client_receive(struct zk_client *client,
                       struct zk_connection *connection,
                       const struct zk_chunk *chunk);

/* ----------------------------------------------------------- zk_truth.c -- */

/* ${following}: the parts of the same transaction that come behind it. */
void zk_committed_create(struct hf_sim *sim, struct zk_node *node,
                         const struct zk_txn *following);
void zk_committed_write(struct hf_sim *sim, struct zk_node *node);
void zk_committed_delete(struct hf_sim *sim, struct zk_node *node);
/* The transaction is over. */
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
/* A node of any name, as some other program makes it. */
void zk_other_create(struct hf_sim *sim, const char *path, bool sequential);

/* ----------------------------------------------------------- zk_fault.c -- */

void zk_stall(struct hf_engine *engine, bool out, bool in);
void zk_restart(struct hf_sim *sim);
void zk_end_faults(struct hf_sim *sim);

#endif
