/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching one's own ticket: whoever removes it, or moves its directory away,
 * ends the grant.  inotify tells of the FIFO (its link count changes) and of
 * the directories above it being moved; not of what else happens in them, so
 * nobody is woken by the tickets of others.
 *
 * A user has few inotify instances (128) and many processes may wait.  So the
 * watch of a ticket that waits behind another one rests: whether the ticket is
 * still there is looked at when the one before it goes, which is when it
 * matters.  From then on it is watched if it is there 5 ms later
 * (own_watch_deferred.c): most grants are short, and a watch costs more than
 * they do.  Where inotify has no room a timer looks every LOOK_EVERY_S.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engines/file/own_watch_private.h"
#include "engines/file/syscalls.h"

#define CHECK_EVERY_S 1
#define BUFFER_BYTES 4096

/* One round of reading; what is left wakes the loop again. */
#define READS_MAX 16

enum presence { PRESENT, GONE, UNKNOWN };

static bool means_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* By its path: the FIFO is open, so no other has its number. */
static enum presence check_path(const struct hf_engine *engine,
                                struct hf_file_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct stat at_path;

    ticket->present = false;
    hf_ticket_file_format(&ticket->ticket, file);
    hf_root_settings_path(&engine->settings, ticket->dir_name, file, path);
    if (hf_sys_lstat(path, &at_path) != 0)
        return means_gone(errno) ? GONE : UNKNOWN;
    if (at_path.st_dev != ticket->device || at_path.st_ino != ticket->inode)
        return GONE;
    ticket->last_mtime = at_path.st_mtim;
    ticket->present = true;
    return PRESENT;
}

bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket)
{
    return check_path(engine, ticket) != GONE;
}

/* Who moves or deletes the whole place may not know that it is in use. */
void hf_engine_answer_own_gone(struct hf_engine *engine,
                               struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};
    char locks[HF_PATH_BYTES];
    struct stat status;

    hf_root_settings_path(&engine->settings, ".", NULL, locks);
    event.as.answer.request = request;
    event.as.answer.text = "";
    if (hf_sys_lstat(locks, &status) != 0 && means_gone(errno))
        event.as.answer.text =
            "the lock directory was deleted or moved away; make sure that "
            "nothing cleans it up while it is in use";
    engine->host.event(engine->host.host, &event);
}

static bool start_timer(struct hf_engine *engine);

/* ------------------------------------------------------------------ look -- */

/* The first watch of a ticket of our own that ${watch} may concern, and the one
 * after it.  The lists of what was woken and of what waits for one ticket are
 * short. */
static struct hf_ticket_watch *next_blocked(const struct hf_engine *engine,
                                            const struct hf_own_check *look,
                                            const struct hf_file_ticket *after)
{
    const struct hf_file_ticket *own_ticket = after;

    do
        own_ticket = hf_file_tickets_blocked_by(&engine->tickets, look->gone,
                                                own_ticket);
    while (own_ticket != NULL && own_ticket->watches == NULL);
    return own_ticket != NULL ? own_ticket->watches : NULL;
}

static struct hf_ticket_watch *first_in(const struct hf_engine *engine,
                                        const struct hf_own_check *look)
{
    if (look->gone != NULL)
        return next_blocked(engine, look, NULL);
    if (look->to_arm)
        return engine->inotify.to_arm;
    return look->all ? engine->watches
                     : hf_watch_descriptors_next(engine, look->wd, NULL);
}

static struct hf_ticket_watch *next_in(const struct hf_engine *engine,
                                       const struct hf_own_check *look,
                                       const struct hf_ticket_watch *watch)
{
    if (look->gone != NULL && watch->next_of_ticket == NULL)
        return next_blocked(engine, look, watch->own_ticket);
    if (look->gone != NULL)
        return watch->next_of_ticket;
    if (look->to_arm)
        return watch->next_to_arm;
    return look->all ? watch->next
                     : hf_watch_descriptors_next(engine, look->wd, watch);
}

/* Where it cannot be told, for want of memory say, it is looked at again. */
static bool is_gone(struct hf_engine *engine, struct hf_file_ticket *own_ticket)
{
    enum presence presence = check_path(engine, own_ticket);

    if (presence == UNKNOWN)
        (void)start_timer(engine);
    return presence == GONE;
}

static struct hf_ticket_watch *first_gone(struct hf_engine *engine,
                                          const struct hf_own_check *look)
{
    struct hf_ticket_watch *w = first_in(engine, look);

    while (w != NULL &&
           !(w->own_ticket != NULL && is_gone(engine, w->own_ticket)))
        w = next_in(engine, look, w);
    return w;
}

/* Somebody has touched the ticket since ${watch} last said so, as far as the
 * last look shows: see eviction.c. */
