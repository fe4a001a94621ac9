/* SPDX-License-Identifier: Apache-2.0 */
/* What all links of one store share: the engine, name lookups, TLS, and which
 * warnings were logged already. */
#ifndef HF_ENGINES_REDIS_LINK_SHARED_H
#define HF_ENGINES_REDIS_LINK_SHARED_H

#include "engines/leased/leased_engine.h"
#include "engines/redis/config.h"
#include "transport/resolver.h"
#include "transport/tls.h"

struct hf_redis_link_shared {
    struct hf_engine *engine;
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    /* NULL without TLS; freed here. */
    struct hf_tls_context *context;
    bool warned_info_denied; /* that we may not read INFO */
    /* that a server loses tickets in a restart; set at once if that is
     * handled */
    bool warned_not_durable;
};

/* Fill in ${shared} for ${engine}; ${config} has the TLS files.  On failure
 * there is nothing to free. */
hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

/* Call it when every link was freed.  A struct of zeros is allowed. */
void hf_redis_link_shared_free(struct hf_redis_link_shared *shared);

#endif
