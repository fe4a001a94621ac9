/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of keys: how the tickets of a queue are named, and what a key below
 * a queue is.
 *
 *     PREFIX NAME/LEASE-SLOT   a ticket: a mutex, a reader, a writer, permits
 *     PREFIX NAME/LEASE-pSLOT  a participant of a double barrier
 *     PREFIX NAME/LEASE-ID     a ticket of an election
 *     PREFIX NAME              the flag of a barrier
 *     PREFIX NAME//ready       the flag of a double barrier: no lock can have a
 *                              key there, because its name has no empty part
 *
 * LEASE is the lease of the owner's session in hexadecimal digits.  SLOT is a
 * number that the session uses for one ticket of that queue at a time.  When a
 * range of the queue is read, etcd walks through every name that was ever
 * removed, until it is compacted.  So names are used again, and the id of a
 * ticket is in its value (ticket_value.h).  Elections are rare, so each of
 * their tickets can have a name of its own.  The value of such a ticket belongs
 * to the candidate: `etcdctl elect -l` and Go's Election show it.
 *
 * The tickets of other programs are keys below NAME/ that are attached to a
 * lease: `etcdctl lock` and `elect`, the server's lock service, and Go's Mutex
 * and Election call theirs NAME/LEASE.  All of these wait for any key below
 * NAME/ that is older than their own, so they wait for ours.
 *
 * A name with one more '/' belongs to another lock, whose name is longer.  The
 * exception are the keys of Go's RWMutex: NAME/read/NUMBER and
 * NAME/write/NUMBER.
 */
#ifndef HF_ENGINES_ETCD_KEY_NAME_H
#define HF_ENGINES_ETCD_KEY_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/lock.h>

#include "core/ticket.h"
#include "etcd/etcd_url.h"

/* Room for what is behind "NAME/": a lease of sixteen digits, a '-' and an id.
 */
#define HF_ETCD_SUFFIX_BYTES (16 + 1 + HF_TICKET_ID_TEXT_BYTES)

/* Room for a key of ours and a NUL. */
#define HF_ETCD_KEY_BYTES                                                      \
    (HF_ETCD_PREFIX_BYTES + HF_NAME_BYTES + sizeof "/leases" +                 \
     HF_ETCD_SUFFIX_BYTES)

/* The name below which sessions have their keys.  No lock can have it. */
#define HF_ETCD_SESSIONS ".holdfast"

/* A slot that no ticket has. */
#define HF_ETCD_NO_SLOT UINT32_MAX

/* The form of a key below a queue. */
enum hf_etcd_engine_key_form {
    HF_ETCD_KEY_TICKET,      /* LEASE-SLOT */
    HF_ETCD_KEY_PARTICIPANT, /* LEASE-pSLOT */
    HF_ETCD_KEY_ELECTION,    /* LEASE-ID */
    HF_ETCD_KEY_READY,       /* the flag of a double barrier */
    HF_ETCD_KEY_FOREIGN, /* a ticket of another program, if it has a lease */
    HF_ETCD_KEY_DEEPER,  /* a key of a lock with a longer name */
    HF_ETCD_KEY_SESSION, /* a key of a session */
};

struct hf_etcd_engine_key_name {
    enum hf_etcd_engine_key_form form;
    int64_t lease;          /* of the first three forms: the lease in the
                               name */
    uint32_t slot;          /* TICKET, PARTICIPANT */
    struct hf_ticket_id id; /* ELECTION */
};

/* Write the prefix of all keys of ${queue}, "PREFIX NAME/", and return its
 * length. */
size_t hf_etcd_engine_queue_prefix(const char *prefix, const char *queue,
                                   char key[HF_ETCD_KEY_BYTES]);

/* Write the key of a ticket of ${lease}, and return its length.  ${id} is used
 * for an election, ${slot} for any other kind. */
size_t hf_etcd_engine_ticket_key(const char *prefix, const char *queue,
                                 int64_t lease, enum hf_ticket_kind kind,
                                 const struct hf_ticket_id *id, uint32_t slot,
                                 char key[HF_ETCD_KEY_BYTES]);

/* Write the key of the flag ${kind}, BARRIER or READY, and return its length.
 */
size_t hf_etcd_engine_flag_key(const char *prefix, const char *queue,
                               enum hf_ticket_kind kind,
                               char key[HF_ETCD_KEY_BYTES]);

/* Write the key that says who has evicted a candidate of the session with
 * ${lease}, and return its length. */
size_t hf_etcd_engine_eviction_key(const char *prefix, int64_t lease,
                                   char key[HF_ETCD_KEY_BYTES]);

/* Write a key that never exists, and return its length.  To delete it changes
 * nothing, but makes a transaction go through the log. */
size_t hf_etcd_engine_missing_key(const char *prefix,
                                  char key[HF_ETCD_KEY_BYTES]);

/* Read ${suffix}, what is behind "PREFIX NAME/" in a key of ${queue}. */
struct hf_etcd_engine_key_name hf_etcd_engine_key_name_parse(const char *queue,
                                                             const char *suffix,
                                                             size_t bytes);

/* Make an id for a ticket of another program, or for a ticket of ours whose
 * value was overwritten.  It is a digest of the key and its create revision, in
 * a form that no program generates. */
struct hf_ticket_id hf_etcd_engine_foreign_id(const char *suffix, size_t bytes,
                                              int64_t create_revision);

/* Is ${queue} a name that a lock in etcd cannot have, because sessions have
 * their keys there? */
bool hf_etcd_engine_queue_is_reserved(const char *queue);

#endif
