/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the configuration of a session with what is not in its URL. */
#ifndef HF_ZOOKEEPER_IO_ZK_PREPARE_H
#define HF_ZOOKEEPER_IO_ZK_PREPARE_H

#include "base/engine_host.h"
#include "zookeeper/zk_url.h"

/* Complete ${config}, which was read from ${url}: set the reconnect policy, the
 * credentials and the seed of random numbers, and shuffle the servers.  Set
 * ${description} to the URL with neither credentials nor options, to be freed
 * with hf_free().  Uses the fields .reconnect, .log and .host of ${host}.
 * HF_EURL, HF_EDENIED, HF_ELIMIT, HF_ENOMEM; ${description} is then not set. */
hf_status hf_zk_prepare(struct hf_zk_url_config *config,
                        const struct hf_url *url,
                        const struct hf_engine_host *host, char **description,
                        struct hf_error *error);

#endif
