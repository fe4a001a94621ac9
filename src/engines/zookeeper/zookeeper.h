/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for ZooKeeper ensembles, zk://HOST:PORT,HOST:PORT/CHROOT, and
 * zks:// for TLS. */
#ifndef HF_ENGINES_ZOOKEEPER_ZOOKEEPER_H
#define HF_ENGINES_ZOOKEEPER_ZOOKEEPER_H

#include "core/engine.h"

extern const struct hf_engine_ops hf_engine_zookeeper;     /* zk: */
extern const struct hf_engine_ops hf_engine_zookeeper_tls; /* zks: */

#endif
