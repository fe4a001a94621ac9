/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps that all calls share that open a handle of a client.  They run
 * without the client's lock and take it only to remember a failure.
 */
#include "client/open_common.h"

#include "base/error.h"
#include "base/memory.h"
#include "client/owner_text.h"

/* In a child of a fork nothing is remembered. */
hf_status hf_client_fail_unlocked(struct hf_client *client, const char *call,
                                  struct hf_error *error)
{
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status != HF_OK)
        return status;
    status = hf_client_fail(client, call, error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_open_copy_opts(struct hf_client *client, const char *call,
                            const struct hf_opts_type *type, const void *given,
                            void *opts)
{
    struct hf_error error;

    if (hf_opts_copy(type, given, opts, &error) == HF_OK)
        return HF_OK;
    return hf_client_fail_unlocked(client, call, &error);
}

hf_status hf_open_check_text(struct hf_client *client, const char *call,
                             const char *text)
{
    struct hf_error error;

    if (text == NULL || hf_owner_text_check(text, &error) == HF_OK)
        return HF_OK;
    return hf_client_fail_unlocked(client, call, &error);
}

/* Zeroed, so that a handle begins in its first state. */
void *hf_open_alloc(struct hf_client *client, const char *call, size_t bytes)
{
    void *memory = hf_alloc(bytes);
    struct hf_error error;

    if (memory != NULL)
        return memory;
    hf_error_set(&error, HF_ENOMEM, "out of memory");
    (void)hf_client_fail_unlocked(client, call, &error);
    return NULL;
}
