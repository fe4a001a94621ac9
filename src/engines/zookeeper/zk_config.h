/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a client of locks: what the URL says to every user of a
 * session (zookeeper/zk_url.h), and the options that only locks have. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_CONFIG_H
#define HF_ENGINES_ZOOKEEPER_ZK_CONFIG_H

#include <stdint.h>

#include <holdfast/status.h>

#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_url.h"

/* The configuration of one client. */
struct hf_zk_engine_config {
    struct hf_zk_url_config url;
    uint64_t token_floor; /* option token_floor=: added to every fencing
                             token */
    enum hf_zk_engine_dialect layout; /* how our tickets are named */
};

/* Fill in ${config} from ${url} as hf_zk_url_parse(). */
hf_status hf_zk_engine_config_parse(struct hf_zk_engine_config *config,
                                    const struct hf_url *url,
                                    struct hf_error *error);

#endif
