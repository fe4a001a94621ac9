/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an engine: read the URL, the environment and files, create what
 * drives a session, and then the machine with the session. */
#include "engines/zookeeper/zk_open.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "zookeeper_io/zk_prepare.h"

/* Create the engine without I/O. */
static hf_status start_machine(struct hf_engine *engine,
                               const struct hf_zk_config *config,
                               struct hf_error *error)
{
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
        status = hf_zk_prepare(&config->url, url, &engine->host,
                               &engine->description, error);
    if (status == HF_OK)
        status = hf_zk_io_open(&engine->io, &config->url, error);
    if (status == HF_OK)
        status = start_machine(engine, config, error);
    return status;
}

/* The I/O has closed its handles. */
static void release(void *arg)
{
    struct hf_engine *engine = arg;

    hf_free(engine->description);
    hf_free(engine);
}

/* The configuration, which has the password, is wiped and freed once the
 * engine has its copy. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error)
{
    struct hf_zk_config *config = hf_alloc(sizeof(*config));
    struct hf_engine *mine = hf_alloc(sizeof(*mine));
    const struct hf_zk_io_user user = {release, mine};
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
        hf_engine_free(mine);
        return status;
    }
    *engine = mine;
    hf_zk_io_start(&mine->io, hf_zk_session(mine->zk));
    return HF_OK;
free_memory:
    hf_free(config);
    hf_free(mine);
    assert(status != HF_OK);
    return status;
}

/* Frees whatever hf_engine_open() had made. */
void hf_engine_free(struct hf_engine *engine)
{
    if (engine->zk != NULL)
        hf_zk_free(engine->zk);
    engine->zk = NULL;
    hf_zk_io_close(&engine->io);
}
