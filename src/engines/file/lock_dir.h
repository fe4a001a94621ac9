/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of one lock, ROOT/locks/DIR_NAME: how its lock is given back,
 * and how it is removed when nobody uses it.
 */
#ifndef HF_ENGINES_FILE_LOCK_DIR_H
#define HF_ENGINES_FILE_LOCK_DIR_H

#include "engines/file/root_dir.h"

/* An open directory; .fd -1: none is open. */
struct hf_file_lock_dir {
    int fd;
    dev_t device; /* to see whether it is the one at its path */
    ino_t inode;
};

/* Give back the lock of the directory, open as ${dir}, and wake one of those
 * that wait for it.  By LOCK_UN and not by closing ${dir}, because the child of
 * a fork may have a copy of that.  ${current}: the counter has been found
 * current since the directory was locked, so that it need not be checked again.
 */
void hf_file_lock_dir_unlock(struct hf_file_root_dir *root_dir,
                             const char *dir_name, int dir, bool current);

/* Remove the directory, open as ${dir}, if no living owner has a ticket in it
 * and nobody has its lock.  Tickets of dead owners are removed with it. */
void hf_file_lock_dir_remove_unused(struct hf_file_root_dir *root_dir,
                                    const char *dir_name, int dir);

#endif
