/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one ticket in the directory of its lock: test whether the owner
 * is alive, and remove them.
 */
#ifndef HF_ENGINES_FILE_TICKET_FILE_H
#define HF_ENGINES_FILE_TICKET_FILE_H

#include "engines/file/descriptors.h"
#include "engines/file/root_dir.h"

/* Is the ticket's owner, or a copy of its descriptor, still alive? */
enum hf_owner_liveness {
    HF_OWNER_ALIVE,   /* ${fifo}, opened before the test, will hang up */
    HF_OWNER_DEAD,    /* or not there at all */
    HF_OWNER_UNKNOWN, /* ${error} says why */
};

/* Open the ticket at ${path} for reading, then test it (a FIFO that is opened
 * after its last writer went never hangs up).  ${fifo} (NULL: not wanted) is
 * set to the open descriptor with HF_OWNER_ALIVE, else to -1. */
enum hf_owner_liveness hf_ticket_file_probe(struct hf_descriptors *descriptors,
                                            const char *path, int *fifo,
                                            struct hf_error *error);

/* Remove a dead or withdrawn ticket, and its payload: safe without the
 * directory's lock, for no name is used twice and the dead do not rise.
 * ${found}: it was there.  HF_OK also if it was not. */
hf_status hf_ticket_file_remove_fifo(const struct hf_root_settings *settings,
                                     const char *dir_name,
                                     const struct hf_ticket *ticket,
                                     bool *found, struct hf_error *error);
void hf_ticket_file_remove_payload(const struct hf_root_settings *settings,
                                   const char *dir_name,
                                   const struct hf_ticket *ticket);
hf_status hf_ticket_file_remove(const struct hf_root_settings *settings,
                                const char *dir_name,
                                const struct hf_ticket *ticket, bool *found,
                                struct hf_error *error);

#endif
