/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core with one cohort (core/cohort.h): acquisitions of one client for one
 * lock, which share tickets.  The test plays the engine and the users, and
 * reads effects as text, as with core_fixture.h.
 *
 * The acquisitions are called w1, w2, ...  The tickets that the cohort enqueues
 * for them are t1, t2, ... in that order.  A ticket of another client has one
 * letter.
 */
#ifndef HF_TESTS_UNIT_COHORT_FIXTURE_H
#define HF_TESTS_UNIT_COHORT_FIXTURE_H

#include "core/cohort.h"
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
    char payloads[COHORT_WAITERS + 1][8];        /* "w1" and so on */
    struct hf_ticket_id t[COHORT_TICKETS + 1];   /* from 1 */
    char t_payloads[COHORT_TICKETS + 1][8]; /* of whom each was enqueued for */
    size_t t_count;
    struct {
        char text[64];              /* as in the effect */
        struct hf_request *request; /* NULL: this entry is free */
    } pending[COHORT_PENDING];      /* not answered */
    uint64_t now_ms;
};

/* There is a session, and nobody has asked for the lock. */
void cohort_fixture_init(struct cohort_fixture *f);

/* w1 holds the lock, and w2 to w${count} wait for it. */
void cohort_fixture_held(struct cohort_fixture *f, size_t count);

/* A test of f, such a cohort. */
#define HELD_TEST(name, count)                                                 \
    TEST_OF(name, cohort_fixture, cohort_fixture_held(f, count), )

/* Read all effects since the last call.  They must be ${expected}. */
#define expect(f, expected)                                                    \
    cohort_fixture_expect(f, expected, __FILE__, __LINE__)
void cohort_fixture_expect(struct cohort_fixture *f, const char *expected,
                           const char *file, int line);

/* The pending request that reads ${text}.  It stays pending unless ${end}. */
struct hf_request *cohort_pending(struct cohort_fixture *f, const char *text,
                                  bool end);

/* Safe-until of the grant of w${number}; 0 if it has none. */
uint64_t safe_until_of(struct cohort_fixture *f, size_t number);

/* Events.  ${number} is that of an acquisition, ${request} the text of a
 * pending request, ${queue} the tickets of the answer in order, "x t1", or
 * NULL. */
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
