/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a locked section that is running, and the functions that do its
 * work.
 *
 * Any answer but HF_LOCKED_SECTION_DONE ends the section.  With _FAILED the
 * error is set, and the function that failed has undone its changes to a ticket
 * or to READY.
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

    /* The counter was found current since the directory was locked. */
    bool counter_current;
    char path[HF_PATH_BYTES]; /* of the directory */
    /* enqueue: file name of the payload */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

/* Set the error from errno, with the text "cannot ${what} DIRECTORY".  Returns
 * HF_LOCKED_SECTION_FAILED. */
enum hf_file_locked_section_answer
hf_file_locked_section_fail(struct hf_file_locked_section *s, const char *what);

/* hf_file_locked_section_enqueue() makes the ticket and lists the queue under
 * the lock.  hf_file_locked_section_finish_enqueue() does the rest, which needs
 * no lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_enqueue(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_finish_enqueue(struct hf_file_locked_section *s);

/* Start a generation; or remove READY if no participant is alive, and set
 * .found to whether it was there.  Both are called under the lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_start_generation(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_clear_ready(struct hf_file_locked_section *s);

/* Read or write the success for a holder.  Both are called under the lock. */
enum hf_file_locked_section_answer
hf_file_locked_section_read_success(struct hf_file_locked_section *s);
enum hf_file_locked_section_answer
hf_file_locked_section_write_success(struct hf_file_locked_section *s);

#endif
