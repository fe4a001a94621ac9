/* SPDX-License-Identifier: Apache-2.0 */
/* What a session needs before it can begin, besides its URL. */
#ifndef HF_ETCD_IO_ETCD_PREPARE_H
#define HF_ETCD_IO_ETCD_PREPARE_H

#include "base/engine_host.h"
#include "etcd/etcd_url.h"

/* Complete ${config}, which was read from ${url}: the policy of reconnecting,
 * credentials, random numbers, and the order in which servers are tried.  Set
 * ${description} to the URL without credentials and options; the caller frees
 * it with hf_free().  Uses the fields .reconnect, .log and .host of ${host}.
 * Fails with HF_EURL, HF_EDENIED, HF_ELIMIT or HF_ENOMEM; then there is no
 * description. */
hf_status hf_etcd_prepare(struct hf_etcd_url_config *config,
                          const struct hf_url *url,
                          const struct hf_engine_host *host, char **description,
                          struct hf_error *error);

#endif
