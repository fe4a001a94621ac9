/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The durable floor: DIR/floor holds a number in decimal that no token handed
 * out so far is above.  The counter itself may live on a tmpfs or be lost;
 * what follows a reboot starts from here.
 */
#ifndef HF_ENGINES_FILE_TOKEN_FLOOR_H
#define HF_ENGINES_FILE_TOKEN_FLOOR_H

#include <stdint.h>

#include <holdfast/holdfast.h>

#define HF_TOKEN_FLOOR_DIR_BYTES 1024 /* of DIR, with its NUL */

/* The directory used unless ?state= names one. */
void hf_token_floor_default(char dir[HF_TOKEN_FLOOR_DIR_BYTES]);

/* Reserve ${count} numbers above max(${above}, all reserved before) and set
 * ${start} to that maximum: what is in (start, start + count] is the caller's
 * to hand out, once this has returned HF_OK, and for that it is on the disk.
 * Numbers that an earlier caller of the same root reserved stay good.
 *   Time      two syncs of a small file, a third the first time; up to
 * HF_FLOCK_TIMEOUT_MS for the lock. Thread    any. Fails     HF_EDIR HF_EDENIED
 * HF_EFULL HF_ELIMIT; ${start} is then the greatest of ${above} and what could
 * be read, and nothing is reserved. */
hf_status hf_token_floor_reserve(const char *dir, uint64_t above,
                                 uint64_t count, uint64_t *start,
                                 struct hf_error *error);

#endif
