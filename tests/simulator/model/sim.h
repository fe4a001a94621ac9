/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated servers, network and client machines of a run, in memory and
 * in virtual time.  Each client has an engine (src/core/engine.h) that talks
 * to the servers over links that can be slow, cut or reset.  There is no
 * thread, no real clock and no system call: a seed and a commit replay a run.
 *
 *     struct hf_sim_config config = hf_sim_config_plain(seed);
 *     struct hf_sim *sim = hf_sim_new(&config);
 *     struct hf_engine *engine = hf_sim_engine_new(sim, &host);
 *     const struct hf_engine_ops *ops = hf_sim_ops(sim);
 *     ops->request(engine, &request);
 *     hf_sim_run_until_idle(sim);   -- host.event() is called from in here
 *     ops->free(engine);
 *     hf_sim_free(sim);
 *
 * There are four models of servers.  The plain model implements the engine
 * contract and nothing more.  The ZooKeeper model is an ensemble that the real
 * client of ZooKeeper talks to.  The lease model is a server that the real
 * client of leased tickets talks to.  The etcd model is a cluster that the real
 * client of etcd talks to.
 *
 * All models but that of etcd have these properties of ZooKeeper: a leader puts
 * writes in one total order; a follower between the leader and each client may
 * lag or be cut off; the leader ends sessions by its own clock; answers come in
 * the order of the requests; the end of a connection says nothing about the
 * requests under way on it.
 *
 * Times are microseconds of true time (_us), which no simulated process can
 * read, or milliseconds (_ms) of one client's clock.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_SIM_H
#define HF_TESTS_SIMULATOR_MODEL_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "core/engine.h"
#include "engines/zookeeper/node_name.h"

struct hf_sim;

/* Servers that speak ZooKeeper's protocol, and engines that are the real client
 * of ZooKeeper. */
struct hf_sim_ensemble {
    unsigned servers; /* 0: no such servers, the plain model */
    uint64_t tick_ms; /* tickTime; the leader pings followers twice a tick */
    /* syncLimit: a link between servers that is silent for this many ticks
     * ends. */
    unsigned sync_limit;
    uint32_t lag_max_us; /* longest delay of one message between servers */
    /* The leader removes empty containers this often. */
    uint64_t container_check_ms;
    bool tick_known;           /* clients know tick_ms (URL option ?tick=) */
    uint64_t timeout_floor_ms; /* URL option ?timeout_floor=, 0: not given */
    bool lazy_proof;           /* URL option ?proof=lazy */
    bool strict_proof;         /* URL option ?proof=strict */
    bool lacks_containers;     /* servers do not know createContainer */
    bool splits_bytes;         /* bytes arrive in pieces of random sizes */
    /* A write of a session that moved is answered SESSION_MOVED; else the
     * server ends the connection. */
    bool answers_moved;
    /* Watch events carry the zxid of their transaction, as from ZooKeeper 3.9
     * on. */
    bool event_zxid;
    /* An event, and the answer to exists, needs the permission to read the
     * node, as from ZooKeeper 3.8.4 on. */
    bool checks_readers;
    /* A server that has looked for a leader for a tick serves readers, with
     * sessions of its own too (readonlymode.enabled, localSessionsEnabled). */
    bool serves_readers;
    /* Calls of a client that may be under way at a time, 0: the default of the
     * client. */
    unsigned window;
    /* A late write on an old connection of a session takes effect, as on a
     * server that does not know yet that the session moved. */
    bool ignores_moves;
    /* URL option ?layout= of every client and of other programs */
    enum hf_zk_engine_dialect layout;
    /* Engines are no clients of locks, but processes with the public client of
     * ZooKeeper, see zk_handle.h. */
    bool handles;
};

/* A server that leases tickets by its own clock, and engines that are the real
 * client of leased tickets.  Chances are per million, as below. */
struct hf_sim_leases {
    bool enabled;
    /* Notices name the ticket that is the first one, as PostgreSQL's do. */
    bool names_first;
    uint32_t notice_lost_chance;
    uint32_t notice_twice_chance;
    uint32_t notice_late_chance; /* delay of up to one lease */
    unsigned renewal_piece_max;  /* as in hf_leased_config */
    /* A call was executed and its commit fails, or its outcome is unknown, or a
     * synchronous standby lacks it. */
    uint32_t commit_chance;
};

