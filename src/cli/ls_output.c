/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of `holdfast ls`.  Pages are written as they come, and how long the
 * names of the next one are is not known: so the name is behind the columns of
 * known width, and the owner is behind it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/ls.h"
#include "cli/show.h"
#include "command/format.h"

/* Wide enough for what is usual. */
#define NAME_COLUMNS 24

/* Write the ticket as the member ${key}, or null. */
static void write_json_ticket(struct hf_json *json, const char *key,
                              const struct hf_ticket_view *view)
{
    if (view == NULL) {
        hf_json_null(json, key);
        return;
    }
    hf_json_begin_object(json, key);
    hf_show_json_ticket(json, view);
    hf_json_end_object(json);
}

/* One name in one line of JSON. */
static void write_json(FILE *out, const struct hf_name_view *view,
                       bool long_form)
{
    struct hf_json json = {.out = out, .one_line = true};

    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "name", view->name);
    hf_json_string(&json, "kind", hf_format_kind(view->kind));
    hf_json_number(&json, "holders", view->holders);
    hf_json_number(&json, "waiters", view->waiters);
    if (long_form) {
        write_json_ticket(&json, "holder", view->holder);
        write_json_ticket(&json, "waiter", view->waiter);
    }
    hf_json_end_object(&json);
}

/* "-" if there is no such ticket. */
static void format_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                       char cell[HF_FORMAT_BYTES])
{
    strcpy(cell, "-");
    if (view != NULL)
        hf_format_age(view, utc_ms, cell);
}

/* The owner that holds, or else the one that waits. */
static void format_owner(const struct hf_name_view *view,
                         char cell[HF_FORMAT_BYTES])
{
    const struct hf_ticket_view *shown =
        view->holder != NULL ? view->holder : view->waiter;

    hf_format_owner(shown->owner, cell);
    if (cell[0] == '\0')
        strcpy(cell, "-");
}

/* One name in one line. */
static void write_line(FILE *out, const struct hf_name_view *view,
                       bool long_form, uint64_t utc_ms)
{
    char name[HF_NAME_BYTES + 1], owner[HF_FORMAT_BYTES];
    char held[HF_FORMAT_BYTES], waited[HF_FORMAT_BYTES];

    (void)snprintf(name, sizeof name, "%s", view->name);
    hf_utf8_make_printable(name, false);
    fprintf(out, "%-11s %7" PRIu32 " %7" PRIu32 " ", hf_format_kind(view->kind),
            view->holders, view->waiters);
    if (!long_form) {
        fprintf(out, "%s\n", name);
        return;
    }
    format_age(view->holder, utc_ms, held);
    format_age(view->waiter, utc_ms, waited);
    format_owner(view, owner);
    fprintf(out, "%8s %8s %-*s %s\n", held, waited, NAME_COLUMNS, name, owner);
}

void hf_ls_write(FILE *out, const struct hf_names_page *page,
                 const struct hf_ls_format *format, bool first, uint64_t utc_ms)
{
    const struct hf_name_view *view;

    if (first && !format->json && hf_names_count(page) > 0)
        fprintf(out, "%-11s %7s %7s %s\n", "KIND", "HOLDERS", "WAITERS",
                format->long_form ? "    HELD   WAITED NAME"
                                    "                     OWNER"
                                  : "NAME");
    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++) {
        if (format->json)
            write_json(out, view, format->long_form);
        else
            write_line(out, view, format->long_form, utc_ms);
    }
}
