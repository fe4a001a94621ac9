/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core wants done.  Effects are embedded in the object they concern
 * and queued at most once each, so that the queue is bounded by its users and
 * adding to it cannot fail.
 */
#ifndef HF_CORE_EFFECT_H
#define HF_CORE_EFFECT_H

#include <stdbool.h>

#include <holdfast/holdfast.h>

struct hf_acquisition;
struct hf_operation;
struct hf_request;

enum hf_effect_kind {
    /* For the engine. */
    HF_EFFECT_REQUEST, /* carry out .request */
    HF_EFFECT_UNWATCH, /* take back the WATCH .request; it stays put until the
                         core is called again */
    HF_EFFECT_CONNECT, /* begin to connect again, after GAVE_UP */
    /* For the user of .acquisition. */
    HF_EFFECT_LOST,     /* the grant ended before its release */
    HF_EFFECT_GRANTED,  /* admitted: the token is set, and safe-until counts */
    HF_EFFECT_ENDED,    /* no grant: .status and hf_acquisition_text() */
    HF_EFFECT_WAITING,  /* in the queue: .ahead and .holder of the
                           acquisition */
    HF_EFFECT_RELEASED, /* the ticket of a released grant is gone, or may not
                           be taken out (HF_EDENIED): .status */
    HF_EFFECT_DOWNGRADED,       /* the request to become a reader has ended:
                                   .downgrade_status of the acquisition */
    HF_EFFECT_ACQUISITION_DONE, /* the core holds no pointer to it any more.
                            Comes after ENDED or RELEASED, when nothing of it
                            can reappear in the queue */
    HF_EFFECT_REVOKED,          /* somebody asks for the grant to be released */
    /* For the user of .operation, each once. */
    HF_EFFECT_OPERATION_ANSWERED, /* .status, .text and .found of the operation
                                   */
    HF_EFFECT_OPERATION_DONE,     /* the core holds no pointer to it any more */
    /* For the user of the client. */
    HF_EFFECT_PROVEN, /* a CHECK has its answer: safe-until has moved */
    HF_EFFECT_STATE,  /* the session's public state changed to .state */
};

struct hf_effect {
    enum hf_effect_kind kind;
    bool queued;
    union { /* by the kind */
        struct hf_request *request;
        struct hf_acquisition *acquisition;
        struct hf_operation *operation;
        enum hf_state state;
    };
    /* The queue's own. */
    struct hf_effect *next;
    struct hf_effect **link; /* what points here */
};

struct hf_effect_queue {
    struct hf_effect *first;
    struct hf_effect **end;
};

void hf_effect_queue_init(struct hf_effect_queue *queue);

/* Put ${effect}, which is not queued, at the end as one of ${kind}. */
void hf_effect_add(struct hf_effect_queue *queue, struct hf_effect *effect,
                   enum hf_effect_kind kind);

/* Take ${effect} back out before anybody saw it; nothing if it is not in. */
void hf_effect_remove(struct hf_effect_queue *queue, struct hf_effect *effect);

/* Take the first out; NULL if there is none. */
struct hf_effect *hf_effect_take(struct hf_effect_queue *queue);

#endif
