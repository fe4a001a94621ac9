/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of one client: the machine of zk_machine.h and the I/O that drives
 * its session.  Everything here is used with the client's lock held, by any
 * thread that calls into the engine or runs its loop. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_OPEN_H
#define HF_ENGINES_ZOOKEEPER_ZK_OPEN_H

#include "engines/zookeeper/zk_machine.h"
#include "zookeeper_io/zk_io.h"

struct server_examination;

struct hf_engine {
    struct hf_engine_host host;
    char *description; /* servers and chroot, as a URL */
    struct hf_zk *zk;
    struct hf_zk_io io;
    struct server_examination *examinations; /* the newest first */
};

/* As .open and .free of struct hf_engine_ops. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error);
void hf_engine_free(struct hf_engine *engine);

#endif
