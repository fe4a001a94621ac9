/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration that a URL describes:
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT?timeout=10s
 *
 * and zks:// for TLS.  Nothing here does I/O.
 */
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

/* Default ports. */
#define HF_ZK_PORT 2181
#define HF_ZK_PORT_TLS 2281

/* The configuration of one client. */
struct hf_zk_config {
    struct hf_zk_session_config session; /* .private_nodes is set by
                                            acl=creator */
    char chroot[HF_ZK_CHROOT_BYTES];     /* "" or "/a/b" */
    uint64_t token_floor;      /* option token_floor=: added to every fencing
                                  token */
    enum hf_zk_dialect layout; /* how our tickets are named */
    struct hf_pem_files files; /* certificates and keys for TLS */
};

/* Fill in ${config} from ${url}, including .auth from its user and password,
 * but not .random of the session.  HF_EURL with a text that names the
 * offending part and never a password. */
hf_status hf_zk_config_parse(struct hf_zk_config *config,
                             const struct hf_url *url, struct hf_error *error);

/* Set .auth.  False if ${user} or ${password} is empty, ${user} contains ':',
 * or both are too long. */
bool hf_zk_config_authenticate(struct hf_zk_config *config, const char *user,
                               const char *password);

/* Put the servers in a random order, with the session's .random, so that
 * clients spread over the servers. */
void hf_zk_config_shuffle(struct hf_zk_config *config);

#endif
