/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that there are (HF_STORE_NAMES), by SCAN, which goes over all keys
 * of the database and shows those of queues.
 *
 * A ticket that is alone is in the key "last", which stays when the ticket has
 * gone.  So the keys "last" of a page are read, and each names its queue if it
 * does not say that nothing is there.
 *
 * A cursor of ours names a node, by one of its hash slots, then the process of
 * Redis there, by its run id, and then the cursor of SCAN in that process:
 * "8192 5f3a... 1776".  A cursor of SCAN is good for one process only, because
 * each has its own order of keys.  If another process answers, because the
 * server was started anew or its replica took over, the SCAN of that node
 * begins anew, and names come twice.
 */
#ifndef HF_ENGINES_REDIS_SCAN_H
#define HF_ENGINES_REDIS_SCAN_H

#include "engines/leased/store.h"
#include "engines/redis/command.h"
#include "engines/redis/resp.h"

#define HF_REDIS_CURSOR_BYTES 128

/* How many keys a SCAN looks at. */
#define HF_REDIS_SCAN_COUNT 1000

/* The hash slot of the node that ${call}, a NAMES, is for. */
unsigned hf_redis_scan_slot(const struct hf_store_call *call);

/* Append the SCAN of ${call} for the process ${run_id}. */
void hf_redis_scan_put(struct hf_resp *resp, const struct hf_store_call *call,
                       const char *run_id);

/* hf_redis_scan_next() sets ${cursor} to the cursor behind the page of
 * ${call}, for which SCAN has answered ${next}; hf_redis_scan_begin() sets it
 * to that of the first page of the node of ${slot}.  Both return its length;
 * 0: this node has been scanned. */
size_t hf_redis_scan_next(const struct hf_store_call *call, const char *run_id,
                          const char *next, char cursor[HF_REDIS_CURSOR_BYTES]);
size_t hf_redis_scan_begin(unsigned slot, char cursor[HF_REDIS_CURSOR_BYTES]);

/* The keys that show that a queue may have tickets. */
enum hf_redis_scan_key {
    HF_REDIS_SCAN_NO_KEY, /* another key */
    HF_REDIS_SCAN_QUEUE,
    HF_REDIS_SCAN_PARTICIPANTS,
    HF_REDIS_SCAN_LAST, /* which stays when the queue is empty */
};

/* Which of them is ${key}?  Sets the name of its queue.  Only a key exactly as
 * hf_redis_key() writes it is one. */
enum hf_redis_scan_key hf_redis_scan_read_key(const char *key,
                                              char queue[HF_REDIS_KEY_BYTES]);

/* Append a GET of the key "last" of ${queue}. */
void hf_redis_scan_put_last(struct hf_resp *resp, const char *queue);

/* ${text} is the reply to that, NULL if it is no text.  Does it leave open
 * whether there are tickets?  Only "2 NUMBER" says that there are none
 * (uncontended.lua). */
bool hf_redis_scan_last_is_open(const char *text);

#endif
