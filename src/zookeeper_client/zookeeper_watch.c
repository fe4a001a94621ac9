/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of a user: opening and freeing them, and reporting their events.
 */
#include "zookeeper_client/zookeeper_watch.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/op_queue.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper_client/zookeeper_handle.h"

/* One event that waits to be reported. */
struct watch_event {
    struct hf_callback callback;
    struct hf_zookeeper_watch *watch;
    struct hf_zookeeper_event event;
    char path[];
};

static bool is_one_shot(enum hf_zookeeper_watch_kind kind)
{
    return kind == HF_ZOOKEEPER_WATCH_DATA ||
           kind == HF_ZOOKEEPER_WATCH_CHILDREN;
}

/* -------------------------------------------------------------- lifetime -- */

/* The .destroy of a watch. */
static void destroy(struct hf_deferred_free *object)
{
    struct hf_zookeeper_watch *watch =
        container_of(object, struct hf_zookeeper_watch, deferred);
    struct hf_zookeeper *zookeeper = watch->zookeeper;

    assert(watch->references == 0 && watch->events == 0);
    assert(watch->callback.state == HF_USER_CALLBACK_RETIRED);
    assert(!hf_zk_watcher_in_set(&watch->watcher));
    assert(watch->operations == NULL && !watch->setting_again);
    hf_jute_free(&watch->set_again.record);
    hf_free(watch);
    hf_zookeeper_release(zookeeper);
}

/* Drop a reference; the last one has ${watch} freed after the lock is released,
 * because that may free the handle, too. */
static void dereference(struct hf_zookeeper_watch *watch)
{
    assert(watch->references > 0);
    if (--watch->references == 0)
        hf_monitor_defer_free(watch->zookeeper->monitor, &watch->deferred);
}

/* ------------------------------------------------------------ permission -- */

/* Set .unreadable of ${watch}, and count it. */
static void put_unreadable(struct hf_zookeeper_watch *watch, bool unreadable)
{
    if (watch->unreadable == unreadable)
        return;
    watch->unreadable = unreadable;
    if (unreadable)
        watch->zookeeper->unreadable++;
    else
        watch->zookeeper->unreadable--;
}

/* ---------------------------------------------------------------- events -- */

/* Call .fn of ${watch} with ${event}, unless it was freed.  Releases the lock
 * meanwhile.  False in the child of a fork. */
static bool notify(struct hf_zookeeper_watch *watch,
                   const struct hf_zookeeper_event *event)
{
    struct hf_monitor *monitor = watch->zookeeper->monitor;

    if (watch->on_event.fn == NULL ||
        !hf_user_callback_enter(&watch->callback, monitor))
        return true;
    watch->on_event.fn(watch->on_event.arg, event);
    return hf_user_callback_leave(&watch->callback, monitor);
}

/* The .run of an event. */
static void run_event(void *arg)
{
    struct watch_event *watch_event = arg;
    struct hf_zookeeper_watch *watch = watch_event->watch;

    if (!notify(watch, &watch_event->event))
        return;
    watch->events--;
    hf_free(watch_event);
    dereference(watch);
}

/* The .run of a RESYNC. */
static void run_resync(void *arg)
{
    struct hf_zookeeper_watch *watch = arg;
    const struct hf_zookeeper_event event = {HF_ZOOKEEPER_RESYNC,
                                             watch->user_path};

    if (notify(watch, &event))
        dereference(watch);
}

/* Have .resync report a RESYNC.  This needs no memory. */
static void queue_resync(struct hf_zookeeper_watch *watch)
{
    watch->references++;
    hf_monitor_queue(watch->zookeeper->monitor, &watch->resync);
}

/* The kind of ${event}.  Both enums use the numbers of ZooKeeper's protocol for
 * the events of servers. */
static enum hf_zookeeper_event_kind
kind_of(const struct hf_zk_watch_event *event)
{
    return event->type == HF_ZK_RESYNC
               ? HF_ZOOKEEPER_RESYNC
               : (enum hf_zookeeper_event_kind)event->type;
}

/* The path of the node of ${event} without the chroot; ${bytes} is set to its
 * length. */
static const char *user_path_of(const struct hf_zookeeper_watch *watch,
                                const struct hf_zk_watch_event *event,
                                size_t *bytes)
{
    size_t chroot_bytes = strlen(watch->zookeeper->context.chroot);

    *bytes = event->bytes - chroot_bytes;
    if (*bytes > 0)
        return event->path + chroot_bytes;
    *bytes = 1;
    return "/";
}

/* Queue ${event} to be reported.  False if there is no memory, or too many
 * events wait. */
