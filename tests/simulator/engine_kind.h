/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_TESTS_SIMULATOR_ENGINE_KIND_H
#define HF_TESTS_SIMULATOR_ENGINE_KIND_H

/* The engine and the model of a run: the plain model, the client of
 * ZooKeeper on simulated servers, the client of leased tickets on a simulated
 * server, or the client of etcd on simulated members.  ENGINE_ZOOKEEPER_CLIENT:
 * no locks, but the public client of ZooKeeper on simulated servers, see
 * random/zookeeper.h. ENGINE_ZOOKEEPER_SHARED: as ENGINE_ZOOKEEPER, and most
 * clients have a handle of the public client on their session, see
 * random/shared_session.h. */
enum engine_kind {
    ENGINE_PLAIN,
    ENGINE_ZOOKEEPER,
    ENGINE_LEASED,
    ENGINE_ZOOKEEPER_CLIENT,
    ENGINE_ZOOKEEPER_SHARED,
    ENGINE_ETCD,
    ENGINE_KINDS
};

#endif
