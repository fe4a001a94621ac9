/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inotify instance of a session, and the timer that takes its place.
 *
 * inotify has one watch descriptor for an inode, however often it is added.  So
 * one that several watches use is removed with the last of them.
 */
#include "engines/file/inotify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engines/file/barrier.h"
#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue_watch.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_watch.h"
#include "engines/file/watch_descriptors.h"

/* How often the timer has everything checked. */
#define CHECK_EVERY_S 1

#define BUFFER_BYTES 4096

/* How often one call reads; the loop calls again for the rest. */
#define READS_MAX 16

/* Pass one event on.  A move of a directory above all tickets, and an overflow,
 * concern everything.  IN_IGNORED only says that a watch descriptor has ended.
 */
static void handle_event(struct hf_engine *engine,
                         const struct inotify_event *event)
{
    const struct hf_file_inotify *inotify = &engine->inotify;
    bool all = (event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0 ||
               event->wd == inotify->root_wd || event->wd == inotify->locks_wd;

    if ((event->mask & IN_IGNORED) != 0)
        return;
    if ((event->mask & IN_MOVED_TO) != 0)
        inotify->on_change(engine, event->wd, false, event->name);
    else
        inotify->on_change(engine, event->wd, all, NULL);
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
    engine->inotify.on_change(engine, -1, true, NULL);
}

/* Have ${callback} run when ${*fd} is readable.  False if ${*fd} is -1, or if
 * there is no memory or loop; ${*fd} is then closed and -1. */
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

void hf_file_inotify_watch_root(struct hf_engine *engine)
{
    struct hf_file_inotify *inotify = &engine->inotify;
    char locks[HF_PATH_BYTES];

    if (inotify->inotify_fd < 0)
        return;
    hf_file_root_settings_path(&engine->settings, ".", NULL, locks);
    inotify->root_wd = hf_file_sys_inotify_add(
        inotify->inotify_fd, engine->settings.root, IN_MOVE_SELF | IN_ONLYDIR);
    inotify->locks_wd = hf_file_sys_inotify_add(inotify->inotify_fd, locks,
                                                IN_MOVE_SELF | IN_ONLYDIR);
}

/* Measured on Linux 6.18: a FIFO of a killed process hangs up after 12 ms if
 * its number is below that of inotify, and after 0.1 ms above it.  Where no
 * number is left it stays as it is, which is late and not wrong. */
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

/* Give ${*fd} a lower number if one is free, so that the tickets to come have
 * higher ones by themselves. */
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

/* Have an inotify instance; false if none is left. */
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
    if (!start_poll(engine, &inotify->inotify_fd, &inotify->inotify_poll,
                    on_inotify))
        return false;
    hf_file_inotify_watch_root(engine);
    return true;
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

/* Watch the open ${fifo} by its descriptor, because its path may name another
 * file by now.  Its link count and its times are reported.  -1: it cannot be
 * watched. */
static int watch_inode(struct hf_engine *engine, int fifo)
{
    char path[sizeof("/proc/self/fd/") + 10];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fifo);
    return hf_file_sys_inotify_add(engine->inotify.inotify_fd, path,
                                   IN_ATTRIB | IN_MOVE_SELF);
}

/* What comes into a directory is reported only while a queue watch of
 * participants wants it. */
static uint32_t mask_for_participants(const struct hf_engine *engine,
                                      const char *dir_name)
{
    for (const struct hf_file_queue_watch *w = engine->queue_watches; w != NULL;
         w = w->next)
        if (w->request->ticket_kind == HF_TICKET_PARTICIPANT &&
            strcmp(w->dir_name, dir_name) == 0)
            return IN_MOVED_TO;
    return 0;
}

/* Watch the directory ${dir_name}; -1: it cannot be watched. */
static int watch_directory(struct hf_engine *engine, const char *dir_name)
{
    char path[HF_PATH_BYTES];

    hf_file_root_settings_path(&engine->settings, dir_name, NULL, path);
    return hf_file_sys_inotify_add(engine->inotify.inotify_fd, path,
                                   IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW |
                                       mask_for_participants(engine, dir_name));
}

/* Are ${wd}, ${dir_wd} and the directories above them all watched?  If not, the
 * timer takes the place of inotify, and a warning says so once.  False if
 * neither can be had. */