/* Members of an etcd cluster, and engines that are the real client of etcd. */
struct hf_sim_etcd {
    unsigned members;      /* 0: no such servers */
    uint64_t election_ms;  /* --election-timeout */
    uint32_t lag_max_us;   /* longest delay of one message between members */
    uint32_t apply_max_us; /* how late a member applies a committed entry */
    /* How long a call waits for its turn: calls of one connection are carried
     * out in any order. */
    uint32_t reorder_max_us;
    /* A watcher is slow, and catches up later; a renewal of a lease pauses in
     * the middle. */
    uint32_t lag_chance;
    bool splits_bytes; /* bytes arrive in pieces of random sizes */
    bool lazy_proof;   /* URL option ?proof=lazy */
    /* Clients have a user and a password, and tokens last that long after they
     * were used. */
    bool auth;
    uint64_t token_ttl_ms;
    /* The lessor of a leader that is deposed stays primary until its member
     * handles that. */
    bool stale_renewals;
    /* The end of a lease that a deposed leader has decided is committed by its
     * successor.  That breaks what the engine assumes: docs/engine-etcd.md. */
    bool stale_revokes;
    bool stale_reads; /* a linearizable read may be old, see etcd_methods.c */
};

/* Each chance is per million and drawn anew for each message or request. */
struct hf_sim_config {
    uint64_t seed;
    unsigned traits; /* HF_ENGINE_... of every engine of this run */
    /* The longest timeout that a session is granted; HF_FOREVER: no leases, and
     * links never break. */
    uint64_t timeout_ms;
    /* The shortest one; each connection draws from this range. */
    uint64_t least_timeout_ms;
    uint32_t delay_min_us; /* delay of one message in one direction */
    /* Both 0: an engine answers from inside request(). */
    uint32_t delay_max_us;
    /* The leader's clock is this much faster than true time, in parts per
     * million. */
    int32_t server_ppm;
    uint64_t clock_drift; /* what clients allow for, in percent */
    /* A request is answered FAILED{RETRY} and has no effect. */
    uint32_t refuse_chance;
    uint32_t lose_chance; /* a message is lost and its connection breaks */
    /* A message takes up to a third of a timeout longer. */
    uint32_t slow_chance;
    /* What was sent on a connection before it broke still arrives, up to 0.9
     * timeouts later. */
    uint32_t late_chance;
    /* An enqueue is answered FAILED{FATAL, HF_EDENIED} */
    uint32_t deny_chance;
    /* A snapshot has errors that a correct server never makes. */
    uint32_t garble_chance;
    /* ENQUEUE and LIST show the part of the queue that the contract demands and
     * no more. */
    bool partial;
    /* GONE travels in a pipe of its own and may overtake answers, as notices of
     * a publish/subscribe channel may. */
    bool separate_notices;
    /* The plain model delivers a message only on hf_sim_deliver(), see
     * plain_delivery.h. */
    bool manual_delivery;
    /* Borrowed; NULL: the default policy. */
    const struct hf_reconnect *reconnect;
    struct hf_sim_ensemble ensemble;
    struct hf_sim_leases leases;
    struct hf_sim_etcd etcd;
};

/* The plain model without faults: messages take 1 ms each way, sessions last 10
 * s, engines have the traits of ZooKeeper's. */
struct hf_sim_config hf_sim_config_plain(uint64_t seed);

/* The ZooKeeper model without faults: three servers, ticks of 2 s. */
struct hf_sim_config hf_sim_config_zookeeper(uint64_t seed);

/* The lease model without faults: leases last 10 s. */
struct hf_sim_config hf_sim_config_leased(uint64_t seed);

/* The etcd model without faults: three members, elections of 1 s. */
struct hf_sim_config hf_sim_config_etcd(uint64_t seed);

/* A run with ${config}, which is copied; to be freed with hf_sim_free().  Ends
 * the program if there is no memory, because tests cannot go on without the
 * model. */
struct hf_sim *hf_sim_new(const struct hf_sim_config *config);

/* Free ${sim} and its engines.  Requests under way are dropped without an
 * event. */
void hf_sim_free(struct hf_sim *sim);

/* The random generator of the model.  A caller that restores its state makes
 * the model draw the same numbers again. */
struct hf_random *hf_sim_random(struct hf_sim *sim);

/* The operations of the engines of ${sim}.  open() fails always, because a URL
 * cannot name ${sim}; hf_sim_engine_new() makes the engines. */
const struct hf_engine_ops *hf_sim_ops(const struct hf_sim *sim);

