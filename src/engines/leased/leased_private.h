/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a leased client share:
 *
 *    leased.c           the interface
 *    leased_session.c   the session and its link
 *    leased_requests.c  the requests that take one call
 *    renewal.c          the renewals
 *    poll.c             polls, in case a notice was lost; begin of ticket
 * watches queue_watches.c, ticket_watches.c    the watches calls.c the calls
 * under way queue_table.c      the queues, and our tickets in them
 *    core_events.c      the events to the core
 *
 * A file calls only functions of files below it, except that a renewal calls
 * the session by pointers.  session_close.c closes a session, and ticket_sets.c
 * copies its tickets. */
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

/* The state of a client. */
struct hf_leased {
    /* .server_address points to the copy below.  .reconnect is NULL when the
     * client has started. */
    struct hf_leased_config config;
    char *server_address;
    struct hf_engine_host host;
    struct hf_store_ops store_ops;
    struct hf_store *store;
    /* the time, as passed to the function of leased.h that is running */
    uint64_t now_ms;
    struct hf_leased_session session;
    struct hf_leased_renewal renewal;
    struct hf_leased_calls calls;
    struct hf_leased_queue_table queue_table;
    struct hf_leased_tickets tickets;
};

/* --------------------------------------------------------------- answers -- */

/* Send ${event} to the core, which may make requests from inside of this
 * call. */
void hf_leased_notify(struct hf_leased *leased, struct hf_event *event);

/* Answer ${request} with the event ${kind}, ENQUEUED or LISTED, and with the
 * tickets of ${answer}. */
void hf_leased_answer_snapshot(struct hf_leased *leased,
                               struct hf_request *request,
                               enum hf_event_kind kind,
                               const struct hf_store_answer *answer);

/* Answer ${request} with FAILED; ${text} is the full message. */
void hf_leased_fail(struct hf_leased *leased, struct hf_request *request,
                    enum hf_failure failure, hf_status status,
                    const char *text);

/* Answer ${request} with FAILED, for the reason in ${answer}.  If ${answer} is
 * NULL, the link ended before the answer came.  A read that may have been
 * carried out fails as RETRY, a write as UNSURE. */
void hf_leased_fail_with_answer(struct hf_leased *leased,
                                struct hf_request *request,
                                const struct hf_store_answer *answer);

/* Answer ${request} with FAILED because memory ran out. */
void hf_leased_fail_no_memory(struct hf_leased *leased,
                              struct hf_request *request);

/* -------------------------------------------------------------- requests -- */

/* Begin ENQUEUE, LIST, REMOVE, DOWNGRADE, REVOKE, DESCRIBE or a request about
 * flags, generations or success.  Each takes one call of the store. */
void hf_leased_begin_request(struct hf_leased *leased,
                             struct hf_request *request);

/* Begin NAMES, which is about no queue. */
void hf_leased_begin_names(struct hf_leased *leased,
                           struct hf_request *request);

/* Begin EXAMINE, which is about no queue. */
void hf_leased_begin_examine(struct hf_leased *leased,
                             struct hf_request *request);

/* ----------------------------------------------------------------- polls -- */

/* Begin HF_REQUEST_WATCH, which is answered with WATCHING or GONE.  A watch of
 * our own ticket needs no poll if the ENQUEUE was answered, because renewals
 * show whether the ticket is there.  Any other watch begins with a poll for its
 * ticket. */
void hf_leased_watch(struct hf_leased *leased, struct hf_request *request);

/* Poll every queue in which something is watched. */
void hf_leased_poll_all(struct hf_leased *leased);

/* Poll the queues that are due. */
void hf_leased_poll_tick(struct hf_leased *leased);

#endif
