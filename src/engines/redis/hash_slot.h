/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nodes of a Redis Cluster say that a key lies: the slots of the
 * Redis Cluster specification (redis.io/docs/reference/cluster-spec), and the
 * errors that send a client elsewhere.  Nothing here does I/O. */
#ifndef HF_ENGINES_REDIS_HASH_SLOT_H
#define HF_ENGINES_REDIS_HASH_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "engines/redis/config.h"

#define HF_REDIS_HASH_SLOTS 16384

/* The slot of ${key}: CRC16 of its hash tag, which is what stands between its
 * first '{' and the next '}', or of all of it where that is nothing. */
unsigned hf_redis_hash_slot(const char *key);

/* That of all keys of ${queue}. */
unsigned hf_redis_hash_slot_of_queue(const char *queue);

enum hf_redis_redirect_kind {
    HF_REDIS_MOVED = 1, /* the slot is that one's */
    HF_REDIS_ASK,       /* this once, for the slot is being moved there */
};

struct hf_redis_redirect {
    enum hf_redis_redirect_kind kind;
    unsigned slot;
    struct hf_redis_host to; /* .name is "" for the host that says so */
};

/* "MOVED 3999 127.0.0.1:6381", "ASK ..."; false if ${error} is neither. */
bool hf_redis_redirect_read(struct hf_redis_redirect *redirect,
                            const char *error);

/* Does ${nodes}, the text of CLUSTER NODES, name ${host}, by its address or its
 * host name and spelt exactly so?  A ${host} without a name is the host of the
 * node that says so: then the port is compared.  A node that has not joined yet
 * (handshake) does not count. */
bool hf_redis_nodes_include(const char *nodes,
                            const struct hf_redis_host *host);

#endif
