/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch of a queue, for one ticket of ours: the list of the queue, and the
 * event that it has changed since.  Only leases and participants of a double
 * barrier need it, because no single ticket blocks them.
 */
#ifndef HF_CORE_QUEUE_WATCH_H
#define HF_CORE_QUEUE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/retry.h"
#include "core/effect.h"
#include "core/engine.h"

enum hf_queue_watch_state {
    HF_QUEUE_WATCH_NONE,
    HF_QUEUE_WATCH_ASKED,    /* the list is under way */
    HF_QUEUE_WATCH_WATCHING, /* listed, and not changed since */
    HF_QUEUE_WATCH_ENDING,   /* an UNWATCH is on its way to the engine */
};

struct hf_queue_watch {
    enum hf_queue_watch_state state;
    uint64_t at_ms; /* CLOCK_BOOTTIME; not requested before */
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect effect;
};

struct hf_own_ticket;

/* Allocate the watch of ${ticket}, which frees it with hf_free().  NULL if
 * there is no memory. */
struct hf_queue_watch *hf_queue_watch_new(struct hf_own_ticket *ticket);

/* Request the WATCH_QUEUE, if ${may_ask} and there is none. */
void hf_queue_watch_start(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects, bool may_ask);

/* It is not needed any more: take it back. */
void hf_queue_watch_stop(struct hf_queue_watch *watch,
                         struct hf_effect_queue *effects);

/* LISTED.  False if the watch was taken back meanwhile: the list crossed the
 * UNWATCH. */
bool hf_queue_watch_listed(struct hf_queue_watch *watch);

/* QUEUE_CHANGED or FAILED: there is no watch any more. */
void hf_queue_watch_ended(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects);

/* The engine has returned from the UNWATCH. */
void hf_queue_watch_unwatched(struct hf_queue_watch *watch);

/* The session is over, and with it every watch, without an event. */
void hf_queue_watch_clear(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects);

#endif
