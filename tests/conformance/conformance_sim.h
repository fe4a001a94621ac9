/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_TESTS_CONFORMANCE_CONFORMANCE_SIM_H
#define HF_TESTS_CONFORMANCE_CONFORMANCE_SIM_H

#include "simulator/model/sim.h"

/* Run the suite in virtual time on models of servers that ${config} describes.
 * ${shown} is conformance_fixture.shown; returns as suite_run(). */
int conformance_sim_run(const char *name, const struct hf_sim_config *config,
                        const enum hf_ticket_kind *shown);

#endif
