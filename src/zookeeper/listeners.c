/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners form a singly linked list.  Each notification in progress has
 * a cursor on the stack (struct hf_zk_notification), and removing a listener
 * moves every cursor that points into it.  This makes it safe to add and
 * remove listeners from a callback. */
#include "zookeeper/listeners.h"

#include <assert.h>
#include <stddef.h>

/* The link that points to ${listener}; for NULL the link at the end of the
 * list. */
static struct hf_zk_listener **find(struct hf_zk_listeners *listeners,
                                    const struct hf_zk_listener *listener)
{
    struct hf_zk_listener **link = &listeners->first;

    while (*link != listener) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    return link;
}

void hf_zk_listeners_add(struct hf_zk_listeners *listeners,
                         struct hf_zk_listener *listener)
{
    listener->next = NULL;
    *find(listeners, NULL) = listener;
}

/* Cursors that point to the removed listener's link move to the link before
 * it. */
void hf_zk_listeners_remove(struct hf_zk_listeners *listeners,
                            struct hf_zk_listener *listener)
{
    struct hf_zk_listener **link = find(listeners, listener);

    *link = listener->next;
    for (struct hf_zk_notification *n = listeners->innermost; n != NULL;
         n = n->outer) {
        if (n->next == &listener->next)
            n->next = link;
    }
}

void hf_zk_notifications_end(struct hf_zk_listeners *listeners)
{
    /* An empty list to point the cursors at. */
    static struct hf_zk_listener *none;

    for (struct hf_zk_notification *n = listeners->innermost; n != NULL;
         n = n->outer)
        n->next = &none;
}

void hf_zk_notification_begin(struct hf_zk_notification *notification,
                              struct hf_zk_listeners *listeners)
{
    notification->next = &listeners->first;
    notification->outer = listeners->innermost;
    listeners->innermost = notification;
}

struct hf_zk_listener *
hf_zk_notification_next(struct hf_zk_notification *notification,
                        struct hf_zk_listeners *listeners)
{
    struct hf_zk_listener *listener = *notification->next;

    assert(listeners->innermost == notification);
    if (listener == NULL)
        listeners->innermost = notification->outer;
    else
        notification->next = &listener->next;
    return listener;
}
