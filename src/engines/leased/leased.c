/* SPDX-License-Identifier: Apache-2.0 */
/* See leased.h.  Passes the requests of the core and the reports of the store
 * on to the files that handle them. */
#include "engines/leased/leased.h"

#include <assert.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/engine_host.h"
#include "base/memory.h"
#include "engines/leased/leased_private.h"

/* ----------------------------------------------------- beginning and end -- */

struct hf_leased *hf_leased_new(const struct hf_leased_config *config,
                                const struct hf_engine_host *host,
                                const struct hf_store_ops *ops,
                                struct hf_store *store, uint64_t now_ms)
{
    struct hf_leased *leased = hf_alloc(sizeof *leased);

    assert(config->ttl_ms >= HF_LEASED_TTL_MIN_MS &&
           config->ttl_ms <= HF_LEASED_TTL_MAX_MS);
    if (leased == NULL)
        return NULL;
    leased->config = *config;
    leased->config.server_address = leased->server_address =
        hf_strdup(config->server_address);
    if (leased->server_address == NULL) {
        hf_free(leased);
        return NULL;
    }
    leased->host = *host;
    leased->store_ops = *ops;
    leased->store = store;
    leased->now_ms = now_ms;
    hf_leased_queue_table_init(&leased->queue_table, hf_leased_watch_compare);
    hf_leased_tickets_init(&leased->tickets);
    hf_leased_session_begin(leased);
    return leased;
}

/* Replaces host->event() while the client is freed, because nobody is there to
 * receive events any more. */
static void ignore_event(void *host, struct hf_event *event)
{
    (void)host;
    (void)event;
}

void hf_leased_free(struct hf_leased *leased)
{
    leased->host.event = ignore_event;
    hf_connectivity_closed(&leased->session.connectivity);
    if (leased->session.linked)
        leased->store_ops.disconnect(leased->store);
    leased->session.linked = false;
    hf_leased_calls_abort(leased); /* frees the calls that were under way */
    hf_leased_session_close_free(leased);
    hf_leased_watches_clear(leased);
    hf_leased_queue_watches_clear(leased);
    hf_leased_tickets_clear(leased);
    hf_free(leased->server_address);
    hf_free(leased);
}

/* -------------------------------------------------------------- requests -- */

void hf_leased_connect(struct hf_leased *leased, uint64_t now_ms)
{
    leased->now_ms = now_ms;
    hf_leased_session_connect(leased);
}

/* Fail a request that was made while the link is not up.  It is not sent
 * later. */
static void fail_no_link(struct hf_leased *leased, struct hf_request *request)
{
    const char *connection_error = leased->session.connectivity.error;
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof text, "there is no connection%s%.351s",
                   connection_error[0] != '\0' ? ": " : "", connection_error);
    hf_leased_fail(leased, request, HF_FAILURE_RETRY, HF_EUNREACHABLE, text);
}

void hf_leased_request(struct hf_leased *leased, struct hf_request *request,
                       uint64_t now_ms)
{
    leased->now_ms = now_ms;
    if (request->kind == HF_REQUEST_END) {
        hf_leased_session_end(leased, request);
        return;
    }
    if (!hf_leased_session_usable(&leased->session)) {
        fail_no_link(leased, request);
        return;
    }
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
    case HF_REQUEST_LIST:
    case HF_REQUEST_REMOVE:
    case HF_REQUEST_DOWNGRADE:
    case HF_REQUEST_REVOKE:
    case HF_REQUEST_DESCRIBE:
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_CLEAR_FLAG:
    case HF_REQUEST_NEW_GENERATION:
    case HF_REQUEST_READ_SUCCESS:
    case HF_REQUEST_WRITE_SUCCESS:
        hf_leased_begin_request(leased, request);
        break;
    case HF_REQUEST_NAMES:
        hf_leased_begin_names(leased, request);
        break;
    case HF_REQUEST_EXAMINE:
        hf_leased_begin_examine(leased, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        hf_leased_queue_watch(leased, request);
        break;
    case HF_REQUEST_WATCH:
        hf_leased_watch(leased, request);
        break;
    case HF_REQUEST_PROVE:
        hf_leased_prove(leased, request);
        break;
    case HF_REQUEST_END:
        break;
    }
}

