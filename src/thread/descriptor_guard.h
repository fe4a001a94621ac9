/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices that the program has closed the descriptors that we have opened.
 *
 * A program may close all descriptors, even those of a library, as closefrom(3)
 * and close_range(2) do.  Their numbers are then given to what it opens next,
 * and libuv ends the process when it finds another file at such a number.
 *
 * A guard is a pipe that is opened before the descriptors that it guards, and
 * is never used.  A thread that polls its reading end wakes up when the pipe
 * was closed.  Its inode, which no other pipe ever gets, shows whether the
 * number still belongs to the pipe.
 */
#ifndef HF_THREAD_DESCRIPTOR_GUARD_H
#define HF_THREAD_DESCRIPTOR_GUARD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

/* A guard.  Only hf_descriptor_guard_open() and _end() write it; any thread
 * reads it. */
struct hf_descriptor_guard {
    int ends[2]; /* the reading end first; -1: there is nothing left to guard */
    dev_t device;
    ino_t inode;
};

/* Open ${guard}.  Returns false with errno if there are no descriptors for
 * it. */
bool hf_descriptor_guard_open(struct hf_descriptor_guard *guard);

/* Returns whether the descriptors of ${guard} are still its own, or nothing is
 * left to guard.  Async-signal-safe. */
bool hf_descriptor_guard_is_intact(const struct hf_descriptor_guard *guard);

/* Close ${guard}, if it is intact.  Async-signal-safe. */
void hf_descriptor_guard_close(const struct hf_descriptor_guard *guard);

/* Close ${guard}, because we have closed the descriptors that it guarded.  From
 * now on it counts as intact.  No other thread may use it meanwhile. */
void hf_descriptor_guard_end(struct hf_descriptor_guard *guard);

/* The same as uv_async_send(), for a thread that does not have the lock of the
 * loop of ${async}.  Sends nothing if the program has closed the descriptors.
 * .data of that loop must be its guard, or NULL, which means that it is always
 * sent. */
void hf_descriptor_guard_send(uv_async_t *async);

#endif
