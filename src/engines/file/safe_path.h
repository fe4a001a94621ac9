/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe paths: who may own the files that this engine uses, and who may write to
 * them.
 *
 * A user who made the directory of a queue, or can replace it, decides which
 * ticket holds the lock.  So these are all checked on an open descriptor: every
 * component from "/" to the root directory, the directories below it, the
 * counter, and STATE with its files.  sshd does the same with authorized_keys
 * ("StrictModes", safe_path()), and sudo with its modules.  What passes can be
 * changed only by root, by this user, by the owner of "/", and by those with
 * whom ?mode= shares the root directory.  So a path that was checked once stays
 * safe.
 *
 * An access control list that lets others write is noticed, too, because its
 * mask shows in the group's bits of the mode.
 */
#ifndef HF_ENGINES_FILE_SAFE_PATH_H
#define HF_ENGINES_FILE_SAFE_PATH_H

#include <sys/stat.h>

#include <holdfast/status.h>

/* With whom the root directory is shared.  The user root and this user are
 * always trusted. */
enum hf_file_sharing {
    HF_SHARING_NONE,
    HF_SHARING_GROUP, /* with the group of the root directory */
    HF_SHARING_ALL,   /* with every user of the machine */
};

/* What a file must fulfil to be used. */
struct hf_file_path_policy {
    enum hf_file_sharing sharing;
    /* with HF_SHARING_GROUP: the group of the root directory */
    gid_t group;
    const char *remedy; /* for error texts: what to do; a static text */
};

/* Open the directory that has the last component of ${path}, and set ${name} to
 * that component.  ${path} is absolute and has no slash at its end.  Every
 * directory and symbolic link on the way must belong to root, to this user or
 * to the owner of "/" (who can replace everything anyway).  Nobody else may be
 * able to write there, unless the sticky bit keeps them from the files of
 * others.
 *   Ownership  the caller closes ${dir}; it was opened with O_PATH.
 *   Time       three calls for each component, more for a symbolic link.
 *   Fails      HF_EDENIED for what others could replace; HF_EDIR for what is
 *              missing or no directory; HF_ELIMIT HF_ENOMEM. */
hf_status hf_file_safe_path_open_parent(const char *path, int *dir,
                                        struct stat *parent, const char **name,
                                        struct hf_error *error);

/* Check that the file or directory ${path} may be used.  ${status} is from
 * fstat().
 *   Fails     HF_EDENIED.  Not shared: if neither root nor this user owns it,
 *             or others can write to it.  Shared with a group: if everybody
 *             or another group can write to it. */
hf_status hf_file_safe_path_check(const struct hf_file_path_policy *policy,
                                  const struct stat *status, const char *path,
                                  struct hf_error *error);

/* The same for the root directory; ${parent} is the status of its parent.  If
 * it is shared with a group, a member of that group, root or this user must
 * have made it, and files that are made in it must get that group.
 *   Fails     HF_EDENIED; HF_EDIR without the set-group-id bit. */
hf_status hf_file_safe_path_check_root(const struct hf_file_path_policy *policy,
                                       const struct stat *parent,
                                       const struct stat *status,
                                       const char *path,
                                       struct hf_error *error);

/* Check that users with whom the root directory is not shared cannot open the
 * file or directory ${path}.  Otherwise they could flock() it and keep
 * everybody waiting.
 *   Fails     HF_EDENIED. */
hf_status
hf_file_safe_path_check_readers(const struct hf_file_path_policy *policy,
                                const struct stat *status, const char *path,
                                struct hf_error *error);

/* The same as hf_file_safe_path_check(), for a regular file, which must have
 * only one name.
 *   Fails     HF_EDIR, too, if it is no regular file. */
hf_status hf_file_safe_path_check_file(const struct hf_file_path_policy *policy,
                                       const struct stat *status,
                                       const char *path,
                                       struct hf_error *error);

#endif
