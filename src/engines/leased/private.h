/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a leased client share: session.c has the session and its
 * link, op.c the calls, renewal.c what is proven, own.c the tickets, watches.c
 * and looks.c who wants to hear of others, probe.c the asking after them, and
 * requests.c what takes one call. */
#ifndef HF_ENGINES_LEASED_PRIVATE_H
#define HF_ENGINES_LEASED_PRIVATE_H

#include "engines/leased/leased.h"
#include "engines/leased/looks.h"
#include "engines/leased/op.h"
#include "engines/leased/own.h"
#include "engines/leased/probe.h"
#include "engines/leased/queue.h"
#include "engines/leased/renewal.h"
#include "engines/leased/session.h"
#include "engines/leased/watches.h"

struct hf_leased {
    struct hf_leased_config config;
    char *place;
    struct hf_engine_host host;
    struct hf_store_ops store_ops;
    struct hf_store *store;
    uint64_t now_ms; /* of the call that is being carried out */
    struct hf_leased_session session;
    struct hf_leased_renewal renewal;
    struct hf_leased_ops ops;
    struct hf_leased_queues queues;
    struct hf_leased_owns owns;
};

/* --------------------------------------------------------------- answers -- */

void hf_leased_tell(struct hf_leased *leased, struct hf_event *event);

/* ENQUEUED or LISTED, with the tickets of ${answer}. */
void hf_leased_tell_snapshot(struct hf_leased *leased,
                             struct hf_request *request,
                             enum hf_event_kind kind,
                             const struct hf_store_answer *answer);

/* FAILED, ${text} being the whole story. */
void hf_leased_fail(struct hf_leased *leased, struct hf_request *request,
                    enum hf_failure failure, hf_status status,
                    const char *text);

/* FAILED as the store has it; ${answer} is NULL where none came. */
void hf_leased_fail_as(struct hf_leased *leased, struct hf_request *request,
                       const struct hf_store_answer *answer);

/* For lack of memory. */
void hf_leased_fail_memory(struct hf_leased *leased,
                           struct hf_request *request);

/* -------------------------------------------------------------- requests -- */

/* The queue that ${request} is about: that of a barrier is the lock's with '/'
 * behind it, put together in ${marks}. */
#define HF_LEASED_MARKS_BYTES (HF_NAME_BYTES + 2)
const char *hf_leased_queue_of(const struct hf_request *request,
                               char marks[HF_LEASED_MARKS_BYTES]);

/* ENQUEUE LIST WITHDRAW DOWNGRADE REVOKE DESCRIBE RAISE LOWER STAMP */
void hf_leased_ask(struct hf_leased *leased, struct hf_request *request);

/* The ticket is not in the queue any more. */
void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue,
                           const struct hf_ticket_id *id);

#endif
