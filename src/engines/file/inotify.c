/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inotify instance of a session, and the timer that takes its place.
 *
 * inotify has one watch descriptor for a file, however often the file is added.
 * So a watch descriptor that several watches use is removed with the last of
 * them.
 */
#include "engines/file/inotify.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/container_of.h"
#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/syscalls.h"
#include "engines/file/watch.h"

/* How often the timer has everything checked, in seconds. */
#define CHECK_EVERY_S 1

#define BUFFER_BYTES 4096

/* The events that name a file in a directory. */
#define NAME_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE)

/* What the root directory is watched for besides being moved: the removal of
 * "locks".  inotify does not report that for "locks" itself while a session has
 * it open. */
#define ROOT_EVENTS IN_DELETE

/* How often one call reads at most; the loop calls again for the rest. */
#define READS_MAX 16

/* Returns whether everything may have changed: events were lost, the filesystem
 * was unmounted, or a directory above all tickets was moved or removed. */
static bool concerns_all(const struct hf_file_inotify *inotify,
                         const struct inotify_event *event)
{
    if ((event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0)
        return true;
    if ((event->mask & NAME_EVENTS) != 0)
        return event->wd == inotify->root_wd &&
               (event->mask & IN_DELETE) != 0 &&
               strcmp(event->name, HF_FILE_LOCKS) == 0;
    return event->wd == inotify->root_wd || event->wd == inotify->locks_wd;
}

/* Handle one event.  IN_IGNORED only means that a watch descriptor has
 * ended. */
static void handle_event(struct hf_engine *engine,
                         const struct inotify_event *event)
{
    const struct hf_file_inotify *inotify = &engine->inotify;
    bool all = concerns_all(inotify, event);
    bool has_name = (event->mask & NAME_EVENTS) != 0 && !all;

    if ((event->mask & IN_IGNORED) == 0)
        inotify->on_change(engine, event->wd, all,
                           has_name ? event->name : NULL);
}

void hf_file_inotify_read(struct hf_engine *engine)
{
    _Alignas(struct inotify_event) char buffer[BUFFER_BYTES];

    for (unsigned i = 0; i < READS_MAX && engine->inotify.inotify_fd >= 0;
         i++) {
        ssize_t got = read(engine->inotify.inotify_fd, buffer, sizeof(buffer));

        if (got <= 0)
            return;
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event =
                (const struct inotify_event *)(const void *)(buffer + at);

            handle_event(engine, event);
            at += (ssize_t)sizeof(*event) + (ssize_t)event->len;
        }
    }
}

static void on_inotify(uv_poll_t *poll, int failure, int events)
{
    (void)failure;
    (void)events;
    hf_file_inotify_read(poll->data);
}

static void on_timer(uv_poll_t *poll, int failure, int events)
{
    struct hf_engine *engine = poll->data;
    uint64_t expirations;

    (void)failure;
    (void)events;
    if (read(engine->inotify.timer_fd, &expirations, sizeof(expirations)) <= 0)
        return;
    engine->inotify.on_tick(engine);
}

/* Have ${callback} called when ${*fd} is readable.  Returns false if ${*fd} is
 * -1, or if there is no memory or loop; then ${*fd} is closed and set to -1. */
static bool start_poll(struct hf_engine *engine, int *fd, uv_poll_t *poll,
                       uv_poll_cb callback)
{
    uv_loop_t *loop;

    if (*fd < 0)
        return false;
    if (!hf_file_descriptors_add(&engine->descriptors, *fd)) {
        *fd = -1;
        return false;
    }
    loop = engine->host.loop(engine->host.host);
    if (loop == NULL || uv_poll_init(loop, poll, *fd) != 0) {
        hf_file_descriptors_close(&engine->descriptors, fd);
        return false;
    }
    poll->data = engine;
    uv_unref((uv_handle_t *)poll);
    (void)uv_poll_start(poll, UV_READABLE, callback);
    return true;
}

/* Add ${mask} to the events that are reported about the directory ${path}, to
 * which its move belongs.  Returns its watch descriptor, or -1. */
static int watch_directory(struct hf_engine *engine, const char *path,
                           uint32_t mask)
{
    return hf_file_sys_inotify_add(engine->inotify.inotify_fd, path,
                                   mask | IN_MOVE_SELF | IN_ONLYDIR |
                                       IN_MASK_ADD);
}

