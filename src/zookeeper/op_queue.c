/* SPDX-License-Identifier: Apache-2.0 */
/* Each function that handles an event first ends or moves operations, and calls
 * send_waiting() last, because the event may have made room.  Only
 * send_waiting() sends operations that have waited. */
#include "zookeeper/op_queue.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/time_math.h"
#include "zookeeper/watch_set.h"
#include "zookeeper/zk_calls.h"
#include "zookeeper/zk_op.h"

/* If the connection ended this often while an operation travelled alone, the
 * servers are taken not to know the operation. */
#define CUTS_MAX 2

/* ------------------------------------------------------------------- end -- */

/* Could it change something if ${op} were carried out twice? */
static bool is_write(const struct hf_zk_op *op)
{
    switch (op->kind) {
    case HF_ZOOKEEPER_CREATE:
    case HF_ZOOKEEPER_DELETE:
    case HF_ZOOKEEPER_SET:
    case HF_ZOOKEEPER_SET_ACL:
    case HF_ZOOKEEPER_MULTI:
    case HF_ZOOKEEPER_RECONFIG:
        return true;
    default:
        return false;
    }
}

/* Would the current server refuse ${op}, because it has no quorum? */
static bool is_refused(const struct hf_zk_op_queue *queue,
                       const struct hf_zk_op *op)
{
    return hf_zk_session_read_only(queue->session) &&
           (is_write(op) || op->opcode == HF_ZK_SYNC);
}

/* Free the record of ${op}, which is not read any more. */
static void free_record(struct hf_zk_op *op)
{
    if (!op->keeps_record)
        hf_jute_free(&op->record);
}

/* End ${op} with ${status}; the user gets its .reserved.  If ${op} is in
 * flight, its answer will be dropped.  Until then the record of an AddWatch is
 * kept, because its answer changes the mode of the path that the record
 * names. */
static void end_with(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                     hf_status status)
{
    struct hf_zookeeper_result *result = op->reserved;
    bool sent = op->state == HF_ZK_OP_SENT;

    hf_zk_op_waiting_remove(&queue->waiting, op);
    hf_heap_remove(&op->wake);
    if (!sent || op->opcode != HF_ZK_ADD_WATCH)
        free_record(op);
    op->reserved = NULL;
    op->state = sent ? HF_ZK_OP_ABANDONED : HF_ZK_OP_ENDED;
    op->callbacks->ended(op, status, result);
    if (!sent)
        op->callbacks->released(op);
}

/* End ${op} without an answer, with ${status} and a text that begins with its
 * path. */
static void end(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                hf_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void end(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                hf_status status, const char *format, ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (op->reserved != NULL)
        hf_zk_op_end(op->reserved, status, "%.200s%s%s", op->path,
                     op->path[0] != '\0' ? ": " : "", why);
    end_with(queue, op, status);
}

/* End ${op} before it was answered: with ${status}, or HF_EUNSURE if it is a
 * write that was ${sent}. */
static void end_unanswered(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                           bool sent, hf_status status, const char *why)
{
    if (sent && is_write(op))
        end(queue, op, HF_EUNSURE,
            "%s after it was sent; it may have been carried out, or will be: "
            "read the node to know",
            why);
    else
        end(queue, op, status, "%s", why);
}

/* End everything that waits to be sent. */
static void end_all_waiting(struct hf_zk_op_queue *queue, hf_status status,
                            const char *why)
{
    struct hf_zk_op *op;

    while ((op = hf_zk_op_waiting_next(&queue->waiting)) != NULL)
        end(queue, op, status, "%s", why);
}

/* There will be no connection: end everything that needs one. */
static void end_all(struct hf_zk_op_queue *queue, hf_status status,
                    const char *why)
{
    end_all_waiting(queue, status, why);
    while (queue->waiting.credentials.first != NULL)
        end(queue, queue->waiting.credentials.first, status, "%s", why);
}

/* The connection has ended: end the operations that do not wait for another
 * connection (.only_try). */
static void end_tries(struct hf_zk_op_queue *queue)
{
    struct hf_zk_op_list tries = {NULL, NULL};

    hf_zk_op_waiting_take_tries(&queue->waiting, &tries);
    while (tries.first != NULL)
        end(queue, tries.first, HF_EUNREACHABLE, "the connection ended");
}

/* ------------------------------------------------------------------ send -- */

static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply);

