/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place: a root directory, opened and checked, with its counter.  When
 * somebody removes or replaces it, a new place is opened instead of it; the
 * old one lives on while a helper thread uses it.
 */
#ifndef HF_ENGINES_FILE_ROOT_DIR_H
#define HF_ENGINES_FILE_ROOT_DIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/url.h"
#include "engines/file/file_names.h"
#include "engines/file/safe_path.h"
#include "engines/file/token_counter.h"

/* The longest root directory, with its NUL, and any path below it. */
#define HF_ROOT_BYTES 1024
#define HF_PATH_BYTES                                                          \
    (HF_ROOT_BYTES + sizeof("/locks/") + HF_DIR_NAME_BYTES +                   \
     HF_PAYLOAD_FILE_BYTES)

/* What the URL and the environment decided; never changes after. */
struct hf_root_settings {
    char root[HF_ROOT_BYTES];
    char counter_path[HF_ROOT_BYTES + sizeof("/counter")];
    char state[HF_TOKEN_FLOOR_DIR_BYTES];
    bool by_default;     /* neither the URL nor $HOLDFAST_DIR named the root */
    bool state_required; /* ?state= was given */
    bool shared; /* ?mode= was given: what is made has exactly its mode */
    enum hf_sharing sharing; /* with whom, by that mode */
    mode_t mode;             /* of the root directory when it is made */
};

/* Read ${url} and the environment: the directory is the URL's path, else
 * $HOLDFAST_DIR, else /run/holdfast for root, else /run/lock/holdfast-UID where
 * /run/lock is sticky and world-writable, else /tmp/holdfast-UID.
 *   Fails     HF_EURL HF_EDIR (a bad $HOLDFAST_DIR). */
hf_status hf_root_settings_choose(const struct hf_url *url,
                                  struct hf_root_settings *settings,
                                  struct hf_error *error);

/* The directory that ${uid} has by default. */
void hf_root_settings_default(uid_t uid, char root[HF_ROOT_BYTES]);

/* Modes for what is made below the root directory. */
mode_t hf_root_settings_dir_mode(const struct hf_root_settings *settings);
mode_t hf_root_settings_file_mode(const struct hf_root_settings *settings);

/* ROOT/locks/ENTRY, or ROOT/locks/ENTRY/FILE if ${file} is not NULL. */
void hf_root_settings_path(const struct hf_root_settings *settings,
                           const char *dir_name, const char *file,
                           char path[HF_PATH_BYTES]);

struct hf_root_dir {
    atomic_uint references;
    const struct hf_root_settings *settings;
    struct hf_descriptors *descriptors;
    struct hf_path_policy policy; /* in what is below the root directory */
    int root_fd;  /* held LOCK_SH, so that cleaners of temporary */
    int locks_fd; /* directories (systemd-tmpfiles) leave them alone */
    struct hf_token_counter counter;
    bool creates; /* what is missing is made; only while it is opened */
};

/* Make what is missing, check whose all of it is, and set ${root_dir} to it
 * with one reference. Ownership ${settings} and ${descriptors} are borrowed for
 * its life. Thread    any. Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT
 * HF_ENOMEM. */
hf_status hf_root_dir_open(const struct hf_root_settings *settings,
                           struct hf_descriptors *descriptors,
                           struct hf_root_dir **root_dir,
                           struct hf_error *error);

/* The same, but make no directory: ${root_dir} is NULL with HF_OK if the root
 * or its "locks" is not there.  The way to the root is checked all the same. */
hf_status hf_root_dir_open_existing(const struct hf_root_settings *settings,
                                    struct hf_descriptors *descriptors,
                                    struct hf_root_dir **root_dir,
                                    struct hf_error *error);

struct hf_root_dir *hf_root_dir_ref(struct hf_root_dir *root_dir);
void hf_root_dir_unref(struct hf_root_dir *root_dir); /* NULL is fine */

/* May tickets live on a filesystem with this statfs() magic?  HF_EDIR names
 * the type of one that they may not. */
hf_status hf_root_dir_check_filesystem(uint64_t magic, const char *path,
                                       struct hf_error *error);

/* May the lock's directory at ${path}, which is open as ${fd}, be used?
 *   Fails     HF_EDENIED HF_EDIR. */
hf_status hf_root_dir_check_lock_dir(const struct hf_root_dir *root_dir, int fd,
                                     const char *path, struct hf_error *error);

/* Make the directory of ${fd} what ${mode} says, where the umask took bits. */
hf_status hf_root_dir_set_mode(int fd, mode_t mode, const char *path,
                               struct hf_error *error);

#endif
