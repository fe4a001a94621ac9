/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all calls share that open a handle of a client: copying the options,
 * allocating the handle, and remembering at the client why the call failed.  A
 * call that fails to open has no handle to remember it at.
 *
 * All without the client's lock.
 */
#ifndef HF_HOST_OPEN_COMMON_H
#define HF_HOST_OPEN_COMMON_H

#include "client/client.h"
#include "operation/opts_compat.h"

/* hf_client_fail() for a caller without the lock.  HF_EFORKED in a child. */
hf_status hf_client_fail_unlocked(struct hf_client *client, const char *call,
                                  struct hf_error *error);

/* hf_opts_copy(); the client remembers a failure. */
hf_status hf_open_copy_opts(struct hf_client *client, const char *call,
                            const struct hf_opts_type *type, const void *given,
                            void *opts);

/* May ${text} be the text of a ticket?  HF_EINVAL if not; HF_OK if it is
 * NULL. */
hf_status hf_open_check_text(struct hf_client *client, const char *call,
                             const char *text);

/* Zeroed memory for a handle.  NULL means HF_ENOMEM, which the client
 * remembers. */
void *hf_open_alloc(struct hf_client *client, const char *call, size_t bytes);

#endif
