/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of queues that an engine collects for one page (HF_REQUEST_NAMES),
 * and the rule that says which names are below another.
 */
#ifndef HF_CORE_NAME_LIST_H
#define HF_CORE_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/engine.h"

/* Zeroed: empty. */
struct hf_name_list {
    struct hf_queue_name *queues; /* .queue is set by hf_name_list_answer() */
    size_t *offsets;              /* of the names in .text */
    size_t count;
    size_t room; /* of .queues; .offsets_room and .size: of the other two */
    size_t offsets_room;
    char *text;
    size_t used;
    size_t size;
    bool failed; /* memory has run out, and names are missing */
};

/* Add the queue that the ${bytes} of ${queue} name.  Without memory it is
 * missing, and .failed is set. */
void hf_name_list_add(struct hf_name_list *list, const char *queue,
                      size_t bytes, bool participants);

/* Set the names of ${answer}, which stay the list's. */
void hf_name_list_answer(struct hf_name_list *list,
                         struct hf_names_answer *answer);

/* Free what it has; it is empty then. */
void hf_name_list_free(struct hf_name_list *list);

/* Is ${name} that of ${prefix}, or below it?  Everything is below "". */
bool hf_name_is_below(const char *name, const char *prefix);

#endif
