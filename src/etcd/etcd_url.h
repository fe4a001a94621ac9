/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a URL says of an etcd cluster:
 *
 *     etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?ttl=10s
 *
 * and etcds:// for TLS.  The path without its first '/' is the beginning of all
 * keys; a '/' is added to its end if it has none, so that "etcd://h/locks" has
 * the keys "locks/NAME/...", and "etcd://h" the keys "NAME/...".  Nothing here
 * does I/O.
 */
#ifndef HF_ETCD_ETCD_URL_H
#define HF_ETCD_ETCD_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "base/url.h"
#include "base/url_options.h"
#include "etcd/session.h"

#define HF_ETCD_PORT 2379

/* The range of ttl=.  Servers grant no lease shorter than one and a half
 * election timeouts, rounded up to whole seconds: 2 s by default.  A lease of
 * more than 5 minutes may be shortened by a checkpoint when the leader
 * changes. */
#define HF_ETCD_TTL_MIN_MS 2000
#define HF_ETCD_TTL_MAX_MS 300000
#define HF_ETCD_TTL_DEFAULT_MS 10000

/* The configuration that a URL describes. */
struct hf_etcd_url_config {
    struct hf_etcd_session_config session;
    struct hf_pem_files files; /* certificates and keys for TLS */
    uint64_t token_floor;      /* to add to every token */
};

/* Fill in ${config} from ${url}, including its user and password, but not
 * .random, .lease_mode and .reconnect of the session (the last one is the
 * default: hf_reconnect_choose() reads retry=, and hf_auth_find()
 * auth_file=).  HF_EURL with a text that names the offending part and never a
 * password. */
hf_status hf_etcd_url_parse(struct hf_etcd_url_config *config,
                            const struct hf_url *url, struct hf_error *error);

/* Set user and password.  False if one of them is empty or too long. */
bool hf_etcd_url_authenticate(struct hf_etcd_url_config *config,
                              const char *user, const char *password);

/* Put the servers in a random order, with .random, so that clients spread over
 * the members. */
void hf_etcd_url_shuffle(struct hf_etcd_session_config *config);

#endif
