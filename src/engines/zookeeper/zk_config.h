/* SPDX-License-Identifier: Apache-2.0 */
/* What a URL says:
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT?timeout=10s
 *
 * and zks:// for TLS.  Nothing here does I/O. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_CONFIG_H
#define HF_ENGINES_ZOOKEEPER_ZK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/pem_files.h"
#include "core/url.h"
#include "engines/zookeeper/node_name.h"
#include "zookeeper/zk_session.h"

#define HF_ZK_CHROOT_BYTES 1024

#define HF_ZK_PORT 2181
#define HF_ZK_PORT_TLS 2281

struct hf_zk_config {
    struct hf_zk_session_config session; /* its .private_nodes: acl=creator;
                                            .servers are shuffled by .random */
    char chroot[HF_ZK_CHROOT_BYTES];     /* "" or "/a/b" */
    uint64_t token_floor;                /* added to every token */
    enum hf_zk_dialect layout;           /* how tickets are written */
    struct hf_pem_files files;           /* of TLS */
};

/* Fill in ${config} from ${url} but the session's .random, .auth taken from its
 * user and password.  HF_EURL, naming the offending part; never a password. */
hf_status hf_zk_config_parse(struct hf_zk_config *config,
                             const struct hf_url *url, struct hf_error *error);

/* Set .auth; false if ${user} or ${password} is "", ${user} has a ':', or both
 * are too long. */
bool hf_zk_config_authenticate(struct hf_zk_config *config, const char *user,
                               const char *password);

/* The order in which servers are tried is drawn by each client for itself. */
void hf_zk_config_shuffle(struct hf_zk_config *config);

#endif
