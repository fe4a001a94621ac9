/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of a queue, for one ticket of ours: what the queue looks like, and
 * the event that it has changed since. */
#ifndef HF_CORE_QUEUE_WATCH_H
#define HF_CORE_QUEUE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"

enum hf_queue_watch_state {
    HF_QUEUE_WATCH_NONE,
    HF_QUEUE_WATCH_ASKED,    /* for the list */
    HF_QUEUE_WATCH_WATCHING, /* listed, and not changed since */
    HF_QUEUE_WATCH_ENDING,   /* a FORGET is on its way to the engine */
};

/* Only leases and participants of a double barrier have one. */
struct hf_queue_watch {
    enum hf_queue_watch_state state;
    uint64_t at_ms; /* not to be asked for before */
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect effect;
};

struct hf_own_ticket;

/* One of ${ticket}, which frees it; NULL without the memory for it. */
struct hf_queue_watch *hf_queue_watch_new(struct hf_own_ticket *ticket);

/* Keep it: ask, if ${may_ask} and there is none. */
void hf_queue_watch_start(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects, bool may_ask);

/* It is of no more use. */
void hf_queue_watch_stop(struct hf_queue_watch *watch,
                         struct hf_effect_queue *effects);

/* Answers.  False from _listed() if the list came while its FORGET was on its
 * way.  _over(): CHANGED, or FAILED. */
bool hf_queue_watch_listed(struct hf_queue_watch *watch);
void hf_queue_watch_ended(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects);

/* The FORGET was handed to the engine, which has returned. */
void hf_queue_watch_unwatched(struct hf_queue_watch *watch);

/* The session is over and with it, in silence, every watch. */
void hf_queue_watch_clear(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects);

#endif
