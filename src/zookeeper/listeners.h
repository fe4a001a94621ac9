/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of a session, any number of them, each embedded in what it is
 * for.  They are notified in the order in which they were added.
 *
 * A listener may remove itself and others while it is notified, and add others.
 * One that is removed is notified of nothing from then on; one that is added is
 * notified of the same thing, too.  What one does may have a
 * consequence for the session that is notified to all before the first
 * notification goes on: see .up.
 */
#ifndef HF_ZOOKEEPER_LISTENERS_H
#define HF_ZOOKEEPER_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

/* Why there is no connection. */
struct hf_zk_connection_error {
    const char *text; /* with the server's name */
    hf_status status;
    bool final; /* no later attempt will do better */
};

/* Zeroed, then set, before it is added.  It lives until it is removed, or its
 * session is freed.  A function that is NULL is not called.  Each may end the
 * session, and may make calls while hf_zk_session_usable(); none may free the
 * session, and only .up and .proven may drop the connection.  Nothing follows
 * .closed. */
struct hf_zk_listener {
    void *user;
    void (*connection_error)(
        void *user, const struct hf_zk_connection_error *connection_error);
    /* The policy for reconnecting has come to its end. */
    void (*gave_up)(void *user, uint32_t retries, uint64_t elapsed_ms);
    /* A server is asked, now, to take the session up again, and grants at least
     * ${least_timeout_ms}. */
    void (*resuming)(void *user, uint64_t least_timeout_ms);
    /* There is a connection.  Nothing was sent on it but credentials, what sets
     * the watches of the session again, and the calls of listeners before this
     * one.  Where one of these made the connection end, those behind it hear
     * .suspended without .up. */
    void (*up)(void *user, bool resumed);
    /* There is none any more.  Then the calls under way are answered with
     * HF_ZK_DISCONNECTED, and what waits for the window is refused. */
    void (*suspended)(void *user);
    /* The session is over; calls and what waits were answered before. */
    void (*lost)(void *user, const char *why);
    /* As hf_zk_session_close() had it, with or without a close request. */
    void (*closed)(void *user);
    /* The session lives at least a timeout from ${anchor_ms}. */
    void (*proven)(void *user, uint64_t anchor_ms);

    /* The session's own. */
    struct hf_zk_listener *next;
};

/* How far a notification has come. */
struct hf_zk_notification {
    struct hf_zk_listener **next;     /* where the next one is linked */
    struct hf_zk_notification *outer; /* in which this one came up */
};

struct hf_zk_listeners {
    struct hf_zk_listener *first;
    struct hf_zk_notification *innermost; /* of those that go on */
};

/* ${listener} is in no list. */
void hf_zk_listeners_add(struct hf_zk_listeners *listeners,
                         struct hf_zk_listener *listener);

/* It has been added, and not removed since. */
void hf_zk_listeners_remove(struct hf_zk_listeners *listeners,
                            struct hf_zk_listener *listener);

/* .closed was notified: no listener is notified of anything any more, also not
 * by notifications that go on. */
void hf_zk_notifications_end(struct hf_zk_listeners *listeners);

/* A notification begins; ask for the next listener until that is NULL. */
void hf_zk_notification_begin(struct hf_zk_notification *notification,
                              struct hf_zk_listeners *listeners);
struct hf_zk_listener *
hf_zk_notification_next(struct hf_zk_notification *notification,
                        struct hf_zk_listeners *listeners);

/* Call ${function} of each listener with ${arguments}, in parentheses, in which
 * it is called listener. */
#define HF_ZK_NOTIFY(listeners, function, arguments)                           \
    do {                                                                       \
        struct hf_zk_notification notification;                                \
        struct hf_zk_listener *listener;                                       \
                                                                               \
        hf_zk_notification_begin(&notification, listeners);                    \
        while ((listener = hf_zk_notification_next(&notification,              \
                                                   listeners)) != NULL) {      \
            if (listener->function != NULL)                                    \
                listener->function arguments;                                  \
        }                                                                      \
    } while (0)

#endif
