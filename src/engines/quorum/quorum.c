/* SPDX-License-Identifier: Apache-2.0 */
/* The links to the servers, and the timers.  Each server has a link with its
 * own backoff.  The quorum is up while the answers of a majority of servers
 * count. */
#include "engines/quorum/quorum.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "core/session.h"
#include "engines/quorum/quorum_private.h"

/* Backoff of the link to one server, while the leased client wants the quorum
 * to be connected. */
static const struct hf_retry_policy reconnect_policy = {
    .base_ms = 100,
    .cap_ms = 2000,
    .tries = HF_RETRY_UNLIMITED,
    .elapsed_ms = HF_FOREVER,
};

/* Bounds of the timeout of an attempt to connect to one server. */
#define ATTEMPT_TIMEOUT_MIN_MS UINT64_C(500)
#define ATTEMPT_TIMEOUT_MAX_MS UINT64_C(2000)

/* How long the quorum waits for the other servers when a majority is up.  If
 * more servers get each call, more servers may fail later. */
#define STRAGGLER_WAIT_MS 50

/* A server reports how long it has been running in whole seconds.  Its start
 * and the present time are both rounded down, so it may report up to this much
 * too long. */
#define SERVED_ROUNDING_MS 1000

struct hf_quorum *hf_quorum_new(const struct hf_quorum_config *config,
                                const struct hf_quorum_ops *ops, void *servers,
                                const struct hf_quorum_listener *listener)
{
    struct hf_quorum *quorum = hf_alloc(sizeof *quorum);

    assert(config->servers >= HF_QUORUM_SERVERS_MIN &&
           config->servers <= HF_QUORUM_SERVERS_MAX &&
           config->servers % 2 == 1);
    assert(config->rejoin_ms >= config->ttl_ms);
    if (quorum == NULL)
        return NULL;
    quorum->config = *config;
    quorum->ops = *ops;
    quorum->servers_arg = servers;
    quorum->listener = *listener;
    quorum->up_at_ms = HF_FOREVER;
    return quorum;
}

void hf_quorum_free(struct hf_quorum *quorum)
{
    assert(!quorum->linked);
    hf_quorum_tickets_clear(&quorum->tickets);
    hf_free(quorum);
}

/* ----------------------------------------------------------------- links -- */

/* Begin an attempt to connect to one server. */
static void open_link(struct hf_quorum *quorum, size_t index)
{
    struct hf_quorum_server *server = &quorum->servers[index];
    uint64_t timeout_ms =
        hf_min_ms(hf_max_ms(quorum->config.ttl_ms / 4, ATTEMPT_TIMEOUT_MIN_MS),
                  ATTEMPT_TIMEOUT_MAX_MS);

    server->link = HF_QUORUM_OPENING;
    server->state_until_ms = hf_after_ms(quorum->now_ms, timeout_ms);
    quorum->ops.connect(quorum->servers_arg, index, quorum->session);
}

/* End all links and forget all requests. */
static void close_links(struct hf_quorum *quorum)
{
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (quorum->servers[i].link != HF_QUORUM_WAITING)
            quorum->ops.disconnect(quorum->servers_arg, i);
        quorum->servers[i].link = HF_QUORUM_WAITING;
    }
    /* only now, because the links had the calls until here */
    hf_quorum_requests_abort(quorum);
    quorum->linked = quorum->up = quorum->out_of_memory = false;
    quorum->up_at_ms = HF_FOREVER;
}

/* Note that the tickets without a number get none, because the links have
 * ended. */
static void fail_uncommitted(struct hf_quorum *quorum)
{
    struct hf_quorum_ticket *ticket;

    for (ticket = hf_quorum_ticket_first(&quorum->tickets); ticket != NULL;
         ticket = hf_quorum_ticket_next(&quorum->tickets, ticket))
        ticket->enqueue_failed |= ticket->number == 0;
}

