/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's own state; the parts that are about the lock (keeper_lock.c) and
 * the loop that decides (keeper.c). */
#ifndef HF_CLI_KEEPER_H
#define HF_CLI_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "cli/clock.h"
#include "cli/environment.h"
#include "cli/run.h"
#include "cli/sweep.h"

enum hf_keeper_state {
    HF_KEEPER_WAITING,  /* no grant yet */
    HF_KEEPER_GRANTED,  /* a grant, no command yet */
    HF_KEEPER_RUNNING,  /* the command runs */
    HF_KEEPER_SWEEPING, /* its tree is being ended */
    HF_KEEPER_PARTING,  /* nothing runs; the front is to let go of the ticket */
    HF_KEEPER_OVER      /* release and leave */
};

struct hf_keeper {
    struct hf_run *run;
    enum hf_keeper_state state;
    struct hf_client *client;
    struct hf_lock *locks[HF_LOCKS_MAX]; /* in the user's order */
    size_t lock_count;
    struct hf_op *op;
    struct hf_grant *grant;
    /* What callbacks and messages told, for the loop to act on. */
    bool answered;         /* the acquire has ended: .grant, or .failure */
    bool announced;        /* the grant, to the front */
    bool shared;           /* the front has a descriptor of the ticket */
    bool queued;           /* a ticket of ours has been in the queue */
    bool lost;             /* the grant */
    bool unproven;         /* the lease ran out of time without a renewal */
    bool withdrawing;      /* a signal ended the wait */
    bool waits_for_itself; /* the wait is for a run that this one is part of */
    bool front_gone;
    bool front_paused;
    uint32_t epoch; /* of the front, see struct hf_message */
    struct hf_error failure;
    uint64_t watch_at_ms; /* when to begin to watch the grant */
    int loss_fd;          /* the grant's; -1: not watched yet */
    /* The command. */
    pid_t command; /* 0: never started */
    bool command_ended;
    bool command_stopped;
    unsigned command_turns; /* how often it was seen to stop or go on */
    unsigned front_looks;   /* left, after the command was continued */
    uint64_t front_look_at_ms;
    bool more_to_reap;
    int exit_code;
    struct hf_sweep sweep;
    struct hf_alarm alarm;
};

/* Open client and lock and begin to wait.  False with .failure set. */
bool hf_keeper_open(struct hf_keeper *keeper);

/* The command's environment; false if there is no memory. */
bool hf_keeper_environment(const struct hf_keeper *keeper,
                           struct hf_environment *environment);

/* Have the ticket of this run say what the runs around it hold. */
void hf_keeper_inherit(const struct hf_keeper *keeper);

/* Is one of the locks held by a run that this one is part of, so that a wait
 * would never end?  True with .failure set. */
bool hf_keeper_refuse_nested(struct hf_keeper *keeper);

/* Does ${holder}, the owner at the head of the queue, say the same?  Where a
 * reader waits inside of a reader that is so once a writer came in between. */
bool hf_keeper_waits_for_itself(const struct hf_keeper *keeper,
                                const char *holder);

/* Say so in .failure. */
void hf_keeper_set_waited_for_itself(struct hf_keeper *keeper);

/* Give the ticket's descriptor to the front, and publish the lease.  False
 * with .failure set if the command must not be started. */
bool hf_keeper_share_grant(struct hf_keeper *keeper);

/* Publish how far the lease reaches now.  The instant for the next time, or
 * HF_FOREVER where there is none. */
uint64_t hf_keeper_publish_lease(struct hf_keeper *keeper, uint64_t now_ms);

/* Have the loss of the grant wake us: .loss_fd.  The instant to try again, or
 * HF_FOREVER when that is so. */
uint64_t hf_keeper_watch_grant(struct hf_keeper *keeper, uint64_t now_ms);

/* Ask the front to let go of the ticket.  False if it has none to let go of, or
 * cannot be asked. */
bool hf_keeper_part(struct hf_keeper *keeper);

/* Release, and close all.  False if the grant turns out to have been lost. */
bool hf_keeper_close(struct hf_keeper *keeper);

/* A line for the user, shown by the front if it is that talkative. */
void hf_keeper_tell(struct hf_keeper *keeper, enum hf_verbosity at_least,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
