/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a connection, the instants at which something is due, and the
 * error that says why there is none.  reconnect.c has the arithmetic of
 * the policy: when the next attempt is, and whether there is one. */
#include "base/connectivity.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/state_machine.h"
#include "base/time_math.h"

#define LEAST_TIMEOUT_MS 500
#define FIRST_TIMEOUT_MS UINT64_C(2000)
#define DOUBLINGS_MAX 20

#define TO(state) (1u << HF_CONNECTIVITY_##state)

/* The states and their legal successors. */
static const struct hf_state_machine_state states[] = {
    [HF_CONNECTIVITY_IDLE] = {"IDLE", TO(WAITING) | TO(CLOSED)},
    [HF_CONNECTIVITY_WAITING] = {"WAITING", TO(CONNECTING) | TO(CLOSED)},
    [HF_CONNECTIVITY_CONNECTING] = {"CONNECTING", TO(HANDSHAKING) |
                                                      TO(WAITING) | TO(IDLE) |
                                                      TO(CLOSED)},
    [HF_CONNECTIVITY_HANDSHAKING] = {"HANDSHAKING", TO(UP) | TO(WAITING) |
                                                        TO(IDLE) | TO(CLOSED)},
    [HF_CONNECTIVITY_UP] = {"UP",
                            TO(WAITING) | TO(IDLE) | TO(CLOSING) | TO(CLOSED)},
    [HF_CONNECTIVITY_CLOSING] = {"CLOSING", TO(CLOSING) | TO(CLOSED)},
    [HF_CONNECTIVITY_CLOSED] = {"CLOSED", TO(CLOSED)},
};

static const struct hf_state_machine table = {"connection", states,
                                              sizeof states / sizeof states[0]};

/* The only place that changes .state. */
static void move(struct hf_connectivity *connectivity,
                 enum hf_connectivity_state state)
{
    hf_state_machine_move(&table, &connectivity->state, state);
}

void hf_connectivity_init(struct hf_connectivity *connectivity,
                          const struct hf_connectivity_config *config)
{
    assert(config->share_servers > 0);
    *connectivity = (struct hf_connectivity){
        .state = HF_CONNECTIVITY_WAITING,
        .session_ms = config->session_ms,
        .share_servers = config->share_servers,
    };
    hf_reconnect_backoff_init(&connectivity->backoff, config->policy,
                              config->servers > 0 ? config->servers : 1);
}

bool hf_connectivity_is_up(const struct hf_connectivity *connectivity)
{
    return connectivity->state == HF_CONNECTIVITY_UP;
}

bool hf_connectivity_has_connection(const struct hf_connectivity *connectivity)
{
    return connectivity->state != HF_CONNECTIVITY_IDLE &&
           connectivity->state != HF_CONNECTIVITY_WAITING &&
           connectivity->state != HF_CONNECTIVITY_CLOSED;
}

/* ----------------------------------------------------- what has happened -- */

/* Forget the last texts, so that the next one about each server is logged. */
static void forget_logged(struct hf_connectivity *connectivity)
{
    for (size_t i = 0; i < HF_CONNECTIVITY_SERVERS_MAX; i++)
        connectivity->logged[i] = 0;
}

/* The timeout of one attempt.  Each server can be tried twice within a session
 * timeout, but no attempt is shorter than LEAST_TIMEOUT_MS, which a busy server
 * may need.  The first attempts get less than their share of the session
 * timeout: a server that is starting may leave a connection open that it will
 * never answer, as ZooKeeper 3.8 does, and yet serve the next connection. */
static uint64_t attempt_timeout_ms(const struct hf_connectivity *connectivity)
{
    size_t servers = connectivity->share_servers;
    size_t rounds = connectivity->silent_attempts / servers;
    uint64_t share_ms = connectivity->session_ms / (2 * (uint64_t)servers);

    if (rounds < DOUBLINGS_MAX)
        share_ms = hf_min_ms(share_ms, FIRST_TIMEOUT_MS << rounds);
    return hf_max_ms(share_ms, LEAST_TIMEOUT_MS);
}

void hf_connectivity_connecting(struct hf_connectivity *connectivity,
                                uint64_t now_ms)
{
    assert(hf_connectivity_due(connectivity, now_ms) ==
           HF_CONNECTIVITY_CONNECT);
    connectivity->until_ms =
        hf_after_ms(now_ms, attempt_timeout_ms(connectivity));
    connectivity->answers = 0;
    move(connectivity, HF_CONNECTIVITY_CONNECTING);
}

void hf_connectivity_answered(struct hf_connectivity *connectivity,
                              uint64_t now_ms)
{
    assert(connectivity->state == HF_CONNECTIVITY_CONNECTING ||
           connectivity->state == HF_CONNECTIVITY_HANDSHAKING);
    if (connectivity->answers == HF_CONNECTIVITY_ANSWERS_MAX)
        return;
    connectivity->answers++;
    connectivity->until_ms =
        hf_after_ms(now_ms, attempt_timeout_ms(connectivity));
}

void hf_connectivity_handshaking(struct hf_connectivity *connectivity)
{
    move(connectivity, HF_CONNECTIVITY_HANDSHAKING);
}

void hf_connectivity_up(struct hf_connectivity *connectivity, uint64_t now_ms)
{
    connectivity->up_at_ms = now_ms;
    connectivity->silent_attempts = 0;
    connectivity->error[0] = '\0';
    forget_logged(connectivity);
    move(connectivity, HF_CONNECTIVITY_UP);
}

uint64_t hf_connectivity_timed_out(struct hf_connectivity *connectivity)
{
    uint64_t timeout_ms = attempt_timeout_ms(connectivity);

    connectivity->silent_attempts++;
    return timeout_ms;
}

