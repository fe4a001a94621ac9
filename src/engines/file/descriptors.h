/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which descriptors an engine has open, in a form that the child of a fork can
 * walk whatever other threads of the parent were doing: bits that are set and
 * cleared atomically, in pages that are never moved nor freed while the engine
 * lives.
 */
#ifndef HF_ENGINES_FILE_DESCRIPTORS_H
#define HF_ENGINES_FILE_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HF_DESCRIPTORS_PER_PAGE 32768
#define HF_DESCRIPTORS_PAGES 64 /* two million: twice the kernel's nr_open */

struct hf_descriptors_page {
    _Atomic uint64_t words[HF_DESCRIPTORS_PER_PAGE / 64];
};

struct hf_descriptors {
    struct hf_descriptors_page *_Atomic pages[HF_DESCRIPTORS_PAGES];
};

/* Enter ${fd} >= 0; any thread.  False without memory: ${fd} is closed then,
 * so that nothing is ever open without being entered. */
bool hf_descriptors_add(struct hf_descriptors *descriptors, int fd);

/* Strike ${*fd} off, close it and set it to -1.  Nothing if it is -1. */
void hf_descriptors_close(struct hf_descriptors *descriptors, int *fd);

/* Close all that are entered.  Async-signal-safe. */
void hf_descriptors_close_all(struct hf_descriptors *descriptors);

/* Free the pages; nothing may be entered any more. */
void hf_descriptors_free(struct hf_descriptors *descriptors);

#endif
