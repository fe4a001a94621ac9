/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URL of a client whose user names none, and URLs that a descriptor has.
 *
 * An engine is never chosen by accident, because two engines mean two holders.
 * So only a variable that is not there means "file:"; an empty one is a mistake
 * in a script or in a unit, and is refused.
 *
 * A run gives its command HOLDFAST_URL, so that the runs inside use the same
 * engine.  A password in it would be seen in /proc/PID/environ and in the
 * output of env(1).  So a URL with a password goes into a sealed memfd that the
 * command inherits, and the variable is a reference to it,
 *
 *   fd:NUMBER:DEVICE:INODE
 *
 * Device and inode are those of the memfd, because the number may since be that
 * of another file.  A program in between may have closed the descriptor, as
 * sudo(8) does; then the reference is refused.
 */
#ifndef HF_CLIENT_CLIENT_URL_H
#define HF_CLIENT_CLIENT_URL_H

#include <holdfast/status.h>

/* Room for a reference. */
#define HF_URL_REFERENCE_BYTES 64

/* Set ${url} to HOLDFAST_URL, or to NULL where there is no such variable.  A
 * set-user-id program ignores the environment, because its caller wrote that.
 *   Ownership  ${url} points into the environment.
 *   Fails      HF_EURL if the variable is empty. */
hf_status hf_client_url_of_environment(const char **url,
                                       struct hf_error *error);

/* Set ${url} to a copy of ${given}, or of what it refers to; it is to be freed
 * with hf_client_url_free().
 *   Fails     HF_EURL if the descriptor of a reference is not there any more,
 *             or is another one; HF_ENOMEM. */
hf_status hf_client_url_take(const char *given, char **url,
                             struct hf_error *error);

/* Overwrite ${url} and free it; NULL is fine. */
void hf_client_url_free(char *url);

/* Put ${url} into a new memfd, and write the reference to it.  Returns the
 * descriptor, which is close-on-exec until the caller changes that; or -1 with
 * errno.  Its number is high, because scripts use low ones. */
int hf_client_url_refer(const char *url,
                        char reference[HF_URL_REFERENCE_BYTES]);

#endif
