/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks.  A child closes its copies of our descriptors, so that it cannot keep
 * the ticket of a dead parent alive.  It sends nothing, because an unlock or a
 * closing message would act for the parent.  Every call compares a generation
 * that each fork increments; so handles of the parent are unusable in the
 * child.
 */
#ifndef HF_MONITOR_FORK_H
#define HF_MONITOR_FORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

/* One object with descriptors that a fork must care for. */
struct hf_fork_entry {
    /* The generation of the process that made the object.  Written once, before
     * another thread knows the object, so it is read without a lock. */
    uint64_t generation;
    /* The lock under which descriptors change.  It is held across each fork. */
    pthread_mutex_t *lock;
    /* In the child, with that lock: close the copies of descriptors.  Only
     * async-signal-safe calls, because other threads may have held any other
     * lock. */
    void (*in_child)(void *arg);
    void *arg;

    struct hf_fork_entry *next; /* in the registry */
    struct hf_fork_entry **link;
};

/* Register ${entry}, whose .lock, .in_child and .arg are set, until it is
 * removed.  Without its lock. */
void hf_fork_add(struct hf_fork_entry *entry);
void hf_fork_remove(struct hf_fork_entry *entry);

/* How many forks lie between this process and the first one that asked, or that
 * used the library otherwise. */
uint64_t hf_fork_generation(void);

/* Is this process a child of the one that added ${entry}?  Callbacks run
 * without the lock and may fork.  So ask after each one, and in the child do
 * nothing but release the lock. */
bool hf_fork_is_child(const struct hf_fork_entry *entry);

/* HF_EFORKED, and its text, in a child of the process that added ${entry}.
 * Touches nothing that another thread may have held when the process forked. */
hf_status hf_fork_check(const struct hf_fork_entry *entry,
                        struct hf_error *error);

/* Return HF_EFORKED, and have hf_last_error() say it as the failure of the
 * public call ${api_name}.  NULL: the call returns no status, and
 * hf_last_error() stays as it was. */
hf_status hf_fork_fail(const char *api_name);

#endif
