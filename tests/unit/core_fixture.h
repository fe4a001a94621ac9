/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core for tests of acquisitions.  The test plays the engine and the user: it
 * feeds events, and it reads the effects of the core as text.  So a test is a
 * list of inputs and of what each must lead to, without a loop or a clock.
 *
 * There are three acquisitions, a, b and c.  Their tickets are called a1, a2,
 * ... in the order in which they are enqueued.  A ticket of another client has
 * one letter.  Effects read, for instance,
 *
 *     a ENQUEUE a1; a LIST; a WATCH_QUEUE; a WATCH x; a UNWATCH x; a REMOVE a1;
 *     a GRANTED; a WAITING 1; a REVOKED; a LOST; a RELEASED HF_OK; a DONE;
 *     a ENDED HF_EBUSY; PROVE; PROVEN; END; STATE CONNECTED; a DOWNGRADE a1;
 *     a DOWNGRADED HF_OK; a NEW_GENERATION a1
 *
 * A queue is written as its tickets in order, "x y a1".  The kind of a ticket
 * of another client follows its letter:
 *
 *     x    a mutex              x/x     a mutex or a writer, not known which
 *     x/r  a reader             x/l2    a lease of 2 permits
 *     x/w  a writer             x/m     a participant of a double barrier
 *     a1/x our ticket, as a     !/y150  the generation of a double barrier,
 *          layout shows it that         with token 150
 *          has no kinds
 *
 * The token of a1 is 101, that of b2 is 202.
 */
#ifndef HF_TESTS_UNIT_CORE_FIXTURE_H
#define HF_TESTS_UNIT_CORE_FIXTURE_H

#include "core/core.h"

#define CORE_TICKETS 16
#define CORE_PENDING 32
#define CORE_TEXT_BYTES 1024

/* A request that the core made and the test has not answered. */
struct pending_request {
    char text[64]; /* as in the effect; "": this entry is free */
    struct hf_request *request;
};

struct core_fixture {
    struct hf_core core;
    struct hf_acquisition a;
    struct hf_acquisition b;
    struct hf_acquisition c;
    uint64_t now_ms;
    /* By acquisition, a to c. */
    struct hf_ticket_id own_ids[3][CORE_TICKETS]; /* a1, a2, ... */
    size_t own_count[3];
    struct pending_request pending[CORE_PENDING];
    unsigned answers[3];   /* GRANTED and ENDED together: at most 1 */
    unsigned forgotten[3]; /* DONE: at most 1, after an answer */
    bool held[3];          /* GRANTED was reported, and no end of the grant */
    bool lazy;         /* sessions begin with proof=lazy; the test sets it */
    uint64_t proof_ms; /* of CONNECTED; the test sets it */
};

/* The session of most tests: CONNECTED at 1000 ms, confirmed as of 990 ms for
 * 10000 ms.  The core keeps a margin of 100 ms, so safe-until is 10890 ms. */
#define CORE_START_MS 1000
#define CORE_TIMEOUT_MS 10000
/* A late ticket may appear for so long: a timeout of a server that is slow by
 * 1 %, by a clock of ours that is fast by as much. */
#define CORE_LATE_MS 10203
#define CORE_SAFE_MS 10890
#define CORE_CONNECT_MS 15000

/* Time is CORE_START_MS and there is no session.  a, b and c are mutexes of the
 * queue "q" without a deadline; a test may change them before want().
 * ${traits} are those of the engine, see core/engine.h. */
void core_fixture_init(struct core_fixture *f, unsigned traits);

/* The same with a session; its STATE is read already. */
void core_fixture_connected(struct core_fixture *f, unsigned traits);

/* A test of f, a core with a session; and of one that ${open}, a call with f,
 * begins. */
#define CORE_TEST(name, traits)                                                \
    CORE_TEST_FROM(name, core_fixture_connected(f, traits))
