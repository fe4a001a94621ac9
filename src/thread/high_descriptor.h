/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the library are never 0, 1 or 2.
 *
 * A program may run with some of these closed.  The kernel gives the lowest
 * free number to whatever is opened next, so a socket or a file of ours would
 * get it, and everybody who prints would write into that: a log line into the
 * counter of tokens, for instance.  The idea is that of gnulib's fd-safer.
 */
#ifndef HF_THREAD_HIGH_DESCRIPTOR_H
#define HF_THREAD_HIGH_DESCRIPTOR_H

#include <stdbool.h>

/* Give ${fd}, which was just opened and is close-on-exec, a number above 2.
 * Returns that number, which is ${fd} itself if it is above 2. -1 with errno:
 * there is none, and ${fd} is closed.  -1 stays -1. */
int hf_high_descriptor(int fd);

/* For libraries that open descriptors themselves.  Those of 0 to 2 that are
 * closed are occupied from hf_low_descriptors_reserve() to
 * hf_low_descriptors_release(), so that the libraries get other numbers.  Only
 * one thread at a time does this, because another one would take the reserved
 * numbers for open ones.  So nothing that waits may stand in between. */
struct hf_low_descriptors {
    bool reserved[3];
};

void hf_low_descriptors_reserve(struct hf_low_descriptors *reserved);
void hf_low_descriptors_release(const struct hf_low_descriptors *reserved);

#endif
