/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model engine: an ensemble that exists in memory and in virtual time, and
 * engines (one per simulated client) that speak to it over links that can be
 * slow, cut or lost.  No thread, no clock, no system call: a seed and a commit
 * replay a run.
 *
 *     struct hf_sim_config config = hf_sim_config_plain(seed);
 *     struct hf_sim *sim = hf_sim_new(&config);
 *     struct hf_engine *engine = hf_sim_engine_new(sim, &host);
 *     const struct hf_engine_ops *ops = hf_sim_ops(sim);
 *     ops->request(engine, &request);
 *     hf_sim_run_until_idle(sim);           -- host.event() was called from in
 * here ops->free(engine); hf_sim_free(sim);
 *
 * What the model takes from ZooKeeper: one total order of writes at a leader,
 * a follower between it and each client that may lag behind or be cut off from
 * it, sessions that the leader ends by its own clock, answers in the order of
 * requests, and a connection whose end says nothing about what was under way.
 *
 * Times are microseconds of true time (_us), which nobody in the model can
 * read, or milliseconds (_ms) of a client's own clock.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_SIM_H
#define HF_TESTS_SIMULATOR_MODEL_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/random.h"
#include "engines/zookeeper/node_name.h"

struct hf_sim;

/* An ensemble of servers that speak ZooKeeper's protocol, and engines that are
 * the real client of it, instead of the plain model. */
struct hf_sim_ensemble {
    unsigned servers;    /* 0: the plain model */
    uint64_t tick_ms;    /* tickTime; the leader pings every half of it */
    unsigned sync_limit; /* ticks without a word that end a quorum link */
    uint32_t lag_max_us; /* of one message between servers */
    uint64_t container_check_ms; /* empty containers are removed so often */
    bool tick_known;             /* clients are told (?tick=) */
    uint64_t timeout_floor_ms;   /* ?timeout_floor=, 0: not given */
    bool lazy_proof;             /* ?proof=lazy */
    bool strict_proof;           /* ?proof=strict */
    bool lacks_containers;       /* servers that know no containers */
    bool splits_bytes;           /* bytes arrive in pieces of any size */
    bool answers_moved; /* a session that moved is answered so, instead of
                         ending the connection */
    bool event_zxid;    /* events name their transaction, as from 3.9 on */
    unsigned window;    /* so many calls of a client are under way at a
                           time, 0: as many as outside the simulator */
    bool ignores_moves; /* what is late on an old connection takes effect,
                           as with a server that does not see it moved */
    /* ?layout= of every client, and of other programs. */
    enum hf_zk_dialect layout;
};

/* A server that leases tickets by its own clock, and engines that are the real
 * client of such servers, instead of the plain model.  Chances are as below. */
struct hf_sim_leases {
    bool enabled;
    uint32_t notice_lost_chance;
    uint32_t notice_twice_chance;
    uint32_t notice_late_chance; /* within a lease */
    unsigned renewal_piece_max;  /* hf_leased_config */
    uint32_t commit_chance; /* what was executed is not committed, or nobody
                               knows, or a synchronous standby lacks it */
};

/* A chance is so many in a million, drawn anew each time. */
struct hf_sim_config {
    uint64_t seed;
    unsigned traits;           /* HF_ENGINE_... of every engine made */
    uint64_t timeout_ms;       /* the longest a session is granted; HF_FOREVER:
                                  no lease, and links do not break */
    uint64_t least_timeout_ms; /* the shortest; each connection draws anew */
    uint32_t delay_min_us;     /* of one message, one way */
    uint32_t delay_max_us;     /* both 0: answers come from inside request() */
    int32_t server_ppm;        /* the leader's clock runs so much faster */
    uint32_t refuse_chance;    /* a request answers FAILED{RETRY}, no effect */
    uint32_t lose_chance;      /* the connection breaks, the message is lost */
    uint32_t slow_chance;      /* a message takes up to a third of a timeout */
    uint32_t late_chance;      /* what was under way on a connection that broke
                                  still arrives, within most of a timeout */
    uint32_t deny_chance;   /* an enqueue answers FAILED{FATAL, HF_EDENIED} */
    uint32_t garble_chance; /* a snapshot is not what it should be */
    bool partial;           /* ENQUEUE and LIST show no more than they must */
    bool separate_notices;  /* GONE travels on a way of its own and may
                            overtake answers, as from a pub/sub */
    bool manual_delivery;   /* messages stay where they are until somebody
                       moves them: arrival.h */
    const struct hf_reconnect *reconnect; /* NULL: the default.  Borrowed */
    struct hf_sim_ensemble ensemble;
    struct hf_sim_leases leases;
};

