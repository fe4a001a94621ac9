/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token floor, the file DIR/floor: a decimal number that is not less than
 * any token given out so far, unless the floor could not be written
 * (.not_durable of the counter).  The counter itself may be in memory or be
 * lost.  A new counter starts above the floor, so tokens rise across a reboot.
 */
#ifndef HF_ENGINES_FILE_TOKEN_FLOOR_H
#define HF_ENGINES_FILE_TOKEN_FLOOR_H

#include <stdint.h>

#include <holdfast/status.h>

#define HF_TOKEN_FLOOR_DIR_BYTES 1024 /* the path of DIR, with its NUL */

/* Set ${dir} to the directory that is used if the URL has no ?state=. */
void hf_file_token_floor_default(char dir[HF_TOKEN_FLOOR_DIR_BYTES]);

/* Reserve ${count} numbers above the greater of ${above} and all numbers
 * reserved before, and set ${start} to that greater number.  After HF_OK the
 * reservation is on the disk, and the caller may give out the numbers from
 * start + 1 to start + count.  Numbers that others of the same root have
 * reserved stay valid.
 *   Time      a sync of a small file and one of its directory, the first time
 *             also one of the parent; up to HF_FLOCK_TIMEOUT_MS for the lock
 *             of ${dir}.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_EUNREACHABLE; ${start}
 *             is then the greatest of ${above} and what could be read, and
 *             nothing is reserved. */
hf_status hf_file_token_floor_reserve(const char *dir, uint64_t above,
                                      uint64_t count, uint64_t *start,
                                      struct hf_error *error);

/* Touch the floor in ${dir}, so that programs that clean up old files do not
 * remove it.  Returns HF_EGONE if there is no floor; any other error means that
 * it cannot be reached or touched now. */
hf_status hf_file_token_floor_keep(const char *dir);

#endif
