/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of watches: what each was notified of is compared with the
 * committed history, up to the state that a read has shown, because no answer
 * may show a change before its event. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulator/random/zookeeper_private.h"

static bool is_one_shot(const struct zookeeper_watch *watch)
{
    return watch->mode == HF_ZK_WATCH_DATA ||
           watch->mode == HF_ZK_WATCH_CHILDREN;
}

/* Is ${path} below ${ancestor}?  ${direct}: a child of it? */
static bool is_below(const char *path, const char *ancestor, bool direct)
{
    size_t bytes = strcmp(ancestor, "/") == 0 ? 0 : strlen(ancestor);

    return strncmp(path, ancestor, bytes) == 0 && path[bytes] == '/' &&
           path[bytes + 1] != '\0' &&
           (!direct || strchr(path + bytes + 1, '/') == NULL);
}

/* Is it the same event, or was that made of it, because the server reports
 * children of its path and not that they have changed? */
static bool is_event(int32_t sent_type, const char *sent_path, int32_t type,
                     const char *path)
{
    if (sent_type == type && strcmp(sent_path, path) == 0)
        return true;
    return type == HF_ZK_NODE_CHILDREN_CHANGED &&
           (sent_type == HF_ZK_NODE_CREATED ||
            sent_type == HF_ZK_NODE_DELETED) &&
           is_below(sent_path, path, true);
}

/* May the event of the transaction ${zxid} not have come, because a server has
 * kept back what would have brought it?  On ${connection} or, if that is 0, on
 * any. */
static bool was_kept_back(const struct zookeeper_process *process, int32_t type,
                          const char *path, int64_t zxid, unsigned connection)
{
    const struct zookeeper_kept_event *kept = process->kept_events;

    while (kept != NULL &&
           (kept->zxid != zxid ||
            !is_event(kept->type, kept->path, type, path) ||
            (connection != 0 && kept->connection != connection)))
        kept = kept->next;
    return kept != NULL;
}

/* The event that ${change} must bring ${watch}, at ${path}; 0: none. */
static int32_t event_of(const struct zookeeper_watch *watch,
                        const struct hf_sim_node_change *change,
                        const char **path)
{
    bool same = strcmp(change->path, watch->path) == 0;
    bool of_child = (change->kind == HF_SIM_NODE_CREATED ||
                     change->kind == HF_SIM_NODE_DELETED) &&
                    is_below(change->path, watch->path, true);

    *path = change->path;
    switch (watch->mode) {
    case HF_ZK_WATCH_DATA:
        return same ? (int32_t)change->kind : 0;
    case HF_ZK_WATCH_RECURSIVE:
        return same || is_below(change->path, watch->path, false)
                   ? (int32_t)change->kind
                   : 0;
    default:
        if (same && (watch->mode == HF_ZK_WATCH_PERSISTENT ||
                     change->kind == HF_SIM_NODE_DELETED))
            return (int32_t)change->kind;
        *path = watch->path;
        return of_child ? HF_ZK_NODE_CHILDREN_CHANGED : 0;
    }
}

/* -------------------------------------------------------------- one-shot -- */

/* The first change of (${after}, ${zxid}] that concerns ${watch}; or NULL. */
static const struct hf_sim_node_change *
first_change(const struct zookeeper_watch *watch, int64_t after, int64_t zxid)
{
    const char *path;

    for (size_t i = 0; i < zookeeper.change_count; i++) {
        const struct hf_sim_node_change *change = &zookeeper.history[i].change;

        if (change->zxid > after && change->zxid <= zxid &&
            event_of(watch, change, &path) != 0)
            return change;
    }
    return NULL;
}

/* Has a connection begun since the watch of a missing node was set?  A node
 * that was created and deleted again in between brings no event, because
 * servers look only whether it is there. */
static bool may_have_been_there(const struct zookeeper_watch *watch)
{
    return watch->missing &&
           watch->armed_connection != watch->process->connection;
}