/* No faults: messages take 1 ms each way, sessions last 10 s, traits are those
 * of a ZooKeeper. */
struct hf_sim_config hf_sim_config_plain(uint64_t seed);

/* The same with three servers of 2 s ticks. */
struct hf_sim_config hf_sim_config_zookeeper(uint64_t seed);

/* Nor any with a server that leases tickets for 10 s. */
struct hf_sim_config hf_sim_config_leased(uint64_t seed);

/* ${config} is copied.  The model ends the program if there is no memory: it is
 * a tool of tests, without which there is nothing to test. */
struct hf_sim *hf_sim_new(const struct hf_sim_config *config);

/* Free everything, engines included, whatever is still under way. */
void hf_sim_free(struct hf_sim *sim);

/* The numbers from which it draws: who sets them has it draw the same again. */
struct hf_random *hf_sim_random(struct hf_sim *sim);

/* The vtable of the engines of ${sim}.  Its .open is refused, for lack of a
 * place to name a ${sim}: engines come from hf_sim_engine_new(). */
const struct hf_engine_ops *hf_sim_ops(const struct hf_sim *sim);

/* An engine of a new client process, CONNECTING.  Its clock starts anywhere,
 * at least at 1000 ms; ${host}->now_ms may be hf_sim_client_now_ms() of it.
 * ${host} is copied; .loop and .log are not used.  It is called from inside
 * hf_sim_run_next() and its kin, and from inside request().  After ops->free(),
 * or hf_sim_crash(), the engine must not be used; its memory is ${sim}'s. */
struct hf_engine *hf_sim_engine_new(struct hf_sim *sim,
                                    const struct hf_engine_host *host);

/* ----------------------------------------------------------------- time -- */

uint64_t hf_sim_now_us(const struct hf_sim *sim);

/* Let the next thing happen, and time pass until it does.  False if nothing is
 * due, ever. */
bool hf_sim_run_next(struct hf_sim *sim);

/* Let all happen that is due within ${ms} from now; it is then that late. */
void hf_sim_run_ms(struct hf_sim *sim, uint64_t ms);

/* Let things happen until only heartbeats, timeouts and far callers' timers
 * are left: no message is on its way.  False, and a bug, if that takes more
 * than a million steps. */
bool hf_sim_run_until_idle(struct hf_sim *sim);

/* Is only that left already? */
bool hf_sim_is_idle(const struct hf_sim *sim);

/* Call ${fn} at ${at_us}, or next if that is past.  ${background}: does not
 * keep hf_sim_run_until_idle() waiting. */
void hf_sim_call_at(struct hf_sim *sim, uint64_t at_us, bool background,
                    void (*fn)(void *arg), void *arg);

/* The client's clock, CLOCK_BOOTTIME of its machine; and the true time at
 * which it will first show ${at_ms} if it is not paused before. */
uint64_t hf_sim_client_now_ms(const struct hf_engine *engine);
uint64_t hf_sim_client_at_us(const struct hf_engine *engine, uint64_t at_ms);

/* Have the clock show ${now_ms} and run ${ppm} faster from now on.  Only
 * before the client has seen it: clocks do not go back. */
void hf_sim_client_set_clock(struct hf_engine *engine, uint64_t now_ms,
                             int32_t ppm);

/* --------------------------------------------------------------- faults -- */

/* The leader ends the client's session: its tickets go, and it is told. */
void hf_sim_kill_session(struct hf_engine *engine);

/* Carry messages from the client (${out}) and to it (${in}), or hold them up.
 * The client notices by its own clock. */
void hf_sim_set_link(struct hf_engine *engine, bool out, bool in);

/* The connection is reset; a new one can be made at once. */
void hf_sim_reset_connection(struct hf_engine *engine);

