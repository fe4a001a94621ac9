/* SPDX-License-Identifier: Apache-2.0 */
/* A desk for stories about one operation: events are fed by hand, what it asks
 * for is kept, and how often it is answered is counted. */
#ifndef HF_TESTS_UNIT_OPERATION_FIXTURE_H
#define HF_TESTS_UNIT_OPERATION_FIXTURE_H

#include "core/core.h"

#define OPERATION_START_MS 1000
#define OPERATION_CONNECT_MS 15000

struct operation_fixture {
    struct hf_core core;
    struct hf_operation operation;
    uint64_t now_ms;
    struct hf_request *request; /* with the engine, asked or watched */
    unsigned requests;
    unsigned forgets;
    unsigned answered;
    unsigned finished;
};

/* It is OPERATION_START_MS, nothing is connected, and ${kind} is to be asked
 * about
 * ${queue} within ${wait_ms}. */
void operation_fixture_init(struct operation_fixture *f,
                            enum hf_request_kind kind, const char *queue,
                            uint64_t wait_ms);
void operation_fixture_connect(struct operation_fixture *f, bool resumed);
void operation_fixture_start(struct operation_fixture *f);

/* Feed ${event}, whose time is now; and take the effects. */
void operation_fixture_step_only(struct operation_fixture *f,
                                 struct hf_event event);
void operation_fixture_take(struct operation_fixture *f);
void operation_fixture_step(struct operation_fixture *f, struct hf_event event);

/* Let it be ${now_ms}. */
void operation_fixture_tick(struct operation_fixture *f, uint64_t now_ms);

/* What is looked at has changed. */
void operation_fixture_changed(struct operation_fixture *f);

/* It has ended so, once, and has said why if it failed. */
void operation_fixture_expect_end(const struct operation_fixture *f,
                                  hf_status status);

#endif
