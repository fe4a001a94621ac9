/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of one handle on a session: what waits to be sent, what is
 * sent and unanswered, and how each ends.  Without I/O, threads or locks.
 *
 * Operations wait in one queue for each priority and are sent in order while
 * the session is usable and the window of the session has room.  An operation
 * that the server may not know travels alone: it is sent when nothing of the
 * session is unanswered, and nothing is sent before its answer, because servers
 * close the connection after an unknown opcode, and that would cut others.
 * Only what locks on the same session send without waiting (call_window.h) may
 * be cut by that, as by any end of a connection.
 *
 * When a connection ends, reads that were sent come back to the front of their
 * queue, in order.  Writes end with HF_EUNSURE, because they may have been
 * carried out.
 *
 * On a connection to a server without a quorum writes and syncs end at once
 * with HF_EREADONLY, as the server would answer.
 *
 * All functions are called by one thread at a time, as those of the session.
 */
#ifndef HF_ZOOKEEPER_OP_QUEUE_H
#define HF_ZOOKEEPER_OP_QUEUE_H

#include <holdfast/zookeeper.h>

#include "core/heap.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/op_support.h"
#include "zookeeper/zk_session.h"

/* Operations that may wait to be sent. */
#define HF_ZK_WAITING_OPS_MAX 1000000

/* Operations that may be sent and unanswered. */
#define HF_ZK_SENT_OPS_MAX 512

#define HF_ZK_PRIORITIES 3

struct hf_zk_op;
struct hf_zk_op_queue;

/* A queue of operations. */
struct hf_zk_op_list {
    struct hf_zk_op *first;
    struct hf_zk_op *last;
};

enum hf_zk_op_state {
    HF_ZK_OP_WAITING,
    HF_ZK_OP_SENT,
    HF_ZK_OP_ABANDONED, /* it ended while it was sent; its answer comes yet */
    HF_ZK_OP_ENDED,
};

/* What the queue calls. */
struct hf_zk_op_callbacks {
    /* ${op} has ended with ${status}, once for each.  ${result} is its
     * .reserved, which now has the answer, and belongs to the callee. */
    void (*ended)(struct hf_zk_op *op, hf_status status,
                  struct hf_zookeeper_result *result);
    /* After .ended: the queue does not use ${op} any more. */
    void (*released)(struct hf_zk_op *op);
};

/* An operation, embedded in the struct of its user.  Zero it, set the fields up
 * to .record, and pass it to hf_zk_op_queue_add(). */
struct hf_zk_op {
    const struct hf_zk_op_callbacks *callbacks;
    enum hf_zookeeper_op_kind kind;
    enum hf_zookeeper_priority priority;
    enum hf_zk_opcode opcode;
    const char *path; /* for texts; valid until .ended; "" if there is none */
    bool only_try; /* fails at once where it would wait for a connection, unless
                      that is the first one */
    uint64_t deadline_at_ms;       /* HF_FOREVER: none */
    uint64_t connect_by_ms;        /* the deadline while there never was a
                                      connection */
    struct hf_zk_watcher *watcher; /* to be set; NULL: none */
    struct hf_zookeeper_result *reserved; /* of hf_zk_op_reserve(); NULL: nobody
                                             wants a result */
    const struct hf_zookeeper_credential *credential; /* of an ADD_AUTH; needed
                                                         by _add() only */
    bool keeps_record;            /* .record is used again: the user frees it */
    struct hf_jute_writer record; /* the request without its header; freed by
                                     the queue when the operation ends */
    /* Written by the queue only. */
    struct hf_zk_op_queue *queue;
    enum hf_zk_op_state state;
    unsigned cuts; /* connections that ended while it travelled alone */
    struct hf_zk_op_list *list; /* that it is in; NULL: none */
    struct hf_zk_op *next;
    struct hf_zk_op *previous;
    struct hf_heap_node wake; /* in .wakes of the queue */
    struct hf_zk_call call;
};

/* The queue of one handle.  Other files read the fields; only op_queue.c
 * writes them. */
struct hf_zk_op_queue {
    struct hf_zk_session *session;
    /* Called once from hf_zk_op_queue_close() on, if it is set, when nothing is
     * unanswered any more: perhaps from within.  It may free the queue.  The
     * user sets both. */
    void (*idle)(void *user);
    void *user;
    struct hf_zk_listener listener; /* of .session */
    const struct hf_zk_op_context *context;
    /* What was sent on a connection that has ended, and what has not been
     * sent, by priority.  The former is older and is sent first. */
    struct hf_zk_op_list repeated[HF_ZK_PRIORITIES];
    struct hf_zk_op_list waiting[HF_ZK_PRIORITIES];
    /* Each ADD_AUTH whose credential was not answered.  The session has the
     * credential, so these count as sent. */
    struct hf_zk_op_list credentials;
    size_t waiting_count; /* in all of these */
    unsigned calls; /* sent and unanswered, also of operations that have ended
                       and of .sync_call */
    struct hf_heap wakes;   /* operations by their next deadline */
    struct hf_zk_op *alone; /* the operation that travels alone; NULL: none */
    bool was_connected;
    bool closing;
    bool given_up; /* no attempt is made before the next operation */
    struct hf_zk_op_support support;
    /* An event came and no answer after it, so the zxid that a resume offers
     * does not include it. */
    bool event_unanswered;
    /* That was so when a connection ended: a sync goes ahead of all reads,
     * because the next server may not have what the event announced. */
    bool sync_due;
    struct hf_zk_call sync_call;
};

/* Initialise a queue on ${session}, which may be under way, as a listener of
 * it.  ${context} must stay valid. */
void hf_zk_op_queue_init(struct hf_zk_op_queue *queue,
                         struct hf_zk_session *session,
                         const struct hf_zk_op_context *context);

/* Start ${op}.  Its end may be notified from within.  HF_ELIMIT, HF_ECLOSED or
 * HF_ENOMEM: it was not started, and neither its record nor .reserved was
 * freed. */
hf_status hf_zk_op_queue_add(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                             uint64_t now_ms, struct hf_error *error);

/* Send ${op} at once, ahead of everything that waits.  The session must be
 * usable.  For requests of which the session has noted that they were sent. */
void hf_zk_op_queue_send(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                         uint64_t now_ms);

/* End ${op}, unless it has ended, with HF_ECANCELLED, or with HF_EUNSURE if it
 * is a write that was sent. */
void hf_zk_op_queue_cancel(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                           uint64_t now_ms);

/* End all operations that were not sent with HF_ECLOSED, and start no others.
 * Those that were sent end with their answers, or when the session is closed.
 */
void hf_zk_op_queue_close(struct hf_zk_op_queue *queue, uint64_t now_ms);

/* After that: end those that were sent without waiting for their answers, with
 * HF_ECLOSED, and writes with HF_EUNSURE. */
void hf_zk_op_queue_abandon(struct hf_zk_op_queue *queue);

/* The session has notified a watcher of an event. */
void hf_zk_op_queue_event(struct hf_zk_op_queue *queue);

/* End the operations whose time is over; when to call it next, or HF_FOREVER.
 */
void hf_zk_op_queue_tick(struct hf_zk_op_queue *queue, uint64_t now_ms);
uint64_t hf_zk_op_queue_wake_at_ms(const struct hf_zk_op_queue *queue);

#endif
