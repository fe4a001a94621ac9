/* SPDX-License-Identifier: Apache-2.0 */
/* What replies of the script mean. */
#ifndef HF_ENGINES_REDIS_REPLY_H
#define HF_ENGINES_REDIS_REPLY_H

#include <hiredis/hiredis.h>

#include "engines/leased/store.h"
#include "engines/redis/hash_slot.h"

/* An answer that is being put together, perhaps of several replies.  Its texts
 * are those of the last reply, but for the payload of its first ticket. */
struct hf_redis_answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    const char **unknown;
    size_t room;
    char text[HF_ERROR_TEXT_BYTES];
    char payload[HF_PAYLOAD_BYTES];
    size_t pending;                    /* replies that have not come yet */
    struct hf_redis_redirect redirect; /* .kind is 0 if it is none */
};

/* Take in ${reply}, which answers ${call} or a part of it.  A failure stays,
 * and only the first is kept. */
void hf_redis_answer_add_reply(struct hf_redis_answer *answer,
                               const struct hf_store_call *call,
                               const struct redisReply *reply);

/* Take in the reply to WAIT for ${wanted} replicas.  The script has run by
 * then, so every reply but that they have it leaves the call unsure. */
void hf_redis_answer_add_wait_reply(struct hf_redis_answer *answer,
                                    unsigned wanted,
                                    const struct redisReply *reply);

void hf_redis_answer_free(struct hf_redis_answer *answer);

/* What an error of the server means. */
struct hf_redis_error {
    enum hf_failure failure; /* where nothing can have been done */
    hf_status status;
    const char *advice;  /* a text that goes behind the server's; "" for none */
    bool affects_server; /* it will be no better for another request: another
                       connection may lead to one that can */
    bool script_missing;
    bool partial; /* a script may have written before it failed, and is not
                     rolled back; or nobody knows */
};
struct hf_redis_error hf_redis_error_classify(const char *error);

/* The status of a connection that is of no use because of ${error}.  One that
 * is not known may pass, as "max number of clients reached" does: it is no
 * nonsense, which ends waits. */
hf_status hf_redis_connection_status(const char *error);

#endif
