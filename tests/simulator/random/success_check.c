/* SPDX-License-Identifier: Apache-2.0 */
/* The successes in the committed state, and the invariants. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/random/success_private.h"

/* The clocks of the servers are at most this much faster than true time. */
#define SERVER_PPM 500
#define PERIOD_US                                                              \
    (UINT64_C(1000) * PERIOD_MS -                                              \
     UINT64_C(1000) * PERIOD_MS * SERVER_PPM / 1000000 - 2000)

/* Nothing is traced after the first violation. */
static void trace(const char *who, const char *format, va_list arguments)
{
    char text[256];
    uint64_t now_us = hf_sim_now_us(success_run.sim);
    int used;

    if (success_run.line == NULL || success_run.end->broken != 0)
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %-6s  ",
                    now_us / 1000, (unsigned)(now_us % 1000), who);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    success_run.line(NULL, text);
}

static void trace_broken(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    trace("CHECK", format, arguments);
    va_end(arguments);
}

void success_trace(const struct runner *runner, const char *format, ...)
{
    char who[16] = "-";
    va_list arguments;

    if (runner != NULL)
        (void)snprintf(who, sizeof who, "p%u", runner->number);
    va_start(arguments, format);
    trace(who, format, arguments);
    va_end(arguments);
}

void success_check(bool holds, int invariant, const char *message)
{
    if (holds || success_run.end->broken != 0)
        return;
    trace_broken("invariant %d broken: %s", invariant, message);
    success_run.end->broken = invariant;
    success_run.end->message = message;
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    const struct runner *runner = NULL;

    (void)arg;
    for (unsigned i = 0; i < success_run.count; i++)
        if (success_run.alive[i] != NULL &&
            success_run.alive[i]->engine == engine)
            runner = success_run.alive[i];
    success_trace(runner, "%s", text);
}

/* ------------------------------------------------------- committed state -- */

static struct recorded_success *last(void)
{
    return success_run.recorded_count == 0
               ? NULL
               : &success_run.recorded[success_run.recorded_count - 1];
}

/* Is ${at_us} within the period after the last success? */
static bool is_within_period(uint64_t at_us)
{
    return last() != NULL && at_us < last()->at_us + PERIOD_US;
}

/* A failover has lost what was written after ${token}. */
static void forget_after(uint64_t token)
{
    while (last() != NULL && last()->token > token)
        success_run.recorded_count--;
}

/* What is recorded may be newer than what was confirmed, never older. */
static void check_confirmed_is_there(void)
{
    const struct confirmed_success *confirmed = &success_run.confirmed;

    if (confirmed->token == 0)
        return;
    success_check(last() != NULL && (last()->token > confirmed->token ||
                                     (last()->token == confirmed->token &&
                                      last()->at_us >= confirmed->sent_us)),
                  11, "a success that was confirmed is lost");
}

/* A token that is there already is written again where the clock was set back,
 * or because an answer was lost.  A failover brings back an earlier write, of
 * the same token or of a lower one: the period counts from that again. */
static void on_succeeded(void *arg, const char *queue, uint64_t token,
                         uint64_t at_us)
{
    (void)arg;
    (void)queue;
    success_trace(NULL, "server has the success of %" PRIu64, token);
    forget_after(token);
    if (token != 0 && (last() == NULL || token > last()->token)) {
        success_check(!is_within_period(at_us), 1,
                      "two successes were recorded within the period");
        assert(success_run.recorded_count < RECORDED_MAX);
        success_run.recorded[success_run.recorded_count++].token = token;
        success_run.end->recorded++;
    }
    if (token != 0)
        last()->at_us = at_us;
    check_confirmed_is_there();
}

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    (void)arg;
    (void)queue;
    (void)ticket;
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    (void)arg;
    (void)queue;
    (void)ticket;
    (void)watches;
    (void)count;
}

static void on_barrier(void *arg, const char *queue, bool up)
{
    (void)arg;
    (void)queue;
    (void)up;
}

struct hf_sim_observer success_observer(void)
{
    return (struct hf_sim_observer){.added = on_added,
                                    .gone = on_gone,
                                    .barrier_changed = on_barrier,
                                    .succeeded = on_succeeded,
                                    .line = on_line};
}

/* ---------------------------------------------------------------- checks -- */

/* A holder whose ticket was deleted by somebody, and that was not notified yet,
 * may have a successor that has succeeded since it asked. */
void success_check_due(const struct runner *runner)
{
    success_check(!is_within_period(hf_sim_now_us(success_run.sim)) ||
                      !hf_sim_ticket_exists(success_run.sim,
                                            &runner->acquisition->ticket_id),
                  1, "a holder found that it is due within the period");
}

/* The write that was answered is the last one that was requested: an earlier
 * request of the same operation has failed. */
void success_check_confirmed(const struct runner *runner, uint64_t token)
{
    struct confirmed_success *confirmed = &success_run.confirmed;

    if (token > confirmed->token ||
        (token == confirmed->token &&
         runner->write_sent_us > confirmed->sent_us))
        *confirmed = (struct confirmed_success){token, runner->write_sent_us};
    check_confirmed_is_there();
}

/* The core removes a ticket that was lost. */
void success_check_failure(const struct runner *runner,
                           const struct hf_operation *operation)
{
    bool is_there = !runner->lost &&
                    hf_sim_ticket_exists(success_run.sim, &operation->ticket);
    bool timed_out = operation->status == HF_ETIMEDOUT;

    success_trace(runner, "%s", operation->text);
    success_check(timed_out || !is_there || operation->status == HF_ECLOSED, 9,
                  "a read or write failed and the ticket is there");
    success_check(operation->text[0] != '\0', 10,
                  "a read or write failed without a message");
}
