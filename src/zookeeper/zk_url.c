/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing a URL.  Error texts name a server by its position and never quote
 * it, because in "zk://user:password", which has no host, the password stands
 * where a port is expected. */
#include "zookeeper/zk_url.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/server_address.h"
#include "zookeeper/zk_path.h"

#define TIMEOUT_MS 10000

/* The service of zookeeper.sasl.client.username in Java. */
#define SASL_SERVICE "zookeeper"

/* --------------------------------------------------------------- servers -- */

/* Read the comma-separated servers ${text} of ${where}. */
static hf_status take_list(struct hf_zk_session_config *config,
                           const char *text, const char *where,
                           struct hf_error *error)
{
    const char *end = text + strlen(text);
    struct hf_zk_server *server;
    const char *comma, *fault;

    config->server_count = 0;
    do {
        if (config->server_count == HF_ZK_SERVERS_MAX)
            return hf_error_set(error, HF_EURL,
                                "%s has more than %d servers; expected fewer, "
                                "a few of them are enough",
                                where, HF_ZK_SERVERS_MAX);
        comma = memchr(text, ',', (size_t)(end - text));
        server = &config->servers[config->server_count++];
        server->port = config->tls ? HF_ZK_PORT_TLS : HF_ZK_PORT;
        fault = hf_server_address_parse(
            text, (size_t)((comma != NULL ? comma : end) - text), server->host,
            sizeof server->host, &server->port);
        if (fault != NULL)
            return hf_error_set(error, HF_EURL,
                                "server %zu of %s %s; expected HOST or "
                                "HOST:PORT or [IPV6]:PORT, with a port from 1 "
                                "to 65535",
                                config->server_count, where, fault);
        text = comma != NULL ? comma + 1 : end;
    } while (comma != NULL);
    return HF_OK;
}

/* Read the servers of the URL. */
static hf_status take_servers(struct hf_zk_url_config *config, const char *text,
                              struct hf_error *error)
{
    /* An escaped '@' gets past the URL parser's check for a misplaced
     * password. */
    if (strchr(text, '@') != NULL)
        return hf_error_set(error, HF_EURL,
                            "the servers of the URL have an escaped '@' among "
                            "them; expected USER:PASSWORD@HOST with a plain "
                            "one");
    return take_list(&config->session, text, "the URL", error);
}

hf_status hf_zk_url_parse_servers(struct hf_zk_session_config *config,
                                  const char *text, struct hf_error *error)
{
    return take_list(config, text, "the list", error);
}

/* ---------------------------------------------------------------- chroot -- */

/* Read the path of the URL as the chroot. */
static hf_status take_chroot(struct hf_zk_url_config *config, const char *path,
                             struct hf_error *error)
{
    size_t bytes = strlen(path);
    const char *fault;

    if (bytes <= 1) /* "/" means no chroot */
        return HF_OK;
    if (bytes >= sizeof(config->chroot))
        return hf_error_set(error, HF_EURL,
                            "the path of the URL has %zu bytes; expected at "
                            "most %zu",
                            bytes, sizeof(config->chroot) - 1);
    if ((fault = hf_zk_path_why_refused(path, false)) != NULL)
        return hf_error_set(error, HF_EURL,
                            "the path %s of the URL has %s; expected a path "
                            "that ZooKeeper takes, such as /locks",
                            hf_quote(path, bytes).text, fault);
    memcpy(config->chroot, path, bytes + 1);
    return HF_OK;
}

/* ----------------------------------------------------------- credentials -- */

bool hf_zk_url_authenticate(struct hf_zk_url_config *config, const char *user,
                            const char *password)
{
    size_t user_bytes = strlen(user);
    size_t password_bytes = strlen(password);

    if (user_bytes == 0 || strchr(user, ':') != NULL || password_bytes == 0 ||
        user_bytes + 1 + password_bytes >= sizeof(config->session.auth))
        return false;
    memcpy(config->session.auth, user, user_bytes);
    config->session.auth[user_bytes] = ':';
    memcpy(config->session.auth + user_bytes + 1, password, password_bytes + 1);
    return true;
}

/* Read USER:PASSWORD of the URL. */
static hf_status take_auth(struct hf_zk_url_config *config,
                           const struct hf_url *url, struct hf_error *error)
{
    if (url->user == NULL)
        return HF_OK;
    if (hf_url_option(url, "auth_file") != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL has both a user and auth_file=; expected "
                            "one of them");
    if (url->password == NULL ||
        !hf_zk_url_authenticate(config, url->user, url->password))
        return hf_error_set(error, HF_EURL,
                            "the URL has an '@' but not a user and a password "
                            "in front of it; expected USER:PASSWORD@ with a "
                            "user without ':', at most %zu bytes together",
                            sizeof(config->session.auth) - 2);
    return HF_OK;
}

