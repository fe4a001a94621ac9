/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/listeners.h"

#include <assert.h>
#include <stddef.h>

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
