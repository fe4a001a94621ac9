/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file that contains a secret, a password or a private key.  Other
 * users may neither read nor write it. */
#ifndef HF_TRANSPORT_SECRET_FILE_H
#define HF_TRANSPORT_SECRET_FILE_H

#include <stddef.h>

#include <holdfast/status.h>

#define HF_SECRET_FILE_BYTES 16384

/* What error texts call the file. */
struct hf_secret_kind {
    const char *name;     /* text before the path */
    const char *expected; /* what the file at the path should be */
    const char *named_by; /* the option or variable that names the path */
};

/* Open ${path} for reading and set ${fd}.  The path must be a plain file, owned
 * either by the user with mode 0600 or less, or by root with mode 0640 or less.
 * Root gives such files to the group that may read them: Kubernetes and systemd
 * do so with secrets, and Debian with the keys of its group ssl-cert.  libpq
 * has the same rule.  Fails with HF_EDENIED if the file has another owner or
 * mode, or if permission is missing; otherwise with HF_EURL. */
hf_status hf_secret_file_open(const char *path,
                              const struct hf_secret_kind *kind, int *fd,
                              struct hf_error *error);

/* Read all of ${path}, a file of credentials, into ${text}, which is terminated
 * with a NUL, and set ${bytes} to its length.  The caller wipes ${text}, also
 * after a failure. */
hf_status hf_secret_file_read(const char *path, char text[HF_SECRET_FILE_BYTES],
                              size_t *bytes, struct hf_error *error);

#endif
