/* SPDX-License-Identifier: Apache-2.0 */
/* transport/auth_file.h finds the credentials; here they become those of the
 * session, and decide who may use the nodes that it makes. */
#include "zookeeper_io/zk_credentials.h"

#include <string.h>

#include "base/error.h"
#include "transport/auth_file.h"

/* Take the credentials from the file that the URL or the environment names.
 * ${for_other_servers}: it has lines for other servers only. */
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

/* Decide the access list of created nodes: it is private if there are
 * credentials. */
hf_status hf_zk_get_credentials(struct hf_zk_url_config *config,
                                const struct hf_url *url,
                                const struct hf_engine_host *host,
                                struct hf_error *error)
{
    bool for_other_servers = false;
    enum hf_zk_sasl_mechanism mechanism = config->session.sasl.mechanism;
    hf_status status = read_auth_file(config, url, &for_other_servers, error);
    bool has_password = config->session.auth[0] != '\0';
    bool has_identity = has_password || mechanism != HF_ZK_SASL_NONE;

    if (status != HF_OK)
        return status;
    if (mechanism == HF_ZK_SASL_DIGEST_MD5 && !has_password)
        return hf_error_set(error, HF_EURL,
                            "sasl=DIGEST-MD5 needs a user and a password, and "
                            "there are none; expected USER:PASSWORD@ in the "
                            "URL, auth_file= or a line for these servers in "
                            "HOLDFAST_AUTH_FILE");
    if (hf_url_option(url, "acl") == NULL)
        config->session.private_nodes = has_identity;
    if (config->session.private_nodes && !has_identity)
        return hf_error_set(error, HF_EURL,
                            "acl=creator makes nodes that need the "
                            "credentials, and there are none; expected "
                            "USER:PASSWORD@ in the URL, auth_file= or a line "
                            "for these servers in HOLDFAST_AUTH_FILE");
    if (for_other_servers)
        host->log(host->host, HF_LOG_WARNING,
                  "HOLDFAST_AUTH_FILE has no line for all of the servers %s: "
                  "they get no credentials, and nodes are made for everybody",
                  url->authority);
    return HF_OK;
}
