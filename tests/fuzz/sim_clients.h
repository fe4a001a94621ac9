/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the simulator: "sim:" is the URL of an engine on the one
 * simulator of a run, behind the real host.  This file takes the place of
 * host/engines.c. */
#ifndef HF_TESTS_FUZZ_SIM_CLIENTS_H
#define HF_TESTS_FUZZ_SIM_CLIENTS_H

#include <uv.h>

#include "base/engine_host.h"
#include "simulator/model/sim.h"

#define SIM_CLIENTS_MAX 12

/* A client of the simulator, and its engine. */
struct sim_client {
    struct hf_engine *engine; /* NULL when it is freed */
    struct hf_engine_host host;
    uv_async_t wake;
    unsigned inside;        /* depth of calls from the host into the engine */
    unsigned interruptions; /* how often the session was suspended or lost */
};

/* Use ${sim} for all engines from now on; no engine of an earlier run may be
 * left. */
void sim_clients_begin(struct hf_sim *sim);

/* The number of clients since then; and number ${n} of them. */
unsigned sim_clients_count(void);
struct sim_client *sim_clients_at(unsigned n);

#endif