/* A new client process with an engine that is CONNECTING.  ${host} is copied;
 * its .loop and .log are not used, and its now_ms may return
 * hf_sim_client_now_ms().  host.event() is called from inside the
 * hf_sim_run_...() functions and from inside ops->request().  The client's
 * clock shows 1000 ms.  The engine must not be used after ops->free() or
 * hf_sim_crash(); its memory belongs to ${sim}. */
struct hf_engine *hf_sim_engine_new(struct hf_sim *sim,
                                    const struct hf_engine_host *host);

/* ------------------------------------------------------------------ time -- */

uint64_t hf_sim_now_us(const struct hf_sim *sim);

/* Run the next timer, and advance true time to it.  False if there is none. */
bool hf_sim_run_next(struct hf_sim *sim);

/* Run all timers that are due within ${ms}, and advance true time by ${ms}. */
void hf_sim_run_ms(struct hf_sim *sim, uint64_t ms);

/* Run timers until only those in the background are left: heartbeats, timeouts
 * and timers that are far off.  No message is on its way then.  False if that
 * takes more than a million steps, which is a bug. */
bool hf_sim_run_until_idle(struct hf_sim *sim);

/* Are only timers in the background left? */
bool hf_sim_is_idle(const struct hf_sim *sim);

/* Call ${fn} at true time ${at_us}, or as soon as possible if that is past.
 * ${background}: hf_sim_run_until_idle() does not wait for it. */
void hf_sim_call_at(struct hf_sim *sim, uint64_t at_us, bool background,
                    void (*fn)(void *arg), void *arg);

/* The clock of the client's machine (CLOCK_BOOTTIME) now, and the true time at
 * which it will first show ${at_ms} unless the machine is paused before. */
uint64_t hf_sim_client_now_ms(const struct hf_engine *engine);
uint64_t hf_sim_client_at_us(const struct hf_engine *engine, uint64_t at_ms);

/* Set the clock to ${now_ms}, running ${ppm} parts per million faster than true
 * time.  Only for a client that has not read its clock, because clocks do not
 * go back. */
void hf_sim_client_set_clock(struct hf_engine *engine, uint64_t now_ms,
                             int32_t ppm);

/* ---------------------------------------------------------------- faults -- */

/* The servers end the client's session and remove its tickets, and notify the
 * client. */
void hf_sim_kill_session(struct hf_engine *engine);

/* Carry messages from the client (${out}) and to it (${in}), or hold them up.
 * The client detects that only by its own timeouts. */
void hf_sim_set_link(struct hf_engine *engine, bool out, bool in);

/* Reset the client's connection.  It may connect again at once. */
void hf_sim_reset_connection(struct hf_engine *engine);

/* Restart the servers, which resets every connection. */
void hf_sim_restart_servers(struct hf_sim *sim);

/* Carry messages from the client's server to the other servers (${out}) and
 * back (${in}), or hold them up.  A server that is cut off answers heartbeats,
 * and reads from its last state; writes hang. */
void hf_sim_set_stalled(struct hf_engine *engine, bool out, bool in);

/* Stop the client's process (SIGSTOP), or continue it.  A stopped process
 * receives nothing. */
void hf_sim_set_frozen(struct hf_engine *engine, bool frozen);

/* Stop the client's machine, or continue it.  Its clock stops too and is behind
 * by the length of the pause afterwards. */
void hf_sim_set_paused(struct hf_engine *engine, bool paused);

/* Kill the client's process; the kernel closes its descriptors.  The engine
 * must not be used afterwards. */
void hf_sim_crash(struct hf_engine *engine);

/* Set the wall clock of the servers, which the times of successes are of, back
 * by ${ms}. */
void hf_sim_set_wall_clock_back(struct hf_sim *sim, uint64_t ms);

/* Delete the ticket as an administrator does.  False if it is not there. */
bool hf_sim_evict(struct hf_sim *sim, const char *queue,
                  const struct hf_ticket_id *ticket);

/* From now on no faults happen by chance: all chances are 0, servers are up and
 * connected. */
void hf_sim_end_faults(struct hf_sim *sim);

/* --------------------------------------------------------- other clients -- */

/* A program of another make adds the ticket ${ticket} to ${queue}.  With
 * ${beside} the ticket gets the position of that one, as a writer of Curator
 * does when it becomes a reader.  The owner is a session that never ends;
 * hf_sim_evict() removes the ticket.  False if ${beside} is not there. */
bool hf_sim_other_client_enqueue(struct hf_sim *sim, const char *queue,
                                 enum hf_ticket_kind kind,
                                 const struct hf_ticket_id *ticket,
                                 const struct hf_ticket_id *beside);

