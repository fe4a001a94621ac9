/* SPDX-License-Identifier: Apache-2.0 */
/* The function table by which the client uses the engine.  Opening an engine
 * reads the URL, the environment and files; then it creates the I/O that drives
 * a session (zookeeper_io/zk_io.c), and the engine with its session.  Requests
 * are passed to zk_engine.h. */
#include "engines/zookeeper/zookeeper.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/zookeeper/examine_servers.h"
#include "zookeeper_io/zk_prepare.h"

/* -------------------------------------------------------- open and free -- */

/* All steps of opening, in order.  On failure the caller frees what was made.
 */
static hf_status prepare(struct hf_engine *engine, const struct hf_url *url,
                         struct hf_zk_engine_config *config,
                         struct hf_error *error)
{
    hf_status status = hf_zk_engine_config_parse(config, url, error);

    if (status == HF_OK)
        status = hf_zk_prepare(&config->url, url, &engine->host,
                               &engine->description, error);
    if (status == HF_OK)
        status = hf_zk_io_open(&engine->io, &config->url, error);
    if (status != HF_OK)
        return status;
    engine->zk = hf_zk_engine_new(config, &engine->host,
                                  engine->host.now_ms(engine->host.host));
    return engine->zk != NULL
               ? HF_OK
               : hf_error_set(error, HF_ENOMEM, "no memory for an engine");
}

/* The I/O has closed its handles. */
static void release_memory(void *arg)
{
    struct hf_engine *engine = arg;

    hf_free(engine->description);
    hf_free(engine);
}

/* Frees whatever open_engine() had made. */
static void free_engine(struct hf_engine *engine)
{
    if (engine->zk != NULL)
        hf_zk_engine_free(engine->zk);
    engine->zk = NULL;
    hf_zk_io_close(&engine->io);
}

/* The configuration, which has the password, is wiped and freed once the
 * engine has its copy. */
static hf_status open_engine(const struct hf_url *url,
                             const struct hf_engine_host *host,
                             struct hf_engine **engine, struct hf_error *error)
{
    struct hf_zk_engine_config *config = hf_alloc(sizeof(*config));
    struct hf_engine *mine = hf_alloc(sizeof(*mine));
    const struct hf_zk_io_user user = {release_memory, mine};
    hf_status status;

    *engine = NULL;
    if (config == NULL || mine == NULL) {
        status = hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        goto free_memory;
    }
    mine->host = *host;
    hf_zk_io_init(&mine->io, &mine->host, &user);
    status = prepare(mine, url, config, error);
    explicit_bzero(config, sizeof(*config));
    hf_free(config);
    if (status != HF_OK) {
        free_engine(mine);
        return status;
    }
    *engine = mine;
    hf_zk_io_start(&mine->io, hf_zk_engine_session(mine->zk));
    return HF_OK;
free_memory:
    hf_free(config);
    hf_free(mine);
    assert(status != HF_OK);
    return status;
}

/* ------------------------------------------------------------- functions -- */

/* Functions that may write to the session call hf_zk_io_run_soon(), so that
 * what was written is sent when the loop next runs. */
static void handle_request(struct hf_engine *engine, struct hf_request *request)
{
    if (request->kind == HF_REQUEST_EXAMINE) {
        hf_zk_engine_examine_servers(engine, request);
        return;
    }
    if (request->kind == HF_REQUEST_END) {
        engine->io.ending = true;
        hf_zk_engine_end_server_examinations(engine);
    }
    hf_zk_engine_submit(engine->zk, request,
                        engine->host.now_ms(engine->host.host));
    hf_zk_io_run_soon(&engine->io);
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    hf_zk_engine_forget(engine->zk, watch);
    hf_zk_io_run_soon(&engine->io);
}

/* Start connecting again after the engine gave up. */
static void connect_again(struct hf_engine *engine)
{
    hf_zk_session_reconnect(hf_zk_engine_session(engine->zk),
                            engine->host.now_ms(engine->host.host));
    hf_zk_io_run_soon(&engine->io);
}

static const char *describe(const struct hf_engine *engine)
{
    return engine->description;
}

static void get_origin(const struct hf_engine *engine, struct hf_origin *origin)
{
    hf_zk_session_origin(hf_zk_engine_session(engine->zk), origin->session,
                         origin->server);
}

/* Give the session of the locks to a handle of the ZooKeeper client, which then
 * shares it. */
static void get_session(struct hf_engine *engine,
                        struct hf_engine_session *session)
{
    session->session = hf_zk_engine_session(engine->zk);
    session->io = &engine->io;
    session->config = hf_zk_engine_url(engine->zk);
}

static const char *ticket_path(struct hf_engine *engine,
                               const struct hf_ticket_id *ticket)
{
    return hf_zk_engine_ticket_path(engine->zk, ticket);
}

/* In the child of a fork: close descriptors only. */
static void after_fork(struct hf_engine *engine)
{
    hf_zk_engine_server_examinations_after_fork(engine);
    hf_zk_io_after_fork(&engine->io);
}

/* There is no .hold: a session lives only while its client sends something, and
 * keeping a descriptor open does not do that. */
#define OPS(name)                                                              \
    {                                                                          \
        .abi = HF_ENGINE_ABI, .scheme = name, .traits = HF_ZK_TRAITS,          \
        .open = open_engine, .request = handle_request, .unwatch = unwatch,    \
        .connect = connect_again, .describe = describe, .origin = get_origin,  \
        .session = get_session, .ticket_path = ticket_path,                    \
        .after_fork = after_fork, .free = free_engine,                         \
    }

const struct hf_engine_ops hf_engine_zookeeper = OPS("zk");
const struct hf_engine_ops hf_engine_zookeeper_tls = OPS("zks");