/* Was the event of the first change up to ${zxid} kept back, or that of a later
 * one where the first need not bring any? */
static bool is_excused(const struct zookeeper_watch *watch, int64_t zxid)
{
    int64_t after = watch->armed_zxid;
    const struct hf_sim_node_change *change;

    while ((change = first_change(watch, after, zxid)) != NULL) {
        const char *path;
        int32_t type = event_of(watch, change, &path);

        if (was_kept_back(watch->process, type, path, change->zxid, 0))
            return true;
        if (!may_have_been_there(watch))
            return false;
        after = change->zxid;
    }
    return false;
}

static void check_one_shot(struct zookeeper_watch *watch, int64_t zxid)
{
    const struct hf_sim_node_change *change =
        first_change(watch, watch->armed_zxid, zxid);

    if (change == NULL)
        return;
    watch->used_up |= is_excused(watch, zxid);
    if (watch->used_up || (may_have_been_there(watch) &&
                           zookeeper_node_at(watch->path, zxid) == NULL))
        return;
    zookeeper_check(false, 3, "an armed watch has not fired before an answer",
                    "%s, armed at %" PRIx64 ", of %" PRIx64 ", at %" PRIx64,
                    watch->path, watch->armed_zxid, change->zxid, zxid);
}

/* ------------------------------------------------------------ persistent -- */

/* Several children that change in a row bring one event or more. */
static bool is_repeated(const struct zookeeper_event *last, int32_t type,
                        const char *path)
{
    return type == HF_ZK_NODE_CHILDREN_CHANGED && last != NULL &&
           last->type == type && strcmp(last->path, path) == 0;
}

static void receive(struct zookeeper_event *events, size_t *count,
                    struct zookeeper_event event)
{
    struct zookeeper_event *last = *count == 0 ? NULL : &events[*count - 1];

    if (is_repeated(last, event.type, event.path)) {
        last->optional &= event.optional;
        last->times++;
    } else if (*count < ZOOKEEPER_EVENTS_MAX) {
        events[*count] = event;
        events[(*count)++].times = 1;
    }
}

/* How many of ${events} say that children have changed. */
static size_t children_of(const struct zookeeper_event *events, size_t count)
{
    size_t children = 0;

    for (size_t i = 0; i < count; i++)
        if (events[i].type == HF_ZK_NODE_CHILDREN_CHANGED)
            children += events[i].times;
    return children;
}

static void trace_events(const struct zookeeper_watch *watch, const char *what,
                         const struct zookeeper_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        zookeeper_trace(watch->process, "%s %zu: %d of %s", what, i,
                        (int)events[i].type, events[i].path);
}

/* Add the event of ${change}, if it brings one, to those that are due. */
static void add_due(const struct zookeeper_watch *watch,
                    const struct hf_sim_node_change *change,
                    struct zookeeper_event *due, size_t *count)
{
    const struct zookeeper_process *process = watch->process;
    struct zookeeper_event event = {0};

    event.type = event_of(watch, change, &event.path);
    if (event.type == 0)
        return;
    event.optional = was_kept_back(process, event.type, event.path,
                                   change->zxid, process->connection);
    receive(due, count, event);
}

/* Are the events of the watch those that are due?  Those that are optional may
 * be missing, and children that change again need no second event.
 * ${reached}[n] is true if the first n events are what was due so far. */
static bool is_complete(const struct zookeeper_watch *watch,
                        const struct zookeeper_event *due, size_t count)
{
    bool reached[ZOOKEEPER_EVENTS_MAX + 1] = {true};

    for (size_t i = 0; i < count; i++) {
        for (size_t n = watch->event_count; n > 0; n--) {
            const struct zookeeper_event *last = &watch->events[n - 1];
            bool same = last->type == due[i].type &&
                        strcmp(last->path, due[i].path) == 0;

            reached[n] &=
                due[i].optional || is_repeated(last, due[i].type, due[i].path);
            reached[n] |= same && reached[n - 1];
        }
        reached[0] &= due[i].optional;
    }
    return reached[watch->event_count];
}

