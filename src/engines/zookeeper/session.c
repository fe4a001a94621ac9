/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/attempt.h"
#include "core/instant.h"
#include "core/machine.h"
#include "core/session.h"
#include "engines/zookeeper/private.h"

#define TO(state) (1u << HF_ZK_##state)

static const struct hf_machine_state states[] = {
    [HF_ZK_IDLE] = {"IDLE", TO(OPENING) | TO(ENDED)},
    [HF_ZK_WAITING] = {"WAITING", TO(OPENING) | TO(ENDED)},
    [HF_ZK_OPENING] = {"OPENING", TO(OPENING) | TO(GREETING) | TO(WAITING) |
                                      TO(IDLE) | TO(ENDED)},
    [HF_ZK_GREETING] = {"GREETING", TO(UP) | TO(OPENING) | TO(WAITING) |
                                        TO(IDLE) | TO(ENDED)},
    [HF_ZK_UP] = {"UP", TO(OPENING) | TO(WAITING) | TO(IDLE) | TO(ENDING) |
                            TO(ENDED)},
    [HF_ZK_ENDING] = {"ENDING", TO(ENDED)},
    [HF_ZK_ENDED] = {"ENDED", 0},
};

static const struct hf_machine_table table = {"connection", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_zk *zk, enum hf_zk_session_state state)
{
    hf_machine_move(&table, &zk->session.state, state);
}

bool hf_zk_session_usable(const struct hf_zk_session *session)
{
    return session->state == HF_ZK_UP;
}

bool hf_zk_session_linked(const struct hf_zk_session *session)
{
    return session->state != HF_ZK_IDLE && session->state != HF_ZK_WAITING &&
           session->state != HF_ZK_ENDED;
}

/* ------------------------------------------------------------- attempts -- */

static uint64_t attempt_ms(const struct hf_zk *zk)
{
    return hf_attempt_ms(zk->config.timeout_ms, zk->config.server_count,
                         zk->session.silences);
}

static void open_next(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;

    session->server = (session->server + 1) % zk->config.server_count;
    session->number++;
    session->until_ms = hf_after_ms(zk->now_ms, attempt_ms(zk));
    move(zk, HF_ZK_OPENING);
}

static void try_at(struct hf_zk *zk, uint64_t at_ms)
{
    if (at_ms <= zk->now_ms) {
        open_next(zk);
        return;
    }
    zk->session.until_ms = at_ms;
    move(zk, at_ms == HF_FOREVER ? HF_ZK_IDLE : HF_ZK_WAITING);
}

/* When the next attempt is due.  ${steady}: the connection that ended was no
 * failed attempt. */
static uint64_t next_attempt_ms(struct hf_zk *zk, bool steady, hf_status status)
{
    struct hf_attempts *attempts = &zk->session.attempts;

    if (steady)
        return hf_attempts_lost(attempts, zk->now_ms, &zk->config.random);
    return hf_attempts_failed(attempts, status, zk->now_ms, &zk->config.random);
}

void hf_zk_session_begin(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;

    session->least_ms = HF_FOREVER;
    session->server = zk->config.server_count - 1;
    session->state = HF_ZK_WAITING;
    hf_attempts_init(&session->attempts, &zk->config.reconnect,
                     zk->config.server_count);
    open_next(zk);
}

void hf_zk_session_connect(struct hf_zk *zk)
{
    if (zk->session.state != HF_ZK_IDLE)
        return;
    hf_attempts_restart(&zk->session.attempts);
    open_next(zk);
}

/* Tell whoever waits for a connection why there is none, and log what is new.
 * What is final is the text of the waits that end, and need not be said
 * twice. */