/* Has the connection been up long enough to be a success? */
static bool is_steady(const struct hf_connectivity *connectivity,
                      uint64_t now_ms)
{
    return hf_connectivity_is_up(connectivity) &&
           now_ms - connectivity->up_at_ms >= HF_CONNECTIVITY_STEADY_MS;
}

/* Wait for the next attempt, which is due at ${at_ms}.  HF_FOREVER: there is no
 * further attempt. */
static void wait_until(struct hf_connectivity *connectivity, uint64_t at_ms)
{
    connectivity->until_ms = at_ms;
    move(connectivity,
         at_ms == HF_FOREVER ? HF_CONNECTIVITY_IDLE : HF_CONNECTIVITY_WAITING);
}

void hf_connectivity_disconnected(struct hf_connectivity *connectivity,
                                  hf_status status, uint64_t now_ms,
                                  struct hf_random *random)
{
    struct hf_reconnect_backoff *backoff = &connectivity->backoff;

    wait_until(
        connectivity,
        is_steady(connectivity, now_ms)
            ? hf_reconnect_backoff_lost(backoff, now_ms, random)
            : hf_reconnect_backoff_failed(backoff, status, now_ms, random));
}

void hf_connectivity_refused(struct hf_connectivity *connectivity,
                             hf_status status, uint64_t now_ms,
                             struct hf_random *random)
{
    struct hf_reconnect_backoff *backoff = &connectivity->backoff;
    uint64_t at_ms;

    assert(hf_connectivity_is_up(connectivity) ||
           connectivity->state == HF_CONNECTIVITY_HANDSHAKING);
    if (is_steady(connectivity, now_ms))
        hf_reconnect_backoff_reset(backoff);
    at_ms = hf_reconnect_backoff_failed(backoff, status, now_ms, random);
    wait_until(connectivity,
               hf_connectivity_is_final(connectivity) ? HF_FOREVER : at_ms);
}

void hf_connectivity_restart(struct hf_connectivity *connectivity,
                             uint64_t now_ms)
{
    connectivity->until_ms = now_ms;
    move(connectivity, HF_CONNECTIVITY_WAITING);
}

bool hf_connectivity_resume(struct hf_connectivity *connectivity,
                            uint64_t now_ms)
{
    if (connectivity->state != HF_CONNECTIVITY_IDLE)
        return false;
    hf_reconnect_backoff_reset(&connectivity->backoff);
    hf_connectivity_restart(connectivity, now_ms);
    return true;
}

void hf_connectivity_closing(struct hf_connectivity *connectivity,
                             uint64_t now_ms, uint64_t limit_ms)
{
    connectivity->until_ms = hf_after_ms(now_ms, limit_ms);
    move(connectivity, HF_CONNECTIVITY_CLOSING);
}

void hf_connectivity_closed(struct hf_connectivity *connectivity)
{
    move(connectivity, HF_CONNECTIVITY_CLOSED);
}

void hf_connectivity_set_servers(struct hf_connectivity *connectivity,
                                 size_t servers)
{
    assert(servers > 0);
    connectivity->share_servers = servers;
    connectivity->silent_attempts = 0;
    hf_reconnect_backoff_set_servers(&connectivity->backoff, servers);
    forget_logged(connectivity);
}

/* ------------------------------------------------------------ what to do -- */

uint64_t hf_connectivity_wake_at_ms(const struct hf_connectivity *connectivity)
{
    switch (connectivity->state) {
    case HF_CONNECTIVITY_WAITING:
    case HF_CONNECTIVITY_CONNECTING:
    case HF_CONNECTIVITY_HANDSHAKING:
    case HF_CONNECTIVITY_CLOSING:
        return connectivity->until_ms;
    default:
        return HF_FOREVER;
    }
}

enum hf_connectivity_action
hf_connectivity_due(const struct hf_connectivity *connectivity, uint64_t now_ms)
{
    if (now_ms < hf_connectivity_wake_at_ms(connectivity))
        return HF_CONNECTIVITY_NOTHING;
    return connectivity->state == HF_CONNECTIVITY_WAITING
               ? HF_CONNECTIVITY_CONNECT
               : HF_CONNECTIVITY_GIVE_UP;
}

/* ------------------------------------------------ the connection's error -- */

/* Texts with the same hash are taken for the same text. */
bool hf_connectivity_text_changed(struct hf_connectivity *connectivity,
                                  size_t server, const char *text)
{
    uint64_t before;

    assert(server < HF_CONNECTIVITY_SERVERS_MAX);
    before = connectivity->logged[server];
    connectivity->logged[server] = hf_hash64(text, strlen(text));
    return connectivity->logged[server] != before;
}

bool hf_connectivity_set_error(struct hf_connectivity *connectivity,
                               size_t server, const char *text)
{
    (void)snprintf(connectivity->error, sizeof connectivity->error, "%s", text);
    return hf_connectivity_text_changed(connectivity, server,
                                        connectivity->error);
}

hf_status hf_connectivity_status(const struct hf_connectivity *connectivity)
{
    return hf_reconnect_backoff_status(&connectivity->backoff);
}

bool hf_connectivity_is_final(const struct hf_connectivity *connectivity)
{
    return hf_reconnect_backoff_is_final(&connectivity->backoff);
}

enum hf_log_level
hf_connectivity_error_level(const struct hf_connectivity *connectivity)
{
    return hf_connectivity_is_final(connectivity) ? HF_LOG_INFO
                                                  : HF_LOG_WARNING;
}

void hf_connectivity_gave_up_after(const struct hf_connectivity *connectivity,
                                   uint64_t now_ms, uint32_t *retries,
                                   uint64_t *elapsed_ms)
{
    *retries = connectivity->backoff.retries;
    *elapsed_ms = now_ms - connectivity->backoff.first_failed_ms;
}
