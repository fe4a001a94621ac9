/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hall for stories of a cohort: events are fed by hand, effects are read as
 * text.  Members are called m1, m2, ..., the tickets that stand for them t1,
 * t2, ... in the order they were enqueued; strangers' tickets by one letter
 * each.
 */
#ifndef HF_TESTS_UNIT_HALL_H
#define HF_TESTS_UNIT_HALL_H

#include "core/core.h"

#define HALL_MEMBERS 24
#define HALL_TICKETS 8
#define HALL_PENDING 16
#define HALL_HANDOFFS 16

#define HALL_START_MS 1000
#define HALL_TIMEOUT_MS 10000
#define HALL_SAFE_MS (990 + HALL_TIMEOUT_MS - 100)

struct hall {
    struct hf_core core;
    struct hf_cohort cohort;
    struct hf_acquisition m[HALL_MEMBERS + 1]; /* from 1 */
    char payloads[HALL_MEMBERS + 1][8];
    struct hf_ticket_id t[HALL_TICKETS + 1];
    char t_payloads[HALL_TICKETS + 1][8];
    size_t t_count;
    struct {
        char text[64];
        struct hf_request *request;
    } pending[HALL_PENDING];
    uint64_t now_ms;
};

/* All wait for nothing yet, and the session is connected. */
void hall_init(struct hall *h);

/* m1 holds, and as many wait as make ${count}. */
void hall_held(struct hall *h, size_t count);

#define HELD(h, count)                                                         \
    struct hall hall_;                                                         \
    struct hall *h = &hall_;                                                   \
    (void)state;                                                               \
    hall_held(h, count)

/* All effects until now, which must read ${expected}. */
#define expect(h, expected) hall_expect(h, expected, __FILE__, __LINE__)
void hall_expect(struct hall *h, const char *expected, const char *file,
                 int line);

/* The request that was taken as ${text} and not answered; with ${end} it is. */
struct hf_request *answering(struct hall *h, const char *text, bool end);

/* Until when the member ${number} is promised its grant. */
uint64_t promise(struct hall *h, size_t number);

/* Events.  ${request} names one that was taken and not answered, ${queue} is
 * the names of its tickets in order, or NULL. */
void step(struct hall *h, struct hf_event event);
void want(struct hall *h, size_t number);
void release(struct hall *h, size_t number);
void cancel(struct hall *h, size_t number);
void tick(struct hall *h, uint64_t now_ms);
void connected(struct hall *h, bool resumed);
void tell(struct hall *h, enum hf_event_kind kind);
void answer(struct hall *h, enum hf_event_kind kind, const char *request,
            const char *queue);
void enqueued(struct hall *h, const char *request, const char *queue);
void withdrawn(struct hall *h, const char *request);
void gone(struct hall *h, const char *request);
void failed(struct hall *h, const char *request, enum hf_failure failure,
            hf_status status);

#endif
