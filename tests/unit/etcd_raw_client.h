/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the simulated etcd that writes single calls by hand, on a link
 * without faults.  Each function that is not called _start runs the model until
 * there is an answer. */
#ifndef HF_TESTS_UNIT_ETCD_RAW_CLIENT_H
#define HF_TESTS_UNIT_ETCD_RAW_CLIENT_H

#include "simulator/model/etcd_internal.h"

#define RAW_KEYS_MAX 8

struct raw_key {
    char name[32];
    int64_t create;
    int64_t mod;
    int64_t version;
    bool deleted; /* of an event */
};

struct raw {
    struct hf_sim *sim;
    bool owns_sim;
    struct etcd_connection *connection;
    struct etcd_writer received;
    char token[40];
    uint32_t last_call;
    uint32_t keep_alive_call; /* 0: no stream */
    uint32_t watch_call;
    uint32_t awaited; /* the call whose answer is read */
    /* The last answer: */
    bool answered;
    unsigned status;
    int64_t revision;
    uint64_t term;
    bool succeeded;
    int64_t ttl;
    struct raw_key keys[RAW_KEYS_MAX]; /* of the last range in it */
    unsigned key_count;
    /* Of watches, so far: */
    struct raw_key events[RAW_KEYS_MAX];
    unsigned event_count;
    int64_t compacted;
};

/* A transaction that is being written; freed when it is sent. */
struct raw_txn {
    struct etcd_writer bytes;
};

/* A model of ${config} (NULL: without faults), which runs until there is a
 * leader, and a client that is connected to it. */
struct raw *raw_new(const struct hf_sim_config *config);
/* A second client of the same model, connected to ${member}. */
struct raw *raw_connect(struct raw *first, int member);
void raw_reconnect(struct raw *raw, int member);
/* The end of a second client, or of the connection of the first. */
void raw_close(struct raw *raw);
void raw_free(struct raw *raw);

void raw_put(struct raw *raw, const char *key, const char *value);
void raw_put_start(struct raw *raw, const char *key);
unsigned raw_put_status(struct raw *raw, const char *key);
void raw_delete(struct raw *raw, const char *key);
bool raw_get(struct raw *raw, const char *key, struct raw_key *found);

void raw_txn_compare_create(struct raw_txn *txn, const char *key,
                            int64_t revision);
void raw_txn_put(struct raw_txn *txn, const char *key, const char *value,
                 int64_t lease);
void raw_txn_delete(struct raw_txn *txn, const char *key);
/* By falling create revision. */
void raw_txn_range_newest(struct raw_txn *txn, const char *key, const char *end,
                          int64_t limit);
bool raw_txn_succeeds(struct raw *raw, struct raw_txn *txn);
unsigned raw_txn_status(struct raw *raw, struct raw_txn *txn);

/* The TTL in seconds, or the status, negative. */
int64_t raw_grant(struct raw *raw, int64_t lease, int64_t ttl);
int64_t raw_keep_alive(struct raw *raw, int64_t lease);
void raw_keep_alive_start(struct raw *raw, int64_t lease);
bool raw_answered(const struct raw *raw);

void raw_watch(struct raw *raw, const char *key, int64_t start);
void raw_authenticate(struct raw *raw);

#endif
