/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a URL says of an etcd cluster:
 *
 *     etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?ttl=10s
 *
 * and etcds:// for TLS.  The path without its first '/' is the beginning of all
 * keys.  If it has no '/' at its end, one is added: with "etcd://h/locks" the
 * keys are "locks/NAME/...", and with "etcd://h" they are "NAME/...".  Nothing
 * here does I/O.
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
 * election timeouts, rounded up to whole seconds: 2 s by default.  If a lease
 * is longer than 5 minutes, a checkpoint may shorten it when the leader
 * changes. */
#define HF_ETCD_TTL_MIN_MS 2000
#define HF_ETCD_TTL_MAX_MS 300000
#define HF_ETCD_TTL_DEFAULT_MS 10000

/* The configuration that a URL describes. */
struct hf_etcd_url_config {
    struct hf_etcd_session_config session;
    struct hf_pem_files files; /* certificates and keys for TLS */
    uint64_t token_floor;      /* number to add to every fencing token */
};

/* Fill in ${config} from ${url}, with user and password.  Of the session the
 * fields .random, .lease_mode and .reconnect are not read from ${url}:
 * .reconnect gets the default, until hf_reconnect_choose() reads retry=.
 * auth_file= is left to hf_auth_find().  Fails with HF_EURL and a text that
 * names the part that is wrong and never a password. */
hf_status hf_etcd_url_parse(struct hf_etcd_url_config *config,
                            const struct hf_url *url, struct hf_error *error);

/* Set user and password.  Returns false if one of them is empty or too long. */
bool hf_etcd_url_authenticate(struct hf_etcd_url_config *config,
                              const char *user, const char *password);

/* Put the servers into a random order, drawn from .random, so that clients
 * spread over the members. */
void hf_etcd_url_shuffle(struct hf_etcd_session_config *config);

#endif
