/* SPDX-License-Identifier: Apache-2.0 */
/* A page of the names of queues, as the plain model and the lease model answer
 * HF_REQUEST_NAMES.  Pages are so short that a walk over some names has several
 * of them.  The cursor is the last name of a page, and its NUL. */
#ifndef HF_TESTS_SIMULATOR_MODEL_NAMES_PAGE_H
#define HF_TESTS_SIMULATOR_MODEL_NAMES_PAGE_H

#include "core/engine.h"

#define NAMES_PAGE_MAX 2

struct names_page {
    const char *prefix;
    const char *after; /* the last name of the page before; NULL: none */
    /* The first names behind that, in their order, one of them on the next
     * page; and what tickets each has. */
    struct {
        const char *name; /* borrowed from names_page_add() */
        bool tickets;
        bool participants;
    } names[NAMES_PAGE_MAX + 1];
    size_t count;
    /* The answer is made of these. */
    struct hf_queue_name queues[2 * NAMES_PAGE_MAX];
    struct hf_names_answer answer;
};

/* Begin the page that ${cursor} names. */
void names_page_begin(struct names_page *page, const char *prefix,
                      const char *cursor, size_t cursor_bytes);

/* There is a ticket of ${kind} in the queue ${name}, which must live as long as
 * the page.  Tickets come in any order. */
void names_page_add(struct names_page *page, const char *name,
                    enum hf_ticket_kind kind);

/* Make .answer, when all tickets have been added. */
void names_page_end(struct names_page *page);

#endif
