/* SPDX-License-Identifier: Apache-2.0 */
/* See names_page.h.  The first names are kept in a short sorted array. */
#include "simulator/model/names_page.h"

#include <string.h>

#include "core/name_list.h"

void names_page_begin(struct names_page *page, const char *prefix,
                      const char *cursor, size_t cursor_bytes)
{
    *page = (struct names_page){.prefix = prefix,
                                .after = cursor_bytes > 0 ? cursor : NULL};
}

/* Make room for a name at ${at}, in the place of the last one if all is
 * full. */
static void insert(struct names_page *page, size_t at, const char *name)
{
    if (page->count <= NAMES_PAGE_MAX)
        page->count++;
    for (size_t i = page->count - 1; i > at; i--)
        page->names[i] = page->names[i - 1];
    memset(&page->names[at], 0, sizeof page->names[at]);
    page->names[at].name = name;
}

/* A flag alone is no ticket. */
void names_page_add(struct names_page *page, const char *name,
                    enum hf_ticket_kind kind)
{
    size_t at = 0;

    if (kind == HF_TICKET_BARRIER || kind == HF_TICKET_READY ||
        !hf_name_is_below(name, page->prefix) ||
        (page->after != NULL && strcmp(name, page->after) <= 0))
        return;
    while (at < page->count && strcmp(page->names[at].name, name) < 0)
        at++;
    if (at > NAMES_PAGE_MAX)
        return;
    if (at == page->count || strcmp(page->names[at].name, name) != 0)
        insert(page, at, name);
    if (kind == HF_TICKET_PARTICIPANT)
        page->names[at].participants = true;
    else
        page->names[at].tickets = true;
}

void names_page_end(struct names_page *page)
{
    struct hf_names_answer *answer = &page->answer;
    size_t count = page->count < NAMES_PAGE_MAX ? page->count : NAMES_PAGE_MAX;

    *answer =
        (struct hf_names_answer){.queues = page->queues, .looked_at = count};
    for (size_t i = 0; i < count; i++) {
        if (page->names[i].tickets)
            page->queues[answer->count++].queue = page->names[i].name;
        if (page->names[i].participants)
            page->queues[answer->count++] =
                (struct hf_queue_name){page->names[i].name, true};
    }
    if (page->count > NAMES_PAGE_MAX) {
        answer->cursor = page->names[count - 1].name;
        answer->cursor_bytes = strlen(answer->cursor) + 1;
    }
}
