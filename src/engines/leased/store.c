/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h.  Functions about calls and kinds that all stores use, and the
 * check of answers.  A wrong answer may come from a wrong server, or other
 * programs may write to the server, so the messages advise to look for that. */
#include "engines/leased/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/admission.h"

/* --------------------------------------------------------------- calls -- */

bool hf_store_call_writes(const struct hf_store_call *call)
{
    return !(call->kind == HF_STORE_EXISTS || call->kind == HF_STORE_NAMES ||
             call->kind == HF_STORE_EXAMINE ||
             call->kind == HF_STORE_READ_SUCCESS ||
             (call->kind == HF_STORE_LIST && !call->watches_queue));
}

bool hf_store_call_may_be_partial(const struct hf_store_call *call)
{
    bool lists = call->kind == HF_STORE_ENQUEUE || call->kind == HF_STORE_LIST;
    enum hf_ticket_kind kind = call->ticket_kind;

    return lists && !call->detailed && !call->watches_queue &&
           call->quorum == NULL &&
           ((kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_WRITE) ||
            kind == HF_TICKET_ELECTION);
}

bool hf_store_is_double_barrier_kind(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_PARTICIPANT || kind == HF_TICKET_READY;
}

bool hf_store_is_stored_kind(uint64_t kind)
{
    return kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_READY &&
           kind != HF_TICKET_EXCLUSIVE;
}

const char *hf_store_payload(const char *text, size_t bytes)
{
    bool fits = bytes < HF_PAYLOAD_BYTES && strlen(text) == bytes;

    return fits && hf_utf8_valid(text, bytes) ? text : "";
}

/* --------------------------------------------------------------- answers -- */

static hf_status refuse(struct hf_error *why, const char *what,
                        const char *expected)
{
    return hf_error_set(why, HF_EPROTOCOL,
                        "protocol: the server %s; expected %s; see that it is "
                        "the server of the URL, and who else writes there",
                        what, expected);
}

/* --------------------------------------------------------------- numbers -- */

/* Returns the most tickets that the answer may have.  For a RENEW this is more
 * than the number of our tickets, because a server may have tickets of our
 * session that we do not know. */
static size_t max_tickets(const struct hf_store_call *call)
{
    switch (call->kind) {
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
        return HF_STORE_TICKETS_MAX;
    case HF_STORE_EXISTS:
        return call->count;
    case HF_STORE_RENEW:
        return (size_t)2 * HF_STORE_TICKETS_MAX;
    default:
        return 0;
    }
}

static hf_status check_count(const struct hf_store_call *call,
                             const struct hf_store_answer *answer,
                             struct hf_error *why)
{
    size_t limit = max_tickets(call);

    if (answer->count <= limit && answer->unknown_count <= HF_STORE_TICKETS_MAX)
        return HF_OK;
    return hf_error_set(why, HF_EPROTOCOL,
                        "protocol: the server lists %zu tickets and %zu other "
                        "things; expected at most %zu, and at most %d; see "
                        "what fills the queue",
                        answer->count, answer->unknown_count, limit,
                        HF_STORE_TICKETS_MAX);
}

/* ------------------------------------------------------------ duplicates -- */

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, HF_TICKET_ID_BYTES);
}

static bool has_equal_neighbours(const struct hf_ticket_id *ids, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (hf_ticket_id_equal(&ids[i - 1], &ids[i]))
            return true;
    }
    return false;
}

/* Check that the answer has each ticket only once, by a sort of the ids. */
static hf_status check_unique(const struct hf_store_answer *answer,
                              struct hf_error *why)
{
    struct hf_ticket_id *ids;
    bool twice;

    if (answer->count < 2)
        return HF_OK;
    ids = hf_alloc(answer->count * sizeof *ids);
    if (ids == NULL)
        return hf_error_set(why, HF_ENOMEM, "no memory to check an answer");
    for (size_t i = 0; i < answer->count; i++)
        ids[i] = answer->tickets[i].id;
    qsort(ids, answer->count, sizeof *ids, compare_ids);
    twice = has_equal_neighbours(ids, answer->count);
    hf_free(ids);
    return twice ? refuse(why, "lists a ticket twice", "each ticket once")
                 : HF_OK;
}

/* ---------------------------------------------------------------- queues -- */

/* Returns whether a queue as that of ${call} can have ${ticket}. */
static bool belongs_in_queue(const struct hf_store_call *call,
                             const struct hf_ticket *ticket)
{
    bool of_flags = call->queue[strlen(call->queue) - 1] == '/';

    if (of_flags)
        return ticket->kind == HF_TICKET_BARRIER;
    if (call->ticket_kind == HF_TICKET_PARTICIPANT)
        return hf_store_is_double_barrier_kind(ticket->kind);
    return ticket->kind >= HF_TICKET_MUTEX &&
           ticket->kind <= HF_TICKET_EXCLUSIVE;
}

