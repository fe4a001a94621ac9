/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the etcd model: what members of etcd 3.4 do as far as clients
 * can see, in virtual time and on links that may be cut.  Source: the packages
 * of etcd 3.4 that are named below.
 *
 *   etcd_proto.c       the wire format of messages
 *   etcd_request.c     requests, read from their bytes
 *   etcd_store.c       keys and their revisions, transactions (mvcc)
 *   etcd_raft.c        terms, elections and the log of one member (raft)
 *   etcd_peer.c        the links between members
 *   etcd_ready.c       what a member does with what raft has decided
 *                      (etcdserver/raft.go)
 *   etcd_commit.c      what a committed entry means for the cluster
 *   etcd_apply.c       a member carries out committed entries, late
 *   etcd_lessor.c      leases: who may end them, and when (lease)
 *   etcd_renewal.c     streams of keep-alives (leasehttp, v3rpc/lease.go)
 *   etcd_watch.c       streams of watches (v3rpc/watch.go)
 *   etcd_auth.c        users and their tokens (auth)
 *   etcd_call.c        calls, as a server of gRPC hands them out
 *   etcd_methods.c     what each method does (v3rpc)
 *   etcd_frame.c       calls on a connection, for both ends
 *   etcd_connection.c  a client's connection, both ends
 *   etcd_grpc.c        the client's calls: a stand-in for src/grpc
 *   etcd_member.c      the life of a member, and its timers
 *   etcd_client.c      the engine: the real client of locks
 *   etcd_committed.c   the committed state as queues, and what other programs
 *                      do to it
 *   etcd_faults.c      faults of members
 *
 * The committed log is one list, and what an entry means is computed once, when
 * a majority has it.  A member has a pointer into that list, .applied, and
 * answers as of there.  Logs of several leaders that are not committed differ:
 * each entry has a pointer to the one before it, as in the ZooKeeper model.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_INTERNAL_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_INTERNAL_H

#include "simulator/model/etcd_store.h"
#include "simulator/model/sim_internal.h"

#define ETCD_MEMBERS_MAX 5

struct etcd_call;
struct etcd_client;
struct etcd_connection;
struct etcd_lease;
struct etcd_member;

/* --------------------------------------------------------------- the log -- */

enum etcd_command_kind {
    ETCD_NO_OP, /* the first entry of a leader */
    ETCD_WRITE, /* a put, a deletion or a transaction: .op */
    ETCD_GRANT,
    ETCD_REVOKE,
    ETCD_AUTHENTICATE,
    ETCD_COMPACT,
    ETCD_SET_ALARM,   /* .number: 1 raises it */
    ETCD_CHANGE_AUTH, /* somebody has changed a role */
    /* Of no client of this run: */
    ETCD_EVICT, /* delete the key of the ticket .ticket */
};

/* What a proposal asks for. */
struct etcd_command {
    enum etcd_command_kind kind;
    struct etcd_op op;
    int64_t lease;            /* of GRANT and REVOKE */
    int64_t number;           /* of GRANT: seconds; of COMPACT: the revision */
    struct hf_engine *engine; /* whose it is; NULL: of another program */
    struct hf_ticket_id ticket;
    /* The call that waits for it, at .member; NULL: none. */
    struct etcd_call *call;
    struct etcd_member *member;
    /* Of a lease that has expired: the term in which its lessor decided that;
     * 0: somebody asked for the end of the lease. */
    uint64_t decided_in;
    int64_t auth_revision; /* of the token; 0: there is none */
    bool done;             /* it is committed: a second time does nothing */
    uint64_t proposed_in;  /* of a command of another program: the last term */
    struct etcd_command *next;
};

/* .previous is the entry before it; .following the one behind it, of committed
 * entries only. */