void hf_quorum_connect(struct hf_quorum *quorum, const char *session,
                       uint64_t now_ms)
{
    assert(!quorum->linked);
    quorum->now_ms = now_ms;
    quorum->linked = true;
    if (strcmp(quorum->session, session) != 0)
        hf_quorum_tickets_clear(&quorum->tickets);
    fail_uncommitted(quorum);
    (void)snprintf(quorum->session, sizeof quorum->session, "%s", session);
    for (size_t i = 0; i < quorum->config.servers; i++) {
        quorum->servers[i].tried = false;
        quorum->servers[i].backoff = (struct hf_retry_state){0};
        open_link(quorum, i);
    }
}

void hf_quorum_disconnect(struct hf_quorum *quorum)
{
    assert(quorum->linked);
    close_links(quorum);
}

void hf_quorum_look(const struct hf_quorum *quorum, size_t server,
                    struct hf_quorum_view *view)
{
    const struct hf_quorum_server *of = &quorum->servers[server];

    *view = (struct hf_quorum_view){.linked = of->link == HF_QUORUM_LINKED,
                                    .why = of->why};
    if (!view->linked)
        return;
    view->counts_in_ms = hf_before_ms(of->counts_at_ms, quorum->now_ms);
    view->server_ms =
        hf_after_ms(of->server_ms, quorum->now_ms - of->server_clock_at_ms);
}

void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why)
{
    close_links(quorum);
    quorum->listener.down(quorum->listener.arg, status, why, quorum->now_ms);
}

/* --------------------------------------------------- state of the quorum -- */

/* Returns whether the answers of this server count. */
static bool counts(const struct hf_quorum *quorum,
                   const struct hf_quorum_server *server)
{
    return server->link == HF_QUORUM_LINKED &&
           server->counts_at_ms <= quorum->now_ms;
}

static size_t count_usable(const struct hf_quorum *quorum)
{
    size_t count = 0;

    for (size_t i = 0; i < quorum->config.servers; i++)
        count += counts(quorum, &quorum->servers[i]) ? 1 : 0;
    return count;
}

/* Write why ${server} cannot be used. */
static void describe(const struct hf_quorum *quorum,
                     const struct hf_quorum_server *server, char *text,
                     size_t bytes)
{
    if (server->link == HF_QUORUM_LINKED)
        (void)snprintf(text, bytes,
                       "it was started not long ago, may have forgotten "
                       "tickets, and counts in %" PRIu64 " ms",
                       server->counts_at_ms - quorum->now_ms);
    else
        (void)snprintf(text, bytes, "%s",
                       server->why[0] != '\0' ? server->why : "no answer yet");
}

/* Returns whether at least a majority of the servers fail with the status of
 * ${one}, so that no majority can come up.  If fewer servers refuse us, the
 * others may soon be up. */
static bool is_majority_reason(const struct hf_quorum *quorum,
                               const struct hf_quorum_server *one)
{
    size_t same = 0;

    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        same +=
            server->link != HF_QUORUM_LINKED && server->status == one->status;
    }
    return one->link != HF_QUORUM_LINKED && one->status != HF_OK &&
           one->status != HF_EUNREACHABLE && same >= hf_quorum_majority(quorum);
}

/* Returns whether ${a} explains better than ${b} why there is no majority.
 * Neither can be used. */
static bool explains_more(const struct hf_quorum *quorum,
                          const struct hf_quorum_server *a,
                          const struct hf_quorum_server *b)
{
    if (is_majority_reason(quorum, a) != is_majority_reason(quorum, b))
        return is_majority_reason(quorum, a);
    return a->link != HF_QUORUM_LINKED && b->link == HF_QUORUM_LINKED;
}

/* Go down because only ${count} of the servers can be used. */
static void go_down_no_majority(struct hf_quorum *quorum, size_t count)
{
    const struct hf_quorum_server *worst = NULL;
    char reason[HF_QUORUM_WHY_BYTES];
    char why[HF_QUORUM_WHY_BYTES + 80];

    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        if (counts(quorum, server))
            continue;
        if (worst == NULL || explains_more(quorum, server, worst))
            worst = server;
    }
    assert(worst != NULL);
    describe(quorum, worst, reason, sizeof reason);
    (void)snprintf(why, sizeof why,
                   "%zu of %zu servers can be used, expected %zu; server %zu "
                   "of the URL: %s",
                   count, quorum->config.servers, hf_quorum_majority(quorum),
                   (size_t)(worst - quorum->servers) + 1, reason);
    hf_quorum_go_down(quorum,
                      is_majority_reason(quorum, worst) ? worst->status
                                                        : HF_EUNREACHABLE,
                      why);
}

