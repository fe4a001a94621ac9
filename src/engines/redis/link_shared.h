/* SPDX-License-Identifier: Apache-2.0 */
/* What the links of one store have in common. */
#ifndef HF_ENGINES_REDIS_LINK_SHARED_H
#define HF_ENGINES_REDIS_LINK_SHARED_H

#include "engines/leased/leased_engine.h"
#include "engines/redis/config.h"
#include "transport/resolver.h"
#include "transport/tls.h"

struct hf_redis_link_shared {
    struct hf_engine *engine;
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: none */
    struct hf_tls_context *context;
    bool warned_info_denied; /* that we may not see how a server is set up */
    bool warned_not_durable; /* that one forgets; or that is provided for */
};

/* For ${engine}, with what ${config} has on TLS.  On failure there is nothing
 * to end. */
hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

/* When every link has been freed.  Also of one that is all zero. */
void hf_redis_link_shared_free(struct hf_redis_link_shared *shared);

#endif