void hf_file_inotify_watch_root(struct hf_engine *engine)
{
    struct hf_file_inotify *inotify = &engine->inotify;
    char locks[HF_PATH_BYTES];

    if (inotify->inotify_fd < 0)
        return;
    hf_file_root_settings_path(&engine->settings, ".", NULL, locks);
    inotify->root_wd =
        watch_directory(engine, engine->settings.root, ROOT_EVENTS);
    inotify->locks_wd = watch_directory(engine, locks, 0);
}

/* Measured on Linux 6.18: the FIFO of a killed process hangs up after 12 ms if
 * its number is below that of inotify, and after 0.1 ms if it is above.  If no
 * higher number is free, the FIFO keeps its number, and the next waiter is only
 * admitted later. */
void hf_file_inotify_put_fifo_above(struct hf_engine *engine,
                                    struct hf_file_ticket *ticket)
{
    int least = engine->inotify.inotify_fd + 1;
    int fd;

    if (ticket->fifo >= least)
        return;
    fd = hf_file_sys_duplicate(ticket->fifo, least);
    if (fd < 0 || !hf_file_descriptors_add(&engine->descriptors, fd))
        return;
    hf_file_descriptors_close(&engine->descriptors, &ticket->fifo);
    ticket->fifo = fd;
}

static void put_all_above(struct hf_engine *engine)
{
    struct hf_file_ticket *t = hf_file_tickets_first(&engine->tickets);

    for (; t != NULL; t = hf_file_tickets_after(&engine->tickets, t))
        hf_file_inotify_put_fifo_above(engine, t);
}

/* Give ${*fd} a lower number if one is free, so that the FIFOs of new tickets
 * get higher ones. */
static void put_below(int *fd)
{
    int lower = hf_file_sys_duplicate(*fd, STDERR_FILENO + 1);

    if (lower >= 0 && lower < *fd) {
        int higher = *fd;

        *fd = lower;
        lower = higher;
    }
    if (lower >= 0)
        (void)close(lower);
}

/* Make the inotify instance, unless there is one.  Returns false if none is
 * left. */
static bool start_inotify(struct hf_engine *engine)
{
    struct hf_file_inotify *inotify = &engine->inotify;

    if (inotify->inotify_fd >= 0)
        return true;
    inotify->inotify_fd = hf_file_sys_inotify();
    if (inotify->inotify_fd >= 0) {
        put_all_above(engine);
        put_below(&inotify->inotify_fd);
    }
    return start_poll(engine, &inotify->inotify_fd, &inotify->inotify_poll,
                      on_inotify);
}

bool hf_file_inotify_start_timer(struct hf_engine *engine)
{
    static const struct itimerspec every = {{CHECK_EVERY_S, 0},
                                            {CHECK_EVERY_S, 0}};
    struct hf_file_inotify *inotify = &engine->inotify;

    if (inotify->timer_fd >= 0)
        return true;
    inotify->timer_fd = hf_file_sys_timer();
    if (!start_poll(engine, &inotify->timer_fd, &inotify->timer_poll, on_timer))
        return false;
    (void)timerfd_settime(inotify->timer_fd, 0, &every, NULL);
    return true;
}

static void on_arm_timer(uv_timer_t *timer)
{
    struct hf_engine *engine = timer->data;

    engine->inotify.on_arm(engine);
}

bool hf_file_inotify_arm_later(struct hf_engine *engine, uint64_t ms)
{
    struct hf_file_inotify *inotify = &engine->inotify;
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    uint64_t at_ms;

    if (!inotify->arm_timer_made && loop != NULL &&
        uv_timer_init(loop, &inotify->arm_timer) == 0) {
        inotify->arm_timer_made = true;
        inotify->arm_timer.data = engine;
        uv_unref((uv_handle_t *)&inotify->arm_timer);
    }
    if (!inotify->arm_timer_made)
        return false;
    at_ms = uv_now(inotify->arm_timer.loop) + ms;
    if (uv_is_active((uv_handle_t *)&inotify->arm_timer) &&
        inotify->arm_at_ms <= at_ms)
        return true;
    inotify->arm_at_ms = at_ms;
    (void)uv_timer_start(&inotify->arm_timer, on_arm_timer, ms, 0);
    return true;
}

/* ----------------------------------------------------- watch descriptors -- */

/* A key in either tree: ordered by watch descriptor, then by number of the
 * watch. */
struct wd_key {
    int wd;
    uint64_t number;
};

static int compare_keys(const struct wd_key *key, int wd, uint64_t number)
{
    if (key->wd != wd)
        return key->wd < wd ? -1 : 1;
    return (key->number > number) - (key->number < number);
}