static void trace_both(const struct zookeeper_watch *watch,
                       const struct zookeeper_event *due, size_t count)
{
    trace_events(watch, "due", due, count);
    trace_events(watch, "came", watch->events, watch->event_count);
}

/* Compare what the watch was notified of since the last time with what has
 * happened. */
static void check_persistent(struct zookeeper_watch *watch, int64_t zxid)
{
    static struct zookeeper_event due[ZOOKEEPER_EVENTS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < zookeeper.change_count; i++) {
        const struct hf_sim_node_change *change = &zookeeper.history[i].change;

        if (change->zxid > watch->base_zxid && change->zxid <= zxid)
            add_due(watch, change, due, &count);
    }
    if (count < ZOOKEEPER_EVENTS_MAX &&
        children_of(watch->events, watch->event_count) >
            children_of(due, count)) {
        trace_both(watch, due, count);
        zookeeper_check(false, 3, "a child that changed once has two events",
                        "%s, from %" PRIx64 " to %" PRIx64, watch->path,
                        watch->base_zxid, zxid);
    }
    if (!is_complete(watch, due, count) && count < ZOOKEEPER_EVENTS_MAX) {
        trace_both(watch, due, count);
        zookeeper_check(false, 3,
                        "a persistent watch was not notified of what happened",
                        "%s, mode %d, from %" PRIx64 " to %" PRIx64,
                        watch->path, (int)watch->mode, watch->base_zxid, zxid);
    }
    watch->base_zxid = zxid;
    watch->event_count = 0;
}

void zookeeper_check_watches(struct zookeeper_process *process, int64_t zxid)
{
    for (struct zookeeper_watch *w = process->watches; w != NULL; w = w->next) {
        if (w->freed || !w->armed)
            continue;
        if (is_one_shot(w)) {
            check_one_shot(w, zxid);
            continue;
        }
        zookeeper_check(!w->resync_due, 3,
                        "an answer comes before RESYNC on a new connection",
                        "%s", w->path);
        if (w->based) {
            check_persistent(w, zxid);
            continue;
        }
        w->based = true;
        w->base_zxid = zxid;
        w->event_count = 0;
    }
}

/* ---------------------------------------------------------------- events -- */

void zookeeper_watch_set(struct zookeeper_watch *watch, int64_t zxid)
{
    watch->armed = true;
    watch->armed_zxid = zxid;
    watch->armed_connection = watch->process->connection;
    watch->missing = watch->watch.watcher.state == HF_ZK_WATCHER_ARMED_MISSING;
    watch->used_up = false;
    if (is_one_shot(watch))
        return;
    watch->resync_due = false;
    watch->based = true;
    watch->base_zxid = zxid;
    watch->event_count = 0;
}

/* The transaction of the event, which the server has sent after the last one of
 * this watch and after the answer that set it; 0: it has sent none. */
static int64_t zxid_of(struct zookeeper_watch *watch, int32_t type,
                       const char *path)
{
    const struct zookeeper_process *process = watch->process;
    const struct zk_sent_event *sent = zk_handle_events(process->handles[0]);

    if (watch->event != NULL && watch->event_connection == process->connection)
        sent = zk_handle_next_event(watch->event);
    while (sent != NULL && (zk_handle_event_zxid(sent) <= watch->armed_zxid ||
                            !is_event(zk_handle_event_type(sent),
                                      zk_handle_event_path(sent), type, path)))
        sent = zk_handle_next_event(sent);
    if (sent == NULL)
        return 0;
    watch->event = sent;
    watch->event_connection = process->connection;
    return zk_handle_event_zxid(sent);
}

