/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the plain model. */
#include "conformance/conformance_sim.h"

#include <stddef.h>

int main(void)
{
    struct hf_sim_config config = hf_sim_config_plain(1);

    return conformance_sim_run("conformance of sim", &config, NULL);
}
