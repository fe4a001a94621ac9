/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as Redis commands.  Each runs the script (*.lua) for one queue.  The
 * keys of the queue NAME are
 *
 *     holdfast:{NAME}:queue         zset: tickets by sequence
 *     holdfast:{NAME}:until         zset: tickets by the end of their leases
 *     holdfast:{NAME}:tickets       hash: the rest of each ticket
 *     holdfast:{NAME}:last          the last sequence given out, and a ticket
 *                                   that is alone (uncontended.lua); never
 *                                   removed
 *     holdfast:{NAME}:watchers      zset: sessions that watch the queue, by the
 *                                   end of their watches
 *     holdfast:{NAME}:writers       zset: write tickets of the queue, by
 *                                   sequence
 *     holdfast:{NAME}:participants  zset: participants and READY, by sequence
 *     holdfast:{NAME}:success       the token of the last success, and when it
 *                                   was; never expires
 *
 * With layout=redis-py there are two more, which are not in the same hash slot:
 *
 *     NAME                          the key that redis-py SETs
 *     holdfast:{NAME}:holder        the ticket of ours that has that key
 *
 * A server of a quorum uses holdfast:{NAME}:quorum:queue and so on, because its
 * tickets are not those of a single server.
 *
 * "%", "{" and "}" of NAME are written as %25, %7B and %7D.  So all of NAME is
 * one hash tag, and its keys are in one hash slot of a Redis Cluster.  Notices
 * are published to holdfast:session:SESSION.
 */
#ifndef HF_ENGINES_REDIS_COMMAND_H
#define HF_ENGINES_REDIS_COMMAND_H

#include <holdfast/lock.h>

#include "engines/leased/store.h"
#include "engines/redis/resp.h"

#define HF_REDIS_SHA_BYTES 41
#define HF_REDIS_CHANNEL "holdfast:session:"

/* An escaped character, "}:", the longest word, and the NUL. */
#define HF_REDIS_KEY_END_BYTES (3 + 2 + sizeof "quorum:participants")

/* "holdfast:{", the name with all characters escaped, '/' for a queue of flags,
 * and the end. */
#define HF_REDIS_KEY_BYTES (3 * HF_NAME_BYTES + 16 + HF_REDIS_KEY_END_BYTES)

/* The script: the *.lua files, put together at build time. */
extern const char hf_redis_script[];

/* Write the key of ${queue} that ends with ${word}. */
void hf_redis_key(const char *queue, const char *word,
                  char key[HF_REDIS_KEY_BYTES]);

/* What the commands of one connection need to know to call the script. */
struct hf_redis_script_options {
    char sha[HF_REDIS_SHA_BYTES]; /* SHA1, from SCRIPT LOAD */
    bool redis_py;                /* layout=redis-py */
    /* Pass all keys in the command, because the server is, or may be, a node of
     * a Redis Cluster. */
    bool declares_keys;
};

/* hf_redis_command_count() returns how many commands ${call} needs: one for
 * each queue.  hf_redis_command_put() appends these commands to ${resp}. */
size_t hf_redis_command_count(const struct hf_store_call *call);
void hf_redis_command_put(struct hf_resp *resp,
                          const struct hf_store_call *call,
                          const struct hf_redis_script_options *script);

/* Parse ${text}, a message from the channel of our session, into ${notice},
 * whose texts then point into ${text}.  Returns false if the message has no
 * form that we know. */
bool hf_redis_notice_read(struct hf_store_notice *notice, const char *text);

#endif
