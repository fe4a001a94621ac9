/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: what the engine ties tickets to, and the two clocks that judge
 * it.  "Link alive" is the engine's word (CONNECTED, SUSPENDED).  "Grant
 * proven" is safe-until: the instant before which nobody else can have been
 * admitted, computed from when a confirmed request was sent, never from when
 * its answer came.
 */
#ifndef HF_CORE_SESSION_H
#define HF_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/machine.h"

struct hf_session {
    unsigned state;  /* enum hf_state, moved by the table in session.c */
    uint64_t number; /* counts sessions; a ticket remembers its own */
    bool ever_connected;
    bool closing;
    uint64_t connect_by_ms; /* first connection, HF_FOREVER once made */
    /* The lease. */
    uint64_t timeout_ms;    /* negotiated; HF_FOREVER: no lease */
    uint64_t safe_until_ms; /* 0: nothing proven */
    uint64_t resume_cap_ms; /* HF_FOREVER unless a resume is under way */
    uint64_t prove_at_ms;   /* the next proof, HF_FOREVER if none is needed */
    struct hf_request prove;
    struct hf_request end;
    struct hf_effect prove_effect;
    struct hf_effect end_effect;
    struct hf_effect state_effect;
};

/* How much of a lease is kept back for clocks that run at different rates:
 * timeout/100, at least 2 ms.  Quartz is specified to 100 ppm at worst, NTP
 * slews by up to 500 ppm (RFC 5905: maximum frequency tolerance); 1 % covers
 * both ends with room for rounding to milliseconds. */
uint64_t hf_session_margin_ms(uint64_t timeout_ms);

#endif