struct etcd_entry {
    uint64_t index;
    uint64_t term;
    struct etcd_entry *previous;
    struct etcd_entry *following;
    struct etcd_command *command;
    /* Once it is committed: */
    bool committed;
    enum etcd_error error;
    struct etcd_bytes answer; /* the fields behind the header */
    int64_t revision;         /* of the store, after it */
    int64_t compacted;
    int64_t auth_revision;
    const struct etcd_lease *lease; /* that it granted or ended */
    struct etcd_token *token;       /* that it made */
};

/* ---------------------------------------------------------------- leases -- */

/* A lease as each member knows it: [i] is what member i has in memory. */
struct etcd_lease {
    int64_t id;
    uint64_t ttl_ms; /* granted */
    struct hf_engine *engine;
    uint64_t granted_index; /* of the entry */
    uint64_t ended_index;   /* 0: it has not ended */
    /* On the clock of that member: when it expires, if its lessor is primary;
     * UINT64_MAX: never. */
    uint64_t expires_us[ETCD_MEMBERS_MAX];
    /* Its end was proposed; not again before this. */
    uint64_t retry_us[ETCD_MEMBERS_MAX];
    struct etcd_lease *next;
};

/* --------------------------------------------------------------- members -- */

enum etcd_role { ETCD_FOLLOWER, ETCD_CANDIDATE, ETCD_LEADER };

enum etcd_message_kind {
    ETCD_APPEND, /* also the heartbeat */
    ETCD_APPENDED,
    ETCD_VOTE,
    ETCD_VOTED,
    ETCD_PROPOSE, /* a follower forwards a proposal to its leader */
    ETCD_READ,    /* a follower asks for the index to read at */
    ETCD_READ_AT,
    /* By HTTP: a keep-alive that a follower forwards. */
    ETCD_RENEW,
    ETCD_RENEWED,
    ETCD_RENEW_FAILED, /* the other end is gone, or is no leader */
};

struct etcd_message {
    struct sim_pipe_item item;
    enum etcd_message_kind kind;
    uint64_t term;
    struct etcd_entry *entry;  /* APPEND, VOTE: the last one of the log */
    struct etcd_entry *commit; /* APPEND */
    uint64_t index; /* APPENDED: up to here the logs are one; READ_AT */
    bool granted;   /* VOTED */
    struct etcd_command *command;
    struct etcd_read *read; /* APPEND, APPENDED: heartbeat of a read */
    struct etcd_renewal *renewal;
    int64_t ttl; /* RENEWED: seconds, 0: there is no such lease */
    struct etcd_member *to;
    struct etcd_message *next; /* in the outbox, or spare */
};

/* From one member to another.  .forwards carries what does not belong to
 * raft. */
struct etcd_peer_link {
    struct etcd_member *from;
    struct etcd_member *to;
    struct sim_pipe raft;
    struct sim_pipe forwards;
};

/* A linearizable read: it needs the index that was committed when it came, from
 * a leader that a majority still follows. */
struct etcd_read {
    struct etcd_member *member; /* that wants to read */
    struct etcd_call *call;
    struct etcd_member *leader;
    uint64_t term;
    uint64_t index;
    unsigned acked;         /* bits of members */
    bool at_known;          /* .index may be read at */
    struct etcd_read *next; /* of .member */
};

/* A keep-alive that a member has not answered yet.  Those of a stream are
 * answered one after the other. */
struct etcd_renewal {
    struct etcd_call *call;
    struct etcd_member *member; /* of the stream */
    int64_t lease;
    int64_t revision; /* the header is filled in before the renewal */
    uint64_t term;
    uint64_t until_us; /* true time: the member gives up */
    bool done;
    /* The lessor that has to end the lease, or that renews it. */
    struct etcd_member *waits_at;
    struct etcd_renewal *next; /* of .waits_at */
};

struct etcd_token {
    uint64_t number;
    int64_t auth_revision;
    uint64_t valid_until_us[ETCD_MEMBERS_MAX]; /* 0: that member has it not */
    struct etcd_token *next;
};