/* Does the record of ${op} end with a watch flag? */
static bool has_watch_flag(const struct hf_zk_op *op)
{
    return op->kind == HF_ZOOKEEPER_GET || op->kind == HF_ZOOKEEPER_EXISTS ||
           op->kind == HF_ZOOKEEPER_CHILDREN;
}

/* Write the watch flag or the watch mode into the record of ${op}, by what the
 * server keeps for that path now.  If a read is sent again, its watcher may
 * have been freed since; the flag is then 0. */
static void put_watch(const struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    struct hf_zk_watch_set *set = &queue->session->watches;
    struct hf_jute_writer *record = &op->record;

    if (op->watcher == NULL) {
        if (has_watch_flag(op))
            record->bytes[record->used - 1] = 0;
        return;
    }
    if (!hf_zk_watcher_in_set(op->watcher))
        hf_zk_watch_set_add(set, op->watcher);
    if (op->kind == HF_ZOOKEEPER_ADD_WATCH)
        hf_jute_set_int(record, record->used - 4,
                        hf_zk_watch_set_begin_add(set, op->watcher) ==
                            HF_ZK_WATCH_RECURSIVE);
    else
        record->bytes[record->used - 1] =
            hf_zk_watch_set_begin_read(set, op->watcher);
}

static void send_op(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    size_t begin;

    assert(op->state == HF_ZK_OP_WAITING);
    hf_zk_op_waiting_remove(&queue->waiting, op);
    put_watch(queue, op);
    op->state = HF_ZK_OP_SENT;
    op->call.answered = answered;
    op->call.user = queue;
    op->call.owner = op;
    queue->calls++;
    begin = hf_zk_call_begin(queue->session, &op->call, op->opcode);
    hf_jute_put_bytes(&queue->session->wire.out, op->record.bytes,
                      op->record.used);
    hf_zk_call_end(queue->session, begin);
}

/* Does the current server not know ${op}? */
static bool is_unknown(const struct hf_zk_op_queue *queue,
                       const struct hf_zk_op *op)
{
    return hf_zk_op_support_lacks(&queue->support, queue->session->server,
                                  op->opcode);
}

/* End ${op} as a server without a quorum would. */
static void end_refused(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    end(queue, op, HF_EREADONLY,
        "the server has no quorum and can only be read from; expected one "
        "with a quorum, which is looked for");
}

/* May an operation be sent now? */
static bool may_send(const struct hf_zk_op_queue *queue)
{
    const struct hf_zk_session *session = queue->session;

    return hf_zk_session_usable(session) && !session->leaving &&
           queue->alone == NULL &&
           hf_zk_window_has_room_for(&session->window, queue,
                                     session->wire.calls, queue->calls,
                                     session->now_ms);
}

/* ${op} is the next one to be sent.  If it has to travel alone, keep other
 * operations and work from beginning.  True if it must wait until all calls in
 * flight are answered. */
static bool waits_alone(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    struct hf_zk_session *session = queue->session;

    if (!hf_zk_op_support_may_lack(&queue->support, session->server,
                                   op->opcode))
        return false;
    session->window.alone = queue;
    if (session->wire.calls > 0)
        return true;
    queue->alone = op;
    return false;
}

/* Send ${op}, or end it if the server would not carry it out. */
static void send_or_end(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    if (is_refused(queue, op))
        end_refused(queue, op);
    else if (is_unknown(queue, op))
        end(queue, op, HF_EUNSUPPORTED,
            "the server does not know this operation, or has it switched off");
    else
        send_op(queue, op);
}

