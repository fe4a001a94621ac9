/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for an engine: gets the module from the host, and makes a context. */
#ifndef HF_TRANSPORT_TLS_MODULE_H
#define HF_TRANSPORT_TLS_MODULE_H

#include "base/engine_host.h"
#include "base/url_options.h"
#include "transport/tls.h"

/* Make a ${context} for the certificates and keys of ${files}; free it with
 * ${ops}.  HF_EUNSUPPORTED if the host has no TLS, with a text that names
 * ${plain}, the scheme without TLS, or if its module cannot be used; HF_EURL,
 * HF_EDENIED, HF_ENOMEM. */
hf_status hf_tls_context_get(const struct hf_engine_host *host,
                             const struct hf_pem_files *files,
                             const char *plain, const struct hf_tls_ops **ops,
                             struct hf_tls_context **context,
                             struct hf_error *error);

#endif
