/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags, which are keys without a lease.
 *
 * The flag of a barrier is a key with the barrier's own name, as in Go's recipe
 * Barrier.  The flag is set while the key is there.
 *
 * The requests that set, clear and watch the flag of a barrier are carried out
 * in their order, by one transaction at a time.  A client with many of them
 * should not wait a round trip for each.  So a transaction carries out several
 * requests that wait, as if one came right after the other.  These share a
 * transaction:
 *
 * - Settings, and then clearings.  The last request decides what becomes of
 *   the key.  What each of them has found follows from whether the key was
 *   there.  A setting behind a clearing goes into the next transaction, so that
 *   other clients see the clearing.
 * - With them, watches.  Each finds what the transaction leaves: the flag, or
 *   nothing.  So a watch may find a clearing that was requested after it.
 * - Watches alone, if the first request is a watch.  The core may take that
 *   watch back, which cancels the call, so the call must not change anything.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engines/etcd/queue_order.h"
#include "engines/etcd/watches.h"

/* The most requests that join another one. */
#define JOINED_MAX 128

/* The flag before and after a transaction. */
struct flag_state {
    bool was_set;
    bool is_set;
    bool next_finds;       /* the flag as the next request that has joined
                              finds it */
    struct hf_ticket flag; /* the flag, if it is set */
    int64_t revision;      /* revision of the transaction */
};

/* How a transaction has failed. */
struct flag_failure {
    struct hf_etcd_result result;
    char text[HF_ERROR_TEXT_BYTES]; /* a copy of the text of .result, because
                                       the call may not keep it until all
                                       requests are answered */
};

/* --------------------------------------------------------------- sharing -- */

static bool is_watch(const struct hf_etcd_engine_request *req)
{
    return req->request->kind == HF_REQUEST_WATCH_QUEUE;
}

static bool clears(const struct hf_etcd_engine_request *req)
{
    return req->request->kind == HF_REQUEST_CLEAR_FLAG;
}

static bool is_of_barrier(const struct hf_etcd_engine_request *req)
{
    return req->request->ticket_kind == HF_TICKET_BARRIER &&
           (is_watch(req) || clears(req) ||
            req->request->kind == HF_REQUEST_SET_FLAG);
}

/* May ${next} join ${req}?  ${cleared}: the requests in front of ${next} end
 * with a clearing. */
static bool may_join(const struct hf_etcd_engine_request *req,
                     const struct hf_etcd_engine_request *next, bool cleared)
{
    if (!is_of_barrier(next))
        return false;
    if (is_watch(req))
        return is_watch(next);
    if (is_watch(next)) /* once only, because the user may have the right to
                           read but not to write */
        return next->attempts == 0;
    return !cleared || clears(next);
}

/* The requests that have joined one. */
struct joined {
    bool cleared; /* that request, or one that has joined it, clears the flag */
    bool watched; /* a watch has joined it */
};

/* Let the requests that wait behind ${req} join it, as far as they may. */
static struct joined share(const struct hf_etcd_engine_request *req)
{
    struct joined joined = {.cleared = clears(req)};
    struct hf_etcd_engine_request *next = hf_etcd_engine_order_behind(req);

    for (size_t i = 0; i < JOINED_MAX && next != NULL && is_of_barrier(req);
         i++) {
        if (!may_join(req, next, joined.cleared))
            break;
        hf_etcd_engine_order_join(next);
        joined.cleared |= clears(next);
        joined.watched |= is_watch(next);
        next = hf_etcd_engine_order_behind(next);
    }
    return joined;
}

/* Let the watches that have joined ${req}, a change, wait again for a call that
 * changes nothing. */
static void part_watches(const struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_request *next = hf_etcd_engine_order_behind(req);

    for (; next != NULL; next = hf_etcd_engine_order_behind(next)) {
        if (next->order != HF_ETCD_JOINED || !is_watch(next))
            continue;
        next->attempts++;
        hf_etcd_engine_order_part(next);
    }
}

/* Call ${answer}, which ends a request, for each request that has joined
 * ${req}, and last for ${req}.  From within ${answer} the core may take back
 * any watch.  If that is ${req}, its turn is over, and the requests that were
 * not answered wait again. */
