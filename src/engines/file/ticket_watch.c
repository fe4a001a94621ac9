/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of tickets.  inotify reports changes of the tickets of this session;
 * the end of another session's ticket is reported by its FIFO.
 *
 * If somebody removes a ticket of this session, or moves its directory away,
 * that ends the grant, so its owner must be notified.
 *
 * inotify reports changes of the FIFO (of its link count, and of its time when
 * somebody asks the owner to release) and moves of the directories above it.
 * It reports nothing else that happens in these directories, so the tickets of
 * others wake nobody.
 *
 * A watch is armed late, for two reasons.  First, a user has few inotify
 * instances (128), and many processes may wait.  So the watch of a ticket is
 * deferred while a ticket ahead of it is watched or is of this session: the end
 * of that ticket is reported here anyway, and only then does it matter whether
 * ours is still there.  Second, most grants are short, and arming a watch takes
 * longer than they last.  So a ticket that has moved up is checked at once, but
 * its watch is armed only if the ticket is still there HF_FILE_ARM_AFTER_MS
 * later.  If inotify has no room, a timer takes its place (inotify.c).
 */
#include "engines/file/ticket_watch.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"
#include "engines/file/predecessor.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/ticket_file.h"
#include "engines/file/watch.h"

/* Which tickets of this session are checked. */
enum own_check_kind {
    CHECK_BLOCKED, /* those whose blocker is .gone */
    CHECK_TO_ARM,  /* those whose watch is HF_FILE_WATCH_TO_ARM */
    /* those whose FIFO or directory has the watch descriptor .wd */
    CHECK_WD,
    CHECK_ALL,
};

struct own_check {
    enum own_check_kind kind;
    const struct hf_ticket_id *gone;
    int wd;
};

/* -------------------------------------------------------------- checking -- */

/* Returns the first watch of the next ticket that ${check}->gone blocks and
 * that has a watch; ${after} NULL: of the first such ticket. */
static struct hf_file_watch *next_blocked(const struct hf_engine *engine,
                                          const struct own_check *check,
                                          const struct hf_file_ticket *after)
{
    const struct hf_file_ticket *own_ticket = after;

    do
        own_ticket = hf_file_tickets_blocked_by(&engine->tickets, check->gone,
                                                own_ticket);
    while (own_ticket != NULL && own_ticket->watches == NULL);
    return own_ticket != NULL ? own_ticket->watches : NULL;
}

/* Returns the watch of an own ticket that follows ${after} among those with
 * ${wd}; ${after} NULL: the first. */
static struct hf_file_watch *next_with_wd(const struct hf_engine *engine,
                                          int wd,
                                          const struct hf_file_watch *after)
{
    struct hf_file_watch *watch = hf_file_inotify_next(engine, wd, after);

    while (watch != NULL && watch->kind != HF_FILE_WATCH_OWN)
        watch = hf_file_inotify_next(engine, wd, watch);
    return watch;
}

/* Returns the first watch that ${check} is about, or NULL. */
static struct hf_file_watch *first_in(const struct hf_engine *engine,
                                      const struct own_check *check)
{
    switch (check->kind) {
    case CHECK_BLOCKED:
        return next_blocked(engine, check, NULL);
    case CHECK_TO_ARM:
        return engine->inotify.to_arm;
    case CHECK_WD:
        return next_with_wd(engine, check->wd, NULL);
    case CHECK_ALL:
        break;
    }
    return engine->watches[HF_FILE_WATCH_OWN];
}

/* Returns the watch after ${watch} that ${check} is about, or NULL. */
static struct hf_file_watch *next_in(const struct hf_engine *engine,
                                     const struct own_check *check,
                                     const struct hf_file_watch *watch)
{
    assert(watch->kind == HF_FILE_WATCH_OWN);
    switch (check->kind) {
    case CHECK_BLOCKED:
        return watch->as.own.next != NULL
                   ? watch->as.own.next
                   : next_blocked(engine, check, watch->as.own.ticket);
    case CHECK_TO_ARM:
        return watch->as.own.next_to_arm;
    case CHECK_WD:
        return next_with_wd(engine, check->wd, watch);
    case CHECK_ALL:
        break;
    }
    return watch->next;
}

