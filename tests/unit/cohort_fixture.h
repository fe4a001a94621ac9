/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hall for stories of a cohort: events are fed by hand, effects are read as
 * text.  Members are called w1, w2, ..., the tickets that stand for them t1,
 * t2, ... in the order they were enqueued; strangers' tickets by one letter
 * each.
 */
#ifndef HF_TESTS_UNIT_COHORT_FIXTURE_H
#define HF_TESTS_UNIT_COHORT_FIXTURE_H

#include "core/core.h"

#define COHORT_WAITERS 24
#define COHORT_TICKETS 8
#define COHORT_PENDING 16
#define COHORT_HANDOFFS 16

#define COHORT_START_MS 1000
#define COHORT_TIMEOUT_MS 10000
#define COHORT_SAFE_MS (990 + COHORT_TIMEOUT_MS - 100)

struct cohort_fixture {
    struct hf_core core;
    struct hf_cohort cohort;
    struct hf_acquisition w[COHORT_WAITERS + 1]; /* from 1 */
    char payloads[COHORT_WAITERS + 1][8];
    struct hf_ticket_id t[COHORT_TICKETS + 1];
    char t_payloads[COHORT_TICKETS + 1][8];
    size_t t_count;
    struct {
        char text[64];
        struct hf_request *request;
    } pending[COHORT_PENDING];
    uint64_t now_ms;
};

/* All wait for nothing yet, and the session is connected. */
void cohort_fixture_init(struct cohort_fixture *f);

/* w1 holds, and as many wait as make ${count}. */
void cohort_fixture_held(struct cohort_fixture *f, size_t count);

#define HELD(f, count)                                                         \
    struct cohort_fixture cohort_fixture_;                                     \
    struct cohort_fixture *f = &cohort_fixture_;                               \
    (void)state;                                                               \
    cohort_fixture_held(f, count)

/* All effects until now, which must read ${expected}. */
#define expect(f, expected)                                                    \
    cohort_fixture_expect(f, expected, __FILE__, __LINE__)
void cohort_fixture_expect(struct cohort_fixture *f, const char *expected,
                           const char *file, int line);

/* The request that was taken as ${text} and not answered; with ${end} it is. */
struct hf_request *cohort_pending(struct cohort_fixture *f, const char *text,
                                  bool end);

/* Until when the member ${number} is promised its grant. */
uint64_t safe_until_of(struct cohort_fixture *f, size_t number);

/* Events.  ${request} names one that was taken and not answered, ${queue} is
 * the names of its tickets in order, or NULL. */
void cohort_step(struct cohort_fixture *f, struct hf_event event);
void cohort_want(struct cohort_fixture *f, size_t number);
void cohort_release(struct cohort_fixture *f, size_t number);
void cohort_cancel(struct cohort_fixture *f, size_t number);
void cohort_tick(struct cohort_fixture *f, uint64_t now_ms);
void cohort_connected(struct cohort_fixture *f, bool resumed);
void cohort_session(struct cohort_fixture *f, enum hf_event_kind kind);
void cohort_answer(struct cohort_fixture *f, enum hf_event_kind kind,
                   const char *request, const char *queue);
void cohort_enqueued(struct cohort_fixture *f, const char *request,
                     const char *queue);
void cohort_removed(struct cohort_fixture *f, const char *request);
void cohort_gone(struct cohort_fixture *f, const char *request);
void cohort_failed(struct cohort_fixture *f, const char *request,
                   enum hf_failure failure, hf_status status);

#endif