static void for_all(struct hf_etcd_engine_request *req,
                    void (*answer)(struct hf_etcd_engine_request *req,
                                   void *arg),
                    void *arg)
{
    struct hf_etcd_engine *engine = req->engine;
    struct hf_etcd_engine_queue *queue = req->queue;
    struct hf_etcd_engine_request *joined;
    uint64_t ended = queue->ended;

    queue->users++;
    while (queue->ended == ended &&
           (joined = hf_etcd_engine_order_joined(queue)) != NULL)
        answer(joined, arg);
    if (queue->ended == ended)
        answer(req, arg);
    hf_etcd_engine_queue_release(engine, queue);
}

/* --------------------------------------------------------------- answers -- */

/* End the watch, whatever has happened to the key.  The core then lists the
 * flag again. */
static void flag_event(struct hf_etcd_watch *of,
                       const struct hf_etcd_event *event)
{
    (void)event;
    hf_etcd_engine_watch_end(of->user, HF_EVENT_QUEUE_CHANGED, NULL);
}

static void flag_compacted(struct hf_etcd_watch *of)
{
    hf_etcd_engine_watch_end(of->user, HF_EVENT_QUEUE_CHANGED, NULL);
}

/* Begin to watch, and answer the request last, because from within the answer
 * the core may take it back. */
static void answer_watch(struct hf_etcd_engine_request *req,
                         const struct flag_state *state)
{
    struct hf_etcd_engine_watch *watch = hf_etcd_engine_watch_of(req);
    struct hf_event answer = {.kind = HF_EVENT_LISTED};
    struct hf_ticket flag = state->flag;

    hf_etcd_engine_order_end(req);
    watch->watch.key = (struct hf_etcd_bytes){req->queue->prefix,
                                              req->queue->prefix_bytes - 1};
    watch->watch.event = flag_event;
    watch->watch.compacted = flag_compacted;
    if (!hf_etcd_engine_watch_start(watch, state->revision + 1))
        return;
    answer.as.answer.snapshot =
        (struct hf_snapshot){&flag, state->is_set ? 1 : 0, 0};
    answer.as.answer.request = req->request;
    hf_etcd_engine_notify(req->engine, &answer);
}

static void answer_one(struct hf_etcd_engine_request *req, void *arg)
{
    struct flag_state *state = arg;
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    if (is_watch(req)) {
        answer_watch(req, state);
        return;
    }
    event.as.answer.found = state->was_set;
    if (req->order == HF_ETCD_JOINED) {
        event.as.answer.found = state->next_finds;
        state->next_finds = !clears(req);
    }
    hf_etcd_engine_request_answer(req, &event);
}

static void fail_one(struct hf_etcd_engine_request *req, void *arg)
{
    const struct flag_failure *failure = arg;

    hf_etcd_engine_request_fail_call(req, &failure->result,
                                     is_watch(req) ? "read the flag of"
                                     : clears(req) ? "clear the flag of"
                                                   : "set the flag of");
}

/* Fail ${req} and all requests that have joined it: its call has ended with
 * ${result}, which is not DONE. */
static void fail_all(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct flag_failure failure = {.result = *result};

    (void)snprintf(failure.text, sizeof failure.text, "%s", result->text);
    failure.result.text = failure.text;
    for_all(req, fail_one, &failure);
}

static void fail_answer_one(struct hf_etcd_engine_request *req, void *arg)
{
    (void)arg;
    hf_etcd_engine_request_fail_answer(req);
}

static void fail_epoch_one(struct hf_etcd_engine_request *req, void *arg)
{
    (void)arg;
    hf_etcd_engine_request_fail(
        req, HF_FAILURE_RETRY, HF_EPROTOCOL,
        "the key of the session was changed; see who writes below \"%s%s\"",
        req->engine->config.session.prefix, HF_ETCD_SESSIONS);
}

/* Note that the flag has this ${id}, which is all zeros if Go's recipe has set
 * the flag.  A ${create_revision} of 0: the flag is not set. */