/* Returns whether the ticket is gone.  If that is not known, for instance
 * because memory ran out, the timer will have it checked again. */
static bool is_gone(struct hf_engine *engine, struct hf_file_ticket *own_ticket)
{
    enum hf_file_presence presence =
        hf_file_ticket_presence(engine, own_ticket);

    if (presence == HF_PRESENCE_UNKNOWN)
        (void)hf_file_inotify_start_timer(engine);
    return presence == HF_GONE;
}

/* Returns the first watch in ${check} whose ticket is gone, or NULL. */
static struct hf_file_watch *first_gone(struct hf_engine *engine,
                                        const struct own_check *check)
{
    struct hf_file_watch *w = first_in(engine, check);

    while (w != NULL && !is_gone(engine, w->as.own.ticket))
        w = next_in(engine, check, w);
    return w;
}

/* Returns whether somebody has touched the ticket since ${watch} last reported
 * a touch, by the time that the last check has found.  That time counts as
 * reported from now on.  A touch asks the owner to release (removal.c). */
static bool was_touched(struct hf_file_watch *watch)
{
    struct timespec seen = watch->as.own.reported_mtime;

    watch->as.own.reported_mtime = watch->as.own.ticket->last_mtime;
    return seen.tv_sec != watch->as.own.reported_mtime.tv_sec ||
           seen.tv_nsec != watch->as.own.reported_mtime.tv_nsec;
}

/* Returns the first watch in ${check} whose ticket was touched, or NULL. */
static struct hf_file_watch *first_touched(const struct hf_engine *engine,
                                           const struct own_check *check)
{
    struct hf_file_watch *w = first_in(engine, check);

    while (w != NULL && !was_touched(w))
        w = next_in(engine, check, w);
    return w;
}

/* Give up a ticket that is gone.  This session has no FIFO watches for its own
 * tickets, so its watches of the queue are answered here. */
static void remove_gone(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    (void)hf_file_remove_own(engine, own_ticket);
    hf_file_queue_watches_changed(engine, dir_name);
}

/* Check all tickets in ${check} and answer their watches.  A ticket that is
 * gone is given up, because the next waiter waits until its FIFO is closed.
 * Each search begins again at the first watch, because the core may forget any
 * watch when it gets an answer. */
static void check_round(struct hf_engine *engine, const struct own_check *check)
{
    struct hf_file_watch *watch;

    while ((watch = first_gone(engine, check)) != NULL)
        remove_gone(engine, watch->as.own.ticket);
    while ((watch = first_touched(engine, check)) != NULL)
        hf_file_answer(engine, watch->request, HF_EVENT_REVOKED);
}

/* -------------------------------------------------------------- deferral -- */

/* Returns whether the watch of ${own_ticket} may wait: a ticket ahead of it is
 * watched or is of this session, so that the end of that ticket is reported
 * here. */
static bool is_deferred(const struct hf_engine *engine,
                        const struct hf_file_ticket *own_ticket)
{
    const struct hf_ticket *watched =
        hf_file_watch_first_other(engine, own_ticket->dir_name);

    return (watched != NULL &&
            hf_ticket_compare(watched, &own_ticket->ticket) < 0) ||
           hf_file_own_ticket(engine, &own_ticket->blocker) != NULL;
}

void hf_file_own_watches_arm(struct hf_engine *engine)
{
    const struct own_check check = {.kind = CHECK_TO_ARM};
    struct hf_file_watch *next;

    for (struct hf_file_watch *w = engine->inotify.to_arm; w != NULL;
         w = next) {
        next = w->as.own.next_to_arm;
        if (is_deferred(engine, w->as.own.ticket))
            hf_file_watch_cancel_arm(w);
        else
            (void)hf_file_inotify_arm(w); /* if it fails, it logs a warning */
    }
    check_round(engine, &check);
    while (engine->inotify.to_arm != NULL)
        hf_file_watch_cancel_arm(engine->inotify.to_arm);
}

/* Have ${watch} armed soon, unless it is armed.  If memory for the timer runs
 * out, nothing is armed, and the tickets are checked at the next event. */
