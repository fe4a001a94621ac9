/* SPDX-License-Identifier: Apache-2.0 */
#include "host/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "host/client.h"
#include "host/grant.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hf_client *registry;
static _Atomic uint64_t generation;

uint64_t hf_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

bool hf_fork_parted(const struct hf_client *client)
{
    return client->generation != hf_fork_generation();
}

hf_status hf_fork_check(const struct hf_client *client, struct hf_error *error)
{
    static const struct hf_error parted = {
        HF_EFORKED, "the handle belongs to the parent process; a child of a "
                    "fork opens a client of its own"};

    if (!hf_fork_parted(client))
        return HF_OK;
    *error = parted;
    return HF_EFORKED;
}

/* With every client's lock held no table of descriptors is half-changed.  The
 * locks are only ever held for work, so this does not wait long. */
static void before(void)
{
    struct hf_client *client;

    pthread_mutex_lock(&registry_lock);
    for (client = registry; client != NULL; client = client->next)
        pthread_mutex_lock(&client->lock);
}

static void unlock_all(void)
{
    struct hf_client *client;

    for (client = registry; client != NULL; client = client->next)
        pthread_mutex_unlock(&client->lock);
}

static void in_parent(void)
{
    unlock_all();
    pthread_mutex_unlock(&registry_lock);
}

/* Nobody holds in the child: its copies of the parent's handles say so. */
static void forget_safe_until(struct hf_client *client)
{
    hf_safe_until_store(&client->core.session.published, 0);
}

static void drop_descriptors(struct hf_client *client)
{
    if (client->engine != NULL)
        client->ops->after_fork(client->engine);
    hf_grant_after_fork(client);
    hf_background_after_fork(&client->background);
    if (client->delivery.fd >= 0)
        close(client->delivery.fd);
    if (client->interrupt_fd >= 0)
        close(client->interrupt_fd);
    hf_loop_after_fork(&client->loop);
}

/* Only async-signal-safe calls: other threads may have held any lock but ours.
 * The parent's clients are forgotten.  They are unlocked for the sake of a
 * callback that forked, from which the child may return. */
static void in_child(void)
{
    struct hf_client *client;

    atomic_fetch_add(&generation, 1);
    for (client = registry; client != NULL; client = client->next) {
        forget_safe_until(client);
        drop_descriptors(client);
    }
    hf_delivery_after_fork();
    unlock_all();
    registry = NULL;
    pthread_mutex_unlock(&registry_lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before, in_parent, in_child);
}

void hf_fork_add(struct hf_client *client)
{
    (void)pthread_once(&once, watch_forks);
    pthread_mutex_lock(&registry_lock);
    client->next = registry;
    client->link = &registry;
    if (registry != NULL)
        registry->link = &client->next;
    registry = client;
    pthread_mutex_unlock(&registry_lock);
}

void hf_fork_remove(struct hf_client *client)
{
    pthread_mutex_lock(&registry_lock);
    *client->link = client->next;
    if (client->next != NULL)
        client->next->link = client->link;
    pthread_mutex_unlock(&registry_lock);
}
