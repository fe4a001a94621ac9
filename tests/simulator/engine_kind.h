/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_TESTS_SIMULATOR_ENGINE_KIND_H
#define HF_TESTS_SIMULATOR_ENGINE_KIND_H

/* Which model a cluster is on: the plain one, an ensemble that the client of
 * ZooKeeper speaks to, or a server for the client of leased tickets. */
enum engine_kind {
    ENGINE_PLAIN,
    ENGINE_ZOOKEEPER,
    ENGINE_LEASED,
    ENGINE_KINDS
};

#endif
