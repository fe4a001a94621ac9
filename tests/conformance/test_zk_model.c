/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the ZooKeeper client and a simulated ensemble, in each layout:
 * with one server, and with three whose bytes come in pieces. */
#include "cmocka/runner.h"
#include "conformance/conformance_sim.h"
#include "conformance/layouts.h"
#include <stdio.h>

static int run(const char *servers, struct hf_sim_config *config)
{
    char name[64];
    int failed = 0;

    for (unsigned i = 0; i < LAYOUTS; i++) {
        config->ensemble.layout = layouts[i].layout;
        (void)snprintf(name, sizeof name, "conformance of zk on %s, layout=%s",
                       servers, hf_zk_engine_layout_name(layouts[i].layout));
        failed += conformance_sim_run(name, config, layouts[i].shown);
    }
    return failed;
}

TEST_FILE(zk_model)
{
    struct hf_sim_config one = hf_sim_config_zookeeper(1);
    struct hf_sim_config three = hf_sim_config_zookeeper(2);
    int failed;

    one.ensemble.servers = 1;
    three.ensemble.splits_bytes = true;
    /* So a client asks one server about what it saw on another. */
    three.ensemble.lag_max_us = 100;
    failed = run("one model server", &one);
    return failed + run("three", &three);
}
