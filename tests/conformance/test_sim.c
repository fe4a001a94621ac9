/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the plain simulated server. */
#include "cmocka/runner.h"
#include "conformance/conformance_sim.h"

#include <stddef.h>

TEST_FILE(sim)
{
    struct hf_sim_config config = hf_sim_config_plain(1);

    return conformance_sim_run("conformance of sim", &config, NULL);
}
