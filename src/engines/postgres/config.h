/* SPDX-License-Identifier: Apache-2.0 */
/* What a URL says:
 *
 *     postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?ttl=10s
 *
 * with the options of libpq that make sense here, and what the environment
 * says of the server where the URL does not. */
#ifndef HF_ENGINES_POSTGRES_CONFIG_H
#define HF_ENGINES_POSTGRES_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

#include "core/url.h"

#define HF_PG_HOSTS_MAX 16
#define HF_PG_SETTINGS_MAX (HF_URL_OPTIONS + 3)

/* All text is the config's; "" where nothing was said. */
struct hf_pg_host {
    const char *name;    /* a name, an address, or the directory of a socket */
    const char *address; /* as hostaddr= */
    const char *port;
};

/* One keyword of libpq. */
struct hf_pg_setting {
    const char *keyword;
    const char *value; /* perhaps a secret */
};

struct hf_pg_config {
    struct hf_pg_host hosts[HF_PG_HOSTS_MAX];
    size_t host_count; /* 0: libpq knows where */
    struct hf_pg_setting settings[HF_PG_SETTINGS_MAX];
    size_t setting_count;
    uint64_t ttl_ms;
    const char *schema_owner; /* a role to trust with the schema, or "" */
    bool pooled_by_session;   /* there is a pooler, and it is one that can be
                                 lived with */
    char *memory;
    size_t memory_used;
};

/* Fill in ${config}, to be freed by hf_pg_config_free(), from ${url} and the
 * environment.  HF_EURL, naming the offending part, never a password, or
 * HF_ENOMEM; there is nothing to free then. */
hf_status hf_pg_config_parse(struct hf_pg_config *config,
                             const struct hf_url *url, struct hf_error *error);
void hf_pg_config_free(struct hf_pg_config *config);

/* Write "host:port,host:port/database" to ${text}, cut if it does not fit. */
void hf_pg_config_describe(const struct hf_pg_config *config, char *text,
                           size_t room);

#endif
