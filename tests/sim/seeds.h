/* SPDX-License-Identifier: Apache-2.0 */
/* Many random worlds, in processes of their own, so that an assertion that
 * fails is a finding like any other.  Each returns an exit status. */
#ifndef HF_TESTS_SIM_SEEDS_H
#define HF_TESTS_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

int seeds_replay(uint64_t seed, bool zookeeper, bool trace);
int seeds_run(bool zookeeper, uint64_t first, uint64_t count, unsigned jobs);

/* Find each planted fault within ${count} worlds, and none without. */
int seeds_plants(uint64_t count);

#endif
