/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls that open something of a client have in common: the client
 * remembers why they fail. */
#ifndef HF_HOST_OPENING_H
#define HF_HOST_OPENING_H

#include "host/client.h"
#include "host/opts.h"

/* Remember at ${client} why ${call} failed to open, and return the status;
 * HF_EFORKED in a child. */
hf_status hf_opening_fail(struct hf_client *client, const char *call,
                          struct hf_error *error);

/* hf_opts_take(). */
hf_status hf_opening_opts(struct hf_client *client, const char *call,
                          const struct hf_opts_type *type, const void *given,
                          void *opts);

/* May ${text}, if it is not NULL, be that of a ticket?  HF_EINVAL if not. */
hf_status hf_opening_check_text(struct hf_client *client, const char *call,
                                const char *text);

/* Memory for what is opened, zeroed; NULL is HF_ENOMEM, which the
 * client remembers. */
void *hf_opening_alloc(struct hf_client *client, const char *call,
                       size_t bytes);

#endif
