/* SPDX-License-Identifier: Apache-2.0 */
/* A desk for stories about one operation: events are fed by hand, what it asks
 * for is kept, and how often it is answered is counted. */
#ifndef HF_TESTS_UNIT_DESK_H
#define HF_TESTS_UNIT_DESK_H

#include "core/core.h"

#define DESK_START_MS 1000
#define DESK_CONNECT_MS 15000

struct desk {
    struct hf_core core;
    struct hf_operation operation;
    uint64_t now_ms;
    struct hf_request *request; /* with the engine, asked or watched */
    unsigned requests;
    unsigned forgets;
    unsigned answered;
    unsigned finished;
};

/* It is DESK_START_MS, nothing is connected, and ${kind} is to be asked about
 * ${queue} within ${wait_ms}. */
void desk_init(struct desk *d, enum hf_request_kind kind, const char *queue,
               uint64_t wait_ms);
void desk_connect(struct desk *d, bool resumed);
void desk_inquire(struct desk *d);

/* Feed ${event}, whose time is now; and take the effects. */
void desk_step_only(struct desk *d, struct hf_event event);
void desk_take(struct desk *d);
void desk_step(struct desk *d, struct hf_event event);

/* Let it be ${now_ms}. */
void desk_tick(struct desk *d, uint64_t now_ms);

/* What is looked at has changed. */
void desk_changed(struct desk *d);

/* It has ended so, once, and has said why if it failed. */
void desk_expect_end(const struct desk *d, hf_status status);

#endif
