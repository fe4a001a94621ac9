/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of tickets: of those of this session, which inotify reports, and of
 * those of others, whose end is reported by their FIFOs.
 *
 * Somebody who removes a ticket of this session, or moves its directory away,
 * ends the grant, so its owner must be notified.
 *
 * inotify reports a change of the FIFO (of its link count, or of its time when
 * somebody asks the owner to let go) and moves of the directories above it.  It
 * does not report what else happens in them, so the tickets of others wake
 * nobody.
 *
 * A watch is armed late, for two reasons.  A user has few inotify instances
 * (128) and many processes may wait.  So the watch of a ticket is deferred
 * while a ticket ahead of it is watched or is of this session: the end of that
 * ticket is reported here anyway, and only then does it matter whether ours is
 * still there.  And most grants are short, while arming a watch costs more than
 * they do.  So a ticket that has moved up is checked at once, and armed only if
 * it is there HF_FILE_ARM_AFTER_MS later.  Where inotify has no room a timer
 * takes its place (inotify.c).
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

/* Which tickets of this session a check is for. */
enum own_check_kind {
    CHECK_BLOCKED, /* those that had .gone as their blocker */
    CHECK_TO_ARM,  /* those whose watch is to be armed */
    CHECK_WD,      /* those whose FIFO or directory inotify watches as .wd */
    CHECK_ALL,
};

struct own_check {
    enum own_check_kind kind;
    const struct hf_ticket_id *gone;
    int wd;
};

/* -------------------------------------------------------------- checking -- */

/* The first watch of the next ticket behind ${check}->gone that has any;
 * ${after} NULL: of the first ticket. */
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

/* The watch after ${after} of an own ticket that has ${wd}; ${after} NULL: the
 * first. */
static struct hf_file_watch *next_with_wd(const struct hf_engine *engine,
                                          int wd,
                                          const struct hf_file_watch *after)
{
    struct hf_file_watch *watch = hf_file_inotify_next(engine, wd, after);

    while (watch != NULL && watch->kind != HF_FILE_WATCH_OWN)
        watch = hf_file_inotify_next(engine, wd, watch);
    return watch;
}

/* The first watch that ${check} is for, or NULL. */
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

/* The watch after ${watch} that ${check} is for, or NULL. */
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

/* Where that is unknown, for want of memory for instance, the timer will have
 * the ticket checked again. */
static bool is_gone(struct hf_engine *engine, struct hf_file_ticket *own_ticket)
{
    enum hf_file_presence presence =
        hf_file_ticket_presence(engine, own_ticket);

    if (presence == HF_PRESENCE_UNKNOWN)
        (void)hf_file_inotify_start_timer(engine);
    return presence == HF_GONE;
}

/* The first watch in ${check} of a ticket of ours that is gone, or NULL. */
static struct hf_file_watch *first_gone(struct hf_engine *engine,
                                        const struct own_check *check)
{
    struct hf_file_watch *w = first_in(engine, check);

    while (w != NULL && !is_gone(engine, w->as.own.ticket))
        w = next_in(engine, check, w);
    return w;
}

/* Has somebody touched the ticket since ${watch} last reported a touch?  By the
 * time that the last check has found, which counts as reported from now on.  A
 * touch asks the owner to let go: see removal.c. */
static bool was_touched(struct hf_file_watch *watch)
{
    struct timespec seen = watch->as.own.reported_mtime;

    watch->as.own.reported_mtime = watch->as.own.ticket->last_mtime;
    return seen.tv_sec != watch->as.own.reported_mtime.tv_sec ||
           seen.tv_nsec != watch->as.own.reported_mtime.tv_nsec;
}

/* The first watch in ${check} of a ticket of ours that was touched, or NULL. */
static struct hf_file_watch *first_touched(const struct hf_engine *engine,
                                           const struct own_check *check)
{
    struct hf_file_watch *w = first_in(engine, check);

    while (w != NULL && !was_touched(w))
        w = next_in(engine, check, w);
    return w;
}

/* Give up a ticket that is gone.  This session watches its own tickets through
 * no FIFO, so its watches of that queue are answered here. */
static void remove_gone(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    (void)hf_file_remove_own(engine, own_ticket);
    hf_file_queue_watches_changed(engine, dir_name);
}

/* Check all tickets in ${check} and answer their watches.  A ticket that is
 * gone is given up, because the next in line waits until its FIFO is closed.
 * Each search begins anew, because the core may forget any watch when it is
 * answered. */
static void check_round(struct hf_engine *engine, const struct own_check *check)
{
    struct hf_file_watch *watch;

    while ((watch = first_gone(engine, check)) != NULL)
        remove_gone(engine, watch->as.own.ticket);
    while ((watch = first_touched(engine, check)) != NULL)
        hf_file_answer(engine, watch->request, HF_EVENT_REVOKED);
}

/* -------------------------------------------------------------- deferral -- */

/* May the watch of ${own_ticket} wait?  Yes while a ticket ahead of it is
 * watched or is of this session, because the end of that ticket is reported
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
            (void)hf_file_inotify_arm(w); /* it warns if it cannot */
    }
    check_round(engine, &check);
    while (engine->inotify.to_arm != NULL)
        hf_file_watch_cancel_arm(engine->inotify.to_arm);
}

/* Have ${watch} armed soon.  Does nothing if it is armed already.  If memory
 * for the timer runs out, nothing is armed, and the tickets are checked when
 * the next event comes.  */
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

/* The core has forgotten the watch of another's ticket in ${dir_name}.  Have
 * the watches armed soon that were deferred on account of it.  This walks over
 * all watches of own tickets, but is rare: a watch of another's ticket is
 * forgotten where a wait is cancelled, and not at a handoff. */
static void other_forgotten(struct hf_engine *engine, const char *dir_name)
{
    for (struct hf_file_watch *w = engine->watches[HF_FILE_WATCH_OWN];
         w != NULL; w = w->next)
        if (strcmp(w->dir_name, dir_name) == 0 &&
            !is_deferred(engine, w->as.own.ticket))
            arm_later(engine, w);
}

/* --------------------------------------------------------------- removal -- */

/* Answer all watches of ${own_ticket}.  From the first one each time, because
 * the core may forget others when one is answered. */
static void end_watches(struct hf_file_ticket *own_ticket)
{
    while (own_ticket->watches != NULL)
        hf_file_watch_answer(own_ticket->watches);
}

bool hf_file_remove_own(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    bool found;

    /* First, because the core may ask for its removal when a watch is answered.
     */
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

/* The same as remove_gone() for a ticket that is found gone before it is
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

    /* First the answers that need no loop. A downgrade has ended the ticket of
     * the kind that is asked for. */
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
    /* The core may have ended the watch in the answer.  Else check again,
     * because the ticket may have gone between the first check and the arming.
     */
    if (request->engine_data != watch)
        return;
    if (!deferred && is_gone(engine, ticket))
        remove_gone(engine, ticket);
    else if (was_touched(watch))
        hf_file_answer(engine, request, HF_EVENT_REVOKED);
}

/* ---------------------------------------------- watching others' tickets -- */

/* A ticket has gone for which the core waits.  Before that is answered, the
 * tickets behind it are checked: one that was removed in the meantime must not
 * be admitted because of the answer.  Then it is noted for
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
    /* The core may have forgotten this watch, or ended the session, meanwhile.
     */
    if (!hf_file_fifo_watch_is_stopped(fifo_watch))
        hf_file_watch_answer(fifo_watch->watch);
}

/* Begin to watch the owner of ${ticket}, and answer the request at once.
 * ${watch} is ended unless that owner is alive. */
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
