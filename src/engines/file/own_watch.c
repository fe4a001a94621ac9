/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of tickets of this session.  Somebody who removes a ticket, or moves
 * its directory away, ends the grant, so its owner must be notified.
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
 * it is there ARM_AFTER_MS later.  Where inotify has no room a timer takes its
 * place (inotify.c).
 */
#include "engines/file/own_watch.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue_watch.h"
#include "engines/file/ticket_file.h"
#include "engines/file/ticket_watch.h"
#include "engines/file/watch_descriptors.h"

#define ARM_AFTER_MS 5

/* Which tickets a check is for.  The first of these that is set decides. */
struct own_check {
    const struct hf_ticket_id *gone; /* those that had this as their blocker */
    bool to_arm;                     /* those whose watch is to be armed */
    bool all;                        /* all */
    int wd; /* those that inotify watches as .wd, or whose directory it does */
};

/* ------------------------------------------------------------ checking -- */

/* The first watch of the next ticket behind ${check}->gone that has any;
 * ${after} NULL: of the first ticket. */
static struct hf_file_ticket_watch *
next_blocked(const struct hf_engine *engine, const struct own_check *check,
             const struct hf_file_ticket *after)
{
    const struct hf_file_ticket *own_ticket = after;

    do
        own_ticket = hf_file_tickets_blocked_by(&engine->tickets, check->gone,
                                                own_ticket);
    while (own_ticket != NULL && own_ticket->watches == NULL);
    return own_ticket != NULL ? own_ticket->watches : NULL;
}

/* The first watch that ${check} is for, or NULL.  With .all the watches of
 * others' tickets come too. */
static struct hf_file_ticket_watch *first_in(const struct hf_engine *engine,
                                             const struct own_check *check)
{
    if (check->gone != NULL)
        return next_blocked(engine, check, NULL);
    if (check->to_arm)
        return engine->inotify.to_arm;
    return check->all ? engine->watches
                      : hf_file_watch_descriptors_next(engine, check->wd, NULL);
}

