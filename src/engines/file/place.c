/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/place.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* statfs(2) and the kernel's magic.h.  Allowed is what has been shown to end
 * flocks, hang up FIFOs and share mapped pages as this engine needs. */
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

hf_status hf_place_check_filesystem(uint64_t magic, const char *path,
                                    struct hf_error *error)
{
    const char *name = "of a type unknown to holdfast";

    for (size_t i = 0; i < sizeof(filesystems) / sizeof(filesystems[0]); i++) {
        if (filesystems[i].magic != magic)
            continue;
        if (filesystems[i].allowed)
            return HF_OK;
        name = filesystems[i].name;
    }
    return hf_error_set(error, HF_EDIR,
                        "%s is on a filesystem that locks cannot be kept on: "
                        "%s (0x%" PRIx64 "); expected tmpfs, ext4, xfs, btrfs, "
                        "f2fs or overlay on this machine",
                        path, name, magic);
}

hf_status hf_place_share(int fd, mode_t mode, const char *path,
                         struct hf_error *error)
{
    struct stat status;

    if (hf_sys_fstat(fd, &status) != 0)
        return hf_trouble(error, "examine", path);
    /* A set-group-id bit inherited from the parent stays. */
    mode |= status.st_mode & S_ISGID;
    if (status.st_uid == geteuid() && (status.st_mode & 03777) != mode &&
        hf_sys_fchmod(fd, mode) != 0)
        return hf_trouble(error, "set the mode of", path);
    return HF_OK;
}

hf_status hf_place_check_lock(const struct hf_place *place, int fd,
                              const char *path, struct hf_error *error)
{
    struct stat status;

    if (hf_sys_fstat(fd, &status) != 0)
        return hf_trouble(error, "examine", path);
    return hf_trust_check(&place->trust, &status, path, error);
}

static hf_status check_filesystem(int fd, const struct hf_site *site,
                                  struct hf_error *error)
{
    struct statfs status;

    if (hf_sys_fstatfs(fd, &status) != 0)
        return hf_trouble(error, "examine the filesystem of", site->root);
    return hf_place_check_filesystem((uint64_t)status.f_type & 0xffffffff,
                                     site->root, error);
}

/* Open the directory ${name} in ${parent}, which is ${path}, made with ${mode}
 * if it is missing; HF_EGONE if nothing is to be made. */
static hf_status open_dir(struct hf_place *place, int parent, const char *name,
                          const char *path, mode_t mode, int *fd,
                          struct hf_error *error)
{
    bool made = false;

    *fd = hf_sys_openat(parent, name, DIR_FLAGS, 0);
    if (*fd < 0 && errno == ENOENT && !place->makes)
        return hf_error_set(error, HF_EGONE, "%s is not there", path);
    if (*fd < 0 && errno == ENOENT) {
        made = hf_sys_mkdirat(parent, name, mode) == 0;
        if (!made && errno != EEXIST)
            return hf_trouble(error, "create", path);
        *fd = hf_sys_openat(parent, name, DIR_FLAGS, 0);
    }
    if (*fd < 0)
        return hf_trouble(error, "open", path);
    if (!hf_descriptors_add(place->descriptors, *fd)) {
        *fd = -1;
        return hf_trouble(error, "open", path);
    }
    /* Whoever has it exclusively is cleaning and will be done; the lock is
     * a courtesy to cleaners and no part of exclusion. */
    (void)hf_sys_flock(*fd, LOCK_SH | LOCK_NB);
    return made && place->site->shared ? hf_place_share(*fd, mode, path, error)
                                       : HF_OK;
}

/* From now on ${place}->trust says who may write below it. */
static hf_status check_root(struct hf_place *place, const struct stat *parent,
                            struct hf_error *error)
{
    const struct hf_site *site = place->site;
    struct stat status;

    if (hf_sys_fstat(place->root_fd, &status) != 0)
        return hf_trouble(error, "examine", site->root);
    place->trust = (struct hf_trust){
        .sharing = site->sharing,
        .group = status.st_gid,
        .remedy = "name another directory, or say that sharing is meant with "
                  "?mode=0770",
    };
    return hf_trust_check_root(&place->trust, parent, &status, site->root,
                               error);
}

static hf_status open_root(struct hf_place *place, struct hf_error *error)
{
    const struct hf_site *site = place->site;
    struct stat parent;
    const char *name;
    hf_status status;
    int dir;

    status = hf_trust_open_parent(site->root, &dir, &parent, &name, error);
    if (status != HF_OK)
        return status;
    status = open_dir(place, dir, name, site->root, site->mode, &place->root_fd,
                      error);
    (void)close(dir);
    if (status == HF_OK)
        status = check_root(place, &parent, error);
    return status;
}

static hf_status open_locks(struct hf_place *place, struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;

    hf_site_path(place->site, "", NULL, path);
    path[strlen(path) - 1] = '\0';
    status = open_dir(place, place->root_fd, strrchr(path, '/') + 1, path,
                      hf_site_dir_mode(place->site), &place->locks_fd, error);
    if (status == HF_OK)
        status = hf_place_check_lock(place, place->locks_fd, path, error);
    return status;
}

static hf_status open_all(struct hf_place *place, struct hf_error *error)
{
    const struct hf_site *site = place->site;
    hf_status status;

    status = open_root(place, error);
    if (status == HF_OK)
        status = check_filesystem(place->root_fd, site, error);
    if (status == HF_OK)
        status = open_locks(place, error);
    if (status == HF_OK)
        status = hf_counter_open(&place->counter, place->root_fd, site->counter,
                                 hf_site_file_mode(site), site->shared, error);
    return status;
}

static hf_status open_place(const struct hf_site *site, bool makes,
                            struct hf_descriptors *descriptors,
                            struct hf_place **place, struct hf_error *error)
{
    struct hf_place *mine = hf_alloc(sizeof(*mine));
    hf_status status;

    *place = NULL;
    if (mine == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to open %s",
                            site->root);
    atomic_init(&mine->references, 1);
    mine->site = site;
    mine->descriptors = descriptors;
    mine->makes = makes;
    mine->root_fd = -1;
    mine->locks_fd = -1;
    mine->counter.fd = -1;
    mine->counter.descriptors = descriptors;
    mine->counter.trust = &mine->trust;
    mine->counter.state = site->state;
    mine->counter.state_wanted = site->state_wanted;
    status = open_all(mine, error);
    if (status == HF_OK)
        *place = mine;
    else
        hf_place_unref(mine);
    return status;
}

hf_status hf_place_open(const struct hf_site *site,
                        struct hf_descriptors *descriptors,
                        struct hf_place **place, struct hf_error *error)
{
    return open_place(site, true, descriptors, place, error);
}

hf_status hf_place_find(const struct hf_site *site,
                        struct hf_descriptors *descriptors,
                        struct hf_place **place, struct hf_error *error)
{
    hf_status status = open_place(site, false, descriptors, place, error);

    return status == HF_EGONE ? HF_OK : status;
}

struct hf_place *hf_place_ref(struct hf_place *place)
{
    atomic_fetch_add(&place->references, 1);
    return place;
}

void hf_place_unref(struct hf_place *place)
{
    if (place == NULL || atomic_fetch_sub(&place->references, 1) > 1)
        return;
    hf_counter_close(&place->counter);
    hf_descriptors_close(place->descriptors, &place->locks_fd);
    hf_descriptors_close(place->descriptors, &place->root_fd);
    hf_free(place);
}
