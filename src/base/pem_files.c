/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pem_files.h"

#include "base/error.h"

hf_status hf_pem_files_check(const struct hf_pem_files *files,
                             struct hf_error *error)
{
    if ((files->cert[0] == '\0') == (files->key[0] == '\0'))
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the URL has only one of cert= and key=; expected "
                        "both, or neither");
}
