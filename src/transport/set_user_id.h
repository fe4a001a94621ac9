/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a set-user-id program, where libraries that we link read
 * it.
 *
 * The caller of such a program wrote its environment.  Ours is read by
 * secure_getenv().  OpenSSL and Kerberos do the same, and the dynamic linker
 * removes the variables that libc reads.  libpq and libsasl2 do not care: with
 * PGHOSTADDR the caller has the program's password sent to a server of his own,
 * and with SASL_PATH he has his code loaded.  So we do as the dynamic linker
 * does with its list (sysdeps/generic/unsecvars.h of glibc), and remove theirs.
 */
#ifndef HF_TRANSPORT_SET_USER_ID_H
#define HF_TRANSPORT_SET_USER_ID_H

#include <stdbool.h>
#include <stddef.h>

/* Did the program get rights by its start that its caller does not have: by a
 * set-user-id or set-group-id bit, or by capabilities of its file? */
bool hf_set_user_id(void);

/* In such a program remove each variable whose name begins with ${prefix};
 * elsewhere do nothing.  To be called before each call of the library that
 * reads them, because the program may have set some since the last one. */
void hf_set_user_id_clear(const char *prefix);

/* Write to ${path}, of ${bytes}, the path of ${file} in the home directory of
 * the effective user, not in $HOME, which the caller of the program has set.  A
 * user without a home gets a directory that does not exist.  False if the path
 * is too long. */
bool hf_set_user_id_home(const char *file, char *path, size_t bytes);

#endif
