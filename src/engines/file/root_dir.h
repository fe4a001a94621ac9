/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root directory, opened and checked, with its counter.
 *
 * If somebody removes or replaces the directory, it is opened again as another
 * struct hf_file_root_dir.  The old struct lives on while the worker thread
 * uses it.
 */
#ifndef HF_ENGINES_FILE_ROOT_DIR_H
#define HF_ENGINES_FILE_ROOT_DIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engines/file/root_settings.h"
#include "engines/file/token_counter.h"

/* An open root directory.  Only .references and .counter change after the
 * open. */
struct hf_file_root_dir {
    atomic_uint references;
    uint64_t number; /* counts the opens in this process */
    const struct hf_file_root_settings *settings; /* borrowed from the engine */
    struct hf_file_descriptors *descriptors;      /* borrowed from the engine */
    /* who may own what is in the root directory */
    struct hf_file_path_policy policy;
    /* Both are held with LOCK_SH, so that programs that clean up temporary
     * directories (systemd-tmpfiles) leave them alone. */
    int root_fd;
    int locks_fd;
    struct hf_file_token_counter counter;
    /* whether to make what is missing; used during the open only */
    bool creates;
};

/* Open the root directory, make what is missing, and check who owns it.
 * ${root_dir} then has one reference.
 *   Ownership  ${settings} and ${descriptors} are borrowed until it is closed.
 *   Thread     any.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_ENOMEM; ${root_dir} is
 *              NULL then. */
hf_status hf_file_root_dir_open(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                struct hf_file_root_dir **root_dir,
                                struct hf_error *error);

/* The same, but do not make the root directory or its "locks".  If one of them
 * is missing, returns HF_OK with ${root_dir} NULL; the directories above it are
 * checked all the same.  If both are there, a counter and a token floor are
 * made if they are missing. */
hf_status
hf_file_root_dir_open_existing(const struct hf_file_root_settings *settings,
                               struct hf_file_descriptors *descriptors,
                               struct hf_file_root_dir **root_dir,
                               struct hf_error *error);

/* Add or drop a reference; the last one closes the directory.  May be called by
 * any thread. */
struct hf_file_root_dir *
hf_file_root_dir_ref(struct hf_file_root_dir *root_dir);
void hf_file_root_dir_unref(
    struct hf_file_root_dir *root_dir); /* does nothing for NULL */

/* Check that tickets may be kept on a filesystem with this statfs() ${magic}.
 * If not, returns HF_EDIR and a text with the type of the filesystem. */
hf_status hf_file_root_dir_check_filesystem(uint64_t magic, const char *path,
                                            struct hf_error *error);

/* Returns the name of the filesystem with this ${magic}. */
const char *hf_file_root_dir_filesystem_name(uint64_t magic);

/* Check that the lock's directory at ${path}, open as ${fd}, may be used.
 *   Fails     as hf_file_safe_path_check(); HF_EDIR. */
hf_status
hf_file_root_dir_check_lock_dir(const struct hf_file_root_dir *root_dir, int fd,
                                const char *path, struct hf_error *error);

/* Give the new directory ${fd} the mode ${mode}, some bits of which the umask
 * may have removed.  A set-group-id bit stays.  Does nothing if another user
 * owns the directory. */
hf_status hf_file_root_dir_set_mode(int fd, mode_t mode, const char *path,
                                    struct hf_error *error);

#endif
