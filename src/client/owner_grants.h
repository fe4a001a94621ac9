/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grants of each owner in one client.
 *
 * A ticket that waits says what its owner holds meanwhile (holds=), so that a
 * reader of queues sees who waits for whom.  The text is written when the
 * ticket is enqueued.  It stays true while the ticket waits, because the grants
 * of an owner do not change while it waits; if the inherited locks change, it
 * is written again (hf_grant_describe_again()).  By the ids of the tickets a
 * reader sees which words are out of date.
 *
 * All with the client's lock.
 */
#ifndef HF_CLIENT_OWNER_GRANTS_H
#define HF_CLIENT_OWNER_GRANTS_H

#include "client/owner_text.h"

/* How many buckets the hash table has; a power of two. */
#define HF_OWNER_GRANTS_BUCKETS 256

struct hf_client;
struct hf_grant;

struct hf_owner_grants {
    /* The grants that are held and whose owner is known, hashed by owner; the
     * newest first. */
    struct hf_grant *buckets[HF_OWNER_GRANTS_BUCKETS];
    /* What every owner of this client holds besides, in words of a ticket's
     * text or "": " holds=..." and " outer=...", together shorter than
     * HF_OWNER_INHERITED_BYTES. */
    char inherited[HF_OWNER_INHERITED_BYTES];
    char outer[HF_OWNER_INHERITED_BYTES];
};

/* Every owner of ${client} also holds the lock called ${name}, by the ticket
 * whose id begins with the eight hex digits of ${id}, because the process that
 * holds it has started this one (holdfast run inside holdfast run).  ${waits}:
 * the outer process can do nothing before this one has ended, so its lock waits
 * with us (holds=).  Otherwise it is not known whether its lock waits with us
 * (outer=); these locks must be passed after all others. */
void hf_owner_grants_inherit(struct hf_client *client, const char *name,
                             const char *id, bool waits);

/* Nothing is inherited any more. */
void hf_owner_grants_disinherit(struct hf_client *client);

/* ${grant} is held from now on; it is not held any more.  Nothing happens if
 * its owner is not known, or the second time. */
void hf_owner_grants_add(struct hf_grant *grant);
void hf_owner_grants_remove(struct hf_grant *grant);

/* Would ${owner} wait for itself if it waited for ${lock}: does it hold that
 * lock in a way that excludes this? */
bool hf_owner_grants_conflict(uint64_t owner, const struct hf_lock *lock);

/* Add to ${payload} what the owner of ${grant}, which waits, holds meanwhile;
 * nothing if the owner is not known.  Inherited locks of outer= come first,
 * followed by "ends" if the wait has a limit.  Then comes holds=: the other
 * inherited locks, those of several locks that ${grant} itself has already, and
 * the locks of that owner's other grants.  "detect" stands before holds= if the
 * owner looks for deadlocks.  It stops when ${payload} is full. */
void hf_owner_grants_write(const struct hf_grant *grant,
                           char payload[HF_PAYLOAD_BYTES]);

#endif
