/* SPDX-License-Identifier: Apache-2.0 */
/* The critical section under way, for the files that do its works. */
#ifndef HF_ENGINES_FILE_SECTION_PRIVATE_H
#define HF_ENGINES_FILE_SECTION_PRIVATE_H

#include "engines/file/section.h"

struct hf_section {
    struct hf_place *place;
    const struct hf_section_order *order;
    struct hf_directory *directory;
    struct hf_section_result *result;
    struct hf_error *error;
    char entry[HF_ENTRY_BYTES];
    bool digest; /* the entry is one, and the name is in HF_NAME_FILE */
    bool counter_current; /* it was, since the directory was locked */
    char path[HF_PATH_BYTES];
    char file[HF_TICKET_FILE_BYTES]; /* ENQUEUE: of the ticket */
    char payload_file[HF_PAYLOAD_FILE_BYTES];
};

/* HF_SECTION_FAILED, with what errno says of ${what} at the directory. */
enum hf_section_answer hf_section_trouble(struct hf_section *s,
                                          const char *what);

/* The next number of the counter, for ${s}->result->ticket. */
enum hf_section_answer hf_section_take_number(struct hf_section *s);

/* section_ticket.c: ENQUEUE, under the lock; and what need not be, after. */
enum hf_section_answer hf_section_put_ticket(struct hf_section *s);
enum hf_section_answer hf_section_settle_ticket(struct hf_section *s);

/* section_stamp.c: NEW_GENERATION, and CLEAR_FLAG of READY, under the lock. */
enum hf_section_answer hf_section_stamp(struct hf_section *s);
enum hf_section_answer hf_section_lower(struct hf_section *s);

#endif
