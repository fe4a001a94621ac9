/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubly linked lists of objects, linked by fields of the objects, as in
 * uthash's utlist.h: a list is any struct with .first and .last, both NULL
 * while it is empty, and an object of it has .next and .previous.  So a walk
 * needs no macro:
 *
 *     for (item = list->first; item != NULL; item = item->next)
 *
 * An object that is in a second list needs two more fields for it; the macros
 * whose names end in _BY take the names of these fields.  All macros evaluate
 * their arguments more than once.
 */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stddef.h>

/* Put ${item}, which is not in ${list}, at its end. */
#define HF_LIST_APPEND(list, item) HF_LIST_APPEND_BY(list, item, next, previous)

#define HF_LIST_APPEND_BY(list, item, next, previous)                          \
    do {                                                                       \
        (item)->previous = (list)->last;                                       \
        (item)->next = NULL;                                                   \
        if ((list)->last != NULL)                                              \
            (list)->last->next = (item);                                       \
        else                                                                   \
            (list)->first = (item);                                            \
        (list)->last = (item);                                                 \
    } while (0)

/* Take ${item} out of ${list}.  Its own fields stay as they were. */
#define HF_LIST_REMOVE(list, item) HF_LIST_REMOVE_BY(list, item, next, previous)

#define HF_LIST_REMOVE_BY(list, item, next, previous)                          \
    do {                                                                       \
        if ((item)->previous != NULL)                                          \
            (item)->previous->next = (item)->next;                             \
        else                                                                   \
            (list)->first = (item)->next;                                      \
        if ((item)->next != NULL)                                              \
            (item)->next->previous = (item)->previous;                         \
        else                                                                   \
            (list)->last = (item)->previous;                                   \
    } while (0)

#endif
