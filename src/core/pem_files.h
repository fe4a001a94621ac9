/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a URL names for TLS: ca=, cert= and key=. */
#ifndef HF_CORE_PEM_FILES_H
#define HF_CORE_PEM_FILES_H

#include "core/url.h"

#define HF_PEM_PATH_BYTES 1024

/* Absolute paths, or "". */
struct hf_pem_files {
    char ca[HF_PEM_PATH_BYTES];
    char cert[HF_PEM_PATH_BYTES];
    char key[HF_PEM_PATH_BYTES]; /* together with .cert, or neither */
};

/* Set ${files} to those of ${url}.  HF_EURL, with a text that names the
 * offending part.  Whether the files exist is not checked. */
hf_status hf_pem_files_parse(struct hf_pem_files *files,
                             const struct hf_url *url, struct hf_error *error);

#endif