/* Check the tickets and their order.  Two tickets may have the same number
 * while several servers have not agreed on their numbers yet, so equal numbers
 * pass. */
static hf_status check_rows(const struct hf_store_call *call,
                            const struct hf_store_answer *answer,
                            struct hf_error *why)
{
    const struct hf_ticket *before = NULL;

    for (size_t i = 0; i < answer->count; i++) {
        const struct hf_ticket *ticket = &answer->tickets[i];

        if (before != NULL && hf_ticket_compare(before, ticket) > 0)
            return refuse(why, "lists a queue out of order",
                          "each ticket behind those with lesser numbers");
        if (ticket->sequence > HF_STORE_NUMBER_MAX ||
            ticket->token > HF_STORE_NUMBER_MAX)
            return refuse(why, "lists a ticket with a number of 2^53 or more",
                          "one that a queue can have given out");
        if (!belongs_in_queue(call, ticket))
            return refuse(why, "lists a ticket of a kind that does not belong",
                          "those of the queue that was asked for");
        if (ticket->weight < 1 || ticket->weight > HF_WEIGHT_MAX)
            return refuse(why, "lists a ticket of no or too many permits",
                          "1 to 64");
        before = ticket;
    }
    return HF_OK;
}

/* Returns whether ${ticket} has the kind that ${call} asked for.  A WRITE may
 * have become a READ meanwhile. */
static bool is_requested_kind(const struct hf_store_call *call,
                              const struct hf_ticket *ticket)
{
    return ticket->kind == call->ticket_kind ||
           (call->ticket_kind == HF_TICKET_WRITE &&
            ticket->kind == HF_TICKET_READ);
}

/* Returns the index of the call's ticket in the answer; .count if it is not
 * there. */
static size_t own_index(const struct hf_store_call *call,
                        const struct hf_store_answer *answer)
{
    const struct hf_snapshot queue = {answer->tickets, answer->count, 0};

    return hf_snapshot_find(&queue, &call->ticket);
}

/* Check a partial queue.  It hides tickets, so it must show those that are
 * nearest to ours; otherwise it could admit our ticket wrongly.  Which tickets
 * a reader waits for depends on their kinds, so for a reader this checks only
 * that there is one. */
static hf_status check_partial(const struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               struct hf_error *why)
{
    size_t shown_min =
        call->ticket_kind == HF_TICKET_READ ? 1 : HF_ADMISSION_NEAREST;
    size_t index = own_index(call, answer);

    if (!answer->partial && answer->more_ahead == 0)
        return HF_OK;
    if (!answer->partial || !hf_store_call_may_be_partial(call))
        return refuse(why, "shows a part of a queue", "the whole queue");
    if (answer->more_ahead > HF_STORE_TICKETS_MAX)
        return refuse(why, "counts too many tickets ahead of ours",
                      "at most 65536");
    if (answer->more_ahead > 0 && index < answer->count && index < shown_min)
        return refuse(why, "hides the tickets that are nearest to ours",
                      "the first one and the three nearest");
    return HF_OK;
}

/* Check the ticket of the call, unless the server is one of several: such a
 * server may have lost the ticket, or have it with another number, and
 * engines/quorum, which asks all of them, decides about that. */
static hf_status check_own_ticket(const struct hf_store_call *call,
                                  const struct hf_store_answer *answer,
                                  struct hf_error *why)
{
    size_t index = own_index(call, answer);
    const struct hf_ticket *own;

    if (call->quorum != NULL)
        return HF_OK;
    if (index == answer->count)
        return call->kind != HF_STORE_ENQUEUE
                   ? HF_OK
                   : refuse(why, "does not list the ticket that it put in",
                            "the queue with that ticket");
    own = &answer->tickets[index];
    if (own->token == 0)
        return refuse(why, "gives our ticket the token 0",
                      "one that is greater than all before");
    if (call->kind == HF_STORE_ENQUEUE && !is_requested_kind(call, own))
        return refuse(why, "lists our ticket as one of another kind",
                      "the kind that was asked for");
    return HF_OK;
}

hf_status hf_store_answer_check(const struct hf_store_call *call,
                                const struct hf_store_answer *answer,
                                struct hf_error *why)
{
    bool of_queue =
        call->kind == HF_STORE_ENQUEUE || call->kind == HF_STORE_LIST;
    hf_status status = check_count(call, answer, why);

    if (status == HF_OK && answer->server_ms > HF_STORE_NUMBER_MAX)
        status = refuse(why, "has a clock beyond all years",
                        "milliseconds since 1970");
    if (status == HF_OK && of_queue)
        status = check_unique(answer, why);
    if (status == HF_OK && of_queue)
        status = check_rows(call, answer, why);
    if (status == HF_OK && of_queue)
        status = check_own_ticket(call, answer, why);
    if (status == HF_OK && of_queue)
        status = check_partial(call, answer, why);
    return status;
}
