/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a random cluster; its users are in user.c, what goes wrong
 * with its servers in outage.c. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_FAULT_INJECTOR_H
#define HF_TESTS_SIMULATOR_RANDOM_FAULT_INJECTOR_H

#include "simulator/cluster/cluster.h"
#include "simulator/model/zk_faults.h"

#define MS_US ((uint64_t)1000)

enum fault {
    FAULT_BREAK,
    FAULT_CUT,     /* both directions */
    FAULT_CUT_IN,  /* only what comes in is cut */
    FAULT_CUT_OUT, /* only what goes out is cut */
    FAULT_STALL,
    FAULT_FREEZE,
    FAULT_PAUSE,
    FAULT_KILL,
    FAULT_EVICT,
    FAULT_RESTART,
    FAULT_CRASH,
    FAULT_CLOSE,
    FAULT_COUNT,
    /* Of an ensemble's servers. */
    FAULT_LEADER_FREEZE = FAULT_COUNT,
    FAULT_SERVER_FREEZE,
    FAULT_CUT_LEADER,
    FAULT_SERVER_RESTART,
    FAULT_REWRITE, /* of a ticket's data, by somebody else */
    FAULT_COUNT_ENSEMBLE,
    /* Of a server that leases tickets. */
    FAULT_STORE_FREEZE = FAULT_COUNT,
    FAULT_STORE_RESTART,
    FAULT_STORE_LOSE_NOTICES, /* its notices are lost for a while */
    FAULT_STORE_STEP,         /* its wall clock is set */
    FAULT_STORE_WIPE,
    FAULT_COUNT_LEASED,
};

/* What one seed decides, beside the cluster itself. */
struct plan {
    struct cluster *cluster;
    unsigned faults;               /* bits */
    struct hf_reconnect reconnect; /* lent to the simulated engines */
    unsigned fault_count;
    uint64_t scale_ms; /* of what goes wrong */
    uint64_t leader_freeze_max_us;
    uint64_t leader_unfrozen_until_us; /* it is not stopped again before */
    unsigned cuts;                     /* of links between servers, in force */
    uint64_t cut_end_us;               /* the last one ended */
    uint64_t fault_every_us;
    uint64_t want_every_us;
    uint64_t hold_max_us;
    uint64_t until_us; /* faults and new wishes */
    bool multi_locks;  /* semaphores, and several places at once */
    bool cohorts;      /* members that share a ticket */
    bool crowded;      /* many of them, who hold for a moment */
    bool faults_over;  /* there are no faults any more */
    bool closing;      /* nobody comes any more, and all go */
    struct hf_ticket_id other_ticket;
    bool other_queued;
    bool other_reads;
};

/* One plan at a time: callbacks of the calendar get only what they act on. */
extern struct plan plan;

/* Draw from the cluster's own numbers. */
uint64_t below(uint64_t bound);
bool one_in(uint64_t n);

struct client *any_client(void);

/* How long the next fault lasts. */
uint64_t fault_us(void);

uint64_t now_us(void);
void later(uint64_t us, void (*fn)(void *arg), void *arg);

/* Processes start, users come, faults begin, until plan.over. */
void fault_injector_start(void);

/* Nothing goes wrong from now on. */
void fault_injector_stop(void);

#endif