static void arm_later(struct hf_engine *engine, struct hf_file_watch *watch)
{
    if (watch->wd >= 0)
        return;
    hf_file_watch_add_to_arm(watch);
    (void)hf_file_inotify_arm_later(engine, HF_FILE_ARM_AFTER_MS);
}

void hf_file_own_watch_blocker_gone(struct hf_engine *engine,
                                    const struct hf_ticket_id *gone)
{
    const struct own_check check = {.kind = CHECK_BLOCKED, .gone = gone};
    struct hf_file_ticket *own_ticket = NULL;

    while ((own_ticket = hf_file_tickets_blocked_by(&engine->tickets, gone,
                                                    own_ticket)) != NULL)
        for (struct hf_file_watch *w = own_ticket->watches; w != NULL;
             w = w->as.own.next)
            arm_later(engine, w);
    check_round(engine, &check);
}

/* Call this when the core has forgotten the watch of another session's ticket
 * in ${dir_name}.  Has the watches armed soon that were deferred because of it.
 * This walks over all watches of own tickets, but it is rare: the core forgets
 * such a watch when a wait is cancelled, and not at a handoff. */
static void other_forgotten(struct hf_engine *engine, const char *dir_name)
{
    for (struct hf_file_watch *w = engine->watches[HF_FILE_WATCH_OWN];
         w != NULL; w = w->next)
        if (strcmp(w->dir_name, dir_name) == 0 &&
            !is_deferred(engine, w->as.own.ticket))
            arm_later(engine, w);
}

/* --------------------------------------------------------------- removal -- */

/* Answer all watches of ${own_ticket}, each time the first one, because the
 * core may forget others when one is answered. */
static void end_watches(struct hf_file_ticket *own_ticket)
{
    while (own_ticket->watches != NULL)
        hf_file_watch_answer(own_ticket->watches);
}

bool hf_file_remove_own(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    bool found;

    /* First, because the core may request the removal of this ticket when a
     * watch is answered. */
    hf_file_tickets_remove(&engine->tickets, own_ticket);
    hf_file_own_watch_blocker_gone(engine, &own_ticket->ticket.id);
    end_watches(own_ticket);
    found = hf_file_ticket_release(engine, own_ticket);
    hf_file_descriptors_close(&engine->descriptors, &own_ticket->probed_fifo);
    hf_file_dir_cache_ticket_gone(&engine->dir_cache, own_ticket->dir_name);
    hf_free(own_ticket);
    return found;
}

/* --------------------------------------------------------------- changes -- */

void hf_file_own_watch_on_change(struct hf_engine *engine, int wd, bool all)
{
    const struct own_check check = {.kind = all ? CHECK_ALL : CHECK_WD,
                                    .wd = wd};

    check_round(engine, &check);
}

void hf_file_own_watch_evicted(struct hf_engine *engine,
                               const struct hf_ticket_id *id)
{
    struct hf_file_ticket *own_ticket = hf_file_own_ticket(engine, id);

    if (own_ticket != NULL && own_ticket->watches != NULL)
        remove_gone(engine, own_ticket);
}

/* -------------------------------------------------- watching own tickets -- */

/* The same as remove_gone(), for a ticket that is found gone before it is
 * watched. */
static void answer_gone(struct hf_engine *engine, struct hf_request *request,
                        struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];
    char why[HF_EVICTED_WHY_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    hf_file_ticket_read_why(engine, own_ticket, why);
    (void)hf_file_remove_own(engine, own_ticket);
    hf_file_answer_own_gone(engine, request, why);
    hf_file_queue_watches_changed(engine, dir_name);
}

static void watch_own(struct hf_engine *engine, struct hf_request *request,
                      struct hf_file_ticket *ticket)
{
    static const struct hf_error no_room = {
        HF_ELIMIT, "cannot watch a ticket: no memory or descriptor for it; "
                   "raise this process's limits (ulimit -n)"};
    struct hf_file_watch *watch;
    bool deferred;

