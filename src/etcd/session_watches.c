/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of a session and their stream.
 *
 * A server identifies a watch by a number that holds for one stream.  Our
 * numbers go on from one stream to the next.  A server answers the requests to
 * create watches in the order in which they were sent, but a refusal may come
 * without the number.  So the answers are counted. */
#include "etcd/watches.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/list.h"
#include "base/time_math.h"
#include "etcd/session_private.h"

/* How often in a row the server may refuse to create a watch because of the
 * token. */
#define CANCELS_MAX 3

static struct hf_etcd_session *session_of(struct hf_grpc_call *stream)
{
    return container_of(stream, struct hf_etcd_session, watches.stream);
}

/* ----------------------------------------------------------- by number -- */

static int compare_ids(const void *key, const struct hf_tree_node *node)
{
    const int64_t *id = key;
    const struct hf_etcd_watch *watch =
        container_of(node, struct hf_etcd_watch, by_id);

    return *id < watch->id ? -1 : *id > watch->id;
}

static struct hf_etcd_watch *find(const struct hf_etcd_watches *watches,
                                  int64_t id)
{
    return container_of_or_null(hf_tree_find(&watches->by_id, &id),
                                struct hf_etcd_watch, by_id);
}

/* Set the state of ${watch}.  If it was BEGUN, remove it from the list of
 * watches whose keys will be read. */
static void set_state(struct hf_etcd_watches *watches,
                      struct hf_etcd_watch *watch,
                      enum hf_etcd_watch_state state)
{
    if (watch->state == HF_ETCD_WATCH_BEGUN)
        HF_LIST_REMOVE_BY(&watches->begun, watch, next_begun, previous_begun);
    watch->state = state;
}

/* The server has dropped ${watch}: make it WAITING for a stream. */
static void wait(struct hf_etcd_watches *watches, struct hf_etcd_watch *watch)
{
    if (watch->state == HF_ETCD_WATCH_WAITING)
        return;
    set_state(watches, watch, HF_ETCD_WATCH_WAITING);
    hf_etcd_call_cancel(&watch->read);
    hf_tree_remove(&watches->by_id, &watch->by_id, &watch->id);
    watch->start = HF_ETCD_WATCH_FROM_REVISION;
}

/* Remove ${watch} from the session. */
static void leave(struct hf_etcd_watches *watches, struct hf_etcd_watch *watch)
{
    wait(watches, watch);
    HF_LIST_REMOVE(watches, watch);
    watches->count--;
    watch->state = HF_ETCD_WATCH_OUT;
}

bool hf_etcd_watch_is_in(const struct hf_etcd_watch *watch)
{
    return watch->state != HF_ETCD_WATCH_OUT;
}

/* ---------------------------------------------------------------- asking -- */

static const struct hf_grpc_call_ops ops;

/* Send ${request} on the stream, and free it.  Returns false if that fails. */
static bool send(struct hf_etcd_session *session,
                 struct hf_etcd_buffer *request)
{
    bool sent = !request->failed &&
                hf_grpc_send(session->grpc, &session->watches.stream,
                             request->bytes, request->used, false) == HF_OK;

    hf_etcd_buffer_free(request);
    return sent;
}

/* Open the stream, if there is none.  Returns false if that fails. */
static bool open_stream(struct hf_etcd_session *session)
{
    struct hf_etcd_watches *watches = &session->watches;
    struct hf_grpc_metadata metadata = hf_etcd_session_metadata(session);

    if (hf_grpc_running(&watches->stream))
        return true;
    watches->answered_id = watches->last_id;
    return hf_grpc_start(session->grpc, &watches->stream, HF_ETCD_WATCH_PATH,
                         &metadata) == HF_OK;
}

/* Ask the server to create ${watch}, which is WAITING.  If the request cannot
 * be written, the watch is still WAITING, and false is returned. */