/* No operation of the queue waits to travel alone any more: let other calls
 * begin, unless an operation is travelling alone now. */
static void leave_alone(struct hf_zk_op_queue *queue)
{
    struct hf_zk_window *window = &queue->session->window;

    if (window->alone != queue || queue->alone != NULL)
        return;
    window->alone = NULL;
    hf_zk_session_use_room(queue->session);
}

/* Send what waits, as far as the window has room. */
static void send_waiting(struct hf_zk_op_queue *queue)
{
    struct hf_zk_op *op;

    while (may_send(queue) &&
           (op = hf_zk_op_waiting_next(&queue->waiting)) != NULL) {
        if (!is_refused(queue, op) && !is_unknown(queue, op) &&
            waits_alone(queue, op))
            return;
        send_or_end(queue, op);
    }
    leave_alone(queue);
}

/* ---------------------------------------------------------------- answer -- */

/* The AddWatch ${op} was answered without an error: from now on the server
 * sends the events of its mode. */
static void put_answered_mode(struct hf_zk_op_queue *queue,
                              const struct hf_zk_op *op)
{
    struct hf_jute_reader record = {.bytes = op->record.bytes,
                                    .left = op->record.used};
    struct hf_jute_piece path = hf_jute_get_buffer(&record);
    bool recursive = hf_jute_get_int(&record) != 0;

    assert(!record.failed);
    hf_zk_watch_set_mode_answered(
        &queue->session->watches, path.bytes, path.count,
        recursive ? HF_ZK_SERVER_RECURSIVE : HF_ZK_SERVER_PERSISTENT);
}

/* Pass ${error}, the answer to ${op}, to the watcher that ${op} was to set.
 * True if the watch is set now. */
static bool watch_answered(struct hf_zk_op *op, enum hf_zk_error error)
{
    struct hf_zk_watcher *watcher = op->watcher;
    enum hf_zk_read_answer answer = HF_ZK_READ_SET_NOTHING;

    if (watcher == NULL)
        return false;
    if (op->kind == HF_ZOOKEEPER_ADD_WATCH) {
        if (error == HF_ZK_OK)
            hf_zk_watcher_add_answered(watcher);
        return error == HF_ZK_OK;
    }
    if (error == HF_ZK_OK)
        answer = HF_ZK_READ_FOUND_NODE;
    else if (error == HF_ZK_NO_NODE && op->kind == HF_ZOOKEEPER_EXISTS)
        answer = HF_ZK_READ_FOUND_NONE;
    hf_zk_watcher_read_answered(watcher, answer);
    return answer != HF_ZK_READ_SET_NOTHING;
}

/* Have ${op} be sent again. */
static void wait_again(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    op->state = HF_ZK_OP_WAITING;
    hf_zk_op_waiting_repeat(&queue->waiting, op);
}

/* The connection ended before ${op} was answered: end it, or send it again. */
static void cut(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    op->state = HF_ZK_OP_ENDED;
    if (queue->session->id == 0 && !queue->session->lost_local)
        end_unanswered(queue, op, true, HF_ELOST, "the session ended");
    else if (queue->closing)
        end_unanswered(queue, op, true, HF_ECLOSED, "the session was closed");
    else if (is_write(op) || op->only_try)
        end_unanswered(queue, op, true, HF_EUNREACHABLE,
                       "the connection ended");
    else if (op->cuts >= CUTS_MAX)
        end(queue, op, HF_EUNSUPPORTED,
            "the connection ended each time that a server got this operation; "
            "servers that do not know it do that");
    else
        wait_again(queue, op);
}

/* The server has answered ${op}. */
static void finish(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                   const struct hf_zk_reply *reply)
{
    bool watching = watch_answered(op, reply->error);
    hf_status status = HF_OK;

    op->state = HF_ZK_OP_ENDED;
    if (op->reserved != NULL) {
        op->reserved =
            hf_zk_op_result(op->opcode, &op->record, queue->context->chroot,
                            reply, op->reserved);
        op->reserved->watching = watching;
        status = op->reserved->status;
    } else if (reply->error != HF_ZK_OK) {
        status = HF_EPROTOCOL;
    }
    end_with(queue, op, status);
}

