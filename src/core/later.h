/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be looked at when a step ends: owners of acquisitions that were
 * told something in the midst of it.  What they then ask of these meets a core
 * that is in order.  First told, first looked at.
 */
#ifndef HF_CORE_LATER_H
#define HF_CORE_LATER_H

#include <stdbool.h>

struct hf_core;

/* Zeroed, but for .look, before it is first added. */
struct hf_later {
    void (*look)(struct hf_core *core, struct hf_later *later);
    bool queued;
    struct hf_later *next;
};

struct hf_later_queue {
    struct hf_later *first;
    struct hf_later **end;
};

void hf_later_init(struct hf_later_queue *queue);

/* Nothing if it is in. */
void hf_later_add(struct hf_later_queue *queue, struct hf_later *later);

/* Look at each, also at those that are added meanwhile.  It ends: each look
 * moves acquisitions on towards their ends. */
void hf_later_run(struct hf_later_queue *queue, struct hf_core *core);

#endif
