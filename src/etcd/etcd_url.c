/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing a URL.  Error texts name a server by its position and never quote it,
 * because in "etcd://user:password", which has no host, the password stands
 * where a port is expected. */
#include "etcd/etcd_url.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/server_address.h"

/* --------------------------------------------------------------- options -- */

/* The values of the options, before they are copied into the configuration. */
struct values {
    uint64_t ttl_ms;
    uint64_t clock_drift;
    uint64_t token_floor;
    int proof; /* enum hf_etcd_proof_mode */
    struct hf_pem_files files;
};

/* The words of proof=, in the order of enum hf_etcd_proof_mode. */
static const char *const proofs[] = {"eager", "lazy", NULL};

static const struct hf_url_option_row rows[] = {
    {.key = "ttl",
     .read = hf_url_read_duration,
     .offset = offsetof(struct values, ttl_ms),
     .min = HF_ETCD_TTL_MIN_MS,
     .max = HF_ETCD_TTL_MAX_MS,
     .help = "the time to live to ask for the lease"},
    HF_CLOCK_DRIFT_OPTION(struct values, clock_drift),
    {.key = "proof",
     .read = hf_url_read_choice,
     .offset = offsetof(struct values, proof),
     .choices = proofs,
     .help = "when the session is proven alive"},
    /* A revision is an int64_t, so revision plus token_floor= cannot overflow a
     * uint64_t. */
    {.key = "token_floor",
     .read = hf_url_read_number,
     .offset = offsetof(struct values, token_floor),
     .max = INT64_MAX,
     .help = "a number to add to every token"},
    {.key = "auth_file"},         /* read by hf_auth_find() */
    {.key = HF_RECONNECT_OPTION}, /* read by hf_reconnect_choose() */
    HF_PEM_OPTIONS(struct values, files),
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static hf_status take_options(struct hf_etcd_url_config *config,
                              const struct hf_url *url, struct hf_error *error)
{
    struct values values = {.ttl_ms = HF_ETCD_TTL_DEFAULT_MS,
                            .clock_drift = HF_CLOCK_DRIFT,
                            .proof = HF_ETCD_PROOF_EAGER};
    struct hf_etcd_session_config *session = &config->session;
    hf_status status = hf_url_options_read(
        url, rows, ROW_COUNT - (session->tls ? 0 : HF_PEM_OPTION_COUNT),
        &values, error);

    if (status != HF_OK)
        return status;
    session->ttl_ms = values.ttl_ms;
    session->clock_drift = values.clock_drift;
    session->proof = (enum hf_etcd_proof_mode)values.proof;
    config->token_floor = values.token_floor;
    config->files = values.files;
    return hf_pem_files_check(&config->files, error);
}

/* --------------------------------------------------------------- servers -- */

static hf_status take_servers(struct hf_etcd_url_config *config,
                              const char *text, struct hf_error *error)
{
    struct hf_etcd_session_config *session = &config->session;
    const char *end = text + strlen(text);
    struct hf_etcd_server *server;
    const char *comma, *fault;

    /* The URL's own parser refuses only a plain '@' here.  An escaped one may
     * belong to a misplaced password, too. */
    if (strchr(text, '@') != NULL)
        return hf_error_set(error, HF_EURL,
                            "the servers of the URL have an escaped '@' among "
                            "them; expected USER:PASSWORD@HOST with a plain "
                            "one");
    do {
        if (session->server_count == HF_ETCD_SERVERS_MAX)
            return hf_error_set(error, HF_EURL,
                                "the URL has more than %d servers; expected "
                                "fewer, a few of them are enough",
                                HF_ETCD_SERVERS_MAX);
        comma = memchr(text, ',', (size_t)(end - text));
        server = &session->servers[session->server_count++];
        server->port = HF_ETCD_PORT;
        fault = hf_server_address_parse(
            text, (size_t)((comma != NULL ? comma : end) - text), server->host,
            sizeof server->host, &server->port);
        if (fault != NULL)
            return hf_error_set(error, HF_EURL,
                                "server %zu of the URL %s; expected HOST or "
                                "HOST:PORT or [IPV6]:PORT, with a port from 1 "
                                "to 65535",
                                session->server_count, fault);
        text = comma != NULL ? comma + 1 : end;
    } while (comma != NULL);
    return HF_OK;
}

/* ---------------------------------------------------------------- prefix -- */

/* Read the path of the URL as the beginning of all keys. */
static hf_status take_prefix(struct hf_etcd_url_config *config,
                             const char *path, struct hf_error *error)
{
    const char *prefix = path + (path[0] == '/');
    size_t bytes = strlen(prefix);
    char *to = config->session.prefix;

    if (bytes == 0)
        return HF_OK;
    if (bytes + 1 >= sizeof config->session.prefix)
        return hf_error_set(error, HF_EURL,
                            "the path of the URL has %zu bytes; expected at "
                            "most %zu",
                            bytes, sizeof config->session.prefix - 2);
    memcpy(to, prefix, bytes + 1);
    if (to[bytes - 1] != '/')
        memcpy(to + bytes, "/", 2);
    return HF_OK;
}

/* ----------------------------------------------------------- credentials -- */

bool hf_etcd_url_authenticate(struct hf_etcd_url_config *config,
                              const char *user, const char *password)
{
    struct hf_etcd_session_config *session = &config->session;
    size_t user_bytes = strlen(user);
    size_t password_bytes = strlen(password);

    if (user_bytes == 0 || user_bytes >= sizeof session->user ||
        password_bytes == 0 || password_bytes >= sizeof session->password)
        return false;
    memcpy(session->user, user, user_bytes + 1);
    memcpy(session->password, password, password_bytes + 1);
    return true;
}

/* Read USER:PASSWORD of the URL. */
static hf_status take_user(struct hf_etcd_url_config *config,
                           const struct hf_url *url, struct hf_error *error)
{
    if (url->user == NULL)
        return HF_OK;
    if (hf_url_option(url, "auth_file") != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL has both a user and auth_file=; expected "
                            "one of them");
    if (url->password == NULL ||
        !hf_etcd_url_authenticate(config, url->user, url->password))
        return hf_error_set(error, HF_EURL,
                            "the URL has an '@' but not a user and a password "
                            "in front of it; expected USER:PASSWORD@, with at "
                            "most %d and %d bytes",
                            HF_ETCD_USER_BYTES - 1, HF_ETCD_PASSWORD_BYTES - 1);
    return HF_OK;
}

/* ------------------------------------------------------------- interface -- */

/* The parts of the URL are read in order, and the first fault is reported. */
hf_status hf_etcd_url_parse(struct hf_etcd_url_config *config,
                            const struct hf_url *url, struct hf_error *error)
{
    hf_status status;

    *config = (struct hf_etcd_url_config){
        .session = {.tls = strcmp(url->scheme, "etcds") == 0,
                    .reconnect = hf_reconnect_default}};
    if (url->authority == NULL || url->authority[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "the URL names no server; expected something like "
                            "\"%s://host1:%d,host2:%d/locks\"",
                            url->scheme, HF_ETCD_PORT, HF_ETCD_PORT);
    status = take_servers(config, url->authority, error);
    if (status == HF_OK)
        status = take_prefix(config, url->path, error);
    if (status == HF_OK)
        status = take_options(config, url, error);
    if (status == HF_OK)
        status = take_user(config, url, error);
    assert(status != HF_OK || config->session.server_count > 0);
    return status;
}

/* The Fisher-Yates shuffle. */
void hf_etcd_url_shuffle(struct hf_etcd_session_config *config)
{
    struct hf_etcd_server moved;

    for (size_t left = config->server_count; left > 1; left--) {
        size_t chosen = (size_t)hf_random_below(&config->random, left);

        moved = config->servers[chosen];
        config->servers[chosen] = config->servers[left - 1];
        config->servers[left - 1] = moved;
    }
}
