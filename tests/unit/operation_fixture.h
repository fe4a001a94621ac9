/* SPDX-License-Identifier: Apache-2.0 */
/* A core with one operation of a user (core/operation.h): a barrier or double
 * barrier that is waited for or changed.  The test plays the engine: it keeps
 * the one request that the operation makes and counts answers. */
#ifndef HF_TESTS_UNIT_OPERATION_FIXTURE_H
#define HF_TESTS_UNIT_OPERATION_FIXTURE_H

#include "core/core.h"

#define OPERATION_START_MS 1000
#define OPERATION_CONNECT_MS 15000

struct operation_fixture {
    struct hf_core core;
    struct hf_operation operation;
    uint64_t now_ms;
    struct hf_request *request; /* the one with the engine; NULL: none */
    /* Effects so far. */
    unsigned requests;
    unsigned forgets;  /* watches that were taken back */
    unsigned watching; /* the watch is set; at most 1 */
    unsigned answered; /* to the user; at most 1 */
    unsigned finished; /* the core needs the operation no more; at most 1 */
};

/* Time is OPERATION_START_MS and there is no session.  The operation is a
 * request ${kind} about ${queue}, and it may wait ${wait_ms} or HF_FOREVER. */
void operation_fixture_init(struct operation_fixture *f,
                            enum hf_request_kind kind, const char *queue,
                            uint64_t wait_ms);
/* A session begins or is resumed; the user starts the operation. */
void operation_fixture_connect(struct operation_fixture *f, bool resumed);
void operation_fixture_start(struct operation_fixture *f);

/* Feed an event, read the effects, and both. */
void operation_fixture_step_only(struct operation_fixture *f,
                                 struct hf_event event);
void operation_fixture_take(struct operation_fixture *f);
void operation_fixture_step(struct operation_fixture *f, struct hf_event event);

/* Advance to ${now_ms}, with a TICK. */
void operation_fixture_tick(struct operation_fixture *f, uint64_t now_ms);

/* The queue that the request watches has changed. */
void operation_fixture_changed(struct operation_fixture *f);

/* The operation has ended once and with ${status}, and with a text if it
 * failed. */
void operation_fixture_expect_end(const struct operation_fixture *f,
                                  hf_status status);

#endif