/* The last function to be called, because it may free the queue. */
static void notify_if_idle(struct hf_zk_op_queue *queue)
{
    void (*idle)(void *user) = queue->idle;

    if (!queue->closing || queue->calls > 0 || idle == NULL)
        return;
    queue->idle = NULL;
    idle(queue->user);
}

static void take_answer(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                        const struct hf_zk_reply *reply)
{
    bool cut_off = reply->error == HF_ZK_DISCONNECTED;
    /* After a refusal it is not known what the server has for the path. */
    bool refused_watch =
        op->opcode == HF_ZK_ADD_WATCH && reply->error != HF_ZK_OK;

    assert(op->state == HF_ZK_OP_SENT || op->state == HF_ZK_OP_ABANDONED);
    if (queue->alone == op) {
        queue->alone = NULL;
        queue->session->window.alone = NULL;
        op->cuts += cut_off;
    }
    if (!cut_off)
        hf_zk_op_support_note(&queue->support, queue->session->server,
                              op->opcode, reply->error);
    /* An answer that comes in order covers the last event.  The refusal of an
     * unknown operation may come out of order, so it does not. */
    if (!cut_off && reply->error != HF_ZK_UNIMPLEMENTED &&
        queue->last_event == HF_ZK_EVENT_UNANSWERED)
        queue->last_event = HF_ZK_EVENT_INCLUDED;
    if (op->opcode == HF_ZK_ADD_WATCH && reply->error == HF_ZK_OK)
        put_answered_mode(queue, op);
    if (op->state == HF_ZK_OP_ABANDONED) {
        op->state = HF_ZK_OP_ENDED;
        free_record(op);
        op->callbacks->released(op);
    } else if (cut_off) {
        cut(queue, op);
    } else {
        finish(queue, op, reply);
    }
    if (cut_off)
        return;
    if (refused_watch && hf_zk_session_usable(queue->session))
        hf_zk_session_disconnect(queue->session,
                                 "the server refused a persistent watch (%d)",
                                 (int)reply->error);
    send_waiting(queue);
}

static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk_op_queue *queue = user;

    assert(queue->calls > 0);
    queue->calls--;
    take_answer(queue, call->owner, reply);
    notify_if_idle(queue);
}

/* ------------------------------------------------- events of the session -- */

static void take_sync_answer(struct hf_zk_op_queue *queue,
                             const struct hf_zk_reply *reply)
{
    if (reply->error == HF_ZK_DISCONNECTED)
        return;
    queue->last_event = reply->error == HF_ZK_OK ? HF_ZK_EVENT_INCLUDED
                                                 : HF_ZK_EVENT_NEEDS_SYNC;
    if (reply->error != HF_ZK_OK && hf_zk_session_usable(queue->session))
        hf_zk_session_disconnect(queue->session,
                                 "the server refused a sync (%d)",
                                 (int)reply->error);
    else
        send_waiting(queue);
}

static void sync_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    struct hf_zk_op_queue *queue = user;

    (void)call;
    assert(call == &queue->sync_call && queue->calls > 0);
    queue->calls--;
    take_sync_answer(queue, reply);
    notify_if_idle(queue);
}

/* Send the sync, and let the reads follow at once: the server carries them out
 * after it.  A server without a quorum cannot carry out a sync. */
static void send_sync(struct hf_zk_op_queue *queue)
{
    assert(queue->last_event == HF_ZK_EVENT_NEEDS_SYNC);
    queue->sync_call.answered = sync_answered;
    queue->sync_call.user = queue;
    queue->sync_call.owner = queue;
    queue->calls++;
    hf_zk_send_sync(queue->session, &queue->sync_call,
                    queue->context->chroot[0] != '\0' ? queue->context->chroot
                                                      : "/");
}

