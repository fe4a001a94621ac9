/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe paths: who may own the files that this engine uses, and who may write to
 * them.
 *
 * A user who made the directory of a queue, or who can replace it, decides
 * which ticket holds the lock.  So every component from "/" to the root
 * directory, the directories below that, the counter, and STATE with its files
 * are checked on an open descriptor, as sshd does with authorized_keys
 * ("StrictModes", safe_path()) and sudo with its modules.  What passes can be
 * changed only by root, by this user, by the owner of "/", and by those with
 * whom ?mode= shares the root.  So a path that was checked once stays safe.
 *
 * The group's bits of a mode are also the mask of an access control list, so a
 * list that lets anybody write shows there.
 */
#ifndef HF_ENGINES_FILE_SAFE_PATH_H
#define HF_ENGINES_FILE_SAFE_PATH_H

#include <sys/stat.h>

#include <holdfast/status.h>

/* With whom is the root directory shared?  Root and this user are always
 * trusted. */
enum hf_file_sharing {
    HF_SHARING_NONE,
    HF_SHARING_GROUP, /* with the group of the root directory */
    HF_SHARING_ALL,   /* with every user of the machine */
};

/* What a file must be like to be used. */
struct hf_file_path_policy {
    enum hf_file_sharing sharing;
    gid_t group;        /* with HF_SHARING_GROUP: of the root directory */
    const char *remedy; /* what to do, for error texts; static */
};

/* Open the directory that holds the last component of ${path}, an absolute path
 * without a slash at its end, and set ${name} to that component.  Each
 * directory and symbolic link on the way belongs to root, to this user or to
 * the owner of "/" (who can replace all the others anyway); and nobody else can
 * write there, unless the sticky bit keeps them from what is not theirs.
 *   Ownership ${dir} is the caller's to close; it was opened with O_PATH.
 *   Time      three calls for each component, more for a symbolic link.
 *   Fails     HF_EDENIED for what others could replace; HF_EDIR for what is
 *             missing or no directory; HF_ELIMIT HF_ENOMEM. */
hf_status hf_file_safe_path_open_parent(const char *path, int *dir,
                                        struct stat *parent, const char **name,
                                        struct hf_error *error);

/* May the file or directory ${path} be used?  ${status} is from fstat().
 *   Fails     HF_EDENIED.  Unshared: if neither root nor this user owns it, or
 *             others can write it.  Shared with a group: if everybody or
 *             another group can write it. */
hf_status hf_file_safe_path_check(const struct hf_file_path_policy *policy,
                                  const struct stat *status, const char *path,
                                  struct hf_error *error);

/* The same for the root directory, whose parent has ${parent}.  If it is shared
 * with a group, only a member of the group, root or this user may have made it,
 * and files that are made in it must get the group.
 *   Fails     HF_EDENIED; HF_EDIR without the set-group-id bit. */
hf_status hf_file_safe_path_check_root(const struct hf_file_path_policy *policy,
                                       const struct stat *parent,
                                       const struct stat *status,
                                       const char *path,
                                       struct hf_error *error);

/* Check that those with whom the root is not shared cannot open the file or
 * directory ${path}: they could lock it, and keep everybody waiting.
 *   Fails     HF_EDENIED. */
hf_status
hf_file_safe_path_check_readers(const struct hf_file_path_policy *policy,
                                const struct stat *status, const char *path,
                                struct hf_error *error);

/* hf_file_safe_path_check() for a regular file, which must have one name only.
 *   Fails     HF_EDIR too, if it is no regular file. */
hf_status hf_file_safe_path_check_file(const struct hf_file_path_policy *policy,
                                       const struct stat *status,
                                       const char *path,
                                       struct hf_error *error);

#endif
