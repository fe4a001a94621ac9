/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of what forks must care for, and the handlers of
 * pthread_atfork().
 */
#include "monitor/fork.h"

#include <stdatomic.h>

#include "base/error.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
/* The entries of this process, under registry_lock. */
static struct hf_fork_entry *registry;
static _Atomic uint64_t generation;

bool hf_fork_is_child(const struct hf_fork_entry *entry)
{
    return entry->generation !=
           atomic_load_explicit(&generation, memory_order_relaxed);
}

static const struct hf_error forked_error = {
    HF_EFORKED, "the handle belongs to the parent process; a child of a fork "
                "opens a client of its own"};

hf_status hf_fork_check(const struct hf_fork_entry *entry,
                        struct hf_error *error)
{
    if (!hf_fork_is_child(entry))
        return HF_OK;
    *error = forked_error;
    return HF_EFORKED;
}

hf_status hf_fork_fail(const char *api_name)
{
    return api_name != NULL ? hf_fail(api_name, &forked_error) : HF_EFORKED;
}

/* Before a fork: take every lock, so that no table of descriptors is
 * half-changed in the child.  The locks are only ever held for work, so this
 * does not wait long. */
static void lock_all(void)
{
    struct hf_fork_entry *entry;

    pthread_mutex_lock(&registry_lock);
    for (entry = registry; entry != NULL; entry = entry->next)
        pthread_mutex_lock(entry->lock);
}

static void unlock_all(void)
{
    struct hf_fork_entry *entry;

    for (entry = registry; entry != NULL; entry = entry->next)
        pthread_mutex_unlock(entry->lock);
}

/* In the parent after a fork. */
static void in_parent(void)
{
    unlock_all();
    pthread_mutex_unlock(&registry_lock);
}

/* In the child.  Only async-signal-safe calls, because other threads may have
 * held any lock but ours.  Every monitor of the parent is marked as the
 * parent's and forgotten.  Their mutexes are released, because a callback may
 * have forked, and the child returns from it through code that locks. */
static void in_child(void)
{
    struct hf_fork_entry *entry;

    atomic_fetch_add(&generation, 1);
    for (entry = registry; entry != NULL; entry = entry->next)
        entry->in_child(entry->arg);
    unlock_all();
    registry = NULL;
    pthread_mutex_unlock(&registry_lock);
}

static void register_handlers(void)
{
    (void)pthread_atfork(lock_all, in_parent, in_child);
}

/* The handlers are registered once for the process, before anybody relies on
 * the count. */
uint64_t hf_fork_generation(void)
{
    (void)pthread_once(&once, register_handlers);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void hf_fork_add(struct hf_fork_entry *entry)
{
    uint64_t now = hf_fork_generation();

    pthread_mutex_lock(&registry_lock);
    entry->generation = now;
    entry->next = registry;
    entry->link = &registry;
    if (registry != NULL)
        registry->link = &entry->next;
    registry = entry;
    pthread_mutex_unlock(&registry_lock);
}

void hf_fork_remove(struct hf_fork_entry *entry)
{
    pthread_mutex_lock(&registry_lock);
    *entry->link = entry->next;
    if (entry->next != NULL)
        entry->next->link = entry->link;
    pthread_mutex_unlock(&registry_lock);
}
