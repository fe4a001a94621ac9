/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What things are called on disk.
 *
 *   ROOT/locks/ENTRY/                      a lock
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID          a ticket: a FIFO
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID.payload  what its owner says: the text of a
 *                                          symlink
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID.payload.new  the same, about to replace it
 *     .new                                 a ticket being made
 *     name                                 the name, where ENTRY is a digest
 *     barrier                              the mark of a barrier that is up: a
 *                                          symlink to "UUID NAME"
 *     ready                                what the members of a double barrier
 *                                          stamped last: a symlink to its
 *                                          NNNNNNNNNNNNNNNNNNNN
 *
 * K is "m", "r", "w", "e", for a member "d", or for a lease "l" and two digits:
 * its permits.
 */
#ifndef HF_ENGINES_FILE_FILE_NAMES_H
#define HF_ENGINES_FILE_FILE_NAMES_H

#include <stdbool.h>

#include <holdfast/holdfast.h>

#include "core/ticket.h"

/* The longest entry that is spelled out, and room for any with its NUL. */
#define HF_DIR_NAME_PLAIN_BYTES 200
#define HF_DIR_NAME_BYTES (HF_DIR_NAME_PLAIN_BYTES + 1)

/* The longest name of a queue. */
#define HF_QUEUE_BYTES (HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES) - 1)

/* A ticket's file name with its NUL, at most, and that of its payload. */
#define HF_TICKET_FILE_BYTES (20 + 5 + HF_TICKET_ID_TEXT_BYTES)
#define HF_PAYLOAD_SUFFIX ".payload"
#define HF_PAYLOAD_FILE_BYTES                                                  \
    (HF_TICKET_FILE_BYTES + sizeof(HF_PAYLOAD_SUFFIX) - 1)

#define HF_NEW_SUFFIX ".new"
#define HF_NEW_PAYLOAD_FILE_BYTES                                              \
    (HF_PAYLOAD_FILE_BYTES + sizeof(HF_NEW_SUFFIX) - 1)

#define HF_NEW_FILE ".new"
#define HF_NAME_FILE "name"
#define HF_BARRIER_FILE "barrier"
#define HF_READY_FILE "ready"

/* What the mark READY says, with its NUL. */
#define HF_READY_TEXT_BYTES 21

/* The directory of the lock called ${queue}.  Different names never share one:
 * what can be spelled out in HF_DIR_NAME_PLAIN_BYTES is, one to one; anything
 * longer is its beginning, '~' and its SHA-256.  True for the latter: such a
 * directory holds the name in HF_NAME_FILE. */
bool hf_dir_name_format(const char *queue, char dir_name[HF_DIR_NAME_BYTES]);

void hf_ticket_file_format(const struct hf_ticket *ticket,
                           char file[HF_TICKET_FILE_BYTES]);
void hf_payload_file_format(const struct hf_ticket *ticket,
                            char file[HF_PAYLOAD_FILE_BYTES]);

/* The name of the new payload until rename() puts it in the old one's place. */
void hf_new_payload_file_format(const struct hf_ticket *ticket,
                                char file[HF_NEW_PAYLOAD_FILE_BYTES]);

/* What is ${file} in the directory of a lock?  For a ticket and for a payload
 * ${ticket} is set, with an empty payload. */
enum hf_file_name_kind {
    HF_FILE_NAME_TICKET,
    HF_FILE_NAME_PAYLOAD,
    HF_FILE_NAME_NEW_PAYLOAD,
    HF_FILE_NAME_OTHER,
};
enum hf_file_name_kind hf_file_name_parse(const char *file,
                                          struct hf_ticket *ticket);

/* What the mark READY of the number ${mark}->sequence says; and the mark that
 * says ${text}, or false. */
void hf_ready_format(const struct hf_ticket *ready,
                     char text[HF_READY_TEXT_BYTES]);
bool hf_ready_parse(const char *text, struct hf_ticket *ready);

#endif
