/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to etcd as its rpc.proto (3.4) has them, read from their bytes.
 * Everything that is read lives as long as the run; the bytes of keys and
 * values are those of the message. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_REQUEST_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_REQUEST_H

#include "simulator/model/etcd_proto.h"

struct hf_sim;

enum etcd_sort_order { ETCD_UNSORTED, ETCD_ASCEND, ETCD_DESCEND };

enum etcd_sort_target {
    ETCD_BY_KEY,
    ETCD_BY_VERSION,
    ETCD_BY_CREATE,
    ETCD_BY_MOD,
    ETCD_BY_VALUE,
};

/* .end empty: the one key; the one byte 0: all from .key on. */
struct etcd_range {
    struct etcd_bytes key;
    struct etcd_bytes end;
    int64_t limit;
    int64_t revision;
    enum etcd_sort_order order;
    enum etcd_sort_target target;
    bool serializable;
    bool keys_only;
    bool count_only;
    int64_t min_mod;
    int64_t max_mod;
    int64_t min_create;
    int64_t max_create;
};

struct etcd_put {
    struct etcd_bytes key;
    struct etcd_bytes value;
    int64_t lease;
    bool previous;
    bool ignore_value;
    bool ignore_lease;
};

struct etcd_delete {
    struct etcd_bytes key;
    struct etcd_bytes end;
    bool previous;
};

enum etcd_compare_result {
    ETCD_EQUAL,
    ETCD_GREATER,
    ETCD_LESS,
    ETCD_NOT_EQUAL,
};

enum etcd_compare_target {
    ETCD_COMPARE_VERSION,
    ETCD_COMPARE_CREATE,
    ETCD_COMPARE_MOD,
    ETCD_COMPARE_VALUE,
    ETCD_COMPARE_LEASE,
};

struct etcd_compare {
    enum etcd_compare_result result;
    enum etcd_compare_target target;
    struct etcd_bytes key;
    struct etcd_bytes end;
    int64_t number;
    struct etcd_bytes value;
    struct etcd_compare *next;
};

struct etcd_txn;

enum etcd_op_kind { ETCD_OP_RANGE, ETCD_OP_PUT, ETCD_OP_DELETE, ETCD_OP_TXN };

struct etcd_op {
    enum etcd_op_kind kind;
    struct etcd_range range;
    struct etcd_put put;
    struct etcd_delete deletion;
    struct etcd_txn *txn;
    struct etcd_op *next;
};

struct etcd_txn {
    struct etcd_compare *compares;
    struct etcd_op *success;
    struct etcd_op *failure;
};

struct etcd_watch_create {
    struct etcd_bytes key;
    struct etcd_bytes end;
    int64_t start;
    bool previous;
    int64_t id;
};

/* Two integers, of which many requests consist. */
struct etcd_pair {
    int64_t first;  /* field 1 */
    int64_t second; /* field 2 */
};

struct etcd_credentials {
    struct etcd_bytes name;
    struct etcd_bytes password;
};

/* Each is false if the bytes are no such message. */
bool etcd_read_range(struct etcd_bytes message, struct etcd_range *range);
bool etcd_read_put(struct etcd_bytes message, struct etcd_put *put);
bool etcd_read_delete(struct etcd_bytes message, struct etcd_delete *deletion);
bool etcd_read_txn(struct hf_sim *sim, struct etcd_bytes message,
                   struct etcd_txn *txn);
bool etcd_read_watch_create(struct etcd_bytes message,
                            struct etcd_watch_create *create);
bool etcd_read_pair(struct etcd_bytes message, struct etcd_pair *pair);
bool etcd_read_credentials(struct etcd_bytes message,
                           struct etcd_credentials *credentials);

/* Has the transaction a put, in either branch; a put or a deletion? */
bool etcd_txn_puts(const struct etcd_txn *txn);
bool etcd_txn_writes(const struct etcd_txn *txn);
/* Its operations in both branches. */
size_t etcd_txn_operations(const struct etcd_txn *txn);

#endif
