/* SPDX-License-Identifier: Apache-2.0 */
/* The host loads the module, see .tls of struct hf_engine_host. */
#include "transport/tls_module.h"

#include "base/error.h"
#include "base/memory.h"

hf_status hf_tls_context_get(const struct hf_engine_host *host,
                             const struct hf_pem_files *files,
                             const char *plain, const struct hf_tls_ops **ops,
                             struct hf_tls_context **context,
                             struct hf_error *error)
{
    static const struct hf_tls_memory memory = {hf_alloc, hf_free};
    struct hf_tls_files paths = {files->ca, files->cert, files->key};
    hf_status status;

    if (host->tls == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "there is no TLS where this engine is used; "
                            "expected %s:",
                            plain);
    status = host->tls(host->host, ops, error);
    if (status == HF_OK)
        status = (*ops)->context_new(&memory, &paths, context, error);
    return status;
}