static bool queue_event(struct hf_zookeeper_watch *watch,
                        const struct hf_zk_watch_event *event)
{
    struct watch_event *made;
    size_t bytes;
    const char *path = user_path_of(watch, event, &bytes);

    if (watch->events >= HF_ZOOKEEPER_EVENTS_MAX ||
        (made = hf_alloc(sizeof *made + bytes + 1)) == NULL)
        return false;
    memcpy(made->path, path, bytes);
    made->watch = watch;
    made->event = (struct hf_zookeeper_event){kind_of(event), made->path};
    made->callback = (struct hf_callback){.run = run_event, .arg = made};
    watch->references++;
    watch->events++;
    hf_monitor_queue(watch->zookeeper->monitor, &made->callback);
    return true;
}

/* Call .on_fired of ${watch}, a watch of the library itself. */
static void fire_for_library(struct hf_zookeeper_watch *watch,
                             const struct hf_zk_watch_event *event)
{
    size_t bytes;
    const char *path = user_path_of(watch, event, &bytes);

    watch->on_fired.fn(watch->on_fired.arg, kind_of(event), path, bytes);
}

/* The .fired of the watcher.  A RESYNC of the session is queued like any event
 * and does not replace later events, because answers that are queued behind it
 * may show changes that have events of their own.  Only .resync, which is
 * queued when events could not be kept, replaces all later events while it is
 * queued. */
static void fired(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event)
{
    struct hf_zookeeper_watch *watch = watcher->user;

    watch->zookeeper->monitor->events++;
    if (!hf_zk_watcher_is_armed(watcher))
        put_unreadable(watch, false); /* one-shot, and not set any more */
    if (event->type != HF_ZK_RESYNC)
        hf_zk_op_queue_event(&watch->zookeeper->queue);
    if (watch->on_fired.fn != NULL)
        fire_for_library(watch, event);
    else if (!watch->resync.queued && !queue_event(watch, event))
        queue_resync(watch);
}

/* --------------------------------------------------- a new session, lost -- */

/* The watch that ${op} sets again. */
static struct hf_zookeeper_watch *of_set_again(struct hf_zk_op *op)
{
    return container_of(op, struct hf_zookeeper_watch, set_again);
}

/* The AddWatch that sets the watch again has ended.  If it failed, it is sent
 * again on the next connection.  It is cancelled when the watch is freed. */
static void set_again_ended(struct hf_zk_op *op, hf_status status,
                            struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_watch *watch = of_set_again(op);

    (void)result;
    if (status != HF_OK && status != HF_ELOST && status != HF_ECLOSED &&
        status != HF_ECANCELLED)
        hf_log_write(&watch->zookeeper->monitor->log, HF_LOG_WARNING,
                     "the watch of %.200s is not set in the new session: %s",
                     watch->user_path, hf_status_text(status));
}

static void set_again_released(struct hf_zk_op *op)
{
    struct hf_zookeeper_watch *watch = of_set_again(op);

    watch->setting_again = false;
    dereference(watch);
}

static const struct hf_zk_op_callbacks set_again_callbacks = {
    .ended = set_again_ended,
    .released = set_again_released,
};

static void set_again(struct hf_zookeeper_watch *watch)
{
    struct hf_zk_op *op = &watch->set_again;
    struct hf_jute_writer record = op->record;
    struct hf_error error;

    if (watch->setting_again)
        return;
    *op = (struct hf_zk_op){.callbacks = &set_again_callbacks,
                            .kind = HF_ZOOKEEPER_ADD_WATCH,
                            .opcode = HF_ZK_ADD_WATCH,
                            .path = watch->user_path,
                            .deadline_at_ms = HF_FOREVER,
                            .connect_by_ms = HF_FOREVER,
                            .watcher = &watch->watcher,
                            .keeps_record = true,
                            .record = record};
    watch->setting_again = true;
    watch->references++;
    if (hf_zk_op_queue_add(&watch->zookeeper->queue, op, hf_now_ms(), &error) !=
        HF_OK)
        set_again_released(op);
}

/* The watch of ${zookeeper} that ${watcher} is part of; NULL: ${watcher}
 * belongs to another user of the session. */
static struct hf_zookeeper_watch *
of_watcher(const struct hf_zookeeper *zookeeper, struct hf_zk_watcher *watcher)
{
    struct hf_zookeeper_watch *watch;

    if (watcher->fired != fired)
        return NULL;
    watch = watcher->user;
    return watch->zookeeper == zookeeper ? watch : NULL;
}

/* For the chroot itself ${path} ends with "/", but .path of its watches does
 * not. */
