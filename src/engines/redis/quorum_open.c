/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a quorum of Redis servers: splits the URL into one URL for each server,
 * checks that the servers fit together, and starts the engine. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/reconnect.h"
#include "base/url_options.h"
#include "engines/redis/config.h"
#include "engines/redis/redis_quorum.h"

/* The options of a quorum.  Those without .read are read later, with the URL of
 * each server, or for reconnect= by hf_reconnect_choose(). */
static const struct hf_url_option_row rows[] = {
    {.key = "ttl"},
    {.key = "clock_drift"},
    {.key = "rejoin",
     .read = hf_url_read_duration,
     .offset = offsetof(struct hf_redis_quorum_config, rejoin_ms),
     .min = 1,
     .max = HF_LEASED_TTL_MAX_MS,
     .help = "when a server that was started counts again"},
    {.key = HF_RECONNECT_OPTION},
    {.key = "auth_file"},
    {.key = "ca"},
    {.key = "cert"},
    {.key = "key"},
};

/* ------------------------------------------------------------ one server -- */

/* Give ${server} the options that stand behind the last server, because they
 * apply to all servers.  Left out are options of the quorum itself, and
 * auth_file= if the URL of the server has a user. */
static void copy_shared_options(struct hf_url *server, const struct hf_url *url)
{
    for (size_t i = 0; i < url->option_count; i++) {
        const char *key = url->options[i].key;

        if (strcmp(key, "rejoin") != 0 &&
            strcmp(key, HF_RECONNECT_OPTION) != 0 &&
            (strcmp(key, "auth_file") != 0 || server->user == NULL))
            server->options[server->option_count++] = url->options[i];
    }
}

static hf_status read_parsed(struct hf_redis_config *config,
                             struct hf_url *server, const struct hf_url *url,
                             struct hf_error *error)
{
    hf_status status;

    copy_shared_options(server, url);
    status = hf_redis_config_parse(config, server, error);
    if (status == HF_OK)
        status = hf_redis_get_credentials(config, server, error);
    return status;
}

/* Parse ${text}, the URL of one server, with the options of ${url} that apply
 * to all servers. */
static hf_status read_server(struct hf_redis_config *config, const char *text,
                             const struct hf_url *url, struct hf_error *error)
{
    struct hf_url server;
    hf_status status;

    /* The message does not quote the text, because it may be the rest of a
     * password that has a ',' in it. */
    if (strncasecmp(text, "redis:", 6) != 0 &&
        strncasecmp(text, "rediss:", 7) != 0)
        return hf_error_set(error, HF_EURL,
                            "another scheme; expected redis: or rediss: (and "
                            "in a password ',' as %%2C)");
    status = hf_url_parse(text, &server, error);
    if (status != HF_OK)
        return status;
    status = read_parsed(config, &server, url, error);
    hf_url_free(&server);
    return status;
}

/* ----------------------------------------------------------- all servers -- */

static hf_status check_count(const struct hf_redis_quorum_config *config,
                             const char *rest, struct hf_error *error)
{
    if (rest == NULL && config->count >= HF_QUORUM_SERVERS_MIN &&
        config->count % 2 == 1)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "quorum: has %s%zu servers; expected an odd number "
                        "from %d to %d, as in "
                        "\"quorum:redis://a,redis://b,redis://c?ttl=10s\"",
                        rest != NULL ? "more than " : "", config->count,
                        HF_QUORUM_SERVERS_MIN, HF_QUORUM_SERVERS_MAX);
}

static bool has_same_address(const struct hf_redis_config *a,
                             const struct hf_redis_config *b)
{
    char address_a[HF_REDIS_ADDRESS_BYTES], address_b[HF_REDIS_ADDRESS_BYTES];

    hf_redis_config_address(a, address_a);
    hf_redis_config_address(b, address_b);
    return strcmp(address_a, address_b) == 0;
}

/* Check that no server is named twice, because each must fail independently of
 * the others, and that all use TLS or none does. */
static hf_status check_distinct(const struct hf_redis_quorum_config *config,
                                struct hf_error *error)
{
    for (size_t i = 0; i < config->count; i++) {
        if (config->servers[i].tls != config->servers[0].tls)
            return hf_error_set(error, HF_EURL,
                                "quorum: has servers of redis: and of rediss:; "
                                "expected one of them for all");
        for (size_t k = 0; k < i; k++) {
            if (has_same_address(&config->servers[i], &config->servers[k]))
                return hf_error_set(error, HF_EURL,
                                    "quorum: has one server twice, as number "
                                    "%zu and %zu; expected servers that fail "
                                    "independently of each other",
                                    k + 1, i + 1);
        }
    }
    return HF_OK;
}

/* Check rejoin=, the time from the start of a server until it counts.  All
 * leases that the server may have forgotten must end within that time, so ttl=
 * must not be longer. */
static hf_status check_rejoin(struct hf_redis_quorum_config *config,
                              struct hf_error *error)
{
    config->ttl_ms = config->servers[0].ttl_ms;
    config->clock_drift = config->servers[0].clock_drift;
    if (config->ttl_ms > config->rejoin_ms)
        return hf_error_set(error, HF_EURL,
                            "the ttl of %" PRIu64 " ms is longer than the "
                            "%" PRIu64 " ms after which a server that was "
                            "started counts; expected a shorter ttl=, or a "
                            "longer rejoin=, the same for everybody who shares "
                            "the locks",
                            config->ttl_ms, config->rejoin_ms);
    return HF_OK;
}