/* The connection or the session has ended, so no operation of the queue travels
 * alone any more. */
static void connection_over(struct hf_zk_op_queue *queue)
{
    struct hf_zk_window *window = &queue->session->window;

    if (window->alone == queue)
        window->alone = NULL;
}

static void up(void *user, bool resumed)
{
    struct hf_zk_op_queue *queue = user;

    (void)resumed;
    queue->was_connected = true;
    queue->given_up = false;
    if (queue->last_event == HF_ZK_EVENT_NEEDS_SYNC &&
        !hf_zk_session_read_only(queue->session))
        send_sync(queue);
    send_waiting(queue);
}

static void suspended(void *user)
{
    struct hf_zk_op_queue *queue = user;

    connection_over(queue);
    if (queue->last_event == HF_ZK_EVENT_UNANSWERED)
        queue->last_event = HF_ZK_EVENT_NEEDS_SYNC;
    end_tries(queue);
    hf_zk_op_waiting_suspended(&queue->waiting);
}

/* Does a connection error with ${status} end all that waits?  It does if no
 * later attempt can succeed, which ${final} says; after the first connection
 * only for refused credentials. */
static bool ends_all(const struct hf_zk_op_queue *queue, bool final,
                     hf_status status)
{
    return final && (!queue->was_connected || status == HF_EDENIED);
}

static void
connection_error(void *user,
                 const struct hf_zk_connection_error *connection_error)
{
    struct hf_zk_op_queue *queue = user;

    if (ends_all(queue, connection_error->final, connection_error->status))
        end_all(queue, connection_error->status, connection_error->text);
}

static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_zk_op_queue *queue = user;
    const struct hf_connectivity *connectivity = &queue->session->connectivity;
    hf_status status = hf_connectivity_status(connectivity);
    char why[2 * HF_ERROR_TEXT_BYTES];

    queue->given_up = true;
    /* The same test as in connection_error(), because reads that had been sent
     * began to wait only after that. */
    if (ends_all(queue, hf_connectivity_is_final(connectivity), status)) {
        end_all(queue, status, connectivity->error);
        return;
    }
    (void)snprintf(
        why, sizeof why, "no server was reached in %u retries and %llu ms: %s",
        (unsigned)retries, (unsigned long long)elapsed_ms, connectivity->error);
    end_all(queue, HF_EUNREACHABLE, why);
}

/* Operations that wait may depend on what the session held (ephemeral nodes),
 * so they end with it.  A session that only a read-only server knew held
 * nothing. */
static void lost(void *user, const char *why)
{
    struct hf_zk_op_queue *queue = user;

    connection_over(queue);
    if (queue->session->lost_local)
        return;
    queue->last_event = HF_ZK_EVENT_INCLUDED;
    end_all_waiting(queue, HF_ELOST, why);
    end_tries(queue);
}

/* Answers to calls of other users of the session have made room. */
static void room(void *user)
{
    send_waiting(user);
}

static void servers_changed(void *user, const size_t *was)
{
    struct hf_zk_op_queue *queue = user;

    hf_zk_op_support_move(&queue->support, was);
    send_waiting(queue); /* the session may stay after all */
}

void hf_zk_op_queue_event(struct hf_zk_op_queue *queue)
{
    if (queue->last_event != HF_ZK_EVENT_NEEDS_SYNC)
        queue->last_event = HF_ZK_EVENT_UNANSWERED;
}

/* ------------------------------------------------------------------ time -- */

/* When to wake ${op}: .connect_by_ms counts until the first connection. */
static uint64_t wake_at_ms(const struct hf_zk_op_queue *queue,
                           const struct hf_zk_op *op)
{
    if (queue->was_connected)
        return op->deadline_at_ms;
    return hf_min_ms(op->deadline_at_ms, op->connect_by_ms);
}

