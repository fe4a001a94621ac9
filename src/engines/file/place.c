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
    if (status.st_uid == geteuid() &&
        (status.st_mode & 01777) != (mode & 01777) &&
        hf_sys_fchmod(fd, mode | (status.st_mode & S_ISGID)) != 0)
        return hf_trouble(error, "set the mode of", path);
    return HF_OK;
}

static hf_status check_owner(int fd, const struct hf_site *site,
                             struct hf_error *error)
{
    struct stat status;

    if (hf_sys_fstat(fd, &status) != 0)
        return hf_trouble(error, "examine", site->root);
    if (site->shared)
        return HF_OK;
    if (status.st_uid != geteuid())
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to user %u, not to user %u; name "
                            "another directory, or share this one with "
                            "?mode=0770",
                            site->root, (unsigned)status.st_uid,
                            (unsigned)geteuid());
    if ((status.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by everybody (mode %04o), who "
                            "could then remove tickets; chmod it to 0700, or "
                            "say that this is meant with ?mode=0777",
                            site->root, (unsigned)status.st_mode & 07777);
    return HF_OK;
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

/* Open the directory ${path}, made with ${mode} if it is missing. */
static hf_status open_dir(struct hf_place *place, const char *path, mode_t mode,
                          int *fd, struct hf_error *error)
{
    bool made = false;

    *fd = hf_sys_open(path, DIR_FLAGS, 0);
    if (*fd < 0 && errno == ENOENT) {
        made = hf_sys_mkdir(path, mode) == 0;
        if (!made && errno != EEXIST)
            return hf_trouble(error, "create", path);
        *fd = hf_sys_open(path, DIR_FLAGS, 0);
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

static hf_status open_all(struct hf_place *place, struct hf_error *error)
{
    const struct hf_site *site = place->site;
    char locks[HF_PATH_BYTES];
    hf_status status;

    status = open_dir(place, site->root, site->mode, &place->root_fd, error);
    if (status == HF_OK)
        status = check_owner(place->root_fd, site, error);
    if (status == HF_OK)
        status = check_filesystem(place->root_fd, site, error);
    hf_site_path(site, "", NULL, locks);
    locks[strlen(locks) - 1] = '\0';
    if (status == HF_OK)
        status = open_dir(place, locks, hf_site_dir_mode(site),
                          &place->locks_fd, error);
    if (status == HF_OK)
        status = hf_counter_open(&place->counter, site->counter,
                                 hf_site_file_mode(site), site->shared, error);
    return status;
}

hf_status hf_place_open(const struct hf_site *site,
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
    mine->root_fd = -1;
    mine->locks_fd = -1;
    mine->counter.fd = -1;
    mine->counter.descriptors = descriptors;
    mine->counter.state = site->state;
    mine->counter.state_wanted = site->state_wanted;
    status = open_all(mine, error);
    if (status == HF_OK)
        *place = mine;
    else
        hf_place_unref(mine);
    return status;
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
