/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of the ZooKeeper engine, each with its conformance_fixture.shown.
 */
#ifndef HF_TESTS_CONFORMANCE_LAYOUTS_H
#define HF_TESTS_CONFORMANCE_LAYOUTS_H

#include "engines/zookeeper/node_name.h"

#define LAYOUTS 3

static const struct {
    enum hf_zk_engine_dialect layout;
    enum hf_ticket_kind shown[HF_TICKET_QUEUED_LAST + 1];
} layouts[LAYOUTS] = {
    {HF_ZK_CURATOR,
     {[HF_TICKET_MUTEX] = HF_TICKET_MUTEX,
      [HF_TICKET_READ] = HF_TICKET_READ,
      [HF_TICKET_WRITE] = HF_TICKET_WRITE,
      [HF_TICKET_ELECTION] = HF_TICKET_ELECTION}},
    {HF_ZK_KAZOO,
     {[HF_TICKET_MUTEX] = HF_TICKET_EXCLUSIVE,
      [HF_TICKET_READ] = HF_TICKET_READ,
      [HF_TICKET_WRITE] = HF_TICKET_EXCLUSIVE,
      [HF_TICKET_ELECTION] = HF_TICKET_EXCLUSIVE}},
    {HF_ZK_WRITELOCK, {[HF_TICKET_MUTEX] = HF_TICKET_MUTEX}},
};

#endif
