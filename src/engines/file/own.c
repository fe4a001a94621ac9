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
 * matters.  From then on it is watched if it is there 5 ms later (own_wake.c):
 * most grants are short, and a watch costs more than they do.  Where inotify
 * has no room a timer looks every LOOK_EVERY_S.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engines/file/own_private.h"
#include "engines/file/sys.h"

#define LOOK_EVERY_S 1
#define BUFFER_BYTES 4096

/* One round of reading; what is left wakes the loop again. */
#define READS_MAX 16

enum presence { PRESENT, GONE, UNKNOWN };

static bool says_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* By its path: the FIFO is open, so no other has its number. */
static enum presence look_at(const struct hf_engine *engine,
                             struct hf_file_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct stat at_path;

    ticket->present = false;
    hf_ticket_file_format(&ticket->ticket, file);
    hf_site_path(&engine->site, ticket->entry, file, path);
    if (hf_sys_lstat(path, &at_path) != 0)
        return says_gone(errno) ? GONE : UNKNOWN;
    if (at_path.st_dev != ticket->device || at_path.st_ino != ticket->inode)
        return GONE;
    ticket->touched_at = at_path.st_mtim;
    ticket->present = true;
    return PRESENT;
}

bool hf_own_present(const struct hf_engine *engine,
                    struct hf_file_ticket *ticket)
{
    return look_at(engine, ticket) != GONE;
}

/* Who moves or deletes the whole place may not know that it is in use. */
void hf_own_answer_gone(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};
    char locks[HF_PATH_BYTES];
    struct stat status;

    hf_site_path(&engine->site, ".", NULL, locks);
    event.as.answer.request = request;
    event.as.answer.text = "";
    if (hf_sys_lstat(locks, &status) != 0 && says_gone(errno))
        event.as.answer.text =
            "the lock directory was deleted or moved away; make sure that "
            "nothing cleans it up while it is in use";
    engine->host.event(engine->host.host, &event);
}

static bool start_timer(struct hf_engine *engine);

/* ------------------------------------------------------------------ look -- */

/* The first watch of a ticket of our own that ${look} may concern, and the one
 * after it.  The lists of what was woken and of what waits for one ticket are
 * short. */
static struct hf_watch *next_behind(const struct hf_engine *engine,
                                    const struct hf_own_look *look,
                                    const struct hf_file_ticket *after)
{
    const struct hf_file_ticket *own = after;

    do
        own = hf_file_tickets_behind(&engine->tickets, look->gone, own);
    while (own != NULL && own->watches == NULL);
    return own != NULL ? own->watches : NULL;
}

static struct hf_watch *first(const struct hf_engine *engine,
                              const struct hf_own_look *look)
{
    if (look->gone != NULL)
        return next_behind(engine, look, NULL);
    if (look->woken)
        return engine->own.woken;
    return look->all ? engine->watches
                     : hf_own_next_of_wd(engine, look->wd, NULL);
}

static struct hf_watch *next(const struct hf_engine *engine,
                             const struct hf_own_look *look,
                             const struct hf_watch *watch)
{
    if (look->gone != NULL && watch->next_of_own == NULL)
        return next_behind(engine, look, watch->own);
    if (look->gone != NULL)
        return watch->next_of_own;
    if (look->woken)
        return watch->next_woken;
    return look->all ? watch->next : hf_own_next_of_wd(engine, look->wd, watch);
}

/* Where it cannot be told, for want of memory say, it is looked at again. */
static bool is_gone(struct hf_engine *engine, struct hf_file_ticket *own)
{
    enum presence presence = look_at(engine, own);

    if (presence == UNKNOWN)
        (void)start_timer(engine);
    return presence == GONE;
}

static struct hf_watch *first_gone(struct hf_engine *engine,
                                   const struct hf_own_look *look)
{
    struct hf_watch *w = first(engine, look);

    while (w != NULL && !(w->own != NULL && is_gone(engine, w->own)))
        w = next(engine, look, w);
    return w;
}

/* Somebody has touched the ticket since ${watch} last said so, as far as the
 * last look shows: see others.c. */