static bool all_tried(const struct hf_quorum *quorum)
{
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (!quorum->servers[i].tried)
            return false;
    }
    return true;
}

/* Report up or down if the state of the quorum has changed.  Call this when a
 * link came up or went down, or when .up_at_ms has come. */
static void update_state(struct hf_quorum *quorum)
{
    size_t count = count_usable(quorum);

    if (!quorum->linked)
        return;
    if (count < hf_quorum_majority(quorum)) {
        quorum->up_at_ms = HF_FOREVER;
        if (quorum->up || all_tried(quorum))
            go_down_no_majority(quorum, count);
        return;
    }
    if (quorum->up)
        return;
    quorum->up_at_ms = hf_min_ms(
        quorum->up_at_ms, hf_after_ms(quorum->now_ms, STRAGGLER_WAIT_MS));
    if (!all_tried(quorum) && quorum->now_ms < quorum->up_at_ms)
        return;
    quorum->up = true;
    quorum->up_at_ms = HF_FOREVER;
    /* The leased client uses our clock as the server's clock, because each
     * server has another one. */
    quorum->listener.up(quorum->listener.arg, quorum->now_ms, quorum->now_ms);
}

/* The link to one server has ended: plan the next attempt, fail its calls, and
 * check whether a majority is left. */
static void link_lost(struct hf_quorum *quorum, size_t index, hf_status status,
                      const char *why)
{
    struct hf_quorum_server *server = &quorum->servers[index];

    server->link = HF_QUORUM_WAITING;
    server->tried = true;
    server->status = status;
    (void)snprintf(server->why, sizeof server->why, "%s", why);
    server->state_until_ms =
        hf_retry_next(&reconnect_policy, &server->backoff, quorum->now_ms,
                      &quorum->config.random);
    /* The answer to one call may make the leased client disconnect. */
    while (quorum->linked && server->link == HF_QUORUM_WAITING &&
           server->first != NULL)
        hf_quorum_server_call_done(quorum, server->first, NULL);
    if (quorum->linked)
        update_state(quorum);
}

/* ------------------------------------------ called by the servers' links -- */

/* Returns the time from which a server counts that has been running for
 * ${served_ms}, or 0 if it counts already.  All leases that it may have
 * forgotten have run out by then.  Our clock may be fast, so the remaining time
 * is stretched.  If the server's clock is fast, it has been running for less
 * than it reports; that needs no allowance here, because a holder subtracts
 * hf_margin_ms() of its lease for the clocks. */
static uint64_t counts_at_ms(const struct hf_quorum *quorum, uint64_t served_ms)
{
    uint64_t rejoin_ms =
        hf_after_ms(quorum->config.rejoin_ms, SERVED_ROUNDING_MS);

    if (served_ms >= rejoin_ms)
        return 0;
    return hf_after_ms(
        quorum->now_ms,
        hf_stretched_ms(rejoin_ms - served_ms, quorum->config.clock_drift));
}

void hf_quorum_server_up(struct hf_quorum *quorum, size_t index,
                         uint64_t server_ms, uint64_t served_ms,
                         uint64_t now_ms)
{
    struct hf_quorum_server *server = &quorum->servers[index];

    quorum->now_ms = now_ms;
    assert(server->link == HF_QUORUM_OPENING);
    server->link = HF_QUORUM_LINKED;
    server->tried = true;
    server->backoff = (struct hf_retry_state){0};
    server->server_ms = server_ms;
    server->server_clock_at_ms = now_ms;
    server->counts_at_ms = counts_at_ms(quorum, served_ms);
    update_state(quorum);
}

void hf_quorum_server_down(struct hf_quorum *quorum, size_t index,
                           hf_status status, const char *why, uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    link_lost(quorum, index, status, why);
}

