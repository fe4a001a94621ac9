/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the user on a walk over names. */
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/names.h"
#include "core/lock_name.h"

/* Make a walk for the canonical ${prefix}.  With the lock; NULL: out of
 * memory. */
static struct hf_names *make_names(struct hf_client *client, const char *prefix,
                                   const struct hf_names_opts *opts)
{
    size_t bytes = strlen(prefix) + 1;
    struct hf_names *names = hf_alloc(sizeof *names + bytes);

    if (names == NULL)
        return NULL;
    names->client = client;
    hf_user_op_init(&names->user_op, &hf_names_op_ops, &client->monitor, 1);
    names->all = opts->all;
    memcpy(names->prefix, prefix, bytes);
    hf_monitor_reference(&client->monitor);
    return names;
}

/* "" and "/" are all names. */
static hf_status check_prefix(const char **prefix, struct hf_error *error)
{
    if (strcmp(*prefix, "") == 0 || strcmp(*prefix, "/") == 0) {
        *prefix = "";
        return HF_OK;
    }
    return hf_lock_name_check(*prefix, prefix, error);
}

hf_status hf_names_open(struct hf_client *client, const char *prefix,
                        const struct hf_names_opts *opts,
                        struct hf_names **names)
{
    static const char api_name[] = "hf_names_open";
    struct hf_names_opts copy;
    struct hf_error error;
    hf_status status;

    *names = NULL;
    status =
        hf_open_copy_opts(client, api_name, &hf_names_opts_type, opts, &copy);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor, api_name);
    if (status != HF_OK)
        return status;
    if (client->monitor.state != HF_MONITOR_OPEN)
        status = hf_monitor_explain_closed(&client->monitor, "client", &error);
    else
        status = check_prefix(&prefix, &error);
    if (status == HF_OK && (*names = make_names(client, prefix, &copy)) == NULL)
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* A call of the user for the next page. */
struct page_call {
    struct hf_user_call call;
    struct hf_names *names;
    uint64_t wait_ms;
};

static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    const struct page_call *page_call =
        container_of(call, struct page_call, call);
    struct hf_names *names = page_call->names;

    if (completion->waiter == NULL &&
        hf_done_check(&completion->done, "names", error) != HF_OK)
        return NULL;
    if (hf_names_begin(names, page_call->wait_ms, completion, error) != HF_OK)
        return NULL;
    return &names->user_op;
}

static struct page_call make_call(struct hf_names *names, const char *api_name,
                                  uint64_t wait_ms)
{
    return (struct page_call){
        .call = {.api_name = api_name,
                 .monitor = &names->client->monitor,
                 .begin = begin_call},
        .names = names,
        .wait_ms = wait_ms,
    };
}

hf_status hf_names_next(struct hf_names *names, uint64_t wait_ms,
                        struct hf_names_page **page)
{
    struct page_call call = make_call(names, "hf_names_next", wait_ms);
    struct hf_result result;
    hf_status status = hf_user_op_run(&call.call, &result);

    *page = result.names;
    return status;
}

hf_status hf_names_next_start(struct hf_names *names, uint64_t wait_ms,
                              struct hf_done done)
{
    struct page_call call = make_call(names, "hf_names_next_start", wait_ms);

    return hf_user_op_start(&call.call, done, NULL);
}

void hf_names_free(struct hf_names *names)
{
    struct hf_monitor *monitor;

    if (names == NULL || hf_fork_is_child(&names->client->monitor.fork))
        return;
    monitor = &names->client->monitor;
    hf_monitor_lock(monitor);
    /* Keep the client until its lock is released, because the walk may be the
     * last that refers to it. */
    hf_monitor_reference(monitor);
    hf_user_op_dereference(&names->user_op);
    hf_monitor_unlock(monitor);
    hf_monitor_release(monitor);
}