/* --------------------------------------------------------------- options -- */

const char *const hf_zk_sasl_choices[] = {"DIGEST-MD5", "GSSAPI", NULL};

hf_status hf_zk_url_read_name(const struct hf_url_option_row *row,
                              const char *text, void *field,
                              struct hf_error *error)
{
    size_t bytes = strlen(text);

    if (!hf_is_host_name(text, bytes) || bytes >= HF_ZK_SASL_NAME_BYTES)
        return hf_error_set(error, HF_EURL,
                            "%s=%s is not valid; expected %s, as letters, "
                            "digits, '.', '_' and '-'",
                            row->key, hf_quote(text, strlen(text)).text,
                            row->help);
    memcpy(field, text, bytes + 1);
    return HF_OK;
}

/* Take over what the options say of SASL. */
static hf_status take_sasl(struct hf_zk_sasl_config *sasl,
                           const struct hf_zk_url_options *options,
                           struct hf_error *error)
{
    sasl->mechanism = (enum hf_zk_sasl_mechanism)(options->sasl + 1);
    memcpy(sasl->service, options->sasl_service, sizeof sasl->service);
    memcpy(sasl->host, options->sasl_host, sizeof sasl->host);
    if (sasl->mechanism == HF_ZK_SASL_NONE &&
        (sasl->service[0] != '\0' || sasl->host[0] != '\0'))
        return hf_error_set(error, HF_EURL,
                            "the URL has sasl_service= or sasl_host= without "
                            "a mechanism; expected sasl=DIGEST-MD5 or "
                            "sasl=GSSAPI, too");
    if (sasl->service[0] == '\0')
        memcpy(sasl->service, SASL_SERVICE, sizeof SASL_SERVICE);
    return HF_OK;
}

/* Read all options.  Options in struct hf_zk_url_options get their defaults
 * here. */
static hf_status take_options(struct hf_zk_url_config *config,
                              const struct hf_url *url,
                              const struct hf_url_option_row *rows,
                              size_t row_count, void *values,
                              struct hf_error *error)
{
    struct hf_zk_url_options *options = values;
    struct hf_zk_session_config *session = &config->session;
    hf_status status;

    assert(row_count > HF_PEM_OPTION_COUNT);
    *options = (struct hf_zk_url_options){.timeout_ms = TIMEOUT_MS,
                                          .acl = HF_ZK_ACL_BY_CREDENTIALS,
                                          .sasl = HF_ZK_SASL_NOT_GIVEN};
    status = hf_url_options_read(
        url, rows, row_count - (session->tls ? 0 : HF_PEM_OPTION_COUNT), values,
        error);
    if (status != HF_OK)
        return status;
    session->timeout_ms = options->timeout_ms;
    config->acl = (enum hf_zk_acl_option)options->acl;
    config->files = options->files;
    status = take_sasl(&session->sasl, options, error);
    return status == HF_OK ? hf_pem_files_check(&config->files, error) : status;
}

/* ------------------------------------------------------------- interface -- */

/* The parts of the URL are read in order, and the first fault is reported. */
hf_status hf_zk_url_parse(struct hf_zk_url_config *config,
                          const struct hf_url *url,
                          const struct hf_url_option_row *rows,
                          size_t row_count, void *values,
                          struct hf_error *error)
{
    hf_status status;

    *config = (struct hf_zk_url_config){
        .session = {.tls = strcmp(url->scheme, "zks") == 0,
                    .reconnect = hf_reconnect_default}};
    if (url->authority == NULL || url->authority[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "the URL names no server; expected something like "
                            "\"%s://host1:%d,host2:%d/locks\"",
                            url->scheme,
                            config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT,
                            config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT);
    status = take_servers(config, url->authority, error);
    if (status == HF_OK)
        status = take_chroot(config, url->path, error);
    if (status == HF_OK)
        status = take_options(config, url, rows, row_count, values, error);
    if (status == HF_OK)
        status = take_auth(config, url, error);
    assert(status != HF_OK || config->session.server_count > 0);
    return status;
}

/* The Fisher-Yates shuffle. */
void hf_zk_url_shuffle(struct hf_zk_session_config *config)
{
    struct hf_zk_server moved;

    for (size_t left = config->server_count; left > 1; left--) {
        size_t chosen = (size_t)hf_random_below(&config->random, left);

        moved = config->servers[chosen];
        config->servers[chosen] = config->servers[left - 1];
        config->servers[left - 1] = moved;
    }
}
