/* SPDX-License-Identifier: Apache-2.0 */
/* The functions by which the client uses the engine.  To open one: read the
 * URL, the environment and files; create what drives a session; then create the
 * engine with its session.  etcd_io/etcd_io.c drives the session, and requests
 * go to etcd_engine.h. */
#include "engines/etcd/etcd.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/url.h"
#include "engines/etcd/examine_members.h"
#include "etcd_io/etcd_io.h"
#include "etcd_io/etcd_prepare.h"

struct hf_engine {
    struct hf_engine_host host;
    struct hf_etcd_engine *etcd; /* NULL: not made yet, or freed */
    struct hf_etcd_io io;
    struct hf_etcd_examiner examiner;
    char *description;
};

static uint64_t now_ms(const struct hf_engine *engine)
{
    return engine->host.now_ms(engine->host.host);
}

/* -------------------------------------------------------- open and free -- */

/* Carry out all steps of opening, in their order.  On failure the caller frees
 * what was made. */
static hf_status prepare(struct hf_engine *engine, const struct hf_url *url,
                         struct hf_etcd_url_config *config,
                         struct hf_error *error)
{
    hf_status status = hf_etcd_url_parse(config, url, error);

    if (status == HF_OK)
        status = hf_etcd_prepare(config, url, &engine->host,
                                 &engine->description, error);
    if (status == HF_OK)
        status = hf_etcd_io_open(&engine->io, config, error);
    if (status != HF_OK)
        return status;
    engine->etcd = hf_etcd_engine_new(config, &engine->host, now_ms(engine));
    return engine->etcd != NULL
               ? HF_OK
               : hf_error_set(error, HF_ENOMEM, "no memory for an engine");
}

/* The output is about to be sent: begin the requests whose turn it is. */
static void flush(void *arg)
{
    struct hf_engine *engine = arg;

    hf_etcd_engine_flush(engine->etcd, now_ms(engine));
}

/* The handles are closed: free the memory. */
static void release_memory(void *arg)
{
    struct hf_engine *engine = arg;

    hf_free(engine->description);
    hf_free(engine);
}

/* Free what hf_etcd_open() has made, also after it has failed. */
void hf_etcd_free(struct hf_engine *engine)
{
    if (engine->etcd != NULL)
        hf_etcd_engine_free(engine->etcd);
    engine->etcd = NULL;
    hf_etcd_io_close(&engine->io);
}

/* The configuration contains the password.  It is wiped and freed once the
 * engine has its own copy. */
hf_status hf_etcd_open(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct hf_etcd_url_config *config;
    struct hf_engine *mine;
    hf_status status;

    *engine = NULL;
    /* A module has its own copy of base/memory.h.  The allocator of that copy
     * can be set only once, before anything was allocated.  For later engines
     * it is the same allocator, so failure does not matter. */
    if (host->allocator != NULL)
        (void)!hf_set_allocator(host->allocator);
    config = hf_alloc(sizeof *config);
    mine = hf_alloc(sizeof *mine);
    if (config == NULL || mine == NULL) {
        status = hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        goto free_memory;
    }
    mine->host = *host;
    hf_etcd_io_init(&mine->io, &mine->host,
                    &(struct hf_etcd_io_user){flush, release_memory, mine});
    status = prepare(mine, url, config, error);
    explicit_bzero(config, sizeof *config);
    hf_free(config);
    if (status != HF_OK) {
        hf_etcd_free(mine);
        return status;
    }
    *engine = mine;
    mine->examiner =
        (struct hf_etcd_examiner){&mine->host, mine->etcd, &mine->io, NULL};
    hf_etcd_io_start(&mine->io, hf_etcd_engine_session(mine->etcd));
    return HF_OK;
free_memory:
    hf_free(config);
    hf_free(mine);
    assert(status != HF_OK);
    return status;
}

/* ------------------------------------------------------------- functions -- */

/* The next three functions call hf_etcd_io_run_soon(), so that what was asked
 * for is sent when the loop next runs.  An EXAMINE does not need that, because
 * it has its own connections. */
void hf_etcd_request(struct hf_engine *engine, struct hf_request *request)
{
    if (request->kind == HF_REQUEST_EXAMINE) {
        hf_etcd_examine_members(&engine->examiner, request);
        return;
    }
    if (request->kind == HF_REQUEST_END) {
        hf_etcd_examiner_end(&engine->examiner);
        engine->io.ending = true;
    }
    hf_etcd_engine_submit(engine->etcd, request, now_ms(engine));
    hf_etcd_io_run_soon(&engine->io);
}

void hf_etcd_unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    hf_etcd_engine_unwatch(engine->etcd, watch);
    hf_etcd_io_run_soon(&engine->io);
}

/* Start connecting again after the engine gave up. */
void hf_etcd_connect(struct hf_engine *engine)
{
    hf_etcd_session_reconnect(hf_etcd_engine_session(engine->etcd),
                              now_ms(engine));
    hf_etcd_io_run_soon(&engine->io);
}

const char *hf_etcd_describe(const struct hf_engine *engine)
{
    return engine->description;
}

void hf_etcd_origin(const struct hf_engine *engine, struct hf_origin *origin)
{
    hf_etcd_session_origin(hf_etcd_engine_session(engine->etcd),
                           origin->session, origin->server);
}

/* In the child of a fork: close descriptors only. */
void hf_etcd_after_fork(struct hf_engine *engine)
{
    hf_etcd_io_after_fork(&engine->io);
    hf_etcd_examiner_after_fork(&engine->examiner);
}