static void tell_trouble(struct hf_zk *zk, const char *why)
{
    struct hf_zk_session *session = &zk->session;
    const struct hf_zk_server *server = &zk->config.servers[session->server];
    struct hf_event event = {.kind = HF_EVENT_TROUBLE};
    char text[sizeof session->trouble];
    const char *form = strchr(server->host, ':') ? "[%s]:%u: %s" : "%s:%u: %s";
    bool final = hf_attempts_are_final(&session->attempts);
    enum hf_log_level level = final ? HF_LOG_INFO : HF_LOG_WARNING;

    snprintf(text, sizeof text, form, server->host, (unsigned)server->port,
             why);
    if (hf_attempt_is_news(&session->logged[session->server], text))
        zk->host.log(zk->host.host, level, "%s", text);
    memcpy(session->trouble, text, sizeof text);
    event.as.trouble.text = session->trouble;
    event.as.trouble.status = hf_attempts_status(&session->attempts);
    event.as.trouble.final = final;
    hf_zk_tell(zk, &event);
}

/* Last of all, because this may lead back to hf_zk_session_connect(). */
static void tell_giving_up(struct hf_zk *zk)
{
    const struct hf_attempts *attempts = &zk->session.attempts;
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    event.as.gave_up.retries = attempts->retries;
    event.as.gave_up.elapsed_ms = zk->now_ms - attempts->first_at_ms;
    hf_zk_tell(zk, &event);
}

/* -------------------------------------------------------------- greeting -- */

/* No server grants less to a resume: by what the URL says, or else by what
 * servers have granted so far. */
static uint64_t floor_ms(const struct hf_zk *zk)
{
    if (zk->config.timeout_floor_ms == 0)
        return zk->session.least_ms;
    return hf_earlier_ms(zk->session.least_ms, zk->config.timeout_floor_ms);
}

void hf_zk_session_closed_silently(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;

    if (session->state == HF_ZK_GREETING && !zk->config.tls &&
        session->least_ms == HF_FOREVER &&
        session->tls[session->server] == HF_ZK_TLS_UNASKED)
        session->tls[session->server] = HF_ZK_TLS_ASK;
}

/* In place of a greeting: the alert close_notify, RFC 8446, 6.1.  For ZooKeeper
 * it begins a frame of an impossible length. */
static void ask_for_tls(struct hf_zk *zk)
{
    struct hf_jute_writer *out = &zk->wire.out;

    zk->session.tls[zk->session.server] = HF_ZK_TLS_ASKED;
    hf_zk_wire_begin(&zk->wire, zk->now_ms);
    hf_jute_put_int(out, HF_ZK_TLS_ALERT);
    hf_jute_put_byte(out, 2);
    hf_jute_put_byte(out, 1); /* a warning, */
    hf_jute_put_byte(out, 0); /* close_notify */
    move(zk, HF_ZK_GREETING);
}

void hf_zk_session_greet(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;
    struct hf_jute_writer *out = &zk->wire.out;
    struct hf_event event = {.kind = HF_EVENT_RESUMING};
    size_t begin;

    assert(session->state == HF_ZK_OPENING);
    if (session->tls[session->server] == HF_ZK_TLS_ASK) {
        ask_for_tls(zk);
        return;
    }
    hf_zk_wire_begin(&zk->wire, zk->now_ms);
    begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, 0); /* version of the protocol */
    hf_jute_put_long(out, session->zxid);
    /* The same for ever: another number would change what a resume does to
     * the session's end. */
    hf_jute_put_int(out, (int32_t)zk->config.timeout_ms);
    hf_jute_put_long(out, session->id);
    hf_jute_put_buffer(out, session->password, sizeof session->password);
    hf_jute_put_bool(out, false); /* a read-only server is of no use */
    hf_jute_end_frame(out, begin);
    session->greeted_at_ms = zk->now_ms;
    move(zk, HF_ZK_GREETING);
    if (session->id == 0)
        return;
    event.as.resuming.sent_at_ms = zk->now_ms;
    event.as.resuming.least_timeout_ms = floor_ms(zk);
    hf_zk_tell(zk, &event);
}

