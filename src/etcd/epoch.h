/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epoch of a session, by which an enqueue whose answer was lost is either
 * found or known not to happen.
 *
 * Nothing ties a request to its connection.  A request that a frozen server has
 * in its buffers is carried out when it thaws, and the lease that it names may
 * still live.  So each session has a key, PREFIX .holdfast/LEASE, attached to
 * its lease.  The revision at which that key was put last is the epoch.  Every
 * request that makes a ticket compares it.  When such a request ends UNSURE,
 * but not for lack of space, or is cancelled after it was sent, the session
 * puts the key again.  From the answer to that put on nothing that was sent in
 * an earlier epoch can take effect any more, and what has taken effect can be
 * read.
 *
 * The put itself compares the epoch too, so that a put that takes effect late
 * cannot move an epoch that was moved since.
 */
#ifndef HF_ETCD_EPOCH_H
#define HF_ETCD_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/call.h"
#include "etcd/message.h"

#define HF_ETCD_EPOCH_NAME ".holdfast/"
#define HF_ETCD_LEASE_TEXT_BYTES                                               \
    17 /* 16 digits, as Go prints it, and a zero                               \
        */
#define HF_ETCD_PREFIX_BYTES 1024
#define HF_ETCD_EPOCH_KEY_BYTES                                                \
    (HF_ETCD_PREFIX_BYTES + sizeof HF_ETCD_EPOCH_NAME +                        \
     HF_ETCD_LEASE_TEXT_BYTES)

/* The pause before the key is put again, if the server has refused that or has
 * answered RESOURCE_EXHAUSTED. */
#define HF_ETCD_EPOCH_RETRY_MS 1000

enum hf_etcd_epoch_state {
    HF_ETCD_EPOCH_NONE,   /* there is no lease */
    HF_ETCD_EPOCH_DUE,    /* the key has to be put */
    HF_ETCD_EPOCH_MOVING, /* the put is under way */
    HF_ETCD_EPOCH_KNOWN,  /* .revision is the epoch */
};

struct hf_etcd_epoch {
    unsigned
        state; /* enum hf_etcd_epoch_state; written by session_epoch.c only */
    int64_t revision; /* at which the key was put, as far as is known; 0: it is
                         not there */
    uint64_t due_ms;  /* DUE: not before then */
    char key[HF_ETCD_EPOCH_KEY_BYTES];
    struct hf_etcd_call call;
};

/* ----------------------------------------------------------- for engines -- */

/* Is the epoch known?  While it is not, no ticket can be made: wait for
 * .epoch_moved of the listener. */
bool hf_etcd_epoch_is_known(const struct hf_etcd_session *session);

/* Append to the transaction ${request} that it is of this epoch.  The epoch is
 * known. */
void hf_etcd_epoch_compare(const struct hf_etcd_session *session,
                           struct hf_etcd_buffer *request);

/* The key of the session, PREFIX .holdfast/LEASE; "" without a lease. */
struct hf_etcd_bytes hf_etcd_epoch_key(const struct hf_etcd_session *session);

/* A transaction has read that key: ${revision} is its mod_revision, 0 if it is
 * not there.  Returns true if the epoch is not known now: it is being moved
 * already, or it begins to move because ${revision} is not the epoch.  Then the
 * transaction was of an earlier epoch, or somebody else has put or deleted the
 * key.  Wait for .epoch_moved. */
bool hf_etcd_epoch_check(struct hf_etcd_session *session, int64_t revision);

/* ------------------------------------------------- for the session's files */

/* There is a new lease: the key has to be put for the first time. */
void hf_etcd_epoch_begin(struct hf_etcd_session *session);

/* Move the epoch if it is known: a request that compared it has ended UNSURE or
 * was cancelled after it was sent, or a snapshot may have been restored. */
void hf_etcd_epoch_unsure(struct hf_etcd_session *session);

/* The session is over. */
void hf_etcd_epoch_end(struct hf_etcd_session *session);

/* Put the key, if that is due and the session is usable. */
void hf_etcd_epoch_tick(struct hf_etcd_session *session);

/* When hf_etcd_epoch_tick() is to be called; HF_FOREVER: nothing is due, or
 * there is no usable connection. */
uint64_t hf_etcd_epoch_wake_at_ms(const struct hf_etcd_session *session);

#endif
