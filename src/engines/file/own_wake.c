/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which watches of one's own tickets rest, and when they do so no longer: see
 * own.c.  One rests while a ticket ahead of it is watched or is one's own,
 * because the end of that ticket is then told here.
 */
#include <string.h>

#include "engines/file/own_private.h"

#define WAKE_AFTER_MS 5

bool hf_own_rests(const struct hf_engine *engine,
                  const struct hf_file_ticket *own)
{
    const struct hf_ticket *watched = hf_watch_first_other(engine, own->entry);

    return (watched != NULL && hf_ticket_compare(watched, &own->ticket) < 0) ||
           hf_engine_own(engine, &own->way) != NULL;
}

void hf_own_unwake(struct hf_watch *watch)
{
    if (watch->woken == NULL)
        return;
    *watch->woken = watch->next_woken;
    if (watch->next_woken != NULL)
        watch->next_woken->woken = watch->woken;
    watch->woken = NULL;
}

/* Those that were woken, but for those that have begun to rest again; and what
 * has gone before they were armed. */
static void arm_woken(struct hf_engine *engine)
{
    const struct hf_own_look look = {.woken = true};
    struct hf_watch *next;

    for (struct hf_watch *w = engine->own.woken; w != NULL; w = next) {
        next = w->next_woken;
        if (hf_own_rests(engine, w->own))
            hf_own_unwake(w);
        else
            (void)hf_own_arm(engine, w); /* it says so where it could not */
    }
    hf_own_look_round(engine, &look);
    while (engine->own.woken != NULL)
        hf_own_unwake(engine->own.woken);
}

static void on_wake(uv_timer_t *timer)
{
    arm_woken(timer->data);
}

static void start_wake_timer(struct hf_engine *engine)
{
    struct hf_own_watching *own = &engine->own;
    uv_loop_t *loop = engine->host.loop(engine->host.host);

    if (!own->wake_made && loop != NULL &&
        uv_timer_init(loop, &own->wake) == 0) {
        own->wake_made = true;
        own->wake.data = engine;
        uv_unref((uv_handle_t *)&own->wake);
    }
    if (own->wake_made && !uv_is_active((uv_handle_t *)&own->wake))
        (void)uv_timer_start(&own->wake, on_wake, WAKE_AFTER_MS, 0);
}

/* Nothing if it is watched already. */
static void wake(struct hf_engine *engine, struct hf_watch *watch)
{
    struct hf_watch **woken = &engine->own.woken;

    if (watch->ticket_wd >= 0)
        return;
    if (watch->woken == NULL) {
        watch->next_woken = *woken;
        watch->woken = woken;
        if (*woken != NULL)
            (*woken)->woken = &watch->next_woken;
        *woken = watch;
    }
    start_wake_timer(engine);
}

void hf_own_moved_up(struct hf_engine *engine, const struct hf_ticket_id *gone)
{
    const struct hf_own_look look = {.gone = gone};
    struct hf_file_ticket *own = NULL;

    while ((own = hf_file_tickets_behind(&engine->tickets, gone, own)) != NULL)
        for (struct hf_watch *w = own->watches; w != NULL; w = w->next_of_own)
            wake(engine, w);
    hf_own_look_round(engine, &look);
}

/* The one walk here over all watches: a watch of another's ticket is taken back
 * where a wait is cancelled, and not at a handoff. */
void hf_own_wake(struct hf_engine *engine, const char *entry)
{
    for (struct hf_watch *w = engine->watches; w != NULL; w = w->next)
        if (w->own != NULL && strcmp(w->own->entry, entry) == 0 &&
            !hf_own_rests(engine, w->own))
            wake(engine, w);
}