/* A new session is a transaction, and as good a proof as any.  A resumed one is
 * not: a leader that was deposed and has not noticed takes a session back on
 * its own, and the next leader knows nothing of that.  So there is no more than
 * what was proven before, until a transaction on this connection is committed;
 * that one proves the greeting too. */
static uint64_t anchor_ms(const struct hf_zk *zk, bool resumed)
{
    if (!resumed)
        return zk->session.greeted_at_ms;
    return zk->told_anchor_ms;
}

/* The server at the other end has granted ${granted_ms}. */
static void take_timeout(struct hf_zk *zk, uint64_t granted_ms, bool resumed)
{
    struct hf_zk_session *session = &zk->session;
    const struct hf_zk_server *server = &zk->config.servers[session->server];

    if (resumed && granted_ms < floor_ms(zk))
        zk->host.log(
            zk->host.host, HF_LOG_WARNING,
            "%s:%u: granted the session %" PRIu64 " ms, and at least %" PRIu64
            " ms were expected; give all servers one "
            "maxSessionTimeout, or the URL timeout_floor=%" PRIu64 "ms",
            server->host, (unsigned)server->port, granted_ms, floor_ms(zk),
            granted_ms);
    session->least_ms = hf_earlier_ms(session->least_ms, granted_ms);
    if (!resumed || granted_ms < session->timeout_ms)
        session->timeout_ms = granted_ms;
    session->alive_until_ms = 0; /* what was counted before counts no more */
}

static void accept(struct hf_zk *zk, bool resumed)
{
    struct hf_zk_session *session = &zk->session;
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};

    session->up_at_ms = zk->now_ms;
    session->silences = 0;
    session->trouble[0] = '\0';
    memset(session->logged, 0, sizeof session->logged);
    hf_zk_proof_begin(&zk->proof, session->timeout_ms, zk->config.tick_ms,
                      zk->config.strict_proof, session->greeted_at_ms,
                      zk->now_ms);
    zk->told_anchor_ms = anchor_ms(zk, resumed);
    move(zk, HF_ZK_UP);
    hf_zk_session_answered(zk, session->greeted_at_ms);
    if (zk->config.auth[0] != '\0')
        hf_zk_send_auth(zk);
    if (resumed)
        hf_zk_watches_resume(zk); /* before any other request could see what
                                     they would tell */
    event.as.connected.timeout_ms = session->timeout_ms;
    event.as.connected.anchor_ms = zk->told_anchor_ms;
    event.as.connected.resumed = resumed;
    event.as.connected.lazy = zk->config.lazy_proof;
    hf_zk_tell(zk, &event);
}

void hf_zk_session_greeted(struct hf_zk *zk, struct hf_jute_reader *frame)
{
    struct hf_zk_session *session = &zk->session;
    struct hf_jute_piece password;
    int32_t timeout_ms;
    bool resumed;
    int64_t id;

    assert(session->state == HF_ZK_GREETING);
    (void)hf_jute_get_int(frame); /* version of the protocol */
    timeout_ms = hf_jute_get_int(frame);
    id = hf_jute_get_long(frame);
    password = hf_jute_get_buffer(frame);
    if (frame->failed) {
        hf_zk_session_drop_as(zk, HF_EPROTOCOL, HF_ZK_NOT_ZOOKEEPER);
        return;
    }
    if (timeout_ms <= 0 || id == 0) {
        if (session->id == 0)
            hf_zk_session_drop(zk, "no session was granted");
        else
            hf_zk_session_lose(zk, "the server has ended the session");
        return;
    }
    if (password.count != sizeof session->password ||
        (session->id != 0 && id != session->id)) {
        hf_zk_session_drop(zk, "an answer to a greeting that was not ours");
        return;
    }
    resumed = session->id != 0;
    session->id = id;
    memcpy(session->password, password.bytes, sizeof session->password);
    take_timeout(zk, (uint64_t)timeout_ms, resumed);
    accept(zk, resumed);
}

