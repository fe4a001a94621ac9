/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of a session.  There may be any number.  Each is embedded in
 * the struct of its user, and they are notified in the order in which they
 * were added.
 *
 * A listener may remove itself or others, and add others, while it is
 * notified.  A removed listener gets no further notification.  An added
 * listener gets the notification in progress too.  A callback may also cause
 * another notification for the session; all listeners get that one before the
 * first notification continues (see .up).
 */
#ifndef HF_ZOOKEEPER_LISTENERS_H
#define HF_ZOOKEEPER_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

/* Why the session has no connection. */
struct hf_zk_connection_error {
    const char *text; /* includes the server's name */
    hf_status status;
    bool final; /* true if no later attempt can succeed */
};

/* A listener.  Zero it, then set .user and the callbacks, then add it.  It
 * must stay valid until it is removed or its session is freed.  A callback
 * that is NULL is not called.
 *
 * Each callback may close the session, and may make calls while
 * hf_zk_session_usable() is true.  No callback may free the session.  Only .up
 * and .proven may drop the connection.  No callback follows .closed. */
struct hf_zk_listener {
    void *user;
    /* An attempt to connect failed, or the connection ended with an error.
     * Called once for each failed attempt and for each such end, before
     * .suspended. */
    void (*connection_error)(
        void *user, const struct hf_zk_connection_error *connection_error);
    /* The reconnect policy allows no further attempt, or all servers fail for
     * reasons that waiting does not mend.  .connection_error was called before.
     * ${retries} is how often all servers were tried in vain after the first
     * time; ${elapsed_ms} is the time since the first time failed. */
    void (*gave_up)(void *user, uint32_t retries, uint64_t elapsed_ms);
    /* A ConnectRequest that resumes the session is being sent.  The server will
     * grant a timeout of at least ${least_timeout_ms}.  Not called before the
     * first .up. */
    void (*resuming)(void *user, uint64_t least_timeout_ms);
    /* The session is connected.  ${resumed} is false for a new session.  It is
     * true if the session existed before this connection, as ours or as that of
     * a client from which it was taken over.  Only the credentials, SetWatches
     * and calls of earlier listeners have been sent on this connection.  If an
     * earlier listener ended the connection, later ones get .suspended without
     * .up. */
    void (*up)(void *user, bool resumed);
    /* The connection has ended.  The calls in flight are answered with
     * HF_ZK_DISCONNECTED after this, and work that waits for the window is
     * refused. */
    void (*suspended)(void *user);
    /* The session has expired or was given up.  All calls were answered, and
     * waiting work refused, before this.  If it was connected, .suspended may
     * be left out. */
    void (*lost)(void *user, const char *why);
    /* The session was closed as hf_zk_session_close() asked, with or without a
     * close request to the server. */
    void (*closed)(void *user);
    /* The servers keep the session for at least one timeout from ${anchor_ms}
     * (see proof.h).  Anchors only rise within a session. */
    void (*proven)(void *user, uint64_t anchor_ms);
    /* Answers have arrived, and work of locks that waited has begun as far as
     * the call window had room.  If there is still room, a listener may
     * send. */
    void (*room)(void *user);
    /* The list of servers of the session was replaced.  For each index of the
     * new list, and for HF_ZK_SERVER_LEFT, ${was} has the index that the server
     * had in the old list; SIZE_MAX: it was not there. */
    void (*servers_changed)(void *user, const size_t *was);

    /* Written by the list only. */
    struct hf_zk_listener *next;
};

/* A notification in progress, on the stack of its caller. */
struct hf_zk_notification {
    struct hf_zk_listener **next;     /* the link to the listener that is
                                         notified next */
    struct hf_zk_notification *outer; /* the notification during which this
                                         one began */
};

/* The list of a session, and the notifications in progress. */
struct hf_zk_listeners {
    struct hf_zk_listener *first;
    /* The last notification that began; its .outer leads to the others that
     * are in progress. */
    struct hf_zk_notification *innermost;
};

/* Add ${listener}, which must be in no list, as the last one. */
void hf_zk_listeners_add(struct hf_zk_listeners *listeners,
                         struct hf_zk_listener *listener);

/* Remove ${listener}, which must be in the list. */
void hf_zk_listeners_remove(struct hf_zk_listeners *listeners,
                            struct hf_zk_listener *listener);

/* Stop every notification in progress, because no callback may follow
 * .closed. */
void hf_zk_notifications_end(struct hf_zk_listeners *listeners);

/* Begin a notification, then call hf_zk_notification_next() until it returns
 * NULL.  Notifications nest and must end in reverse order. */
void hf_zk_notification_begin(struct hf_zk_notification *notification,
                              struct hf_zk_listeners *listeners);
struct hf_zk_listener *
hf_zk_notification_next(struct hf_zk_notification *notification,
                        struct hf_zk_listeners *listeners);

/* Call ${function} of each listener.  ${arguments} are in parentheses and may
 * use the variable "listener". */
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
