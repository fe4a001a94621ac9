/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window: how much may be under way on the connection, and what waits until
 * there is room.
 *
 * A server carries out the requests of a session in their order.  All that was
 * sent stands ahead of what is sent next: behind ten thousand creates, lists
 * and watches a release takes seconds, and a proof may come too late for the
 * session.  So a piece of work begins only while fewer than so many calls are
 * under way.  Until then it waits here, before anything of it is sent; but for
 * what is urgent, which is sent at once.
 *
 * Work waits as a whole.  From when it begins its calls go to the wire as they
 * are made, those of its later steps too, so that there may be somewhat more
 * calls than the window has.  A call gets its number, and the times that decide
 * what it proves, when it is put on the wire, and what waits has no call yet.
 */
#ifndef HF_ZOOKEEPER_CALL_WINDOW_H
#define HF_ZOOKEEPER_CALL_WINDOW_H

#include <stdbool.h>

#include <holdfast/holdfast.h>

#include "core/tree.h"

struct hf_zk_waiting;

/* Calls under way at most: enough to keep a server busy, few enough for a
 * release behind them to take some milliseconds, and twice what a whole list
 * has under way. */
#define HF_ZK_WINDOW 128

/* The classes of work.  Those that wait take turns, so that neither keeps the
 * other from going on. */
enum hf_zk_work_class {
    HF_ZK_NORMAL,
    HF_ZK_BULK, /* there may be very much of it */
    HF_ZK_CLASSES,
    HF_ZK_URGENT = HF_ZK_CLASSES /* what others wait for, or the session lives
                                    by: never waits */
};

/* Whoever has work.  It lives as long as its work waits. */
struct hf_zk_window_callbacks {
    void *user;
    /* ${work} waited and may begin; or never will, because the connection has
     * ended, .trouble of the session says why. */
    void (*begin)(void *user, void *work);
    void (*refused)(void *user, void *work);
};

struct hf_zk_window {
    unsigned size;                    /* in calls; those of urgent work count */
    enum hf_zk_work_class next_class; /* of the next one to begin */
    struct {
        struct hf_zk_waiting *first;
        struct hf_zk_waiting **end; /* where the next one is linked */
    } waiting_work[HF_ZK_CLASSES];
    struct hf_tree work; /* all that waits */
};

/* ${size}: 0 for HF_ZK_WINDOW. */
void hf_zk_window_init(struct hf_zk_window *window, unsigned size);

/* Is there room beside ${calls} that are under way? */
bool hf_zk_window_has_room(const struct hf_zk_window *window, unsigned calls);

/* HF_OK: ${work} may begin; HF_EBUSY: it waits; HF_ENOMEM: it cannot even
 * wait. */
hf_status hf_zk_window_enter(struct hf_zk_window *window, unsigned calls,
                             enum hf_zk_work_class class,
                             const struct hf_zk_window_callbacks *callbacks,
                             void *work);

/* The next that waits, taken out, and whose it is; or NULL. */
void *hf_zk_window_take(struct hf_zk_window *window,
                        const struct hf_zk_window_callbacks **callbacks);

/* ${work} need not begin any more; false if it does not wait here. */
bool hf_zk_window_cancel(struct hf_zk_window *window, const void *work);

#endif
