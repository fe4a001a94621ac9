/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the root directory: the directories above it, the directory itself, its
 * filesystem, its "locks" and its counter.  Each is checked before the next is
 * opened.
 */
#include "engines/file/root_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/syscalls.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* The filesystems that are known, with numbers from statfs(2) and the kernel's
 * magic.h.  A filesystem is allowed if it was shown to end flocks, hang up
 * FIFOs and share mapped pages as this engine needs it. */
static const struct {
    uint64_t magic;
    const char *name;
    bool allowed;
} filesystems[] = {
    {0x01021994, "tmpfs", true},
    {0x858458f6, "ramfs", true},
    {0xef53, "ext2/3/4", true},
    {0x58465342, "xfs", true},
    {0x9123683e, "btrfs", true},
    {0xf2f52010, "f2fs", true},
    {0x794c7630, "overlay", true},
    {0x6969, "NFS", false},
    {0xff534d42, "CIFS", false},
    {0xfe534d42, "SMB2", false},
    {0x517b, "SMB", false},
    {0x65735546, "FUSE", false},
    {0x01021997, "9p", false},
    {0x00c36400, "Ceph", false},
    {0x5346414f, "AFS", false},
    {0x01161970, "GFS2", false},
    {0x7461636f, "OCFS2", false},
    {0x0bd00bd0, "Lustre", false},
    {0x2fc12fc1, "ZFS", false},
    {0x4d44, "FAT", false},
    {0x2011bab0, "exFAT", false},
    {0x9fa0, "proc", false},
    {0x62656572, "sysfs", false},
    {0x73717368, "squashfs", false},
    {0xf15f, "eCryptfs", false},
    {0x786f4256, "VirtualBox shared folder", false},
};

#define FILESYSTEMS (sizeof(filesystems) / sizeof(filesystems[0]))

const char *hf_file_root_dir_filesystem_name(uint64_t magic)
{
    for (size_t i = 0; i < FILESYSTEMS; i++) {
        if (filesystems[i].magic == magic)
            return filesystems[i].name;
    }
    return "of a type unknown to holdfast";
}

hf_status hf_file_root_dir_check_filesystem(uint64_t magic, const char *path,
                                            struct hf_error *error)
{
    for (size_t i = 0; i < FILESYSTEMS; i++) {
        if (filesystems[i].magic == magic && filesystems[i].allowed)
            return HF_OK;
    }
    return hf_error_set(error, HF_EDIR,
                        "%s is on a filesystem that locks cannot be kept on: "
                        "%s (0x%" PRIx64 "); expected tmpfs, ext4, xfs, btrfs, "
                        "f2fs or overlay on this machine",
                        path, hf_file_root_dir_filesystem_name(magic), magic);
}

hf_status hf_file_root_dir_set_mode(int fd, mode_t mode, const char *path,
                                    struct hf_error *error)
{
    struct stat status;

    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    /* A set-group-id bit that was inherited from the parent stays. */
    mode |= status.st_mode & S_ISGID;
    if (status.st_uid == geteuid() && (status.st_mode & 03777) != mode &&
        hf_file_sys_fchmod(fd, mode) != 0)
        return hf_file_error_set_errno(error, "set the mode of", path);
    return HF_OK;
}

