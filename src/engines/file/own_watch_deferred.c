/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which watches of one's own tickets rest, and when they do so no longer: see
 * own_watch.c.  One rests while a ticket ahead of it is watched or is one's
 * own, because the end of that ticket is then told here.
 */
#include <string.h>

#include "engines/file/own_watch_private.h"

#define ARM_AFTER_MS 5

bool hf_own_watch_is_deferred(const struct hf_engine *engine,
                              const struct hf_file_ticket *own_ticket)
{
    const struct hf_ticket *watched =
        hf_ticket_watch_first_other(engine, own_ticket->dir_name);

    return (watched != NULL &&
            hf_ticket_compare(watched, &own_ticket->ticket) < 0) ||
           hf_engine_own_ticket(engine, &own_ticket->blocker) != NULL;
}

void hf_own_watch_cancel_arm(struct hf_ticket_watch *watch)
{
    if (watch->to_arm == NULL)
        return;
    *watch->to_arm = watch->next_to_arm;
    if (watch->next_to_arm != NULL)
        watch->next_to_arm->to_arm = watch->to_arm;
    watch->to_arm = NULL;
}

/* Those that were woken, but for those that have begun to rest again; and what
 * has gone before they were armed. */
static void arm_pending(struct hf_engine *engine)
{
    const struct hf_own_check check = {.to_arm = true};
    struct hf_ticket_watch *next;

    for (struct hf_ticket_watch *w = engine->inotify.to_arm; w != NULL;
         w = next) {
        next = w->next_to_arm;
        if (hf_own_watch_is_deferred(engine, w->own_ticket))
            hf_own_watch_cancel_arm(w);
        else
            (void)hf_inotify_watch_ticket(
                engine, w); /* it says so where it could not */
    }
    hf_own_watch_check(engine, &check);
    while (engine->inotify.to_arm != NULL)
        hf_own_watch_cancel_arm(engine->inotify.to_arm);
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
    const struct hf_own_check check = {.gone = gone};
    struct hf_file_ticket *own_ticket = NULL;

    while ((own_ticket = hf_file_tickets_blocked_by(&engine->tickets, gone,
                                                    own_ticket)) != NULL)
        for (struct hf_ticket_watch *w = own_ticket->watches; w != NULL;
             w = w->next_of_ticket)
            arm_later(engine, w);
    hf_own_watch_check(engine, &check);
}

/* The one walk here over all watches: a watch of another's ticket is taken back
 * where a wait is cancelled, and not at a handoff. */
void hf_own_watch_other_forgotten(struct hf_engine *engine,
                                  const char *dir_name)
{
    for (struct hf_ticket_watch *w = engine->watches; w != NULL; w = w->next)
        if (w->own_ticket != NULL &&
            strcmp(w->own_ticket->dir_name, dir_name) == 0 &&
            !hf_own_watch_is_deferred(engine, w->own_ticket))
            arm_later(engine, w);
}
