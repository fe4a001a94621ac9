/* SPDX-License-Identifier: Apache-2.0 */
/* The preparation of a session: what it needs besides its URL before it can
 * begin. */
#ifndef HF_ZOOKEEPER_IO_ZK_PREPARE_H
#define HF_ZOOKEEPER_IO_ZK_PREPARE_H

#include "base/engine_host.h"
#include "zookeeper/zk_url.h"

/* Complete ${config}, which was read from ${url}: the policy of reconnecting,
 * credentials, random numbers, and the order in which servers are tried.  Set
 * ${description} to the URL with neither credentials nor options, to be freed
 * with hf_free().  Uses the fields .reconnect, .log and .host of ${host}.
 * HF_EURL, HF_EDENIED, HF_ELIMIT, HF_ENOMEM; there is then no description. */
hf_status hf_zk_prepare(struct hf_zk_url_config *config,
                        const struct hf_url *url,
                        const struct hf_engine_host *host, char **description,
                        struct hf_error *error);

#endif
