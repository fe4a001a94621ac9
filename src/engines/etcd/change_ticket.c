/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that put the key of a ticket again and keep its place, its token
 * and its lease: HF_REQUEST_DOWNGRADE and HF_REQUEST_DESCRIBE for a ticket of
 * ours, HF_REQUEST_REVOKE for any ticket.
 *
 * A put without .ignore_lease would detach the key from its lease, and the
 * ticket would stay for ever.  REVOKE puts the key with the value that it has
 * at that moment (.ignore_value).  The other two write a value.  They compare
 * the revision of the last known put, so they notice a REVOKE that came in
 * between: own_value.h.
 */
#include <assert.h>

#include "engines/etcd/queue_reading.h"
#include "engines/etcd/watches.h"

static struct hf_etcd_engine_own_ticket *
own_of(const struct hf_etcd_engine_request *req)
{
    return hf_etcd_engine_own_find(req->engine, &req->request->ticket);
}

/* ------------------------------------------------ DOWNGRADE and DESCRIBE -- */

/* Answer that our ticket is not there. */
static void answer_missing(struct hf_etcd_engine_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_DESCRIBED};

    if (req->request->kind == HF_REQUEST_DESCRIBE)
        hf_etcd_engine_request_answer(req, &event);
    else
        hf_etcd_engine_request_fail(req, HF_FAILURE_FATAL, HF_ELOST,
                                    "the ticket is gone from \"%.200s\"; see "
                                    "who removes keys there",
                                    req->queue->prefix);
}

static void write_value(struct hf_etcd_engine_request *req);

/* The key has the wanted value: it was written, or it was there already. */
static void value_written(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADED};

    if (req->request->kind == HF_REQUEST_DESCRIBE) {
        event.kind = HF_EVENT_DESCRIBED;
        event.as.answer.found = true;
    } else if (own != NULL) {
        own->kind = HF_TICKET_READ;
    }
    hf_etcd_engine_request_answer(req, &event);
}

/* The key is not as we knew it: ${kv} was put by somebody else, or by a
 * transaction of ours that got no answer.  Write again.  A request to release
 * is reported first, because the core may do anything from within an answer. */
static void value_differs(struct hf_etcd_engine_request *req,
                          const struct hf_etcd_key_value *kv)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (own == NULL || kv->create_revision != own->create_revision) {
        answer_missing(req);
        return;
    }
    if (hf_etcd_engine_own_value_was_put(&own->value, kv))
        hf_etcd_engine_watches_revoked(req->engine, &own->id);
    if (req->attempts++ < HF_ETCD_ATTEMPTS_MAX)
        write_value(req);
    else
        hf_etcd_engine_request_fail_busy(req);
}

/* Write the value that the ticket shall have to ${value}. */
static struct hf_etcd_bytes
value_of(const struct hf_etcd_engine_request *req,
         const struct hf_etcd_engine_own_ticket *own,
         char value[HF_ETCD_VALUE_BYTES])
{
    const struct hf_request *request = req->request;
    enum hf_ticket_kind kind =
        request->kind == HF_REQUEST_DOWNGRADE ? HF_TICKET_READ : own->kind;

    return (struct hf_etcd_bytes){
        value, hf_etcd_engine_value_format(kind, &own->id, own->weight,
                                           request->payload, value)};
}

/* A transaction has ended. */
static void answered(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;
    struct hf_etcd_key_value kv;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "change a ticket of");
    else if (hf_etcd_read_txn(result->answer, &txn) && txn.succeeded)
        value_written(req);
    else if (hf_etcd_engine_read_pair(result->answer, &kv))
        value_differs(req, &kv);
    else
        hf_etcd_engine_request_fail_answer(req);
}

/* The transaction that puts the value has ended. */
static void put_answered(struct hf_etcd_engine_request *req,
                         const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    char value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_txn_answer txn;

    if (result->end == HF_ETCD_DONE && own != NULL &&
        hf_etcd_read_txn(result->answer, &txn) && txn.succeeded)
        hf_etcd_engine_own_value_wrote(&own->value, value_of(req, own, value),
                                       txn.header.revision);
    answered(req, result);
}