static bool was_asked(struct hf_watch *watch)
{
    struct timespec seen = watch->seen;

    watch->seen = watch->own->touched_at;
    return seen.tv_sec != watch->seen.tv_sec ||
           seen.tv_nsec != watch->seen.tv_nsec;
}

static struct hf_watch *first_asked(const struct hf_engine *engine,
                                    const struct hf_own_look *look)
{
    struct hf_watch *w = first(engine, look);

    while (w != NULL && !(w->own != NULL && was_asked(w)))
        w = next(engine, look, w);
    return w;
}

/* Nothing hangs up for one's own: who looks at its queue here is told. */
static void drop_gone(struct hf_engine *engine, struct hf_file_ticket *own)
{
    char entry[HF_ENTRY_BYTES];

    memcpy(entry, own->entry, strlen(own->entry) + 1);
    (void)hf_engine_drop(engine, own);
    hf_looks_changed(engine, entry);
}

/* From the start after each: the core may forget any watch meanwhile.  The
 * ticket that is gone is closed too, for the next in line waits for that. */
void hf_own_look_round(struct hf_engine *engine, const struct hf_own_look *look)
{
    struct hf_watch *watch;

    while ((watch = first_gone(engine, look)) != NULL)
        drop_gone(engine, watch->own);
    while ((watch = first_asked(engine, look)) != NULL)
        hf_engine_answer(engine, watch->request, HF_EVENT_REVOKED);
}

static void take_in(struct hf_engine *engine, const struct inotify_event *event)
{
    /* The places above have no watch of a ticket's own: their wd is -1 there,
     * as it is in an overflow.  IGNORED only says that a wd has ended. */
    struct hf_own_look look = {.wd = event->wd};

    if ((event->mask & IN_IGNORED) != 0)
        return;
    if ((event->mask & IN_MOVED_TO) != 0) {
        hf_looks_heard(engine, event->wd, false, event->name);
        return;
    }
    look.all = (event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0 ||
               event->wd == engine->own.root_wd ||
               event->wd == engine->own.locks_wd;
    hf_own_look_round(engine, &look);
    hf_marks_heard(engine, look.wd, look.all);
    hf_looks_heard(engine, look.wd, look.all, NULL);
}

void hf_own_drain(struct hf_engine *engine)
{
    _Alignas(struct inotify_event) char buffer[BUFFER_BYTES];

    for (unsigned i = 0; i < READS_MAX && engine->own.inotify_fd >= 0; i++) {
        ssize_t got = read(engine->own.inotify_fd, buffer, sizeof(buffer));

        if (got <= 0)
            return;
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event =
                (const struct inotify_event *)(const void *)(buffer + at);

            take_in(engine, event);
            at += (ssize_t)sizeof(*event) + (ssize_t)event->len;
        }
    }
}

static void on_inotify(uv_poll_t *poll, int failure, int events)
{
    (void)failure;
    (void)events;
    hf_own_drain(poll->data);
}

static void on_timer(uv_poll_t *poll, int failure, int events)
{
    struct hf_engine *engine = poll->data;
    const struct hf_own_look look = {.all = true};
    uint64_t expirations;

    (void)failure;
    (void)events;
    if (read(engine->own.timer_fd, &expirations, sizeof(expirations)) <= 0)
        return;
    hf_own_look_round(engine, &look);
    hf_marks_heard(engine, -1, true);
    hf_looks_heard(engine, -1, true, NULL);
}

