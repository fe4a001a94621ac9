/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for an engine: the module that its host loads, and a context there. */
#ifndef HF_TRANSPORT_TLS_CONTEXT_H
#define HF_TRANSPORT_TLS_CONTEXT_H

#include "core/engine.h"
#include "core/pem_files.h"
#include "transport/tls.h"

/* A ${context} with ${files}, to be freed by ${ops}.  HF_EUNSUPPORTED, naming
 * ${plain}, the scheme to be used instead, where there is no TLS; HF_EURL,
 * HF_ENOMEM. */
hf_status hf_tls_context_get(const struct hf_engine_host *host,
                             const struct hf_pem_files *files,
                             const char *plain, const struct hf_tls_ops **ops,
                             struct hf_tls_context **context,
                             struct hf_error *error);

#endif
