/* SPDX-License-Identifier: Apache-2.0 */
/* The server that tests/servers/serve.py has started for the test. */
#ifndef HF_TESTS_SERVER_URL_H
#define HF_TESTS_SERVER_URL_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Write its URL to ${url}; without a server ${otherwise}. */
static inline void server_url(char *url, size_t bytes, const char *otherwise)
{
    const char *zookeeper = getenv("HF_ZK"), *redis = getenv("HF_REDIS");
    const char *postgres = getenv("HF_PG"), *etcd = getenv("HF_ETCD");

    if (zookeeper != NULL)
        (void)snprintf(url, bytes, "zk://%s", zookeeper);
    else if (redis != NULL)
        (void)snprintf(url, bytes, "redis://%s", redis);
    else if (postgres != NULL)
        (void)snprintf(url, bytes, "%s", postgres);
    else if (etcd != NULL)
        (void)snprintf(url, bytes, "etcd://%s", etcd);
    else
        (void)snprintf(url, bytes, "%s", otherwise);
}

#endif
