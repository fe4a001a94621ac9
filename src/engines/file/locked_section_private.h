/* SPDX-License-Identifier: Apache-2.0 */
/* The critical section under way, for the files that do its works. */
#ifndef HF_ENGINES_FILE_LOCKED_SECTION_PRIVATE_H
#define HF_ENGINES_FILE_LOCKED_SECTION_PRIVATE_H

#include "engines/file/locked_section.h"

struct hf_locked_section {
    struct hf_root_dir *root_dir;
    const struct hf_locked_section_args *args;
    struct hf_lock_dir *lock_dir;
    struct hf_locked_section_result *result;
    struct hf_error *error;
    char dir_name[HF_DIR_NAME_BYTES];
    bool digest; /* the entry is one, and the name is in HF_NAME_FILE */
    bool counter_current; /* it was, since the directory was locked */
    char path[HF_PATH_BYTES];
    char file[HF_TICKET_FILE_BYTES]; /* ENQUEUE: of the ticket */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

/* HF_LOCKED_SECTION_FAILED, with what errno says of ${what} at the directory.
 */
enum hf_locked_section_answer
hf_locked_section_fail(struct hf_locked_section *s, const char *what);

/* The next number of the counter, for ${s}->result->ticket. */
enum hf_locked_section_answer
hf_locked_section_take_number(struct hf_locked_section *s);

/* locked_section_enqueue.c: ENQUEUE, under the lock; and what need not be,
 * after. */
enum hf_locked_section_answer
hf_locked_section_enqueue(struct hf_locked_section *s);
enum hf_locked_section_answer
hf_locked_section_finish_enqueue(struct hf_locked_section *s);

/* locked_section_generation.c: NEW_GENERATION, and CLEAR_FLAG of READY, under
 * the lock. */
enum hf_locked_section_answer
hf_locked_section_start_generation(struct hf_locked_section *s);
enum hf_locked_section_answer
hf_locked_section_clear_ready(struct hf_locked_section *s);

#endif
