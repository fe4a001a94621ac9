/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as commands: the script, run for one queue at a time.  The keys of the
 * queue NAME are
 *
 *     holdfast:{NAME}:queue    zset: ticket by sequence
 *     holdfast:{NAME}:until    zset: ticket by when it runs out
 *     holdfast:{NAME}:tickets  hash: what else a ticket is
 *     holdfast:{NAME}:last     the last sequence given out; never goes
 *     holdfast:{NAME}:looks    zset: session that looks, until when
 *     holdfast:{NAME}:writers  zset: write ticket by sequence, of the queue
 *     holdfast:{NAME}:members  zset: what is apart, by sequence
 *
 * and with layout=redis-py also, which are not in one slot,
 *
 *     NAME                     the key that others SET
 *     holdfast:{NAME}:having   the ticket that has it, if it is one of ours
 *
 * Of each of several servers that agree on an order the keys are
 * holdfast:{NAME}:quorum:queue and so on: these are other tickets.
 *
 * "%", "{" and "}" of NAME are %25, %7B and %7D, so that all of it is one hash
 * tag and they are in one slot of a Redis Cluster.  Notices are published to
 * holdfast:session:SESSION.
 */
#ifndef HF_ENGINES_REDIS_COMMAND_H
#define HF_ENGINES_REDIS_COMMAND_H

#include <holdfast/holdfast.h>

#include "engines/leased/store.h"
#include "engines/redis/resp.h"

#define HF_REDIS_SHA_BYTES 41
#define HF_REDIS_CHANNEL "holdfast:session:"

/* "holdfast:{", the name escaped, of marks with "/" behind it, "}:" and the
 * longest of the words. */
#define HF_REDIS_KEY_BYTES (3 * HF_NAME_BYTES + 32)

/* The script, from the parts in *.lua. */
extern const char hf_redis_script[];

/* The key of ${queue} that ends with ${word}. */
void hf_redis_key(const char *queue, const char *word,
                  char key[HF_REDIS_KEY_BYTES]);

/* How the script is called. */
struct hf_redis_script_options {
    char sha[HF_REDIS_SHA_BYTES]; /* its name */
    bool redis_py;                /* layout=redis-py */
};

/* The number of commands that ${call} takes, and to put them. */
size_t hf_redis_command_count(const struct hf_store_call *call);
void hf_redis_command_put(struct hf_resp *resp,
                          const struct hf_store_call *call,
                          const struct hf_redis_script_options *script);

/* A message of our channel; false if it is none that we know.  ${notice}'s
 * texts are of ${text}. */
bool hf_redis_notice_read(struct hf_store_notice *notice, const char *text);

#endif
