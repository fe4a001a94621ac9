/* SPDX-License-Identifier: Apache-2.0 */
/* What is there in truth, and what must hold of it. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rounds_private.h"

/* Nothing is told of what comes after the finding. */
static void tell(const char *who, const char *format, va_list arguments)
{
    char text[256];
    uint64_t now_us = hf_sim_now_us(rounds.sim);
    int used;

    if (rounds.line == NULL || rounds.end->broken != 0)
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %-6s  ",
                    now_us / 1000, (unsigned)(now_us % 1000), who);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    rounds.line(NULL, text);
}

static void tell_finding(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell("CHECK", format, arguments);
    va_end(arguments);
}

void rounds_line(const struct party *party, const char *format, ...)
{
    static const char *const names[PARTIES_MAX] = {"a", "b", "c", "d"};
    va_list arguments;

    va_start(arguments, format);
    tell(party == NULL ? "-" : names[party - rounds.parties], format,
         arguments);
    va_end(arguments);
}

void rounds_must(bool holds, int invariant, const char *story)
{
    if (holds || rounds.end->broken != 0)
        return;
    tell_finding("invariant %d broken: %s", invariant, story);
    rounds.end->broken = invariant;
    rounds.end->story = story;
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    unsigned i = 0;

    (void)arg;
    while (i < rounds.count && rounds.parties[i].engine != engine)
        i++;
    rounds_line(i < rounds.count ? &rounds.parties[i] : NULL, "%s", text);
}

/* ----------------------------------------------------------------- truth -- */

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    (void)arg;
    (void)queue;
    assert(rounds.live_count < LIVE_MAX);
    rounds.live[rounds.live_count++] =
        (struct live){ticket->id, ticket->token, false};
}

/* Lowered, and not to be made anew at the same instant. */
static void see_lowered(void *arg)
{
    (void)arg;
    rounds_must(rounds.marked || rounds.lowered_under == 0, 4,
                "the mark was lowered while somebody was there");
}

static void on_marked(void *arg, const char *queue, bool up)
{
    (void)arg;
    if (strcmp(queue, QUEUE "/ready") != 0)
        return;
    rounds.marked = up;
    rounds_line(NULL, "server %s the mark", up ? "raises" : "lowers");
    rounds.lowered_under = up ? 0 : rounds.live_count;
    if (!up) {
        hf_sim_call_at(rounds.sim, hf_sim_now_us(rounds.sim), true, see_lowered,
                       NULL);
        return;
    }
    rounds_must(rounds.live_count >= rounds.count, 1,
                "the mark was made before all were there");
    for (unsigned i = 0; i < rounds.live_count; i++)
        rounds.live[i].called = true;
}

static struct live *find_live(const struct hf_ticket_id *id)
{
    for (unsigned i = 0; i < rounds.live_count; i++) {
        if (hf_ticket_id_equal(&rounds.live[i].id, id))
            return &rounds.live[i];
    }
    return NULL;
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    struct live *live = find_live(&ticket->id);

    (void)arg;
    (void)queue;
    (void)watches;
    (void)count;
    assert(live != NULL);
    *live = rounds.live[--rounds.live_count];
}

struct hf_sim_observer rounds_observer(void)
{
    return (struct hf_sim_observer){.added = on_added,
                                    .gone = on_gone,
                                    .marked = on_marked,
                                    .line = on_line};
}

/* The ticket may have gone since, with its session. */
void rounds_check_entry(const struct party *party)
{
    const struct live *live = find_live(&party->member->ticket_id);

    rounds_must(live == NULL || live->called, 1,
                "somebody went in to whom no mark was made");
}

void rounds_check_passage(const struct party *party, uint64_t stamp)
{
    for (unsigned i = 0; i < rounds.count; i++) {
        const struct party *other = &rounds.parties[i];
        const struct live *live = other->where == INSIDE && other != party
                                      ? find_live(&other->member->ticket_id)
                                      : NULL;

        rounds_must(live == NULL || live->token >= stamp, 1,
                    "somebody left one of his round behind");
    }
}
