/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window: how much may be under way on the connection, and what waits until
 * there is room.
 *
 * A server carries out the requests of a session in their order.  All that was
 * sent stands ahead of what is sent next: behind ten thousand creates, lists
 * and watches a release takes seconds, and a proof may come too late for the
 * session.  So a request of the core begins only while fewer than so many calls
 * are under way.  Until then it waits here, before anything of it is sent; but
 * for urgent ones, which are sent at once.
 *
 * A request waits as a whole.  From when it begins its calls go to the wire as
 * they are made, those of its later steps too, so that there may be somewhat
 * more calls than the window has.  Those who wait for a list that another has
 * asked for have no call: while a long list is under way others go on.  What a
 * request does depends on what is known when it begins.  A call gets its
 * number, and the times that decide what it proves, when it is put on the wire
 * (wire.c), and what waits has no call yet.
 *
 * What relies on the order of requests on one connection, and what keeps it:
 *
 *  - The calls of one step: parents, create and list; sync and read; delete of
 *    the write node and of the read node.  They are put on the wire together.
 *  - A list that is asked for behind a create shows it (list_call.c).  A
 *    request joins those who wait for a list in the step that sends its create.
 *  - Enqueues enter a queue in the order in which they were asked for, see
 *    core/enqueue_order.h.  All of them are HF_ZK_NEW, first come first served;
 *    but for leases, which stand in no such line.
 *  - A lease enters its queue before the ticket in the entry mutex leaves, as
 *    only the holder of that may add leases, and kazoo's permits are made with
 *    a check of it.  Both are urgent.
 *  - A withdrawal comes behind the downgrade of the same ticket.  Both are
 *    urgent.
 *  - A withdrawal comes behind the enqueue of the same ticket.  The core asks
 *    for it when the enqueue has been answered (core/engine.h).
 *  - A withdrawal may overtake a LIST, WATCH, REVOKE or DESCRIBE of the same
 *    ticket.  These then find that it is gone, as if somebody else had removed
 *    it.
 *  - RAISE, LOWER and STAMP of a barrier, and a LOOK at it, happen in the order
 *    in which they were asked for.  All of them are HF_ZK_THERE.
 *  - A whole list shows what this client had enqueued and withdrawn before it
 *    was asked for.  It is HF_ZK_NEW, as enqueues are, and withdrawals are
 *    urgent.
 *  - Credentials come first on a connection, then SetWatches and the reads of
 *    watched nodes.  All are sent before CONNECTED is told, and nothing waits
 *    then: what waited when a connection ended was answered.  It did not
 *    happen.
 *  - Nothing comes behind the end of a session.  What waits then is answered
 *    as if the connection had ended.
 */
#ifndef HF_ENGINES_ZOOKEEPER_WINDOW_H
#define HF_ENGINES_ZOOKEEPER_WINDOW_H

#include <stdbool.h>

#include "core/engine.h"
#include "core/tree.h"

struct hf_zk;
struct hf_zk_waiting;

/* Calls under way at most: enough to keep a server busy, few enough for a
 * release behind them to take some milliseconds, and twice what a whole list
 * has under way. */
#define HF_ZK_WINDOW 128

/* The classes of requests that wait.  They take turns, so that neither keeps
 * the other from going on. */
enum hf_zk_class {
    HF_ZK_THERE, /* about tickets and barriers that are there */
    HF_ZK_NEW,   /* for new tickets, and whole lists for people */
    HF_ZK_CLASSES
};

struct hf_zk_window {
    unsigned size;         /* in calls; those of urgent requests count */
    enum hf_zk_class turn; /* of the next one to begin */
    struct {
        struct hf_zk_waiting *first;
        struct hf_zk_waiting **end; /* where the next one is linked */
    } lines[HF_ZK_CLASSES];
    struct hf_tree requests; /* all that wait */
};

/* ${size}: 0 for HF_ZK_WINDOW. */
void hf_zk_window_init(struct hf_zk_window *window, unsigned size);

/* Is ${request} to wait?  Then it does, or has been answered FAILED for lack of
 * memory. */
bool hf_zk_window_keeps(struct hf_zk *zk, struct hf_request *request);

/* Answers have come: begin what waits and has room now. */
void hf_zk_window_open(struct hf_zk *zk);

/* As hf_engine_ops.forget; false if ${request} does not wait here. */
bool hf_zk_window_forget(struct hf_zk *zk, const struct hf_request *request);

/* The connection, or the session, has ended: answer all that is under way with
 * HF_ZK_CUT, and all that waits FAILED{RETRY}. */
void hf_zk_window_cut(struct hf_zk *zk);

#endif
