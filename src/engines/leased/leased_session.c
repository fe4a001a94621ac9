/* SPDX-License-Identifier: Apache-2.0 */
/* The session and its link.  base/connectivity.h decides when a link is made
 * and when it is given up; here is what the session does in each state.
 * HANDSHAKING: the first RENEW is under way on the link.  UP: requests are
 * carried out.  CLOSING: the session is being closed.  A session outlives its
 * links, until one ttl has passed without a renewal that proves it. */
#include "engines/leased/leased_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/time_math.h"
#include "core/session.h"
#include "engines/leased/leased_private.h"

/* The store knows its servers and tries them in turn.  So for
 * base/connectivity.h there is one server, number 0, whose errors are logged,
 * and one attempt may take half the time of a session. */
#define SHARE_SERVERS 1
#define SERVER 0

/* ---------------------------------------------------------------- clocks -- */

/* Returns when the session is lost if ${anchor_ms} was its last anchor
 * (leased.h).  The margin allows for a server whose clock is fast. */
static uint64_t lost_at_ms(const struct hf_leased *leased, uint64_t anchor_ms)
{
    uint64_t ttl_ms = leased->config.ttl_ms;

    return hf_before_ms(hf_after_ms(anchor_ms, ttl_ms),
                        hf_margin_ms(ttl_ms, leased->config.clock_drift));
}

/* ------------------------------------------------------------ connecting -- */

/* Begin an attempt to connect, with a timeout. */
static void open_link(struct hf_leased *leased)
{
    struct hf_leased_session *session = &leased->session;

    assert(!session->linked);
    hf_connectivity_connecting(&session->connectivity, leased->now_ms);
    session->linked = true;
    leased->store_ops.connect(leased->store, session->name);
}

/* End the link, if there is one. */
static void disconnect_store(struct hf_leased *leased)
{
    leased->renewal.at_ms = HF_FOREVER;
    if (!leased->session.linked)
        return;
    leased->session.linked = false;
    leased->store_ops.disconnect(leased->store);
}

/* Begin a session with a new random name, which no other session has. */
static void begin_session(struct hf_leased *leased)
{
    struct hf_leased_session *session = &leased->session;

    (void)snprintf(session->name, sizeof session->name,
                   "%016" PRIx64 "%016" PRIx64,
                   hf_random_next(&leased->config.random),
                   hf_random_next(&leased->config.random));
    session->was_connected = false;
    session->lost_at_ms = HF_FOREVER;
}

/* This only schedules an attempt, because it may be called while the store
 * reports the end of its last link. */
void hf_leased_session_connect(struct hf_leased *leased)
{
    (void)hf_connectivity_resume(&leased->session.connectivity, leased->now_ms);
}

/* Notify the core, for its waiters, why there is no link, and log the reason if
 * it is a new one. */
static void report_connection_error(struct hf_leased *leased, const char *why)
{
    struct hf_connectivity *connectivity = &leased->session.connectivity;
    struct hf_event event = {.kind = HF_EVENT_CONNECTION_ERROR};
    char text[HF_LEASED_CONNECTION_ERROR_BYTES];

    (void)snprintf(text, sizeof text, "%.120s: %s",
                   leased->config.server_address, why);
    if (hf_connectivity_set_error(connectivity, SERVER, text))
        leased->host.log(leased->host.host,
                         hf_connectivity_error_level(connectivity), "%s", text);
    event.as.connection_error.text = connectivity->error;
    event.as.connection_error.status = hf_connectivity_status(connectivity);
    event.as.connection_error.final = hf_connectivity_is_final(connectivity);
    hf_leased_notify(leased, &event);
}

/* Notify the core that no more attempts are made.  Nothing may be done after
 * this, because the receiver may call hf_leased_session_connect(). */
static void notify_gave_up(struct hf_leased *leased)
{
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    hf_connectivity_gave_up_after(&leased->session.connectivity, leased->now_ms,
                                  &event.as.gave_up.retries,
                                  &event.as.gave_up.elapsed_ms);
    hf_leased_notify(leased, &event);
}

/* --------------------------------------------------------------- link up -- */

void hf_leased_session_up(struct hf_leased *leased, uint64_t server_ms)
{
    assert(leased->session.linked);
    hf_leased_calls_set_server_clock(leased, server_ms);
    hf_connectivity_handshaking(&leased->session.connectivity);
    hf_leased_renew(leased);
    if (!leased->renewal.under_way)
        hf_leased_session_link_lost(leased, HF_EUNREACHABLE, "out of memory");
}

/* The first RENEW on the link was answered: the link is up.  Send CONNECTED
 * with ${anchor_ms}. */
