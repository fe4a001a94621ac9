/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of one handle on a session: those that wait to be sent, those
 * that were sent and are not answered, and how each of them ends.  Nothing here
 * does I/O, starts threads or takes locks.
 *
 * Operations wait in one queue for each priority and are sent in order while
 * the session is usable and the window of the session has room.  An operation
 * that the server may not know travels alone: it is sent when no call of the
 * session is in flight, and nothing else is sent before it is answered.  The
 * reason is that servers close the connection after an unknown opcode, and
 * other calls in flight would then get no answer.  Urgent calls of locks on the
 * same session do not wait (call_window.h), so they may lose their answer
 * nevertheless.
 *
 * When a connection ends, reads that were sent come back to the front of their
 * queue, in order.  A read ends instead if it has .only_try, if it travelled
 * alone and the connection ended each time, if the handle is closing, or if the
 * session is over.  Writes end with HF_EUNSURE, because they may have been
 * carried out.
 *
 * On a connection to a server without a quorum writes and syncs end at once
 * with HF_EREADONLY, as the server would answer.
 *
 * Like the functions of the session, these are called by one thread at a time.
 */
#ifndef HF_ZOOKEEPER_OP_QUEUE_H
#define HF_ZOOKEEPER_OP_QUEUE_H

#include <holdfast/zookeeper.h>

#include "base/heap.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/op_support.h"
#include "zookeeper/op_waiting.h"
#include "zookeeper/zk_session.h"

/* Operations that may wait to be sent. */
#define HF_ZK_WAITING_OPS_MAX 1000000

/* Operations that may be sent and unanswered. */
#define HF_ZK_SENT_OPS_MAX 512

/* Is the last watch event covered by the zxid that the session sends when it
 * resumes?  If not, the next server may be behind the event. */
enum hf_zk_last_event {
    HF_ZK_EVENT_INCLUDED,   /* yes, or there was no event */
    HF_ZK_EVENT_UNANSWERED, /* no answer has arrived since the event */
    /* The connection ended before such an answer: a sync is sent ahead of all
     * reads, because the next server may not have applied the change that the
     * event reported. */
    HF_ZK_EVENT_NEEDS_SYNC,
};

/* The queue of one handle.  Other files read the fields; only op_queue.c
 * writes them. */
struct hf_zk_op_queue {
    struct hf_zk_session *session;
    /* Called once after hf_zk_op_queue_close(), or from within it, when no call
     * of the queue is unanswered any more.  It may free the queue.  The user
     * sets both; NULL: not called. */
    void (*idle)(void *user);
    void *user;
    struct hf_zk_listener listener; /* of .session */
    const struct hf_zk_op_context *context;
    struct hf_zk_op_waiting waiting;
    unsigned calls; /* calls in flight, including .sync_call and the calls of
                       operations that have ended meanwhile */
    struct hf_heap wakes;   /* operations by their next deadline */
    struct hf_zk_op *alone; /* the operation that travels alone; NULL: none */
    bool was_connected;
    bool closing;
    bool given_up; /* the reconnect policy has given up; the next
                      hf_zk_op_queue_reconnect() begins again */
    struct hf_zk_op_support support;
    enum hf_zk_last_event last_event;
    struct hf_zk_call sync_call;
};

/* Initialise a queue and add it to the listeners of ${session}, which may be
 * connected already.  ${context} must stay valid. */
void hf_zk_op_queue_init(struct hf_zk_op_queue *queue,
                         struct hf_zk_session *session,
                         const struct hf_zk_op_context *context);

/* If the reconnect policy has given up, begin to connect again, with a new
 * series of attempts. */
void hf_zk_op_queue_reconnect(struct hf_zk_op_queue *queue, uint64_t now_ms);

/* Start ${op}.  Its .ended may be called before this returns.  HF_ELIMIT,
 * HF_ECLOSED or HF_ENOMEM: it was not started, and neither its record nor
 * .reserved was freed. */
hf_status hf_zk_op_queue_add(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                             uint64_t now_ms, struct hf_error *error);

/* Send ${op} at once, ahead of everything that waits.  The session must be
 * usable.  Used for what hf_zk_watch_set_unwatch() asks for, because the set of
 * watches counts that as sent already. */
void hf_zk_op_queue_send(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                         uint64_t now_ms);

/* End ${op} with HF_ECANCELLED, or with HF_EUNSURE if it is a write that was
 * sent.  Does nothing if ${op} has ended. */
void hf_zk_op_queue_cancel(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                           uint64_t now_ms);

/* End with HF_ECLOSED all operations that wait to be sent, and start no others.
 * Those that were sent end with their answers, or when the connection ends. */
void hf_zk_op_queue_close(struct hf_zk_op_queue *queue, uint64_t now_ms);

/* After hf_zk_op_queue_close(): end the operations that were sent, without
 * waiting for their answers: writes with HF_EUNSURE, others with HF_ECLOSED. */
void hf_zk_op_queue_abandon(struct hf_zk_op_queue *queue);

/* To be called when a watcher of the handle was notified of an event: notes it
 * in .last_event. */
void hf_zk_op_queue_event(struct hf_zk_op_queue *queue);

/* hf_zk_op_queue_tick() ends the operations whose deadline has passed.
 * hf_zk_op_queue_wake_at_ms() returns when to call it next, or HF_FOREVER. */
void hf_zk_op_queue_tick(struct hf_zk_op_queue *queue, uint64_t now_ms);
uint64_t hf_zk_op_queue_wake_at_ms(const struct hf_zk_op_queue *queue);

#endif
