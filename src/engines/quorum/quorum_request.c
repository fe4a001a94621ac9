/* SPDX-License-Identifier: Apache-2.0 */
/* Requests under way.  A request is sent to every server that is linked, in one
 * or more rounds, and is answered when the answers of enough servers decide it.
 * Later answers are still used where they help, for instance for repairs. */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/quorum/quorum_private.h"

/* Bounds of the timeout of a call at one server; after that, the link to the
 * server is ended.  This is shorter than the leased client's own timeout, which
 * would end all links. */
#define CALL_TIMEOUT_MIN_MS UINT64_C(250)
#define CALL_TIMEOUT_MAX_MS UINT64_C(5000)

/* Bounds of the grace period: how long to wait for more answers when a majority
 * has answered but something is not known yet.  It is longer than the usual
 * differences between servers, and short enough for a handoff. */
#define GRACE_MIN_MS UINT64_C(10)
#define GRACE_MAX_MS UINT64_C(200)

/* Returns a share of the ttl, ttl / ${of}, within bounds. */
static uint64_t share_ms(const struct hf_quorum *quorum, uint64_t of,
                         uint64_t min_ms, uint64_t max_ms)
{
    return hf_min_ms(hf_max_ms(quorum->config.ttl_ms / of, min_ms), max_ms);
}

/* -------------------------------------------------------------- requests -- */

struct hf_quorum_request *hf_quorum_request_new(struct hf_quorum *quorum,
                                                struct hf_store_call *user_call)
{
    struct hf_quorum_request *request = hf_alloc(sizeof *request);

    if (request == NULL)
        return NULL;
    request->state =
        user_call != NULL ? HF_QUORUM_REQUEST_OPEN : HF_QUORUM_REQUEST_ANSWERED;
    request->user_call = user_call;
    request->grace_ends_at_ms = HF_FOREVER;
    request->previous = quorum->last;
    if (quorum->last != NULL)
        quorum->last->next = request;
    else
        quorum->first = request;
    quorum->last = request;
    return request;
}

static void request_free(struct hf_quorum_request *request)
{
    assert(request->state != HF_QUORUM_REQUEST_ANSWERING);
    hf_quorum_merged_clear(&request->merged);
    hf_finding_list_free(&request->findings);
    hf_free(request->numbers);
    hf_free(request);
}

/* Unlink the request and free it; if its answer is being reported, it is freed
 * after that. */
static void request_end(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    if (request->previous != NULL)
        request->previous->next = request->next;
    else
        quorum->first = request->next;
    if (request->next != NULL)
        request->next->previous = request->previous;
    else
        quorum->last = request->previous;
    assert(request->state != HF_QUORUM_REQUEST_ENDED);
    if (request->state == HF_QUORUM_REQUEST_ANSWERING)
        request->state = HF_QUORUM_REQUEST_ENDED;
    else
        request_free(request);
}

void hf_quorum_request_release(struct hf_quorum *quorum,
                               struct hf_quorum_request *request)
{
    if (request->state == HF_QUORUM_REQUEST_ANSWERED && request->pending == 0)
        request_end(quorum, request);
}

/* ---------------------------------------------------------- server calls -- */

static void append(struct hf_quorum_server *server,
                   struct hf_quorum_server_call *server_call)
{
    server_call->previous = server->last;
    if (server->last != NULL)
        server->last->next = server_call;
    else
        server->first = server_call;
    server->last = server_call;
}

static void unlink_call(struct hf_quorum_server *server,
                        struct hf_quorum_server_call *server_call)
{
    if (server_call->previous != NULL)
        server_call->previous->next = server_call->next;
    else
        server->first = server_call->next;
    if (server_call->next != NULL)
        server_call->next->previous = server_call->previous;
    else
        server->last = server_call->previous;
}

/* Returns the latest time, by the clock of ${server}, at which a call that is
 * sent now may write. */
static uint64_t not_after_ms(const struct hf_quorum *quorum,
                             const struct hf_quorum_server *server)
{
    uint64_t since_ms = quorum->now_ms - server->server_clock_at_ms;

    return hf_after_ms(hf_after_ms(server->server_ms, since_ms),
                       quorum->config.ttl_ms);
}

void hf_quorum_request_send_one(struct hf_quorum *quorum,
                                struct hf_quorum_request *request, size_t index,
                                const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args)
{
    struct hf_quorum_server *server = &quorum->servers[index];
    struct hf_quorum_server_call *server_call = hf_alloc(sizeof *server_call);

    if (server_call == NULL) {
        quorum->out_of_memory = true;
        return;
    }
    server_call->call = *call;
    server_call->call.store_data = NULL;
    server_call->call.not_after_ms = not_after_ms(quorum, server);
    server_call->args = *args;
    server_call->call.quorum = &server_call->args;
    server_call->request = request;
    server_call->server = index;
    server_call->round = request->round;
    server_call->counts = server->counts_at_ms <= quorum->now_ms;
    server_call->deadline_at_ms =
        hf_after_ms(quorum->now_ms, share_ms(quorum, 6, CALL_TIMEOUT_MIN_MS,
                                             CALL_TIMEOUT_MAX_MS));
    append(server, server_call);
    request->pending++;
    request->pending_in_round += server_call->counts ? 1 : 0;
    quorum->ops.call(quorum->servers_arg, index, &server_call->call);
}

