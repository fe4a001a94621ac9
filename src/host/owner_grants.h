/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each owner holds through one client.
 *
 * A ticket that waits says what its owner holds meanwhile (holds=), so that
 * those who look at queues can tell who waits for whom.  The text is written
 * when the ticket is enqueued: what an owner that waits holds does not change,
 * and the ids of the tickets show a reader what is out of date.
 *
 * All with the client's lock.
 */
#ifndef HF_HOST_OWNER_GRANTS_H
#define HF_HOST_OWNER_GRANTS_H

#include "host/owner_text.h"

/* A power of two. */
#define HF_OWNER_GRANTS_BUCKETS 256

struct hf_client;
struct hf_grant;

struct hf_owner_grants {
    /* The grants whose owner is known, by owner, the last one first. */
    struct hf_grant *buckets[HF_OWNER_GRANTS_BUCKETS];
    /* " holds=..." of what every owner of this client holds besides, or "". */
    char inherited[HF_OWNER_INHERITED_BYTES];
};

/* Every owner of ${client} holds the lock called ${name} too, by the ticket
 * whose id begins with the eight hex digits of ${id}: it was started by a
 * process that does, and holds it as long as this one lives. */
void hf_owner_grants_inherit(struct hf_client *client, const char *name,
                             const char *id);

/* ${grant} is held from now on; it is not any more.  Nothing happens if its
 * owner is not known, and nothing the second time. */
void hf_owner_grants_add(struct hf_grant *grant);
void hf_owner_grants_remove(struct hf_grant *grant);

/* Add holds= to ${payload} if the owner of ${grant}, which waits, holds
 * anything: what other grants of that owner are of, and what ${grant} itself
 * has of several locks already.  Visits no more grants than there is room for,
 * but for those of other owners in the same bucket. */
void hf_owner_grants_write(const struct hf_grant *grant,
                           char payload[HF_PAYLOAD_BYTES]);

#endif
