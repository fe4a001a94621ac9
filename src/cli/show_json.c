/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of `holdfast show --json`: see holdfast-show(1). */
#include <inttypes.h>
#include <time.h>

#include "cli/show.h"
#include "command/format.h"
#include "command/json.h"

/* "created" as in RFC 3339, or null. */
static void write_time(struct hf_json *json, uint64_t utc_ms)
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm parts;
    char text[64];

    if (utc_ms != 0 && gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        hf_json_string(json, "created", text);
    else
        hf_json_null(json, "created");
}

/* "payload" as it is, and "owner" parsed, or null if the payload is not the
 * library's. */
static void write_owner(struct hf_json *json, const char *payload)
{
    struct hf_owner owner;
    char asked[HF_OWNER_VALUE_MAX];

    hf_json_string(json, "payload", payload);
    if (!hf_owner_text_parse(payload, 0, &owner)) {
        hf_json_null(json, "owner");
        return;
    }
    hf_json_begin_object(json, "owner");
    hf_json_string(json, "host", owner.host);
    hf_json_number(json, "pid", owner.pid);
    hf_json_string(json, "command", owner.command);
    hf_json_number(json, "thread", owner.thread);
    hf_json_string(json, "text", owner.text);
    if (hf_owner_text_get(payload, "asked", asked, sizeof asked) == HF_OK)
        hf_json_string(json, "asked", asked);
    else
        hf_json_null(json, "asked");
    hf_json_end_object(json);
}

void hf_show_json_ticket(struct hf_json *json,
                         const struct hf_ticket_view *view)
{
    char token[24];

    hf_json_string(json, "state", hf_format_state(view));
    hf_json_string(json, "kind", hf_format_kind(view->kind));
    if (view->permits != 0)
        hf_json_number(json, "permits", view->permits);
    else
        hf_json_null(json, "permits");
    hf_json_string(json, "id", view->id);
    /* As a string, because most JSON readers have no 64-bit numbers. */
    (void)snprintf(token, sizeof token, "%" PRIu64, view->token);
    if (view->token != 0)
        hf_json_string(json, "token", token);
    else
        hf_json_null(json, "token");
    if (view->age_ms != HF_FOREVER)
        hf_json_number(json, "age_ms", view->age_ms);
    else
        hf_json_null(json, "age_ms");
    if (view->age_ms != HF_FOREVER && hf_ticket_view_is_held(view))
        hf_json_number(json, "held_at_most_ms", view->age_ms);
    else
        hf_json_null(json, "held_at_most_ms");
    write_time(json, view->created_utc_ms);
    hf_json_string(json, "layout", view->layout);
    write_owner(json, view->owner);
}

/* One ticket as an object. */
static void write_ticket(struct hf_json *json,
                         const struct hf_ticket_view *view, size_t index)
{
    hf_json_begin_object(json, NULL);
    hf_json_number(json, "place", index + 1);
    hf_show_json_ticket(json, view);
    hf_json_end_object(json);
}

void hf_show_json(FILE *out, const char *engine,
                  const struct hf_queue_view *queue)
{
    struct hf_json json = {.out = out};
    const struct hf_ticket_view *view;
    const char *unknown;

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", queue->name);
    hf_json_string(&json, "engine", engine);
    hf_json_begin_list(&json, "tickets");
    for (size_t i = 0; (view = hf_queue_view_at(queue, i)) != NULL; i++)
        write_ticket(&json, view, i);
    hf_json_end_list(&json);
    hf_json_begin_list(&json, "unknown");
    for (size_t i = 0; (unknown = hf_queue_view_unknown(queue, i)) != NULL; i++)
        hf_json_string(&json, NULL, unknown);
    hf_json_end_list(&json);
    hf_json_end_object(&json);
}