static void confirm_link(struct hf_leased *leased, uint64_t anchor_ms)
{
    struct hf_leased_session *session = &leased->session;
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};

    event.as.connected.timeout_ms = leased->config.ttl_ms;
    event.as.connected.clock_drift = leased->config.clock_drift;
    event.as.connected.anchor_ms = anchor_ms;
    event.as.connected.resumed = session->was_connected;
    session->was_connected = true;
    hf_connectivity_up(&session->connectivity, leased->now_ms);
    /* Tickets of the session before this one may still be at the server.
     * Remove them now, and do not wait until their leases end. */
    hf_leased_session_close_old(leased);
    hf_leased_poll_all(leased); /* notices may have been lost */
    hf_leased_notify(leased, &event);
}

static bool session_renewed(struct hf_leased *leased, uint64_t sent_at_ms)
{
    struct hf_leased_session *session = &leased->session;

    session->lost_at_ms = lost_at_ms(leased, sent_at_ms);
    session->anchor_ms = sent_at_ms;
    if (session->connectivity.state != HF_CONNECTIVITY_HANDSHAKING)
        return true;
    confirm_link(leased, sent_at_ms);
    return false;
}

static void proved_nothing(struct hf_leased *leased)
{
    if (leased->session.connectivity.state != HF_CONNECTIVITY_HANDSHAKING)
        return;
    assert(
        /* a new session has no tickets, so its renewal found none missing */
        leased->session.was_connected);
    confirm_link(leased, leased->session.anchor_ms);
}

static void not_renewed(struct hf_leased *leased,
                        const struct hf_store_answer *answer)
{
    if (leased->session.connectivity.state == HF_CONNECTIVITY_HANDSHAKING) {
        hf_leased_session_link_lost(leased, answer->status, "%s", answer->text);
        return;
    }
    if (hf_connectivity_text_changed(&leased->session.connectivity, SERVER,
                                     answer->text))
        leased->host.log(leased->host.host, HF_LOG_WARNING,
                         "%s: the tickets could not be renewed: %s",
                         leased->config.server_address, answer->text);
}

static const struct hf_leased_renewal_listener renewal_listener = {
    .renewed = session_renewed,
    .proved_nothing = proved_nothing,
    .not_renewed = not_renewed,
};

/* ------------------------------------------------------------- link down -- */

/* Forget all calls, watches and tickets of the session. */
static void clear(struct hf_leased *leased)
{
    hf_leased_calls_abort(leased);
    hf_leased_renewal_clear(leased);
    hf_leased_watches_clear(leased);
    hf_leased_queue_watches_clear(leased);
    hf_leased_tickets_clear(leased);
}

/* End the session and answer HF_REQUEST_END with CLOSED. */
static void finish_close(struct hf_leased *leased)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};

    hf_connectivity_closed(&leased->session.connectivity);
    disconnect_store(leased);
    clear(leased);
    event.as.answer.request = leased->session.end;
    hf_leased_notify(leased, &event);
}

/* Close the session without the answers to all pieces of its CLOSE_SESSION.
 * Tickets may be left until their leases run out. */
static void close_unanswered(struct hf_leased *leased)
{
    if (leased->queue_table.ticket_count > 0)
        leased->host.log(leased->host.host, HF_LOG_WARNING,
                         "%s: closed without an answer of the server: what "
                         "tickets are left run out, at the latest %" PRIu64
                         " ms after they were last renewed",
                         leased->config.server_address, leased->config.ttl_ms);
    finish_close(leased);
}

/* Call this when all events about the end of a link or a session were sent.  A
 * receiver may have requested END meanwhile.  It is carried out only now,
 * because closing clears the tables from which the events are sent. */
static void close_if_requested(struct hf_leased *leased)
{
    leased->session.notifying = false;
    if (leased->session.end != NULL)
        close_unanswered(leased);
}

void hf_leased_session_link_lost(struct hf_leased *leased, hf_status status,
                                 const char *format, ...)
{
    struct hf_leased_session *session = &leased->session;
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};
    bool was_up = hf_leased_session_usable(session);
    char why[HF_LEASED_WHY_BYTES];
    va_list args;

    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING) {
        close_unanswered(leased);
        return;
    }
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    session->notifying = true;
    disconnect_store(leased);
    hf_connectivity_disconnected(&session->connectivity, status, leased->now_ms,
                                 &leased->config.random);
    report_connection_error(leased, why);
    if (was_up)
        hf_leased_notify(leased, &event);
    hf_leased_calls_abort(leased);
    close_if_requested(leased);
    if (session->connectivity.state == HF_CONNECTIVITY_IDLE)
        notify_gave_up(leased);
}

