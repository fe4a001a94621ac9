/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's servers as an engine of the host: loaded as a module, one
 * for each model there is, with its own time.  Nothing moves in it but by a
 * command, so that a client on a borrowed loop does the same in every run.
 */
#ifndef HF_TESTS_MODEL_ENGINE_H
#define HF_TESTS_MODEL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Commands, one character each, written to the descriptor that the URL names:
 * "modelzk:?fd=7".  One client at a time. */
enum {
    MODEL_STEP = 's',  /* let the next thing happen, whenever it is due */
    MODEL_PAUSE = 'p', /* let what is due within MODEL_PAUSE_MS happen */
    MODEL_HOLD = 'h',  /* let MODEL_HOLD_MS pass, in which no message moves */
    MODEL_LOSE = 'l',  /* the server ends the session */
};
#define MODEL_PAUSE_MS 20
#define MODEL_HOLD_MS 1500

/* What can be seen of it without the client's lock. */
struct model_status {
    _Atomic uint64_t now_ms; /* CLOCK_BOOTTIME there; 0 before it was opened */
    _Atomic uint64_t executed;     /* commands */
    _Atomic long tickets;          /* in all queues */
    _Atomic long tickets_at_close; /* of them, when the client had gone */
    atomic_bool idle;              /* no message is on its way */
    atomic_bool closed; /* the client is gone, and whatever came of it
                         since was let happen */
};

/* The symbol that each module exports beside its engine. */
#define MODEL_STATUS_SYMBOL "model_status"

#endif