/* The watch after ${watch} that ${check} is for, or NULL. */
static struct hf_file_ticket_watch *
next_in(const struct hf_engine *engine, const struct own_check *check,
        const struct hf_file_ticket_watch *watch)
{
    if (check->gone != NULL && watch->next_of_ticket == NULL)
        return next_blocked(engine, check, watch->own_ticket);
    if (check->gone != NULL)
        return watch->next_of_ticket;
    if (check->to_arm)
        return watch->next_to_arm;
    return check->all
               ? watch->next
               : hf_file_watch_descriptors_next(engine, check->wd, watch);
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
static struct hf_file_ticket_watch *first_gone(struct hf_engine *engine,
                                               const struct own_check *check)
{
    struct hf_file_ticket_watch *w = first_in(engine, check);

    while (w != NULL &&
           !(w->own_ticket != NULL && is_gone(engine, w->own_ticket)))
        w = next_in(engine, check, w);
    return w;
}

/* Has somebody touched the ticket since ${watch} last reported it?  The time is
 * that of the last check.  A touch asks the owner to let go: see removal.c. */
static bool was_touched(struct hf_file_ticket_watch *watch)
{
    struct timespec seen = watch->reported_mtime;

    watch->reported_mtime = watch->own_ticket->last_mtime;
    return seen.tv_sec != watch->reported_mtime.tv_sec ||
           seen.tv_nsec != watch->reported_mtime.tv_nsec;
}

/* The first watch in ${check} of a ticket of ours that was touched, or NULL. */
static struct hf_file_ticket_watch *
first_touched(const struct hf_engine *engine, const struct own_check *check)
{
    struct hf_file_ticket_watch *w = first_in(engine, check);

    while (w != NULL && !(w->own_ticket != NULL && was_touched(w)))
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
    hf_file_queue_watches_ticket_gone(engine, dir_name);
}

/* Check all tickets in ${check} and answer their watches.  A ticket that is
 * gone is given up, because the next in line waits until its FIFO is closed.
 * Each search begins anew, because the core may forget any watch when it is
 * answered. */
static void check_round(struct hf_engine *engine, const struct own_check *check)
{
    struct hf_file_ticket_watch *watch;

    while ((watch = first_gone(engine, check)) != NULL)
        remove_gone(engine, watch->own_ticket);
    while ((watch = first_touched(engine, check)) != NULL)
        hf_file_answer(engine, watch->request, HF_EVENT_REVOKED);
}

/* ------------------------------------------------------------ deferral -- */

/* May the watch of ${own_ticket} wait?  Yes while a ticket ahead of it is
 * watched or is of this session, because the end of that ticket is reported
 * here. */
static bool is_deferred(const struct hf_engine *engine,
                        const struct hf_file_ticket *own_ticket)
{
    const struct hf_ticket *watched =
        hf_file_ticket_watch_first_other(engine, own_ticket->dir_name);

    return (watched != NULL &&
            hf_ticket_compare(watched, &own_ticket->ticket) < 0) ||
           hf_file_own_ticket(engine, &own_ticket->blocker) != NULL;
}

/* Arm the watches that are to be armed, unless they are deferred again by now.
 * Check the tickets afterwards, because one may have gone before it was
 * watched. */
static void arm_pending(struct hf_engine *engine)
{
    const struct own_check check = {.to_arm = true};
    struct hf_file_ticket_watch *next;

    for (struct hf_file_ticket_watch *w = engine->inotify.to_arm; w != NULL;
         w = next) {
        next = w->next_to_arm;
        if (is_deferred(engine, w->own_ticket))
            hf_file_ticket_watch_cancel_arm(w);
        else
            (void)hf_file_inotify_watch_ticket(engine,
                                               w); /* it warns if it cannot */
    }
    check_round(engine, &check);
    while (engine->inotify.to_arm != NULL)
        hf_file_ticket_watch_cancel_arm(engine->inotify.to_arm);
}

static void on_arm_timer(uv_timer_t *timer)
{
    arm_pending(timer->data);
}

/* Start the timer unless it runs.  Without memory for it nothing is armed, and
 * the tickets are checked when the next event comes. */
static void start_arm_timer(struct hf_engine *engine)
{
    struct hf_file_inotify *inotify = &engine->inotify;
    uv_loop_t *loop = engine->host.loop(engine->host.host);

    if (!inotify->arm_timer_made && loop != NULL &&
        uv_timer_init(loop, &inotify->arm_timer) == 0) {
        inotify->arm_timer_made = true;
        inotify->arm_timer.data = engine;
        uv_unref((uv_handle_t *)&inotify->arm_timer);
    }
    if (inotify->arm_timer_made &&
        !uv_is_active((uv_handle_t *)&inotify->arm_timer))
        (void)uv_timer_start(&inotify->arm_timer, on_arm_timer, ARM_AFTER_MS,
                             0);
}

/* Have ${watch} armed in ARM_AFTER_MS.  Nothing if it is armed already. */
static void arm_later(struct hf_engine *engine,
                      struct hf_file_ticket_watch *watch)
{
    struct hf_file_ticket_watch **to_arm = &engine->inotify.to_arm;

    if (watch->ticket_wd >= 0)
        return;
    if (watch->to_arm == NULL) {
        watch->next_to_arm = *to_arm;
        watch->to_arm = to_arm;
        if (*to_arm != NULL)
            (*to_arm)->to_arm = &watch->next_to_arm;
        *to_arm = watch;
    }
    start_arm_timer(engine);
}

void hf_file_own_watch_blocker_gone(struct hf_engine *engine,
                                    const struct hf_ticket_id *gone)
{
    const struct own_check check = {.gone = gone};
    struct hf_file_ticket *own_ticket = NULL;

    while ((own_ticket = hf_file_tickets_blocked_by(&engine->tickets, gone,
                                                    own_ticket)) != NULL)
        for (struct hf_file_ticket_watch *w = own_ticket->watches; w != NULL;
             w = w->next_of_ticket)
            arm_later(engine, w);
    check_round(engine, &check);
}

/* This is the one walk over all watches.  It is rare: a watch of another's
 * ticket is forgotten where a wait is cancelled, and not at a handoff. */
void hf_file_own_watch_other_forgotten(struct hf_engine *engine,
                                       const char *dir_name)
{
    for (struct hf_file_ticket_watch *w = engine->watches; w != NULL;
         w = w->next)
        if (w->own_ticket != NULL &&
            strcmp(w->own_ticket->dir_name, dir_name) == 0 &&
            !is_deferred(engine, w->own_ticket))
            arm_later(engine, w);
}

/* ------------------------------------------------------------- removal -- */

/* Answer all watches of ${own_ticket}.  From the first one each time, because
 * the core may forget others when one is answered. */
static void end_watches(struct hf_file_ticket *own_ticket)
{
    while (own_ticket->watches != NULL)
        hf_file_ticket_watch_answer_gone(own_ticket->watches);
}

/* Let go of a ticket of whose descriptor copies were given out.  They keep it
 * in its queue until the last of them is closed; a session that waits for it
 * then finds it dead.  If they are closed already it is removed here, because
 * perhaps nobody waits for it.  True if it was in its queue. */
static bool release_held(struct hf_engine *engine,
                         struct hf_file_ticket *own_ticket)
{
    bool found = hf_file_ticket_is_present(engine, own_ticket);
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    hf_file_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_file_fifo_path(&engine->settings, own_ticket->dir_name,
                      &own_ticket->ticket, path);
    if (hf_file_fifo_probe(&engine->descriptors, path, NULL, &unused) ==
        HF_OWNER_DEAD) {
        bool removed;

        (void)hf_file_fifo_and_payload_remove(
            &engine->settings, own_ticket->dir_name, &own_ticket->ticket,
            &removed, &unused);
    }
    return found;
}

/* Remove a ticket.  Its name goes first, so that nobody takes it for a dead
 * one. Then the FIFO is closed, before anything else, because the next in line
 * waits for that.  True if it was in its queue. */
static bool remove_fifo(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    struct hf_error error;
    bool found;

    if (hf_file_fifo_remove(&engine->settings, own_ticket->dir_name,
                            &own_ticket->ticket, &found, &error) != HF_OK) {
        found = true; /* dead all the same once it is closed */
        engine->host.log(
            engine->host.host, HF_LOG_WARNING,
            "a ticket that was given up is left to be found dead: %s",
            error.text);
    }
    hf_file_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_file_payload_remove(&engine->settings, own_ticket->dir_name,
                           &own_ticket->ticket);
    return found;
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
    found = own_ticket->held ? release_held(engine, own_ticket)
                             : remove_fifo(engine, own_ticket);
    hf_file_descriptors_close(&engine->descriptors, &own_ticket->probed_fifo);
    hf_file_dir_cache_ticket_gone(&engine->dir_cache, own_ticket->dir_name);
    hf_free(own_ticket);
    return found;
}

/* ------------------------------------------------------------ changes -- */

void hf_file_own_watch_on_change(struct hf_engine *engine, int wd, bool all)
{
    const struct own_check check = {.all = all, .wd = wd};

    check_round(engine, &check);
}

/* ------------------------------------------------------------ watching -- */

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
    hf_file_queue_watches_ticket_gone(engine, dir_name);
}

void hf_file_watch_own(struct hf_engine *engine, struct hf_request *request,
                       struct hf_file_ticket *ticket)
{
    static const struct hf_error no_room = {
        HF_ELIMIT, "cannot watch a ticket: no memory or descriptor for it; "
                   "raise this process's limits (ulimit -n)"};
    struct hf_file_ticket_watch *watch;
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
    watch = hf_file_ticket_watch_new(engine, request);
    if (watch == NULL) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_file_ticket_watch_set_own(watch, ticket);
    deferred = is_deferred(engine, ticket);
    if (!deferred && !hf_file_inotify_watch_ticket(engine, watch)) {
        hf_file_ticket_watch_end(watch);
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
