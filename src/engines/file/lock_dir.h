/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of one lock, ROOT/locks/NAME: open, under flock(), and removed
 * when nobody uses it.
 */
#ifndef HF_ENGINES_FILE_LOCK_DIR_H
#define HF_ENGINES_FILE_LOCK_DIR_H

#include "engines/file/root_dir.h"

/* A lock's directory, open; .fd is -1 if none is. */
struct hf_lock_dir {
    int fd;
    dev_t device;
    ino_t inode;
};

/* Unlock the directory, open as ${dir}, and wake who waits for that.  By name:
 * the child of a fork may have a copy of the descriptor.  ${current}: the
 * counter has been found current since it was locked, so that need not be asked
 * again. */
void hf_lock_dir_unlock(struct hf_root_dir *root_dir, const char *dir_name,
                        int dir, bool current);

/* Remove the lock's directory, open as ${dir}, if nobody alive has a ticket in
 * it and nobody is at work in it. */
void hf_lock_dir_remove_unused(struct hf_root_dir *root_dir,
                               const char *dir_name, int dir);

#endif
