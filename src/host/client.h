/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client is a monitor: one lock, held while something is worked out and
 * never while anybody sleeps or a callback of the user runs.  Whoever holds it
 * may touch core, engine and loop.
 *
 * Nobody owns the loop.  A thread that has to wait for an answer polls the
 * loop's descriptor without the lock, takes it to work off what came, and polls
 * again.  One caller polls at a time; others sleep until their answer is there
 * or until it is their turn to poll.  When no caller waits, the background
 * thread polls, or a borrowed loop does.
 *
 * Every entry from outside has this shape:
 *
 *     if ((status = hf_client_enter(client)) != HF_OK)
 *         return status;
 *     ... step the core, look at the outcome ...
 *     hf_client_leave(client);
 */
#ifndef HF_HOST_CLIENT_H
#define HF_HOST_CLIENT_H

#include <pthread.h>

#include "core/core.h"
#include "core/heap.h"
#include "core/tree.h"
#include "host/background.h"
#include "host/borrowed.h"
#include "host/delivery.h"
#include "host/fork.h"
#include "host/holdings.h"
#include "host/listener.h"
#include "host/log.h"
#include "host/loop.h"

struct hf_election_wait;
struct hf_grant;

#define HF_DESCRIPTION_BYTES 512

/* An object whose last reference was given up: what frees it may call the user,
 * and so is done when the client's lock has been given up. */
struct hf_grave {
    void (*destroy)(struct hf_grave *grave);
    struct hf_grave *next;
};

/* A blocking call that waits for its answer, on its caller's stack. */
struct hf_slot {
    bool done;
    bool waits; /* its caller sleeps */
    bool polls; /* in poll(), not on .wake */
    hf_status status;
    pthread_cond_t wake;
    struct hf_slot *next;
    struct hf_slot **link; /* what points here */
};

struct hf_client {
    pthread_mutex_t lock;
    /* The user's handle, each lock, mutex and grant, and the background
     * thread.  Under the lock. */
    unsigned references;
    uint64_t generation; /* of the process that opened it, see fork.h */

    struct hf_core core;
    struct hf_texts failures; /* of locks and grants */
    const struct hf_engine_ops *ops;
    struct hf_engine *engine; /* NULL before it is open and after its end */
    bool pumping;             /* effects are being carried out */
    uint64_t steps;           /* counts events, to see whether any came */
    unsigned unsettled;       /* grants and errands on which the core has work
                                 to do, and waits for an election */

    struct hf_loop loop;
    struct hf_background background;
    struct hf_borrowed borrowed;
    struct hf_delivery_queue delivery;
    struct hf_log log;
    struct hf_reconnect reconnect; /* lent to the engine */

    struct hf_tree local_queues;
    struct hf_holdings holdings;
    struct hf_slot *slots;         /* callers that wait, the last one first */
    struct hf_grant_check *checks; /* those of them that wait for a proof */
    bool polled_by_caller;
    /* Interrupts that caller.  Not a handle of the loop: whoever runs the loop
     * would take the event from under the one who sleeps. */
    int interrupt_fd;      /* -1 until somebody waits */
    uint64_t caller_turns; /* counts callers that stopped polling */
    unsigned sleepers;     /* threads in poll() on the loop */

    struct hf_listener first_listener; /* that of the options */
    struct hf_listener *listeners;     /* all, in the order of their adding */
    enum hf_state state;               /* the last one, for them */
    _Atomic unsigned published; /* enum hf_state, for hf_client_state() */

    bool closing;     /* close was called */
    bool ended;       /* and every callback has run */
    bool wound_up;    /* and engine and loop are gone */
    bool close_waits; /* somebody waits for it, and frees the handle */
    struct hf_slot *close_slot;
    struct hf_done close_done;
    struct hf_callback close_callback;

    struct hf_grant *loss_fds; /* grants that have a loss descriptor */
    struct hf_election_wait *election_waits;
    struct hf_heap election_deadlines; /* theirs; each step reads the first */
    struct hf_grave *graveyard;        /* freed once the lock is given up */
    char description[HF_DESCRIPTION_BYTES];
    struct hf_error error;

