/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root directory, opened and checked, with its counter.
 *
 * When somebody removes or replaces the directory, it is opened anew as another
 * struct hf_file_root_dir.  The old one lives on while the worker thread uses
 * it.
 */
#ifndef HF_ENGINES_FILE_ROOT_DIR_H
#define HF_ENGINES_FILE_ROOT_DIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engines/file/root_settings.h"
#include "engines/file/token_counter.h"

/* Only .references and .counter change after the open. */
struct hf_file_root_dir {
    atomic_uint references;
    uint64_t number; /* rises with each open in this process */
    const struct hf_file_root_settings *settings; /* borrowed from the engine */
    struct hf_file_descriptors *descriptors;      /* the same */
    struct hf_file_path_policy policy; /* for what is in the root directory */
    /* Held with LOCK_SH, so that cleaners of temporary directories
     * (systemd-tmpfiles) leave them alone. */
    int root_fd;
    int locks_fd;
    struct hf_file_token_counter counter;
    bool creates; /* make what is missing; read during the open only */
};

/* Open the root directory, make what is missing and check who owns it.
 * ${root_dir} has one reference then.
 *   Ownership  ${settings} and ${descriptors} are borrowed for its life.
 *   Thread     any.
 *   Fails      HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT HF_ENOMEM; ${root_dir} is
 *              NULL then. */
hf_status hf_file_root_dir_open(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                struct hf_file_root_dir **root_dir,
                                struct hf_error *error);

/* The same, but make neither the root nor its "locks": HF_OK with ${root_dir}
 * NULL if one is not there; the way to the root is checked all the same.  If
 * both are there, a counter and a token floor that are missing are made. */
hf_status
hf_file_root_dir_open_existing(const struct hf_file_root_settings *settings,
                               struct hf_file_descriptors *descriptors,
                               struct hf_file_root_dir **root_dir,
                               struct hf_error *error);

/* Take or give back a reference; with the last one it is closed.  Any thread.
 */
struct hf_file_root_dir *
hf_file_root_dir_ref(struct hf_file_root_dir *root_dir);
void hf_file_root_dir_unref(
    struct hf_file_root_dir *root_dir); /* NULL: nothing */

/* May tickets live on a filesystem with this statfs() ${magic}?  HF_EDIR, with
 * the type of the filesystem, if not. */
hf_status hf_file_root_dir_check_filesystem(uint64_t magic, const char *path,
                                            struct hf_error *error);

/* The name of the filesystem with this ${magic}. */
const char *hf_file_root_dir_filesystem_name(uint64_t magic);

/* May the lock's directory at ${path}, open as ${fd}, be used?
 *   Fails     what hf_file_safe_path_check() does; HF_EDIR. */
hf_status
hf_file_root_dir_check_lock_dir(const struct hf_file_root_dir *root_dir, int fd,
                                const char *path, struct hf_error *error);

/* Give the directory ${fd} ${mode}, from which the umask took bits when it was
 * made; a set-group-id bit stays.  One of another user is left as it is. */
hf_status hf_file_root_dir_set_mode(int fd, mode_t mode, const char *path,
                                    struct hf_error *error);

#endif
