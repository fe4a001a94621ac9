/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the replies of the script into answers (store.h), and says what an
 * error of the server means. */
#ifndef HF_ENGINES_REDIS_REPLY_H
#define HF_ENGINES_REDIS_REPLY_H

#include <hiredis/hiredis.h>

#include "core/finding_list.h"
#include "core/name_list.h"
#include "engines/leased/store.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/scan.h"

/* What a server says of itself, so far (examine.h). */
struct hf_redis_examination {
    struct hf_finding_list findings; /* .answer.findings */
    unsigned step;                   /* what the next reply answers */
    bool of_quorum;                  /* the server is one of a quorum */
    bool saw_info;
    bool append_only; /* false if INFO says appendonly no */
};

/* An answer under construction, from one or more replies.  Its texts are those
 * of the last reply, except for the payload of its first ticket. */
struct hf_redis_answer {
    struct hf_store_answer answer;
    /* The arrays of .answer, and how many tickets fit. */
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    const char **unknown;
    size_t room;
    /* What .answer.text points to. */
    char text[HF_ERROR_TEXT_BYTES];
    /* A copy of the first ticket's payload, which outlives its reply. */
    char payload[HF_PAYLOAD_BYTES];
    struct hf_names_answer names;  /* NAMES: .answer.names */
    struct hf_name_list name_list; /* what .names points to */
    struct hf_name_list
        /* NAMES: queues whose key "last" is read, in this order */
        last_list;
    size_t lasts_read; /* how many of these keys were answered */
    char cursor[HF_REDIS_CURSOR_BYTES];
    struct hf_redis_examination examination; /* EXAMINE */
    size_t pending;                    /* replies that have not come yet */
    struct hf_redis_redirect redirect; /* .kind is 0 if there is none */
};

/* Add ${reply}, which answers ${call} or one of its commands.  Only the first
 * failure is kept. */
void hf_redis_answer_add_reply(struct hf_redis_answer *answer,
                               const struct hf_store_call *call,
                               const struct redisReply *reply);

/* Add the reply to WAIT for ${wanted} replicas.  The script has run by then, so
 * the call is UNSURE unless that many replicas have the change. */
void hf_redis_answer_add_wait_reply(struct hf_redis_answer *answer,
                                    unsigned wanted,
                                    const struct redisReply *reply);

/* Add ${reply} to the SCAN that answers ${call}, a NAMES; ${run_id} is that of
 * the process that sent it. */
void hf_redis_answer_add_scan_reply(struct hf_redis_answer *answer,
                                    const struct hf_store_call *call,
                                    const char *run_id,
                                    const struct redisReply *reply);

/* Returns queue ${index}, counted from 0, of those whose key "last" is to be
 * read for a NAMES; NULL behind the last one. */
const char *hf_redis_answer_next_last(const struct hf_redis_answer *answer,
                                      size_t index);

/* Add ${reply}, which is to the GET of the next of these keys. */
void hf_redis_answer_add_last_reply(struct hf_redis_answer *answer,
                                    const struct redisReply *reply);

/* Frees ${answer} itself too. */
void hf_redis_answer_free(struct hf_redis_answer *answer);

/* Free the answer that .store_data of ${call} points to.  Does nothing if there
 * is none, or ${call} is NULL. */
void hf_redis_answer_drop(struct hf_store_call *call);

/* What an error of the server means. */
struct hf_redis_error {
    enum hf_failure failure; /* of a call that cannot have been carried out */
    hf_status status;
    const char *advice; /* a text to be appended to the server's, or "" */
    /* other requests would fail as well: end the connection, because another
     * one may lead to a server that works */
    bool affects_server;
    /* The server does not have the script: load it again. */
    bool script_missing;
    /* a script may have written before it failed; Redis does not roll back */
    bool partial;
};
/* Look up ${error}, the server's text.  An unknown error is taken to be
 * partial. */
struct hf_redis_error hf_redis_error_classify(const char *error);

/* The key of entry ${index} of the table of errors, which is a part of the
 * text of such an error; NULL behind the last one. */
const char *hf_redis_error_pattern(size_t index);

/* The status of a connection that cannot be used because of ${error}, which
 * decides whether waiting may mend it (base/reconnect.h).  An unknown
 * error may pass.  So it becomes HF_EUNREACHABLE and not HF_EPROTOCOL, which
 * ends waits. */
hf_status hf_redis_connection_status(const char *error);

#endif