static bool was_touched(struct hf_ticket_watch *watch)
{
    struct timespec seen = watch->reported_mtime;

    watch->reported_mtime = watch->own_ticket->last_mtime;
    return seen.tv_sec != watch->reported_mtime.tv_sec ||
           seen.tv_nsec != watch->reported_mtime.tv_nsec;
}

static struct hf_ticket_watch *first_touched(const struct hf_engine *engine,
                                             const struct hf_own_check *look)
{
    struct hf_ticket_watch *w = first_in(engine, look);

    while (w != NULL && !(w->own_ticket != NULL && was_touched(w)))
        w = next_in(engine, look, w);
    return w;
}

/* Nothing hangs up for one's own: who looks at its queue here is told. */
static void drop_gone(struct hf_engine *engine,
                      struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    (void)hf_engine_remove_own(engine, own_ticket);
    hf_file_queue_watches_changed(engine, dir_name);
}

/* From the start after each: the core may forget any watch meanwhile.  The
 * ticket that is gone is closed too, for the next in line waits for that. */
void hf_own_watch_check(struct hf_engine *engine,
                        const struct hf_own_check *look)
{
    struct hf_ticket_watch *watch;

    while ((watch = first_gone(engine, look)) != NULL)
        drop_gone(engine, watch->own_ticket);
    while ((watch = first_touched(engine, look)) != NULL)
        hf_engine_answer(engine, watch->request, HF_EVENT_REVOKED);
}

static void handle_event(struct hf_engine *engine,
                         const struct inotify_event *event)
{
    /* The places above have no watch of a ticket's own: their wd is -1 there,
     * as it is in an overflow.  IGNORED only says that a wd has ended. */
    struct hf_own_check look = {.wd = event->wd};

    if ((event->mask & IN_IGNORED) != 0)
        return;
    if ((event->mask & IN_MOVED_TO) != 0) {
        hf_file_queue_watches_event(engine, event->wd, false, event->name);
        return;
    }
    look.all = (event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0 ||
               event->wd == engine->inotify.root_wd ||
               event->wd == engine->inotify.locks_wd;
    hf_own_watch_check(engine, &look);
    hf_file_barrier_watches_event(engine, look.wd, look.all);
    hf_file_queue_watches_event(engine, look.wd, look.all, NULL);
}

void hf_inotify_read(struct hf_engine *engine)
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
    hf_inotify_read(poll->data);
}

static void on_timer(uv_poll_t *poll, int failure, int events)
{
    struct hf_engine *engine = poll->data;
    const struct hf_own_check look = {.all = true};
    uint64_t expirations;

    (void)failure;
    (void)events;
    if (read(engine->inotify.timer_fd, &expirations, sizeof(expirations)) <= 0)
        return;
    hf_own_watch_check(engine, &look);
    hf_file_barrier_watches_event(engine, -1, true);
    hf_file_queue_watches_event(engine, -1, true, NULL);
}

/* Have ${callback} run when ${fd} is readable; closes it if that fails. */
static bool start_poll(struct hf_engine *engine, int *fd, uv_poll_t *poll,
                       uv_poll_cb callback)
{
    uv_loop_t *loop;

    if (*fd < 0)
        return false;
    if (!hf_descriptors_add(&engine->descriptors, *fd)) {
        *fd = -1;
        return false;
    }
    loop = engine->host.loop(engine->host.host);
    if (loop == NULL || uv_poll_init(loop, poll, *fd) != 0) {
        hf_descriptors_close(&engine->descriptors, fd);
        return false;
    }
    poll->data = engine;
    uv_unref((uv_handle_t *)poll);
    (void)uv_poll_start(poll, UV_READABLE, callback);
    return true;
}

void hf_inotify_watch_root(struct hf_engine *engine)
{
    struct hf_inotify *inotify = &engine->inotify;
    char locks[HF_PATH_BYTES];

    if (inotify->inotify_fd < 0)
        return;
    hf_root_settings_path(&engine->settings, ".", NULL, locks);
    inotify->root_wd = hf_sys_inotify_add(
        inotify->inotify_fd, engine->settings.root, IN_MOVE_SELF | IN_ONLYDIR);
    inotify->locks_wd = hf_sys_inotify_add(inotify->inotify_fd, locks,
                                           IN_MOVE_SELF | IN_ONLYDIR);
}

/* Descriptors of a process that dies are let go from the highest number down
 * (measured on Linux 6.18: 12 ms to the hang-up below inotify's, 0.1 ms above
 * it).  Where there is no number left it stays as it is: later, not wrong. */
void hf_inotify_put_fifo_above(struct hf_engine *engine,
                               struct hf_file_ticket *ticket)
{
    int least = engine->inotify.inotify_fd + 1;
    int fd;

