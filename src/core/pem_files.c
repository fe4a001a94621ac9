/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pem_files.h"

#include <string.h>

#include "core/error.h"
#include "core/quote.h"

/* Set ${path} to the option ${key}, or to "" without it. */
static hf_status take_path(char path[HF_PEM_PATH_BYTES],
                           const struct hf_url *url, const char *key,
                           struct hf_error *error)
{
    const char *text = hf_url_option(url, key);

    path[0] = '\0';
    if (text == NULL)
        return HF_OK;
    if (text[0] != '/' || strlen(text) >= HF_PEM_PATH_BYTES)
        return hf_error_set(error, HF_EURL,
                            "%s=%s is not the path of a file; expected an "
                            "absolute one of at most %d bytes",
                            key, hf_quote(text, strlen(text)).text,
                            HF_PEM_PATH_BYTES - 1);
    memcpy(path, text, strlen(text) + 1);
    return HF_OK;
}

hf_status hf_pem_files_parse(struct hf_pem_files *files,
                             const struct hf_url *url, struct hf_error *error)
{
    hf_status status = take_path(files->ca, url, "ca", error);

    if (status == HF_OK)
        status = take_path(files->cert, url, "cert", error);
    if (status == HF_OK)
        status = take_path(files->key, url, "key", error);
    if (status == HF_OK && (files->cert[0] == '\0') != (files->key[0] == '\0'))
        status = hf_error_set(error, HF_EURL,
                              "the URL has only one of cert= and key=; "
                              "expected both, or neither");
    return status;
}
