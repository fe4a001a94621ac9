/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the client of leased tickets and a model of its server: as it
 * is, and with notices that come late and twice. */
#include "cmocka/runner.h"
#include "conformance/conformance_sim.h"

#include <stddef.h>

TEST_FILE(leased)
{
    struct hf_sim_config calm = hf_sim_config_leased(1);
    struct hf_sim_config odd = hf_sim_config_leased(2);
    int failed;

    odd.leases.notice_twice_chance = 500000;
    odd.leases.notice_late_chance = 100000;
    failed = conformance_sim_run("conformance of leased tickets", &calm, NULL);
    return failed +
           conformance_sim_run("conformance with odd notices", &odd, NULL);
}
