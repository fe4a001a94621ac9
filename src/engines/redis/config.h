/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the URL of a Redis engine says, without I/O:
 *
 *     redis://USER:PASSWORD@HOST:PORT/DB?ttl=10s
 *     redis://HOST:PORT,HOST:PORT       nodes of one Redis Cluster
 *     redis:/run/redis/redis.sock?db=0
 *
 * and rediss:// with TLS.
 */
#ifndef HF_ENGINES_REDIS_CONFIG_H
#define HF_ENGINES_REDIS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/url.h"
#include "base/url_options.h"
#include "core/engine.h"

#define HF_REDIS_PORT 6379
#define HF_REDIS_HOST_BYTES 256
#define HF_REDIS_PATH_BYTES 108 /* the size of sockaddr_un.sun_path */
#define HF_REDIS_SECRET_BYTES 512
#define HF_REDIS_DB_MAX 65535u
#define HF_REDIS_WAIT_MAX 16u

#define HF_REDIS_HOSTS_MAX ((size_t)8)

/* A renewal is sent in pieces of at most this many tickets and this many
 * queues.  While a server runs one such piece, for one or two milliseconds, it
 * serves no other client. */
#define HF_REDIS_RENEWAL_PIECE_MAX 512

/* One server of the URL. */
struct hf_redis_host {
    char name[HF_REDIS_HOST_BYTES]; /* without brackets */
    uint16_t port;
};

/* In the order of the option layout=. */
enum hf_redis_layout { HF_REDIS_LAYOUT_QUEUE, HF_REDIS_LAYOUT_REDIS_PY };

/* The URL, parsed; wiped after use, because it has a password. */
struct hf_redis_config {
    /* the server to connect to; with .path its .name is "" */
    struct hf_redis_host host;
    /* the servers that the URL names */
    struct hf_redis_host hosts[HF_REDIS_HOSTS_MAX];
    size_t host_count;              /* 0 with .path */
    char path[HF_REDIS_PATH_BYTES]; /* of a unix socket, or "" */
    uint64_t db;
    char user[HF_REDIS_SECRET_BYTES]; /* "": the default user */
    char password[HF_REDIS_SECRET_BYTES];
    /* .user and .password are set. */
    bool authenticates;
    bool unlisted; /* HOLDFAST_AUTH_FILE has lines, but none for this server */
    struct hf_reconnect reconnect;
    uint64_t ttl_ms;
    uint64_t clock_drift; /* of the server, in percent */
    int layout;           /* enum hf_redis_layout */
    /* number of replicas that must have a change before the change is answered
     * (option wait=); 0: do not wait for replicas */
    uint64_t wait;
    bool tls;
    struct hf_pem_files files; /* for TLS */
};

/* Fill in ${config} from ${url}.  On HF_EURL, ${error} names the part of the
 * URL that is wrong, but never quotes a password. */
hf_status hf_redis_config_parse(struct hf_redis_config *config,
                                const struct hf_url *url,
                                struct hf_error *error);

/* Write the address of a server for messages: "127.0.0.1:6379", "[::1]:6379" or
 * "/run/redis.sock".  Several hosts are joined by ',':
 * "10.0.0.1:6379,10.0.0.2:6379". */
#define HF_REDIS_HOST_TEXT_BYTES (HF_REDIS_HOST_BYTES + 16)
#define HF_REDIS_ADDRESS_BYTES (HF_REDIS_HOSTS_MAX * HF_REDIS_HOST_TEXT_BYTES)
void hf_redis_host_format(const struct hf_redis_host *host,
                          char text[HF_REDIS_HOST_TEXT_BYTES]);
void hf_redis_config_address(const struct hf_redis_config *config,
                             char address[HF_REDIS_ADDRESS_BYTES]);

/* Set .user and .password.  Returns false if ${password} is "", or if either
 * text is too long. */
bool hf_redis_config_authenticate(struct hf_redis_config *config,
                                  const char *user, const char *password);

/* ----------------------------------------------------------- credentials -- */

/* Look up the credentials for the server of ${url} (in auth_file= or
 * HOLDFAST_AUTH_FILE) and put them into ${config}. */
hf_status hf_redis_get_credentials(struct hf_redis_config *config,
                                   const struct hf_url *url,
                                   struct hf_error *error);

/* Log a warning if HOLDFAST_AUTH_FILE has credentials, but none for this server
 * (.unlisted). */
void hf_redis_warn_unlisted(const struct hf_redis_config *config,
                            const struct hf_engine_host *host);

#endif
