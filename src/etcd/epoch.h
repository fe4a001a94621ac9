/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epoch of a session.  It lets us find out whether an enqueue whose answer
 * was lost has happened, because after a new epoch it cannot happen any more.
 *
 * Nothing ties a request to its connection.  A frozen server carries out the
 * requests in its buffers when it thaws, and the lease that they name may still
 * live.  So each session has a key, PREFIX .holdfast/LEASE, attached to its
 * lease.  The revision at which that key was put last is the epoch.  Every
 * request that makes a ticket compares the epoch.  If such a request ends
 * UNSURE (except for lack of space), or is cancelled after it was sent, the
 * session puts the key again.  Once that put is answered, no request that
 * compares the earlier epoch can take effect any more, and what has taken
 * effect can be read.
 *
 * The put itself compares the epoch, too.  So a put that takes effect late
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

/* The pause before the key is put again, if the server has refused the put or
 * has answered RESOURCE_EXHAUSTED. */
#define HF_ETCD_EPOCH_RETRY_MS 1000

enum hf_etcd_epoch_state {
    HF_ETCD_EPOCH_NONE,   /* there is no lease */
    HF_ETCD_EPOCH_DUE,    /* the key has to be put */
    HF_ETCD_EPOCH_MOVING, /* the put is under way */
    HF_ETCD_EPOCH_KNOWN,  /* .revision is the epoch */
};

struct hf_etcd_epoch {
    unsigned state; /* enum hf_etcd_epoch_state; only session_epoch.c writes */
    int64_t revision; /* at which the key was put last, as far as is known;
                         0: the key is not there */
    uint64_t due_ms;  /* DUE: the put is not sent before this instant */
    char key[HF_ETCD_EPOCH_KEY_BYTES];
    struct hf_etcd_call call;
};

/* ----------------------------------------------------------- for engines -- */

/* Is the epoch known?  While it is not, no ticket can be made; .epoch_moved of
 * the listener is called when it is. */
bool hf_etcd_epoch_is_known(const struct hf_etcd_session *session);

/* Append to the transaction ${request} the comparison that the epoch is still
 * the current one.  The epoch must be known. */
void hf_etcd_epoch_compare(const struct hf_etcd_session *session,
                           struct hf_etcd_buffer *request);

/* Return the key of the session, PREFIX .holdfast/LEASE; "" without a lease. */
struct hf_etcd_bytes hf_etcd_epoch_key(const struct hf_etcd_session *session);

/* A transaction has read the key of the session: ${revision} is its
 * mod_revision, 0 if the key is not there.  If ${revision} is not the epoch,
 * the transaction was of an earlier epoch, or somebody else has put or deleted
 * the key; then the epoch begins to move.  Returns true if the epoch is not
 * known now, because it moves.  Then wait for .epoch_moved. */
bool hf_etcd_epoch_check(struct hf_etcd_session *session, int64_t revision);

/* ------------------------------------------------- for the session's files */

/* There is a new lease: the key has to be put for the first time. */
void hf_etcd_epoch_begin(struct hf_etcd_session *session);

/* Move the epoch, if it is known.  Called when a request that compared it has
 * ended UNSURE or was cancelled after it was sent, or when a snapshot of the
 * store may have been restored. */
void hf_etcd_epoch_unsure(struct hf_etcd_session *session);

/* The session is over. */
void hf_etcd_epoch_end(struct hf_etcd_session *session);

/* Put the key, if that is due and the session is usable. */
void hf_etcd_epoch_tick(struct hf_etcd_session *session);

/* Return when hf_etcd_epoch_tick() must be called.  HF_FOREVER: nothing is due,
 * or there is no usable connection. */
uint64_t hf_etcd_epoch_wake_at_ms(const struct hf_etcd_session *session);

#endif
