/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/greeting.h"

#include <stdlib.h>
#include <string.h>

#define VERSION_LEAST 6

size_t hf_redis_put_auth(struct hf_resp *resp,
                         const struct hf_redis_config *config)
{
    bool named = config->user[0] != '\0';

    if (!config->authenticates)
        return 0;
    hf_resp_begin(resp, named ? 3 : 2);
    hf_resp_put_text(resp, "AUTH");
    if (named)
        hf_resp_put_text(resp, config->user);
    hf_resp_put_text(resp, config->password);
    return 1;
}

/* What stands behind "${key}:" at the beginning of a line, or NULL. */
static const char *find(const char *info, const char *key)
{
    size_t bytes = strlen(key);

    for (const char *at = info; at != NULL; at = strchr(at, '\n')) {
        if (*at == '\n')
            at++;
        if (strncmp(at, key, bytes) == 0 && at[bytes] == ':')
            return at + bytes + 1;
    }
    return NULL;
}

static bool is(const char *value, const char *expected)
{
    size_t bytes = strlen(expected);

    return value != NULL && strncmp(value, expected, bytes) == 0 &&
           (value[bytes] == '\r' || value[bytes] == '\n' ||
            value[bytes] == '\0');
}

bool hf_redis_info_clustered(const char *info)
{
    return is(find(info, "cluster_enabled"), "1");
}

bool hf_redis_info_forgets(const char *info)
{
    return is(find(info, "aof_enabled"), "0");
}

uint64_t hf_redis_info_served_ms(const char *info)
{
    const char *seconds = find(info, "uptime_in_seconds");

    return seconds == NULL ? 0 : strtoull(seconds, NULL, 10) * 1000;
}

const char *hf_redis_info_fault(const char *info, hf_status *status)
{
    const char *version = find(info, "redis_version");
    const char *policy = find(info, "maxmemory_policy");

    *status = HF_EUNSUPPORTED;
    if (version != NULL && strtol(version, NULL, 10) < VERSION_LEAST)
        return "a Redis before 6.0; expected 6.0 or later";
    if (policy != NULL && !is(policy, "noeviction"))
        return "its maxmemory-policy lets it throw keys away, and with them "
               "tickets; expected maxmemory-policy noeviction";
    *status = HF_EUNREACHABLE;
    /* That of a cluster says who has what, and passes notices on. */
    if (is(find(info, "role"), "slave") && !hf_redis_info_clustered(info))
        return "it is a replica, which takes no writes; expected the address "
               "of its primary";
    if (is(find(info, "loading"), "1"))
        return "it is still loading its data";
    return NULL;
}
