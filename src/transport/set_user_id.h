/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables of a set-user-id program that libraries read which
 * we link.
 *
 * The caller of such a program has written its environment.  Our own code reads
 * it by secure_getenv(), which ignores it in such a program.  OpenSSL and
 * Kerberos do the same, and the dynamic linker removes the variables that libc
 * reads.  libpq and libsasl2 do neither: by PGHOSTADDR the caller has the
 * program's password sent to a server of his own, and by SASL_PATH he has his
 * code loaded.  So we remove the variables of these libraries, as the dynamic
 * linker does with its list (sysdeps/generic/unsecvars.h of glibc).
 */
#ifndef HF_TRANSPORT_SET_USER_ID_H
#define HF_TRANSPORT_SET_USER_ID_H

#include <stdbool.h>
#include <stddef.h>

/* Did the program get rights by its start that its caller does not have: by a
 * set-user-id or set-group-id bit, or by capabilities of its file? */
bool hf_set_user_id(void);

/* In a set-user-id program remove each variable whose name begins with
 * ${prefix}; in other programs do nothing.  Call this before each call of the
 * library that reads the variables, because the program may have set some since
 * the last call. */
void hf_set_user_id_clear(const char *prefix);

/* Write the path of ${file} in the home directory of the effective user to
 * ${path}, which has ${bytes}.  $HOME is not used, because the caller of the
 * program has set it.  A user without a home gets a directory that does not
 * exist.  Returns false if the path is too long. */
bool hf_set_user_id_home(const char *file, char *path, size_t bytes);

#endif