static int compare_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_file_watch *watch =
        container_of(node, const struct hf_file_watch, by_wd);

    return compare_keys(key, watch->wd, watch->number);
}

static int compare_dir_wds(const void *key, const struct hf_tree_node *node)
{
    const struct hf_file_watch *watch =
        container_of(node, const struct hf_file_watch, by_dir_wd);

    return compare_keys(key, watch->dir_wd, watch->number);
}

void hf_file_inotify_init(struct hf_file_inotify *inotify)
{
    inotify->inotify_fd = -1;
    inotify->timer_fd = -1;
    inotify->root_wd = -1;
    inotify->locks_wd = -1;
    inotify->wds.compare = compare_wds;
    inotify->dir_wds.compare = compare_dir_wds;
}

/* Remove ${watch} from the trees.  Its .wd and .dir_wd stay as they are. */
static void clear_wds(struct hf_file_watch *watch)
{
    struct hf_file_inotify *inotify = &watch->engine->inotify;
    const struct wd_key inode = {watch->wd, watch->number};
    const struct wd_key dir = {watch->dir_wd, watch->number};

    if (inode.wd >= 0)
        hf_tree_remove(&inotify->wds, &watch->by_wd, &inode);
    if (dir.wd >= 0)
        hf_tree_remove(&inotify->dir_wds, &watch->by_dir_wd, &dir);
}

/* Set .wd of ${watch} to ${wd} (of the FIFO, the link, or the directory above)
 * and .dir_wd to ${dir_wd} (of its directory), and move it in the trees.  -1:
 * not watched. */
static void set_wds(struct hf_file_watch *watch, int wd, int dir_wd)
{
    struct hf_file_inotify *inotify = &watch->engine->inotify;
    const struct wd_key inode = {wd, watch->number};
    const struct wd_key dir = {dir_wd, watch->number};

    clear_wds(watch);
    watch->wd = wd;
    watch->dir_wd = dir_wd;
    if (inode.wd >= 0)
        hf_tree_add(&inotify->wds, &watch->by_wd, &inode);
    if (dir.wd >= 0)
        hf_tree_add(&inotify->dir_wds, &watch->by_dir_wd, &dir);
}

/* Returns the watch after ${number} whose directory has the watch descriptor
 * ${wd}, or NULL. */
static struct hf_file_watch *next_of_dir(const struct hf_engine *engine, int wd,
                                         uint64_t number)
{
    const struct wd_key key = {wd, number};
    struct hf_file_watch *watch =
        container_of_or_null(hf_tree_after(&engine->inotify.dir_wds, &key),
                             struct hf_file_watch, by_dir_wd);

    return watch != NULL && watch->dir_wd == wd ? watch : NULL;
}

struct hf_file_watch *hf_file_inotify_next(const struct hf_engine *engine,
                                           int wd,
                                           const struct hf_file_watch *after)
{
    const struct wd_key key = {wd, after != NULL ? after->number : 0};
    struct hf_file_watch *watch;

    if (after != NULL && after->wd != wd)
        return next_of_dir(engine, wd, after->number);
    watch = container_of_or_null(hf_tree_after(&engine->inotify.wds, &key),
                                 struct hf_file_watch, by_wd);
    return watch != NULL && watch->wd == wd ? watch
                                            : next_of_dir(engine, wd, 0);
}

/* Returns whether ${wd} belongs to a watch, or to a directory above all of
 * them. */
static bool is_used(const struct hf_engine *engine, int wd)
{
    return wd == engine->inotify.root_wd || wd == engine->inotify.locks_wd ||
           hf_file_inotify_next(engine, wd, NULL) != NULL;
}

/* Stop watching ${wd}, unless it is used. */
static void remove_wd(struct hf_engine *engine, int wd)
{
    if (wd >= 0 && !is_used(engine, wd))
        (void)inotify_rm_watch(engine->inotify.inotify_fd, wd);
}

/* Returns whether a queue watch needs the names in the directory ${wd}. */
static bool are_names_wanted(const struct hf_engine *engine, int wd)
{
    const struct hf_file_watch *watch = hf_file_inotify_next(engine, wd, NULL);

    while (watch != NULL && watch->kind != HF_FILE_WATCH_QUEUE)
        watch = hf_file_inotify_next(engine, wd, watch);
    return watch != NULL;
}

/* ----------------------------------------------------- arming, disarming -- */

