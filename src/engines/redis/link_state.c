/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a link: what all links of a store share, which replies are
 * expected, and the end of a link.  The work of a link is in redis_link.c. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/reply.h"
#include "transport/tls_module.h"

/* --------------------------------------------------- shared by all links -- */

hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error)
{
    const struct hf_resolver_host host = {engine->host.host, engine->host.log,
                                          engine->host.now_ms};
    hf_status status = HF_OK;

    *shared = (struct hf_redis_link_shared){.engine = engine};
    if (config->tls)
        status = hf_tls_context_get(&engine->host, &config->files, "redis",
                                    &shared->tls, &shared->context, error);
    if (status != HF_OK)
        return status;
    shared->resolver = hf_resolver_new(engine->loop, &host);
    if (shared->resolver != NULL)
        return HF_OK;
    hf_redis_link_shared_free(shared);
    return hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
}

void hf_redis_link_shared_free(struct hf_redis_link_shared *shared)
{
    if (shared->resolver != NULL)
        hf_resolver_free(shared->resolver);
    if (shared->context != NULL)
        shared->tls->context_free(shared->context);
    *shared = (struct hf_redis_link_shared){0};
}

/* ------------------------------------------------------ expected replies -- */

/* A reply that is expected on the connection for calls.  A server replies in
 * the order of the commands, so a list of these says what each reply
 * answers. */
struct hf_redis_expected_reply {
    enum hf_redis_reply_kind what;
    struct hf_store_call *call;
    struct hf_redis_expected_reply *next;
};

bool hf_redis_expect(struct hf_redis_link *link, enum hf_redis_reply_kind what,
                     struct hf_store_call *call)
{
    struct hf_redis_expected_reply *expected = hf_alloc(sizeof *expected);

    if (expected == NULL) {
        link->why_status = HF_EUNREACHABLE;
        (void)snprintf(link->why, sizeof link->why, "out of memory");
        /* must not be sent, because the reply could not be assigned to a
         * call */
        link->calls.out.failed = true;
        return false;
    }
    expected->what = what;
    expected->call = call;
    if (link->last != NULL)
        link->last->next = expected;
    else
        link->first = expected;
    link->last = expected;
    return true;
}

bool hf_redis_expected_take(struct hf_redis_link *link,
                            enum hf_redis_reply_kind *what,
                            struct hf_store_call **call)
{
    struct hf_redis_expected_reply *expected = link->first;

    if (expected == NULL)
        return false;
    *what = expected->what;
    *call = expected->call;
    link->first = expected->next;
    if (link->first == NULL)
        link->last = NULL;
    hf_free(expected);
    return true;
}

void hf_redis_expected_clear(struct hf_redis_link *link)
{
    struct hf_store_call *call;
    enum hf_redis_reply_kind what;

    while (hf_redis_expected_take(link, &what, &call))
        hf_redis_answer_drop(call);
}

/* ------------------------------------------------------- end of the link -- */

/* A link is closed, and that is reported to its user, at once or from the loop.
 * First update_tls_state() notes whether the cause may be that only one side
 * speaks TLS. */

/* Returns whether both connections are without a byte from the server, and one
 * of them was closed by the server or still waits in the TLS handshake.  That
 * happens if only one side speaks TLS. */
static bool suspects_tls_mismatch(const struct hf_redis_link *link)
{
    return !link->calls.received_any && !link->notices.received_any &&
           (hf_redis_connection_suspects_tls(&link->calls) ||
            hf_redis_connection_suspects_tls(&link->notices));
}

/* Decide whether the next attempt sends a TLS probe (redis_connection.h).  Call
 * this before the connections are closed. */
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
    link->state = HF_REDIS_LINK_CLOSED;
    link->handshake_done = link->subscribed = false;
    link->reloading = false;
    hf_redis_connection_close(&link->calls, HF_CONNECTION_ABORT);
    hf_redis_connection_close(&link->notices, HF_CONNECTION_ABORT);
    (void)uv_idle_stop(&link->later);
}

void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text)
{
    /* whether this server has ever answered INFO */
    bool answered_before = link->run_id[0] != '\0';
    char why[HF_CONNECTION_TEXT_BYTES];

    if (!answered_before && link->shared->tls == NULL &&
        suspects_tls_mismatch(link))
        text = HF_REDIS_CLOSED_SILENTLY;
    (void)snprintf(why, sizeof why, "%s%.200s", what, text);
    hf_redis_link_close(link);
    link->listener.down(link->listener.arg, link, status, why);
}

static void on_later(uv_idle_t *later)
{
    struct hf_redis_link *link = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(link->shared->engine);
    if (link->state != HF_REDIS_LINK_CLOSED)
        hf_redis_link_down(link, link->why_status, "", link->why);
    hf_leased_engine_leave(link->shared->engine);
}

void hf_redis_link_fail_later(struct hf_redis_link *link)
{
    (void)uv_idle_start(&link->later, on_later);
}
