/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: a child closes its copies of our descriptors, so that it can't keep a
 * dead parent's ticket alive, and does nothing else: an unlock or a closing
 * message would be the parent's.  A generation, compared by every call, makes
 * handles of the parent unusable.
 */
#ifndef HF_MONITOR_FORK_H
#define HF_MONITOR_FORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

/* What the forks of this process have to see to. */
struct hf_fork_entry {
    /* The generation of the process that made it.  Written once, before any
     * other thread knows of it; so it is read without a lock. */
    uint64_t generation;
    /* A thread holds it while it changes descriptors; so do we across each
     * fork. */
    pthread_mutex_t *lock;
    /* In the child, with that lock: close the copies of descriptors.  Only
     * calls that are async-signal-safe, because other threads may have held any
     * other lock. */
    void (*in_child)(void *arg);
    void *arg;

    struct hf_fork_entry *next; /* in the registry */
    struct hf_fork_entry **link;
};

/* Have forks see to ${entry}, whose .lock, .in_child and .arg are set, until it
 * is removed.  Without its lock. */
void hf_fork_add(struct hf_fork_entry *entry);
void hf_fork_remove(struct hf_fork_entry *entry);

/* Counts the forks between this process and the first one. */
uint64_t hf_fork_generation(void);

/* Is this a child of the process that added ${entry}?  Callbacks run without
 * the lock and may fork: ask after each one, and in the child do nothing but
 * give up the lock. */
bool hf_fork_is_child(const struct hf_fork_entry *entry);

/* HF_EFORKED, and its text, in a child of the process that added ${entry}.
 * Touches nothing that another thread may have held when the process forked. */
hf_status hf_fork_check(const struct hf_fork_entry *entry,
                        struct hf_error *error);

#endif