/* Watch the directory of ${watch}.  A ticket appears in a queue by a rename.
 * When a ticket goes, its FIFO hangs up; but a ticket of this session, or one
 * far behind, has no FIFO watch, so the removal of its name is watched, too.
 * For participants this is not needed (.has_own is not set): the core watches
 * each of its own participants, and otherwise every leave would wake all others
 * once more. */
static int watch_own_directory(const struct hf_file_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    uint32_t mask = IN_DONT_FOLLOW;
    char path[HF_PATH_BYTES];

    if (watch->kind == HF_FILE_WATCH_QUEUE)
        mask |= IN_MOVED_TO |
                (watch->as.queue.has_own || watch->as.queue.has_unwatched
                     ? IN_DELETE
                     : 0);
    hf_file_root_settings_path(&engine->settings, watch->dir_name, NULL, path);
    return watch_directory(engine, path, mask);
}

/* The directories above that of a queue, from the lowest up. */
enum level { LEVEL_LOCKS, LEVEL_ROOT, LEVEL_PARENT, LEVELS };

/* Set ${path} to the directory at that ${level}.  Returns the name of what must
 * be in it on the way to the directory ${dir_name}. */
static const char *path_above(const struct hf_engine *engine, enum level level,
                              const char *dir_name, char path[HF_PATH_BYTES])
{
    const char *root = engine->settings.root;
    const char *name = strrchr(root, '/') + 1;

    switch (level) {
    case LEVEL_LOCKS:
        hf_file_root_settings_path(&engine->settings, ".", NULL, path);
        return dir_name;
    case LEVEL_ROOT:
        (void)snprintf(path, HF_PATH_BYTES, "%s", root);
        return HF_FILE_LOCKS;
    default: /* LEVEL_PARENT; the path ends with a slash */
        (void)snprintf(path, HF_PATH_BYTES, "%.*s", (int)(name - root), root);
        return name;
    }
}

/* Watch the lowest directory above that of the queue ${watch} that exists, for
 * the name that must appear in it next. */
static int watch_above(struct hf_file_watch *watch)
{
    char path[HF_PATH_BYTES];
    int wd = -1;

    for (enum level level = 0; level < LEVELS && wd < 0; level++) {
        watch->as.queue.awaited =
            path_above(watch->engine, level, watch->dir_name, path);
        wd = watch_directory(watch->engine, path, IN_CREATE | IN_MOVED_TO);
        if (wd < 0 && errno != ENOENT)
            return -1;
    }
    return wd;
}

/* Watch the FIFO, the link, or the directory above, of ${watch}.  An open FIFO
 * is watched by its descriptor, because its path may name another file by now;
 * changes of its link count and its times are reported.  The link of a barrier
 * is watched at its path.  For a queue, what is above its directory is watched.
 * ${missing}: the directory does not exist.  Returns -1 if it cannot be watched
 * or need not be. */
static int watch_inode(struct hf_file_watch *watch, bool missing)
{
    struct hf_engine *engine = watch->engine;
    uint32_t mask = IN_ATTRIB | IN_MOVE_SELF;
    char path[HF_PATH_BYTES];

    switch (watch->kind) {
    case HF_FILE_WATCH_OWN:
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
                       watch->as.own.ticket->fifo);
        break;
    case HF_FILE_WATCH_BARRIER:
        hf_file_root_settings_path(&engine->settings, watch->dir_name,
                                   HF_BARRIER_FILE, path);
        mask |= IN_DELETE_SELF | IN_DONT_FOLLOW;
        break;
    default:
        assert(watch->kind == HF_FILE_WATCH_QUEUE);
        return missing || watch->as.queue.empty ? watch_above(watch) : -1;
    }
    return hf_file_sys_inotify_add(engine->inotify.inotify_fd, path, mask);
}

/* Returns whether inotify watches all that ${watch} needs, and the directories
 * above it. */
static bool is_watched(const struct hf_file_watch *watch, bool missing)
{
    const struct hf_file_inotify *inotify = &watch->engine->inotify;
    bool above = inotify->root_wd >= 0 && inotify->locks_wd >= 0;

    if (watch->kind != HF_FILE_WATCH_QUEUE)
        return watch->wd >= 0 && watch->dir_wd >= 0 && above;
    /* If "locks" is missing, too, nothing below it can be moved. */
    if (missing)
        return watch->wd >= 0 &&
               (above || watch->as.queue.awaited != watch->dir_name);
    return watch->dir_wd >= 0 && above &&
           (watch->wd >= 0 || !watch->as.queue.empty);
}

/* Use the timer in place of inotify, and log a warning once.  Returns false if
 * there is no timer. */