struct etcd_watcher {
    int64_t id;
    struct etcd_watch_create create;
    int64_t next_revision; /* nothing before it was not sent */
    bool lags;             /* it catches up by a timer */
    struct etcd_watch_stream *stream;
    struct etcd_watcher *next;
};

struct etcd_watch_stream {
    struct etcd_call *call;
    struct etcd_watcher *watchers;
    int64_t next_id;
    bool armed;
};

/* A job of a member that is put off: goroutines run when they like to. */
struct etcd_job {
    struct etcd_member *member;
    uint64_t life; /* of the member: a job dies with its process */
    void (*run)(void *arg);
    void *arg;
    struct etcd_job *next; /* of those that wait until it is thawed */
};

struct etcd_member {
    struct hf_sim *sim;
    unsigned index;
    bool down;
    uint64_t life;   /* how often it was started */
    bool frozen;     /* its process is stopped */
    bool disk_stuck; /* writes to its disk do not end, see etcd_ready.c */
    bool input_cut;
    bool output_cut;
    bool forwards_too;      /* the cut is of .forwards as well */
    uint64_t links_at_us;   /* true time before which links deliver nothing */
    struct sim_clock clock; /* CLOCK_MONOTONIC */
    /* Ticks of raft: they do not come while the process is stopped or its disk
     * is stuck. */
    struct sim_clock ticks;
    /* raft: */
    enum etcd_role role;
    uint64_t term;
    int vote; /* -1: none in this term */
    int lead; /* -1: not known */
    struct etcd_entry *log;
    struct etcd_entry *commit;
    uint64_t received_us; /* on .ticks */
    uint64_t election_us; /* on .ticks */
    uint64_t heartbeat_us;
    uint64_t quorum_us; /* leader: the next look for a quorum */
    unsigned votes;     /* bits */
    unsigned refusals;
    unsigned active; /* leader: bits of those who have answered */
    uint64_t match[ETCD_MEMBERS_MAX];
    struct etcd_message *outbox;
    struct etcd_message **outbox_end;
    struct etcd_command *waiting; /* proposals without a leader */
    /* On disk: */
    struct etcd_entry *saved_log;
    uint64_t saved_term;
    int saved_vote;
    /* etcdserver: */
    bool leads; /* as it was published */
    int known_lead;
    struct etcd_entry *handed; /* to be applied up to here */
    struct etcd_entry *applied;
    bool applying;               /* a job is due */
    uint64_t no_leader_since_us; /* true time; 0: there is one */
    bool primary;                /* of its lessor */
    uint64_t primary_term;
    uint64_t expiry_us; /* on .clock: the next look for expired leases */
    struct etcd_renewal *waiting_renewals;
    struct etcd_read *reads;
    struct etcd_connection *connections;
    struct etcd_job *held; /* jobs that came while it was frozen */
    uint64_t armed_us;     /* true time of the timer that is set */
};

struct etcd_cluster {
    struct hf_sim *sim;
    unsigned count;
    struct etcd_member members[ETCD_MEMBERS_MAX];
    struct etcd_peer_link links[ETCD_MEMBERS_MAX][ETCD_MEMBERS_MAX];
    struct etcd_entry first;      /* of every log, term 0 */
    struct etcd_entry *committed; /* the last one */
    struct etcd_store store;
    struct etcd_lease *leases; /* the newest first */
    struct etcd_token *tokens;
    int64_t auth_revision;
    uint64_t token_count;
    /* The quota is used up, and no alarm is raised yet. */
    bool full;
    /* Commands of other programs, which every leader proposes until they are
     * committed. */
    struct etcd_command *commands;
    struct etcd_connection *connections; /* all of this run */
    struct etcd_message *spare_messages;
    struct etcd_chunk *spare_chunks;
};

/* ----------------------------------------------------------- connections -- */

#define ETCD_CHUNK_BYTES 480

enum etcd_chunk_kind {
    ETCD_SOME_BYTES,
    ETCD_SYN,
    ETCD_ACCEPTED,
    ETCD_REFUSED,
    ETCD_END,
};

