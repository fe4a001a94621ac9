/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `holdfast show`.  Columns are as wide as their content, so that
 * a line fits 80 columns unless the text of an owner is long.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/show.h"
#include "command/format.h"

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

/* Since when a ticket is granted is not recorded; it is not longer ago than
 * the ticket was queued. */
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

/* The columns PERMITS and LAYOUT are left out if they would say nothing. */
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
