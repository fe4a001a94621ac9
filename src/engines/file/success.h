/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The success of a lock on disk.  It is stored twice: as the text of the
 * symlink "success" in the directory of the lock, which all processes of the
 * root share; and as a file in STATE, which outlives a reboot.  The one with
 * the greater token counts.
 *
 * The text has the time by two clocks: CLOCK_REALTIME, and CLOCK_BOOTTIME with
 * the id of the boot.  Within the same boot, the age is computed with
 * CLOCK_BOOTTIME, so that it does not change when the wall clock is set.
 */
#ifndef HF_ENGINES_FILE_SUCCESS_H
#define HF_ENGINES_FILE_SUCCESS_H

#include <holdfast/success.h>

#include "engines/file/root_dir.h"

/* Set ${success} to the success of ${queue}, whose directory is open as ${dir};
 * -1: there is no directory.
 *   Time      two files are read.
 *   Thread    any.
 *   Fails     HF_EDIR HF_EDENIED HF_ELIMIT. */
hf_status hf_file_success_read(const struct hf_file_root_settings *settings,
                               int dir, const char *queue,
                               struct hf_success *success,
                               struct hf_error *error);

/* Write ${token} and the present time as the success of ${queue}, unless there
 * is a success with a greater token.  Sets ${written} to whether it was
 * written.  The caller has the lock of the directory, which is open as ${dir}
 * and is at ${path}.
 *   Time      some syncs of small files.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT.  If STATE cannot be used,
 *             it fails only if STATE is required, or if this process has not
 *             found out yet that it cannot be used (.not_durable of the
 *             counter). */
hf_status hf_file_success_write(struct hf_file_root_dir *root_dir, int dir,
                                const char *path, const char *queue,
                                uint64_t token, bool *written,
                                struct hf_error *error);

#endif
