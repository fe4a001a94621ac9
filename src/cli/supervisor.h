/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's own state; the parts that are about the lock
 * (supervisor_lock.c) and the loop that decides (supervisor.c). */
#ifndef HF_CLI_SUPERVISOR_H
#define HF_CLI_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "cli/clock.h"
#include "cli/environment.h"
#include "cli/run.h"
#include "cli/termination.h"

enum hf_supervisor_state {
    HF_SUPERVISOR_WAITING,         /* no grant yet */
    HF_SUPERVISOR_GRANTED,         /* a grant, no command yet */
    HF_SUPERVISOR_RUNNING,         /* the command runs */
    HF_SUPERVISOR_TERMINATING,     /* its tree is being ended */
    HF_SUPERVISOR_CLOSING_TICKETS, /* nothing runs; the launcher is to let go of
                                      the ticket */
    HF_SUPERVISOR_DONE             /* release and leave */
};

struct hf_supervisor {
    struct hf_run *run;
    enum hf_supervisor_state state;
    struct hf_client *client;
    struct hf_lock *locks[HF_LOCKS_MAX]; /* in the user's order */
    size_t lock_count;
    struct hf_op *op;
    struct hf_grant *grant;
    /* What callbacks and messages told, for the loop to act on. */
    bool acquire_done;     /* the acquire has ended: .grant, or .failure */
    bool announced;        /* the grant, to the launcher */
    bool tickets_shared;   /* the launcher has a descriptor of the ticket */
    bool queued;           /* a ticket of ours has been in the queue */
    bool lost;             /* the grant */
    bool not_renewed;      /* the lease ran out of time without a renewal */
    bool cancelled;        /* a signal ended the wait */
    bool waits_for_itself; /* the wait is for a run that this one is part of */
    bool launcher_gone;
    bool launcher_paused;
    uint32_t epoch; /* of the launcher, see struct hf_ipc_message */
    struct hf_error failure;
    uint64_t watch_at_ms; /* when to begin to watch the grant */
    int loss_fd;          /* the grant's; -1: not watched yet */
    /* The command. */
    pid_t command; /* 0: never started */
    bool command_ended;
    bool command_stopped;
    unsigned command_changes; /* how often it was seen to stop or go on */
    unsigned launcher_checks; /* left, after the command was continued */
    uint64_t launcher_check_at_ms;
    bool more_to_reap;
    int exit_code;
    struct hf_termination termination;
    struct hf_alarm alarm;
};

/* Open client and lock and begin to wait.  False with .failure set. */
bool hf_supervisor_open(struct hf_supervisor *supervisor);

/* The command's environment; false if there is no memory. */
bool hf_supervisor_environment(const struct hf_supervisor *supervisor,
                               struct hf_environment *environment);

/* Have the ticket of this run say what the runs around it hold. */
void hf_supervisor_inherit_holdings(const struct hf_supervisor *supervisor);

/* Is one of the locks held by a run that this one is part of, so that a wait
 * would never end?  True with .failure set. */
bool hf_supervisor_refuse_nested(struct hf_supervisor *supervisor);

/* Does ${holder}, the owner at the head of the queue, say the same?  Where a
 * reader waits inside of a reader that is so once a writer came in between. */
bool hf_supervisor_waits_for_itself(const struct hf_supervisor *supervisor,
                                    const char *holder);

/* Say so in .failure. */
void hf_supervisor_set_waited_for_itself(struct hf_supervisor *supervisor);

/* Give the ticket's descriptor to the launcher, and publish the lease.  False
 * with .failure set if the command must not be started. */
bool hf_supervisor_share_tickets(struct hf_supervisor *supervisor);

/* Publish how far the lease reaches now.  The instant for the next time, or
 * HF_FOREVER where there is none. */
uint64_t hf_supervisor_publish_lease(struct hf_supervisor *supervisor,
                                     uint64_t now_ms);

/* Have the loss of the grant wake us: .loss_fd.  The instant to try again, or
 * HF_FOREVER when that is so. */
uint64_t hf_supervisor_watch_grant(struct hf_supervisor *supervisor,
                                   uint64_t now_ms);

/* Ask the launcher to let go of the ticket.  False if it has none to let go of,
 * or cannot be asked. */
bool hf_supervisor_ask_to_close_tickets(struct hf_supervisor *supervisor);

/* Release, and close all.  False if the grant turns out to have been lost. */
bool hf_supervisor_close(struct hf_supervisor *supervisor);

/* A line for the user, shown by the launcher if it is that talkative. */
void hf_supervisor_print(struct hf_supervisor *supervisor,
                         enum hf_verbosity at_least, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
