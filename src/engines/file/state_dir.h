/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE, the directory of what outlives a reboot: the token floor, and the
 * successes of locks.  It belongs to one user.  The root directory may be in
 * memory; this one is on a disk.
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

/* Open ${dir} and check who owns it.  If it is missing: make it if ${make},
 * else fail with HF_EGONE.
 *   Ownership  ${fd} is the caller's to close; -1 after a failure.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT; HF_EGONE. */
hf_status hf_file_state_dir_open(const char *dir, bool make, int *fd,
                                 struct hf_error *error);

/* May the open file ${fd}, called ${name}, be used? */
hf_status hf_file_state_check(int fd, const char *dir, const char *name,
                              struct hf_error *error);

/* Read the file ${name} in the open directory ${dir}, which is at ${path}, into
 * ${text}: at most ${bytes}, with a NUL.
 *   Fails      HF_EGONE if there is none; HF_EDIR HF_EDENIED HF_ELIMIT. */
hf_status hf_file_state_read(int dir, const char *path, const char *name,
                             char *text, size_t bytes, struct hf_error *error);

/* Put ${text} in the place of the file ${name}.  After HF_OK it is on the disk.
 * The caller excludes other writers of this file.
 *   Time       a sync of a small file, and one of its directory.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT. */
hf_status hf_file_state_write(int dir, const char *path, const char *name,
                              const char *text, struct hf_error *error);

/* ------------------------------------------------------------- the boot -- */

/* The id of this boot, from which CLOCK_BOOTTIME counts; all zero, which no
 * boot has, if it cannot be read. */
struct hf_ticket_id hf_file_boot(void);

#endif
