/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a leased client share: leased_session.c has the session and
 * its link, calls.c the calls, renewal.c what is proven, leased_tickets.c the
 * tickets, ticket_watches.c and queue_watches.c who wants to hear of others,
 * poll.c the asking after them, and leased_requests.c what takes one call. */
#ifndef HF_ENGINES_LEASED_LEASED_PRIVATE_H
#define HF_ENGINES_LEASED_LEASED_PRIVATE_H

#include "engines/leased/calls.h"
#include "engines/leased/leased.h"
#include "engines/leased/leased_session.h"
#include "engines/leased/leased_tickets.h"
#include "engines/leased/poll.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/queue_watches.h"
#include "engines/leased/renewal.h"
#include "engines/leased/ticket_watches.h"

struct hf_leased {
    struct hf_leased_config config;
    char *server_address;
    struct hf_engine_host host;
    struct hf_store_ops store_ops;
    struct hf_store *store;
    uint64_t now_ms; /* of the call that is being carried out */
    struct hf_leased_session session;
    struct hf_leased_renewal renewal;
    struct hf_leased_calls calls;
    struct hf_leased_queue_table queue_table;
    struct hf_leased_tickets tickets;
};

/* --------------------------------------------------------------- answers -- */

void hf_leased_notify(struct hf_leased *leased, struct hf_event *event);

/* ENQUEUED or LISTED, with the tickets of ${answer}. */
void hf_leased_answer_snapshot(struct hf_leased *leased,
                               struct hf_request *request,
                               enum hf_event_kind kind,
                               const struct hf_store_answer *answer);

/* FAILED, ${text} being the whole story. */
void hf_leased_fail(struct hf_leased *leased, struct hf_request *request,
                    enum hf_failure failure, hf_status status,
                    const char *text);

/* FAILED as the store has it; ${answer} is NULL where none came. */
void hf_leased_fail_with_answer(struct hf_leased *leased,
                                struct hf_request *request,
                                const struct hf_store_answer *answer);

/* For lack of memory. */
void hf_leased_fail_no_memory(struct hf_leased *leased,
                              struct hf_request *request);

/* -------------------------------------------------------------- requests -- */

/* The queue that ${request} is about: that of a barrier is the lock's with '/'
 * behind it, put together in ${marks}. */
#define HF_LEASED_FLAG_QUEUE_BYTES (HF_NAME_BYTES + 2)
const char *hf_leased_queue_of(const struct hf_request *request,
                               char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES]);

/* ENQUEUE LIST WITHDRAW DOWNGRADE REVOKE DESCRIBE RAISE LOWER STAMP */
void hf_leased_begin_request(struct hf_leased *leased,
                             struct hf_request *request);

/* The ticket is not in the queue any more. */
void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue,
                           const struct hf_ticket_id *id);

#endif
