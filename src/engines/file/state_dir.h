/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE, the directory for what outlives a reboot: the token floor, and the
 * successes of locks.  It belongs to one user, and is on a disk, while the root
 * directory may be in memory.
 */
#ifndef HF_ENGINES_FILE_STATE_DIR_H
#define HF_ENGINES_FILE_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/status.h>

#include "core/ticket.h"
#include "engines/file/token_floor.h"

/* Room for the name of a file in the directory, with its NUL. */
#define HF_STATE_FILE_BYTES 96

/* Open ${dir} and check who owns it.  If it is missing, it is made if ${make}
 * is set; otherwise this fails with HF_EGONE.
 *   Ownership  the caller closes ${fd}; it is -1 after a failure.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT; HF_EGONE. */
hf_status hf_file_state_dir_open(const char *dir, bool make, int *fd,
                                 struct hf_error *error);

/* Check that the open file ${fd}, called ${name}, may be used. */
hf_status hf_file_state_check(int fd, const char *dir, const char *name,
                              struct hf_error *error);

/* Read the file ${name} in the open directory ${dir}, which is at ${path}, into
 * ${text}: at most ${bytes} bytes, the NUL included.
 *   Fails      HF_EGONE if there is none; HF_EDIR HF_EDENIED HF_ELIMIT. */
hf_status hf_file_state_read(int dir, const char *path, const char *name,
                             char *text, size_t bytes, struct hf_error *error);

/* Replace the file ${name} by one with ${text}.  After HF_OK it is on the disk.
 * The caller keeps out other writers of this file.
 *   Time       a sync of a small file, and one of its directory.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT. */
hf_status hf_file_state_write(int dir, const char *path, const char *name,
                              const char *text, struct hf_error *error);

/* ------------------------------------------------------------- the boot -- */

/* Returns the id of this boot, since which CLOCK_BOOTTIME counts.  If it cannot
 * be read, all zero, which is the id of no boot. */
struct hf_ticket_id hf_file_boot(void);

#endif