static bool use_timer(struct hf_engine *engine)
{
    if (!engine->inotify.warned)
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "no inotify instance or watch is left for this user: "
                         "that others remove a ticket, clear a barrier or come "
                         "to a queue that is watched is noticed within %d s "
                         "instead of at once; raise "
                         "fs.inotify.max_user_instances",
                         CHECK_EVERY_S);
    engine->inotify.warned = true;
    return hf_file_inotify_start_timer(engine);
}

/* Set the state; but a watch that is HF_FILE_WATCH_TO_ARM stays so, and stays
 * in its list. */
static void set_state(struct hf_file_watch *watch,
                      enum hf_file_watch_state state)
{
    assert(watch->state != HF_FILE_WATCH_CHANGED);
    if (watch->state != HF_FILE_WATCH_TO_ARM)
        watch->state = state;
}

/* Stop the reports about names in the directory ${wd}, at ${path}, if no queue
 * watch needs them any more. */
static void release_directory(struct hf_engine *engine, int wd,
                              const char *path)
{
    int again;

    if (wd < 0 || are_names_wanted(engine, wd))
        return;
    remove_wd(engine, wd);
    if (!is_used(engine, wd))
        return;
    again = hf_file_sys_inotify_add(
        engine->inotify.inotify_fd, path,
        IN_MOVE_SELF | IN_ONLYDIR |
            (wd == engine->inotify.root_wd ? ROOT_EVENTS : 0));
    if (again != wd) /* another directory is at the path by now */
        remove_wd(engine, again);
}

/* Release the watch descriptors ${wd} and ${dir_wd}, which ${watch} no longer
 * has as .wd and .dir_wd.  -1: there was none, or it still has it. */
static void release_wds(const struct hf_file_watch *watch, int wd, int dir_wd)
{
    struct hf_engine *engine = watch->engine;
    char path[HF_PATH_BYTES];

    if (watch->kind != HF_FILE_WATCH_QUEUE) {
        remove_wd(engine, wd);
        remove_wd(engine, dir_wd);
        return;
    }
    (void)path_above(engine,
                     wd == engine->inotify.root_wd ? LEVEL_ROOT : LEVEL_LOCKS,
                     watch->dir_name, path);
    release_directory(engine, wd, path);
    hf_file_root_settings_path(&engine->settings, watch->dir_name, NULL, path);
    release_directory(engine, dir_wd, path);
}

bool hf_file_inotify_arm(struct hf_file_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    int wd_before = watch->wd, dir_before = watch->dir_wd;
    bool missing = false;

    set_state(watch, HF_FILE_WATCH_UNARMED);
    if (start_inotify(engine)) {
        int dir_wd = watch_own_directory(watch);

        missing = dir_wd < 0 && errno == ENOENT;
        set_wds(watch, watch_inode(watch, missing), dir_wd);
        release_wds(watch, watch->wd != wd_before ? wd_before : -1,
                    dir_wd != dir_before ? dir_before : -1);
        /* the first time, or if the root directory was missing */
        if (engine->inotify.root_wd < 0 || engine->inotify.locks_wd < 0)
            hf_file_inotify_watch_root(engine);
    }
    if (is_watched(watch, missing)) {
        set_state(watch, HF_FILE_WATCH_ARMED);
        return true;
    }
    if (!use_timer(engine))
        return false;
    set_state(watch, HF_FILE_WATCH_TIMED);
    return true;
}

void hf_file_inotify_disarm(struct hf_file_watch *watch)
{
    clear_wds(watch);
    release_wds(watch, watch->wd, watch->dir_wd);
}

/* --------------------------------------------------------------- closing -- */

static void on_closed(uv_handle_t *handle)
{
    hf_file_handle_closed(handle->data);
}

/* Close ${*fd} and its handle, unless it is -1. */
static void close_one(struct hf_engine *engine, int *fd, uv_poll_t *poll)
{
    if (*fd < 0)
        return;
    engine->handles++;
    uv_close((uv_handle_t *)poll, on_closed);
    hf_file_descriptors_close(&engine->descriptors, fd);
}

void hf_file_inotify_close(struct hf_engine *engine)
{
    close_one(engine, &engine->inotify.inotify_fd,
              &engine->inotify.inotify_poll);
    close_one(engine, &engine->inotify.timer_fd, &engine->inotify.timer_poll);
    if (!engine->inotify.arm_timer_made)
        return;
    engine->handles++;
    uv_close((uv_handle_t *)&engine->inotify.arm_timer, on_closed);
}
