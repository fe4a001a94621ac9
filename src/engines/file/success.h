/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The success of a lock on disk, twice: as the text of the symlink "success" in
 * the directory of the lock, which all processes of the root share, and as a
 * file of STATE, which outlives a reboot.  The one with the greater token
 * counts.
 *
 * The text has the time of two clocks: CLOCK_REALTIME, and CLOCK_BOOTTIME with
 * the id of the boot.  In the same boot the age is by CLOCK_BOOTTIME, so that
 * a wall clock that is set changes nothing.
 */
#ifndef HF_ENGINES_FILE_SUCCESS_H
#define HF_ENGINES_FILE_SUCCESS_H

#include <holdfast/success.h>

#include "engines/file/root_dir.h"

/* Set ${success} to that of ${queue}, whose directory is open as ${dir}; -1: it
 * is not there.
 *   Time      two files are read.
 *   Thread    any.
 *   Fails     HF_EDIR HF_EDENIED HF_ELIMIT. */
hf_status hf_file_success_read(const struct hf_file_root_settings *settings,
                               int dir, const char *queue,
                               struct hf_success *success,
                               struct hf_error *error);

/* Write ${token} and the present time as the success of ${queue}, unless there
 * is one with a greater token, and set ${written} to whether it was written.
 * The caller has the lock of the directory, which is open as ${dir} and at
 * ${path}.
 *   Time      some syncs of small files.
 *   Thread    any that may wait.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT; if STATE cannot be used,
 *             only where it is required, or while this process has not found
 *             that it cannot (.not_durable of the counter). */
hf_status hf_file_success_write(struct hf_file_root_dir *root_dir, int dir,
                                const char *path, const char *queue,
                                uint64_t token, bool *written,
                                struct hf_error *error);

#endif
