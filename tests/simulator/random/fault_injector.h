/* SPDX-License-Identifier: Apache-2.0 */
/* The fault injector of random runs: which faults of clients and links happen,
 * when, and for how long.  Faults of servers are in server_faults.c, users in
 * users.c. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_FAULT_INJECTOR_H
#define HF_TESTS_SIMULATOR_RANDOM_FAULT_INJECTOR_H

#include "simulator/cluster/cluster.h"
#include "simulator/model/zk_faults.h"

#define MS_US ((uint64_t)1000)

enum fault {
    FAULT_BREAK,
    FAULT_CUT,     /* both directions */
    FAULT_CUT_IN,  /* only the direction to the client */
    FAULT_CUT_OUT, /* only the direction to the server */
    FAULT_STALL,
    FAULT_FREEZE,
    FAULT_PAUSE,
    FAULT_KILL,
    FAULT_EVICT,
    FAULT_RESTART,
    FAULT_CRASH,
    FAULT_CLOSE,
    FAULT_COUNT,
    /* Of the servers of the ZooKeeper model: */
    FAULT_LEADER_FREEZE = FAULT_COUNT,
    FAULT_SERVER_FREEZE,
    FAULT_CUT_LEADER,
    FAULT_SERVER_RESTART,
    FAULT_REWRITE, /* another client writes to a ticket's node */
    FAULT_COUNT_ENSEMBLE,
    /* Of the server of the lease model: */
    FAULT_STORE_FREEZE = FAULT_COUNT,
    FAULT_STORE_RESTART,
    FAULT_STORE_LOSE_NOTICES, /* its notices are lost for a while */
    FAULT_STORE_STEP,         /* its wall clock is set */
    FAULT_STORE_WIPE,
    FAULT_COUNT_LEASED,
    /* Of the members of the etcd model: */
    FAULT_ETCD_FREEZE = FAULT_COUNT,
    FAULT_ETCD_SLICES, /* one is stopped, and continued in slices */
    FAULT_ETCD_DISK,   /* its disk stands still */
    FAULT_ETCD_CUT,
    FAULT_ETCD_RESTART,
    FAULT_ETCD_COMPACT,
    FAULT_ETCD_AUTH, /* a change of a role makes all tokens old */
    FAULT_ETCD_FULL, /* the database has no room for a while */
    FAULT_COUNT_ETCD,
};

/* What a seed decides besides the configuration of the cluster. */
struct plan {
    struct cluster *cluster;
    unsigned faults;               /* bits of enum fault */
    struct hf_reconnect reconnect; /* borrowed by the engines */
    unsigned fault_count;
    uint64_t scale_ms; /* how long faults last, about */
    uint64_t leader_freeze_max_us;
    /* True time before which the leader is not stopped again. */
    uint64_t leader_unfrozen_until_us;
    unsigned cuts;       /* links between servers that are cut now */
    uint64_t cut_end_us; /* true time at which the last cut ended */
    uint64_t fault_every_us;
    uint64_t want_every_us;
    uint64_t hold_max_us;
    /* True time of the last fault and the last new attempt. */
    uint64_t until_us;
    bool multi_locks; /* users acquire semaphores, and several locks at once */
    bool cohorts;     /* users share tickets */
    bool crowded;     /* many users, who hold for a short time */
    bool shared;      /* clients have handles on their sessions */
    bool faults_over; /* there are no faults any more */
    bool closing;     /* users stop, and clients close */
    struct hf_ticket_id other_ticket;
    bool other_queued;
    bool other_reads;
};

/* There is one plan at a time, because callbacks of timers get only their
 * object. */
extern struct plan plan;

/* Draw from the random generator of the run. */
uint64_t below(uint64_t bound);
bool one_in(uint64_t n);

struct client *any_client(void);

/* Draw how long the next fault lasts. */
uint64_t fault_us(void);

uint64_t now_us(void);
void later(uint64_t us, void (*fn)(void *arg), void *arg);

/* Start the clients, their users and the faults, until plan.faults_over. */
void fault_injector_start(void);

/* End all faults, and start no more. */
void fault_injector_stop(void);

#endif
