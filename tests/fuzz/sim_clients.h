/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the model: "sim:" is the URL of an engine in the one world there
 * is, behind the library's own host.  Takes the place of host/engines.c. */
#ifndef HF_TESTS_FUZZ_SIM_CLIENTS_H
#define HF_TESTS_FUZZ_SIM_CLIENTS_H

#include <uv.h>

#include "simulator/model/sim.h"

#define SIM_CLIENTS_MAX 12

/* Where a client sits. */
struct sim_client {
    struct hf_engine *engine; /* NULL once it is freed */
    struct hf_engine_host host;
    uv_async_t wake;
    unsigned inside;        /* calls of the host are on the stack */
    unsigned interruptions; /* so often the session was suspended or lost */
};

/* From now on engines are of ${sim}; none has one left. */
void sim_clients_begin(struct hf_sim *sim);

/* So many were ever taken since; the ${n}th. */
unsigned sim_clients_count(void);
struct sim_client *sim_clients_at(unsigned n);

#endif