/* It is not known what has happened. */
static void on_resync(struct zookeeper_watch *watch)
{
    if (is_one_shot(watch)) {
        zookeeper_check(watch->armed && watch->process->losing, 3,
                        "RESYNC of a one-shot watch that is not due", "%s",
                        watch->path);
        watch->armed = false;
        return;
    }
    zookeeper_check(watch->resync_due, 3, "RESYNC that is not due", "%s",
                    watch->path);
    watch->armed = true;
    watch->resync_due = false;
    watch->based = false;
}

bool zookeeper_was_kept_back(const struct zookeeper_process *process,
                             const char *path)
{
    const struct zookeeper_kept_event *kept = process->kept_events;

    while (kept != NULL && strcmp(kept->path, path) != 0)
        kept = kept->next;
    return kept != NULL;
}

static const char *copy_of(const char *path)
{
    char *copy = zookeeper_alloc(strlen(path) + 1);

    return strcpy(copy, path);
}

static void on_event(struct zookeeper_watch *watch, int32_t type,
                     const char *path)
{
    struct zookeeper_process *process = watch->process;
    int64_t zxid = zxid_of(watch, type, path);

    zookeeper_check(watch->armed, 3, "an event comes before the watch is set",
                    "%s", watch->path);
    zookeeper_check(!watch->resync_due, 3,
                    "an event comes before RESYNC on a new connection", "%s",
                    watch->path);
    zookeeper_check(zxid != 0 || zookeeper_was_kept_back(process, path), 3,
                    "an event that no server has sent since the watch was set",
                    "%d of %s", (int)type, path);
    if (zxid > process->event_zxid[watch->handle])
        process->event_zxid[watch->handle] = zxid;
    if (is_one_shot(watch))
        watch->armed = false;
    else
        receive(watch->events, &watch->event_count,
                (struct zookeeper_event){.type = type, .path = copy_of(path)});
}

void zookeeper_watch_fired(struct zk_handle_watch *handle_watch,
                           const struct hf_zk_watch_event *event)
{
    struct zookeeper_watch *watch = (struct zookeeper_watch *)handle_watch;
    char path[2 * ZOOKEEPER_PATH_BYTES];

    snprintf(path, sizeof path, "%.*s", (int)event->bytes, event->path);
    zookeeper_trace(watch->process, "watch %d of %s: event %d of %s",
                    (int)watch->mode, watch->path, (int)event->type, path);
    if (watch->process->gone)
        return;
    zookeeper.end->events++;
    zookeeper_check(!watch->freed, 3, "a watch that was freed is notified",
                    "%s", watch->path);
    if (event->type == HF_ZK_RESYNC)
        on_resync(watch);
    else
        on_event(watch, (int32_t)event->type, path);
    zookeeper_user_react(watch);
}

/* --------------------------------------------------------------- session -- */

void zookeeper_watches_up(struct zookeeper_process *process, bool resumed)
{
    for (struct zookeeper_watch *w = process->watches; w != NULL; w = w->next) {
        if (w->freed || is_one_shot(w) || !w->armed)
            continue;
        w->resync_due |= resumed;
        w->based = false;
    }
}

/* All one-shot watches have been notified by the time that this returns to the
 * session, and the others are set again. */
static void after_loss(void *arg)
{
    struct zookeeper_process *process = arg;

    process->losing = false;
    for (struct zookeeper_watch *w = process->watches; w != NULL; w = w->next)
        zookeeper_check(w->freed || !is_one_shot(w) || !w->armed ||
                            w->armed_connection != 0,
                        3, "a one-shot watch gets no RESYNC after the session",
                        "%s", w->path);
}

void zookeeper_watches_lost(struct zookeeper_process *process)
{
    process->losing = true;
    for (struct zookeeper_watch *w = process->watches; w != NULL; w = w->next) {
        if (is_one_shot(w)) {
            w->armed_connection = 0;
            continue;
        }
        w->resync_due |= w->armed;
        w->armed = false;
    }
    zookeeper_later(0, after_loss, process);
}