void hf_zookeeper_watches_put_unreadable(struct hf_zookeeper *zookeeper,
                                         const char *path, bool unreadable)
{
    const struct hf_zk_watch_set *set = &zookeeper->session->watches;
    struct hf_zookeeper_watch *watch;
    struct hf_zk_watcher *at;
    size_t bytes = strlen(path);

    if (bytes > 1 && path[bytes - 1] == '/')
        bytes--;
    for (enum hf_zk_watch_mode mode = 0; mode < HF_ZK_WATCH_MODES; mode++) {
        at = hf_zk_watch_set_find(set, mode, path, bytes);
        for (; at != NULL; at = at->next_at_path) {
            if ((watch = of_watcher(zookeeper, at)) != NULL)
                put_unreadable(watch, unreadable && hf_zk_watcher_is_armed(at));
        }
    }
}

void hf_zookeeper_watches_set_again(struct hf_zookeeper *zookeeper)
{
    const struct hf_zk_watch_set *set = &zookeeper->session->watches;
    struct hf_zk_watcher *watcher = NULL;
    struct hf_zookeeper_watch *watch;

    while ((watcher = hf_zk_watch_set_next_lost(set, watcher)) != NULL) {
        if ((watch = of_watcher(zookeeper, watcher)) != NULL)
            set_again(watch);
    }
}

/* ------------------------------------------------------ being set by ops -- */

/* May an operation of the kind ${op} set a watch of the kind ${kind}? */
static bool sets(enum hf_zookeeper_op_kind op,
                 enum hf_zookeeper_watch_kind kind)
{
    switch (op) {
    case HF_ZOOKEEPER_GET:
    case HF_ZOOKEEPER_EXISTS:
        return kind == HF_ZOOKEEPER_WATCH_DATA;
    case HF_ZOOKEEPER_CHILDREN:
        return kind == HF_ZOOKEEPER_WATCH_CHILDREN;
    case HF_ZOOKEEPER_ADD_WATCH:
        return !is_one_shot(kind);
    default:
        return false;
    }
}

hf_status hf_zookeeper_watch_check(const struct hf_zookeeper *zookeeper,
                                   struct hf_zookeeper_op *op,
                                   struct hf_error *error)
{
    const struct hf_zookeeper_watch *watch = op->watch;

    if (watch->zookeeper != zookeeper)
        return hf_error_set(error, HF_EINVAL,
                            "the watch belongs to another handle; expected one "
                            "that was opened with this one");
    if (!sets(op->kind, watch->kind))
        return hf_error_set(error, HF_EINVAL,
                            "the watch is of a kind that this operation does "
                            "not set; expected DATA for GET and EXISTS, "
                            "CHILDREN for CHILDREN, PERSISTENT or RECURSIVE "
                            "for ADD_WATCH");
    if (op->kind == HF_ZOOKEEPER_ADD_WATCH)
        op->path = watch->user_path;
    else if (op->path == NULL || strcmp(op->path, watch->user_path) != 0)
        return hf_error_set(error, HF_EINVAL,
                            "the watch is of the path %.160s, and the "
                            "operation is not; expected the same path",
                            watch->user_path);
    return HF_OK;
}

void hf_zookeeper_watch_use(struct hf_zookeeper_watch *watch,
                            struct hf_zookeeper_operation *operation)
{
    operation->watch = watch;
    operation->next = watch->operations;
    watch->operations = operation;
    operation->zk_op.watcher = &watch->watcher;
}

void hf_zookeeper_watch_operation_ended(
    struct hf_zookeeper_operation *operation)
{
    struct hf_zookeeper_operation **link = &operation->watch->operations;

    while (*link != operation)
        link = &(*link)->next;
    *link = operation->next;
    operation->watch = NULL;
    operation->zk_op.watcher = NULL;
}

/* --------------------------------------------------------- open and free -- */

static enum hf_zk_watch_mode mode_of(enum hf_zookeeper_watch_kind kind)
{
    switch (kind) {
    case HF_ZOOKEEPER_WATCH_CHILDREN:
        return HF_ZK_WATCH_CHILDREN;
    case HF_ZOOKEEPER_WATCH_PERSISTENT:
        return HF_ZK_WATCH_PERSISTENT;
    case HF_ZOOKEEPER_WATCH_RECURSIVE:
        return HF_ZK_WATCH_RECURSIVE;
    default:
        return HF_ZK_WATCH_DATA;
    }
}

/* Allocate a watch of ${path}.  Its AddWatch is encoded here, so that no memory
 * is needed to set the watch again in a new session.  NULL: no memory. */
