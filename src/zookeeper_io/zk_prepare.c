/* SPDX-License-Identifier: Apache-2.0 */
/* The description has the servers in the order of the URL, so it is made before
 * they are shuffled. */
#include "zookeeper_io/zk_prepare.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/memory.h"
#include "zookeeper_io/zk_credentials.h"

/* Seed the random numbers of the session. */
static hf_status seed_random(struct hf_zk_url_config *config,
                             struct hf_error *error)
{
    uint64_t *s = config->session.random.s;

    if (getrandom(s, sizeof(config->session.random.s), 0) !=
        (ssize_t)sizeof(config->session.random.s))
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* The servers and the chroot as a URL.  NULL for lack of memory. */
static char *describe(const struct hf_zk_url_config *config)
{
    size_t room = sizeof("zks://") + strlen(config->chroot) +
                  config->session.server_count * (HF_ZK_HOST_BYTES + 10);
    const struct hf_zk_server *server = config->session.servers;
    char *description = hf_alloc(room);
    bool colons;
    size_t at;

    if (description == NULL)
        return NULL;
    at = (size_t)snprintf(description, room, "%s://",
                          config->session.tls ? "zks" : "zk");
    for (size_t i = 0; i < config->session.server_count; i++, server++) {
        colons = strchr(server->host, ':') != NULL;
        at +=
            (size_t)snprintf(description + at, room - at, "%s%s%s%s:%u",
                             i > 0 ? "," : "", colons ? "[" : "", server->host,
                             colons ? "]" : "", (unsigned)server->port);
    }
    at += (size_t)snprintf(description + at, room - at, "%s", config->chroot);
    assert(at < room);
    return description;
}

hf_status hf_zk_prepare(struct hf_zk_url_config *config,
                        const struct hf_url *url,
                        const struct hf_engine_host *host, char **description,
                        struct hf_error *error)
{
    hf_status status = hf_reconnect_choose(url, host->reconnect,
                                           &config->session.reconnect, error);

    if (status == HF_OK)
        status = hf_zk_get_credentials(config, url, host, error);
    if (status == HF_OK)
        status = seed_random(config, error);
    if (status != HF_OK)
        return status;
    if ((*description = describe(config)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a session");
    hf_zk_url_shuffle(&config->session);
    return HF_OK;
}
