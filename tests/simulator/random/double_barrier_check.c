/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets in the committed state of a double barrier, and the
 * invariants. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/random/double_barrier_private.h"

/* Nothing is traced after the first violation. */
static void trace(const char *who, const char *format, va_list arguments)
{
    char text[256];
    uint64_t now_us = hf_sim_now_us(double_barrier.sim);
    int used;

    if (double_barrier.line == NULL || double_barrier.end->broken != 0)
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %-6s  ",
                    now_us / 1000, (unsigned)(now_us % 1000), who);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    double_barrier.line(NULL, text);
}

static void trace_broken(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    trace("CHECK", format, arguments);
    va_end(arguments);
}

void double_barrier_trace(const struct participant *participant,
                          const char *format, ...)
{
    static const char *const names[PARTICIPANTS_MAX] = {"a", "b", "c", "d"};
    va_list arguments;

    va_start(arguments, format);
    trace(participant == NULL
              ? "-"
              : names[participant - double_barrier.participants],
          format, arguments);
    va_end(arguments);
}

void double_barrier_check(bool holds, int invariant, const char *message)
{
    if (holds || double_barrier.end->broken != 0)
        return;
    trace_broken("invariant %d broken: %s", invariant, message);
    double_barrier.end->broken = invariant;
    double_barrier.end->message = message;
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    unsigned i = 0;

    (void)arg;
    while (i < double_barrier.count &&
           double_barrier.participants[i].engine != engine)
        i++;
    double_barrier_trace(
        i < double_barrier.count ? &double_barrier.participants[i] : NULL, "%s",
        text);
}

/* ------------------------------------------------------- committed state -- */

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    (void)arg;
    (void)queue;
    assert(double_barrier.live_count < LIVE_TICKETS_MAX);
    double_barrier.live_tickets[double_barrier.live_count++] =
        (struct live_ticket){ticket->id, ticket->token, false};
}

/* READY was cleared, and not set again at the same time. */
static void check_cleared(void *arg)
{
    (void)arg;
    double_barrier_check(double_barrier.ready_set ||
                             double_barrier.cleared_under == 0,
                         4, "ready was cleared while a participant was there");
}

/* READY was set or cleared: 1, all participants must be there; 4, none may
 * be. */
static void on_barrier(void *arg, const char *queue, bool up)
{
    (void)arg;
    if (strcmp(queue, QUEUE "/ready") != 0)
        return;
    double_barrier.ready_set = up;
    double_barrier_trace(NULL, "server %s ready", up ? "sets" : "clears");
    double_barrier.cleared_under = up ? 0 : double_barrier.live_count;
    if (!up) {
        hf_sim_call_at(double_barrier.sim, hf_sim_now_us(double_barrier.sim),
                       true, check_cleared, NULL);
        return;
    }
    double_barrier_check(double_barrier.live_count >= double_barrier.count, 1,
                         "ready was set before all participants were there");
    for (unsigned i = 0; i < double_barrier.live_count; i++)
        double_barrier.live_tickets[i].ready_seen = true;
}

static struct live_ticket *find_live_ticket(const struct hf_ticket_id *id)
{
    for (unsigned i = 0; i < double_barrier.live_count; i++) {
        if (hf_ticket_id_equal(&double_barrier.live_tickets[i].id, id))
            return &double_barrier.live_tickets[i];
    }
    return NULL;
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    struct live_ticket *live_ticket = find_live_ticket(&ticket->id);

    (void)arg;
    (void)queue;
    (void)watches;
    (void)count;
    assert(live_ticket != NULL);
    *live_ticket = double_barrier.live_tickets[--double_barrier.live_count];
}

struct hf_sim_observer double_barrier_observer(void)
{
    return (struct hf_sim_observer){.added = on_added,
                                    .gone = on_gone,
                                    .barrier_changed = on_barrier,
                                    .line = on_line};
}

/* The ticket may have gone already, with its session. */
void double_barrier_check_entry(const struct participant *participant)
{
    const struct live_ticket *live_ticket =
        find_live_ticket(&participant->acquisition->ticket_id);

    double_barrier_check(
        live_ticket == NULL || live_ticket->ready_seen, 1,
        "a participant entered and ready was not set since it came");
}

/* 1: all participants that are inside came after the generation that is
 * left. */
void double_barrier_check_passage(const struct participant *participant,
                                  uint64_t generation)
{
    for (unsigned i = 0; i < double_barrier.count; i++) {
        const struct participant *other = &double_barrier.participants[i];
        const struct live_ticket *live_ticket =
            other->phase == INSIDE && other != participant
                ? find_live_ticket(&other->acquisition->ticket_id)
                : NULL;

        double_barrier_check(
            live_ticket == NULL || live_ticket->token >= generation, 1,
            "a participant left before another of its generation");
    }
}
