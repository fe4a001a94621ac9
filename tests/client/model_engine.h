/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of the simulator as an engine of the host, loaded as a module:
 * one module for each simulated server, with its own virtual time.
 *
 * Nothing happens there without a command, so a client on a borrowed loop does
 * the same in every run.
 */
#ifndef HF_TESTS_MODEL_ENGINE_H
#define HF_TESTS_MODEL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Commands are single characters, written to the descriptor that the URL
 * names: "modelzk:?fd=7".  One client at a time. */
enum {
    MODEL_STEP = 's',  /* run the next event, whenever it is due */
    MODEL_PAUSE = 'p', /* run the events of the next MODEL_PAUSE_MS */
    MODEL_HOLD = 'h',  /* let MODEL_HOLD_MS pass without delivering a message */
    MODEL_LOSE = 'l',  /* end the session on the server */
};
#define MODEL_PAUSE_MS 20
#define MODEL_HOLD_MS 1500

/* What a test may read without the client's lock. */
struct model_status {
    _Atomic uint64_t
        now_ms; /* CLOCK_BOOTTIME of the client; 0 before it is opened */
    _Atomic uint64_t executed;     /* number of commands that were executed */
    _Atomic long tickets;          /* in all queues */
    _Atomic long tickets_at_close; /* tickets when the client was freed */
    atomic_bool idle;              /* no message is under way */
    atomic_bool
        closed; /* the client is freed, and every event that followed has run */
};

/* The symbol of the status, which each module exports beside its engine. */
#define MODEL_STATUS_SYMBOL "model_status"

#endif
