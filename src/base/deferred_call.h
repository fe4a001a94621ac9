/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are deferred to the end of a step.  A listener that is notified in
 * the middle of a step only notes that, because the core is not in order yet,
 * and acts when its deferred call runs.  First added, first called.
 */
#ifndef HF_BASE_DEFERRED_CALL_H
#define HF_BASE_DEFERRED_CALL_H

#include <stdbool.h>

struct hf_core;

/* Embedded in the object that it is for.  Zeroed, except .run, before it is
 * first added. */
struct hf_deferred_call {
    void (*run)(struct hf_core *core, struct hf_deferred_call *deferred);
    bool queued;
    struct hf_deferred_call *next;
};

struct hf_deferred_calls {
    struct hf_deferred_call *first;
    struct hf_deferred_call **end;
};

/* Make ${calls} empty. */
void hf_deferred_calls_init(struct hf_deferred_calls *calls);

/* Add ${call}; nothing if it is queued. */
void hf_deferred_call_add(struct hf_deferred_calls *calls,
                          struct hf_deferred_call *call);

/* Run all calls, also those that are added meanwhile.  It ends, because each
 * call moves acquisitions on towards their ends. */
void hf_deferred_calls_run(struct hf_deferred_calls *calls,
                           struct hf_core *core);

#endif
