/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one ticket in the directory of its lock: is its owner alive, and
 * how they are removed.
 *
 * An owner holds the FIFO of its ticket open under flock(LOCK_EX).  So the
 * owner, or a copy of its descriptor, is alive while that lock cannot be had.
 */
#ifndef HF_ENGINES_FILE_TICKET_FILE_H
#define HF_ENGINES_FILE_TICKET_FILE_H

#include "engines/file/descriptors.h"
#include "engines/file/root_dir.h"

enum hf_file_owner_liveness {
    HF_OWNER_ALIVE,   /* the FIFO will hang up when the owner ends */
    HF_OWNER_DEAD,    /* or the ticket is not there at all */
    HF_OWNER_UNKNOWN, /* ${error} says why */
};

/* Set ${path} to that of the FIFO of ${ticket} in ${dir_name}. */
void hf_file_fifo_path(const struct hf_file_root_settings *settings,
                       const char *dir_name, const struct hf_ticket *ticket,
                       char path[HF_PATH_BYTES]);

/* Is the owner of the ticket at ${path} alive?  ${fifo} (NULL: not wanted) is
 * set to its FIFO, open for reading, with HF_OWNER_ALIVE, and to -1 otherwise.
 * The FIFO is opened before the test, because one that is opened after its last
 * writer has gone never hangs up. */
enum hf_file_owner_liveness
hf_file_fifo_probe(struct hf_file_descriptors *descriptors, const char *path,
                   int *fifo, struct hf_error *error);

/* ${fd} is a FIFO that we have just made: set ${status} to its fstat(), and in
 * a shared root give it the mode of ${settings}, whatever the umask took from
 * it.  There another user may have put a file of ours in its place; that file
 * is refused (EPERM) and its mode stays.  0, or -1 with errno. */
int hf_file_fifo_prepare(const struct hf_file_root_settings *settings, int fd,
                         struct stat *status);

/* Remove the FIFO, the payload, or both, of a ticket that is dead or given up
 * and whose FIFO is at ${path}.  This needs no lock of the directory, because
 * no name is used twice and a ticket whose owner has ended never has an owner
 * again.
 * ${found}: the FIFO was there.  HF_OK also if it was not. */
hf_status hf_file_fifo_remove(const char *path, bool *found,
                              struct hf_error *error);
void hf_file_payload_remove(const char *path);
hf_status hf_file_fifo_and_payload_remove(const char *path, bool *found,
                                          struct hf_error *error);

/* Give ${ticket}, which may be another session's, this ${payload} in place of
 * the one it has; "": none.  A new symbolic link is renamed to the old one, so
 * that there always is the one or the other. */
hf_status hf_file_payload_write(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                const char *dir_name,
                                const struct hf_ticket *ticket,
                                const char *payload, struct hf_error *error);

#endif
