/* SPDX-License-Identifier: Apache-2.0 */
/* See server_info.h.  INFO has a line "key:value" for each value. */
#include "engines/redis/server_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"

#define VERSION_MIN 6

/* Returns the text behind "${key}:" at the beginning of a line; NULL if there
 * is no such line. */
static const char *find_value(const char *info, const char *key)
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

static bool equals(const char *value, const char *expected)
{
    size_t bytes = strlen(expected);

    return value != NULL && strncmp(value, expected, bytes) == 0 &&
           (value[bytes] == '\r' || value[bytes] == '\n' ||
            value[bytes] == '\0');
}

bool hf_redis_info_value(const char *info, const char *key, char *value,
                         size_t room)
{
    const char *found = find_value(info, key);

    (void)snprintf(value, room, "%.*s",
                   found == NULL ? 0 : (int)strcspn(found, "\r\n"),
                   found == NULL ? "" : found);
    return found != NULL;
}

uint64_t hf_redis_info_number(const char *info, const char *key)
{
    const char *found = find_value(info, key);

    return found == NULL ? 0 : strtoull(found, NULL, 10);
}

bool hf_redis_info_clustered(const char *info)
{
    return equals(find_value(info, "cluster_enabled"), "1");
}

bool hf_redis_info_forgets(const char *info)
{
    return equals(find_value(info, "aof_enabled"), "0");
}

/* The server computes its uptime from its wall clock.  If that was set back
 * since the start, the uptime may be negative, and then nothing is known. */
uint64_t hf_redis_info_served_ms(const char *info)
{
    const char *text = find_value(info, "uptime_in_seconds");
    long long seconds = text == NULL ? 0 : strtoll(text, NULL, 10);

    if (seconds <= 0)
        return 0;
    return (uint64_t)seconds > HF_FOREVER / 1000 ? HF_FOREVER
                                                 : (uint64_t)seconds * 1000;
}

bool hf_redis_info_same_run(const char *info,
                            char run_id[HF_REDIS_RUN_ID_BYTES])
{
    const char *id = find_value(info, "run_id");
    size_t bytes = id == NULL ? 0 : strcspn(id, "\r\n");
    bool same =
        bytes > 0 && strlen(run_id) == bytes && strncmp(run_id, id, bytes) == 0;

    if (bytes >= HF_REDIS_RUN_ID_BYTES)
        bytes = 0;
    (void)snprintf(run_id, HF_REDIS_RUN_ID_BYTES, "%.*s", (int)bytes,
                   bytes > 0 ? id : "");
    return same;
}

const char *hf_redis_info_problem(const char *info, hf_status *status)
{
    const char *version = find_value(info, "redis_version");
    const char *policy = find_value(info, "maxmemory_policy");

    *status = HF_EURL;
    if (equals(find_value(info, "redis_mode"), "sentinel"))
        return "it is a Redis Sentinel, which keeps no locks; expected the "
               "address of the primary that it watches";
    *status = HF_EUNSUPPORTED;
    if (version != NULL && strtol(version, NULL, 10) < VERSION_MIN)
        return "a Redis before 6.0; expected 6.0 or later";
    if (policy != NULL && !equals(policy, "noeviction"))
        return "its maxmemory-policy lets it throw keys away, and with them "
               "tickets; expected maxmemory-policy noeviction";
    *status = HF_EUNREACHABLE;
    /* A replica in a cluster is of use, because it knows the slots and passes
     * notices on. */
    if (equals(find_value(info, "role"), "slave") &&
        !hf_redis_info_clustered(info))
        return "it is a replica, which takes no writes; expected the address "
               "of its primary";
    if (equals(find_value(info, "loading"), "1"))
        return "it is still loading its data";
    return NULL;
}