void hf_quorum_server_answered(struct hf_quorum *quorum,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms)
{
    struct hf_quorum_server_call *server_call =
        container_of(call, struct hf_quorum_server_call, call);
    size_t index = server_call->server;
    struct hf_error why;

    quorum->now_ms = now_ms;
    /* When a majority has decided a request, its call belongs to the leased
     * client again, so the answer can no longer be checked against it. */
    if (answer->ok && server_call->request->user_call != NULL &&
        hf_store_answer_check(call, answer, &why) != HF_OK) {
        quorum->ops.disconnect(quorum->servers_arg, index);
        link_lost(quorum, index, why.status, why.text);
        return;
    }
    hf_quorum_server_call_done(quorum, server_call, answer);
}

/* Returns whether the notice of one server that a ticket is gone must be held
 * back: the ticket is ours, and has no number yet or may still be at a
 * majority.  A ticket of ours that no majority can have any more is
 * forgotten. */
static bool keeps_majority(struct hf_quorum *quorum, size_t index,
                           const struct hf_store_notice *notice)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &notice->ticket);

    if (ticket == NULL || notice->ticket_kind != 0)
        return false;
    ticket->missing_at |= UINT32_C(1) << index;
    if (ticket->number == 0 ||
        hf_quorum_count(ticket->missing_at) <=
            quorum->config.servers - hf_quorum_majority(quorum))
        return true;
    hf_quorum_ticket_remove(&quorum->tickets, ticket);
    return false;
}

void hf_quorum_server_notice(struct hf_quorum *quorum, size_t index,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    if (!quorum->up || (notice->kind == HF_STORE_GONE &&
                        keeps_majority(quorum, index, notice)))
        return;
    quorum->listener.notice(quorum->listener.arg, notice, now_ms);
}

/* ----------------------------------------------------------------- calls -- */

void hf_quorum_call(struct hf_quorum *quorum, struct hf_store_call *call,
                    uint64_t now_ms)
{
    struct hf_quorum_request *request;

    quorum->now_ms = now_ms;
    assert(quorum->up);
    request = hf_quorum_request_new(quorum, call);
    if (request == NULL)
        quorum->out_of_memory = true;
    else
        hf_quorum_operation_begin(quorum, request);
}

/* ------------------------------------------------------------------ time -- */

static uint64_t request_wake_at_ms(const struct hf_quorum_request *request)
{
    if (request->state == HF_QUORUM_REQUEST_UNSUPPORTED)
        return 0;
    return request->state == HF_QUORUM_REQUEST_OPEN ? request->grace_ends_at_ms
                                                    : HF_FOREVER;
}

static struct hf_quorum_request *find_due(const struct hf_quorum *quorum)
{
    struct hf_quorum_request *request = quorum->first;

    while (request != NULL && request_wake_at_ms(request) > quorum->now_ms)
        request = request->next;
    return request;
}

/* Handle the requests that are due: a request whose grace period is over is
 * answered with what the servers have answered so far, and an unsupported
 * request is refused here, because hf_quorum_call() must not report from
 * inside.  Each request that is due is answered, so the loop ends.  If memory
 * runs out, nothing more is answered, and the next tick takes the link down. */
static void tick_requests(struct hf_quorum *quorum)
{
    struct hf_quorum_request *request;

    while (!quorum->out_of_memory && (request = find_due(quorum)) != NULL) {
        bool unsupported = request->state == HF_QUORUM_REQUEST_UNSUPPORTED;

        if (unsupported && request->kind == HF_STORE_NAMES)
            hf_quorum_request_fail_with(
                quorum, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
                "quorum: cannot list the names that there are, because each "
                "server has some of them only; expected one name, for instance "
                "holdfast show NAME");
        else if (unsupported)
            hf_quorum_request_fail_with(
                quorum, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
                "quorum: has no barriers and no double "
                "barriers; expected a lock, a read/write lock, "
                "a semaphore or an election");
        else
            hf_quorum_operation_decide(quorum, request);
    }
}

