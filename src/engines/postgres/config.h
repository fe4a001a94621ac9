/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the URL of a PostgreSQL engine:
 *
 *      postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?ttl=10s
 *
 * The URL may have the options of libpq that make sense here.  If it names no
 * server, the environment may name one.
 */
#ifndef HF_ENGINES_POSTGRES_CONFIG_H
#define HF_ENGINES_POSTGRES_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "base/url.h"

#define HF_PG_HOSTS_MAX 16
#define HF_PG_NO_POOLER (-1)
/* The most settings: the options of the URL, its user, password and database,
 * and the files of a home directory. */
#define HF_PG_SETTINGS_MAX (HF_URL_OPTIONS + 3 + 5)

/* One server.  All texts belong to the config and are "" if not given. */
struct hf_pg_host {
    const char *name;    /* a name, an address, or the directory of a socket */
    const char *address; /* hostaddr= */
    const char *port;
};

/* Returns the port of ${host} for texts: that of the URL, or PostgreSQL's
 * default port. */
const char *hf_pg_host_port(const struct hf_pg_host *host);

/* One keyword of libpq with its value. */
struct hf_pg_setting {
    const char *keyword;
    const char *value; /* may be a secret */
};

/* The URL, parsed. */
struct hf_pg_config {
    struct hf_pg_host hosts[HF_PG_HOSTS_MAX];
    size_t host_count; /* 0: libpq finds the server */
    /* For libpq, in the order of the URL. */
    struct hf_pg_setting settings[HF_PG_SETTINGS_MAX];
    size_t setting_count;
    uint64_t ttl_ms;
    uint64_t clock_drift; /* of the server, in percent */
    /* a role that is trusted with the schema, or "" */
    const char *schema_owner;
    /* 0: pooler=session, which means a pooler that keeps a connection for a
     * session; HF_PG_NO_POOLER: the option is not there */
    int pooler;
    /* Holds all texts; .memory_used bytes of it are used. */
    char *memory;
    size_t memory_used;
};

/* Fill in ${config} from ${url} and the environment.  The caller frees it with
 * hf_pg_config_free(), but not after a failure.  On HF_EURL, ${error} names the
 * part of the URL that is wrong, but never quotes a password. */
hf_status hf_pg_config_parse(struct hf_pg_config *config,
                             const struct hf_url *url, struct hf_error *error);
void hf_pg_config_free(struct hf_pg_config *config);

/* Write "host:port,host:port/database" to ${text}, cut if it does not fit. */
void hf_pg_config_describe(const struct hf_pg_config *config, char *text,
                           size_t room);

#endif
