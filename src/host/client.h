/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client is a core, an engine, and what the user has of both, guarded by a
 * monitor: whoever holds the monitor's lock may touch all of it.  How that is
 * entered, left and waited in, see monitor/monitor.h.
 */
#ifndef HF_HOST_CLIENT_H
#define HF_HOST_CLIENT_H

#include "core/core.h"
#include "core/heap.h"
#include "core/tree.h"
#include "host/owner_grants.h"
#include "host/state_listener.h"
#include "monitor/monitor.h"

struct hf_election_wait;
struct hf_grant;

#define HF_DESCRIPTION_BYTES 512

/* All fields under the monitor's lock, where nothing else is said. */
struct hf_client {
    struct hf_monitor monitor;
    struct hf_core core;
    const struct hf_engine_ops *ops; /* set once */
    struct hf_engine *engine;        /* NULL before it is open, after its end */
    struct hf_reconnect reconnect;   /* lent to the engine */
    char description[HF_DESCRIPTION_BYTES]; /* of the engine; set once */

    /* Carries out an effect of the core: it knows the grants and operations
     * that effects are about, and the client does not.  Set once, before the
     * first step.  With the lock. */
    void (*carry_out)(struct hf_client *client, const struct hf_effect *effect);
    bool pumping; /* effects are being carried out */
    /* Grants and operations on which the core has work to do, and waits for an
     * election. */
    unsigned pending;

    struct hf_tree cohorts;
    struct hf_owner_grants owner_grants;
    struct hf_grant_check *checks; /* callers that wait for a proof */
    struct hf_grant *loss_fds;     /* grants that have a loss descriptor */
    struct hf_election_wait *election_waits;
    struct hf_heap election_deadlines; /* theirs; each step reads the first */

    struct hf_listener first_listener; /* that of the options */
    struct hf_listener *listeners;     /* all, in the order of their adding */
    enum hf_state state;               /* the last one, for them */
    _Atomic unsigned published; /* enum hf_state, for hf_client_state() */
    struct hf_done close_done;  /* of hf_client_close_start() */

    struct hf_shared_texts error_texts; /* of locks and grants */
    struct hf_error error;              /* the last one of the client itself */
};

/* Hand the core an event of ours (its time is filled in) and carry out what
 * follows.  With the lock. */
void hf_client_step(struct hf_client *client, struct hf_event *event);

/* Call .fn of ${done} with ${result}, then .drop.  In a callback, with the
 * lock, which is given up meanwhile. */
void hf_client_call_done(struct hf_client *client, const struct hf_done *done,
                         const struct hf_result *result);

/* Remember ${error} under "call: " and return its status.  With the lock. */
hf_status hf_client_fail(struct hf_client *client, const char *call,
                         struct hf_error *error);

/* The URL of a client that is given none: HOLDFAST_URL, or "file:".  The
 * environment is not asked in a set-id program, because it is the caller's. */
const char *hf_client_default_url(void);

/* Open with callbacks on ${loop} or, if that is NULL, where ${opts} say; with
 * ${list_only} as hf_client_open_list_only(). */
hf_status hf_client_open_common(const char *url,
                                const struct hf_client_opts *opts,
                                struct uv_loop_s *loop, bool list_only,
                                struct hf_client **client,
                                struct hf_error *error);

/* As hf_client_open(), for a client that asks for nothing but tickets
 * (hf_lock_tickets() and its kin): the engine makes no directory and no schema.
 * Where there is none the name may be mistyped, and an empty queue would hide
 * that: HF_EDIR from here, or HF_EURL from the first list. */
hf_status hf_client_open_list_only(const char *url,
                                   const struct hf_client_opts *opts,
                                   struct hf_client **client,
                                   struct hf_error *error);

#endif