struct etcd_chunk {
    struct sim_pipe_item item;
    enum etcd_chunk_kind kind;
    size_t count;
    uint8_t bytes[ETCD_CHUNK_BYTES];
};

/* What a connection carries: the stand-in for HTTP/2. */
enum etcd_frame_kind {
    /* to the server */
    ETCD_FRAME_START = 1, /* flags: 1 hasleader; the method, 0, the token */
    ETCD_FRAME_CANCEL,
    /* both ways; to the server with flags: 1 the last message */
    ETCD_FRAME_MESSAGE,
    /* to the client */
    ETCD_FRAME_ENDED,   /* flags: the status; the text */
    ETCD_FRAME_REFUSED, /* it was not looked at */
    ETCD_FRAME_GOAWAY,  /* call: the last one that was looked at */
};

struct etcd_frame {
    enum etcd_frame_kind kind;
    uint8_t flags;
    uint32_t call;
    struct etcd_bytes bytes;
};

/* Write a frame; take the first complete one out of ${received}, whose bytes
 * are consumed by etcd_frame_consume().  Take: 1: there is one; 0: not yet;
 * -1: these bytes are no frames. */
void etcd_frame_write(struct etcd_writer *out, const struct etcd_frame *frame);
int etcd_frame_read(struct etcd_bytes received, struct etcd_frame *frame);
size_t etcd_frame_bytes(const struct etcd_frame *frame);

/* The server's end of a call. */
struct etcd_call {
    struct etcd_connection *connection;
    struct etcd_member *member;
    uint64_t life;
    uint32_t number;
    const char *method;
    const char *token; /* NULL: none */
    bool hasleader;
    bool cancelled; /* by the client, or with the connection */
    bool ended;
    bool streaming; /* its messages are handled one after another */
    /* Messages that are not handled yet. */
    struct etcd_request *first_message;
    bool busy; /* a message of the stream is being handled */
    struct etcd_watch_stream *watches;
    struct etcd_call *next; /* of its connection */
};

/* A message of a call. */
struct etcd_request {
    struct etcd_bytes bytes;
    struct etcd_request *next;
};

/* What is notified at the client's end. */
struct etcd_connection_ops {
    void (*receive)(void *user, struct etcd_connection *connection,
                    const struct etcd_chunk *chunk);
};

struct etcd_connection {
    struct hf_sim *sim;
    struct hf_engine *engine; /* NULL: of a test, on a link without faults */
    const struct etcd_connection_ops *ops;
    void *user;
    struct etcd_member *member;
    struct sim_pipe out; /* to the server */
    struct sim_pipe in;
    bool client_open;
    bool server_open;
    bool lingers; /* the client has closed it, and what it had sent still
                     arrives */
    bool going_away;
    struct etcd_writer received; /* bytes of an incomplete frame */
    struct etcd_call *calls;
    struct etcd_connection *next; /* of the same member */
    struct etcd_connection *next_ever;
};

/* ----------------------------------------------------------- etcd_raft.c -- */

void etcd_raft_start(struct etcd_member *member);
/* Something due on .ticks, and when that is next. */
void etcd_raft_tick(struct etcd_member *member);
uint64_t etcd_raft_next_us(const struct etcd_member *member);
void etcd_raft_receive(struct etcd_member *member, struct etcd_member *from,
                       struct etcd_message *message);
/* A proposal of this member, or one that was forwarded to it. */
void etcd_propose(struct etcd_member *member, struct etcd_command *command);
void etcd_propose_waiting(struct etcd_member *member);
void etcd_read_begin(struct etcd_member *member, struct etcd_read *read);
uint64_t etcd_election_us(const struct hf_sim *sim);
/* Does the log that ends with ${entry} have ${part}? */
bool etcd_log_has(const struct etcd_entry *entry,
                  const struct etcd_entry *part);

/* ----------------------------------------------------------- etcd_peer.c -- */