static bool create(struct hf_etcd_session *session, struct hf_etcd_watch *watch)
{
    struct hf_etcd_watches *watches = &session->watches;
    struct hf_etcd_buffer request = {0};
    bool from_now = watch->start == HF_ETCD_WATCH_FROM_NOW;
    const struct hf_etcd_watch_create fields = {
        .key = watch->key,
        .range_end = watch->range_end,
        .start_revision = from_now ? 0 : watch->next_revision,
        .watch_id = watches->last_id + 1};

    if (!open_stream(session))
        return false;
    hf_etcd_write_watch_create(&request, &fields);
    if (!send(session, &request))
        return false;
    watch->id = ++watches->last_id;
    watch->state = HF_ETCD_WATCH_CREATING;
    hf_tree_add(&watches->by_id, &watch->by_id, &watch->id);
    return true;
}

/* Can watches be created now? */
static bool is_open(const struct hf_etcd_session *session)
{
    return hf_etcd_session_is_usable(session) &&
           session->authentication == HF_ETCD_AUTHENTICATED;
}

/* Create ${watch}, if there is a connection. */
static void create_if_open(struct hf_etcd_session *session,
                           struct hf_etcd_watch *watch)
{
    if (is_open(session) && !create(session, watch))
        hf_etcd_session_break(session, "a watch could not be created");
}

bool hf_etcd_watch_add(struct hf_etcd_session *session,
                       struct hf_etcd_watch *watch)
{
    struct hf_etcd_watches *watches = &session->watches;

    assert(watch->state == HF_ETCD_WATCH_OUT && watch->next_revision > 0);
    assert(watch->extent == HF_ETCD_WATCH_ALL_EVENTS ||
           watch->range_end.count == 0);
    if (watches->count == HF_ETCD_WATCHES_MAX)
        return false;
    HF_LIST_APPEND(watches, watch);
    watches->count++;
    watch->state = HF_ETCD_WATCH_WAITING;
    watch->start = watch->extent == HF_ETCD_WATCH_LAST_STATE
                       ? HF_ETCD_WATCH_FROM_NOW
                       : HF_ETCD_WATCH_FROM_REVISION;
    watch->session = session;
    watch->gone_revision = 0;
    watch->cancels = 0;
    create_if_open(session, watch);
    return true;
}

void hf_etcd_watch_remove(struct hf_etcd_session *session,
                          struct hf_etcd_watch *watch)
{
    struct hf_etcd_buffer request = {0};

    if (watch->state == HF_ETCD_WATCH_OUT)
        return;
    if (watch->state != HF_ETCD_WATCH_WAITING &&
        hf_grpc_running(&session->watches.stream)) {
        hf_etcd_write_watch_cancel(&request, watch->id);
        if (!send(session, &request))
            hf_etcd_session_break(session, "a watch could not be ended");
    }
    leave(&session->watches, watch);
}

/* --------------------------------------------------------------- answers -- */

/* Report the events of ${answer} to its watch.  Each report may remove the
 * watch.  All events of one revision come in one answer, so after an event
 * .next_revision may be set to the revision behind it. */
static void report(struct hf_etcd_session *session,
                   struct hf_etcd_watch_answer *answer)
{
    struct hf_etcd_watch *watch = find(&session->watches, answer->watch_id);
    int64_t from = watch->next_revision;
    struct hf_etcd_event event;

    while (hf_etcd_next_event(&answer->events, &event)) {
        watch = find(&session->watches, answer->watch_id);
        if (watch == NULL)
            return;
        if (event.kv.mod_revision < from || event.kv.mod_revision == INT64_MAX)
            continue;
        if (event.kv.mod_revision >= watch->next_revision)
            watch->next_revision = event.kv.mod_revision + 1;
        watch->gone_revision = event.deleted ? event.kv.mod_revision : 0;
        if (watch->state == HF_ETCD_WATCH_BEGUN)
            set_state(&session->watches, watch, HF_ETCD_WATCH_CREATED);
        watch->event(watch, &event);
    }
}

/* The key was read at ${revision}, so everything up to that revision is known:
 * report what is new.  ${kv} is NULL if the key is not there. */
static void report_read(struct hf_etcd_watch *watch,
                        const struct hf_etcd_key_value *kv, int64_t revision)
{
    struct hf_etcd_event event = {
        .deleted = true, .kv = {.key = watch->key, .mod_revision = revision}};
    int64_t from = watch->next_revision;

    if (from > revision)
        return; /* the last event is newer than what was read */
    watch->next_revision = revision + 1;
    if (kv != NULL) {
        event.kv = *kv;
        event.deleted = false;
    }
    if (kv == NULL ? watch->gone_revision != 0 : kv->mod_revision < from)
        return; /* nothing has changed */
    watch->gone_revision = kv == NULL ? revision : 0;
    watch->event(watch, &event);
}

