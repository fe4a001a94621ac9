/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lock.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/name.h"

static const enum hf_ticket_kind ticket_kinds[] = {
    [HF_KIND_MUTEX] = HF_TICKET_MUTEX,
    [HF_KIND_READ] = HF_TICKET_READ,
    [HF_KIND_WRITE] = HF_TICKET_WRITE,
};

static hf_status check(struct hf_client *client, const char *name,
                       const struct hf_lock_opts *opts, const char **canonical,
                       struct hf_error *error)
{
    if (opts->size != sizeof(*opts))
        return hf_error_set(error, HF_EINVAL,
                            "the size of the options is %zu, expected %zu; "
                            "start from HF_LOCK_OPTS_INIT",
                            opts->size, sizeof(*opts));
    if (opts->kind > HF_KIND_WRITE)
        return hf_error_set(error, HF_EINVAL,
                            "the kind is %u; expected one of enum hf_kind, "
                            "%u at most",
                            (unsigned)opts->kind, (unsigned)HF_KIND_WRITE);
    if (client->closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    return hf_name_check(name, canonical, error);
}

static struct hf_lock *make(struct hf_client *client, const char *name,
                            enum hf_kind kind)
{
    size_t bytes = strlen(name) + 1;
    struct hf_lock *lock = hf_alloc(sizeof(*lock) + bytes);

    if (lock == NULL)
        return NULL;
    memcpy(lock->name, name, bytes);
    lock->kind = ticket_kinds[kind];
    lock->references = 1;
    lock->client = client;
    hf_client_reference(client);
    return lock;
}

hf_status hf_lock_open_for(struct hf_client *client, const char *call,
                           const char *name, const struct hf_lock_opts *opts,
                           struct hf_lock **lock)
{
    static const struct hf_lock_opts defaults = HF_LOCK_OPTS_INIT;
    struct hf_error error = {0};
    hf_status status;

    *lock = NULL;
    if (opts == NULL)
        opts = &defaults;
    if ((status = hf_client_enter(client)) != HF_OK)
        return status;
    status = check(client, name, opts, &name, &error);
    if (status == HF_OK && (*lock = make(client, name, opts->kind)) == NULL)
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        hf_client_fail(client, call, &error);
    hf_client_leave(client);
    return status;
}

hf_status hf_lock_open(struct hf_client *client, const char *name,
                       const struct hf_lock_opts *opts, struct hf_lock **lock)
{
    return hf_lock_open_for(client, "hf_lock_open", name, opts, lock);
}

void hf_lock_reference(struct hf_lock *lock)
{
    lock->references++;
}

void hf_lock_dereference(struct hf_lock *lock)
{
    assert(lock->references > 0);
    if (--lock->references > 0)
        return;
    hf_client_dereference(lock->client);
    hf_free(lock);
}

void hf_lock_free(struct hf_lock *lock)
{
    struct hf_client *client;

    if (lock == NULL || hf_fork_parted(lock->client))
        return;
    client = lock->client;
    pthread_mutex_lock(&client->lock);
    hf_client_reference(client); /* ours, until the lock is given up */
    hf_lock_dereference(lock);
    hf_log_unlock(client);
    hf_client_release(client);
}

const char *hf_lock_name(const struct hf_lock *lock)
{
    return lock->name;
}

hf_status hf_lock_fail(struct hf_lock *lock, const char *call,
                       struct hf_error *error)
{
    hf_error_prefix(error, call);
    lock->error = *error;
    return error->status;
}

void hf_lock_error(const struct hf_lock *lock, struct hf_error *error)
{
    *error = (struct hf_error){.status = HF_EFORKED};
    if (hf_fork_parted(lock->client))
        return;
    pthread_mutex_lock(&lock->client->lock);
    *error = lock->error;
    pthread_mutex_unlock(&lock->client->lock);
}
