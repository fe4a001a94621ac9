/* SPDX-License-Identifier: Apache-2.0 */
/* A lookout of one acquisition: what a queue looks like, and the news that it
 * has changed since. */
#ifndef HF_CORE_LOOKOUT_H
#define HF_CORE_LOOKOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"

enum hf_lookout_state {
    HF_LOOKOUT_NONE,
    HF_LOOKOUT_ASKED,     /* for the list */
    HF_LOOKOUT_WATCHING,  /* listed, and not changed since */
    HF_LOOKOUT_FORGOTTEN, /* a FORGET is on its way to the engine */
};

/* Allocated before it is first needed: few acquisitions have one. */
struct hf_lookout {
    enum hf_lookout_state state;
    uint64_t at_ms; /* not to be asked for before */
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect effect;
};

/* One of ${acquisition}, which frees it; NULL without the memory for it. */
struct hf_lookout *hf_lookout_new(struct hf_acquisition *acquisition);

/* Keep it: ask, if ${may_ask} and there is none. */
void hf_lookout_keep(struct hf_lookout *lookout,
                     struct hf_effect_queue *effects, bool may_ask);

/* It is of no more use. */
void hf_lookout_end(struct hf_lookout *lookout,
                    struct hf_effect_queue *effects);

/* Answers.  False from _listed() if the list came while its FORGET was on its
 * way.  _ended(): CHANGED, or FAILED. */
bool hf_lookout_listed(struct hf_lookout *lookout);
void hf_lookout_ended(struct hf_lookout *lookout,
                      struct hf_effect_queue *effects);

/* The FORGET was handed to the engine, which has returned. */
void hf_lookout_taken_back(struct hf_lookout *lookout);

/* The session is over and with it, in silence, every watch. */
void hf_lookout_clear(struct hf_lookout *lookout,
                      struct hf_effect_queue *effects);

#endif