/* The end of the read of a watch that is still CATCHING_UP. */
static void read_ended(struct hf_etcd_call *call,
                       const struct hf_etcd_result *result)
{
    struct hf_etcd_watch *watch =
        container_of(call, struct hf_etcd_watch, read);
    struct hf_etcd_range_answer answer;
    struct hf_etcd_key_value kv;

    if (result->end == HF_ETCD_REFUSED &&
        result->status == HF_GRPC_PERMISSION_DENIED) {
        leave(&watch->session->watches, watch);
        watch->refused(watch, result->status, result->text);
        return;
    }
    /* The next connection creates the watch again, from .next_revision on. */
    if (result->end != HF_ETCD_DONE ||
        !hf_etcd_read_range(result->answer, &answer) ||
        answer.header.revision < watch->read_revision ||
        answer.header.revision == INT64_MAX) {
        hf_etcd_session_break(watch->session,
                              "the key of a watch could not be read");
        return;
    }
    watch->state = HF_ETCD_WATCH_CREATED;
    report_read(watch, hf_etcd_next_kv(&answer.kvs, &kv) ? &kv : NULL,
                answer.header.revision);
}

/* Read the key of ${watch} by a serializable read.  It shows the state of the
 * member itself, which is at .read_revision at least. */
static void read_key(struct hf_etcd_session *session,
                     struct hf_etcd_watch *watch)
{
    const struct hf_etcd_range range = {.key = watch->key,
                                        .serializable = true};
    struct hf_etcd_buffer request = {0};

    set_state(&session->watches, watch, HF_ETCD_WATCH_CREATED);
    watch->read.ended = read_ended;
    hf_etcd_write_range(&request, &range);
    if (hf_etcd_call_start(session, &watch->read, HF_ETCD_RANGE, &request))
        watch->state = HF_ETCD_WATCH_CATCHING_UP;
    else
        hf_etcd_session_break(session, "the key of a watch could not be read");
}

/* The server has created ${watch} and reports what comes after ${revision}.  If
 * the watch was created from now on, read its key: at once if the watch should
 * have begun earlier, else after HF_ETCD_WATCH_READ_MS if there was no event.
 */
static void created(struct hf_etcd_session *session,
                    struct hf_etcd_watch *watch, int64_t revision)
{
    struct hf_etcd_watches *watches = &session->watches;

    watch->cancels = 0;
    watch->state = HF_ETCD_WATCH_CREATED;
    if (watch->start == HF_ETCD_WATCH_FROM_REVISION)
        return;
    watch->read_revision = revision;
    if (revision >= watch->next_revision) {
        read_key(session, watch);
        return;
    }
    watch->state = HF_ETCD_WATCH_BEGUN;
    watch->read_at_ms = hf_after_ms(session->now_ms, HF_ETCD_WATCH_READ_MS);
    HF_LIST_APPEND_BY(&watches->begun, watch, next_begun, previous_begun);
}

/* The server has cancelled ${watch} for ${reason}.  If the token is too old,
 * the other watches of the stream go on until the stream is opened again with
 * the next token.  For other reasons another member is tried, where the reason
 * need not hold. */
static void cancelled(struct hf_etcd_session *session,
                      struct hf_etcd_watch *watch, const char *reason)
{
    bool token = hf_etcd_is_token_error(HF_GRPC_OK, reason);

    if (strstr(reason, "permission denied") != NULL ||
        (token &&
         !hf_etcd_session_renew_token(session, session->token_number))) {
        leave(&session->watches, watch);
        watch->refused(watch, HF_GRPC_PERMISSION_DENIED, reason);
        return;
    }
    wait(&session->watches, watch);
    /* If tokens expire again and again before they are used, connect again
     * after a pause.  The watch must not be given up, because it would never
     * report. */
    if (!token || ++watch->cancels > CANCELS_MAX)
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the server has cancelled a watch: %s",
                                   reason);
}