static struct hf_zookeeper_watch *
new_watch(struct hf_zookeeper *zookeeper, const char *path,
          enum hf_zookeeper_watch_kind kind,
          struct hf_zookeeper_on_event on_event)
{
    const char *chroot = zookeeper->context.chroot;
    bool is_chroot = chroot[0] != '\0' && strcmp(path, "/") == 0;
    size_t chroot_bytes = strlen(chroot);
    size_t bytes = chroot_bytes + strlen(path) + 1;
    struct hf_zookeeper_watch *watch = hf_alloc(sizeof *watch + bytes);

    if (watch == NULL)
        return NULL;
    memcpy(watch->path, chroot, chroot_bytes);
    if (!is_chroot)
        memcpy(watch->path + chroot_bytes, path, strlen(path));
    watch->user_path = is_chroot ? "/" : watch->path + chroot_bytes;
    hf_jute_put_string(&watch->set_again.record, watch->path);
    hf_jute_put_int(&watch->set_again.record, 0); /* the mode */
    if (watch->set_again.record.failed) {
        hf_jute_free(&watch->set_again.record);
        hf_free(watch);
        return NULL;
    }
    watch->zookeeper = zookeeper;
    watch->kind = kind;
    watch->on_event = on_event;
    watch->callback.drop = (struct hf_user_drop){on_event.drop, on_event.arg};
    watch->references = 1;
    watch->resync = (struct hf_callback){.run = run_resync, .arg = watch};
    watch->deferred.destroy = destroy;
    watch->watcher = (struct hf_zk_watcher){.user = watch,
                                            .fired = fired,
                                            .path = watch->path,
                                            .mode = mode_of(kind)};
    hf_zookeeper_reference(zookeeper);
    return watch;
}

/* Check the arguments and make the watch.  With the lock. */
static hf_status open_watch(struct hf_zookeeper *zookeeper, const char *path,
                            enum hf_zookeeper_watch_kind kind,
                            struct hf_zookeeper_on_event on_event,
                            struct hf_zookeeper_watch **watch,
                            struct hf_error *error)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                       .path = path};
    hf_status status;

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    if (kind < HF_ZOOKEEPER_WATCH_DATA || kind > HF_ZOOKEEPER_WATCH_RECURSIVE)
        return hf_error_set(error, HF_EINVAL,
                            "the kind is %d; expected "
                            "HF_ZOOKEEPER_WATCH_DATA, _CHILDREN, _PERSISTENT "
                            "or _RECURSIVE",
                            (int)kind);
    if (on_event.fn == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the callback is NULL, and nobody would be "
                            "notified; pass a function");
    if ((status = hf_zk_op_check(&op, &zookeeper->context, error)) != HF_OK ||
        (status = hf_monitor_ensure_poller(zookeeper->monitor, error)) != HF_OK)
        return status;
    *watch = new_watch(zookeeper, path, kind, on_event);
    return *watch != NULL ? HF_OK
                          : hf_error_set(error, HF_ENOMEM, "out of memory");
}

hf_status hf_zookeeper_watch_open(struct hf_zookeeper *zookeeper,
                                  const char *path,
                                  enum hf_zookeeper_watch_kind kind,
                                  struct hf_zookeeper_on_event on_event,
                                  struct hf_zookeeper_watch **watch)
{
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_watch_open");
    struct hf_error error;

    *watch = NULL;
    if (status == HF_OK) {
        status = open_watch(zookeeper, path, kind, on_event, watch, &error);
        if (status != HF_OK)
            (void)hf_fail("hf_zookeeper_watch_open", &error);
        hf_monitor_leave(zookeeper->monitor);
    }
    if (status != HF_OK && on_event.drop != NULL)
        on_event.drop(on_event.arg);
    return status;
}

/* The end of a request of ask_to_forget(): nobody waits for it. */

static void unwatch_ended(struct hf_zk_op *op, hf_status status,
                          struct hf_zookeeper_result *result)
{
    (void)op;
    (void)status;
    (void)result;
}

static void unwatch_released(struct hf_zk_op *op)
{
    hf_free(op);
}

static const struct hf_zk_op_callbacks unwatch_callbacks = {
    .ended = unwatch_ended,
    .released = unwatch_released,
};

/* Ask the server to remove or lower what it watches at the path of ${watch}, as
 * ${what} says.  Without memory nothing is sent, and the server keeps a watch
 * that nobody needs, until the connection ends. */
static void ask_to_forget(struct hf_zookeeper_watch *watch,
                          enum hf_zk_unwatch what)
{
    struct hf_zk_op *unwatch = hf_alloc(sizeof *unwatch);
    bool lowers = what == HF_ZK_UNWATCH_LOWER;