/* ------------------------------------------------------------ link alive -- */

void hf_zk_session_answered(struct hf_zk *zk, uint64_t sent_at_ms)
{
    struct hf_zk_session *session = &zk->session;
    uint64_t until_ms = hf_after_ms(sent_at_ms, session->timeout_ms);

    /* Nothing else ends a grant in time. */
    if (zk->config.lazy_proof)
        until_ms =
            hf_before_ms(until_ms, hf_session_margin_ms(session->timeout_ms));
    session->alive_until_ms = hf_later_ms(session->alive_until_ms, until_ms);
    hf_zk_proof_answered(&zk->proof, sent_at_ms, zk->now_ms);
}

/* No session any more, and no connection that carries it. */
static void forget_session(struct hf_zk_session *session)
{
    session->id = 0;
    session->zxid = 0;
    session->timeout_ms = 0;
    session->alive_until_ms = 0;
    memset(session->password, 0, sizeof session->password);
}

static void closed(struct hf_zk *zk)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};

    move(zk, HF_ZK_ENDED);
    hf_zk_window_cut(zk);
    hf_zk_watches_clear(zk);
    hf_zk_queues_clear(&zk->queues);
    event.as.answer.request = zk->session.end;
    hf_zk_tell(zk, &event);
}

/* The end, where no goodbye can be said. */
static void close_silently(struct hf_zk *zk)
{
    if (zk->session.id != 0)
        zk->host.log(zk->host.host, HF_LOG_WARNING,
                     "closed without a connection: what tickets there are go "
                     "when the session ends, %" PRIu64
                     " ms after the server last heard of it",
                     zk->session.timeout_ms);
    closed(zk);
}

/* Done with telling of a connection or a session that ended.  Whoever was told
 * may have asked for the end of everything, but what was being told had to be
 * told first, and from tables that were whole. */
static void end_if_asked(struct hf_zk *zk)
{
    zk->session.cutting = false;
    if (zk->session.end != NULL)
        close_silently(zk);
}

static void drop(struct hf_zk *zk, hf_status status, const char *format,
                 va_list args)
{
    struct hf_zk_session *session = &zk->session;
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};
    bool was_up = session->state == HF_ZK_UP;
    char why[sizeof session->trouble];
    uint64_t next_ms;

    assert(hf_zk_session_linked(session));
    if (session->state == HF_ZK_ENDING) {
        closed(zk);
        return;
    }
    (void)vsnprintf(why, sizeof why, format, args);
    session->cutting = true;
    if (session->state == HF_ZK_GREETING && session->id != 0)
        session->timeout_ms = hf_earlier_ms(session->timeout_ms, floor_ms(zk));
    next_ms = next_attempt_ms(
        zk, was_up && zk->now_ms - session->up_at_ms >= HF_ATTEMPT_STEADY_MS,
        status);
    tell_trouble(zk, why);
    try_at(zk, next_ms);
    if (was_up) {
        hf_zk_tell(zk, &event);
        hf_zk_window_cut(zk);
    }
    end_if_asked(zk);
    if (session->state == HF_ZK_IDLE)
        tell_giving_up(zk);
}

void hf_zk_session_drop_as(struct hf_zk *zk, hf_status status,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    drop(zk, status, format, args);
    va_end(args);
}

void hf_zk_session_drop(struct hf_zk *zk, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    drop(zk, HF_EUNREACHABLE, format, args);
    va_end(args);
}

void hf_zk_session_lose(struct hf_zk *zk, const char *format, ...)
{
    struct hf_zk_session *session = &zk->session;
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    assert(session->id != 0 && session->state != HF_ZK_ENDED);
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (session->state == HF_ZK_ENDING) {
        closed(zk);
        return;
    }
    session->cutting = true;
    forget_session(session);
    if (session->state == HF_ZK_GREETING || session->state == HF_ZK_UP)
        open_next(zk);
    hf_zk_window_cut(zk);
    hf_zk_watches_clear(zk);
    hf_zk_queues_clear(&zk->queues);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_zk_tell(zk, &event);
    end_if_asked(zk);
}

