/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of etcd with all that was ever written to them (package mvcc of
 * etcd).  There is one for the whole cluster, because every member applies the
 * same log: the committed one.  A member that is behind reads it as of the
 * revision that it has reached.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_STORE_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_STORE_H

#include "simulator/model/etcd_request.h"

struct hf_sim;
struct sim_ticket;

/* Reads see everything, also what the current transaction has written. */
#define ETCD_LATEST INT64_MAX

/* What a server answers instead of a result; etcd_store.c has the codes and
 * texts. */
enum etcd_error {
    ETCD_DONE,
    ETCD_LEASE_NOT_FOUND,
    ETCD_LEASE_EXISTS,
    ETCD_LEASE_TOO_LONG,
    ETCD_KEY_NOT_FOUND,
    ETCD_KEY_TWICE,
    ETCD_TOO_MANY_OPERATIONS,
    ETCD_COMPACTED,
    ETCD_FUTURE_REVISION,
    ETCD_NO_SPACE,
    ETCD_NO_LEADER,
    ETCD_TOO_MANY_REQUESTS,
    ETCD_TIMED_OUT,
    ETCD_STOPPED,
    ETCD_DENIED,
    ETCD_WRONG_PASSWORD,
    ETCD_NO_TOKEN,
    ETCD_OLD_TOKEN,
    ETCD_OLD_AUTH_REVISION,
    ETCD_AUTH_OFF,
    ETCD_MALFORMED,
    ETCD_UNKNOWN_METHOD,
    ETCD_ERRORS
};

struct etcd_error_row {
    unsigned status; /* of gRPC */
    const char *text;
};
extern const struct etcd_error_row etcd_errors[ETCD_ERRORS];

struct etcd_version;

struct etcd_key {
    struct etcd_bytes name;
    struct etcd_version *latest;
    struct etcd_key *next; /* in the order of the names */
};

/* What a key was from a revision on. */
struct etcd_version {
    struct etcd_key *key;
    struct etcd_bytes value;
    int64_t create;
    int64_t mod;
    int64_t version;
    int64_t lease;
    bool deleted;
    struct etcd_version *previous; /* of the same key */
    struct etcd_version *next;     /* of the same revision, in order */
    struct sim_ticket *ticket;     /* of the checks: what it is */
};

struct etcd_store {
    struct hf_sim *sim;
    struct etcd_key *keys;
    int64_t revision;
    int64_t compacted;
    bool no_space;
    /* What a transaction reads: ETCD_LATEST, or, if it only reads, the revision
     * of a member. */
    int64_t view;
    /* [r]: the first version of revision r */
    struct etcd_version **changes;
    size_t change_room;
    struct etcd_version **end; /* where the next one of this revision goes */
};

void etcd_store_init(struct etcd_store *store, struct hf_sim *sim);
void etcd_store_free(struct etcd_store *store);

bool etcd_in_range(struct etcd_bytes key, struct etcd_bytes first,
                   struct etcd_bytes end);

/* The key as of ${revision}; NULL: it was not there. */
const struct etcd_version *etcd_store_get(const struct etcd_store *store,
                                          struct etcd_bytes key,
                                          int64_t revision);

/* Write a KeyValue. */
void etcd_put_key_value(struct etcd_writer *out, uint32_t number,
                        const struct etcd_version *version, bool keys_only);

/* Write the fields of a RangeResponse behind its header. */
void etcd_store_range(const struct etcd_store *store,
                      const struct etcd_range *range, int64_t revision,
                      struct etcd_writer *out);

/* Is there a lease of this number? */
typedef bool etcd_lease_known(void *arg, int64_t lease);

/* Begin a revision, and end it: whatever was written in between has it. */
void etcd_store_begin(struct etcd_store *store);
void etcd_store_end(struct etcd_store *store);

/* Within a revision: carry out the request, and write the fields of its answer
 * behind the header.  An error has changed nothing. */
enum etcd_error etcd_store_txn(struct etcd_store *store,
                               const struct etcd_txn *txn,
                               etcd_lease_known *known, void *arg,
                               struct etcd_writer *out);
enum etcd_error etcd_store_op(struct etcd_store *store,
                              const struct etcd_op *op, etcd_lease_known *known,
                              void *arg, struct etcd_writer *out);

/* Within a revision: delete the keys of ${lease}; the key of ${ticket}. */
void etcd_store_delete_of(struct etcd_store *store, int64_t lease);
void etcd_store_delete_key(struct etcd_store *store, struct etcd_key *key);

/* Would a server refuse the transaction before it is a proposal? */
enum etcd_error etcd_txn_check(const struct etcd_txn *txn);

#endif
