/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage for stories about the core: events are fed by hand, effects are read
 * as text.  Two acquisitions, "a" and "b", act on it; their tickets are called
 * a1, a2, ... in the order in which they were enqueued, those of others by one
 * letter each.  Effects read, for instance,
 *
 *     a ENQUEUE a1; a LIST; a WATCH_QUEUE; a WATCH x; a UNWATCH x; a REMOVE a1;
 *     a GRANTED; a WAITING 1; a LOST; a RELEASED HF_OK; a DONE;
 *     a ENDED HF_EBUSY; PROVE; PROVEN; END; STATE CONNECTED; a DOWNGRADE a1;
 *     a DOWNGRADED HF_OK; a NEW_GENERATION a1
 *
 * and a queue is the names of its tickets in order, "x y a1"; of a ticket of
 * others "x" is a mutex, "x/r" a read, "x/w" a write ticket and "x/x" either of
 * the exclusive ones, "x/l2" a lease of 2 permits.  "a1/x" is ours, seen as no
 * more than that.  "x/m" is a member of a double barrier, "!/y150" the mark
 * that was stamped with token 150; a1's token is 101.
 */
#ifndef HF_TESTS_UNIT_CORE_FIXTURE_H
#define HF_TESTS_UNIT_CORE_FIXTURE_H

#include "core/core.h"

#define CORE_TICKETS 16
#define CORE_PENDING 32
#define CORE_TEXT_BYTES 1024

struct pending_request {
    char text[64]; /* as in the effect; "" if the slot is free */
    struct hf_request *request;
};

struct core_fixture {
    struct hf_core core;
    struct hf_acquisition a;
    struct hf_acquisition b;
    struct hf_acquisition c;
    uint64_t now_ms;
    struct hf_ticket_id own_ids[3][CORE_TICKETS];
    size_t own_count[3];
    struct pending_request pending[CORE_PENDING];
    unsigned answers[3];   /* GRANTED and ENDED, at most one each */
    unsigned forgotten[3]; /* DONE, at most one each */
    bool held[3];          /* as their owners have been told */
    bool lazy;             /* each session that begins */
};

/* The lease and the moment of most stories: CONNECTED at 1000, confirmed as of
 * 990, so safe until 990 + 10000 - 100. */
#define CORE_START_MS 1000
#define CORE_TIMEOUT_MS 10000
#define CORE_SAFE_MS 10890
#define CORE_CONNECT_MS 15000

/* Raise the curtain: time is CORE_START_MS, nothing is connected.  a, b
 * and c are mutexes without a deadline that the story may change before want().
 */
void core_fixture_init(struct core_fixture *f, unsigned traits);

/* core_fixture_init(), CONNECTED with a lease, and its STATE taken. */
void core_fixture_connected(struct core_fixture *f, unsigned traits);

/* The first line of a story: core_fixture_connected() with ${s} for the stage.
 */
#define CORE_FIXTURE(f, traits)                                                \
    struct core_fixture core_fixture_;                                         \
    struct core_fixture *f = &core_fixture_;                                   \
    (void)state;                                                               \
    core_fixture_connected(f, traits)

/* All effects until now, which must read ${expected}. */
#define expect(f, expected) core_fixture_expect(f, expected, __FILE__, __LINE__)
void core_fixture_expect(struct core_fixture *f, const char *expected,
                         const char *file, int line);

/* The next effect alone, which must read ${expected}. */
void core_fixture_expect_one(struct core_fixture *f, const char *expected);

/* Take all effects, whatever they are. */
void core_fixture_drain(struct core_fixture *f);

/* Events.  ${request} names a request that was taken and not answered. */
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
void gone(struct core_fixture *f, const char *request);
void removed(struct core_fixture *f, const char *request, bool found);
void downgraded(struct core_fixture *f, const char *request);
void generation_set(struct core_fixture *f, const char *request);
void proven(struct core_fixture *f, uint64_t anchor_ms);
void failed(struct core_fixture *f, const char *request,
            enum hf_failure failure);
void failed_as(struct core_fixture *f, const char *request,
               enum hf_failure failure, hf_status status, const char *text);

/* Let it be ${now_ms}, with or without a TICK. */
void advance_to(struct core_fixture *f, uint64_t now_ms);
void set_time(struct core_fixture *f, uint64_t now_ms);

/* Let it be the moment the core asked to be woken, and wake it. */
void wake(struct core_fixture *f);

/* Is the request called ${text} with the engine? */
bool is_pending(const struct core_fixture *f, const char *text);

/* Beginnings of many stories: a has asked for its ticket a1; has it in
 * ${queue}, what follows from that being left to be expected; waits with it
 * behind x; holds it; had no answer for it, and looks for it; has not found it,
 * and has asked for a2. */
void enqueue_a(struct core_fixture *f);
void enqueue_a_in(struct core_fixture *f, const char *queue);
void queue_a_behind_x(struct core_fixture *f);
void hold_a(struct core_fixture *f);
void lose_answer_of_a1(struct core_fixture *f);
void replace_a1(struct core_fixture *f);

/* The time in which an ENQUEUE of a1 that had no answer may be carried out is
 * over: a1 is withdrawn then, not before. */
void pass_window_of_a1(struct core_fixture *f);

#endif
