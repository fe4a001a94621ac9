/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a leased client share.  leased.c is the interface,
 * leased_session.c has the session and its link, leased_requests.c the requests
 * that take one call, renewal.c the renewals, poll.c the polls for lost notices
 * and the beginning of a ticket watch, queue_watches.c and ticket_watches.c the
 * watches, calls.c the calls under way, queue_table.c the queues and our
 * tickets, and core_events.c the events to the core.  Each calls only those
 * behind it; a renewal reaches the session by pointers.  session_close.c has
 * the close of a session, and ticket_sets.c copies of its tickets. */
#ifndef HF_ENGINES_LEASED_LEASED_PRIVATE_H
#define HF_ENGINES_LEASED_LEASED_PRIVATE_H

#include "base/engine_host.h"
#include "engines/leased/calls.h"
#include "engines/leased/leased.h"
#include "engines/leased/leased_session.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/queue_watches.h"
#include "engines/leased/renewal.h"
#include "engines/leased/ticket_watches.h"

/* The whole state of a client; only the functions of these files change it. */
struct hf_leased {
    /* .server_address points to the copy below; .reconnect is NULL after the
     * start. */
    struct hf_leased_config config;
    char *server_address;
    struct hf_engine_host host;
    struct hf_store_ops store_ops;
    struct hf_store *store;
    /* time of the call into the client that is being carried out */
    uint64_t now_ms;
    struct hf_leased_session session;
    struct hf_leased_renewal renewal;
    struct hf_leased_calls calls;
    struct hf_leased_queue_table queue_table;
    struct hf_leased_tickets tickets;
};

/* --------------------------------------------------------------- answers -- */

/* Send ${event} to the core.  The core may make requests from inside. */
void hf_leased_notify(struct hf_leased *leased, struct hf_event *event);

/* Answer ${request} with ${kind}, ENQUEUED or LISTED, and the tickets of
 * ${answer}. */
void hf_leased_answer_snapshot(struct hf_leased *leased,
                               struct hf_request *request,
                               enum hf_event_kind kind,
                               const struct hf_store_answer *answer);

/* Answer ${request} with FAILED; ${text} is the full message. */
void hf_leased_fail(struct hf_leased *leased, struct hf_request *request,
                    enum hf_failure failure, hf_status status,
                    const char *text);

/* Answer ${request} with FAILED as ${answer} says.  NULL: the link ended
 * before the answer came, so a write is UNSURE.  A read is never UNSURE, but
 * RETRY. */
void hf_leased_fail_with_answer(struct hf_leased *leased,
                                struct hf_request *request,
                                const struct hf_store_answer *answer);

/* Answer ${request} with FAILED because memory ran out. */
void hf_leased_fail_no_memory(struct hf_leased *leased,
                              struct hf_request *request);

/* -------------------------------------------------------------- requests -- */

/* Begin ENQUEUE LIST REMOVE DOWNGRADE REVOKE DESCRIBE and the requests about
 * flags, generations and success: each takes one call of the store. */
void hf_leased_begin_request(struct hf_leased *leased,
                             struct hf_request *request);

/* Begin NAMES, which is about no queue. */
void hf_leased_begin_names(struct hf_leased *leased,
                           struct hf_request *request);

/* Begin EXAMINE, which is about no queue. */
void hf_leased_begin_examine(struct hf_leased *leased,
                             struct hf_request *request);

/* ----------------------------------------------------------------- polls -- */

/* Begin HF_REQUEST_WATCH: WATCHING or GONE.  A watch of our own ticket whose
 * ENQUEUE was answered needs no poll, because renewals show what happens to
 * the ticket.  Any other watch begins with a poll for its ticket. */
void hf_leased_watch(struct hf_leased *leased, struct hf_request *request);

/* Poll every queue in which anything is watched. */
void hf_leased_poll_all(struct hf_leased *leased);

/* Poll the queues that are due. */
void hf_leased_poll_tick(struct hf_leased *leased);

#endif