void hf_quorum_request_send_all(struct hf_quorum *quorum,
                                struct hf_quorum_request *request,
                                const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args)
{
    request->round++;
    request->pending_in_round = 0;
    request->ok_servers = request->found_servers = request->committed = 0;
    request->number_taken = request->failed = false;
    request->grace_ends_at_ms = HF_FOREVER;
    hf_quorum_merged_clear(&request->merged);
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (quorum->servers[i].link == HF_QUORUM_LINKED)
            hf_quorum_request_send_one(quorum, request, i, call, args);
    }
}

/* Keep a failure, unless there was one in this round; it becomes the answer. */
static void set_failure(struct hf_quorum_request *request,
                        enum hf_failure failure, hf_status status,
                        const char *text)
{
    if (request->failed)
        return;
    request->failed = true;
    request->failure = failure;
    request->status = status;
    (void)snprintf(request->text, sizeof request->text, "%s", text);
}

/* Keep the failure in ${answer} of one server.  NULL: its link ended, so it is
 * not known whether the server has done it. */
static void add_failure(struct hf_quorum *quorum,
                        struct hf_quorum_server_call *server_call,
                        const struct hf_store_answer *answer)
{
    struct hf_quorum_request *request = server_call->request;

    if (answer == NULL || answer->failure == HF_FAILURE_UNSURE)
        request->may_be_done = true;
    if (server_call->round != request->round)
        return;
    if (answer == NULL)
        set_failure(request, HF_FAILURE_UNSURE, HF_EUNREACHABLE,
                    quorum->servers[server_call->server].why);
    else
        set_failure(request, answer->failure, answer->status, answer->text);
}

bool hf_quorum_server_call_end(struct hf_quorum *quorum,
                               struct hf_quorum_server_call *server_call,
                               const struct hf_store_answer *answer)
{
    struct hf_quorum_server *server = &quorum->servers[server_call->server];
    struct hf_quorum_request *request = server_call->request;
    bool outdated = server_call->round != request->round;

    unlink_call(server, server_call);
    request->pending--;
    if (server_call->counts && !outdated)
        request->pending_in_round--;
    if (answer != NULL && answer->server_ms != 0) {
        server->server_ms = answer->server_ms;
        server->server_clock_at_ms = quorum->now_ms;
    }
    if (answer == NULL || !answer->ok) {
        add_failure(quorum, server_call, answer);
        return false;
    }
    request->may_be_done = true;
    if (!outdated && server_call->counts)
        request->ok_servers |= UINT32_C(1) << server_call->server;
    return true;
}

/* --------------------------------------------------------------- answers -- */

bool hf_quorum_request_can_reach(const struct hf_quorum_request *request,
                                 size_t have, size_t count)
{
    return have + request->pending_in_round >= count;
}

bool hf_quorum_request_wait(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    if (request->pending_in_round == 0)
        return false;
    if (request->grace_ends_at_ms == HF_FOREVER)
        request->grace_ends_at_ms = hf_after_ms(
            quorum->now_ms, share_ms(quorum, 32, GRACE_MIN_MS, GRACE_MAX_MS));
    return quorum->now_ms < request->grace_ends_at_ms;
}

void hf_quorum_request_answer(struct hf_quorum *quorum,
                              struct hf_quorum_request *request,
                              struct hf_store_answer *answer)
{
    struct hf_store_call *user_call = request->user_call;

    assert(request->state == HF_QUORUM_REQUEST_OPEN ||
           request->state == HF_QUORUM_REQUEST_UNSUPPORTED);
    assert(user_call != NULL);
    request->user_call = NULL;
    /* The leased client uses our clock as the server's clock, because each
     * server has another one. */
    answer->server_ms = quorum->now_ms;
    request->state = HF_QUORUM_REQUEST_ANSWERING;
    quorum->listener.answered(quorum->listener.arg, user_call, answer,
                              quorum->now_ms);
    if (request->state == HF_QUORUM_REQUEST_ENDED) {
        request_free(request);
        return;
    }
    request->state = HF_QUORUM_REQUEST_ANSWERED;
    hf_quorum_request_release(quorum, request);
}

void hf_quorum_request_fail_with(struct hf_quorum *quorum,
                                 struct hf_quorum_request *request,
                                 enum hf_failure failure, hf_status status,
                                 const char *text)
{
    struct hf_store_answer answer = {
        .failure = failure, .status = status, .text = text};

    hf_quorum_request_answer(quorum, request, &answer);
}

void hf_quorum_request_fail(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    enum hf_failure failure = request->may_be_done ? HF_FAILURE_UNSURE
                              : request->failed    ? request->failure
                                                   : HF_FAILURE_RETRY;
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(
        text, sizeof text, "a majority of the servers could not be had: %.250s",
        request->failed ? request->text : "they do not have the ticket");
    hf_quorum_request_fail_with(
        quorum, request, failure,
        request->failed ? request->status : HF_EUNREACHABLE, text);
}

void hf_quorum_requests_abort(struct hf_quorum *quorum)
{
    struct hf_quorum_server_call *server_call;

    for (size_t i = 0; i < quorum->config.servers; i++) {
        struct hf_quorum_server *server = &quorum->servers[i];

        while ((server_call = server->first) != NULL) {
            unlink_call(server, server_call);
            hf_free(server_call);
        }
    }
    while (quorum->first != NULL)
        request_end(quorum, quorum->first);
}