static struct hf_quorum_ticket *find_recheck_due(const struct hf_quorum *quorum,
                                                 uint64_t by_ms)
{
    struct hf_quorum_ticket *ticket = hf_quorum_ticket_first(&quorum->tickets);

    while (ticket != NULL && ticket->recheck_at_ms > by_ms)
        ticket = hf_quorum_ticket_next(&quorum->tickets, ticket);
    return ticket;
}

/* Send GONE for tickets ahead of ours that may have been committed behind ours,
 * so that the core lists their queues again. */
static void tick_rechecks(struct hf_quorum *quorum)
{
    struct hf_quorum_ticket *ticket;

    while (quorum->up &&
           (ticket = find_recheck_due(quorum, quorum->now_ms)) != NULL) {
        struct hf_store_notice notice = {.kind = HF_STORE_GONE,
                                         .queue = ticket->queue,
                                         .ticket = ticket->ticket_ahead};

        ticket->recheck_at_ms = HF_FOREVER;
        quorum->listener.notice(quorum->listener.arg, &notice, quorum->now_ms);
    }
}

/* End an attempt to connect to one server that took too long. */
static void time_out(struct hf_quorum *quorum, size_t index)
{
    const char *awaited = NULL;
    char why[HF_QUORUM_WHY_BYTES];

    if (quorum->ops.awaited != NULL)
        awaited = quorum->ops.awaited(quorum->servers_arg, index);
    (void)snprintf(why, sizeof why, "no %s in time",
                   awaited != NULL ? awaited : "connection");
    quorum->ops.disconnect(quorum->servers_arg, index);
    link_lost(quorum, index, HF_EUNREACHABLE, why);
}

/* Check the timeouts of one server: of an attempt to connect, and of its oldest
 * call. */
static void tick_server(struct hf_quorum *quorum, size_t index)
{
    struct hf_quorum_server *server = &quorum->servers[index];

    if (server->link == HF_QUORUM_LINKED) {
        if (server->first == NULL ||
            server->first->deadline_at_ms > quorum->now_ms)
            return;
        quorum->ops.disconnect(quorum->servers_arg, index);
        link_lost(quorum, index, HF_EUNREACHABLE, "no answer in time");
    } else if (server->state_until_ms <= quorum->now_ms) {
        if (server->link == HF_QUORUM_OPENING) {
            time_out(quorum, index);
        } else {
            open_link(quorum, index);
        }
    }
}

void hf_quorum_tick(struct hf_quorum *quorum, uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    if (quorum->linked && quorum->out_of_memory)
        hf_quorum_go_down(quorum, HF_EUNREACHABLE, "out of memory");
    for (size_t i = 0; quorum->linked && i < quorum->config.servers; i++)
        tick_server(quorum, i);
    if (quorum->linked && quorum->up_at_ms <= now_ms)
        update_state(quorum);
    if (quorum->linked)
        tick_requests(quorum);
    tick_rechecks(quorum);
}

uint64_t hf_quorum_wake_at_ms(const struct hf_quorum *quorum)
{
    uint64_t at_ms = HF_FOREVER;

    if (!quorum->linked)
        return HF_FOREVER;
    if (quorum->out_of_memory)
        return 0;
    at_ms = quorum->up_at_ms;
    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        if (server->link != HF_QUORUM_LINKED)
            at_ms = hf_min_ms(at_ms, server->state_until_ms);
        else if (server->first != NULL)
            at_ms = hf_min_ms(at_ms, server->first->deadline_at_ms);
    }
    for (const struct hf_quorum_request *request = quorum->first;
         request != NULL; request = request->next)
        at_ms = hf_min_ms(at_ms, request_wake_at_ms(request));
    if (!quorum->up)
        return at_ms;
    for (const struct hf_quorum_ticket *ticket =
             hf_quorum_ticket_first(&quorum->tickets);
         ticket != NULL;
         ticket = hf_quorum_ticket_next(&quorum->tickets, ticket))
        at_ms = hf_min_ms(at_ms, ticket->recheck_at_ms);
    return at_ms;
}
