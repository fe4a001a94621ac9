/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `holdfast show`.  Columns are as wide as their content, so that
 * a line fits 80 columns unless the text of an owner is long.
 */
#include "cli/show.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "command/format.h"

/* --------------------------------------------------------------- table -- */

enum column {
    POSITION,
    STATE,
    KIND,
    PERMITS,
    QUEUED,
    HELD,
    TOKEN,
    LAYOUT,
    OWNER,
    COLUMNS
};

struct row {
    char cells[COLUMNS][HF_FORMAT_BYTES];
};

static const struct row titles = {{"#", "STATE", "KIND", "PERMITS", "QUEUED",
                                   "HELD", "TOKEN", "LAYOUT", "OWNER"}};

/* The time of the grant is not recorded.  Show how long ago the ticket was
 * queued, behind "<=", because it cannot have held for longer; or "-" if it
 * does not hold, or if its age is not known. */
static void fill_held(const struct hf_ticket_view *view, const char *queued,
                      char *cell)
{
    if (hf_ticket_view_is_held(view) && strcmp(queued, "-") != 0)
        (void)snprintf(cell, HF_FORMAT_BYTES, "<=%.64s", queued);
    else
        strcpy(cell, "-");
}

/* The cells of one ticket. */
static void fill_row(struct row *row, const struct hf_ticket_view *view,
                     size_t index, uint64_t utc_ms)
{
    (void)snprintf(row->cells[POSITION], HF_FORMAT_BYTES, "%zu", index + 1);
    strcpy(row->cells[STATE], hf_format_state(view));
    strcpy(row->cells[KIND], hf_format_kind(view->kind));
    strcpy(row->cells[PERMITS], "-");
    if (view->permits != 0)
        (void)snprintf(row->cells[PERMITS], HF_FORMAT_BYTES, "%" PRIu32,
                       view->permits);
    hf_format_age(view, utc_ms, row->cells[QUEUED]);
    fill_held(view, row->cells[QUEUED], row->cells[HELD]);
    strcpy(row->cells[TOKEN], "-");
    if (view->token != 0)
        (void)snprintf(row->cells[TOKEN], HF_FORMAT_BYTES, "%" PRIu64,
                       view->token);
    (void)snprintf(row->cells[LAYOUT], HF_FORMAT_BYTES, "%s", view->layout);
    hf_format_owner(view->owner, row->cells[OWNER]);
    if (row->cells[OWNER][0] == '\0')
        strcpy(row->cells[OWNER], "-");
}

/* Make the columns wide enough for ${row}; the last column needs no width. */
static void widen(size_t widths[COLUMNS], const struct row *row)
{
    for (int i = 0; i < OWNER; i++) {
        size_t bytes = strlen(row->cells[i]); /* of ASCII */

        if (bytes > widths[i])
            widths[i] = bytes;
    }
}

/* Print ${row}; a column of width 0 is left out. */
static void print(FILE *out, const size_t widths[COLUMNS],
                  const struct row *row)
{
    for (int i = 0; i < OWNER; i++) {
        if (widths[i] > 0)
            fprintf(out, "%-*s ", (int)widths[i], row->cells[i]);
    }
    fprintf(out, "%s\n", row->cells[OWNER]);
}

/* Tickets to be shown. */
struct shown {
    hf_show_at *at;
    const void *arg;
    size_t most;
};

static const struct hf_ticket_view *shown_at(const struct shown *shown,
                                             size_t index)
{
    return index < shown->most ? shown->at(shown->arg, index) : NULL;
}

/* Is any ticket in the layout of another library? */
static bool shows_layout(const struct shown *shown)
{
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = shown_at(shown, i)) != NULL; i++)
        if (strcmp(view->layout, "holdfast") != 0)
            return true;
    return false;
}

/* Is any ticket that of a semaphore? */
static bool shows_permits(const struct shown *shown)
{
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = shown_at(shown, i)) != NULL; i++)
        if (view->kind == HF_KIND_SEMAPHORE)
            return true;
    return false;
}

/* The columns PERMITS and LAYOUT are left out where they would be the same for
 * all. */
void hf_show_tickets(FILE *out, hf_show_at *at, const void *arg, size_t most,
                     uint64_t utc_ms)
{
    const struct shown shown = {at, arg, most};
    const struct hf_ticket_view *view;
    size_t widths[COLUMNS] = {0};
    struct row row;

    widen(widths, &titles);
    for (size_t i = 0; (view = shown_at(&shown, i)) != NULL; i++) {
        fill_row(&row, view, i, utc_ms);
        widen(widths, &row);
    }
    if (!shows_permits(&shown))
        widths[PERMITS] = 0;
    if (!shows_layout(&shown))
        widths[LAYOUT] = 0;
    print(out, widths, &titles);
    for (size_t i = 0; (view = shown_at(&shown, i)) != NULL; i++) {
        fill_row(&row, view, i, utc_ms);
        print(out, widths, &row);
    }
}

static const struct hf_ticket_view *queue_at(const void *arg, size_t index)
{
    return hf_queue_view_at(arg, index);
}

void hf_show_table(FILE *out, const struct hf_queue_view *queue,
                   uint64_t utc_ms)
{
    hf_show_tickets(out, queue_at, queue, SIZE_MAX, utc_ms);
}

/* ---------------------------------------------------------------- JSON -- */

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