    /* First the answers for which no loop is needed.  If the kinds differ, a
     * downgrade has ended the ticket that the request is about. */
    if (ticket->ticket.kind != request->ticket_kind) {
        hf_file_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    if (!hf_file_ticket_is_present(engine, ticket)) {
        answer_gone(engine, request, ticket);
        return;
    }
    watch =
        hf_file_watch_new(engine, request, HF_FILE_WATCH_OWN, ticket->dir_name);
    if (watch == NULL) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_file_watch_set_own(watch, ticket);
    deferred = is_deferred(engine, ticket);
    if (!deferred && !hf_file_inotify_arm(watch)) {
        hf_file_watch_end(watch);
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_file_answer(engine, request, HF_EVENT_WATCHING);
    /* The core may have ended the watch when it got the answer.  If not, check
     * again, because the ticket may have gone between the first check and the
     * arming. */
    if (request->engine_data != watch)
        return;
    if (!deferred && is_gone(engine, ticket))
        remove_gone(engine, ticket);
    else if (was_touched(watch))
        hf_file_answer(engine, request, HF_EVENT_REVOKED);
}

/* ---------------------------------------------- watching others' tickets -- */

/* A ticket that the core waits for has gone.  Before that is answered, the
 * tickets behind it are checked, because a ticket that was removed meanwhile
 * must not be admitted by the answer.  Then the end is noted for
 * hf_file_predecessor_own_is_first(). */
static void on_ticket_gone(struct hf_file_fifo_watch *fifo_watch)
{
    struct hf_engine *engine = fifo_watch->engine;
    const struct hf_ticket_id gone = fifo_watch->ticket.id;
    bool removed = fifo_watch->removed;

    hf_file_inotify_read(engine);
    hf_file_own_watch_blocker_gone(engine, &gone);
    if (removed)
        hf_file_predecessor_gone(engine, &gone);
    /* The core may have forgotten this watch, or ended the session,
     * meanwhile. */
    if (!hf_file_fifo_watch_is_stopped(fifo_watch))
        hf_file_watch_answer(fifo_watch->watch);
}

/* Begin to watch ${ticket}, and answer the request at once.  If its owner is
 * not alive, ${watch} is ended. */
static void start_watch(struct hf_file_watch *watch,
                        const struct hf_ticket *ticket)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;
    struct hf_file_fifo_watch *fifo_watch;
    struct hf_error error;

    switch (hf_file_fifo_watch_start(watch, ticket, on_ticket_gone, &fifo_watch,
                                     &error)) {
    case HF_OWNER_ALIVE:
        hf_file_watch_set_other(watch, fifo_watch);
        hf_file_answer(engine, request, HF_EVENT_WATCHING);
        return;
    case HF_OWNER_DEAD:
        hf_file_dir_cache_ticket_gone(&engine->dir_cache, watch->dir_name);
        hf_file_watch_end(watch);
        hf_file_answer(engine, request, HF_EVENT_GONE);
        return;
    case HF_OWNER_UNKNOWN:
        hf_file_watch_end(watch);
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
}

static void watch_other(struct hf_engine *engine, struct hf_request *request)
{
    static const struct hf_error no_memory = {HF_ENOMEM,
                                              "no memory to watch a ticket"};
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_watch *watch;
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    if (hf_file_find_ticket(engine, request->queue, &request->ticket, &ticket,
                            &found, &error) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (!found || ticket.kind != request->ticket_kind) {
        hf_file_answer(engine, request, HF_EVENT_GONE);
        return;
    }
    hf_file_dir_name_format(request->queue, dir_name);
    watch = hf_file_watch_new(engine, request, HF_FILE_WATCH_OTHER, dir_name);
    if (watch == NULL) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &no_memory);
        return;
    }
    start_watch(watch, &ticket);
}

/* -------------------------------------------------------------- requests -- */

void hf_file_watch_ticket(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);

    if (own_ticket != NULL)
        watch_own(engine, request, own_ticket);
    else
        watch_other(engine, request);
}

void hf_file_ticket_watch_forget(struct hf_request *request)
{
    struct hf_file_watch *watch = request->engine_data;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_engine *engine;
    bool is_other;

    if (watch == NULL)
        return;
    engine = watch->engine;
    is_other = watch->kind == HF_FILE_WATCH_OTHER;
    memcpy(dir_name, watch->dir_name, strlen(watch->dir_name) + 1);
    hf_file_watch_end(watch);
    if (is_other)
        other_forgotten(engine, dir_name);
}
