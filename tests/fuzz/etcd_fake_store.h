/* SPDX-License-Identifier: Apache-2.0 */
/* The keys and leases of a fake etcd, which does what an honest server does:
 * the fuzz target makes its answers wrong.  It has room for a few keys only. */
#ifndef HF_TESTS_FUZZ_ETCD_FAKE_STORE_H
#define HF_TESTS_FUZZ_ETCD_FAKE_STORE_H

#include "etcd/message.h"

#define STORE_KEYS 64
#define STORE_EVENTS 256

struct store_text {
    unsigned char bytes[1200];
    size_t count;
};

struct store_key {
    struct store_text key; /* empty: free */
    struct store_text value;
    int64_t create;
    int64_t mod;
    int64_t version;
    int64_t lease;
};

struct store_event {
    bool deleted;
    struct store_key kv; /* as of then */
};

struct etcd_fake_store {
    struct store_key keys[STORE_KEYS];
    struct store_event events[STORE_EVENTS]; /* the last ones, in order */
    size_t event_count;                      /* of all */
    int64_t revision;
    uint64_t term;
    int64_t ttl_s; /* of each lease */
};

void store_init(struct etcd_fake_store *store);

/* Append the header of an answer. */
void store_header(const struct etcd_fake_store *store,
                  struct hf_etcd_buffer *answer);

/* Carry out ${message} of the unary ${method}, and append the answer.  False if
 * an honest server refuses it. */
bool store_carry_out(struct etcd_fake_store *store, const char *method,
                     struct hf_etcd_bytes message,
                     struct hf_etcd_buffer *answer);

/* Append an event to a WatchResponse. */
void store_put_event(const struct store_event *event,
                     struct hf_etcd_buffer *answer);

/* Is ${key} in the range? */
bool store_in_range(const struct store_text *key, struct hf_etcd_bytes first,
                    struct hf_etcd_bytes end);

/* Delete the key number ${index}, if it is there; put it again as it is. */
void store_delete(struct etcd_fake_store *store, size_t index);
void store_touch(struct etcd_fake_store *store, size_t index);

/* Delete all keys of all leases. */
void store_expire(struct etcd_fake_store *store);

#endif
