/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the root directory, from the URL and the environment: where
 * it is, the modes of the files in it, and with whom it is shared.
 */
#ifndef HF_ENGINES_FILE_ROOT_SETTINGS_H
#define HF_ENGINES_FILE_ROOT_SETTINGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/url.h"
#include "engines/file/file_names.h"
#include "engines/file/safe_path.h"
#include "engines/file/token_floor.h"

/* The directory of the locks, in the root directory. */
#define HF_FILE_LOCKS "locks"

/* The longest path of a root directory with its NUL, and room for any path
 * below it. */
#define HF_ROOT_BYTES 1024
#define HF_PATH_BYTES                                                          \
    (HF_ROOT_BYTES + sizeof("/locks/") + HF_DIR_NAME_BYTES +                   \
     HF_PAYLOAD_FILE_BYTES)

/* The settings.  hf_file_root_settings_choose() sets them once. */
struct hf_file_root_settings {
    char root[HF_ROOT_BYTES]; /* absolute path */
    /* path of the counter in the root directory */
    char counter_path[HF_ROOT_BYTES + sizeof("/counter")];
    char state[HF_TOKEN_FLOOR_DIR_BYTES]; /* the directory of the token floor */
    bool by_default; /* neither the URL nor $HOLDFAST_DIR named .root */
    /* ?state= names .state, so it is an error if it cannot be used */
    bool state_required;
    /* ?mode= was given, so files get the modes below whatever the umask is */
    bool shared;
    /* with whom .mode shares the root directory */
    enum hf_file_sharing sharing;
    mode_t mode;      /* mode of a new root directory */
    mode_t dir_mode;  /* mode of new directories in the root directory */
    mode_t file_mode; /* mode of new files in these */
};

/* Set ${settings} from ${url} and the environment.  The root directory is the
 * path of the URL, or $HOLDFAST_DIR, or that of
 * hf_file_root_settings_default().
 *   Fails     HF_EURL; HF_EDIR for a bad $HOLDFAST_DIR. */
hf_status hf_file_root_settings_choose(const struct hf_url *url,
                                       struct hf_file_root_settings *settings,
                                       struct hf_error *error);

/* Set ${root} to the default directory of ${uid}: /run/holdfast for root, else
 * /run/lock/holdfast-UID where /run/lock is sticky and world-writable, else
 * /tmp/holdfast-UID. */
void hf_file_root_settings_default(uid_t uid, char root[HF_ROOT_BYTES]);

/* Set ${path} to ROOT/locks/DIR_NAME, or ROOT/locks/DIR_NAME/FILE if ${file} is
 * not NULL. */
void hf_file_root_settings_path(const struct hf_file_root_settings *settings,
                                const char *dir_name, const char *file,
                                char path[HF_PATH_BYTES]);

#endif
