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
 * (below): most grants are short, and a watch costs more than
 * they do.  Where inotify has no room a timer looks every LOOK_EVERY_S.
 */
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/errno_error.h"
#include "engines/file/ticket_file.h"

#define ARM_AFTER_MS 5

/* Which watches a round of looking concerns. */
struct own_check {
    bool all;                        /* else those of .wd */
    const struct hf_ticket_id *gone; /* or those that this was in the way of */
    bool to_arm;                     /* or those that were woken */
    int wd;
};

/* ------------------------------------------------------------------ check --
 */

/* The first watch of a ticket of our own that ${watch} may concern, and the one
 * after it.  The lists of what was woken and of what waits for one ticket are
 * short. */
static struct hf_ticket_watch *next_blocked(const struct hf_engine *engine,
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

static struct hf_ticket_watch *first_in(const struct hf_engine *engine,
                                        const struct own_check *check)
{
    if (check->gone != NULL)
        return next_blocked(engine, check, NULL);
    if (check->to_arm)
        return engine->inotify.to_arm;
    return check->all ? engine->watches
                      : hf_watch_descriptors_next(engine, check->wd, NULL);
}

static struct hf_ticket_watch *next_in(const struct hf_engine *engine,
                                       const struct own_check *check,
                                       const struct hf_ticket_watch *watch)
{
    if (check->gone != NULL && watch->next_of_ticket == NULL)
        return next_blocked(engine, check, watch->own_ticket);
    if (check->gone != NULL)
        return watch->next_of_ticket;
    if (check->to_arm)
        return watch->next_to_arm;
    return check->all ? watch->next
                      : hf_watch_descriptors_next(engine, check->wd, watch);
}

/* Where it cannot be told, for want of memory say, it is looked at again. */
static bool is_gone(struct hf_engine *engine, struct hf_file_ticket *own_ticket)
{
    enum hf_presence presence = hf_file_ticket_presence(engine, own_ticket);

    if (presence == HF_PRESENCE_UNKNOWN)
        (void)hf_inotify_start_timer(engine);
    return presence == HF_GONE;
}

static struct hf_ticket_watch *first_gone(struct hf_engine *engine,
                                          const struct own_check *check)
{
    struct hf_ticket_watch *w = first_in(engine, check);

    while (w != NULL &&
           !(w->own_ticket != NULL && is_gone(engine, w->own_ticket)))
        w = next_in(engine, check, w);
    return w;
}

/* Somebody has touched the ticket since ${watch} last said so, as far as the
 * last check shows: see eviction.c. */
static bool was_touched(struct hf_ticket_watch *watch)
{
    struct timespec seen = watch->reported_mtime;

    watch->reported_mtime = watch->own_ticket->last_mtime;
    return seen.tv_sec != watch->reported_mtime.tv_sec ||
           seen.tv_nsec != watch->reported_mtime.tv_nsec;
}

static struct hf_ticket_watch *first_touched(const struct hf_engine *engine,
                                             const struct own_check *check)
{
    struct hf_ticket_watch *w = first_in(engine, check);

    while (w != NULL && !(w->own_ticket != NULL && was_touched(w)))
        w = next_in(engine, check, w);
    return w;
}

/* Nothing hangs up for one's own: who looks at its queue here is told. */
static void remove_gone(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    char dir_name[HF_DIR_NAME_BYTES];

    memcpy(dir_name, own_ticket->dir_name, strlen(own_ticket->dir_name) + 1);
    (void)hf_engine_remove_own(engine, own_ticket);
    hf_file_queue_watches_ticket_gone(engine, dir_name);
}

/* From the start after each: the core may forget any watch meanwhile.  The
 * ticket that is gone is closed too, for the next in line waits for that. */
static void check_round(struct hf_engine *engine, const struct own_check *check)
{
    struct hf_ticket_watch *watch;

    while ((watch = first_gone(engine, check)) != NULL)
        remove_gone(engine, watch->own_ticket);
    while ((watch = first_touched(engine, check)) != NULL)
        hf_engine_answer(engine, watch->request, HF_EVENT_REVOKED);
}

/* ------------------------------------------------------------ arming -- */

static bool is_deferred(const struct hf_engine *engine,
                        const struct hf_file_ticket *own_ticket)
{
    const struct hf_ticket *watched =
        hf_ticket_watch_first_other(engine, own_ticket->dir_name);

    return (watched != NULL &&
            hf_ticket_compare(watched, &own_ticket->ticket) < 0) ||
           hf_engine_own_ticket(engine, &own_ticket->blocker) != NULL;
}

/* Those that were woken, but for those that have begun to rest again; and what
 * has gone before they were armed. */
static void arm_pending(struct hf_engine *engine)
{
    const struct own_check check = {.to_arm = true};
    struct hf_ticket_watch *next;

    for (struct hf_ticket_watch *w = engine->inotify.to_arm; w != NULL;
         w = next) {
        next = w->next_to_arm;
        if (is_deferred(engine, w->own_ticket))
            hf_ticket_watch_cancel_arm(w);
        else
            (void)hf_inotify_watch_ticket(
                engine, w); /* it says so where it could not */
    }
    check_round(engine, &check);
    while (engine->inotify.to_arm != NULL)
        hf_ticket_watch_cancel_arm(engine->inotify.to_arm);
}

static void on_arm_timer(uv_timer_t *timer)
{
    arm_pending(timer->data);
}

static void start_arm_timer(struct hf_engine *engine)
{
    struct hf_inotify *inotify = &engine->inotify;
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

/* Nothing if it is watched already. */
static void arm_later(struct hf_engine *engine, struct hf_ticket_watch *watch)
{
    struct hf_ticket_watch **to_arm = &engine->inotify.to_arm;

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

void hf_own_watch_blocker_gone(struct hf_engine *engine,
                               const struct hf_ticket_id *gone)
{
    const struct own_check check = {.gone = gone};
    struct hf_file_ticket *own_ticket = NULL;

    while ((own_ticket = hf_file_tickets_blocked_by(&engine->tickets, gone,
                                                    own_ticket)) != NULL)
        for (struct hf_ticket_watch *w = own_ticket->watches; w != NULL;
             w = w->next_of_ticket)
            arm_later(engine, w);
    check_round(engine, &check);
}

/* The one walk here over all watches: a watch of another's ticket is taken back
 * where a wait is cancelled, and not at a handoff. */
void hf_own_watch_other_forgotten(struct hf_engine *engine,
                                  const char *dir_name)
{
    for (struct hf_ticket_watch *w = engine->watches; w != NULL; w = w->next)
        if (w->own_ticket != NULL &&
            strcmp(w->own_ticket->dir_name, dir_name) == 0 &&
            !is_deferred(engine, w->own_ticket))
            arm_later(engine, w);
}

/* ------------------------------------------------------------ removal -- */

/* The core may forget others of them when it hears of one. */
static void end_watches(struct hf_file_ticket *own_ticket)
{
    while (own_ticket->watches != NULL)
        hf_ticket_watch_answer_gone(own_ticket->watches);
}

/* Copies given out by hold() keep the ticket in the queue until the last one
 * is closed; whoever waits then finds it dead.  If they are closed already,
 * nobody may be there to find it. */
static bool release_held(struct hf_engine *engine,
                         struct hf_file_ticket *own_ticket)
{
    bool found = hf_file_ticket_is_present(engine, own_ticket);
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    hf_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_ticket_file_format(&own_ticket->ticket, file);
    hf_root_settings_path(&engine->settings, own_ticket->dir_name, file, path);
    if (hf_ticket_file_probe(&engine->descriptors, path, NULL, &unused) ==
        HF_OWNER_DEAD) {
        bool removed;

        (void)hf_ticket_file_remove(&engine->settings, own_ticket->dir_name,
                                    &own_ticket->ticket, &removed, &unused);
    }
    return found;
}

/* Unlinked first, so that it is not taken for a dead one; closed before
 * anything else, for the next in line waits for that. */
static bool remove_fifo(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    struct hf_error error;
    bool found;

    if (hf_ticket_file_remove_fifo(&engine->settings, own_ticket->dir_name,
                                   &own_ticket->ticket, &found,
                                   &error) != HF_OK) {
        found = true; /* dead all the same once it is closed */
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a withdrawn ticket is left to be found dead: %s",
                         error.text);
    }
    hf_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_ticket_file_remove_payload(&engine->settings, own_ticket->dir_name,
                                  &own_ticket->ticket);
    return found;
}

bool hf_engine_remove_own(struct hf_engine *engine,
                          struct hf_file_ticket *own_ticket)
{
    bool found;

    /* First, because the one who is told of it may ask for it to be dropped. */
    hf_file_tickets_remove(&engine->tickets, own_ticket);
    hf_own_watch_blocker_gone(engine, &own_ticket->ticket.id);
    end_watches(own_ticket);
    found = own_ticket->held ? release_held(engine, own_ticket)
                             : remove_fifo(engine, own_ticket);
    hf_descriptors_close(&engine->descriptors, &own_ticket->probed_fifo);
    hf_dir_cache_ticket_gone(&engine->dir_cache, own_ticket->dir_name);
    hf_free(own_ticket);
    return found;
}

/* ------------------------------------------------------------ changes -- */

void hf_own_watch_on_change(struct hf_engine *engine, int wd, bool all)
{
    const struct own_check check = {.all = all, .wd = wd};

    check_round(engine, &check);
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
    hf_file_queue_watches_ticket_gone(engine, dir_name);
}

void hf_engine_watch_own(struct hf_engine *engine, struct hf_request *request,
                         struct hf_file_ticket *ticket)
{
    static const struct hf_error no_room = {
        HF_ELIMIT, "cannot watch a ticket: no memory or descriptor for it; "
                   "raise this process's limits (ulimit -n)"};
    struct hf_ticket_watch *watch;
    bool deferred;

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
    deferred = is_deferred(engine, ticket);
    if (!deferred && !hf_inotify_watch_ticket(engine, watch)) {
        hf_ticket_watch_end(watch);
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &no_room);
        return;
    }
    hf_engine_answer(engine, request, HF_EVENT_WATCHING);
    /* It may have gone between the first check and the arming. */
    if (request->engine_data != watch)
        return;
    if (!deferred && is_gone(engine, ticket))
        remove_gone(engine, ticket);
    else if (was_touched(watch))
        hf_engine_answer(engine, request, HF_EVENT_REVOKED);
}
