/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the names of all locks (HF_STORE_NAMES) by SCAN, which goes over all
 * keys of the database, page by page.
 *
 * The keys of a queue show its name, but one key needs a second look: if a
 * queue has a single ticket, the ticket is in the key "last", and that key
 * stays when the ticket has gone.  So each key "last" of a page is read, and
 * its queue is left out if the key shows that there is no ticket.
 *
 * The cursor that the caller gets names a node by one of its hash slots, then
 * the process of Redis there by its run id, and then the cursor of SCAN in that
 * process: "8192 5f3a... 1776".  A cursor of SCAN is good for one process only,
 * because each process orders its keys in its own way.  If another process
 * answers, because the server was restarted or a replica took over, the SCAN of
 * that node begins again, and names are found twice.
 */
#ifndef HF_ENGINES_REDIS_SCAN_H
#define HF_ENGINES_REDIS_SCAN_H

#include "engines/leased/store.h"
#include "engines/redis/command.h"
#include "engines/redis/resp.h"

#define HF_REDIS_CURSOR_BYTES 128

/* The COUNT of a SCAN: how many keys one command looks at. */
#define HF_REDIS_SCAN_COUNT 1000

/* Returns a hash slot of the node that ${call}, a NAMES, has to ask. */
unsigned hf_redis_scan_slot(const struct hf_store_call *call);

/* Append the SCAN of ${call}, for a node whose process has the run id
 * ${run_id}. */
void hf_redis_scan_put(struct hf_resp *resp, const struct hf_store_call *call,
                       const char *run_id);

/* hf_redis_scan_next() sets ${cursor} for the page after that of ${call};
 * ${next} is the cursor that SCAN answered.  hf_redis_scan_begin() sets
 * ${cursor} for the first page of the node that has ${slot}.  Both return the
 * length of the cursor; 0: all keys of this node were scanned. */
size_t hf_redis_scan_next(const struct hf_store_call *call, const char *run_id,
                          const char *next, char cursor[HF_REDIS_CURSOR_BYTES]);
size_t hf_redis_scan_begin(unsigned slot, char cursor[HF_REDIS_CURSOR_BYTES]);

/* The keys that show that a queue may have tickets. */
enum hf_redis_scan_key {
    HF_REDIS_SCAN_NO_KEY, /* another key */
    HF_REDIS_SCAN_QUEUE,
    HF_REDIS_SCAN_PARTICIPANTS,
    HF_REDIS_SCAN_LAST, /* stays when the queue is empty */
};

/* Returns which of these keys ${key} is, and sets ${queue} to the name of its
 * queue.  A key counts only if hf_redis_key() would write it in exactly this
 * way. */
enum hf_redis_scan_key hf_redis_scan_read_key(const char *key,
                                              char queue[HF_REDIS_KEY_BYTES]);

/* Append a GET of the key "last" of ${queue}. */
void hf_redis_scan_put_last(struct hf_resp *resp, const char *queue);

/* Returns whether there may be a ticket in the queue, by ${text}, the value of
 * its key "last" (NULL: the value is no text).  Only "2 NUMBER" says that there
 * is none (uncontended.lua). */
bool hf_redis_scan_last_is_open(const char *text);

#endif