static bool watched_or_timed(struct hf_engine *engine, int wd, int dir_wd)
{
    if (wd >= 0 && dir_wd >= 0 && engine->inotify.root_wd >= 0 &&
        engine->inotify.locks_wd >= 0)
        return true;
    if (!engine->inotify.warned)
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "no inotify instance or watch is left for this user: "
                         "that others remove a ticket, lower a barrier or come "
                         "to a double one is noticed within %d s instead of at "
                         "once; raise fs.inotify.max_user_instances",
                         CHECK_EVERY_S);
    engine->inotify.warned = true;
    return hf_file_inotify_start_timer(engine);
}

/* Does any watch still use ${wd}? */
static bool is_wd_used(const struct hf_engine *engine, int wd)
{
    if (hf_file_watch_descriptors_next(engine, wd, NULL) != NULL)
        return true;
    for (const struct hf_file_barrier_watch *w = engine->barrier_watches;
         w != NULL; w = w->next)
        if (w->barrier_wd == wd || w->dir_wd == wd)
            return true;
    for (const struct hf_file_queue_watch *w = engine->queue_watches; w != NULL;
         w = w->next)
        if (w->dir_wd == wd)
            return true;
    return false;
}

/* Have inotify watch ${wd} no longer, unless another watch uses it. */
static void remove_wd(struct hf_engine *engine, int wd)
{
    if (wd >= 0 && !is_wd_used(engine, wd))
        (void)inotify_rm_watch(engine->inotify.inotify_fd, wd);
}

bool hf_file_inotify_watch_ticket(struct hf_engine *engine,
                                  struct hf_file_ticket_watch *watch)
{
    if (start_inotify(engine)) {
        int ticket_wd = watch_inode(engine, watch->own_ticket->fifo);

        hf_file_watch_descriptors_set(
            watch, ticket_wd,
            watch_directory(engine, watch->own_ticket->dir_name));
    }
    return watched_or_timed(engine, watch->ticket_wd, watch->dir_wd);
}

bool hf_file_inotify_watch_barrier(struct hf_file_barrier_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    char path[HF_PATH_BYTES];

    hf_file_root_settings_path(&engine->settings, watch->dir_name,
                               HF_BARRIER_FILE, path);
    if (start_inotify(engine)) {
        watch->barrier_wd = hf_file_sys_inotify_add(
            engine->inotify.inotify_fd, path,
            IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW);
        watch->dir_wd = watch_directory(engine, watch->dir_name);
    }
    return watched_or_timed(engine, watch->barrier_wd, watch->dir_wd);
}

bool hf_file_inotify_watch_queue(struct hf_file_queue_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    int before = watch->dir_wd;
    bool missing;

    watch->armed = false;
    if (start_inotify(engine)) {
        watch->dir_wd = watch_directory(engine, watch->dir_name);
        missing = watch->dir_wd < 0 && errno == ENOENT;
        if (watch->dir_wd != before)
            remove_wd(engine, before);
        if (missing)
            return true;
    }
    watch->armed = watched_or_timed(engine, watch->dir_wd, watch->dir_wd);
    return watch->armed;
}

void hf_file_inotify_unwatch_ticket(struct hf_file_ticket_watch *watch)
{
    hf_file_watch_descriptors_clear(watch);
    remove_wd(watch->engine, watch->ticket_wd);
    remove_wd(watch->engine, watch->dir_wd);
}

void hf_file_inotify_unwatch_barrier(const struct hf_file_barrier_watch *watch)
{
    remove_wd(watch->engine, watch->barrier_wd);
    remove_wd(watch->engine, watch->dir_wd);
}

/* The watches that are left may use the directory, but may not want to know
 * what comes into it.  So it is watched anew. */
void hf_file_inotify_unwatch_queue(const struct hf_file_queue_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    int wd;

    remove_wd(engine, watch->dir_wd);
    if (watch->dir_wd < 0 || !is_wd_used(engine, watch->dir_wd))
        return;
    wd = watch_directory(engine, watch->dir_name);
    if (wd != watch->dir_wd) /* another directory by now */
        remove_wd(engine, wd);
}

static void on_closed(uv_handle_t *handle)
{
    hf_file_handle_closed(handle->data);
}

/* Close ${*fd} and its handle, if it is open. */
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
