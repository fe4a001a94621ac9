/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be looked at when a step ends: owners of acquisitions that were
 * told something in the midst of it.  What they then ask of these meets a core
 * that is in order.  First told, first looked at.
 */
#ifndef HF_CORE_DEFERRED_CALL_H
#define HF_CORE_DEFERRED_CALL_H

#include <stdbool.h>

struct hf_core;

/* Zeroed, but for .look, before it is first added. */
struct hf_deferred_call {
    void (*run)(struct hf_core *core, struct hf_deferred_call *deferred);
    bool queued;
    struct hf_deferred_call *next;
};

struct hf_deferred_calls {
    struct hf_deferred_call *first;
    struct hf_deferred_call **end;
};

void hf_deferred_calls_init(struct hf_deferred_calls *calls);

/* Nothing if it is in. */
void hf_deferred_call_add(struct hf_deferred_calls *calls,
                          struct hf_deferred_call *call);

/* Look at each, also at those that are added meanwhile.  It ends: each look
 * moves acquisitions on towards their ends. */
void hf_deferred_calls_run(struct hf_deferred_calls *calls,
                           struct hf_core *core);

#endif