    if (unwatch == NULL)
        return;
    *unwatch = (struct hf_zk_op){
        .callbacks = &unwatch_callbacks,
        .kind = HF_ZOOKEEPER_SYNC, /* any kind that is no write and has no watch
                                      flag */
        .opcode = lowers ? HF_ZK_ADD_WATCH : HF_ZK_REMOVE_WATCHES,
        .path = "",
        .only_try = true,
        .deadline_at_ms = HF_FOREVER};
    hf_jute_put_string(&unwatch->record, watch->path);
    hf_jute_put_int(&unwatch->record, lowers ? 0 : (int32_t)what);
    if (unwatch->record.failed) {
        hf_jute_free(&unwatch->record);
        hf_free(unwatch);
        return;
    }
    hf_zk_op_queue_send(&watch->zookeeper->queue, unwatch, hf_now_ms());
    hf_zookeeper_changed(watch->zookeeper);
}

/* Cancel ${op}, and have operations sent for which that makes room. */
static void cancel(struct hf_zookeeper *zookeeper, struct hf_zk_op *op)
{
    hf_zk_op_queue_cancel(&zookeeper->queue, op, hf_now_ms());
    hf_zookeeper_changed(zookeeper);
}

/* Detach ${watch} from the operations that were to set it.  An AddWatch is also
 * cancelled, because it would change what the server keeps for other watches of
 * the path. */
static void leave_operations(struct hf_zookeeper_watch *watch)
{
    struct hf_zookeeper_operation *operation;

    while ((operation = watch->operations) != NULL) {
        hf_zookeeper_watch_operation_ended(operation);
        if (operation->zk_op.kind == HF_ZOOKEEPER_ADD_WATCH)
            cancel(watch->zookeeper, &operation->zk_op);
    }
}

/* Take ${watch} out of the session. */
static void leave_session(struct hf_zookeeper_watch *watch)
{
    struct hf_zk_session *session = watch->zookeeper->session;
    enum hf_zk_unwatch what;

    leave_operations(watch);
    if (watch->setting_again)
        cancel(watch->zookeeper, &watch->set_again);
    if (!hf_zk_watcher_in_set(&watch->watcher))
        return;
    put_unreadable(watch, false);
    if (!hf_zk_session_usable(session)) {
        hf_zk_watch_set_remove(&session->watches, &watch->watcher);
        return;
    }
    what = hf_zk_watch_set_unwatch(&session->watches, &watch->watcher);
    if (what != HF_ZK_UNWATCH_NOTHING)
        ask_to_forget(watch, what);
}

/* The first watch of ${zookeeper} that is in the session; NULL: none. */
static struct hf_zookeeper_watch *
first_in_session(const struct hf_zookeeper *zookeeper)
{
    struct hf_zk_watcher *watcher = zookeeper->session->watches.first;

    while (watcher != NULL && of_watcher(zookeeper, watcher) == NULL)
        watcher = watcher->next;
    return watcher != NULL ? watcher->user : NULL;
}

/* The search begins anew each time, because the end of an operation may free
 * other watches. */
void hf_zookeeper_watches_leave(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_watch *watch;

    while ((watch = first_in_session(zookeeper)) != NULL)
        leave_session(watch);
}

struct hf_zookeeper_watch *
hf_zookeeper_watch_new(struct hf_zookeeper *zookeeper, const char *path,
                       enum hf_zookeeper_watch_kind kind,
                       struct hf_zookeeper_on_fired on_fired)
{
    const struct hf_zookeeper_on_event none = {NULL, NULL, NULL};
    struct hf_zookeeper_watch *watch = new_watch(zookeeper, path, kind, none);

    if (watch != NULL)
        watch->on_fired = on_fired;
    return watch;
}

void hf_zookeeper_watch_delete(struct hf_zookeeper_watch *watch)
{
    if (watch == NULL)
        return;
    leave_session(watch);
    hf_user_callback_retire(&watch->callback);
    dereference(watch);
}

/* No callback follows this call, so .drop is called here, although queued
 * events may keep the memory of the watch for a while. */
void hf_zookeeper_watch_free(struct hf_zookeeper_watch *watch)
{
    struct hf_monitor *monitor;
    struct hf_user_drop drop;

    if (watch == NULL)
        return;
    monitor = watch->zookeeper->monitor;
    if (hf_monitor_enter(monitor, NULL) != HF_OK)
        return;
    leave_session(watch);
    hf_user_callback_retire(&watch->callback);
    drop = hf_user_callback_await(&watch->callback, monitor);
    dereference(watch);
    hf_monitor_leave(monitor);
    hf_user_drop_call(&drop);
}
