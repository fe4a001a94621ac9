/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket is one contender's place in a queue. */
#ifndef HF_CORE_TICKET_H
#define HF_CORE_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/random.h"

#define HF_TICKET_ID_BYTES 16
#define HF_TICKET_ID_TEXT_BYTES 37 /* 8-4-4-4-12 hex digits and the NUL */

/* What its owner says of itself: no NUL, at most so many bytes with it. */
#define HF_PAYLOAD_BYTES 1024

/* Made by the client, fresh for every attempt to enqueue: a version 4 UUID, or
 * one of version 8 that says the role of its ticket.  Never derived from a
 * session, or two contenders of one session would be taken for each other. */
struct hf_ticket_id {
    uint8_t bytes[HF_TICKET_ID_BYTES];
};

enum hf_ticket_kind {
    HF_TICKET_MUTEX = 1,
    HF_TICKET_READ = 2,
    HF_TICKET_WRITE = 3,
    HF_TICKET_LEASE = 4,    /* permits of a semaphore, in its second queue */
    HF_TICKET_ELECTION = 5, /* a mutex among its own, whose holder leads */
    /* Seen only, never asked for: a mutex, a write ticket or an election's, and
     * its name does not say which.  So kazoo names them all, and so do we where
     * we name as kazoo does. */
    HF_TICKET_EXCLUSIVE = 6,
    /* A mark: it belongs to nobody and stays until it is taken away; at most
     * one of a kind is in a queue.  This one is a barrier that is up. */
    HF_TICKET_BARRIER = 7,
    /* Whoever is at a double barrier; nobody is ahead of anybody. */
    HF_TICKET_PARTICIPANT = 8,
    /* A mark: so many were there when it was made.  See double_barrier_rule.h.
     */
    HF_TICKET_READY = 9
};
/* Of those that stand in line. */
#define HF_TICKET_QUEUED_LAST HF_TICKET_ELECTION

/* A semaphore called NAME is two queues: the entry mutex NAME/locks, whose head
 * alone may add leases, and the leases in NAME/leases.  A lock may be called so
 * too. */
#define HF_QUEUE_LOCKS "/locks"
#define HF_QUEUE_LEASES "/leases"

/* What a mutex ticket in a queue called NAME/locks is for.  Two whose roles are
 * known and differ do not wait for each other: the later one is refused.  The
 * ids of other programs' tickets do not say it, and these go with both. */
enum hf_ticket_role {
    HF_ROLE_UNKNOWN,
    HF_ROLE_ENTRY, /* of the semaphore NAME */
    HF_ROLE_LOCK,  /* of the lock NAME/locks */
};

/* Permits that one ticket may stand for. */
#define HF_WEIGHT_MAX 64

/* A double barrier waits for so many participants at most. */
#define HF_PARTICIPANTS_MAX 128

struct hf_ticket {
    struct hf_ticket_id id;
    uint64_t sequence; /* its place, as the engine numbers the queue */
    uint64_t token;    /* fencing token; also decides between equal sequences */
    enum hf_ticket_kind kind;
    uint32_t weight;     /* permits; 1 unless it is a LEASE */
    const char *payload; /* never NULL; lives as long as the snapshot */
    /* In a snapshot of a whole LIST, for people only. */
    const char *dialect; /* of its name: static */
    /* Milliseconds since 1970 in UTC when it was made, by the clock of whoever
     * noted that; 0: nobody did.  Never for anything but showing it. */
    uint64_t created_utc_ms;
};

/* A queue as it stood at one moment, sorted by hf_ticket_compare(), or the part
 * of it that hf_admission_trim() leaves.  Memory of the engine, valid until the
 * call that brought it returns. */
struct hf_snapshot {
    const struct hf_ticket *tickets;
    size_t count;
    size_t
        more_ahead; /* tickets ahead of one's own that are not shown, for
                 people: some may have gone, and an engine may end its count */
};

/* A fresh version 4 UUID. */
struct hf_ticket_id hf_ticket_id_random(struct hf_random *random);

bool hf_ticket_id_equal(const struct hf_ticket_id *a,
                        const struct hf_ticket_id *b);

/* Write the id to ${text} as a UUID in lower case. */
void hf_ticket_id_format(const struct hf_ticket_id *id,
                         char text[HF_TICKET_ID_TEXT_BYTES]);

/* Read such a UUID from exactly ${bytes} bytes; false if it is none. */
bool hf_ticket_id_parse(struct hf_ticket_id *id, const char *text,
                        size_t bytes);

/* May a ticket in ${queue} be that of an entry mutex? */
bool hf_queue_has_roles(const char *queue);

/* Have ${id} say the role, which is known: a UUID of version 8 (RFC 9562) whose
 * first four bytes are a word. */
void hf_ticket_id_set_role(struct hf_ticket_id *id, enum hf_ticket_role role);
enum hf_ticket_role hf_ticket_id_role(const struct hf_ticket_id *id);

/* Copy ${payload} to ${to}, cut between characters if it does not fit. */
void hf_payload_copy(char to[HF_PAYLOAD_BYTES], const char *payload);

/* Queue order: by sequence, then by token.  For qsort(). */
int hf_ticket_compare(const void *a, const void *b);

/* The place of the ticket called ${id}, or ${snapshot}->count. */
size_t hf_snapshot_find(const struct hf_snapshot *snapshot,
                        const struct hf_ticket_id *id);

#endif
