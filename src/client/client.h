/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: a core, an engine, and what the user has of both.  A monitor guards
 * all of it, so a thread may touch any of it while it holds the monitor's lock.
 * For how that lock is taken, released and waited with, see monitor/monitor.h.
 *
 * An engine brings events to the core by hf_client_step().  The effects that
 * the core answers with are carried out in the same call (effects.h).
 */
#ifndef HF_CLIENT_CLIENT_H
#define HF_CLIENT_CLIENT_H

#include "base/heap.h"
#include "base/tree.h"
#include "client/client_metrics.h"
#include "client/owner_grants.h"
#include "core/core_state.h"
#include "monitor/monitor.h"
#include "operation/opts_compat.h"
#include "operation/state_listener.h"

struct hf_election_wait;
struct hf_grant;
struct hf_queue_watch;

/* A user of the session of the client's engine besides the core, embedded in
 * its struct.  All functions with the lock. */
struct hf_session_user {
    /* As the functions of the same name that the owner of a monitor has
     * (monitor.h). */
    uint64_t (*due_at_ms)(const struct hf_session_user *user);
    void (*run_due)(struct hf_session_user *user);
    /* The client is being closed, and with it the session. */
    void (*close)(struct hf_session_user *user);
    /* All callbacks of the client have run. */
    void (*ended)(struct hf_session_user *user);
    void (*abandon)(struct hf_session_user *user);
    struct hf_session_user *next; /* in the client's list */
};

/* Room for what an engine says it is connected to, with the NUL. */
#define HF_DESCRIPTION_BYTES 512

/* All fields under the monitor's lock, where nothing else is said. */
struct hf_client {
    struct hf_monitor monitor;
    struct hf_core core;
    uint64_t deadlocks_cut;          /* the core's, when it was last counted */
    const struct hf_engine_ops *ops; /* of the engine; set once, and once more
                                        when the engine is abandoned */
    struct hf_engine *engine; /* NULL before it is open and after its end */
    struct hf_request *unanswered; /* requests that the engine has not answered,
                                      the newest first */
    /* The user's policy; the engine has a pointer to it. */
    struct hf_reconnect reconnect;
    /* What the engine is connected to; set once. */
    char description[HF_DESCRIPTION_BYTES];

    /* Carries out one effect of the core: hf_effects_carry_out(), which knows
     * the grants and operations that effects are about.  The client does not
     * know them.  Set once, before the first step.  With the lock. */
    void (*carry_out)(struct hf_client *client, const struct hf_effect *effect);
    bool pumping; /* effects are being carried out, further up the stack */
    /* How many grants and operations the core still has work to do on, and how
     * many waits for an election were started, and how many queues are watched.
     * While it is not 0 a thread has to poll. */
    unsigned pending;

    /* The cohorts of its mutexes, by name and options; and those of them that
     * have no mutex any more (lock.c). */
    struct hf_tree cohorts;
    struct {
        struct hf_client_cohort *first;
        struct hf_client_cohort *last;
    } unused_cohorts;
    struct hf_owner_grants owner_grants; /* what each owner holds */
    /* The calls that wait for a proof of the session, the newest first. */
    struct hf_grant_check *checks;
    struct hf_grant *loss_fds; /* grants that have a loss descriptor */
    /* The waits for a leader of all its elections, the newest first. */
    struct hf_election_wait *election_waits;
    /* The deadlines of those waits, in milliseconds of hf_now_ms(). */
    struct hf_heap election_deadlines;

    struct hf_session_user *session_users; /* the newest first */
    /* The watches of queues, and those of them that wait until they may list
     * again, by when that is, in milliseconds of hf_now_ms(). */
    struct {
        struct hf_queue_watch *first;
        struct hf_queue_watch *last;
    } queue_watches;
    struct hf_heap queue_watch_pauses;

    /* The last state that the core reported, and who is notified of it. */
    struct hf_state_listeners listeners;
    struct hf_done close_done; /* of hf_client_close_start() */

    struct hf_client_metrics metrics;
};

/* Give the core ${event}, whose time is filled in here, and carry out the
 * effects that follow.  With the lock.  May be called while an effect is
 * carried out: the new effects are then carried out after that effect. */
void hf_client_step(struct hf_client *client, struct hf_event *event);

/* Put ${user}, whose functions are set, into the list; take it out.  With the
 * lock. */
void hf_client_add_session_user(struct hf_client *client,
                                struct hf_session_user *user);
void hf_client_remove_session_user(struct hf_client *client,
                                   const struct hf_session_user *user);

/* Open a client for the call ${api_name}, whose callbacks run on ${loop} or, if
 * that is NULL, where ${opts} say.  All public calls that open a client end
 * here.  ${list_only} is as in hf_client_open_list_only().  On failure the
 * callbacks of ${opts} are dropped.  Without the lock. */
hf_status hf_client_open_common(const char *api_name, const char *url,
                                const struct hf_client_opts *opts,
                                struct uv_loop_s *loop, bool list_only,
                                struct hf_client **client);

/* As hf_client_open(), for a client that only lists tickets, and evicts and
 * revokes those that were listed (<holdfast/tickets.h>): the engine makes no
 * directory and no schema.  Where there is none, the name may be mistyped, and
 * an empty queue would hide that.  So this call fails with HF_EDIR, or the
 * first list with HF_EURL. */
hf_status hf_client_open_list_only(const char *url,
                                   const struct hf_client_opts *opts,
                                   struct hf_client **client);

/* ---------------------------------------- its engine: client_engine.c -- */

/* The engine as the core uses it: requests, events, and what happens when the
 * engine cannot be used any more.  All with the lock. */

/* Hand ${request} to the engine; take back a watch. */
void hf_client_engine_request(struct hf_client *client,
                              struct hf_request *request);
void hf_client_engine_unwatch(struct hf_client *client,
                              struct hf_request *watch);

/* The .event of the host of the engine, which is the monitor: ${event} goes to
 * the core. */
void hf_client_engine_event(void *monitor, struct hf_event *event);

/* The engine's descriptors were closed: never call the engine again, answer
 * what it has not answered, and end the session. */
void hf_client_engine_abandon(struct hf_client *client);

/* ------------------------------------------------------ calls that open -- */

/* What the calls have in common that open a handle of a client.  All without
 * the client's lock; errors name the call ${api_name}. */

/* hf_fail() for a call that has not entered the monitor: in the child of a fork
 * HF_EFORKED takes the place of ${error}. */
hf_status hf_open_fail(const struct hf_client *client, const char *api_name,
                       const struct hf_error *error);

/* hf_opts_copy(), with a failure as hf_open_fail() makes it. */
hf_status hf_open_copy_opts(const struct hf_client *client,
                            const char *api_name,
                            const struct hf_opts_type *type, const void *given,
                            void *opts);

/* May ${text} be the text of a ticket?  HF_EINVAL if not; HF_OK if it is
 * NULL. */
hf_status hf_open_check_text(const struct hf_client *client,
                             const char *api_name, const char *text);

/* Zeroed memory for a handle.  NULL: the call ${api_name} fails with HF_ENOMEM,
 * which was reported. */
void *hf_open_alloc(const char *api_name, size_t bytes);

#endif