void etcd_peers_init(struct etcd_cluster *cluster);
struct etcd_message *etcd_message_new(struct hf_sim *sim,
                                      enum etcd_message_kind kind);
/* Send what belongs to raft; what is forwarded by HTTP. */
void etcd_peer_send(struct etcd_member *from, struct etcd_message *message);
void etcd_peer_forward(struct etcd_member *from, struct etcd_member *to,
                       struct etcd_message *message);
void etcd_peers_flush(struct etcd_member *member);
/* The process of the member is gone, and its connections to others too. */
void etcd_peers_drop(struct etcd_member *member);

/* ---------------------------------------------------------- etcd_ready.c -- */

/* After each step of raft: save, send, publish, hand over what is committed.
 * Nothing happens while the disk is stuck. */
void etcd_ready(struct etcd_member *member);
/* A leader that the member knows; else NULL. */
struct etcd_member *etcd_known_leader(const struct etcd_member *member);

/* --------------------------------------------------------- etcd_commit.c -- */

/* The log up to ${entry} is committed. */
void etcd_commit(struct etcd_cluster *cluster, struct etcd_entry *entry);

/* ---------------------------------------------------------- etcd_apply.c -- */

void etcd_apply_soon(struct etcd_member *member);
uint64_t etcd_applied_term(const struct etcd_member *member);

/* --------------------------------------------------------- etcd_lessor.c -- */

struct etcd_lease *etcd_lease_find(const struct etcd_cluster *cluster,
                                   int64_t id, uint64_t index);
/* The least TTL that members grant, in milliseconds. */
uint64_t etcd_least_ttl_ms(const struct hf_sim *sim);
void etcd_lessor_promote(struct etcd_member *member);
void etcd_lessor_demote(struct etcd_member *member);
void etcd_lessor_granted(struct etcd_member *member, struct etcd_lease *lease);
/* Look for expired leases, and propose their end. */
void etcd_lessor_expire(struct etcd_member *member);

enum etcd_renewed {
    ETCD_IS_RENEWED, /* it may be */
    ETCD_IS_NO_LEASE,
    ETCD_IS_NOT_PRIMARY,
    ETCD_IS_EXPIRED, /* wait for its end, or for that of the lessor */
};
enum etcd_renewed etcd_lessor_check(struct etcd_member *member, int64_t lease);
/* Returns its TTL in seconds. */
int64_t etcd_lessor_refresh(struct etcd_member *member, int64_t lease);

/* -------------------------------------------------------- etcd_renewal.c -- */

/* A message of a stream of keep-alives. */
void etcd_keep_alive(struct etcd_call *call, struct etcd_bytes message);
void etcd_renewal_receive(struct etcd_member *member, struct etcd_member *from,
                          struct etcd_message *message);
/* The lessor of the member has ended a lease, or is primary no more. */
void etcd_renewals_retry(struct etcd_member *member);

/* ---------------------------------------------------------- etcd_watch.c -- */

void etcd_watch_request(struct etcd_call *call, struct etcd_bytes message);
/* The member has applied an entry that made a revision. */
void etcd_watches_notify(struct etcd_member *member);

/* ----------------------------------------------------------- etcd_auth.c -- */

/* May the call do anything?  Sets ${revision} of its token. */
enum etcd_error etcd_auth_check(struct etcd_call *call, int64_t *revision);
struct etcd_token *etcd_token_new(struct etcd_cluster *cluster);
void etcd_token_applied(struct etcd_member *member, struct etcd_token *token);
/* The text of ${token}. */
const char *etcd_token_text(struct hf_sim *sim, const struct etcd_token *token);

/* ----------------------------------------------------------- etcd_call.c -- */

/* Frames have arrived at the server's end. */
void etcd_call_frame(struct etcd_connection *connection,
                     const struct etcd_frame *frame);
/* Answer with a header as of now and ${fields} behind it. */
void etcd_put_header(const struct etcd_call *call, struct etcd_writer *out,
                     int64_t revision, uint64_t term);
