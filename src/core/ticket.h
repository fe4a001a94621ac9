/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket: the entry of one contender in a queue; and a snapshot, a queue as
 * it stood at one moment. */
#ifndef HF_CORE_TICKET_H
#define HF_CORE_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define HF_TICKET_ID_BYTES 16
#define HF_TICKET_ID_TEXT_BYTES 37 /* 8-4-4-4-12 hex digits and the NUL */

/* The size of a payload, the text of the owner about itself for people: at most
 * this many bytes, with the NUL that ends it. */
#define HF_PAYLOAD_BYTES 1024

/* Made by the client, new for every attempt to enqueue: a UUID of version 4, or
 * one of version 8 that says the role of its ticket.  Never derived from a
 * session, because then two contenders of one session would be taken for each
 * other. */
struct hf_ticket_id {
    uint8_t bytes[HF_TICKET_ID_BYTES];
};

/* The kinds of tickets.  The numbers are part of the wire formats. */
enum hf_ticket_kind {
    HF_TICKET_MUTEX = 1,
    HF_TICKET_READ = 2,
    HF_TICKET_WRITE = 3,
    HF_TICKET_LEASE = 4,    /* permits of a semaphore, in its second queue */
    HF_TICKET_ELECTION = 5, /* a mutex among its own, whose holder leads */
    /* Only seen, never enqueued: a mutex, a write ticket or an election's,
     * whose name does not say which.  kazoo names all of them so, and so does
     * the engine in kazoo's layout. */
    HF_TICKET_EXCLUSIVE = 6,
    /* A flag: it belongs to nobody and stays until it is cleared; a queue has
     * at most one of each kind.  This one says that a barrier is set. */
    HF_TICKET_BARRIER = 7,
    /* A participant of a double barrier; nobody is ahead of anybody. */
    HF_TICKET_PARTICIPANT = 8,
    /* A flag: enough participants were there when it was set.  See
     * admission.h. */
    HF_TICKET_READY = 9
};

/* The last of the kinds that are enqueued for a lock or a semaphore, and not
 * only seen there. */
#define HF_TICKET_QUEUED_LAST HF_TICKET_ELECTION

/* A semaphore called NAME has two queues: NAME/locks for the entry mutex, whose
 * first ticket alone may add leases, and NAME/leases for the leases.  A lock
 * may have one of these names too. */
#define HF_QUEUE_LOCKS "/locks"
#define HF_QUEUE_LEASES "/leases"

/* The role of a ticket in a queue called NAME/locks.  Two tickets whose
 * roles are known and differ do not wait for each other: the later one is
 * refused.  The ids of other programs' tickets do not say the role; such a
 * ticket may have either. */
enum hf_ticket_role {
    HF_ROLE_UNKNOWN,
    HF_ROLE_ENTRY, /* of the semaphore NAME */
    HF_ROLE_LOCK,  /* of the lock NAME/locks */
};

/* The most permits of one ticket. */
#define HF_WEIGHT_MAX 64

/* A ticket as an engine shows it. */
struct hf_ticket {
    struct hf_ticket_id id;
    uint64_t sequence; /* its position, as the engine numbers the queue */
    uint64_t token;    /* fencing token; also decides between equal sequences */
    enum hf_ticket_kind kind;
    uint32_t weight;     /* permits; 1 unless it is a LEASE */
    const char *payload; /* never NULL; lives as long as the snapshot */
    /* In the snapshot of a detailed LIST, for people only. */
    const char *dialect; /* of its name: static */
    /* When it was made, in milliseconds since 1970 in UTC, by the clock of the
     * client or server that noted it; 0: not known.  Only to be shown. */
    uint64_t created_utc_ms;
    uint64_t session; /* of its owner; 0: not known, or the engine has none */
    bool unread; /* its text was not read, see struct hf_text_range; an engine
                    that reads all at one instant need not say so */
};

/* A queue as it stood at one moment, sorted by hf_ticket_compare(), or the part
 * of it that hf_admission_trim() keeps.  Memory of the engine, valid until the
 * call that brought it returns. */
struct hf_snapshot {
    const struct hf_ticket *tickets;
    size_t count;
    size_t more_ahead; /* tickets ahead of one's own that are not shown; only
                          for people, because some may have gone, and an engine
                          may stop counting */
};

/* Tickets of a queue whose texts are wanted: the first .count of those whose
 * sequence is .from or greater; if .count is 0, all tickets.  A ticket that is
 * added has the greatest sequence.  So a program that lists a queue again and
 * again can read each text once, as many at a time as there is room for. */
struct hf_text_range {
    uint64_t from;
    uint32_t count;
};

/* Does ${range} want the text of a ticket with that sequence, if ${taken}
 * tickets ahead of it were wanted? */
bool hf_text_range_wants(const struct hf_text_range *range, uint64_t sequence,
                         size_t taken);

/* A new UUID of version 4. */
struct hf_ticket_id hf_ticket_id_random(struct hf_random *random);

/* Are the two ids the same? */
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

/* Have ${id} say the role, which must be known: a UUID of version 8 (RFC 9562)
 * whose first four bytes are a word. */
void hf_ticket_id_set_role(struct hf_ticket_id *id, enum hf_ticket_role role);

/* The role that ${id} says. */
enum hf_ticket_role hf_ticket_id_role(const struct hf_ticket_id *id);

/* Copy ${payload} to ${to}, cut between characters if it does not fit. */
void hf_payload_copy(char to[HF_PAYLOAD_BYTES], const char *payload);

/* Queue order: by sequence, then by token.  For qsort(). */
int hf_ticket_compare(const void *a, const void *b);

/* The index of the ticket with the id ${id}, or ${snapshot}->count. */
size_t hf_snapshot_find(const struct hf_snapshot *snapshot,
                        const struct hf_ticket_id *id);

#endif