    if (ticket->fifo >= least)
        return;
    fd = hf_sys_duplicate(ticket->fifo, least);
    if (fd < 0 || !hf_descriptors_add(&engine->descriptors, fd))
        return;
    hf_descriptors_close(&engine->descriptors, &ticket->fifo);
    ticket->fifo = fd;
}

static void put_all_above(struct hf_engine *engine)
{
    struct hf_file_ticket *t = hf_file_tickets_first(&engine->tickets);

    for (; t != NULL; t = hf_file_tickets_after(&engine->tickets, t))
        hf_inotify_put_fifo_above(engine, t);
}

/* Tickets to come have higher numbers then, and need not be put above. */
static void put_below(int *fd)
{
    int lower = hf_sys_duplicate(*fd, STDERR_FILENO + 1);

    if (lower >= 0 && lower < *fd) {
        int higher = *fd;

        *fd = lower;
        lower = higher;
    }
    if (lower >= 0)
        (void)close(lower);
}

static bool start_inotify(struct hf_engine *engine)
{
    struct hf_inotify *inotify = &engine->inotify;

    if (inotify->inotify_fd >= 0)
        return true;
    inotify->inotify_fd = hf_sys_inotify();
    if (inotify->inotify_fd >= 0) {
        put_all_above(engine);
        put_below(&inotify->inotify_fd);
    }
    if (!start_poll(engine, &inotify->inotify_fd, &inotify->inotify_poll,
                    on_inotify))
        return false;
    hf_inotify_watch_root(engine);
    return true;
}

static bool start_timer(struct hf_engine *engine)
{
    static const struct itimerspec every = {{CHECK_EVERY_S, 0},
                                            {CHECK_EVERY_S, 0}};
    struct hf_inotify *inotify = &engine->inotify;

    if (inotify->timer_fd >= 0)
        return true;
    inotify->timer_fd = hf_sys_timer();
    if (!start_poll(engine, &inotify->timer_fd, &inotify->timer_poll, on_timer))
        return false;
    (void)timerfd_settime(inotify->timer_fd, 0, &every, NULL);
    return true;
}

/* By the descriptor: the path may name another file by now. */
static int watch_inode(struct hf_engine *engine, int fifo)
{
    char path[sizeof("/proc/self/fd/") + 10];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fifo);
    return hf_sys_inotify_add(engine->inotify.inotify_fd, path,
                              IN_ATTRIB | IN_MOVE_SELF);
}

/* Only where somebody looks at members does it matter what comes. */
static uint32_t mask_for_participants(const struct hf_engine *engine,
                                      const char *dir_name)
{
    for (const struct hf_file_queue_watch *l = engine->queue_watches; l != NULL;
         l = l->next)
        if (l->request->ticket_kind == HF_TICKET_PARTICIPANT &&
            strcmp(l->dir_name, dir_name) == 0)
            return IN_MOVED_TO;
    return 0;
}

static int watch_directory(struct hf_engine *engine, const char *dir_name)
{
    char path[HF_PATH_BYTES];

    hf_root_settings_path(&engine->settings, dir_name, NULL, path);
    return hf_sys_inotify_add(engine->inotify.inotify_fd, path,
                              IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW |
                                  mask_for_participants(engine, dir_name));
}

/* Is all of it watched?  Else a timer will have to do. */
static bool is_watched(struct hf_engine *engine, int wd, int dir_wd)
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
    return start_timer(engine);
}

static bool is_wd_used(const struct hf_engine *engine, int wd)
{
    if (hf_watch_descriptors_next(engine, wd, NULL) != NULL)
        return true;
    for (const struct hf_file_barrier_watch *l = engine->barrier_watches;
         l != NULL; l = l->next)
        if (l->barrier_wd == wd || l->dir_wd == wd)
            return true;
    for (const struct hf_file_queue_watch *l = engine->queue_watches; l != NULL;
         l = l->next)
        if (l->dir_wd == wd)
            return true;
    return false;
}

static void remove_wd(struct hf_engine *engine, int wd)
{
    if (wd >= 0 && !is_wd_used(engine, wd))
        (void)inotify_rm_watch(engine->inotify.inotify_fd, wd);
}

bool hf_inotify_watch_ticket(struct hf_engine *engine,
                             struct hf_ticket_watch *watch)
{
    if (start_inotify(engine)) {
        int ticket_wd = watch_inode(engine, watch->own_ticket->fifo);

        hf_watch_descriptors_set(
            watch, ticket_wd,
            watch_directory(engine, watch->own_ticket->dir_name));
    }
    return is_watched(engine, watch->ticket_wd, watch->dir_wd);
}

