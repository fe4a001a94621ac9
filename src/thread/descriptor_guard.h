/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the program still have the descriptors that we have opened?
 *
 * A program may close all descriptors, as closefrom(3) and close_range(2) do,
 * also those of a library.  Their numbers then belong to what it opens next,
 * and libuv ends the process if it meets one.  A guard is a pipe that is opened
 * ahead of the descriptors that it stands for and is never used: a thread that
 * polls its reading end wakes up when the pipe was closed, and its inode, which
 * no other pipe ever gets, shows whether the number is still that of the pipe.
 */
#ifndef HF_THREAD_DESCRIPTOR_GUARD_H
#define HF_THREAD_DESCRIPTOR_GUARD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

/* Written by hf_descriptor_guard_open() and _end(); read by any thread. */
struct hf_descriptor_guard {
    int ends[2]; /* the reading one first; -1: nothing is left to guard */
    dev_t device;
    ino_t inode;
};

/* Make ${guard}.  False, with errno, if there are no descriptors for it. */
bool hf_descriptor_guard_open(struct hf_descriptor_guard *guard);

/* Are its descriptors there, or is nothing left to guard?  Async-signal-safe.
 */
bool hf_descriptor_guard_is_intact(const struct hf_descriptor_guard *guard);

/* Close it, if it is intact.  Async-signal-safe. */
void hf_descriptor_guard_close(const struct hf_descriptor_guard *guard);

/* We have closed the descriptors that ${guard} stood for: close it too.  It
 * counts as intact from now on.  No other thread uses it. */
void hf_descriptor_guard_end(struct hf_descriptor_guard *guard);

/* uv_async_send(), from a thread that does not have the lock of the loop of
 * ${async}.  Nothing is sent if the program has closed the descriptors.  The
 * .data of that loop is its guard; NULL: it has none, and it is always sent. */
void hf_descriptor_guard_send(uv_async_t *async);

#endif
