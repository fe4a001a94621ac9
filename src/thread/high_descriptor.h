/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps descriptors of the library away from the numbers 0, 1 and 2.
 *
 * A program may run with some of these closed.  The kernel gives the lowest
 * free number to what is opened next.  If that were a socket or a file of ours,
 * everything that the program prints would be written into it: for instance a
 * log line into the counter of tokens.  The idea is that of gnulib's fd-safer.
 */
#ifndef HF_THREAD_HIGH_DESCRIPTOR_H
#define HF_THREAD_HIGH_DESCRIPTOR_H

#include <stdbool.h>

/* Give ${fd}, which was just opened and is close-on-exec, a number above 2, and
 * return that number; it is ${fd} itself if that is above 2.  If there is no
 * such number, closes ${fd} and returns -1 with errno.  For -1 returns -1. */
int hf_high_descriptor(int fd);

/* For libraries that open descriptors themselves.  From
 * hf_low_descriptors_reserve() to hf_low_descriptors_release(), those of the
 * numbers 0 to 2 that are closed are occupied, so that the libraries get other
 * numbers.  Only one thread at a time does this, because another one would take
 * the occupied numbers for open ones.  So nothing may wait between the two
 * calls. */
struct hf_low_descriptors {
    bool reserved[3];
};

void hf_low_descriptors_reserve(struct hf_low_descriptors *reserved);
void hf_low_descriptors_release(const struct hf_low_descriptors *reserved);

#endif
