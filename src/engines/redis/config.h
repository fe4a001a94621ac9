/* SPDX-License-Identifier: Apache-2.0 */
/* What a URL says:
 *
 *     redis://USER:PASSWORD@HOST:PORT/DB?ttl=10s
 *     redis://HOST:PORT,HOST:PORT       nodes of one Redis Cluster
 *     redis:/run/redis/redis.sock?db=0
 *
 * and rediss:// for TLS.  Nothing here does I/O. */
#ifndef HF_ENGINES_REDIS_CONFIG_H
#define HF_ENGINES_REDIS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/pem_files.h"
#include "core/url.h"

#define HF_REDIS_PORT 6379
#define HF_REDIS_HOST_BYTES 256
#define HF_REDIS_PATH_BYTES 108 /* sockaddr_un */
#define HF_REDIS_SECRET_BYTES 512
#define HF_REDIS_DB_MAX 65535u
#define HF_REDIS_WAIT_MAX 16u

#define HF_REDIS_HOSTS_MAX ((size_t)8)

/* Tickets, and queues, of one piece of a renewal: a server serves nobody else
 * meanwhile, a millisecond or two. */
#define HF_REDIS_RENEWAL_PIECE_MAX 512

struct hf_redis_host {
    char name[HF_REDIS_HOST_BYTES]; /* without brackets */
    uint16_t port;
};

struct hf_redis_config {
    struct hf_redis_host host; /* that is spoken to; .name is "" with .path */
    struct hf_redis_host hosts[HF_REDIS_HOSTS_MAX]; /* of the URL */
    size_t host_count;                              /* 0 with .path */
    char path[HF_REDIS_PATH_BYTES]; /* of a unix socket, or "" */
    unsigned db;
    char user[HF_REDIS_SECRET_BYTES]; /* "": the default user */
    char password[HF_REDIS_SECRET_BYTES];
    bool authenticates;
    bool unlisted; /* HOLDFAST_AUTH_FILE has lines for other servers only */
    struct hf_reconnect reconnect;
    uint64_t ttl_ms;
    bool redis_py; /* layout=redis-py */
    unsigned wait; /* replicas that have to have what is held */
    bool tls;
    struct hf_pem_files files; /* of TLS */
};

/* HF_EURL, naming the offending part; never a password. */
hf_status hf_redis_config_parse(struct hf_redis_config *config,
                                const struct hf_url *url,
                                struct hf_error *error);

/* Where the server is: "127.0.0.1:6379", "[::1]:6379", "/run/redis.sock"; of
 * several "10.0.0.1:6379,10.0.0.2:6379", in full. */
#define HF_REDIS_HOST_TEXT_BYTES (HF_REDIS_HOST_BYTES + 16)
#define HF_REDIS_ADDRESS_BYTES (HF_REDIS_HOSTS_MAX * HF_REDIS_HOST_TEXT_BYTES)
void hf_redis_host_format(const struct hf_redis_host *host,
                          char text[HF_REDIS_HOST_TEXT_BYTES]);
void hf_redis_config_address(const struct hf_redis_config *config,
                             char address[HF_REDIS_ADDRESS_BYTES]);

/* Set .user and .password; false if ${password} is "" or one is too long. */
bool hf_redis_config_authenticate(struct hf_redis_config *config,
                                  const char *user, const char *password);

#endif
