/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for an engine: gets the module from the host and makes a context. */
#ifndef HF_TRANSPORT_TLS_MODULE_H
#define HF_TRANSPORT_TLS_MODULE_H

#include "base/engine_host.h"
#include "base/url_options.h"
#include "transport/tls.h"

/* Make ${context} for the certificates and keys of ${files}, and set ${ops} to
 * the functions of the module, which also free the context.  Fails with
 * HF_EUNSUPPORTED if the host has no TLS or its module cannot be used; the text
 * names ${plain}, the scheme without TLS.  Or fails with HF_EURL, HF_EDENIED or
 * HF_ENOMEM. */
hf_status hf_tls_context_get(const struct hf_engine_host *host,
                             const struct hf_pem_files *files,
                             const char *plain, const struct hf_tls_ops **ops,
                             struct hf_tls_context **context,
                             struct hf_error *error);

#endif
