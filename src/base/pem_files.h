/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a URL names for TLS: ca=, cert= and key=. */
#ifndef HF_BASE_PEM_FILES_H
#define HF_BASE_PEM_FILES_H

#include <stddef.h>

#include "base/url_options.h"

#define HF_PEM_PATH_BYTES 1024

/* Absolute paths, or "". */
struct hf_pem_files {
    char ca[HF_PEM_PATH_BYTES];
    char cert[HF_PEM_PATH_BYTES];
    char key[HF_PEM_PATH_BYTES]; /* together with .cert, or neither */
};

/* The rows of ca=, cert= and key= in an engine's table: they come last, so that
 * a scheme without TLS leaves them out by their number.  ${type} is the
 * engine's configuration and ${files} its struct hf_pem_files. */
#define HF_PEM_OPTION_COUNT 3
#define HF_PEM_OPTIONS(type, files)                                            \
    {.key = "ca",                                                              \
     .read = hf_url_read_path,                                                 \
     .offset = offsetof(type, files.ca),                                       \
     .max = HF_PEM_PATH_BYTES - 1,                                             \
     .help = "a file with the certificates that are trusted"},                 \
        {.key = "cert",                                                        \
         .read = hf_url_read_path,                                             \
         .offset = offsetof(type, files.cert),                                 \
         .max = HF_PEM_PATH_BYTES - 1,                                         \
         .help = "a file with our certificate"},                               \
    {                                                                          \
        .key = "key", .read = hf_url_read_path,                                \
        .offset = offsetof(type, files.key), .max = HF_PEM_PATH_BYTES - 1,     \
        .help = "a file with the key of our certificate"                       \
    }

/* HF_EURL if ${files} has only one of .cert and .key.  Whether the files exist
 * is not checked. */
hf_status hf_pem_files_check(const struct hf_pem_files *files,
                             struct hf_error *error);

#endif
