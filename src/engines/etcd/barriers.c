/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations of a double barrier: each time that enough participants have
 * come, a new generation begins.
 *
 * Each generation puts the flag of the double barrier (flags.c) again, in a
 * transaction that compares as many participants as there must be.  The token
 * of a generation is the revision of that put, so it is greater than the tokens
 * of all participants that were compared.  etcd limits a transaction to 128
 * comparisons.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "engines/etcd/queue_reading.h"

/* The most participants that a generation can wait for, below the limit of etcd
 * (--max-txn-ops, 128 by default). */
#define PARTIES_MAX 120

/* ----------------------------------------------------------- generations -- */

/* The transaction that puts the flag has ended. */
static void generation_put(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_result *result)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "begin a generation of");
    else if (!hf_etcd_read_txn(result->answer, &txn))
        hf_etcd_engine_request_fail_answer(req);
    else if (txn.succeeded)
        hf_etcd_engine_request_answer(req, &event);
    else
        hf_etcd_engine_request_fail(req, HF_FAILURE_RETRY, HF_EBUSY,
                                    "a participant has left");
}

/* Append the comparison that the participant ${listed} is still there. */
static void compare_participant(const struct hf_etcd_engine_request *req,
                                const struct hf_etcd_engine_listed *listed,
                                struct hf_etcd_buffer *buffer)
{
    char key[HF_ETCD_KEY_BYTES];
    const char *suffix = req->list.text + listed->suffix;
    size_t before = req->queue->prefix_bytes;

    assert(before + strlen(suffix) < sizeof key);
    memcpy(key, req->queue->prefix, before);
    memcpy(key + before, suffix, strlen(suffix));
    hf_etcd_engine_compare_created(buffer, key, before + strlen(suffix),
                                   listed->create_revision);
}

/* Append the comparisons that our ticket and other participants, .limit of them
 * in all, are still there.  Returns false if the list has fewer. */
static bool compare_participants(const struct hf_etcd_engine_request *req,
                                 struct hf_etcd_buffer *buffer)
{
    const struct hf_request *request = req->request;
    const struct hf_etcd_engine_listed *mine =
        hf_etcd_engine_list_find(&req->list, &request->ticket);
    uint32_t count = 1;

    if (mine == NULL)
        return false;
    compare_participant(req, mine, buffer);
    for (size_t i = 0; i < req->list.count && count < request->limit; i++) {
        const struct hf_etcd_engine_listed *listed = &req->list.listed[i];

        if (listed == mine || listed->ticket.kind != HF_TICKET_PARTICIPANT)
            continue;
        compare_participant(req, listed, buffer);
        count++;
    }
    return count >= request->limit;
}

/* The participants were read: put the flag, if there are enough of them. */
static void put_generation(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES], value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_put put = {
        .key = {key, hf_etcd_engine_flag_key(req->engine->config.session.prefix,
                                             req->request->queue,
                                             HF_TICKET_READY, key)},
        .value = {value, hf_etcd_engine_value_format(HF_TICKET_READY,
                                                     &req->request->ticket, 1,
                                                     "", value)},
    };

    if (!compare_participants(req, &buffer)) {
        hf_etcd_buffer_free(&buffer);
        hf_etcd_engine_request_fail(req, HF_FAILURE_RETRY, HF_EBUSY,
                                    "fewer than %" PRIu32
                                    " participants are there",
                                    req->request->limit);
        return;
    }
    hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, generation_put);
}

void hf_etcd_engine_new_generation(struct hf_etcd_engine *engine,
                                   struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);

    if (req == NULL)
        return;
    if (request->limit > PARTIES_MAX) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_FATAL, HF_ELIMIT,
            "a double barrier in etcd can wait for %d participants, because a "
            "transaction has no more comparisons; expected no more than that, "
            "and not %" PRIu32,
            PARTIES_MAX, request->limit);
        return;
    }
    hf_etcd_engine_read_now(req, HF_ETCD_ROLE_PARTICIPANT, put_generation);
}