void etcd_call_answer(struct etcd_call *call, struct etcd_bytes fields,
                      int64_t revision);
void etcd_call_message(struct etcd_call *call, struct etcd_bytes message);
void etcd_call_end(struct etcd_call *call, enum etcd_error error);
/* The message of a stream is handled, and the next may be. */
void etcd_call_go_on(struct etcd_call *call);
/* The server end of the connection is gone. */
void etcd_calls_drop(struct etcd_connection *connection);
/* Can the call still be answered? */
bool etcd_call_lives(const struct etcd_call *call);

/* -------------------------------------------------------- etcd_methods.c -- */

/* The first message of a call that is answered once. */
void etcd_method_run(struct etcd_call *call, struct etcd_bytes message);
/* Does the method have streams of messages? */
bool etcd_method_streams(const char *method);
/* A read may be carried out now. */
void etcd_read_done(struct etcd_read *read);
/* The entry of a proposal was applied by the member of its call. */
void etcd_proposal_done(struct etcd_call *call, const struct etcd_entry *entry);

/* ----------------------------------------------------- etcd_connection.c -- */

struct etcd_connection *
etcd_connection_new(struct hf_sim *sim, struct hf_engine *engine,
                    struct etcd_member *member,
                    const struct etcd_connection_ops *ops, void *user);
/* The client's end: send ${count} bytes; close it; reset both ends. */
void etcd_connection_write(struct etcd_connection *connection,
                           const void *bytes, size_t count);
void etcd_connection_close_client(struct etcd_connection *connection);
void etcd_connection_reset(struct etcd_connection *connection);
/* The server's end: send a frame; close it. */
void etcd_reply(struct etcd_connection *connection,
                const struct etcd_frame *frame);
void etcd_connection_close_server(struct etcd_connection *connection);
void etcd_connection_flush(struct etcd_connection *connection);

/* --------------------------------------------------------- etcd_member.c -- */

struct etcd_cluster *etcd_cluster_new(struct hf_sim *sim);
void etcd_cluster_free(struct etcd_cluster *cluster);
uint64_t etcd_clock_us(const struct etcd_member *member);
uint64_t etcd_ticks_us(const struct etcd_member *member);
/* Set the timer of the member to what is due next. */
void etcd_member_arm(struct etcd_member *member);
/* Run ${fn} in at most ${most_us}, or when the member is thawed; never, if its
 * process ends before. */
void etcd_member_later(struct etcd_member *member, uint64_t most_us,
                       void (*run)(void *arg), void *arg);
/* Run it in ${us} at the earliest. */
void etcd_member_after(struct etcd_member *member, uint64_t us,
                       void (*run)(void *arg), void *arg);
void etcd_member_start(struct etcd_member *member);
void etcd_member_stop(struct etcd_member *member, bool politely);
void etcd_member_freeze(struct etcd_member *member, bool machine);
void etcd_member_thaw(struct etcd_member *member);
void etcd_member_stick_disk(struct etcd_member *member, bool stuck);
/* The member that leads in the highest term; NULL: none does, but for one that
 * does not know yet that others have committed something in a later term. */
struct etcd_member *etcd_leader(const struct etcd_cluster *cluster);
/* Used by checks only: would a write of a client of ${member} be committed? */
bool etcd_can_commit(const struct etcd_member *member);

/* ------------------------------------------------------ etcd_committed.c -- */

/* Update the committed queues, and notify the observer, of what the last
 * revision has changed. */
void etcd_committed_changes(struct etcd_cluster *cluster, int64_t revision);
struct etcd_command *etcd_command_new(struct hf_sim *sim,
                                      enum etcd_command_kind kind);
/* Every leader proposes the commands that are not committed. */
void etcd_commands_push(struct etcd_cluster *cluster);
uint64_t etcd_lease_end_us(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket);
/* The lease that the client believes in; NULL: none, or it has ended. */
const struct etcd_lease *etcd_client_lease(const struct hf_engine *engine);

#endif
