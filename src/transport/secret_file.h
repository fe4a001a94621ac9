/* SPDX-License-Identifier: Apache-2.0 */
/* A file that has a secret in it, and that nobody else can read or write. */
#ifndef HF_TRANSPORT_SECRET_FILE_H
#define HF_TRANSPORT_SECRET_FILE_H

#include <stddef.h>

#include <holdfast/holdfast.h>

#define HF_SECRET_FILE_BYTES 16384

/* What error texts say. */
struct hf_secret_kind {
    const char *name;     /* in front of the path */
    const char *expected; /* what is expected at the path */
    const char *named_by; /* what names the path */
};

/* Open ${path} to read it.  It is checked once it is open: a plain file, of our
 * user with mode 0600 or less, or of root with mode 0640 or less.  Root gives
 * its files to the group that shall read them: Kubernetes and systemd do so
 * with secrets, Debian with the keys of its group ssl-cert, and libpq has the
 * same rule.  HF_EDENIED where that is not so, or rights are missing; else
 * HF_EURL. */
hf_status hf_secret_file_open(const char *path,
                              const struct hf_secret_kind *kind, int *fd,
                              struct hf_error *error);

/* Read all of ${path}, a file of credentials, to ${text}, ${bytes} and a NUL.
 * The caller wipes ${text}, in either case. */
hf_status hf_secret_file_read(const char *path, char text[HF_SECRET_FILE_BYTES],
                              size_t *bytes, struct hf_error *error);

#endif
