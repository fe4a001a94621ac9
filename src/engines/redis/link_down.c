/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a link: it is closed, and reported to its user, at once or from
 * the loop.  Before that, it is noted whether the two sides may have disagreed
 * about TLS. */
#include <stdio.h>
#include <string.h>

#include "engines/redis/redis_link.h"
#include "engines/redis/reply.h"

/* Did a connection end, or is it given up, before the server sent anything?
 * That is what happens if only one side speaks TLS. */
static bool suspects_tls_mismatch(const struct hf_redis_link *link)
{
    return !link->calls.received_any && !link->notices.received_any &&
           (hf_redis_connection_suspects_tls(&link->calls) ||
            hf_redis_connection_suspects_tls(&link->notices));
}

/* Called before the connections are closed: does the next attempt need a
 * probe? */
static void update_tls_state(struct hf_redis_link *link)
{
    if (link->tls == HF_REDIS_TLS_PROBING)
        link->tls = HF_REDIS_TLS_KNOWN;
    else if (link->tls == HF_REDIS_TLS_NOT_PROBED &&
             suspects_tls_mismatch(link))
        link->tls = HF_REDIS_TLS_PROBE_NEXT;
}

void hf_redis_link_close(struct hf_redis_link *link)
{
    update_tls_state(link);
    hf_redis_expected_clear(link);
    hf_redis_answer_drop(link->renewal);
    link->renewal = NULL;
    link->open = link->up = link->handshake_done = link->subscribed = false;
    link->reloading = false;
    hf_redis_connection_close(&link->calls, HF_CONNECTION_ABORT);
    hf_redis_connection_close(&link->notices, HF_CONNECTION_ABORT);
    (void)uv_idle_stop(&link->later);
}

void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text)
{
    /* this server has answered before */
    bool answered_before = link->run_id[0] != '\0';
    char why[HF_CONNECTION_TEXT_BYTES];

    if (!answered_before && link->shared->tls == NULL &&
        suspects_tls_mismatch(link))
        text = HF_REDIS_CLOSED_SILENTLY;
    (void)snprintf(why, sizeof why, "%s%.200s", what, text);
    hf_redis_link_close(link);
    link->user.down(link->user.arg, link, status, why);
}

static void on_later(uv_idle_t *later)
{
    struct hf_redis_link *link = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(link->shared->engine);
    if (link->open)
        hf_redis_link_down(link, link->why_status, "", link->why);
    hf_leased_engine_leave(link->shared->engine);
}

void hf_redis_link_fail_later(struct hf_redis_link *link)
{
    (void)uv_idle_start(&link->later, on_later);
}
