/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the URL of a Redis engine.  Static functions that return a text return
 * NULL if all is well, and else what is wrong; their caller makes an error of
 * it. */
#include "engines/redis/config.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/reconnect.h"
#include "base/url_options.h"
#include "engines/leased/leased.h"
#include "transport/auth_file.h"

#define HOST_CHARACTERS                                                        \
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

/* --------------------------------------------------------------- options -- */

static const char *const layouts[] = {"queue", "redis-py", NULL};

enum { TTL, DB };
static const struct hf_url_option_row rows[] = {
    [TTL] = {.key = "ttl",
             .read = hf_url_read_duration,
             .offset = offsetof(struct hf_redis_config, ttl_ms),
             .min = HF_LEASED_TTL_MIN_MS,
             .max = HF_LEASED_TTL_MAX_MS,
             .help = "how long a ticket outlives its last renewal"},
    [DB] = {.key = "db",
            .read = hf_url_read_number,
            .offset = offsetof(struct hf_redis_config, db),
            .max = HF_REDIS_DB_MAX,
            .help = "the number of the database"},
    HF_CLOCK_DRIFT_OPTION(struct hf_redis_config, clock_drift),
    {.key = "layout",
     .read = hf_url_read_choice,
     .offset = offsetof(struct hf_redis_config, layout),
     .choices = layouts,
     .help = "queue is ours, redis-py the one key of redis-py"},
    {.key = "wait",
     .read = hf_url_read_number,
     .offset = offsetof(struct hf_redis_config, wait),
     .max = HF_REDIS_WAIT_MAX,
     .help = "how many replicas have to have what is held"},
    {.key = "auth_file"},         /* read by hf_auth_find() */
    {.key = HF_RECONNECT_OPTION}, /* read by hf_reconnect_choose() */
    HF_PEM_OPTIONS(struct hf_redis_config, files),
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* --------------------------------------------------------------- address -- */

/* Parse ":port" or "".  No message about a host quotes it: in
 * "redis://user:password", whose host was forgotten, the password stands where
 * the port is expected. */
static const char *parse_port(struct hf_redis_host *host, const char *text)
{
    uint64_t port = HF_REDIS_PORT;

    if (text[0] != '\0' &&
        (text[0] != ':' || !hf_url_parse_number(text + 1, &port) || port == 0 ||
         port > UINT16_MAX))
        return "has no valid port";
    host->port = (uint16_t)port;
    return NULL;
}

/* Parse "host:port" or "[IPv6]:port".  Returns what is wrong, or NULL. */
static const char *parse_host(struct hf_redis_host *host, const char *text)
{
    bool bracketed = text[0] == '[';
    const char *from = text + bracketed;
    size_t bytes = bracketed ? strcspn(from, "]") : strcspn(from, ":");
    struct in6_addr parsed;

    if (bytes == 0)
        return "is empty";
    if (bytes >= sizeof host->name)
        return "is too long for a host";
    memcpy(host->name, from, bytes);
    host->name[bytes] = '\0';
    if (!bracketed) {
        if (strspn(host->name, HOST_CHARACTERS) != bytes ||
            strchr(".-", from[0]) != NULL)
            return "has characters that no host name has";
        return parse_port(host, from + bytes);
    }
    if (from[bytes] != ']' || inet_pton(AF_INET6, host->name, &parsed) != 1)
        return "has no IPv6 address inside its brackets";
    return parse_port(host, from + bytes + 1);
}

/* Parse "host:port,host:port".  Returns what is wrong with it, or NULL. */
static const char *parse_hosts(struct hf_redis_config *config, const char *text)
{
    char one[HF_REDIS_HOST_TEXT_BYTES];
    const char *fault;
    size_t bytes;

    do {
        bytes = strcspn(text, ",");
        if (config->host_count == HF_REDIS_HOSTS_MAX)
            return "is one of too many";
        if (bytes >= sizeof one)
            return "is too long for a host";
        memcpy(one, text, bytes);
        one[bytes] = '\0';
        fault = parse_host(&config->hosts[config->host_count++], one);
        text += bytes;
    } while (fault == NULL && *text++ == ',');
    config->host = config->hosts[0];
    return fault;
}

/* Read the servers and the database of a URL with a host
 * ("redis://HOST..."). */
static hf_status parse_server(struct hf_redis_config *config,
                              const struct hf_url *url, struct hf_error *error)
{
    const char *fault = parse_hosts(config, url->authority);

    if (fault != NULL)
        return hf_error_set(error, HF_EURL,
                            "the server of the URL %s; expected something like "
                            "\"%s://host:%d/0\", or up to %zu nodes of one "
                            "Redis Cluster with ',' between them",
                            fault, url->scheme, HF_REDIS_PORT,
                            HF_REDIS_HOSTS_MAX);
    if (url->path[0] == '\0' || strcmp(url->path, "/") == 0)
        return HF_OK;
    if (hf_url_option(url, "db") != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL has both a database in its path and db=; "
                            "expected one of them");
    return hf_url_read_number(&rows[DB], url->path + 1, &config->db, error);
}

/* Read where the server is: its hosts, or the path of a unix socket. */
static hf_status parse_address(struct hf_redis_config *config,
                               const struct hf_url *url, struct hf_error *error)
{
    size_t bytes = strlen(url->path);

    if (url->authority != NULL)
        return parse_server(config, url, error);
    if (url->path[0] != '/' || bytes >= sizeof config->path)
        return hf_error_set(error, HF_EURL,
                            "the URL names no server; expected something like "
                            "\"%s://host:%d/0\", or \"redis:/path/of/socket\" "
                            "with a path of at most %zu bytes",
                            url->scheme, HF_REDIS_PORT,
                            sizeof config->path - 1);
    if (config->tls)
        return hf_error_set(error, HF_EURL,
                            "TLS over a unix socket; expected redis: for it");
    memcpy(config->path, url->path, bytes + 1);
    return HF_OK;
}

void hf_redis_host_format(const struct hf_redis_host *host,
                          char text[HF_REDIS_HOST_TEXT_BYTES])
{
    bool colons = strchr(host->name, ':') != NULL;

    (void)snprintf(text, HF_REDIS_HOST_TEXT_BYTES, "%s%s%s:%u",
                   colons ? "[" : "", host->name, colons ? "]" : "",
                   (unsigned)host->port);
}

void hf_redis_config_address(const struct hf_redis_config *config,
                             char address[HF_REDIS_ADDRESS_BYTES])
{
    char text[HF_REDIS_HOST_TEXT_BYTES];
    size_t used = 0;

    if (config->path[0] != '\0') {
        (void)snprintf(address, HF_REDIS_ADDRESS_BYTES, "%s", config->path);
        return;
    }
    for (size_t i = 0; i < config->host_count; i++) {
        hf_redis_host_format(&config->hosts[i], text);
        used += (size_t)snprintf(address + used, HF_REDIS_ADDRESS_BYTES - used,
                                 "%s%s", i > 0 ? "," : "", text);
    }
}

/* ----------------------------------------------------------- credentials -- */

bool hf_redis_config_authenticate(struct hf_redis_config *config,
                                  const char *user, const char *password)
{
    size_t user_bytes = strlen(user);
    size_t bytes = strlen(password);

    if (user_bytes >= sizeof config->user || bytes == 0 ||
        bytes >= sizeof config->password)
        return false;
    memcpy(config->user, user, user_bytes + 1);
    memcpy(config->password, password, bytes + 1);
    config->authenticates = true;
    return true;
}

/* Read the user and password of the URL. */
static hf_status parse_credentials(struct hf_redis_config *config,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    if (url->user == NULL)
        return HF_OK;
    if (hf_url_option(url, "auth_file") != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL has both a user and auth_file=; expected "
                            "one of them");
    if (url->password == NULL ||
        !hf_redis_config_authenticate(config, url->user, url->password))
        return hf_error_set(error, HF_EURL,
                            "the URL has an '@' but not a password in front of "
                            "it; expected USER:PASSWORD@ or :PASSWORD@, each "
                            "of at most %d bytes",
                            HF_REDIS_SECRET_BYTES - 1);
    return HF_OK;
}

/* ------------------------------------------------------------- interface -- */

hf_status hf_redis_config_parse(struct hf_redis_config *config,
                                const struct hf_url *url,
                                struct hf_error *error)
{
    bool tls = strcmp(url->scheme, "rediss") == 0;
    hf_status status;

    *config = (struct hf_redis_config){
        .tls = tls, .ttl_ms = HF_LEASED_TTL_MS, .clock_drift = HF_CLOCK_DRIFT};
    status = hf_url_options_read(
        url, rows, ROW_COUNT - (tls ? 0 : HF_PEM_OPTION_COUNT), config, error);
    if (status == HF_OK)
        status = parse_address(config, url, error);
    if (status == HF_OK)
        status = hf_pem_files_check(&config->files, error);
    if (status == HF_OK)
        status = parse_credentials(config, url, error);
    return status;
}

/* -------------------------------------------- credentials of a server -- */

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
