/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a lock: giving back its lock, and removing it.  One that is
 * empty goes by rmdir() alone; else the files of dead owners are removed first.
 */
#include "engines/file/lock_dir.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#include "engines/file/listing.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/timed_flock.h"

void hf_file_lock_dir_unlock(struct hf_file_root_dir *root_dir,
                             const char *dir_name, int dir, bool current)
{
    struct hf_file_token_counter *counter = &root_dir->counter;

    (void)hf_file_sys_flock(dir, LOCK_UN);
    if (current || hf_file_token_counter_is_current(
                       counter, root_dir->settings->counter_path))
        hf_file_flock_wake(hf_file_token_counter_futex(counter, dir_name));
}

/* Is the directory ${dir} the one at ${path}? */
static bool is_same_dir(int dir, const char *path)
{
    struct stat open_one, at_path;

    return hf_file_sys_fstat(dir, &open_one) == 0 &&
           hf_file_sys_lstat(path, &at_path) == 0 &&
           open_one.st_dev == at_path.st_dev &&
           open_one.st_ino == at_path.st_ino;
}

/* Remove all that dead owners have left in the directory, whose lock we have.
 * False if a living owner has a ticket in it, or if that is unknown. */
static bool remove_dead(struct hf_file_root_dir *root_dir,
                        struct hf_file_listing *listing, int dir)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    if (hf_file_listing_read(listing, dir, listing->dir_name, NULL, &unused) !=
        HF_OK)
        return false;
    while (listing->tickets.count > 0) {
        hf_file_name_format(listing->tickets.items, file);
        hf_file_root_settings_path(settings, listing->dir_name, file, path);
        if (hf_file_fifo_probe(root_dir->descriptors, path, NULL, &unused) !=
                HF_OWNER_DEAD ||
            hf_file_fifo_and_payload_remove(settings, listing->dir_name,
                                            listing->tickets.items, &found,
                                            &unused) != HF_OK)
            return false;
        hf_file_listing_drop(listing, 0);
    }
    hf_file_listing_remove_orphans(listing, dir);
    (void)hf_file_sys_unlinkat(dir, HF_NEW_FILE);
    (void)hf_file_sys_unlinkat(dir, HF_NAME_FILE);
    return true;
}

void hf_file_lock_dir_remove_unused(struct hf_file_root_dir *root_dir,
                                    const char *dir_name, int dir)
{
    char path[HF_PATH_BYTES];
    struct hf_file_listing *listing;

    if (hf_file_sys_flock(dir, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody uses it */
    hf_file_root_settings_path(root_dir->settings, dir_name, NULL, path);
    /* Not if another directory is at the path by now. */
    if (is_same_dir(dir, path) && hf_file_sys_rmdir(path) != 0 &&
        errno == ENOTEMPTY) {
        listing = hf_file_listing_new(dir_name, HF_LISTING_ALL);
        if (listing != NULL && remove_dead(root_dir, listing, dir))
            (void)hf_file_sys_rmdir(path);
        hf_file_listing_unref(listing);
    }
    hf_file_lock_dir_unlock(root_dir, dir_name, dir, false);
}