/* A program of another make sets or clears the barrier called ${queue}. */
void hf_sim_other_client_set_barrier(struct hf_sim *sim, const char *queue,
                                     bool up);

/* A program of another make writes to the barrier's node, which wakes those
 * that wait at the barrier although it is still set. */
void hf_sim_other_client_touch_barrier(struct hf_sim *sim, const char *queue);

/* ------------------------------------------------------- committed state -- */

/* The queue in the leader's committed state.  Valid until the next call of this
 * function, and until time advances. */
struct hf_snapshot hf_sim_queue(struct hf_sim *sim, const char *queue);

/* Is the ticket in any queue, in the committed state? */
bool hf_sim_ticket_exists(const struct hf_sim *sim,
                          const struct hf_ticket_id *ticket);

/* Does the leader still have the session that the client believes in?  And:
 * does the client have a connection over which the servers could notify it? */
bool hf_sim_session_alive(const struct hf_engine *engine);
bool hf_sim_connected(const struct hf_engine *engine);
/* Is the client's process stopped? */
bool hf_sim_frozen(const struct hf_engine *engine);

/* Is the ticket in a queue, and owned by the session that the client believes
 * in? */
bool hf_sim_ticket_current(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket);

/* The true time at which the leader will end the session that the client
 * believes in, if it receives nothing from it; with leases of tickets, at which
 * ${ticket} expires.  0 if that has ended, UINT64_MAX if it never does. */
uint64_t hf_sim_lease_end_us(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket);

/* Numbered as the events of ZooKeeper are. */
enum hf_sim_node_change_kind {
    HF_SIM_NODE_CREATED = 1,
    HF_SIM_NODE_DELETED = 2,
    HF_SIM_NODE_WRITTEN = 3,
    HF_SIM_NODE_ACL_SET = 0, /* brings no event */
};

struct zk_acl;

/* A change of one node in the ZooKeeper model. */
struct hf_sim_node_change {
    enum hf_sim_node_change_kind kind;
    const char *path; /* lives as long as the run, as .data does */
    int64_t zxid;
    const void *data;
    size_t bytes;
    int32_t version;
    int32_t aversion;
    const struct zk_acl *acl;
    /* The client that asked for it; NULL: it was no request, such as the end
     * of a session. */
    const struct hf_engine *engine;
};

/* Callbacks on changes of the committed state, for checks and traces. */
struct hf_sim_observer {
    void (*added)(void *arg, const char *queue, const struct hf_ticket *ticket);
    /* ${ticket} has just left ${queue}.  ${watches} are the requests that this
     * fires: they will be answered GONE or CHANGED. */
    void (*gone)(void *arg, const char *queue, const struct hf_ticket *ticket,
                 struct hf_request *const *watches, size_t count);
    /* The barrier called ${queue} was set or cleared, or the node READY of a
     * double barrier, which is called QUEUE/ready. */
    void (*barrier_changed)(void *arg, const char *queue, bool up);
    /* The success of ${queue} is now the one that was written with ${token} at
     * ${at_us} (true time).  If that is an earlier one, a failover has lost
     * what was written since; 0, 0: it has lost all.  May be NULL. */
    void (*succeeded)(void *arg, const char *queue, uint64_t token,
                      uint64_t at_us);
    /* The server deleted the node of ${queue}, which had no tickets.  An
     * enqueue under way fails there and is sent again.  May be NULL. */
    void (*deleted)(void *arg, const char *queue);
    /* May be NULL. */
    void (*node_changed)(void *arg, const struct hf_sim_node_change *change);
    /* A server keeps an event of the transaction ${zxid} from the current
     * connection of ${engine}, which may not read a node with the list ${acl}.
     * ${path} lives as long as the run.  May be NULL. */
    void (*event_kept_back)(void *arg, const struct hf_engine *engine,
                            int32_t type, const char *path, int64_t zxid,
                            const struct zk_acl *acl);
    /* ${engine} offers a session that a server without a quorum has begun to
     * another server.  May be NULL. */
    void (*local_session_offered)(void *arg, const struct hf_engine *engine);
    /* A line for the trace.  ${engine} is NULL if the servers did it.  May be
     * NULL. */
    void (*line)(void *arg, const struct hf_engine *engine, const char *text);
    void *arg;
};
void hf_sim_observe(struct hf_sim *sim, const struct hf_sim_observer *observer);

#endif
