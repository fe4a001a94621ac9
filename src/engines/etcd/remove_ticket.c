/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/remove_ticket.h"

#include <assert.h>

#include "engines/etcd/eviction.h"
#include "engines/etcd/queue_order.h"
#include "engines/etcd/queue_reading.h"

/* ---------------------------------------------------------------- answer -- */

static void answer(struct hf_etcd_engine_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    event.as.answer.found = found;
    hf_etcd_engine_request_answer(req, &event);
}

/* Return our ticket that is to be removed; NULL if it is known to be gone, or
 * is not ours. */
static struct hf_etcd_engine_own_ticket *
own_of(const struct hf_etcd_engine_request *req)
{
    return hf_etcd_engine_own_find(req->engine, &req->request->ticket);
}

/* Our ticket is not in the queue any more: free it and answer the request. */
static void own_removed(struct hf_etcd_engine_request *req, bool found)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (own != NULL)
        hf_etcd_engine_own_free(req->engine, own);
    answer(req, found);
}

/* ------------------------------------------------------------------ ours -- */

/* Append the deletion of the key, and the comparison that the key was created
 * at ${create_revision}. */
static void write_removal(struct hf_etcd_buffer *buffer, const char *key,
                          size_t bytes, int64_t create_revision)
{
    struct hf_etcd_delete deletion = {.key = {key, bytes}};

    hf_etcd_engine_compare_created(buffer, key, bytes, create_revision);
    hf_etcd_txn_delete(buffer, HF_ETCD_SUCCESS, &deletion);
}

struct hf_etcd_engine_request *
hf_etcd_engine_removal_to_join(struct hf_etcd_engine_queue *queue)
{
    struct hf_etcd_engine_request *req = hf_etcd_engine_take_removal(queue);

    if (req == NULL || own_of(req) != NULL)
        return req;
    hf_etcd_engine_remove_own(req);
    return NULL;
}

void hf_etcd_engine_removal_join(const struct hf_etcd_engine_request *req,
                                 struct hf_etcd_buffer *buffer)
{
    const struct hf_etcd_engine_own_ticket *own = own_of(req);
    char key[HF_ETCD_KEY_BYTES];
    size_t bytes;

    assert(own != NULL);
    bytes = hf_etcd_engine_own_key(req->engine, own, key);
    write_removal(buffer, key, bytes, own->create_revision);
}

void hf_etcd_engine_removal_done(struct hf_etcd_engine_request *req)
{
    own_removed(req, true);
}

/* The transaction has ended. */
static void own_deleted(struct hf_etcd_engine_request *req,
                        const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "remove a ticket from");
    else if (!hf_etcd_read_txn(result->answer, &txn))
        hf_etcd_engine_request_fail_answer(req);
    else
        own_removed(req, txn.succeeded);
}

void hf_etcd_engine_remove_own(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES];
    size_t bytes;

    if (own == NULL) {
        answer(req, false);
        return;
    }
    bytes = hf_etcd_engine_own_key(req->engine, own, key);
    write_removal(&buffer, key, bytes, own->create_revision);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, own_deleted);
}

/* ---------------------------------------- ours, without an answer so far -- */

/* The key was read: our ticket is there; or it is not, and will not come. */
static void key_read(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_key_value kv;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "list");
    } else if (!hf_etcd_engine_read_pair(result->answer, &kv)) {
        hf_etcd_engine_request_fail_answer(req);
    } else if (own == NULL || !hf_etcd_engine_own_is(own, &kv)) {
        own_removed(req, false);
    } else {
        hf_etcd_engine_own_queued(own, &kv);
        hf_etcd_engine_remove_own(req);
    }
}

/* It is the turn of ${req}, and the epoch is known. */
static void begin_unsure(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (own == NULL)
        answer(req, false);
    else if (own->state == HF_ETCD_OWN_QUEUED)
        hf_etcd_engine_remove_own(req);
    else
        hf_etcd_engine_read_own(req, own, key_read);
}

/* ---------------------------------------------------------------- others -- */

static void search(struct hf_etcd_engine_request *req);

/* Search again, because the ticket that was found has changed or is gone. */
static void search_again(struct hf_etcd_engine_request *req)
{
    if (req->attempts++ < HF_ETCD_ATTEMPTS_MAX)
        search(req);
    else
        hf_etcd_engine_request_fail_busy(req);
}