static void arm(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    uint64_t at_ms = wake_at_ms(queue, op);

    hf_heap_remove(&op->wake);
    if (at_ms != HF_FOREVER)
        hf_heap_add(&queue->wakes, &op->wake, at_ms, 0);
}

/* The operation that is woken first; NULL if none has a deadline. */
static struct hf_zk_op *first_to_wake(const struct hf_zk_op_queue *queue)
{
    return container_of_or_null(queue->wakes.first, struct hf_zk_op, wake);
}

/* The deadline of ${op} has passed.  The text also says why it waited. */
static void expire(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    const char *error = queue->session->connectivity.error; /* "" while up */
    bool sent = op->state == HF_ZK_OP_SENT;
    char why[HF_ERROR_TEXT_BYTES];

    (void)snprintf(why, sizeof why, "the time for it was over%s%.400s",
                   error[0] != '\0' ? ", and there is no connection: " : "",
                   error);
    end_unanswered(queue, op, sent, HF_ETIMEDOUT, why);
}

/* ${op} was woken: end it, because its time is over.  If the first connection
 * has come since, .connect_by_ms does not count, and it is armed again. */
static void woken(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                  uint64_t now_ms)
{
    const char *why = queue->session->connectivity.error;

    if (wake_at_ms(queue, op) > now_ms)
        arm(queue, op);
    else if (op->deadline_at_ms <= now_ms)
        expire(queue, op);
    else
        end(queue, op, HF_EUNREACHABLE, "no server was reached in time%s%s",
            why[0] != '\0' ? ": " : "", why);
}

void hf_zk_op_queue_tick(struct hf_zk_op_queue *queue, uint64_t now_ms)
{
    struct hf_zk_op *op;

    while ((op = first_to_wake(queue)) != NULL && op->wake.key <= now_ms)
        woken(queue, op, now_ms);
}

uint64_t hf_zk_op_queue_wake_at_ms(const struct hf_zk_op_queue *queue)
{
    return hf_heap_first_key(&queue->wakes);
}

/* ------------------------------------------------------------- interface -- */

void hf_zk_op_queue_init(struct hf_zk_op_queue *queue,
                         struct hf_zk_session *session,
                         const struct hf_zk_op_context *context)
{
    *queue = (struct hf_zk_op_queue){
        .session = session,
        .context = context,
        .was_connected = session->least_granted_ms != HF_FOREVER,
        .given_up = session->connectivity.state == HF_CONNECTIVITY_IDLE};
    queue->listener =
        (struct hf_zk_listener){.user = queue,
                                .connection_error = connection_error,
                                .gave_up = gave_up,
                                .up = up,
                                .suspended = suspended,
                                .lost = lost,
                                .room = room,
                                .servers_changed = servers_changed};
    hf_zk_listeners_add(&session->listeners, &queue->listener);
}

/* A server has answered the credential of ${user}, an ADD_AUTH. */
static void credential_answered(void *user, enum hf_zk_error error)
{
    const struct hf_zk_reply reply = {.error = error};
    struct hf_zk_op *op = user;

    if (op->state == HF_ZK_OP_ABANDONED) {
        op->state = HF_ZK_OP_ENDED;
        op->callbacks->released(op);
    } else if (error == HF_ZK_DISCONNECTED) {
        op->state = HF_ZK_OP_ENDED;
        end(op->queue, op, HF_ECLOSED, "the handle was closed");
    } else {
        finish(op->queue, op, &reply);
    }
}

/* Start an ADD_AUTH.  The session sends it, now and on each connection. */
static hf_status add_credential(struct hf_zk_op *op, struct hf_error *error)
{
    const struct hf_zookeeper_credential *credential = op->credential;
    hf_status status;

    status = hf_zk_session_add_credential(
        op->queue->session, credential->scheme, credential->bytes,
        credential->count, credential_answered, op);
    if (status != HF_OK)
        return hf_error_set(error, status, "out of memory");
    hf_zk_op_waiting_add_credential(&op->queue->waiting, op);
    op->state = HF_ZK_OP_SENT;
    return HF_OK;
}

