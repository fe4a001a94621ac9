/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls that open something of a client have in common: the client
 * remembers why they fail. */
#ifndef HF_HOST_OPEN_COMMON_H
#define HF_HOST_OPEN_COMMON_H

#include "host/client.h"
#include "host/opts_compat.h"

/* Remember at ${client} why ${call} failed to open, and return the status;
 * HF_EFORKED in a child. */
hf_status hf_client_fail_unlocked(struct hf_client *client, const char *call,
                                  struct hf_error *error);

/* hf_opts_copy(). */
hf_status hf_open_copy_opts(struct hf_client *client, const char *call,
                            const struct hf_opts_type *type, const void *given,
                            void *opts);

/* May ${text}, if it is not NULL, be that of a ticket?  HF_EINVAL if not. */
hf_status hf_open_check_text(struct hf_client *client, const char *call,
                             const char *text);

/* Memory for what is opened, zeroed; NULL is HF_ENOMEM, which the
 * client remembers. */
void *hf_open_alloc(struct hf_client *client, const char *call, size_t bytes);

#endif
