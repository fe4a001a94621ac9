/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A locked section that is being run, and the work that is done in it.
 *
 * An answer that is not HF_LOCKED_SECTION_DONE ends it.  With _FAILED the error
 * is set, and the function that failed has undone what it did of a ticket or of
 * READY.
 */
#ifndef HF_ENGINES_FILE_LOCKED_SECTION_WORK_H
#define HF_ENGINES_FILE_LOCKED_SECTION_WORK_H

#include "engines/file/locked_section.h"

struct hf_file_locked_section {
    /* The arguments of hf_file_locked_section_run(). */
    struct hf_file_root_dir *root_dir;
    const struct hf_file_locked_section_args *args;
    struct hf_file_lock_dir *lock_dir;
    struct hf_file_locked_section_result *result;
    struct hf_error *error;

    /* The counter has been found current since the directory was locked. */
    bool counter_current;
    char path[HF_PATH_BYTES];                 /* of the directory */
    char payload_file[HF_PAYLOAD_FILE_BYTES]; /* enqueue: in the directory */
};

/* Set the error from errno: "cannot ${what} DIRECTORY".
 * HF_LOCKED_SECTION_FAILED. */
enum hf_file_locked_section_answer
hf_file_locked_section_fail(struct hf_file_locked_section *s, const char *what);

/* Make the ticket and list the queue, under the lock; and the rest of an
 * enqueue, which needs no lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_enqueue(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_finish_enqueue(struct hf_file_locked_section *s);

/* Start a generation; or remove READY if no participant lives, and set .found
 * if it was there.  Both under the lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_start_generation(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_clear_ready(struct hf_file_locked_section *s);

/* Read the success, or write it, for a holder; under the lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_read_success(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_write_success(struct hf_file_locked_section *s);

#endif