/* Have ${op}, which may have been used before, wait as the last one. */
static void wait_to_be_sent(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    op->state = HF_ZK_OP_WAITING;
    hf_zk_op_waiting_add(&queue->waiting, op);
}

/* ${op} was added: it is sent, or waits.  It ends now if the server has no
 * quorum to carry it out, or if it is only tried and there is no connection
 * any more. */
static void begin(struct hf_zk_op_queue *queue, struct hf_zk_op *op)
{
    const struct hf_zk_session *session = queue->session;
    const char *why = session->connectivity.error;

    if (is_refused(queue, op))
        end_refused(queue, op);
    else if (op->only_try && queue->was_connected &&
             !hf_zk_session_usable(session))
        end(queue, op, HF_EUNREACHABLE, "there is no connection%s%s",
            why[0] != '\0' ? ": " : "", why);
    else
        send_waiting(queue);
}

void hf_zk_op_queue_reconnect(struct hf_zk_op_queue *queue, uint64_t now_ms)
{
    if (queue->given_up)
        hf_zk_session_reconnect(queue->session, now_ms);
    queue->given_up = false;
}

hf_status hf_zk_op_queue_add(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                             uint64_t now_ms, struct hf_error *error)
{
    hf_status status = HF_OK;

    if (queue->closing)
        return hf_error_set(error, HF_ECLOSED, "the handle was closed");
    if (queue->waiting.count >= HF_ZK_WAITING_OPS_MAX)
        return hf_error_set(error, HF_ELIMIT,
                            "%d operations wait to be sent; expected fewer, "
                            "wait for some of them",
                            HF_ZK_WAITING_OPS_MAX);
    op->queue = queue;
    hf_zk_session_set_now(queue->session, now_ms);
    hf_zk_op_queue_reconnect(queue, now_ms);
    if (op->kind == HF_ZOOKEEPER_ADD_AUTH)
        status = add_credential(op, error);
    else
        wait_to_be_sent(queue, op);
    if (status != HF_OK)
        return status;
    arm(queue, op);
    begin(queue, op);
    return HF_OK;
}

void hf_zk_op_queue_send(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                         uint64_t now_ms)
{
    assert(hf_zk_session_usable(queue->session));
    op->queue = queue;
    hf_zk_session_set_now(queue->session, now_ms);
    send_op(queue, op);
}

void hf_zk_op_queue_cancel(struct hf_zk_op_queue *queue, struct hf_zk_op *op,
                           uint64_t now_ms)
{
    hf_zk_session_set_now(queue->session, now_ms);
    if (op->state == HF_ZK_OP_WAITING || op->state == HF_ZK_OP_SENT)
        end_unanswered(queue, op, op->state == HF_ZK_OP_SENT, HF_ECANCELLED,
                       "it was cancelled");
    send_waiting(queue);
}

void hf_zk_op_queue_close(struct hf_zk_op_queue *queue, uint64_t now_ms)
{
    hf_zk_session_set_now(queue->session, now_ms);
    queue->closing = true;
    end_all_waiting(queue, HF_ECLOSED, "the handle was closed");
    leave_alone(queue);
    notify_if_idle(queue);
}

/* The calls stay in the session's list of calls in flight while their
 * operations end, so the list can be walked. */
void hf_zk_op_queue_abandon(struct hf_zk_op_queue *queue)
{
    struct hf_zk_call *call = queue->session->wire.first;
    struct hf_zk_op *op;

    assert(queue->closing);
    for (; call != NULL; call = call->next) {
        op = call->owner;
        if (call->answered == answered && call->user == queue &&
            op->state == HF_ZK_OP_SENT)
            end_unanswered(queue, op, true, HF_ECLOSED,
                           "the handle was closed");
    }
    while (queue->waiting.credentials.first != NULL)
        end(queue, queue->waiting.credentials.first, HF_ECLOSED,
            "the handle was closed");
}
