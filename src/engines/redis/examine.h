/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines a server for "holdfast doctor" (HF_STORE_EXAMINE): sends a few
 * commands, and turns what the replies show into findings.  If the user may not
 * run one of these commands, that becomes a finding, too, so the call never
 * fails.
 */
#ifndef HF_ENGINES_REDIS_EXAMINE_H
#define HF_ENGINES_REDIS_EXAMINE_H

#include "core/finding_list.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/reply.h"

/* Room for the subject of a server's findings: its address, or the path of its
 * socket. */
#define HF_REDIS_SUBJECT_BYTES HF_REDIS_HOST_TEXT_BYTES

/* Write the subject of the findings about the server of ${link}. */
void hf_redis_examine_subject(const struct hf_redis_link *link,
                              char subject[HF_REDIS_SUBJECT_BYTES]);

/* Send the first commands of ${call}, an EXAMINE.  Its .store_data must point
 * to a struct hf_redis_answer.  Returns false if memory ran out before any
 * command was sent; the link then goes down. */
bool hf_redis_examine_put(struct hf_redis_link *link,
                          struct hf_store_call *call);

/* Add the findings of ${reply}, the reply to one of the commands of ${call}.
 * If another command must follow, sends it and counts it in .pending of the
 * answer. */
void hf_redis_examine_reply(struct hf_redis_link *link,
                            struct hf_store_call *call,
                            const struct redisReply *reply);

/* Implemented in examine_info.c.  Add what ${info}, the text of INFO, shows
 * about ${subject}.  ${wait} is the option wait= of the URL. */
void hf_redis_examine_info(struct hf_redis_examination *examination,
                           const char *subject, const char *info,
                           uint64_t wait);

/* Implemented in examine_info.c.  Add what would be lost if ${subject} were
 * restarted.  ${fsync} is the value of appendfsync, or "" if the user may not
 * see it. */
void hf_redis_examine_persistence(struct hf_redis_examination *examination,
                                  const char *subject, const char *fsync);

#endif
