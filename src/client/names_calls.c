/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the user on a walk over names. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/client.h"
#include "client/names.h"
#include "core/lock_name.h"
#include "operation/done.h"

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
    names->references = 1;
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
    static const char call[] = "hf_names_open";
    struct hf_names_opts copy;
    struct hf_error error;
    hf_status status;

    *names = NULL;
    status = hf_open_copy_opts(client, call, &hf_names_opts_type, opts, &copy);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor);
    if (status != HF_OK)
        return status;
    if (client->monitor.closing)
        status = hf_monitor_explain_closed(&client->monitor, "client", &error);
    else
        status = check_prefix(&prefix, &error);
    if (status == HF_OK && (*names = make_names(client, prefix, &copy)) == NULL)
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        (void)hf_client_fail(client, call, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* Remember ${error} as that of ${call}. */
static void remember(struct hf_names *names, const char *call,
                     const struct hf_error *error)
{
    hf_last_error_set(&names->client->error_texts, &names->last_error, call,
                      error);
}

/* Wait for the page.  With the lock. */
static hf_status await_page(struct hf_names *names, struct hf_waiter *waiter,
                            struct hf_names_page **page, struct hf_error *error)
{
    hf_status status = hf_monitor_wait(&names->client->monitor, waiter, error);

    if (!waiter->done) {
        hf_names_abandon(names); /* its end drops the reference */
        return status;
    }
    *error = names->outcome;
    *page = hf_names_take(names);
    hf_names_dereference(names);
    return status;
}

hf_status hf_names_next(struct hf_names *names, uint64_t wait_ms,
                        struct hf_names_page **page)
{
    static const struct hf_done no_done;
    static const char call[] = "hf_names_next";
    struct hf_client *client = names->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error = {.status = HF_OK};
    hf_status may_block = hf_monitor_may_block(&client->monitor, &error);
    hf_status status;

    *page = NULL;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    status = may_block;
    if (status == HF_OK)
        status = hf_names_begin(names, wait_ms, &waiter, no_done, &error);
    if (status == HF_OK)
        status = await_page(names, &waiter, page, &error);
    if (status != HF_OK)
        remember(names, call, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_names_next_start(struct hf_names *names, uint64_t wait_ms,
                              struct hf_done done)
{
    static const char call[] = "hf_names_next_start";
    struct hf_client *client = names->client;
    struct hf_error error = {.status = HF_OK};
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status != HF_OK)
        goto drop;
    status = hf_done_check(&done, "names", &error);
    if (status == HF_OK)
        status = hf_names_begin(names, wait_ms, NULL, done, &error);
    if (status != HF_OK)
        remember(names, call, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    hf_done_drop(&done);
    return status;
}

/* Nothing that is due is done here, because reading an error must not change
 * it. */
void hf_names_error(const struct hf_names *names, struct hf_error *error)
{
    struct hf_monitor *monitor = &names->client->monitor;

    if (hf_fork_check(&monitor->fork, error) != HF_OK)
        return;
    hf_monitor_lock(monitor);
    hf_last_error_copy(&names->last_error, error);
    pthread_mutex_unlock(&monitor->lock);
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
    hf_names_dereference(names);
    hf_monitor_unlock(monitor);
    hf_monitor_release(monitor);
}
