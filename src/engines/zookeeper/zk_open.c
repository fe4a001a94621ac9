/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an engine: read the URL, the environment and files, then create the
 * session machine, the loop handles and the resolver. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/errno_text.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/reconnect_policy.h"
#include "engines/zookeeper/engine_io.h"
#include "transport/auth_file.h"
#include "transport/tls_context.h"

/* Take the credentials from the file that the URL or the environment names.
 * ${elsewhere}: it has lines for other servers only. */
static hf_status read_auth_file(struct hf_zk_config *config,
                                const struct hf_url *url,
                                bool *for_other_servers, struct hf_error *error)
{
    const struct hf_auth_wanted wanted = {
        url, "digest", config->url.session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT};
    struct hf_auth auth;
    hf_status status = hf_auth_find(&wanted, &auth, error);

    *for_other_servers = auth.for_other_servers;
    if (status == HF_OK && auth.password[0] != '\0' &&
        !hf_zk_url_authenticate(&config->url, auth.user, auth.password))
        status = hf_error_set(error, HF_EURL,
                              "the file of credentials %s has a line without "
                              "a user, or with a ':' in it, or that is too "
                              "long; expected a USER and a PASSWORD of at most "
                              "%zu bytes together",
                              auth.path, sizeof config->url.session.auth - 2);
    explicit_bzero(&auth, sizeof auth);
    return status;
}

/* Find the credentials and derive from them who may use created nodes. */
static hf_status get_credentials(struct hf_zk_config *config,
                                 const struct hf_url *url,
                                 const struct hf_engine_host *host,
                                 struct hf_error *error)
{
    bool for_other_servers = false;
    hf_status status = read_auth_file(config, url, &for_other_servers, error);

    if (status != HF_OK)
        return status;
    if (hf_url_option(url, "acl") == NULL)
        config->url.session.private_nodes = config->url.session.auth[0] != '\0';
    if (config->url.session.private_nodes &&
        config->url.session.auth[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "acl=creator makes nodes for whoever has the "
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

/* Seed the random numbers of the session. */
static hf_status get_random(struct hf_zk_config *config, struct hf_error *error)
{
    uint64_t *s = config->url.session.random.s;

    if (getrandom(s, sizeof(config->url.session.random.s), 0) !=
        (ssize_t)sizeof(config->url.session.random.s))
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* Make the engine's description: the URL without credentials and options. */
static hf_status describe_servers(struct hf_engine *engine,
                                  const struct hf_zk_config *config,
                                  struct hf_error *error)
{
    size_t room = sizeof("zks://") + strlen(config->url.chroot) +
                  config->url.session.server_count * (HF_ZK_HOST_BYTES + 10);
    const struct hf_zk_server *server = config->url.session.servers;
    bool colons;
    size_t at;

    engine->description = hf_alloc(room);
    if (engine->description == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    at = (size_t)snprintf(engine->description, room, "%s://",
                          config->url.session.tls ? "zks" : "zk");
    for (size_t i = 0; i < config->url.session.server_count; i++, server++) {
        colons = strchr(server->host, ':') != NULL;
        at +=
            (size_t)snprintf(engine->description + at, room - at, "%s%s%s%s:%u",
                             i > 0 ? "," : "", colons ? "[" : "", server->host,
                             colons ? "]" : "", (unsigned)server->port);
    }
    at += (size_t)snprintf(engine->description + at, room - at, "%s",
                           config->url.chroot);
    assert(at < room);
    return HF_OK;
}

/* Create what needs the loop. */
static hf_status start_io(struct hf_engine *engine, struct hf_error *error)
{
    const struct hf_resolver_log log = {engine->host.log, engine->host.host};
    hf_status status;

    if ((engine->loop = engine->host.loop(engine->host.host)) == NULL)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptors for a loop; raise the limit on "
                            "open files");
    if ((status = hf_engine_loop_open(&engine->engine_loop, engine->loop,
                                      error)) != HF_OK)
        return status;
    if ((engine->resolver = hf_resolver_new(engine->loop, &log)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
    return HF_OK;
}

/* Create the engine without I/O. */
static hf_status start_machine(struct hf_engine *engine,
                               struct hf_zk_config *config,
                               struct hf_error *error)
{
    hf_zk_url_shuffle(&config->url);
    engine->zk = hf_zk_new(config, &engine->host,
                           engine->host.now_ms(engine->host.host));
    if (engine->zk == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    return HF_OK;
}

/* All steps of opening, in order.  On failure the caller frees what was made.
 */
static hf_status prepare(struct hf_engine *engine, const struct hf_url *url,
                         struct hf_zk_config *config, struct hf_error *error)
{
    hf_status status = hf_zk_config_parse(config, url, error);

    if (status == HF_OK)
        status = hf_reconnect_choose(url, engine->host.reconnect,
                                     &config->url.session.reconnect, error);
    if (status == HF_OK)
        status = get_credentials(config, url, &engine->host, error);
    if (status == HF_OK)
        status = get_random(config, error);
    if (status == HF_OK)
        status = describe_servers(engine, config, error);
    if (status == HF_OK && config->url.session.tls)
        status = hf_tls_context_get(&engine->host, &config->url.files, "zk",
                                    &engine->tls, &engine->context, error);
    if (status == HF_OK)
        status = start_io(engine, error);
    if (status == HF_OK)
        status = start_machine(engine, config, error);
    return status;
}

/* The configuration, which has the password, is wiped and freed once the
 * engine has its copy. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error)
{
    struct hf_zk_config *config = hf_alloc(sizeof(*config));
    struct hf_engine *mine = hf_alloc(sizeof(*mine));
    hf_status status;

    *engine = NULL;
    if (config == NULL || mine == NULL) {
        status = hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        goto free_memory;
    }
    hf_engine_init(mine, host);
    status = prepare(mine, url, config, error);
    explicit_bzero(config, sizeof(*config));
    hf_free(config);
    if (status != HF_OK) {
        hf_engine_free(mine);
        return status;
    }
    *engine = mine;
    hf_engine_loop_start(&mine->engine_loop);
    return HF_OK;
free_memory:
    hf_free(config);
    hf_free(mine);
    assert(status != HF_OK);
    return status;
}
