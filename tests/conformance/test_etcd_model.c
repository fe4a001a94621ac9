/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the etcd client and simulated members: with one, and with three
 * that are late, whose bytes come in pieces and who want a token. */
#include "cmocka/runner.h"
#include "conformance/conformance_sim.h"

#include <stddef.h>

TEST_FILE(etcd_model)
{
    struct hf_sim_config one = hf_sim_config_etcd(1);
    struct hf_sim_config three = hf_sim_config_etcd(2);
    int failed;

    one.etcd.members = 1;
    three.etcd.splits_bytes = true;
    three.etcd.auth = true;
    three.etcd.stale_reads = true;
    three.etcd.apply_max_us = 3000;
    three.etcd.lag_chance = 200000;
    failed = conformance_sim_run("conformance of etcd on one model member",
                                 &one, NULL);
    return failed +
           conformance_sim_run("conformance of etcd on three", &three, NULL);
}
