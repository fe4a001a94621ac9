/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says of itself, as findings (HF_STORE_EXAMINE): a few commands
 * on the link.  What the user may not ask is a finding too, so the call never
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

/* Send the commands of ${call}, an EXAMINE, whose .store_data is its struct
 * hf_redis_answer.  False if memory runs out before any was sent; the link
 * goes down then. */
bool hf_redis_examine_put(struct hf_redis_link *link,
                          struct hf_store_call *call);

/* Add the findings of ${reply}, which is to one of these commands.  If a
 * command follows from it, that is sent and counted in .pending of the
 * answer. */
void hf_redis_examine_reply(struct hf_redis_link *link,
                            struct hf_store_call *call,
                            const struct redisReply *reply);

/* examine_info.c: add what ${info}, the text of INFO, shows of ${subject}.
 * ${wait} is that of the URL. */
void hf_redis_examine_info(struct hf_redis_examination *examination,
                           const char *subject, const char *info,
                           uint64_t wait);

/* examine_info.c: add what a restart of ${subject} loses; ${fsync} is its
 * appendfsync, or "" if that cannot be seen. */
void hf_redis_examine_persistence(struct hf_redis_examination *examination,
                                  const char *subject, const char *fsync);

#endif
