/* SPDX-License-Identifier: Apache-2.0 */
/* transport/auth_file.h finds the credentials.  The description has the servers
 * in the order of the URL, so it is made before they are shuffled. */
#include "etcd_io/etcd_prepare.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "transport/auth_file.h"

/* Get the credentials from the file that the URL or the environment names.  If
 * the file of the environment has lines for other servers only, warn by .log of
 * ${host}. */
static hf_status get_credentials(struct hf_etcd_url_config *config,
                                 const struct hf_url *url,
                                 const struct hf_engine_host *host,
                                 struct hf_error *error)
{
    const struct hf_auth_wanted wanted = {url, "etcd", HF_ETCD_PORT};
    struct hf_auth auth;
    hf_status status = hf_auth_find(&wanted, &auth, error);

    if (status == HF_OK && auth.password[0] != '\0' &&
        !hf_etcd_url_authenticate(config, auth.user, auth.password))
        status = hf_error_set(error, HF_EURL,
                              "the file of credentials %s has a line without "
                              "a user, or that is too long; expected a USER of "
                              "at most %d bytes and a PASSWORD of at most %d",
                              auth.path, HF_ETCD_USER_BYTES - 1,
                              HF_ETCD_PASSWORD_BYTES - 1);
    if (status == HF_OK && auth.for_other_servers)
        host->log(host->host, HF_LOG_WARNING,
                  "HOLDFAST_AUTH_FILE has no line for all of the servers %s: "
                  "no credentials are used there",
                  url->authority);
    explicit_bzero(&auth, sizeof auth);
    return status;
}

/* Seed the random numbers of the session. */
static hf_status seed_random(struct hf_etcd_url_config *config,
                             struct hf_error *error)
{
    uint64_t *s = config->session.random.s;

    if (getrandom(s, sizeof config->session.random.s, 0) !=
        (ssize_t)sizeof config->session.random.s)
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* Return the servers and the prefix as a URL.  Returns NULL for lack of memory.
 */
static char *describe(const struct hf_etcd_session_config *config)
{
    size_t room = sizeof "etcds:///" + strlen(config->prefix) +
                  config->server_count * HF_ETCD_ADDRESS_TEXT_BYTES;
    const struct hf_etcd_server *server = config->servers;
    char *description = hf_alloc(room);
    bool colons;
    size_t at;

    if (description == NULL)
        return NULL;
    at = (size_t)snprintf(description, room, "%s://",
                          config->tls ? "etcds" : "etcd");
    for (size_t i = 0; i < config->server_count; i++, server++) {
        colons = strchr(server->host, ':') != NULL;
        at +=
            (size_t)snprintf(description + at, room - at, "%s%s%s%s:%u",
                             i > 0 ? "," : "", colons ? "[" : "", server->host,
                             colons ? "]" : "", (unsigned)server->port);
    }
    at += (size_t)snprintf(description + at, room - at, "/%s", config->prefix);
    assert(at < room);
    /* Cut the last '/', which is the end of the prefix, or stands where no
     * prefix is. */
    description[at - 1] = '\0';
    return description;
}

hf_status hf_etcd_prepare(struct hf_etcd_url_config *config,
                          const struct hf_url *url,
                          const struct hf_engine_host *host, char **description,
                          struct hf_error *error)
{
    hf_status status = hf_reconnect_choose(url, host->reconnect,
                                           &config->session.reconnect, error);

    if (status == HF_OK)
        status = get_credentials(config, url, host, error);
    if (status == HF_OK)
        status = seed_random(config, error);
    if (status != HF_OK)
        return status;
    if ((*description = describe(&config->session)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a session");
    hf_etcd_url_shuffle(&config->session);
    return HF_OK;
}