/* Write the value, if the key is still as we know it.  Thanks to that
 * comparison a transaction that takes effect late cannot bring an earlier value
 * back.  If the key has the value already, the transaction only confirms that:
 * see own_value.h. */
static void write_value(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    char key[HF_ETCD_KEY_BYTES], value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_put put = {.ignore_lease = true};
    struct hf_etcd_comparison known = {.target = HF_ETCD_MOD_REVISION,
                                       .result = HF_ETCD_EQUAL};
    struct hf_etcd_buffer buffer = {0};
    struct hf_etcd_range range;
    bool is_there;

    if (own == NULL || own->state != HF_ETCD_OWN_QUEUED) {
        answer_missing(req);
        return;
    }
    put.key = (struct hf_etcd_bytes){
        key, hf_etcd_engine_own_key(req->engine, own, key)};
    put.value = value_of(req, own, value);
    is_there = hf_etcd_engine_own_value_is(&own->value, put.value);
    known.key = put.key;
    known.number = own->value.mod_revision;
    range = (struct hf_etcd_range){.key = put.key};
    hf_etcd_txn_compare(&buffer, &known);
    if (is_there) {
        hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_SUCCESS);
    } else {
        hf_etcd_engine_own_value_writes(&own->value, put.value);
        hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    }
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &range);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer,
                                is_there ? answered : put_answered);
}

static void begin_write(struct hf_etcd_engine *engine,
                        struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);

    if (req != NULL)
        write_value(req);
}

void hf_etcd_engine_downgrade_ticket(struct hf_etcd_engine *engine,
                                     struct hf_request *request)
{
    begin_write(engine, request);
}

void hf_etcd_engine_describe_ticket(struct hf_etcd_engine *engine,
                                    struct hf_request *request)
{
    begin_write(engine, request);
}

/* ---------------------------------------------------------------- REVOKE -- */

static void search(struct hf_etcd_engine_request *req);

static void answer_sent(struct hf_etcd_engine_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKE_SENT};

    event.as.answer.found = found;
    hf_etcd_engine_request_answer(req, &event);
}

/* The transaction has ended: the key was put, or it is not the key that was
 * found. */
static void target_put(struct hf_etcd_engine_request *req,
                       const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "ask for a ticket of");
    else if (!hf_etcd_read_txn(result->answer, &txn))
        hf_etcd_engine_request_fail_answer(req);
    else if (txn.succeeded)
        answer_sent(req, true);
    else if (req->attempts++ < HF_ETCD_ATTEMPTS_MAX)
        search(req);
    else
        hf_etcd_engine_request_fail_busy(req);
}

/* The queue was read: put the key of the ticket again.  Tickets of other
 * programs are refused, because such a program does not watch for the request
 * and may misunderstand the put. */
static void searched(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_listed *listed =
        hf_etcd_engine_list_find(&req->list, &req->request->ticket);
    struct hf_etcd_buffer buffer = {0};
    struct hf_etcd_put put = {.ignore_value = true, .ignore_lease = true};

    if (listed == NULL) {
        answer_sent(req, false);
        return;
    }
    if (listed->ticket.kind == HF_TICKET_EXCLUSIVE) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
            "\"%.200s\" was made by another program, which does not listen to "
            "requests to release it; expected a ticket of holdfast",
            req->list.text + listed->suffix);
        return;
    }
    if (!hf_etcd_engine_request_aim(req, req->list.text + listed->suffix,
                                    listed->create_revision)) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    put.key = (struct hf_etcd_bytes){req->target.key, req->target.bytes};
    hf_etcd_engine_compare_target(req, &buffer);
    hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, target_put);
}

static void search(struct hf_etcd_engine_request *req)
{
    hf_etcd_engine_read_now(req, HF_ETCD_ROLE_ANY, searched);
}

void hf_etcd_engine_revoke_ticket(struct hf_etcd_engine *engine,
                                  struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);

    if (req != NULL)
        search(req);
}