static hf_status read_servers(struct hf_redis_quorum_config *config, char *text,
                              const struct hf_url *url, struct hf_error *error)
{
    struct hf_error own = {HF_OK, ""};
    char *rest = text;
    const char *server;

    while (rest != NULL && config->count < HF_QUORUM_SERVERS_MAX) {
        server = strsep(&rest, ",");
        if (read_server(&config->servers[config->count], server, url, &own) !=
            HF_OK)
            return hf_error_set(error, own.status, "server %zu of quorum: %s",
                                config->count + 1, own.text);
        config->count++;
    }
    return check_count(config, rest, error);
}

hf_status hf_redis_quorum_config_read(struct hf_redis_quorum_config *config,
                                      const struct hf_url *url,
                                      struct hf_error *error)
{
    char *text = hf_strdup(url->inner);
    size_t bytes = strlen(url->inner);
    hf_status status;

    config->count = 0;
    config->rejoin_ms = HF_REDIS_REJOIN_MS;
    if (text == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a URL");
    status = hf_url_options_read(url, rows, sizeof rows / sizeof rows[0],
                                 config, error);
    if (status == HF_OK)
        status = read_servers(config, text, url, error);
    if (status == HF_OK)
        status = check_distinct(config, error);
    if (status == HF_OK)
        status = check_rejoin(config, error);
    explicit_bzero(text, bytes); /* strsep() has put NULs into it */
    hf_free(text);
    return status;
}

/* ------------------------------------------------------------------ open -- */

#define DESCRIPTION_BYTES                                                      \
    ((size_t)HF_QUORUM_SERVERS_MAX * (HF_REDIS_ADDRESS_BYTES + 32))

/* Write the addresses, "127.0.0.1:1,127.0.0.1:2"; if ${as_url}, as the URL of
 * the quorum. */
static void describe(const struct hf_redis_quorum_config *config, bool as_url,
                     char *text, size_t bytes)
{
    char address[HF_REDIS_ADDRESS_BYTES];
    size_t used = 0;

    for (size_t i = 0; i < config->count && used < bytes; i++) {
        const struct hf_redis_config *server = &config->servers[i];
        const char *form = !as_url                   ? "%s%s"
                           : server->path[0] != '\0' ? "%sredis:%s"
                           : server->tls             ? "%srediss://%s"
                                                     : "%sredis://%s";

        hf_redis_config_address(server, address);
        used += (size_t)snprintf(text + used, bytes - used, form,
                                 i > 0    ? ","
                                 : as_url ? "quorum:"
                                          : "",
                                 address);
    }
}

/* Make the store and start the engine with it. */
static hf_status start(const struct hf_redis_quorum_config *config,
                       const struct hf_engine_host *host, char *text,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct hf_leased_config leased = {
        .ttl_ms = config->ttl_ms,
        .clock_drift = config->clock_drift,
        .server_address = text,
        .reconnect = &config->reconnect,
        .renewal_piece_max = HF_REDIS_RENEWAL_PIECE_MAX,
    };
    struct hf_random random;
    struct hf_engine *made;
    struct hf_store *store;
    hf_status status = hf_leased_engine_random(&leased.random, error);

    if (status == HF_OK)
        status = hf_leased_engine_random(&random, error);
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < config->count; i++)
        hf_redis_warn_unlisted(&config->servers[i], host);
    describe(config, true, text, DESCRIPTION_BYTES);
    if ((made = hf_leased_engine_new(host, text, error)) == NULL)
        return error->status;
    describe(config, false, text, DESCRIPTION_BYTES);
    store = hf_redis_quorum_store_new(made, config, &random, error);
    status = store == NULL ? error->status
                           : hf_leased_engine_start(made, &leased,
                                                    &hf_redis_quorum_store_ops,
                                                    store, error);
    if (status != HF_OK)
        hf_leased_engine_free(made);
    else
        *engine = made;
    return status;
}

hf_status hf_redis_quorum_open(const struct hf_url *url,
                               const struct hf_engine_host *host,
                               struct hf_engine **engine,
                               struct hf_error *error)
{
    struct hf_redis_quorum_config *config = hf_alloc(sizeof *config);
    char *text = hf_alloc(DESCRIPTION_BYTES);
    struct hf_error own = {HF_OK, ""};
    hf_status status = HF_ENOMEM;

    if (config == NULL || text == NULL)
        (void)hf_error_set(&own, HF_ENOMEM, "no memory for an engine");
    else
        status = hf_redis_quorum_config_read(config, url, &own);
    if (status == HF_OK)
        status =
            hf_reconnect_choose(url, host->reconnect, &config->reconnect, &own);
    if (status == HF_OK)
        status = start(config, host, text, engine, &own);
    if (config != NULL)
        explicit_bzero(config, sizeof *config);
    hf_free(config);
    hf_free(text);
    if (status != HF_OK)
        (void)hf_error_set(error, own.status, "%s", own.text);
    return status;
}
