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
#ifndef HF_TESTS_UNIT_STAGE_H
#define HF_TESTS_UNIT_STAGE_H

#include "core/core.h"

#define STAGE_TICKETS 16
#define STAGE_PENDING 32
#define STAGE_TEXT_BYTES 1024

struct stage_pending {
    char text[64]; /* as in the effect; "" if the slot is free */
    struct hf_request *request;
};

struct stage {
    struct hf_core core;
    struct hf_acquisition a;
    struct hf_acquisition b;
    struct hf_acquisition c;
    uint64_t now_ms;
    struct hf_ticket_id mine[3][STAGE_TICKETS];
    size_t mine_count[3];
    struct stage_pending pending[STAGE_PENDING];
    unsigned answers[3];   /* GRANTED and ENDED, at most one each */
    unsigned forgotten[3]; /* DONE, at most one each */
    bool held[3];          /* as their owners have been told */
    bool lazy;             /* each session that begins */
};

/* The lease and the moment of most stories: CONNECTED at 1000, confirmed as of
 * 990, so safe until 990 + 10000 - 100. */
#define STAGE_START_MS 1000
#define STAGE_TIMEOUT_MS 10000
#define STAGE_SAFE_MS 10890
#define STAGE_CONNECT_MS 15000

/* Raise the curtain: time is STAGE_START_MS, nothing is connected.  a, b
 * and c are mutexes without a deadline that the story may change before want().
 */
void stage_init(struct stage *s, unsigned traits);

/* stage_init(), CONNECTED with a lease, and its STATE taken. */
void stage_connected(struct stage *s, unsigned traits);

/* The first line of a story: stage_connected() with ${s} for the stage. */
#define STAGE(s, traits)                                                       \
    struct stage stage_;                                                       \
    struct stage *s = &stage_;                                                 \
    (void)state;                                                               \
    stage_connected(s, traits)

/* All effects until now, which must read ${expected}. */
#define expect(s, expected) stage_expect(s, expected, __FILE__, __LINE__)
void stage_expect(struct stage *s, const char *expected, const char *file,
                  int line);

/* The next effect alone, which must read ${expected}. */
void stage_expect_one(struct stage *s, const char *expected);

/* Take all effects, whatever they are. */
void stage_drain(struct stage *s);

/* Events.  ${request} names a request that was taken and not answered. */
void want(struct stage *s, struct hf_acquisition *a);
void cancel(struct stage *s, struct hf_acquisition *a);
void release(struct stage *s, struct hf_acquisition *a);
void downgrade(struct stage *s, struct hf_acquisition *a);
void check(struct stage *s);
void close_core(struct stage *s);
void connected(struct stage *s, uint64_t anchor_ms, bool resumed);
void connected_for(struct stage *s, uint64_t timeout_ms, uint64_t anchor_ms,
                   bool resumed);
void resuming(struct stage *s, uint64_t sent_at_ms, uint64_t least_timeout_ms);
void trouble(struct stage *s, hf_status status, const char *text);
void trouble_for_good(struct stage *s, hf_status status, const char *text);
void gave_up(struct stage *s, uint32_t retries, uint64_t elapsed_ms);
void suspended(struct stage *s);
void session_lost(struct stage *s, hf_status status);
void closed(struct stage *s);
void enqueued(struct stage *s, const char *request, const char *queue);
void listed(struct stage *s, const char *request, const char *queue);
void watching(struct stage *s, const char *request);
void changed(struct stage *s, const char *request);
void gone(struct stage *s, const char *request);
void withdrawn(struct stage *s, const char *request, bool found);
void downgraded(struct stage *s, const char *request);
void stamped(struct stage *s, const char *request);
void proven(struct stage *s, uint64_t anchor_ms);
void failed(struct stage *s, const char *request, enum hf_failure failure);
void failed_as(struct stage *s, const char *request, enum hf_failure failure,
               hf_status status, const char *text);

/* Let it be ${now_ms}, with or without a TICK. */
void at(struct stage *s, uint64_t now_ms);
void later(struct stage *s, uint64_t now_ms);

/* Let it be the moment the core asked to be woken, and wake it. */
void ring(struct stage *s);

/* Is the request called ${text} with the engine? */
bool is_pending(const struct stage *s, const char *text);

/* Beginnings of many stories: a has asked for its ticket a1; has it in
 * ${queue}, what follows from that being left to be expected; waits with it
 * behind x; holds it; had no answer for it, and looks for it; has not found it,
 * and has asked for a2. */
void enqueue_a(struct stage *s);
void enqueue_a_in(struct stage *s, const char *queue);
void queue_a(struct stage *s);
void hold_a(struct stage *s);
void doubt_a1(struct stage *s);
void abandon_a1(struct stage *s);

/* The time in which an ENQUEUE of a1 that had no answer may be carried out is
 * over: a1 is withdrawn then, not before. */
void outlast_a1(struct stage *s);

#endif
