/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real ZooKeeper server at HF_ZK, in each layout. */
#include "cmocka/runner.h"
#include "conformance/conformance_zk.h"
#include "conformance/layouts.h"

TEST_FILE(zookeeper)
{
    int failed = 0;

    for (unsigned i = 0; i < LAYOUTS; i++)
        failed += conformance_zk_run(layouts[i].layout, layouts[i].shown);
    return failed;
}
