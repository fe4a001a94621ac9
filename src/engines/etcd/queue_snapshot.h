/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue as ranges of its keys have shown it.  Each key that was read is
 * added; the snapshot for the core is made of those that are tickets, or
 * participants, in the order of their create revisions.  So the order in which
 * ranges come, and the bytes of their answers, do not matter.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_SNAPSHOT_H
#define HF_ENGINES_ETCD_QUEUE_SNAPSHOT_H

#include "engines/etcd/key_name.h"
#include "engines/etcd/ticket_value.h"
#include "etcd/message.h"

struct hf_etcd_engine_queue;

/* What a key below a queue is. */
enum hf_etcd_engine_role {
    HF_ETCD_ROLE_TICKET,
    HF_ETCD_ROLE_PARTICIPANT, /* or the flag READY */
    HF_ETCD_ROLE_UNKNOWN,     /* no ticket, and not ours */
    HF_ETCD_ROLE_NONE,        /* of something else: a deeper name, a barrier */
    HF_ETCD_ROLE_ANY,         /* only in a search: one of the first two */
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

/* A key of a queue, read. */
struct hf_etcd_engine_entry {
    enum hf_etcd_engine_role role;
    struct hf_etcd_engine_key_name name;
    struct hf_etcd_engine_ticket_value value; /* .kind and .id are right for
                                          every ticket: EXCLUSIVE and a digest
                                          for those of other programs */
    const char *suffix; /* behind "PREFIX NAME/", in the answer */
    size_t suffix_bytes;
    int64_t lease; /* that the key is attached to; 0: none */
    int64_t create_revision;
    int64_t mod_revision;
    int64_t version;
};

/* Read ${kv}, whose key begins with the prefix of ${queue}; false if it does
 * not, so that the server has answered with something else. */
bool hf_etcd_engine_entry_read(const struct hf_etcd_engine_queue *queue,
                               const struct hf_etcd_key_value *kv,
                               struct hf_etcd_engine_entry *entry);

/* A ticket that was added. */
struct hf_etcd_engine_listed {
    struct hf_ticket ticket; /* .payload is set by the snapshot */
    int64_t create_revision;
    int64_t mod_revision;
    bool foreign;  /* of another program */
    size_t text;   /* the payload, in .text of the list */
    size_t suffix; /* behind "PREFIX NAME/", there */
};

/* The tickets that were read so far.  Zeroed: none. */
struct hf_etcd_engine_list {
    struct hf_etcd_engine_listed *listed;
    size_t count;
    size_t room;
    struct hf_ticket *tickets; /* made by the snapshot */
    size_t tickets_room;
    char *text;
    size_t text_used;
    size_t text_room;
    size_t *unknown; /* names of other keys, in .text */
    size_t unknown_count;
    size_t unknown_room;
    const char **unknown_names; /* made by the snapshot */
    size_t unknown_names_room;
    bool failed; /* memory has run out */
};

/* Add ${entry}, which must be a ticket, a participant, READY or unknown.  What
 * two ranges have shown may be added twice. */
void hf_etcd_engine_list_add(struct hf_etcd_engine_list *list,
                             const struct hf_etcd_engine_entry *entry,
                             uint64_t token_floor);

/* Make the snapshot of ${list}; false for lack of memory.  It is valid until
 * something is added, or the list is freed.  ${more_ahead}: as in the snapshot.
 */
bool hf_etcd_engine_list_snapshot(struct hf_etcd_engine_list *list,
                                  size_t more_ahead,
                                  struct hf_snapshot *snapshot);

/* The listed ticket ${id}, or NULL. */
const struct hf_etcd_engine_listed *
hf_etcd_engine_list_find(const struct hf_etcd_engine_list *list,
                         const struct hf_ticket_id *id);

/* How many of the others concern the ticket ${mine} of ${kind}, see
 * hf_admission_concerns()? */
size_t hf_etcd_engine_list_concerning(const struct hf_etcd_engine_list *list,
                                      const struct hf_ticket_id *mine,
                                      enum hf_ticket_kind kind);

/* The names of unknown keys, .unknown_count of them; NULL for lack of memory or
 * if there are none. */
const char *const *
hf_etcd_engine_list_unknown(struct hf_etcd_engine_list *list);

void hf_etcd_engine_list_free(struct hf_etcd_engine_list *list);

#endif
