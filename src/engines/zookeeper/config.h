/* SPDX-License-Identifier: Apache-2.0 */
/* What a URL says:
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT?timeout=10s
 *
 * and zks:// for TLS.  Nothing here does I/O. */
#ifndef HF_ENGINES_ZOOKEEPER_CONFIG_H
#define HF_ENGINES_ZOOKEEPER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/pem_files.h"
#include "core/random.h"
#include "core/url.h"
#include "engines/zookeeper/node.h"

#define HF_ZK_SERVERS_MAX 32
#define HF_ZK_HOST_BYTES 256 /* RFC 1035: 253 and the NUL */
#define HF_ZK_CHROOT_BYTES 1024
#define HF_ZK_AUTH_BYTES 512

#define HF_ZK_PORT 2181
#define HF_ZK_PORT_TLS 2281

struct hf_zk_server {
    char host[HF_ZK_HOST_BYTES]; /* a name or an address, without brackets */
    uint16_t port;
};

struct hf_zk_config {
    struct hf_zk_server servers[HF_ZK_SERVERS_MAX];
    size_t server_count;
    char chroot[HF_ZK_CHROOT_BYTES]; /* "" or "/a/b" */
    char auth[HF_ZK_AUTH_BYTES];     /* "user:password" for digest, or "" */
    bool private_nodes; /* what we make is for this user only (acl=creator),
                           not for everybody (acl=open) */
    struct hf_reconnect reconnect;
    uint64_t timeout_ms;       /* of a session, as it is asked for */
    uint64_t timeout_floor_ms; /* no server grants less, 0 if not given */
    uint64_t tick_ms;     /* the servers' tickTime, 0 if it was not given */
    bool lazy_proof;      /* proof=lazy: PROVE comes when it is wanted */
    bool strict_proof;    /* proof=strict */
    uint64_t token_floor; /* added to every token */
    enum hf_zk_dialect layout; /* how tickets are written */
    unsigned window;           /* so many calls are under way at a time; 0:
                                  HF_ZK_WINDOW */
    bool tls;
    struct hf_pem_files files; /* of TLS */
    struct hf_random random;   /* seeded; .servers are shuffled by it */
};

/* Fill in ${config} from ${url} but .random, .auth taken from its user and
 * password.  HF_EURL, naming the offending part; never a password. */
hf_status hf_zk_config_parse(struct hf_zk_config *config,
                             const struct hf_url *url, struct hf_error *error);

/* Set .auth; false if ${user} or ${password} is "", ${user} has a ':', or both
 * are too long. */
bool hf_zk_config_authenticate(struct hf_zk_config *config, const char *user,
                               const char *password);

/* The order in which servers are tried is drawn by each client for itself. */
void hf_zk_config_shuffle(struct hf_zk_config *config);

#endif