void hf_leased_forget(struct hf_leased *leased, struct hf_request *watch,
                      uint64_t now_ms)
{
    leased->now_ms = now_ms;
    if (watch->engine_data == NULL)
        return; /* the watch has ended with its session */
    if (watch->kind == HF_REQUEST_WATCH_QUEUE)
        hf_leased_queue_watch_forget(leased, watch->engine_data);
    else
        hf_leased_watch_forget(leased, watch->engine_data);
}

/* --------------------------------------------------- called by the store -- */

const char *hf_leased_session_name(const struct hf_leased *leased)
{
    return leased->session.name;
}

void hf_leased_up(struct hf_leased *leased, uint64_t server_ms, uint64_t now_ms)
{
    leased->now_ms = now_ms;
    hf_leased_session_up(leased, server_ms);
}

void hf_leased_making_progress(struct hf_leased *leased, uint64_t now_ms)
{
    struct hf_connectivity *connectivity = &leased->session.connectivity;

    leased->now_ms = now_ms;
    if (connectivity->state == HF_CONNECTIVITY_CONNECTING)
        hf_connectivity_answered(connectivity, now_ms);
}

void hf_leased_down(struct hf_leased *leased, hf_status status, const char *why,
                    uint64_t now_ms)
{
    leased->now_ms = now_ms;
    assert(leased->session.linked);
    leased->session.linked = false;
    hf_leased_session_link_lost(leased, status, "%s", why);
}

/* Pass the answer on, after a check. */
void hf_leased_answered(struct hf_leased *leased, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t now_ms)
{
    struct hf_error why;

    leased->now_ms = now_ms;
    if (answer->ok && hf_store_answer_check(call, answer, &why) != HF_OK) {
        hf_leased_session_link_lost(leased, why.status, "%s", why.text);
        return;
    }
    if (answer->server_ms != 0)
        hf_leased_calls_set_server_clock(leased, answer->server_ms);
    hf_leased_call_end(
        leased, container_of(call, struct hf_leased_call, store_call), answer);
}

void hf_leased_notices_lost(struct hf_leased *leased, uint64_t now_ms)
{
    leased->now_ms = now_ms;
    if (hf_leased_session_usable(&leased->session))
        hf_leased_poll_all(leased);
}

/* Handle a notice.  It needs no check as an answer does: it names a queue and a
 * ticket, and nothing happens if the client does not know them. */
void hf_leased_notice(struct hf_leased *leased,
                      const struct hf_store_notice *notice, uint64_t now_ms)
{
    leased->now_ms = now_ms;
    switch (notice->kind) {
    case HF_STORE_GONE:
        if (notice->ticket_kind == 0)
            hf_leased_ticket_gone(leased, notice->queue, &notice->ticket,
                                  notice->why[0] != '\0' ? notice->why : NULL,
                                  &notice->first);
        else
            hf_leased_watches_gone(leased, notice->queue, &notice->ticket,
                                   notice->ticket_kind);
        break;
    case HF_STORE_CHANGED:
        hf_leased_queue_watches_changed(leased, notice->queue);
        break;
    case HF_STORE_REVOKED:
        hf_leased_watches_revoked(leased, &notice->ticket, notice->revoked);
        break;
    }
}

/* ------------------------------------------------------------------ time -- */

void hf_leased_tick(struct hf_leased *leased, uint64_t now_ms)
{
    leased->now_ms = now_ms;
    hf_leased_session_tick(leased);
}

uint64_t hf_leased_wake_at_ms(const struct hf_leased *leased)
{
    return hf_leased_session_wake_at_ms(leased);
}