/* Handle ${answer}, which belongs to the watch ${id}. */
static void watch_answered(struct hf_etcd_session *session, int64_t id,
                           struct hf_etcd_watch_answer *answer)
{
    struct hf_etcd_watch *watch = find(&session->watches, id);
    char reason[HF_ETCD_TEXT_BYTES];

    if (watch == NULL)
        return; /* the watch was removed */
    if (!answer->canceled) {
        if (answer->created)
            created(session, watch, answer->header.revision);
        report(session, answer);
        return;
    }
    if (answer->compact_revision != 0) {
        leave(&session->watches, watch);
        watch->compacted(watch);
        return;
    }
    hf_etcd_clean_bytes(answer->cancel_reason, reason);
    cancelled(session, watch, reason);
}

/* Handle one message of the stream.  The answer to a request to create a watch
 * has the number of that watch, or a negative number if the request is refused.
 */
static void on_message(struct hf_grpc_call *stream, const void *bytes,
                       size_t count)
{
    struct hf_etcd_session *session = session_of(stream);
    struct hf_etcd_watches *watches = &session->watches;
    struct hf_etcd_bytes message = {bytes, count};
    struct hf_etcd_watch_answer answer;
    int64_t id;

    if (!hf_etcd_read_watch(message, &answer) || answer.fragment) {
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "an answer to a watch that makes no sense");
        return;
    }
    id = answer.watch_id;
    if (answer.created) {
        if (watches->answered_id == watches->last_id ||
            (id != watches->answered_id + 1 && !(answer.canceled && id < 0))) {
            hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                       "a watch that was not asked for");
            return;
        }
        id = ++watches->answered_id;
    }
    watch_answered(session, id, &answer);
}

/* The server has ended the stream, as a member without a leader does. */
static void on_ended(struct hf_grpc_call *stream,
                     const struct hf_grpc_result *result)
{
    struct hf_etcd_session *session = session_of(stream);
    char text[HF_ETCD_TEXT_BYTES];

    hf_etcd_watches_suspend(session);
    if (result->answered &&
        hf_etcd_is_token_error(result->status, result->text) &&
        hf_etcd_session_renew_token(session, session->token_number))
        return; /* hf_etcd_watches_begin() is called when there is a token */
    hf_etcd_clean_text(result->text, text);
    hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                               "the server has ended the watches: %s (%s)",
                               text, hf_grpc_status_name(result->status));
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

/* ------------------------------------------------------- for the session -- */

void hf_etcd_watches_init(struct hf_etcd_session *session)
{
    session->watches = (struct hf_etcd_watches){
        .by_id = {.compare = compare_ids}, .stream = {.ops = &ops}};
}

void hf_etcd_watches_begin(struct hf_etcd_session *session)
{
    struct hf_etcd_watch *watch;

    hf_etcd_watches_suspend(session);
    for (watch = session->watches.first; watch != NULL; watch = watch->next) {
        if (!create(session, watch)) {
            hf_etcd_session_break(session, "a watch could not be created");
            return;
        }
    }
}

void hf_etcd_watches_tick(struct hf_etcd_session *session)
{
    struct hf_etcd_watch *watch;

    while ((watch = session->watches.begun.first) != NULL &&
           watch->read_at_ms <= session->now_ms)
        read_key(session, watch);
}

uint64_t hf_etcd_watches_wake_at_ms(const struct hf_etcd_session *session)
{
    const struct hf_etcd_watch *watch = session->watches.begun.first;

    return watch != NULL ? watch->read_at_ms : HF_FOREVER;
}

void hf_etcd_watches_suspend(struct hf_etcd_session *session)
{
    struct hf_etcd_watches *watches = &session->watches;
    struct hf_etcd_watch *watch;

    if (hf_grpc_running(&watches->stream))
        hf_grpc_cancel(session->grpc, &watches->stream);
    for (watch = watches->first; watch != NULL; watch = watch->next)
        wait(watches, watch);
}

void hf_etcd_watches_end(struct hf_etcd_session *session)
{
    hf_etcd_watches_suspend(session);
    while (session->watches.first != NULL)
        leave(&session->watches, session->watches.first);
}