/* ---------------------------------------------------------------- ending -- */

static void answered_goodbye(struct hf_zk *zk, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    (void)call;
    /* Cut: whoever cuts tells. */
    if (reply->error != HF_ZK_CUT && zk->session.state == HF_ZK_ENDING)
        closed(zk);
}

void hf_zk_session_end(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_session *session = &zk->session;

    assert(session->end == NULL);
    session->end = request;
    if (session->cutting)
        return;
    if (session->state != HF_ZK_UP) {
        close_silently(zk);
        return;
    }
    session->end_call.answered = answered_goodbye;
    hf_zk_call_end(
        zk, hf_zk_call_begin(zk, &session->end_call, HF_ZK_CLOSE_SESSION));
    session->until_ms = hf_after_ms(zk->now_ms, HF_GOODBYE_MS);
    move(zk, HF_ZK_ENDING);
}

/* ------------------------------------------------------------------ time -- */

/* A connection on which nothing comes for so long is dead: a third of the
 * timeout is left to find another. */
static uint64_t silence_ms(const struct hf_zk_session *session)
{
    return session->timeout_ms / 3 * 2;
}

static uint64_t ping_at_ms(const struct hf_zk *zk)
{
    return hf_after_ms(zk->wire.written_at_ms,
                       hf_later_ms(zk->session.timeout_ms / 3, 1));
}

static void keep_up(struct hf_zk *zk)
{
    uint64_t silent_ms = zk->now_ms - zk->wire.heard_at_ms;

    if (silent_ms >= silence_ms(&zk->session))
        hf_zk_session_drop(zk, "no answer for %" PRIu64 " ms", silent_ms);
    else if (zk->now_ms >= ping_at_ms(zk) && zk->wire.pings < HF_ZK_PINGS_MAX)
        hf_zk_send_ping(zk);
}

static void run_out_of_patience(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;
    uint64_t patience_ms = attempt_ms(zk);
    const char *missing = "answer";

    if (session->state == HF_ZK_OPENING)
        missing = zk->config.tls ? "connection through TLS" : "connection";
    session->silences++;
    hf_zk_session_drop(zk, "no %s within %" PRIu64 " ms", missing, patience_ms);
}

void hf_zk_session_tick(struct hf_zk *zk)
{
    struct hf_zk_session *session = &zk->session;

    if (session->state == HF_ZK_ENDED)
        return; /* with the connection that had no memory */
    if (session->id != 0 && zk->now_ms >= session->alive_until_ms)
        hf_zk_session_lose(zk,
                           "the server has not answered for %" PRIu64
                           " ms, the timeout of the session",
                           session->timeout_ms);
    if (session->state == HF_ZK_UP)
        keep_up(zk);
    else if (session->state == HF_ZK_ENDED || zk->now_ms < session->until_ms)
        return;
    else if (session->state == HF_ZK_WAITING)
        open_next(zk);
    else
        run_out_of_patience(zk);
}

uint64_t hf_zk_session_wake_at_ms(const struct hf_zk *zk)
{
    const struct hf_zk_session *session = &zk->session;
    uint64_t at_ms = session->until_ms;

    if (session->state == HF_ZK_ENDED)
        return HF_FOREVER;
    if (session->state == HF_ZK_UP) {
        at_ms = hf_after_ms(zk->wire.heard_at_ms, silence_ms(session));
        if (zk->wire.pings < HF_ZK_PINGS_MAX)
            at_ms = hf_earlier_ms(at_ms, ping_at_ms(zk));
    }
    if (session->id != 0)
        at_ms = hf_earlier_ms(at_ms, session->alive_until_ms);
    return at_ms;
}