    struct hf_client *next; /* in fork.c's registry */
    struct hf_client **link;
};

/* CLOCK_BOOTTIME. */
uint64_t hf_now_ms(void);

/* Take the lock and let what is due happen first, so that a thread that was
 * frozen hears of a loss before it does anything else.  HF_EFORKED in a child,
 * without the lock. */
hf_status hf_client_enter(struct hf_client *client);

/* Keep the calling thread from being cancelled, once more and once less.
 * hf_client_enter() does, hf_client_leave() undoes it: a thread that was
 * cancelled in between, in any close() or poll(), would take the lock along. */
void hf_client_shield(void);
void hf_client_unshield(void);

/* Settle, give the lock up, and do what must be done without it. */
void hf_client_leave(struct hf_client *client);

/* Hand the core an event of ours (its time is filled in) and carry out what
 * follows.  With the lock. */
void hf_client_step(struct hf_client *client, struct hf_event *event);

/* Work off everything that is ready and arm the timer for what is not.  With
 * the lock; nobody may sleep on the loop without it. */
void hf_client_settle(struct hf_client *client);

/* Answer a slot, and wait for one's own.  Both with the lock, which the wait
 * gives up while it sleeps.  HF_ELIMIT, without an answer, if there is no loop
 * to wait on. */
void hf_slot_answer(struct hf_client *client, struct hf_slot *slot,
                    hf_status status);
hf_status hf_client_wait(struct hf_client *client, struct hf_slot *slot);

/* A callback that is to go runs: wait until whoever runs it has answered
 * ${*slot}, which is set meanwhile; or not at all where that could only wait
 * for itself.  With the lock, as those. */
void hf_client_await_callback(struct hf_client *client, struct hf_slot **slot);

/* HF_EREENTRANT, and its text, where a call that waits could only wait for
 * itself; or as hf_fork_check(). */
hf_status hf_client_may_block(const struct hf_client *client,
                              struct hf_error *error);

/* Would something be left undone, or unheard, if no caller came any more? */
bool hf_client_must_be_driven(const struct hf_client *client);

/* Make sure that something polls although no caller does.  HF_ELIMIT, and its
 * text. */
hf_status hf_client_need_driver(struct hf_client *client,
                                struct hf_error *error);

/* Have ${grave} destroyed. */
void hf_client_bury(struct hf_client *client, struct hf_grave *grave);

/* Free what was buried, giving the lock up meanwhile. */
void hf_client_sweep(struct hf_client *client);

void hf_client_reference(struct hf_client *client);
/* With the lock, by someone who does not hold the last one. */
void hf_client_dereference(struct hf_client *client);
/* Without the lock; frees the client with the last one. */
void hf_client_release(struct hf_client *client);

/* Remember ${error} under "call: " and return its status.  With the lock. */
hf_status hf_client_fail(struct hf_client *client, const char *call,
                         struct hf_error *error);

/* The URL of a client that is given none: HOLDFAST_URL, or "file:".  The
 * environment is not asked in a set-id program, because it is the caller's. */
const char *hf_client_default_url(void);

/* Open with callbacks on ${loop} or, if that is NULL, where ${opts} say; with
 * ${looks} as hf_client_open_to_look(). */
hf_status hf_client_make(const char *url, const struct hf_client_opts *opts,
                         struct uv_loop_s *loop, bool looks,
                         struct hf_client **client, struct hf_error *error);

/* As hf_client_open(), for a client that asks for nothing but tickets
 * (hf_lock_tickets() and its kin): the engine makes no directory and no schema.
 * Where there is none the name may be mistyped, and an empty queue would hide
 * that: HF_EDIR from here, or HF_EURL from the first list. */
hf_status hf_client_open_to_look(const char *url,
                                 const struct hf_client_opts *opts,
                                 struct hf_client **client,
                                 struct hf_error *error);

#endif