bool hf_inotify_watch_barrier(struct hf_file_barrier_watch *look)
{
    struct hf_engine *engine = look->engine;
    char path[HF_PATH_BYTES];

    hf_root_settings_path(&engine->settings, look->dir_name, HF_BARRIER_FILE,
                          path);
    if (start_inotify(engine)) {
        look->barrier_wd = hf_sys_inotify_add(
            engine->inotify.inotify_fd, path,
            IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW);
        look->dir_wd = watch_directory(engine, look->dir_name);
    }
    return is_watched(engine, look->barrier_wd, look->dir_wd);
}

bool hf_inotify_watch_queue(struct hf_file_queue_watch *look)
{
    struct hf_engine *engine = look->engine;
    int before = look->dir_wd;
    bool missing;

    look->armed = false;
    if (start_inotify(engine)) {
        look->dir_wd = watch_directory(engine, look->dir_name);
        missing = look->dir_wd < 0 && errno == ENOENT;
        if (look->dir_wd != before)
            remove_wd(engine, before);
        if (missing)
            return true;
    }
    look->armed = is_watched(engine, look->dir_wd, look->dir_wd);
    return look->armed;
}

/* ----------------------------------------------------------------- watch -- */

/* Closed as drop_gone() does it: others may wait for that alone. */
static void answer_gone(struct hf_engine *engine, struct hf_request *request,
                        struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    (void)hf_engine_remove_own(engine, own_ticket);
    hf_engine_answer_own_gone(engine, request);
    hf_file_queue_watches_changed(engine, dir_name);
}

void hf_engine_watch_own(struct hf_engine *engine, struct hf_request *request,
                         struct hf_file_ticket *ticket)
{
    static const struct hf_error no_room = {
        HF_ELIMIT, "cannot watch a ticket: no memory or descriptor for it; "
                   "raise this process's limits (ulimit -n)"};
    struct hf_ticket_watch *watch;
    bool resting;

    /* A ticket that is gone already needs no loop to be told of. */
    if (ticket->ticket.kind != request->ticket_kind) {
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    if (!hf_file_ticket_is_present(engine, ticket)) {
        answer_gone(engine, request, ticket);
        return;
    }
    watch = hf_ticket_watch_new(engine, request);
    if (watch == NULL) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_ticket_watch_set_own(watch, ticket);
    resting = hf_own_watch_is_deferred(engine, ticket);
    if (!resting && !hf_inotify_watch_ticket(engine, watch)) {
        hf_ticket_watch_end(watch);
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_engine_answer(engine, request, HF_EVENT_WATCHING);
    /* It may have gone between the first look and the arming. */
    if (request->engine_data != watch)
        return;
    if (!resting && is_gone(engine, ticket))
        drop_gone(engine, ticket);
    else if (was_touched(watch))
        hf_engine_answer(engine, request, HF_EVENT_REVOKED);
}

/* ${watch} is out of the engine's list by now. */
void hf_inotify_unwatch_ticket(struct hf_ticket_watch *watch)
{
    hf_own_watch_cancel_arm(watch);
    hf_watch_descriptors_clear(watch);
    remove_wd(watch->engine, watch->ticket_wd);
    remove_wd(watch->engine, watch->dir_wd);
}

void hf_inotify_unwatch_barrier(const struct hf_file_barrier_watch *look)
{
    remove_wd(look->engine, look->barrier_wd);
    remove_wd(look->engine, look->dir_wd);
}

/* What comes into the directory may not matter to those left. */
void hf_inotify_unwatch_queue(const struct hf_file_queue_watch *look)
{
    struct hf_engine *engine = look->engine;
    int wd;

    remove_wd(engine, look->dir_wd);
    if (look->dir_wd < 0 || !is_wd_used(engine, look->dir_wd))
        return;
    wd = watch_directory(engine, look->dir_name);
    if (wd != look->dir_wd) /* another directory by now */
        remove_wd(engine, wd);
}

static void on_closed(uv_handle_t *handle)
{
    hf_engine_handle_closed(handle->data);
}

static void close_one(struct hf_engine *engine, int *fd, uv_poll_t *poll)
{
    if (*fd < 0)
        return;
    engine->handles++;
    uv_close((uv_handle_t *)poll, on_closed);
    hf_descriptors_close(&engine->descriptors, fd);
}

void hf_inotify_close(struct hf_engine *engine)
{
    close_one(engine, &engine->inotify.inotify_fd,
              &engine->inotify.inotify_poll);
    close_one(engine, &engine->inotify.timer_fd, &engine->inotify.timer_poll);
    if (!engine->inotify.arm_timer_made)
        return;
    engine->handles++;
    uv_close((uv_handle_t *)&engine->inotify.arm_timer, on_closed);
}
