/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of descriptors that an engine has open, so that the child of a fork
 * can close its copies.
 *
 * The child can only read the set, and another thread of the parent may be
 * changing it at the moment of the fork.  So the set is made of bits that are
 * set and cleared atomically, in pages that are neither moved nor freed while
 * the engine lives.
 */
#ifndef HF_ENGINES_FILE_DESCRIPTORS_H
#define HF_ENGINES_FILE_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HF_DESCRIPTORS_PER_PAGE 32768
#define HF_DESCRIPTORS_PAGES 64 /* two million: twice the usual fs.nr_open */

struct hf_file_descriptors_page {
    _Atomic uint64_t words[HF_DESCRIPTORS_PER_PAGE / 64];
};

struct hf_file_descriptors {
    /* NULL until a descriptor of that page is added. */
    struct hf_file_descriptors_page *_Atomic pages[HF_DESCRIPTORS_PAGES];
};

/* Add ${fd}, which is not negative.  May be called by any thread.  If memory
 * runs out, or ${fd} is beyond the last page, closes ${fd}, so that no
 * descriptor is open outside of the set, and returns false with errno
 * ENOMEM. */
bool hf_file_descriptors_add(struct hf_file_descriptors *descriptors, int fd);

/* Remove ${*fd} from the set, close it and set it to -1.  Does nothing if it is
 * -1.  May be called by any thread. */
void hf_file_descriptors_close(struct hf_file_descriptors *descriptors,
                               int *fd);

/* Close all descriptors in the set.  Async-signal-safe. */
void hf_file_descriptors_close_all(struct hf_file_descriptors *descriptors);

/* Free the pages.  The set must be empty. */
void hf_file_descriptors_free(struct hf_file_descriptors *descriptors);

#endif
