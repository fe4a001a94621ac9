/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of names that a user gets: of each name what its queue shows, copied
 * out of the list of its tickets, which may be long and is not kept.
 */
#ifndef HF_CLIENT_NAME_VIEW_H
#define HF_CLIENT_NAME_VIEW_H

#include <holdfast/names.h>

/* The most names of a page. */
#define HF_NAMES_VIEWS 256

struct hf_names_page {
    struct hf_name_view views[HF_NAMES_VIEWS];
    /* Of each view .holder and .waiter, and the texts of all of it. */
    struct hf_ticket_view tickets[HF_NAMES_VIEWS][2];
    char *texts[HF_NAMES_VIEWS];
    size_t count;
    uint64_t looked_at;
    uint64_t unreadable;
};

/* Add ${name} with its ${tickets}, unless there are none.  False for lack of
 * memory. */
bool hf_names_page_add(struct hf_names_page *page, const char *name,
                       const struct hf_tickets *tickets);

#endif
