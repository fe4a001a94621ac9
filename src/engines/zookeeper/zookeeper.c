/* SPDX-License-Identifier: Apache-2.0 */
/* The function table by which the client uses the engine.  zk_open.c opens it,
 * zookeeper_io/zk_io.c drives it, and requests go to zk_machine.h. */
#include "engines/zookeeper/zookeeper.h"

#include "engines/zookeeper/examine_servers.h"
#include "engines/zookeeper/zk_open.h"

/* Each of these runs the engine loop once afterwards, to send what was
 * written. */
static void submit(struct hf_engine *engine, struct hf_request *request)
{
    if (request->kind == HF_REQUEST_EXAMINE) {
        hf_zk_engine_examine(engine, request);
        return;
    }
    if (request->kind == HF_REQUEST_END) {
        engine->io.ending = true;
        hf_zk_engine_end_examinations(engine);
    }
    hf_zk_submit(engine->zk, request, engine->host.now_ms(engine->host.host));
    hf_zk_io_run_soon(&engine->io);
}

static void forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_zk_forget(engine->zk, watch);
    hf_zk_io_run_soon(&engine->io);
}

/* Start connecting again after the engine gave up. */
static void reconnect(struct hf_engine *engine)
{
    hf_zk_session_reconnect(hf_zk_session(engine->zk),
                            engine->host.now_ms(engine->host.host));
    hf_zk_io_run_soon(&engine->io);
}

static const char *describe(const struct hf_engine *engine)
{
    return engine->description;
}

static void get_origin(const struct hf_engine *engine, struct hf_origin *origin)
{
    hf_zk_session_origin(hf_zk_session(engine->zk), origin->session,
                         origin->server);
}

/* For a handle of the ZooKeeper client on the session of the locks. */
static void get_session(struct hf_engine *engine,
                        struct hf_engine_session *session)
{
    session->session = hf_zk_session(engine->zk);
    session->io = &engine->io;
    session->config = hf_zk_url_of(engine->zk);
}

static const char *ticket_path(struct hf_engine *engine,
                               const struct hf_ticket_id *ticket)
{
    return hf_zk_ticket_path(engine->zk, ticket);
}

/* In the child of a fork: close descriptors only. */
static void after_fork(struct hf_engine *engine)
{
    hf_zk_engine_examinations_after_fork(engine);
    hf_zk_io_after_fork(&engine->io);
}

/* There is no .hold, because a session lives by what its client sends, and no
 * descriptor can do that. */
#define OPS(name)                                                              \
    {                                                                          \
        .abi = HF_ENGINE_ABI, .scheme = name, .traits = HF_ZK_TRAITS,          \
        .open = hf_engine_open, .request = submit, .unwatch = forget,          \
        .connect = reconnect, .describe = describe, .origin = get_origin,      \
        .session = get_session, .ticket_path = ticket_path,                    \
        .after_fork = after_fork, .free = hf_engine_free,                      \
    }

const struct hf_engine_ops hf_engine_zookeeper = OPS("zk");
const struct hf_engine_ops hf_engine_zookeeper_tls = OPS("zks");
