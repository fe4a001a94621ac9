/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant, from the moment it is asked for: one object is the operation, the
 * acquisition in the core and then the grant, so that nothing has to be
 * allocated once the ticket is under way.
 *
 * It is kept alive by the core until FORGOTTEN, by the user's operation handle,
 * by the user's grant or the completion that will bring it, and by callbacks
 * of it that are queued.
 */
#ifndef HF_HOST_GRANT_H
#define HF_HOST_GRANT_H

#include "core/acquisition.h"
#include "host/client.h"
#include "host/delivery.h"
#include "host/lock.h"
#include "host/members.h"
#include "host/op.h"

struct hf_grant {
    struct hf_acquisition acquisition;
    struct hf_client *client;
    struct hf_lock *lock; /* the first that was asked for */
    struct hf_bundle bundle;
    struct hf_member *members;
    size_t member_count;
    unsigned references; /* under the client's lock */
    struct hf_op op;

    bool unsettled; /* the core has work to do on it */
    bool granted;
    bool lost;
    bool released;        /* a release was called */
    int loss_fd;          /* -1 until asked for */
    struct hf_slot *slot; /* who waits for the acquire or the release */

    struct hf_done done; /* of the acquire, then of the release */
    hf_status done_status;
    struct hf_on_wait on_wait;
    uint32_t displaced; /* as the last on_wait said */
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    struct hf_callback done_callback;
    struct hf_callback wait_callback;
    struct hf_callback loss_callback;
    struct hf_callback revoke_callback;

    /* A downgrade under way, and who hears of its end. */
    bool downgrading;
    hf_status downgrade_status;
    struct hf_slot *downgrade_slot;
    struct hf_done downgrade_done;
    struct hf_callback downgrade_callback;

    struct hf_election *election; /* that it is a candidature in, or NULL */

    struct hf_grave grave;
    char payload[HF_PAYLOAD_BYTES];
};

/* A new one of the ${count} ${locks}, with one reference, the user's; NULL if
 * out of memory. */
struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              struct hf_done done);

/* hf_lock_acquire() and hf_lock_acquire_start() on behalf of the user's
 * ${call}. */
hf_status hf_acquire_for(struct hf_lock *lock, const char *call,
                         uint64_t wait_ms, struct hf_grant **grant);
hf_status hf_acquire_start_for(struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op);

/* With the client's lock. */
void hf_grant_reference(struct hf_grant *grant);
void hf_grant_dereference(struct hf_grant *grant);

/* Note whether the core has work to do on it. */
void hf_grant_set_unsettled(struct hf_grant *grant, bool unsettled);

/* Take back what was asked for a moment ago and is not granted: the caller
 * answers for it, drops its callbacks, and has it no more. */
void hf_grant_disown(struct hf_grant *grant);

/* Queue a callback of it, unless it is queued. */
void hf_grant_queue(struct hf_grant *grant, struct hf_callback *callback);

/* Its downgrade has ended. */
void hf_grant_downgraded(struct hf_grant *grant);

/* Begin a release, or end a wait, that nobody is told the end of but its
 * election. */
void hf_grant_let_go(struct hf_grant *grant);

/* The id of its ticket of ${lock}, which must be one of its locks. */
const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock);

/* Carry out an effect that concerns it. */
void hf_grant_effect(struct hf_grant *grant, const struct hf_effect *effect);

/* In the child of a fork: close the loss descriptors. */
void hf_grant_after_fork(struct hf_client *client);

#endif