/* Have ${callback} run when ${fd} is readable; closes it if that fails. */
static bool listen_to(struct hf_engine *engine, int *fd, uv_poll_t *poll,
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

void hf_own_place_opened(struct hf_engine *engine)
{
    struct hf_own_watching *own = &engine->own;
    char locks[HF_PATH_BYTES];

    if (own->inotify_fd < 0)
        return;
    hf_site_path(&engine->site, ".", NULL, locks);
    own->root_wd = hf_sys_inotify_add(own->inotify_fd, engine->site.root,
                                      IN_MOVE_SELF | IN_ONLYDIR);
    own->locks_wd =
        hf_sys_inotify_add(own->inotify_fd, locks, IN_MOVE_SELF | IN_ONLYDIR);
}

/* Descriptors of a process that dies are let go from the highest number down
 * (measured on Linux 6.18: 12 ms to the hang-up below inotify's, 0.1 ms above
 * it).  Where there is no number left it stays as it is: later, not wrong. */
void hf_own_put_above(struct hf_engine *engine, struct hf_file_ticket *ticket)
{
    int least = engine->own.inotify_fd + 1;
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
        hf_own_put_above(engine, t);
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
    struct hf_own_watching *own = &engine->own;

    if (own->inotify_fd >= 0)
        return true;
    own->inotify_fd = hf_sys_inotify();
    if (own->inotify_fd >= 0) {
        put_all_above(engine);
        put_below(&own->inotify_fd);
    }
    if (!listen_to(engine, &own->inotify_fd, &own->inotify, on_inotify))
        return false;
    hf_own_place_opened(engine);
    return true;
}

static bool start_timer(struct hf_engine *engine)
{
    static const struct itimerspec every = {{LOOK_EVERY_S, 0},
                                            {LOOK_EVERY_S, 0}};
    struct hf_own_watching *own = &engine->own;

    if (own->timer_fd >= 0)
        return true;
    own->timer_fd = hf_sys_timer();
    if (!listen_to(engine, &own->timer_fd, &own->timer, on_timer))
        return false;
    (void)timerfd_settime(own->timer_fd, 0, &every, NULL);
    return true;
}

/* By the descriptor: the path may name another file by now. */
static int watch_inode(struct hf_engine *engine, int fifo)
{
    char path[sizeof("/proc/self/fd/") + 10];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fifo);
    return hf_sys_inotify_add(engine->own.inotify_fd, path,
                              IN_ATTRIB | IN_MOVE_SELF);
}

/* Only where somebody looks at members does it matter what comes. */
static uint32_t news_of_members(const struct hf_engine *engine,
                                const char *entry)
{
    for (const struct hf_look *l = engine->looks; l != NULL; l = l->next)
        if (l->request->ticket_kind == HF_TICKET_PARTICIPANT &&
            strcmp(l->entry, entry) == 0)
            return IN_MOVED_TO;
    return 0;
}

static int watch_directory(struct hf_engine *engine, const char *entry)
{
    char path[HF_PATH_BYTES];

    hf_site_path(&engine->site, entry, NULL, path);
    return hf_sys_inotify_add(engine->own.inotify_fd, path,
                              IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW |
                                  news_of_members(engine, entry));
}

/* Is all of it watched?  Else a timer will have to do. */
static bool settle(struct hf_engine *engine, int wd, int dir_wd)
{
    if (wd >= 0 && dir_wd >= 0 && engine->own.root_wd >= 0 &&
        engine->own.locks_wd >= 0)
        return true;
    if (!engine->own.warned)
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "no inotify instance or watch is left for this user: "
                         "that others remove a ticket, lower a barrier or come "
                         "to a double one is noticed within %d s instead of at "
                         "once; raise fs.inotify.max_user_instances",
                         LOOK_EVERY_S);
    engine->own.warned = true;
    return start_timer(engine);
}

static bool shared_wd(const struct hf_engine *engine, int wd)
{
    if (hf_own_next_of_wd(engine, wd, NULL) != NULL)
        return true;
    for (const struct hf_mark_look *l = engine->mark_looks; l != NULL;
         l = l->next)
        if (l->mark_wd == wd || l->dir_wd == wd)
            return true;
    for (const struct hf_look *l = engine->looks; l != NULL; l = l->next)
        if (l->dir_wd == wd)
            return true;
    return false;
}

static void unwatch(struct hf_engine *engine, int wd)
{
    if (wd >= 0 && !shared_wd(engine, wd))
        (void)inotify_rm_watch(engine->own.inotify_fd, wd);
}

bool hf_own_arm(struct hf_engine *engine, struct hf_watch *watch)
{
    if (start_inotify(engine)) {
        int ticket_wd = watch_inode(engine, watch->own->fifo);

        hf_own_set_wds(watch, ticket_wd,
                       watch_directory(engine, watch->own->entry));
    }
    return settle(engine, watch->ticket_wd, watch->dir_wd);
}

