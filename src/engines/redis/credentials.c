/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of one server: those of the URL, or of a file. */
#include "engines/redis/credentials.h"

#include <string.h>

#include "transport/auth_file.h"

hf_status hf_redis_get_credentials(struct hf_redis_config *config,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    const struct hf_auth_wanted wanted = {url, "redis", HF_REDIS_PORT};
    struct hf_auth auth;
    hf_status status = hf_auth_find(&wanted, &auth, error);

    config->unlisted = auth.for_other_servers;
    if (status == HF_OK && auth.password[0] != '\0')
        (void)hf_redis_config_authenticate(config, auth.user, auth.password);
    explicit_bzero(&auth, sizeof auth);
    return status;
}

void hf_redis_warn_unlisted(const struct hf_redis_config *config,
                            const struct hf_engine_host *host)
{
    char address[HF_REDIS_ADDRESS_BYTES];

    if (!config->unlisted)
        return;
    hf_redis_config_address(config, address);
    host->log(host->host, HF_LOG_WARNING,
              "HOLDFAST_AUTH_FILE has no line for %s: no credentials are used "
              "there",
              address);
}
