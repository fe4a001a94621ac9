/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the client of ZooKeeper and a model ensemble: one server, then
 * three, whose bytes come in pieces. */
#include "conformance/bench_sim.h"

int main(void)
{
    struct hf_sim_config one = hf_sim_config_ensemble(1);
    struct hf_sim_config three = hf_sim_config_ensemble(2);
    int failed;

    one.ensemble.servers = 1;
    three.ensemble.split = true;
    /* A client asks about what it saw on another server. */
    three.ensemble.lag_most_us = 100;
    failed = bench_sim_run("conformance of zk on one model server", &one);
    return failed + bench_sim_run("conformance of zk on three", &three);
}