bool hf_own_arm_mark(struct hf_mark_look *look)
{
    struct hf_engine *engine = look->engine;
    char path[HF_PATH_BYTES];

    hf_site_path(&engine->site, look->entry, HF_BARRIER_FILE, path);
    if (start_inotify(engine)) {
        look->mark_wd = hf_sys_inotify_add(engine->own.inotify_fd, path,
                                           IN_ATTRIB | IN_DELETE_SELF |
                                               IN_MOVE_SELF | IN_DONT_FOLLOW);
        look->dir_wd = watch_directory(engine, look->entry);
    }
    return settle(engine, look->mark_wd, look->dir_wd);
}

bool hf_own_arm_look(struct hf_look *look)
{
    struct hf_engine *engine = look->engine;
    int before = look->dir_wd;
    bool missing;

    look->armed = false;
    if (start_inotify(engine)) {
        look->dir_wd = watch_directory(engine, look->entry);
        missing = look->dir_wd < 0 && errno == ENOENT;
        if (look->dir_wd != before)
            unwatch(engine, before);
        if (missing)
            return true;
    }
    look->armed = settle(engine, look->dir_wd, look->dir_wd);
    return look->armed;
}

/* ----------------------------------------------------------------- watch -- */

/* Closed as drop_gone() does it: others may wait for that alone. */
static void answer_gone(struct hf_engine *engine, struct hf_request *request,
                        struct hf_file_ticket *own)
{
    char entry[HF_ENTRY_BYTES];

    memcpy(entry, own->entry, strlen(own->entry) + 1);
    (void)hf_engine_drop(engine, own);
    hf_own_answer_gone(engine, request);
    hf_looks_changed(engine, entry);
}

void hf_watch_own(struct hf_engine *engine, struct hf_request *request,
                  struct hf_file_ticket *ticket)
{
    static const struct hf_error no_room = {
        HF_ELIMIT, "cannot watch a ticket: no memory or descriptor for it; "
                   "raise this process's limits (ulimit -n)"};
    struct hf_watch *watch;
    bool resting;

    /* A ticket that is gone already needs no loop to be told of. */
    if (ticket->ticket.kind != request->ticket_kind) {
        hf_engine_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    if (!hf_own_present(engine, ticket)) {
        answer_gone(engine, request, ticket);
        return;
    }
    watch = hf_watch_new(engine, request);
    if (watch == NULL) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_watch_is_of_own(watch, ticket);
    resting = hf_own_rests(engine, ticket);
    if (!resting && !hf_own_arm(engine, watch)) {
        hf_watch_end(watch);
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_engine_answer(engine, request, HF_EVENT_WATCHING);
    /* It may have gone between the first look and the arming. */
    if (request->engine_data != watch)
        return;
    if (!resting && is_gone(engine, ticket))
        drop_gone(engine, ticket);
    else if (was_asked(watch))
        hf_engine_answer(engine, request, HF_EVENT_REVOKED);
}

/* ${watch} is out of the engine's list by now. */
void hf_own_forget(struct hf_watch *watch)
{
    hf_own_unwake(watch);
    hf_own_remove_wds(watch);
    unwatch(watch->engine, watch->ticket_wd);
    unwatch(watch->engine, watch->dir_wd);
}

void hf_own_forget_mark(const struct hf_mark_look *look)
{
    unwatch(look->engine, look->mark_wd);
    unwatch(look->engine, look->dir_wd);
}

/* What comes into the directory may not matter to those left. */
void hf_own_forget_look(const struct hf_look *look)
{
    struct hf_engine *engine = look->engine;
    int wd;

    unwatch(engine, look->dir_wd);
    if (look->dir_wd < 0 || !shared_wd(engine, look->dir_wd))
        return;
    wd = watch_directory(engine, look->entry);
    if (wd != look->dir_wd) /* another directory by now */
        unwatch(engine, wd);
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

void hf_own_close(struct hf_engine *engine)
{
    close_one(engine, &engine->own.inotify_fd, &engine->own.inotify);
    close_one(engine, &engine->own.timer_fd, &engine->own.timer);
    if (!engine->own.wake_made)
        return;
    engine->handles++;
    uv_close((uv_handle_t *)&engine->own.wake, on_closed);
}
