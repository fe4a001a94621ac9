/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns as wide as what is in them, so that all but long texts of owners fit
 * a line of eighty.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/show.h"
#include "cli/words.h"

enum column {
    PLACE,
    STATE,
    KIND,
    PERMITS,
    AGE,
    TOKEN,
    DIALECT,
    OWNER,
    COLUMNS
};

struct row {
    char cells[COLUMNS][HF_WORDS_BYTES];
};

static const struct row titles = {
    {"#", "STATE", "KIND", "PERMITS", "AGE", "TOKEN", "DIALECT", "OWNER"}};

/* '~': two clocks of different machines are compared. */
static void fill_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                     char *cell)
{
    uint64_t age_ms = view->age_ms;

    strcpy(cell, "-");
    if (age_ms == HF_FOREVER && view->created_utc_ms == 0)
        return;
    if (age_ms == HF_FOREVER) {
        *cell++ = '~';
        age_ms =
            utc_ms > view->created_utc_ms ? utc_ms - view->created_utc_ms : 0;
    }
    hf_words_duration(age_ms, cell);
}

static void fill(struct row *row, const struct hf_ticket_view *view,
                 size_t place, uint64_t utc_ms)
{
    (void)snprintf(row->cells[PLACE], HF_WORDS_BYTES, "%zu", place + 1);
    strcpy(row->cells[STATE], hf_words_state(view));
    strcpy(row->cells[KIND], hf_words_kind(view->kind));
    strcpy(row->cells[PERMITS], "-");
    if (view->permits != 0)
        (void)snprintf(row->cells[PERMITS], HF_WORDS_BYTES, "%" PRIu32,
                       view->permits);
    fill_age(view, utc_ms, row->cells[AGE]);
    strcpy(row->cells[TOKEN], "-");
    if (view->token != 0)
        (void)snprintf(row->cells[TOKEN], HF_WORDS_BYTES, "%" PRIu64,
                       view->token);
    (void)snprintf(row->cells[DIALECT], HF_WORDS_BYTES, "%s", view->layout);
    hf_words_owner(view->owner, row->cells[OWNER]);
    if (row->cells[OWNER][0] == '\0')
        strcpy(row->cells[OWNER], "-");
}

static void widen(size_t widths[COLUMNS], const struct row *row)
{
    for (int i = 0; i < OWNER; i++) {
        size_t bytes = strlen(row->cells[i]); /* of ASCII */

        if (bytes > widths[i])
            widths[i] = bytes;
    }
}

static void print(FILE *out, const size_t widths[COLUMNS],
                  const struct row *row)
{
    for (int i = 0; i < OWNER; i++) {
        if (widths[i] > 0)
            fprintf(out, "%-*s ", (int)widths[i], row->cells[i]);
    }
    fprintf(out, "%s\n", row->cells[OWNER]);
}

/* Only a semaphore has permits to be told. */
void hf_show_table(FILE *out, const struct hf_sights *sights, uint64_t utc_ms)
{
    const struct hf_ticket_view *view;
    size_t widths[COLUMNS] = {0};
    struct row row;

    widen(widths, &titles);
    for (size_t i = 0; (view = hf_sights_at(sights, i)) != NULL; i++) {
        fill(&row, view, i, utc_ms);
        widen(widths, &row);
    }
    if (hf_tickets_count(sights->tickets[HF_SIGHT_SEMAPHORE]) == 0)
        widths[PERMITS] = 0;
    print(out, widths, &titles);
    for (size_t i = 0; (view = hf_sights_at(sights, i)) != NULL; i++) {
        fill(&row, view, i, utc_ms);
        print(out, widths, &row);
    }
}