#define CORE_TEST_FROM(name, open) TEST_OF(name, core_fixture, open, )

/* Read all effects since the last call.  They must be ${expected}, joined by
 * "; "; "" if there must be none. */
#define expect(f, expected) core_fixture_expect(f, expected, __FILE__, __LINE__)
void core_fixture_expect(struct core_fixture *f, const char *expected,
                         const char *file, int line);

/* Read one effect and leave the others. */
void core_fixture_expect_one(struct core_fixture *f, const char *expected);

/* Read all effects and accept any. */
void core_fixture_drain(struct core_fixture *f);

/* One function for each event of core/core.h.  ${request} is the text of a
 * pending request, "a LIST"; it ends with this answer, unless it watches. */
void want(struct core_fixture *f, struct hf_acquisition *a);
void cancel(struct core_fixture *f, struct hf_acquisition *a);
void release(struct core_fixture *f, struct hf_acquisition *a);
void downgrade(struct core_fixture *f, struct hf_acquisition *a);
void check(struct core_fixture *f);
void close_core(struct core_fixture *f);
void connected(struct core_fixture *f, uint64_t anchor_ms, bool resumed);
void connected_for(struct core_fixture *f, uint64_t timeout_ms,
                   uint64_t anchor_ms, bool resumed);
void resuming(struct core_fixture *f, uint64_t sent_at_ms,
              uint64_t least_timeout_ms);
void report_connection_error(struct core_fixture *f, hf_status status,
                             const char *text);
void report_final_error(struct core_fixture *f, hf_status status,
                        const char *text);
void gave_up(struct core_fixture *f, uint32_t retries, uint64_t elapsed_ms);
void suspended(struct core_fixture *f);
void session_lost(struct core_fixture *f, hf_status status);
void closed(struct core_fixture *f);
void enqueued(struct core_fixture *f, const char *request, const char *queue);
void listed(struct core_fixture *f, const char *request, const char *queue);
void watching(struct core_fixture *f, const char *request);
void changed(struct core_fixture *f, const char *request);
void revoked(struct core_fixture *f, const char *request);
void gone(struct core_fixture *f, const char *request);
/* The same, and the engine says that ${first} is the first ticket now. */
void gone_before(struct core_fixture *f, const char *request,
                 const char *first);
void removed(struct core_fixture *f, const char *request, bool found);
void downgraded(struct core_fixture *f, const char *request);
void generation_set(struct core_fixture *f, const char *request);
void proven(struct core_fixture *f, uint64_t anchor_ms);
void failed(struct core_fixture *f, const char *request,
            enum hf_failure failure);
void failed_as(struct core_fixture *f, const char *request,
               enum hf_failure failure, hf_status status, const char *text);

/* Move the clock: without an event, and with a TICK. */
void set_time(struct core_fixture *f, uint64_t now_ms);
void advance_to(struct core_fixture *f, uint64_t now_ms);

/* Advance to the time at which the core wants its next TICK.  There must be
 * one. */
void wake(struct core_fixture *f);

/* True if a request of that text waits for an answer. */
bool is_pending(const struct core_fixture *f, const char *text);

/* States that many tests begin in. */
/* a has asked for its ticket a1. */
void enqueue_a(struct core_fixture *f);
/* The answer to that was ${queue}.  The test reads what follows. */
void enqueue_a_in(struct core_fixture *f, const char *queue);
/* a waits behind x. */
void queue_a_behind_x(struct core_fixture *f);
void hold_a(struct core_fixture *f);
/* The enqueue of a1 got no answer, and the core lists the queue to find it. */
void lose_answer_of_a1(struct core_fixture *f);
/* The list did not have a1, and the core has asked for a2. */
void replace_a1(struct core_fixture *f);
/* Advance to the time after which an enqueue of a1 without an answer can take
 * effect no more, and see that a1 is removed then and not earlier. */
void pass_window_of_a1(struct core_fixture *f);

#endif
