/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance fixture of the ZooKeeper engine: a real server at the address
 * in HF_ZK, a chroot for each test, one libuv loop for all clients of a test,
 * and a process with a short session for each client that is killed.  .finish
 * checks that no ticket is left below the chroot. */
#ifndef HF_TESTS_CONFORMANCE_CONFORMANCE_ZK_H
#define HF_TESTS_CONFORMANCE_CONFORMANCE_ZK_H

#include "conformance/fixture.h"
#include "engines/zookeeper/node_name.h"

/* Run the suite with clients that use ${layout}; ${shown} is
 * conformance_fixture.shown.  Returns as suite_run(). */
int conformance_zk_run(enum hf_zk_engine_dialect layout,
                       const enum hf_ticket_kind *shown);

#endif