/* Begin another session, because the leases of this one may have ended.
 * safe_until of the core ends at the same time, and hf_core_step() expires the
 * grants before it handles SESSION_LOST. */
static void lose_session(struct hf_leased *leased)
{
    struct hf_leased_session *session = &leased->session;
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};
    struct hf_leased_ticket_sets *sets = NULL;
    char why[HF_ERROR_TEXT_BYTES];

    (void)snprintf(why, sizeof why,
                   "%s: the tickets have not been renewed for %" PRIu64
                   " ms, for which they were leased",
                   leased->config.server_address, leased->config.ttl_ms);
    session->notifying = true;
    if (leased->queue_table.ticket_count > 0)
        sets = hf_leased_session_close_sets(leased);
    disconnect_store(leased);
    if (hf_connectivity_has_connection(&session->connectivity))
        hf_connectivity_restart(&session->connectivity, leased->now_ms);
    begin_session(leased);
    clear(leased);
    hf_leased_session_close_keep(leased, sets);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_leased_notify(leased, &event);
    close_if_requested(leased);
}

/* --------------------------------------------------------------- closing -- */

void hf_leased_session_end(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_session *session = &leased->session;

    assert(session->end == NULL);
    session->end = request;
    if (session->notifying)
        return;
    if (hf_leased_session_usable(session) &&
        hf_leased_session_close_begin(leased))
        leased->renewal.at_ms = HF_FOREVER;
    else
        close_unanswered(leased);
}

/* ----------------------------------------------------------------- begin -- */

void hf_leased_session_begin(struct hf_leased *leased)
{
    const struct hf_connectivity_config connectivity = {
        .policy = leased->config.reconnect,
        .servers = leased->config.servers,
        .session_ms = leased->config.ttl_ms,
        .share_servers = SHARE_SERVERS};

    leased->session.close.closed = finish_close;
    leased->renewal.listener = &renewal_listener;
    leased->renewal.at_ms = HF_FOREVER;
    hf_connectivity_init(&leased->session.connectivity, &connectivity);
    leased->config.reconnect = NULL; /* it was borrowed until now */
    begin_session(leased);
    open_link(leased);
}

/* ------------------------------------------------------------------ time -- */

/* Do what is due while the link is up. */
static void tick_up(struct hf_leased *leased)
{
    if (leased->now_ms >= hf_leased_calls_deadline_ms(leased)) {
        hf_leased_session_link_lost(
            leased, HF_EUNREACHABLE, "no answer for %" PRIu64 " ms",
            leased->now_ms - leased->calls.sent.first->sent_at_ms);
        return;
    }
    hf_leased_renewal_tick(leased);
    hf_leased_poll_tick(leased);
}

/* Give up an attempt to connect, or to close, that took too long. */
static void time_out(struct hf_leased *leased)
{
    uint64_t timeout_ms =
        hf_connectivity_timed_out(&leased->session.connectivity);
    const char *awaited = NULL;

    if (leased->store_ops.awaited != NULL)
        awaited = leased->store_ops.awaited(leased->store);
    hf_leased_session_link_lost(
        leased, HF_EUNREACHABLE, "no %s within %" PRIu64 " ms",
        awaited != NULL ? awaited : "connection", timeout_ms);
}

void hf_leased_session_tick(struct hf_leased *leased)
{
    struct hf_leased_session *session = &leased->session;
    enum hf_connectivity_action due;

    if (leased->now_ms >= session->lost_at_ms &&
        session->connectivity.state < HF_CONNECTIVITY_CLOSING)
        lose_session(leased);
    due = hf_connectivity_due(&session->connectivity, leased->now_ms);
    if (hf_leased_session_usable(session))
        tick_up(leased);
    else if (due == HF_CONNECTIVITY_CONNECT)
        open_link(leased);
    else if (due == HF_CONNECTIVITY_GIVE_UP)
        time_out(leased);
}

uint64_t hf_leased_session_wake_at_ms(const struct hf_leased *leased)
{
    const struct hf_leased_session *session = &leased->session;
    uint64_t at_ms = hf_connectivity_wake_at_ms(&session->connectivity);

    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return HF_FOREVER;
    if (hf_leased_session_usable(session)) {
        at_ms = hf_min_ms(hf_leased_calls_deadline_ms(leased),
                          leased->renewal.at_ms);
        at_ms = hf_min_ms(at_ms, leased->queue_table.poll_at_ms);
    }
    if (session->connectivity.state != HF_CONNECTIVITY_CLOSING)
        at_ms = hf_min_ms(
            at_ms, hf_wake_before_ms(leased->now_ms, session->lost_at_ms));
    return at_ms;
}