hf_status
hf_file_root_dir_check_lock_dir(const struct hf_file_root_dir *root_dir, int fd,
                                const char *path, struct hf_error *error)
{
    struct stat status;

    if (hf_file_sys_fstat(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    return hf_file_safe_path_check(&root_dir->policy, &status, path, error);
}

/* Check "locks" in the same way; in addition, nobody else may even enter it. */
static hf_status check_locks(const struct hf_file_root_dir *root_dir,
                             const char *path, struct hf_error *error)
{
    struct stat status;
    hf_status checked;

    if (hf_file_sys_fstat(root_dir->locks_fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", path);
    checked = hf_file_safe_path_check(&root_dir->policy, &status, path, error);
    return checked == HF_OK ? hf_file_safe_path_check_readers(
                                  &root_dir->policy, &status, path, error)
                            : checked;
}

/* Check the filesystem of the open root directory. */
static hf_status check_filesystem(int fd,
                                  const struct hf_file_root_settings *settings,
                                  struct hf_error *error)
{
    struct statfs status;

    if (hf_file_sys_fstatfs(fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine the filesystem of",
                                       settings->root);
    return hf_file_root_dir_check_filesystem(
        (uint64_t)status.f_type & 0xffffffff, settings->root, error);
}

/* Open the directory ${name} in ${parent}, at ${path}.  If it is missing, it is
 * made with ${mode}; or this returns HF_EGONE, if nothing is to be made. */
static hf_status open_dir(struct hf_file_root_dir *root_dir, int parent,
                          const char *name, const char *path, mode_t mode,
                          int *fd, struct hf_error *error)
{
    bool created = false;

    *fd = hf_file_sys_openat(parent, name, DIR_FLAGS, 0);
    if (*fd < 0 && errno == ENOENT && !root_dir->creates)
        return hf_error_set(error, HF_EGONE, "%s is not there", path);
    if (*fd < 0 && errno == ENOENT) {
        created = hf_file_sys_mkdirat(parent, name, mode) == 0;
        if (!created && errno != EEXIST)
            return hf_file_error_set_errno(error, "create", path);
        *fd = hf_file_sys_openat(parent, name, DIR_FLAGS, 0);
    }
    if (*fd < 0)
        return hf_file_error_set_errno(error, "open", path);
    if (!hf_file_descriptors_add(root_dir->descriptors, *fd)) {
        *fd = -1;
        return hf_file_error_set_errno(error, "open", path);
    }
    /* This flock() keeps programs away that clean up temporary directories;
     * locks of holdfast do not depend on it.  While such a program has the
     * flock(), ours fails and is not tried again, so until the next open such
     * programs are not kept away. */
    (void)hf_file_sys_flock(*fd, LOCK_SH | LOCK_NB);
    return created && root_dir->settings->shared
               ? hf_file_root_dir_set_mode(*fd, mode, path, error)
               : HF_OK;
}

/* Check who owns the root directory, and set the policy for all that is in
 * it. */
static hf_status check_root(struct hf_file_root_dir *root_dir,
                            const struct stat *parent, struct hf_error *error)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    struct stat status;

    if (hf_file_sys_fstat(root_dir->root_fd, &status) != 0)
        return hf_file_error_set_errno(error, "examine", settings->root);
    root_dir->policy = (struct hf_file_path_policy){
        .sharing = settings->sharing,
        .group = status.st_gid,
        .remedy = "name another directory, or say that sharing is meant with "
                  "?mode=0770",
    };
    return hf_file_safe_path_check_root(&root_dir->policy, parent, &status,
                                        settings->root, error);
}

/* Open the root directory, after the check of all directories above it. */
static hf_status open_root(struct hf_file_root_dir *root_dir,
                           struct hf_error *error)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    struct stat parent;
    const char *name;
    hf_status status;
    int dir;

    status = hf_file_safe_path_open_parent(settings->root, &dir, &parent, &name,
                                           error);
    if (status != HF_OK)
        return status;
    status = open_dir(root_dir, dir, name, settings->root, settings->mode,
                      &root_dir->root_fd, error);
    (void)close(dir);
    if (status == HF_OK)
        status = check_root(root_dir, &parent, error);
    return status;
}

/* Open ROOT/locks and check it. */
static hf_status open_locks(struct hf_file_root_dir *root_dir,
                            struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;

    hf_file_root_settings_path(root_dir->settings, "", NULL, path);
    path[strlen(path) - 1] = '\0';
    status = open_dir(root_dir, root_dir->root_fd, strrchr(path, '/') + 1, path,
                      root_dir->settings->dir_mode, &root_dir->locks_fd, error);
    if (status == HF_OK)
        status = check_locks(root_dir, path, error);
    return status;
}

/* Open the root directory and what is in it, from the top down. */
static hf_status open_all(struct hf_file_root_dir *root_dir,
                          struct hf_error *error)
{
    const struct hf_file_root_settings *settings = root_dir->settings;
    hf_status status;

    status = open_root(root_dir, error);
    if (status == HF_OK)
        status = check_filesystem(root_dir->root_fd, settings, error);
    if (status == HF_OK)
        status = open_locks(root_dir, error);
    if (status == HF_OK)
        status = hf_file_token_counter_open(
            &root_dir->counter, root_dir->root_fd, settings->counter_path,
            settings->file_mode, settings->shared, error);
    return status;
}

/* The number of the next root directory that is opened. */
static _Atomic uint64_t next_number = 1;

/* Make a struct hf_file_root_dir and open it.  ${creates}: make what is
 * missing. */
static hf_status open_new(const struct hf_file_root_settings *settings,
                          bool creates, struct hf_file_descriptors *descriptors,
                          struct hf_file_root_dir **root_dir,
                          struct hf_error *error)
{
    struct hf_file_root_dir *created = hf_alloc(sizeof(*created));
    hf_status status;

    *root_dir = NULL;
    if (created == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to open %s",
                            settings->root);
    atomic_init(&created->references, 1);
    created->number = atomic_fetch_add(&next_number, 1);
    created->settings = settings;
    created->descriptors = descriptors;
    created->creates = creates;
    created->root_fd = -1;
    created->locks_fd = -1;
    created->counter.fd = -1;
    pthread_mutex_init(&created->counter.threads, NULL);
    created->counter.descriptors = descriptors;
    created->counter.policy = &created->policy;
    created->counter.state = settings->state;
    created->counter.state_required = settings->state_required;
    status = open_all(created, error);
    if (status == HF_OK)
        *root_dir = created;
    else
        hf_file_root_dir_unref(created);
    return status;
}

hf_status hf_file_root_dir_open(const struct hf_file_root_settings *settings,
                                struct hf_file_descriptors *descriptors,
                                struct hf_file_root_dir **root_dir,
                                struct hf_error *error)
{
    return open_new(settings, true, descriptors, root_dir, error);
}

hf_status
hf_file_root_dir_open_existing(const struct hf_file_root_settings *settings,
                               struct hf_file_descriptors *descriptors,
                               struct hf_file_root_dir **root_dir,
                               struct hf_error *error)
{
    hf_status status = open_new(settings, false, descriptors, root_dir, error);

    return status == HF_EGONE ? HF_OK : status;
}

struct hf_file_root_dir *hf_file_root_dir_ref(struct hf_file_root_dir *root_dir)
{
    atomic_fetch_add(&root_dir->references, 1);
    return root_dir;
}

void hf_file_root_dir_unref(struct hf_file_root_dir *root_dir)
{
    if (root_dir == NULL || atomic_fetch_sub(&root_dir->references, 1) > 1)
        return;
    hf_file_token_counter_close(&root_dir->counter);
    pthread_mutex_destroy(&root_dir->counter.threads);
    hf_file_descriptors_close(root_dir->descriptors, &root_dir->locks_fd);
    hf_file_descriptors_close(root_dir->descriptors, &root_dir->root_fd);
    hf_free(root_dir);
}
