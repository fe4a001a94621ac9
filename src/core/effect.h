/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things for the client to do: the list that hf_core_next_effect() hands out.
 * Effects are embedded in the object that they concern and queued at most once
 * each, so the queue is bounded by the objects of the user, and adding to it
 * cannot fail.
 */
#ifndef HF_CORE_EFFECT_H
#define HF_CORE_EFFECT_H

#include <stdbool.h>

#include <holdfast/client.h>

struct hf_acquisition;
struct hf_operation;
struct hf_request;

enum hf_effect_kind {
    /* For the engine. */
    HF_EFFECT_REQUEST, /* carry out .request */
    HF_EFFECT_UNWATCH, /* take back .request, a WATCH or WATCH_QUEUE; it stays
                          valid until the core is called again */
    HF_EFFECT_CONNECT, /* begin to connect again, after GAVE_UP */
    /* For the user of .acquisition. */
    HF_EFFECT_LOST,     /* the grant has ended before its release */
    HF_EFFECT_GRANTED,  /* the token is set, and safe-until counts */
    HF_EFFECT_ENDED,    /* no grant: .status and hf_acquisition_text() */
    HF_EFFECT_WAITING,  /* it waits: .ahead and .holder */
    HF_EFFECT_RELEASED, /* the release has ended: .status.  The ticket is gone,
                           may not be removed (HF_EDENIED), or stays for the
                           next waiter of the cohort */
    HF_EFFECT_DOWNGRADED, /* the downgrade has ended: .user.downgrade_status */
    HF_EFFECT_ACQUISITION_DONE, /* the core has no pointer to it any more.
                                   Comes after ENDED or RELEASED, when none of
                                   its tickets can appear in the queue */
    HF_EFFECT_REVOKED,          /* somebody asks for the release of the grant */
    /* For the user of .operation, each once.  The first is only of an operation
     * that waits for a change of its queue, and comes before the others. */
    HF_EFFECT_OPERATION_WATCHING, /* a change from here on ends it */
    HF_EFFECT_OPERATION_ANSWERED, /* .status, .text and .found */
    HF_EFFECT_OPERATION_DONE,     /* the core has no pointer to it any more */
    /* For the user of the client. */
    HF_EFFECT_PROVEN, /* the answer to a CHECK: safe-until is in the future */
    HF_EFFECT_STATE,  /* the session has changed to .state */
};

/* One thing to do. */
struct hf_effect {
    enum hf_effect_kind kind;
    bool queued;
    union { /* by the kind */
        struct hf_request *request;
        struct hf_acquisition *acquisition;
        struct hf_operation *operation;
        enum hf_state state;
    };
    /* For the queue only. */
    struct hf_effect *next;
    struct hf_effect **link; /* the pointer to this one */
};

/* A list of effects, the oldest first. */
struct hf_effect_queue {
    struct hf_effect *first;
    struct hf_effect **end; /* where the next one is linked */
};

/* Make ${queue} empty. */
void hf_effect_queue_init(struct hf_effect_queue *queue);

/* Put ${effect}, which is not queued, at the end as one of ${kind}. */
void hf_effect_add(struct hf_effect_queue *queue, struct hf_effect *effect,
                   enum hf_effect_kind kind);

/* The same with the effect of ${request}: REQUEST or UNWATCH. */
void hf_effect_add_request(struct hf_effect_queue *queue,
                           struct hf_request *request,
                           enum hf_effect_kind kind);

/* Take ${effect} out again before it is handed out; nothing if it is not
 * queued. */
void hf_effect_remove(struct hf_effect_queue *queue, struct hf_effect *effect);

/* Take the first one out; NULL if there is none. */
struct hf_effect *hf_effect_take(struct hf_effect_queue *queue);

#endif