static void note_flag(const struct hf_etcd_engine_request *req,
                      struct hf_ticket_id id, int64_t create_revision,
                      struct flag_state *state)
{
    state->is_set = create_revision > 0;
    state->flag = (struct hf_ticket){
        .id = id,
        .token = (uint64_t)create_revision + req->engine->config.token_floor,
        .kind = HF_TICKET_BARRIER,
        .weight = 1,
        .payload = "",
    };
}

/* Note the flag as it was read. */
static void note_flag_read(const struct hf_etcd_engine_request *req,
                           const struct hf_etcd_key_value *kv,
                           struct flag_state *state)
{
    struct hf_etcd_engine_ticket_value value =
        hf_etcd_engine_value_parse(kv->value.bytes, kv->value.count);

    note_flag(req, value.id, kv->create_revision, state);
}

/* --------------------------------------------------------- set and clear -- */

/* The flag was not changed, because a comparison did not hold: that of the
 * flag, or that of the epoch. */
static void flag_kept(struct hf_etcd_engine_request *req,
                      struct hf_etcd_txn_answer *txn, bool cleared)
{
    struct flag_state state = {.revision = txn->header.revision};
    struct hf_etcd_key_value flag, epoch;

    if (!hf_etcd_engine_next_pair(&txn->responses, &flag) ||
        !hf_etcd_engine_next_pair(&txn->responses, &epoch)) {
        part_watches(req);
        for_all(req, fail_answer_one, NULL);
        return;
    }
    if (hf_etcd_epoch_check(&req->engine->session, epoch.mod_revision)) {
        part_watches(req);
        for_all(req, fail_epoch_one, NULL);
        return;
    }
    /* The flag is set already; or it was to be cleared and is not set, or
     * participants are there. */
    note_flag_read(req, &flag, &state);
    state.was_set = !cleared && state.is_set;
    state.next_finds = !clears(req);
    for_all(req, answer_one, &state);
}

/* The transaction has ended.  ${cleared}: it was to clear the flag. */
static void flag_changed(struct hf_etcd_engine_request *req,
                         const struct hf_etcd_result *result, bool cleared)
{
    struct flag_state state = {.was_set = cleared, .next_finds = !clears(req)};
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE) {
        part_watches(req);
        fail_all(req, result);
        return;
    }
    if (!hf_etcd_read_txn(result->answer, &txn)) {
        part_watches(req);
        for_all(req, fail_answer_one, NULL);
        return;
    }
    if (!txn.succeeded) {
        flag_kept(req, &txn, cleared);
        return;
    }
    state.revision = txn.header.revision;
    if (!cleared)
        note_flag(req, req->request->ticket, txn.header.revision, &state);
    for_all(req, answer_one, &state);
}

static void flag_set(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    flag_changed(req, result, false);
}

static void flag_cleared(struct hf_etcd_engine_request *req,
                         const struct hf_etcd_result *result)
{
    flag_changed(req, result, true);
}

/* Append the comparison that no participant has a key: there is none with a
 * byte from '0' to 'f' behind "NAME/", where the digits of a lease begin.  The
 * keys of a lock with that name, or below it, may keep the flag too; an old
 * flag does no harm. */
static void compare_nobody(const struct hf_etcd_engine_request *req,
                           struct hf_etcd_buffer *buffer)
{
    char from[HF_ETCD_KEY_BYTES], to[HF_ETCD_KEY_BYTES];
    size_t bytes = hf_etcd_engine_queue_prefix(
        req->engine->config.session.prefix, req->request->queue, from);
    struct hf_etcd_comparison nobody = {
        .key = {from, bytes + 1},
        .range_end = {to, bytes + 1},
        .target = HF_ETCD_CREATE_REVISION,
        .result = HF_ETCD_EQUAL,
    };

    memcpy(to, from, bytes);
    from[bytes] = '0';
    to[bytes] = 'f' + 1;
    hf_etcd_txn_compare(buffer, &nobody);
}

/* Append the put that sets the flag ${key}, and the comparison that it is
 * clear. */
