/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call window: how many calls may be in flight on the connection, and
 * which work waits until there is room.  It is a sliding window as in TCP or
 * HTTP/2, counted in calls.
 *
 * A server carries out the requests of a session in order, so everything that
 * was sent before a request delays it.  Behind ten thousand creates, lists and
 * watches a release takes seconds, and a proof may come too late for the
 * session.  So a piece of work begins only while fewer calls than the window's
 * size are in flight.  Until then it waits here and has sent nothing.  Urgent
 * work never waits.
 *
 * A piece of work waits only once, before its first call.  After it has begun,
 * the calls of its later steps are sent as they are made, so there may be a
 * few more calls in flight than the size says.  A call gets its xid and its
 * send time when it is written.  Work that waits has no call yet.
 *
 * The operations of a handle of the public client (op_queue.h) wait in a queue
 * of the handle, and share the window with the work of locks on one session.
 * They stand back: while work of locks waits here, or has just begun, a handle
 * sends no operation while one of its own is in flight, because each one delays
 * what a lock sends next.  Work that waits goes first when there is room:
 * otherwise a handle would always fill a window of one call.
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

/* The calls that a handle may have in flight while locks are at work.  With
 * one, what a lock sends waits for one operation at most, and a handle is
 * served although locks never rest.  With two, an acquire and a release took
 * twice as long beside a bulk of sets as alone (bench/shared.c). */
#define HF_ZK_WINDOW_BESIDE_LOCKS 1

/* For this time after work of theirs has begun, locks count as being at work:
 * an acquire, a short critical section and a release come in quick
 * succession. */
#define HF_ZK_LOCKS_AT_WORK_MS 20

/* The classes of work.  The two classes that wait take turns, so neither
 * blocks the other. */
enum hf_zk_work_class {
    HF_ZK_NORMAL,
    HF_ZK_BULK, /* may be thousands of requests: enqueues and detailed lists */
    HF_ZK_CLASSES,
    HF_ZK_URGENT = HF_ZK_CLASSES /* others wait for it, or the session lives
                                    by it; never waits */
};

/* What the window calls when work may begin.  The struct must stay valid while
 * any of its work waits. */
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
    unsigned size; /* calls; those of urgent work count too */
    enum hf_zk_work_class next_class; /* the class whose turn it is next */
    struct {
        struct hf_zk_waiting *first;
        struct hf_zk_waiting **end; /* where the next element is linked */
    } waiting_work[HF_ZK_CLASSES];
    struct hf_tree work;     /* everything that waits, by address */
    uint64_t locks_until_ms; /* until then locks count as being at work */
    /* The operation queue of which an operation must travel alone: its call is
     * in flight, or waits until all other calls are answered.  Meanwhile only
     * urgent work begins.  NULL: none. */
    const void *alone;
};

/* Initialise an empty window.  ${size} 0 means HF_ZK_WINDOW_CALLS. */
void hf_zk_window_init(struct hf_zk_window *window, unsigned size);

/* True if one more piece of work may begin while ${calls} are in flight. */
bool hf_zk_window_has_room(const struct hf_zk_window *window, unsigned calls);

/* Work of locks begins at ${now_ms}. */
void hf_zk_window_used(struct hf_zk_window *window, uint64_t now_ms);

/* True if ${queue}, a queue of operations, may send one more at ${now_ms}.
 * ${calls} are in flight, ${own} of them its own. */
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
 * ${callbacks} to those it was entered with.  The classes take turns. */
void *hf_zk_window_take(struct hf_zk_window *window,
                        const struct hf_zk_window_callbacks **callbacks);

/* Remove ${work} from those that wait; no callback is called for it.  False if
 * it does not wait. */
bool hf_zk_window_cancel(struct hf_zk_window *window, const void *work);

#endif
