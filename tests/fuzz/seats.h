/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the model: "sim:" is the URL of an engine in the one world there
 * is, behind the library's own host.  Takes the place of host/engines.c. */
#ifndef HF_TESTS_FUZZ_SEATS_H
#define HF_TESTS_FUZZ_SEATS_H

#include <uv.h>

#include "simulator/model/sim.h"

#define SEATS_MAX 12

/* Where a client sits. */
struct seat {
    struct hf_engine *engine; /* NULL once it is freed */
    struct hf_engine_host host;
    uv_async_t wake;
    unsigned inside;   /* calls of the host are on the stack */
    unsigned troubles; /* so often the session was suspended or lost */
};

/* From now on engines are of ${sim}; none has one left. */
void seats_begin(struct hf_sim *sim);

/* So many were ever taken since; the ${n}th. */
unsigned seats_taken(void);
struct seat *seats_at(unsigned n);

#endif