/* The transaction that deletes the ticket has ended. */
static void target_deleted(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "remove a ticket from");
    else if (!hf_etcd_read_txn(result->answer, &txn))
        hf_etcd_engine_request_fail_answer(req);
    else if (txn.succeeded)
        answer(req, true);
    else
        search_again(req);
}

static void delete_target(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_target *target = &req->target;
    struct hf_etcd_buffer buffer = {0};

    write_removal(&buffer, target->key, target->bytes, target->create_revision);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, target_deleted);
}

/* Could the reason of the eviction not be written?  There may be no space, the
 * user may not write there, or the lease has just ended.  Then the ticket is
 * removed without a reason. */
static bool is_unsaid(const struct hf_etcd_result *result)
{
    return result->end == HF_ETCD_REFUSED || result->decided;
}

/* The transaction that deletes a candidate's ticket and writes the reason has
 * ended. */
static void candidate_evicted(struct hf_etcd_engine_request *req,
                              const struct hf_etcd_result *result)
{
    if (is_unsaid(result))
        delete_target(req);
    else
        target_deleted(req, result);
}

static void evict_candidate(struct hf_etcd_engine_request *req,
                            const struct hf_etcd_engine_listed *listed)
{
    const struct hf_etcd_engine_target *target = &req->target;
    struct hf_etcd_buffer buffer = {0};

    write_removal(&buffer, target->key, target->bytes, target->create_revision);
    /* If somebody has detached the ticket from its lease, the reason is not
     * written, because nothing would ever remove the key that has it. */
    if (listed->ticket.session != 0)
        hf_etcd_engine_eviction_write(
            req->engine, &buffer, (int64_t)listed->ticket.session,
            &listed->ticket.id, req->request->evicted_by);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, candidate_evicted);
}

/* The transaction that writes the reason into the value has ended. */
static void reason_written(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;

    if (result->end == HF_ETCD_DONE && hf_etcd_read_txn(result->answer, &txn) &&
        !txn.succeeded)
        search_again(req);
    else if (result->end == HF_ETCD_DONE || is_unsaid(result))
        delete_target(req); /* with the reason, or without it */
    else
        hf_etcd_engine_request_fail_call(req, result, "remove a ticket from");
}

/* Write by whom the ticket is evicted into its value.  The put compares the
 * revision at which the value was read, so it cannot undo a downgrade if it
 * takes effect late. */
static void write_reason(struct hf_etcd_engine_request *req,
                         const struct hf_etcd_engine_listed *listed)
{
    const struct hf_ticket *ticket = &listed->ticket;
    struct hf_etcd_buffer buffer = {0};
    char value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_put put = {
        .key = {req->target.key, req->target.bytes},
        .value = {value, hf_etcd_engine_value_format_evicted(
                             ticket->kind, &ticket->id, ticket->weight,
                             req->request->evicted_by, value)},
        .ignore_lease = true,
    };

    struct hf_etcd_comparison unchanged = {.key = put.key,
                                           .target = HF_ETCD_MOD_REVISION,
                                           .result = HF_ETCD_EQUAL,
                                           .number = listed->mod_revision};

    hf_etcd_txn_compare(&buffer, &unchanged);
    hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, reason_written);
}

/* The queue was read: remove the ticket, if it is there. */
static void searched(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_listed *listed =
        hf_etcd_engine_list_find(&req->list, &req->request->ticket);

    if (listed == NULL)
        answer(req, false);
    else if (!hf_etcd_engine_request_aim(req, req->list.text + listed->suffix,
                                         listed->create_revision))
        hf_etcd_engine_request_fail_memory(req);
    else if (req->request->evicted_by == NULL ||
             listed->ticket.kind == HF_TICKET_EXCLUSIVE)
        delete_target(req);
    else if (listed->ticket.kind == HF_TICKET_ELECTION)
        evict_candidate(req, listed);
    else
        write_reason(req, listed);
}

static void search(struct hf_etcd_engine_request *req)
{
    hf_etcd_engine_read_now(req, HF_ETCD_ROLE_ANY, searched);
}

void hf_etcd_engine_remove_ticket(struct hf_etcd_engine *engine,
                                  struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);
    const struct hf_etcd_engine_own_ticket *own;

    if (req == NULL)
        return;
    own = own_of(req);
    if (own != NULL && own->state != HF_ETCD_OWN_QUEUED)
        hf_etcd_engine_order(req, begin_unsure);
    else if (own != NULL && request->evicted_by == NULL)
        hf_etcd_engine_order_removal(req, hf_etcd_engine_remove_own);
    else
        search(req);
}