static void append_setting(const struct hf_etcd_engine_request *req,
                           struct hf_etcd_bytes key,
                           struct hf_etcd_buffer *buffer)
{
    char value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_put put = {
        .key = key,
        .value = {value, hf_etcd_engine_value_format(HF_TICKET_BARRIER,
                                                     &req->request->ticket, 1,
                                                     "", value)},
    };

    hf_etcd_engine_compare_created(buffer, key.bytes, key.count, 0);
    hf_etcd_txn_put(buffer, HF_ETCD_SUCCESS, &put);
}

/* Append the deletion that clears the flag ${key}, and the comparison that it
 * is set. */
static void append_clearing(const struct hf_etcd_engine_request *req,
                            struct hf_etcd_bytes key,
                            struct hf_etcd_buffer *buffer)
{
    struct hf_etcd_delete deletion = {.key = key};
    struct hf_etcd_comparison there = {.key = key,
                                       .target = HF_ETCD_CREATE_REVISION,
                                       .result = HF_ETCD_GREATER};

    hf_etcd_txn_compare(buffer, &there);
    if (req->request->ticket_kind == HF_TICKET_READY)
        compare_nobody(req, buffer);
    hf_etcd_txn_delete(buffer, HF_ETCD_SUCCESS, &deletion);
}

/* It is the turn of ${req}.  The transaction compares the epoch, so it cannot
 * take effect late and undo later changes.  What a watch finds must not be old,
 * even if nothing is changed. */
static void change_flag(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_session *session = &req->engine->session;
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range flag = {
        .key = {key, hf_etcd_engine_flag_key(req->engine->config.session.prefix,
                                             req->request->queue,
                                             req->request->ticket_kind, key)}};
    struct hf_etcd_range epoch = {.key = hf_etcd_epoch_key(session)};
    struct joined joined = share(req);

    if (joined.cleared)
        append_clearing(req, flag.key, &buffer);
    else
        append_setting(req, flag.key, &buffer);
    if (hf_etcd_epoch_is_known(session))
        hf_etcd_epoch_compare(session, &buffer);
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &flag);
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &epoch);
    if (joined.watched)
        hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_FAILURE);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer,
                                joined.cleared ? flag_cleared : flag_set);
}

static void order(struct hf_etcd_engine *engine, struct hf_request *request)
{
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);

    if (req != NULL)
        hf_etcd_engine_order(req, change_flag);
}

void hf_etcd_engine_set_flag(struct hf_etcd_engine *engine,
                             struct hf_request *request)
{
    assert(request->ticket_kind == HF_TICKET_BARRIER);
    order(engine, request);
}

void hf_etcd_engine_clear_flag(struct hf_etcd_engine *engine,
                               struct hf_request *request)
{
    order(engine, request);
}

/* ----------------------------------------------------------------- watch -- */

/* The flag was read: answer all watches. */
static void flag_read(struct hf_etcd_engine_request *req,
                      const struct hf_etcd_result *result)
{
    struct flag_state state = {0};
    struct hf_etcd_txn_answer txn;
    struct hf_etcd_key_value flag;

    if (result->end != HF_ETCD_DONE) {
        fail_all(req, result);
        return;
    }
    if (!hf_etcd_read_txn(result->answer, &txn) ||
        !hf_etcd_engine_next_pair(&txn.responses, &flag)) {
        for_all(req, fail_answer_one, NULL);
        return;
    }
    state.revision = txn.header.revision;
    note_flag_read(req, &flag, &state);
    for_all(req, answer_one, &state);
}

/* It is the turn of ${req}.  A waiter may know from somebody else that the
 * barrier is set, so what is read must not be old. */
static void read_flag(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_buffer buffer = {0};
    struct hf_etcd_range range = {
        .key = {req->queue->prefix, req->queue->prefix_bytes - 1}};

    (void)share(req);
    hf_etcd_txn_range(&buffer, HF_ETCD_SUCCESS, &range);
    hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, flag_read);
}

void hf_etcd_engine_watch_barrier(struct hf_etcd_engine *engine,
                                  struct hf_request *request)
{
    struct hf_etcd_engine_watch *watch =
        hf_etcd_engine_watch_new(engine, request);

    if (watch != NULL)
        hf_etcd_engine_order(&watch->base, read_flag);
}