/* Every connection is reset. */
void hf_sim_restart_servers(struct hf_sim *sim);

/* What the client's server sends to the other servers (${out}), or they to it
 * (${in}), arrives or is held up.  It goes on answering heartbeats and reads
 * from what it last knew, and writes hang. */
void hf_sim_set_stalled(struct hf_engine *engine, bool out, bool in);

/* The process is stopped, or goes on: nothing reaches it meanwhile. */
void hf_sim_set_frozen(struct hf_engine *engine, bool frozen);

/* Likewise its whole machine, whose clock then stands still and does not know
 * it later. */
void hf_sim_set_paused(struct hf_engine *engine, bool paused);

/* The process is gone, its descriptors closed by the kernel.  The engine must
 * not be used any more. */
void hf_sim_crash(struct hf_engine *engine);

/* Somebody deletes the ticket; false if it is not there. */
bool hf_sim_evict(struct hf_sim *sim, const char *queue,
                  const struct hf_ticket_id *ticket);

/* No more faults by chance from now on, and no more denials or garbling. */
void hf_sim_end_faults(struct hf_sim *sim);

/* ------------------------------------------------------- foreign clients -- */

/* Somebody else's program takes a place, or, with ${beside}, the place of a
 * ticket of its own, as a writer of Curator does to become a reader.  It has
 * an immortal session; hf_sim_evict() ends the ticket.  False if ${beside} is
 * not there. */
bool hf_sim_other_client_enqueue(struct hf_sim *sim, const char *queue,
                                 enum hf_ticket_kind kind,
                                 const struct hf_ticket_id *ticket,
                                 const struct hf_ticket_id *beside);

/* Somebody else's program raises the barrier called ${queue}, or lowers it. */
void hf_sim_other_client_set_barrier(struct hf_sim *sim, const char *queue,
                                     bool up);

/* It does something to its mark that wakes those who wait for nothing. */
void hf_sim_other_client_touch_barrier(struct hf_sim *sim, const char *queue);

/* ---------------------------------------------------------------- truth -- */

/* The queue as the leader has it; valid until this is called again, and until
 * time goes on. */
struct hf_snapshot hf_sim_queue(struct hf_sim *sim, const char *queue);

/* Is the ticket in any queue? */
bool hf_sim_ticket_exists(const struct hf_sim *sim,
                          const struct hf_ticket_id *ticket);

/* Does the leader still have the session that the client believes in, and does
 * the client have a connection over which it could learn so? */
bool hf_sim_session_alive(const struct hf_engine *engine);
bool hf_sim_connected(const struct hf_engine *engine);
bool hf_sim_frozen(const struct hf_engine *engine);

/* Is the ticket there, in the session that the client believes in? */
bool hf_sim_ticket_current(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket);

/* The true time at which the leader will end the session that the client
 * believes in, or where each has a lease of its own the ${ticket}, unless it
 * hears of it; 0 if it has ended, UINT64_MAX without leases. */
uint64_t hf_sim_lease_end_us(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket);

/* Told of what happens in the model, for checks and transcripts. */
struct hf_sim_observer {
    void (*added)(void *arg, const char *queue, const struct hf_ticket *ticket);
    /* ${ticket} has just left ${queue}, and ${watches} fire at once: the
     * requests of those who will hear GONE. */
    void (*gone)(void *arg, const char *queue, const struct hf_ticket *ticket,
                 struct hf_request *const *watches, size_t count);
    /* A barrier called ${queue}, or what would be one if it was used so, is up
     * now, or down; or the mark READY of a double barrier, as QUEUE/ready. */
    void (*marked)(void *arg, const char *queue, bool up);
    /* ${queue} had no tickets, and the server has deleted what holds them: an
     * enqueue on its way fails there, and is sent again.  NULL: not told. */
    void (*deleted)(void *arg, const char *queue);
    /* A line for the transcript; ${engine} is NULL for the leader's doings. */
    void (*line)(void *arg, const struct hf_engine *engine, const char *text);
    void *arg;
};
void hf_sim_observe(struct hf_sim *sim, const struct hf_sim_observer *observer);

#endif
