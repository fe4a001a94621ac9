/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one ticket in the directory of its lock: checks whether its
 * owner is alive, and removes them.
 *
 * An owner holds the FIFO of its ticket open under flock(LOCK_EX).  So as long
 * as that flock() is taken, the owner, or a process with a copy of its
 * descriptor, is alive.
 */
#ifndef HF_ENGINES_FILE_TICKET_FILE_H
#define HF_ENGINES_FILE_TICKET_FILE_H

#include "engines/file/descriptors.h"
#include "engines/file/root_dir.h"

enum hf_file_owner_liveness {
    HF_OWNER_ALIVE,   /* the FIFO will hang up when the owner ends */
    HF_OWNER_DEAD,    /* the owner has ended, or the ticket is not there */
    HF_OWNER_UNKNOWN, /* could not be found out; ${error} has the reason */
};

/* Set ${path} to that of the FIFO of ${ticket} in ${dir_name}. */
void hf_file_fifo_path(const struct hf_file_root_settings *settings,
                       const char *dir_name, const struct hf_ticket *ticket,
                       char path[HF_PATH_BYTES]);

/* Check whether the owner of the ticket at ${path} is alive.  With
 * HF_OWNER_ALIVE, ${fifo} is set to its FIFO, open for reading; else to -1.
 * ${fifo} may be NULL.
 *
 * The FIFO is opened before the check, because a FIFO that is opened after its
 * last writer has gone never hangs up. */
enum hf_file_owner_liveness
hf_file_fifo_probe(struct hf_file_descriptors *descriptors, const char *path,
                   int *fifo, struct hf_error *error);

/* Set ${status} to the fstat() of ${fd}, a FIFO that we have just made.  In a
 * shared root, also give it the mode of ${settings}, whatever the umask has
 * removed.  In a shared root another user may have replaced our FIFO by another
 * file of ours; then this fails with EPERM and the mode stays.  Returns 0, or
 * -1 with errno. */
int hf_file_fifo_prepare(const struct hf_file_root_settings *settings, int fd,
                         struct stat *status);

/* Remove the FIFO, the payload, or both, of a ticket that is dead or given up
 * and whose FIFO is at ${path}.  The lock of the directory is not needed,
 * because no name is used twice, and a ticket whose owner has ended never gets
 * another owner.  ${found} is set to whether the FIFO was there; it is no error
 * if it was not. */
hf_status hf_file_fifo_remove(const char *path, bool *found,
                              struct hf_error *error);
void hf_file_payload_remove(const char *path);
hf_status hf_file_fifo_and_payload_remove(const char *path, bool *found,
                                          struct hf_error *error);

/* Replace the payload of ${ticket}, which may be another session's, by
 * ${payload}; "": there is none.  A new symbolic link is renamed over the old
 * one, so that one of the two is always there. */
hf_status hf_file_payload_write(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                const char *dir_name,
                                const struct hf_ticket *ticket,
                                const char *payload, struct hf_error *error);

#endif
