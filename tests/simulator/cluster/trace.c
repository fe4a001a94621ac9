/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a trace: the true time, a client or server, and what
 * happened. */
#include <inttypes.h>
#include <stdarg.h>

#include "simulator/cluster/cluster.h"

void cluster_trace(struct cluster *cluster, const char *who, const char *format,
                   ...)
{
    char text[CLUSTER_TEXT_BYTES];
    uint64_t now_us = hf_sim_now_us(cluster->sim);
    va_list arguments;
    int used;

    if (cluster->line == NULL || (cluster->brief && cluster->broken != 0))
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %-6s  ",
                    now_us / 1000, (unsigned)(now_us % 1000), who);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    cluster->line(cluster->line_arg, text);
}

static const char *const request_names[] = {
    [HF_REQUEST_ENQUEUE] = "enqueue",
    [HF_REQUEST_LIST] = "list",
    [HF_REQUEST_WATCH_QUEUE] = "watch-queue",
    [HF_REQUEST_WATCH] = "watch",
    [HF_REQUEST_REMOVE] = "remove",
    [HF_REQUEST_PROVE] = "prove",
    [HF_REQUEST_END] = "end",
    [HF_REQUEST_DOWNGRADE] = "downgrade",
    [HF_REQUEST_REVOKE] = "revoke",
    [HF_REQUEST_SET_FLAG] = "set-flag",
    [HF_REQUEST_CLEAR_FLAG] = "clear-flag",
    [HF_REQUEST_DESCRIBE] = "describe",
};

static const char *const event_names[] = {
    [HF_EVENT_CONNECTED] = "CONNECTED",
    [HF_EVENT_SUSPENDED] = "SUSPENDED",
    [HF_EVENT_RESUMING] = "RESUMING",
    [HF_EVENT_CONNECTION_ERROR] = "CONNECTION_ERROR",
    [HF_EVENT_GAVE_UP] = "GAVE UP",
    [HF_EVENT_SESSION_LOST] = "SESSION_LOST",
    [HF_EVENT_CLOSED] = "CLOSED",
    [HF_EVENT_ENQUEUED] = "ENQUEUED",
    [HF_EVENT_LISTED] = "LISTED",
    [HF_EVENT_QUEUE_CHANGED] = "QUEUE_CHANGED",
    [HF_EVENT_WATCHING] = "WATCHING",
    [HF_EVENT_GONE] = "GONE",
    [HF_EVENT_REMOVED] = "REMOVED",
    [HF_EVENT_PROVEN] = "PROVEN",
    [HF_EVENT_DOWNGRADED] = "DOWNGRADED",
    [HF_EVENT_FAILED] = "FAILED",
    [HF_EVENT_REVOKED] = "REVOKED",
    [HF_EVENT_REVOKE_SENT] = "REVOKE_SENT",
    [HF_EVENT_DESCRIBED] = "DESCRIBED",
    [HF_EVENT_FLAG_UPDATED] = "FLAG_UPDATED",
    [HF_EVENT_ACQUIRE] = "want",
    [HF_EVENT_START_OPERATION] = "operation",
    [HF_EVENT_CANCEL] = "cancel",
    [HF_EVENT_RELEASE] = "release",
    [HF_EVENT_SET_LIMIT] = "limit",
    [HF_EVENT_DOWNGRADE] = "downgrade",
    [HF_EVENT_CHECK] = "check",
    [HF_EVENT_CLOSE] = "close",
    [HF_EVENT_TICK] = "tick",
};

const char *cluster_request_name(enum hf_request_kind kind)
{
    return request_names[kind];
}

const char *cluster_event_name(enum hf_event_kind kind)
{
    return event_names[kind];
}

const char *cluster_attempt_name(const struct hf_acquisition *a)
{
    return a == NULL ? "session" : cluster_attempt(a)->name;
}

const char *cluster_requester(const struct hf_request *request)
{
    if (request->operation != NULL)
        return "an operation";
    return cluster_attempt_name(
        request->own_ticket != NULL ? request->own_ticket->acquisition : NULL);
}

/* Events that users are not notified of; left out if the trace is terse. */
void cluster_trace_event(struct client *client, const struct hf_event *event)
{
    struct cluster *cluster = client->cluster;
    const char *name = event_names[event->kind];

    if (cluster->line == NULL || cluster->terse ||
        event->kind == HF_EVENT_TICK ||
        (cluster->brief && event->kind != HF_EVENT_FAILED))
        return;
    if (event->kind == HF_EVENT_PROVEN)
        cluster_trace(cluster, client->name,
                      "  engine %s PROVEN anchor=%" PRIu64,
                      event->as.answer.request == NULL ? "reports" : "answers",
                      event->as.answer.anchor_ms);
    else if (event->kind >= HF_EVENT_ENQUEUED &&
             event->kind <= HF_EVENT_FLAG_UPDATED)
        cluster_trace(
            cluster, client->name, "  %s answers %s to %s of %s%s%s", "engine",
            name, request_names[event->as.answer.request->kind],
            cluster_requester(event->as.answer.request),
            event->kind == HF_EVENT_FAILED ? ": " : "",
            event->kind == HF_EVENT_FAILED ? event->as.answer.text : "");
    else if (event->kind == HF_EVENT_CONNECTED)
        cluster_trace(cluster, client->name,
                      "  engine reports %s timeout=%" PRIu64 " anchor=%" PRIu64
                      " resumed=%d",
                      name, event->as.connected.timeout_ms,
                      event->as.connected.anchor_ms,
                      event->as.connected.resumed);
    else if (event->kind < HF_EVENT_ACQUIRE)
        cluster_trace(cluster, client->name, "  engine reports %s", name);
}
