/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call window: how many calls may be in flight on the connection, and which
 * work waits until there is room.  It is a sliding window as in TCP or HTTP/2,
 * counted in calls.
 *
 * A server carries out the requests of a session in order, so everything that
 * was sent before a request delays it.  Behind ten thousand creates, lists and
 * watches a release takes seconds, and a proof may come too late for the
 * session.  So a piece of work begins only while fewer calls than the window's
 * size are in flight.  Until then it waits here and has sent nothing.  Urgent
 * work never waits.
 *
 * A piece of work waits only once, before its first call.  After it has begun,
 * the calls of its later steps are sent as they are made, so there may be a few
 * more calls in flight than the size says.  A call gets its xid and its send
 * time when it is written.  Work that waits has no call yet.
 *
 * The operations of a handle of the public client (op_queue.h) wait in a queue
 * of the handle, and share the window with the work of locks on one session.
 * Locks have priority over them.  While work of locks waits here, or has just
 * begun, a handle has only one operation in flight at a time, because each
 * operation delays what a lock sends next.  If there is room and work of locks
 * waits, that work begins first; otherwise a handle would always fill a window
 * of one call.
 */
#ifndef HF_ZOOKEEPER_CALL_WINDOW_H
#define HF_ZOOKEEPER_CALL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "base/tree.h"

struct hf_zk_waiting;

/* Default size: calls in flight.  It is enough to keep a server busy, few
 * enough for a release behind them to take some milliseconds, and twice the
 * batch of a detailed list. */
#define HF_ZK_WINDOW_CALLS 128

/* The calls that a handle may have in flight while locks are at work.  With one
 * call, what a lock sends waits for at most one operation, and a handle makes
 * progress even if locks are used all the time.  With two calls, an acquire and
 * a release took twice as long beside a bulk of sets as alone
 * (bench/shared.c). */
#define HF_ZK_WINDOW_BESIDE_LOCKS 1

/* For this time after work of locks has begun, locks count as being at work: an
 * acquire, a short critical section and a release come in quick succession. */
#define HF_ZK_LOCKS_AT_WORK_MS 20

/* The classes of work.  The two classes that wait take turns, so neither
 * blocks the other. */
enum hf_zk_work_class {
    HF_ZK_NORMAL,
    HF_ZK_BULK, /* may be thousands of requests: enqueues and detailed lists */
    HF_ZK_CLASSES,
    HF_ZK_URGENT = HF_ZK_CLASSES /* never waits, because other clients wait for
                                    it, or the session needs it to stay alive */
};

/* What is called when work that waited may begin, or never will.  The struct
 * must stay valid while any of its work waits. */
struct hf_zk_window_callbacks {
    void *user;
    /* .begin: ${work} has waited and may begin now.  .refused: ${work} will
     * never begin, because the connection has ended; .connection_error of the
     * session says why.  Exactly one of them is called for work that has
     * waited, unless hf_zk_window_cancel() removes it. */
    void (*begin)(void *user, void *work);
    void (*refused)(void *user, void *work);
};

/* The window of one session.  Only the session and the functions below write
 * to it. */
struct hf_zk_window {
    unsigned size; /* at most this many calls in flight, including those of
                      urgent work */
    enum hf_zk_work_class next_class; /* the class whose turn it is next */
    struct {
        struct hf_zk_waiting *first;
        struct hf_zk_waiting **end; /* where the next element is linked */
    } waiting_work[HF_ZK_CLASSES];
    struct hf_tree work;     /* everything that waits, by address */
    uint64_t locks_until_ms; /* until then locks count as being at work */
    /* The queue of a handle (op_queue.h) that has an operation which must be
     * the only call in flight, because the server may close the connection
     * after it.  That operation is in flight, or waits until all other calls
     * are answered.  Meanwhile only urgent work begins.  NULL: there is no such
     * operation. */
    const void *alone;
};

/* Initialise an empty window.  ${size} 0 means HF_ZK_WINDOW_CALLS. */
void hf_zk_window_init(struct hf_zk_window *window, unsigned size);

/* True if one more piece of work may begin while ${calls} are in flight. */
bool hf_zk_window_has_room(const struct hf_zk_window *window, unsigned calls);

/* To be called when work of locks begins: handles then have only one call in
 * flight for a while. */
void hf_zk_window_used(struct hf_zk_window *window, uint64_t now_ms);

/* True if ${queue}, a queue of operations, may send one more at ${now_ms}.
 * ${calls} calls are in flight, of which ${own} belong to ${queue}. */
bool hf_zk_window_has_room_for(const struct hf_zk_window *window,
                               const void *queue, unsigned calls, unsigned own,
                               uint64_t now_ms);

/* Ask to begin ${work} while ${calls} are in flight.  HF_OK: begin it now.
 * HF_EBUSY: it waits, and one of ${callbacks} will be called.  HF_ENOMEM: it
 * can neither begin nor wait. */
hf_status hf_zk_window_enter(struct hf_zk_window *window, unsigned calls,
                             enum hf_zk_work_class class,
                             const struct hf_zk_window_callbacks *callbacks,
                             void *work);

/* Remove the next work that waits and return it, or NULL if none waits.  Sets
 * ${callbacks} to those that were given to hf_zk_window_enter().  The classes
 * take turns. */
void *hf_zk_window_take(struct hf_zk_window *window,
                        const struct hf_zk_window_callbacks **callbacks);

/* Remove ${work} from those that wait; no callback is called for it.  False if
 * it does not wait. */
bool hf_zk_window_cancel(struct hf_zk_window *window, const void *work);

#endif
