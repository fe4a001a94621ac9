/* SPDX-License-Identifier: Apache-2.0 */
/* The hash slots of the Redis Cluster specification
 * (redis.io/docs/reference/cluster-spec), and the errors by which a node sends
 * a client to another node.  No I/O. */
#ifndef HF_ENGINES_REDIS_HASH_SLOT_H
#define HF_ENGINES_REDIS_HASH_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "engines/redis/config.h"

#define HF_REDIS_HASH_SLOTS 16384

/* Returns the hash slot of ${key}: the CRC16 of its hash tag, which is the text
 * between its first '{' and the next '}'.  If the key has no hash tag, or an
 * empty one, the CRC16 of the whole key counts. */
unsigned hf_redis_hash_slot(const char *key);

/* The hash slot of all keys of ${queue}. */
unsigned hf_redis_hash_slot_of_queue(const char *queue);

enum hf_redis_redirect_kind {
    HF_REDIS_MOVED = 1, /* the other node has the slot for good */
    /* the slot is being moved to the other node: try there once */
    HF_REDIS_ASK,
};

/* A redirect: the node that a call should be sent to instead. */
struct hf_redis_redirect {
    enum hf_redis_redirect_kind kind;
    unsigned slot;
    /* if .name is "", the host of the node that sent the redirect */
    struct hf_redis_host to;
};

/* Parse "MOVED 3999 127.0.0.1:6381" or "ASK ..."; false if ${error} is
 * neither. */
bool hf_redis_redirect_read(struct hf_redis_redirect *redirect,
                            const char *error);

/* Returns whether ${nodes}, the text of CLUSTER NODES, lists ${host} by its
 * address or its host name, spelt exactly the same.  If ${host} has no name, it
 * means the host of the node that sent the redirect, and only the port is
 * compared.  Nodes that have not joined yet (handshake) or have no address
 * (noaddr) do not count. */
bool hf_redis_nodes_include(const char *nodes,
                            const struct hf_redis_host *host);

#endif
