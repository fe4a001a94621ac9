/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials are found by transport/auth_file.h, and are stored here in the
 * configuration of the session.  By them zookeeper/zk_acl.h decides the access
 * list of nodes that the session creates.  The description has the servers in
 * the order of the URL, so it is made before they are shuffled. */
#include "zookeeper_io/zk_prepare.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "transport/auth_file.h"

/* --------------------------------------------------------- credentials -- */

/* Take the credentials from the file that the URL or the environment names.
 * ${for_other_servers}: that file has lines for other servers only. */
static hf_status read_auth_file(struct hf_zk_url_config *config,
                                const struct hf_url *url,
                                bool *for_other_servers, struct hf_error *error)
{
    const struct hf_auth_wanted wanted = {
        url, "digest", config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT};
    struct hf_auth auth;
    hf_status status = hf_auth_find(&wanted, &auth, error);

    *for_other_servers = auth.for_other_servers;
    if (status == HF_OK && auth.password[0] != '\0' &&
        !hf_zk_url_authenticate(config, auth.user, auth.password))
        status = hf_error_set(error, HF_EURL,
                              "the file of credentials %s has a line without "
                              "a user, or with a ':' in it, or that is too "
                              "long; expected a USER and a PASSWORD of at most "
                              "%zu bytes together",
                              auth.path, sizeof config->session.auth - 2);
    explicit_bzero(&auth, sizeof auth);
    return status;
}

/* Set .auth of the session of ${config} to what auth_file= or
 * HOLDFAST_AUTH_FILE has for its servers, and .private_nodes accordingly.  Logs
 * a warning if the file of HOLDFAST_AUTH_FILE has lines for other servers
 * only. */
static hf_status get_credentials(struct hf_zk_url_config *config,
                                 const struct hf_url *url,
                                 const struct hf_engine_host *host,
                                 struct hf_error *error)
{
    bool for_other_servers = false;
    enum hf_zk_sasl_mechanism mechanism = config->session.sasl.mechanism;
    hf_status status = read_auth_file(config, url, &for_other_servers, error);
    bool has_password = config->session.auth[0] != '\0';

    if (status != HF_OK)
        return status;
    if (mechanism == HF_ZK_SASL_DIGEST_MD5 && !has_password)
        return hf_error_set(error, HF_EURL,
                            "sasl=DIGEST-MD5 needs a user and a password, and "
                            "there are none; expected USER:PASSWORD@ in the "
                            "URL, auth_file= or a line for these servers in "
                            "HOLDFAST_AUTH_FILE");
    status = hf_zk_acl_choose(&config->session, config->acl, error);
    if (status == HF_OK && for_other_servers)
        host->log(host->host, HF_LOG_WARNING,
                  "HOLDFAST_AUTH_FILE has no line for all of the servers %s: "
                  "they get no credentials, and nodes are made for everybody",
                  url->authority);
    return status;
}

/* ---------------------------------------------------------- the rest -- */

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
        status = get_credentials(config, url, host, error);
    if (status == HF_OK)
        status = seed_random(config, error);
    if (status != HF_OK)
        return status;
    if ((*description = describe(config)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a session");
    hf_zk_url_shuffle(&config->session);
    return HF_OK;
}
