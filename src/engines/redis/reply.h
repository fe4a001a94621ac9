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

/* The findings of an EXAMINE so far (examine.h). */
struct hf_redis_examination {
    struct hf_finding_list findings; /* .answer.findings points here */
    /* which command the next reply answers (enum step of examine.c) */
    unsigned step;
    bool of_quorum; /* the server is one of a quorum */
    bool saw_info;
    /* the server keeps its data in an append-only file, as far as INFO shows */
    bool append_only;
};

/* An answer that is being made from one or more replies.  Its texts point into
 * the last reply, except the payload of the first ticket, which is copied. */
struct hf_redis_answer {
    struct hf_store_answer answer;
    /* The arrays that .answer points to; .room is the number of tickets that
     * fit. */
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    const char **unknown;
    size_t room;
    /* The message that .answer.text points to. */
    char text[HF_ERROR_TEXT_BYTES];
    /* A copy of the first ticket's payload, because the reply is freed
     * earlier. */
    char payload[HF_PAYLOAD_BYTES];
    struct hf_names_answer names;  /* NAMES: .answer.names points here */
    struct hf_name_list name_list; /* what .names points to */
    struct hf_name_list
        /* NAMES: queues for which the key "last" must be read, in this order */
        last_list;
    size_t lasts_read; /* how many of these keys were read */
    char cursor[HF_REDIS_CURSOR_BYTES];
    struct hf_redis_examination examination; /* EXAMINE */
    /* number of replies that have not come yet */
    size_t pending;
    /* .kind is 0 if the call was not redirected */
    struct hf_redis_redirect redirect;
};

/* Add ${reply}, the reply to ${call} or to one of its commands.  If several
 * fail, the first failure is kept. */
void hf_redis_answer_add_reply(struct hf_redis_answer *answer,
                               const struct hf_store_call *call,
                               const struct redisReply *reply);

/* Add the reply to WAIT for ${wanted} replicas.  The script has run by then, so
 * if fewer replicas have the change, the call fails as HF_FAILURE_UNSURE. */
void hf_redis_answer_add_wait_reply(struct hf_redis_answer *answer,
                                    unsigned wanted,
                                    const struct redisReply *reply);

/* Add ${reply}, the reply to the SCAN of ${call}, a NAMES.  ${run_id} is the
 * run id of the process that sent it. */
void hf_redis_answer_add_scan_reply(struct hf_redis_answer *answer,
                                    const struct hf_store_call *call,
                                    const char *run_id,
                                    const struct redisReply *reply);

/* Returns the name of queue ${index}, counted from 0, among the queues whose
 * key "last" must be read for a NAMES; NULL if there are no more. */
const char *hf_redis_answer_next_last(const struct hf_redis_answer *answer,
                                      size_t index);

/* Add ${reply}, the reply to the GET of the next of these keys "last". */
void hf_redis_answer_add_last_reply(struct hf_redis_answer *answer,
                                    const struct redisReply *reply);

/* Free ${answer} and all that it has. */
void hf_redis_answer_free(struct hf_redis_answer *answer);

/* Free the unfinished answer that .store_data of ${call} points to, if there is
 * one.  ${call} may be NULL. */
void hf_redis_answer_drop(struct hf_store_call *call);

/* What an error of the server means for us. */
struct hf_redis_error {
    enum hf_failure failure; /* how the call fails if it had no effect */
    hf_status status;
    const char *advice; /* a text to append to the server's message, or "" */
    /* Other requests would fail as well.  So the connection is ended, because
     * the next one may lead to a server that works. */
    bool affects_server;
    /* The server does not have the script, which must be loaded again. */
    bool script_missing;
    /* The script may have written something before it failed; Redis does not
     * roll back. */
    bool partial;
};
/* Classify ${error}, the text of an error reply.  If the error is unknown,
 * .partial is set. */
struct hf_redis_error hf_redis_error_classify(const char *error);

/* Returns the text by which entry ${index} of the table of errors is
 * recognised, or NULL if there are no more entries. */
const char *hf_redis_error_pattern(size_t index);

/* Returns the status of a connection that cannot be used because of ${error}.
 * The status decides whether it makes sense to wait (base/reconnect.h).  An
 * unknown error may pass, so it becomes HF_EUNREACHABLE and not HF_EPROTOCOL,
 * which ends all waits. */
hf_status hf_redis_connection_status(const char *error);

#endif
