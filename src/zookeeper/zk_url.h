/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every user of a session reads from a URL:
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT?timeout=10s
 *
 * and zks:// for TLS.  A user has options of its own besides those of
 * HF_ZK_URL_OPTIONS; all options of a user are rows of one table.  Nothing here
 * does I/O.
 */
#ifndef HF_ZOOKEEPER_ZK_URL_H
#define HF_ZOOKEEPER_ZK_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "base/reconnect.h"
#include "base/url.h"
#include "base/url_options.h"
#include "zookeeper/zk_acl.h"
#include "zookeeper/zk_session.h"

#define HF_ZK_CHROOT_BYTES 1024

/* Default ports. */
#define HF_ZK_PORT 2181
#define HF_ZK_PORT_TLS 2281

/* The range of timeout= and of other options about the session timeout. */
#define HF_ZK_TIMEOUT_MIN_MS 1000
#define HF_ZK_TIMEOUT_MAX_MS 600000

/* The configuration that a URL describes. */
struct hf_zk_url_config {
    struct hf_zk_session_config session; /* without .private_nodes */
    enum hf_zk_acl_option acl;
    char chroot[HF_ZK_CHROOT_BYTES]; /* "" or "/a/b" */
    struct hf_pem_files files;       /* certificates and keys for TLS */
};

/* The values of the options that all users have, before hf_zk_url_parse()
 * spreads them over the configuration. */
struct hf_zk_url_options {
    uint64_t timeout_ms;
    int acl;  /* enum hf_zk_acl_option */
    int sasl; /* an index of hf_zk_sasl_choices, or HF_ZK_SASL_NOT_GIVEN */
    char sasl_service[HF_ZK_SASL_NAME_BYTES];
    char sasl_host[HF_ZK_SASL_NAME_BYTES];
    struct hf_pem_files files;
};

/* The values of sasl=: the mechanisms from HF_ZK_SASL_NONE + 1 on, in their
 * order. */
extern const char *const hf_zk_sasl_choices[];
#define HF_ZK_SASL_NOT_GIVEN (-1)

/* Reads a host name or the name of a service; the field is a
 * char[HF_ZK_SASL_NAME_BYTES]. */
hf_url_option_reader hf_zk_url_read_name;

/* The rows with which a user's table of options begins; it must end with
 * HF_PEM_OPTIONS(${type}, ${options}.files).  ${type} is the user's struct of
 * values, and ${options} is its member of the type struct hf_zk_url_options.
 * Two rows have no reader here: hf_auth_find() reads auth_file=, and
 * hf_reconnect_choose() reads HF_RECONNECT_OPTION. */
#define HF_ZK_URL_OPTIONS(type, options)                                       \
    {.key = "timeout",                                                         \
     .read = hf_url_read_duration,                                             \
     .offset = offsetof(type, options.timeout_ms),                             \
     .min = HF_ZK_TIMEOUT_MIN_MS,                                              \
     .max = HF_ZK_TIMEOUT_MAX_MS,                                              \
     .help = "the session timeout to ask the server for"},                     \
        {.key = "acl",                                                         \
         .read = hf_url_read_choice,                                           \
         .offset = offsetof(type, options.acl),                                \
         .choices = hf_zk_acl_choices,                                         \
         .help = "who may change the nodes that we make"},                     \
        {.key = "auth_file"},                                                  \
        {.key = "sasl",                                                        \
         .read = hf_url_read_choice,                                           \
         .offset = offsetof(type, options.sasl),                               \
         .choices = hf_zk_sasl_choices,                                        \
         .help = "the mechanism of SASL by which we prove who we are"},        \
        {.key = "sasl_service",                                                \
         .read = hf_zk_url_read_name,                                          \
         .offset = offsetof(type, options.sasl_service),                       \
         .help = "the service in the principal of the servers"},               \
        {.key = "sasl_host",                                                   \
         .read = hf_zk_url_read_name,                                          \
         .offset = offsetof(type, options.sasl_host),                          \
         .help = "the host in the principal of the servers"},                  \
    {                                                                          \
        .key = HF_RECONNECT_OPTION                                             \
    }

/* Fill in ${config} from ${url}, including .auth from its user and password,
 * but not .random of the session, and not .private_nodes, which
 * hf_zk_acl_choose() decides.  ${rows} is the user's table.  ${values} is the
 * user's struct of values; its first field is a struct hf_zk_url_options, and
 * the user's other fields have their defaults already.  HF_EURL with a text
 * that names the offending part and never a password. */
hf_status hf_zk_url_parse(struct hf_zk_url_config *config,
                          const struct hf_url *url,
                          const struct hf_url_option_row *rows,
                          size_t row_count, void *values,
                          struct hf_error *error);

/* Set the servers of ${config} to those of ${text}, a list as in a URL without
 * anything else.  .tls decides the default port.  After HF_EURL the servers
 * must not be used. */
hf_status hf_zk_url_parse_servers(struct hf_zk_session_config *config,
                                  const char *text, struct hf_error *error);

/* Set .auth.  False if ${user} or ${password} is empty, ${user} contains ':',
 * or the two are too long together. */
bool hf_zk_url_authenticate(struct hf_zk_url_config *config, const char *user,
                            const char *password);

/* Put the servers in a random order, which .random decides, so that clients
 * spread over the servers. */
void hf_zk_url_shuffle(struct hf_zk_session_config *config);

#endif
