/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the root directory: where it is, with which modes files are
 * made in it, and with whom it is shared.  They come from the URL and the
 * environment.
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

/* The longest path of a root directory, with its NUL, and room for any path
 * below it. */
#define HF_ROOT_BYTES 1024
#define HF_PATH_BYTES                                                          \
    (HF_ROOT_BYTES + sizeof("/locks/") + HF_DIR_NAME_BYTES +                   \
     HF_PAYLOAD_FILE_BYTES)

/* Never change after hf_file_root_settings_choose(). */
struct hf_file_root_settings {
    char root[HF_ROOT_BYTES];                              /* absolute path */
    char counter_path[HF_ROOT_BYTES + sizeof("/counter")]; /* in it */
    char state[HF_TOKEN_FLOOR_DIR_BYTES]; /* the directory of the token floor */
    bool by_default;     /* neither the URL nor $HOLDFAST_DIR named .root */
    bool state_required; /* ?state= named .state: without it, fail */
    bool shared; /* ?mode= was given: the modes below hold despite the umask */
    enum hf_file_sharing sharing; /* with whom, by that mode */
    mode_t mode;                  /* of the root directory when it is made */
    mode_t dir_mode;  /* of the directories that are made below it */
    mode_t file_mode; /* of the files that are made below it */
};

/* Read ${url} and the environment.  The root directory is the URL's path, else
 * $HOLDFAST_DIR, else that of hf_file_root_settings_default().
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
