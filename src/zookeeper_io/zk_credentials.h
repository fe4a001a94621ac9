/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of a session: those of the URL, or of a file. */
#ifndef HF_ZOOKEEPER_IO_ZK_CREDENTIALS_H
#define HF_ZOOKEEPER_IO_ZK_CREDENTIALS_H

#include "core/engine.h"
#include "zookeeper/zk_url.h"

/* Set .auth and .private_nodes of ${config}'s session, which was read from
 * ${url}, by what auth_file= or HOLDFAST_AUTH_FILE have for its servers.  Warns
 * by .log of ${host} if the latter has lines for other servers only.  HF_EURL
 * or HF_EDENIED as hf_auth_find(); HF_EURL also if acl=creator has no
 * credentials. */
hf_status hf_zk_get_credentials(struct hf_zk_url_config *config,
                                const struct hf_url *url,
                                const struct hf_engine_host *host,
                                struct hf_error *error);

#endif
