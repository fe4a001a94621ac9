/* SPDX-License-Identifier: Apache-2.0 */
/* The ZooKeeper engine's surroundings: a real server, whose address HF_ZK has,
 * a root of its own there for each test, one uv loop for all clients, and
 * processes of their own, with short sessions, for those that are to be killed.
 * .finish sees that no ticket is left below the root. */
#ifndef HF_TESTS_CONFORMANCE_CONFORMANCE_ZK_H
#define HF_TESTS_CONFORMANCE_CONFORMANCE_ZK_H

#include "conformance/fixture.h"
#include "engines/zookeeper/node_name.h"

/* Run the suite with clients that write in ${layout}; as suite_run(). */
int conformance_zk_run(enum hf_zk_dialect layout,
                       const enum hf_ticket_kind *shown);

#endif
