/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue as ranges of its keys have shown it.  Each key that was read is
 * added.  The snapshot for the core is made of those that are tickets or
 * participants, in the order of their create revisions.  So it does not matter
 * in which order the ranges are read, nor whether the bytes of their answers
 * still exist.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_SNAPSHOT_H
#define HF_ENGINES_ETCD_QUEUE_SNAPSHOT_H

#include "engines/etcd/key_name.h"
#include "engines/etcd/ticket_value.h"
#include "etcd/message.h"

struct hf_etcd_engine_queue;

/* The role of a key below a queue. */
enum hf_etcd_engine_role {
    HF_ETCD_ROLE_TICKET,
    HF_ETCD_ROLE_PARTICIPANT, /* or the flag READY */
    HF_ETCD_ROLE_UNKNOWN,     /* no ticket, and not a key of ours */
    HF_ETCD_ROLE_NONE,        /* a key of something else: of a lock with a
                                 longer name, or of a barrier */
    HF_ETCD_ROLE_ANY,         /* only to search for: TICKET or PARTICIPANT */
};

/* The role of a ticket of ${kind}. */
static inline enum hf_etcd_engine_role
hf_etcd_engine_role_of(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_PARTICIPANT ? HF_ETCD_ROLE_PARTICIPANT
                                         : HF_ETCD_ROLE_TICKET;
}

/* Does a decision about a ticket of ${kind} need all of its queue? */
static inline bool hf_etcd_engine_needs_all(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_PARTICIPANT || kind == HF_TICKET_LEASE;
}

/* A key of a queue that was read. */
struct hf_etcd_engine_entry {
    enum hf_etcd_engine_role role;
    struct hf_etcd_engine_key_name name;
    struct hf_etcd_engine_ticket_value value; /* .kind and .id are set for
                                                 every ticket: for a ticket
                                                 of another program EXCLUSIVE
                                                 and a digest */
    const char *suffix; /* what is behind "PREFIX NAME/"; points into the
                           answer */
    size_t suffix_bytes;
    int64_t lease; /* lease that the key is attached to; 0: none */
    int64_t create_revision;
    int64_t mod_revision;
    int64_t version;
};

/* Read ${kv} into ${entry}.  Returns false if the key does not begin with the
 * prefix of ${queue}, which means that the server has answered something else.
 */
bool hf_etcd_engine_entry_read(const struct hf_etcd_engine_queue *queue,
                               const struct hf_etcd_key_value *kv,
                               struct hf_etcd_engine_entry *entry);

/* A ticket that was added to a list. */
struct hf_etcd_engine_listed {
    struct hf_ticket ticket; /* .payload is set in the snapshot only */
    int64_t create_revision;
    int64_t mod_revision;
    bool foreign;  /* of another program */
    size_t text;   /* offset of the payload in .text of the list */
    size_t suffix; /* offset of what is behind "PREFIX NAME/", in .text of
                      the list */
};

/* The tickets that were read so far.  All bytes zero: none. */
struct hf_etcd_engine_list {
    struct hf_etcd_engine_listed *listed;
    size_t count;
    size_t room;
    struct hf_ticket *tickets; /* the array of the snapshot */
    size_t tickets_room;
    char *text;
    size_t text_used;
    size_t text_room;
    size_t *unknown; /* offsets in .text: the names of keys with the role
                        UNKNOWN */
    size_t unknown_count;
    size_t unknown_room;
    const char **unknown_names; /* the array of hf_etcd_engine_list_unknown() */
    size_t unknown_names_room;
    bool failed; /* memory has run out */
};

/* Add ${entry}, which must be a ticket, a participant, READY or unknown.  A key
 * that two ranges have shown may be added twice. */
void hf_etcd_engine_list_add(struct hf_etcd_engine_list *list,
                             const struct hf_etcd_engine_entry *entry,
                             uint64_t token_floor);

/* Make the snapshot of ${list}, with ${more_ahead} as its field of that name.
 * Returns false for lack of memory.  The snapshot is valid until something is
 * added to the list, or the list is freed. */
bool hf_etcd_engine_list_snapshot(struct hf_etcd_engine_list *list,
                                  size_t more_ahead,
                                  struct hf_snapshot *snapshot);

/* Return the ticket ${id} of the list, or NULL. */
const struct hf_etcd_engine_listed *
hf_etcd_engine_list_find(const struct hf_etcd_engine_list *list,
                         const struct hf_ticket_id *id);

/* Return how many of the other tickets concern the ticket ${mine} of ${kind}:
 * see hf_admission_concerns(). */
size_t hf_etcd_engine_list_concerning(const struct hf_etcd_engine_list *list,
                                      const struct hf_ticket_id *mine,
                                      enum hf_ticket_kind kind);

/* Return the names of unknown keys, .unknown_count of them.  NULL if there are
 * none, or for lack of memory. */
const char *const *
hf_etcd_engine_list_unknown(struct hf_etcd_engine_list *list);

void hf_etcd_engine_list_free(struct hf_etcd_engine_list *list);

#endif
