/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of directories and files on disk.
 *
 *   ROOT/locks/DIR_NAME/                   the directory of a lock
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID          a ticket: a FIFO
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID.payload  its payload: the text of a symlink
 *     NNNNNNNNNNNNNNNNNNNN-K-UUID.payload.new  one about to replace that
 *     .new                                 a ticket, READY or a success, not
 *                                          yet renamed
 *     name                                 the name of the lock, where
 *                                          DIR_NAME has a digest of it
 *     barrier                              there while a barrier is set: a
 *                                          symlink to "UUID NAME"
 *     ready                                READY, the last generation of a
 *                                          double barrier: a symlink to its
 *                                          number
 *     success                              the last success: a symlink to its
 *                                          token and time, see success.h
 *
 * N... is the number of the ticket.  K is its kind: "m" mutex, "r" read, "w"
 * write, "e" election, "d" participant of a double barrier, or "l" and two
 * digits, a lease and its permits.
 */
#ifndef HF_ENGINES_FILE_FILE_NAMES_H
#define HF_ENGINES_FILE_FILE_NAMES_H

#include <stdbool.h>

#include <holdfast/lock.h>

#include "core/ticket.h"

/* The longest directory name that spells out the name of its lock; and room for
 * any directory name with its NUL. */
#define HF_DIR_NAME_PLAIN_BYTES 200
#define HF_DIR_NAME_BYTES (HF_DIR_NAME_PLAIN_BYTES + 1)

/* The longest name of a queue. */
#define HF_QUEUE_BYTES (HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES) - 1)

/* Room for the file name of a ticket with its NUL, and for the file name of its
 * payload. */
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
#define HF_SUCCESS_FILE "success"

/* The text of READY, with its NUL. */
#define HF_READY_TEXT_BYTES 21

/* Set ${dir_name} to the name of the directory of the lock ${queue}, which is
 * not "".  Two locks never share a directory: a name that can be spelled out
 * in HF_DIR_NAME_PLAIN_BYTES is, one to one; a longer one becomes its
 * beginning, '~' and its SHA-256.  True for a longer name, and then the
 * directory holds the name in HF_NAME_FILE. */
bool hf_file_dir_name_format(const char *queue,
                             char dir_name[HF_DIR_NAME_BYTES]);

/* hf_file_name_format() sets ${file} to the file name of ${ticket}, made of
 * .sequence, .kind, .weight and .id.  The other two set it to the file name of
 * the ticket's payload, and to the name that a payload has until rename() puts
 * it in the place of an older one. */
void hf_file_name_format(const struct hf_ticket *ticket,
                         char file[HF_TICKET_FILE_BYTES]);
void hf_file_payload_name_format(const struct hf_ticket *ticket,
                                 char file[HF_PAYLOAD_FILE_BYTES]);
void hf_file_new_payload_name_format(const struct hf_ticket *ticket,
                                     char file[HF_NEW_PAYLOAD_FILE_BYTES]);

/* Set ${payload} to the file name of the payload that belongs to the FIFO named
 * ${fifo}.  If ${fifo} is a path, ${payload} becomes a path.  Both may be the
 * same memory. */
void hf_file_payload_name_of(const char *fifo, char *payload);

enum hf_file_name_kind {
    HF_FILE_NAME_TICKET,
    HF_FILE_NAME_PAYLOAD,
    HF_FILE_NAME_NEW_PAYLOAD,
    HF_FILE_NAME_OTHER,
};

/* Returns what the file ${file} in the directory of a lock is.  Unless that is
 * HF_FILE_NAME_OTHER, sets ${ticket} to the ticket that the file is or belongs
 * to, with an empty payload. */
enum hf_file_name_kind hf_file_name_parse(const char *file,
                                          struct hf_ticket *ticket);

/* hf_file_ready_format() sets ${text} to the text of READY with the number
 * ${ready}->sequence.  hf_file_ready_parse() does the reverse: it sets ${ready}
 * to the ticket of kind HF_TICKET_READY that ${text} stands for, or returns
 * false. */
void hf_file_ready_format(const struct hf_ticket *ready,
                          char text[HF_READY_TEXT_BYTES]);
bool hf_file_ready_parse(const char *text, struct hf_ticket *ready);

#endif
