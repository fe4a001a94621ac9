/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token floor: DIR/floor holds a number in decimal, and no token handed out
 * so far is greater, unless the floor could not be written (.not_durable of the
 * counter).  The counter itself may live on a tmpfs or be lost; a new counter
 * starts above the floor, so tokens rise across a reboot.
 */
#ifndef HF_ENGINES_FILE_TOKEN_FLOOR_H
#define HF_ENGINES_FILE_TOKEN_FLOOR_H

#include <stdint.h>

#include <holdfast/status.h>

#define HF_TOKEN_FLOOR_DIR_BYTES 1024 /* the path of DIR, with its NUL */

/* Set ${dir} to the directory that is used unless ?state= names one. */
void hf_file_token_floor_default(char dir[HF_TOKEN_FLOOR_DIR_BYTES]);

/* Reserve ${count} numbers above max(${above}, all reserved before) and set
 * ${start} to that maximum.  After HF_OK the reservation is on the disk, and
 * the numbers in (start, start + count] are the caller's to hand out.  Those
 * that an earlier caller of the same root reserved stay good.
 *   Time      a sync of a small file and one of its directory, the first time
 *             also one of the parent; up to HF_FLOCK_TIMEOUT_MS for the lock of
 *             ${dir}.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_EUNREACHABLE; ${start}
 *             is then the greatest of ${above} and what could be read, and
 *             nothing is reserved. */
hf_status hf_file_token_floor_reserve(const char *dir, uint64_t above,
                                      uint64_t count, uint64_t *start,
                                      struct hf_error *error);

/* Say to cleaners of temporary files that the floor of ${dir} is in use: they
 * go by its times.  HF_EGONE: there is none.  Any other status but HF_OK: it
 * cannot be reached or touched just now. */
hf_status hf_file_token_floor_keep(const char *dir);

#endif
