/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* As many as the kernel follows in one path. */
#define LINKS_MAX 40

/* Room for a name that is one byte too long, and its NUL. */
#define NAME_BYTES (NAME_MAX + 2)

#define STEP_FLAGS (O_PATH | O_NOFOLLOW)

/* What the kernel shows in place of a user that a user namespace does not map;
 * /proc/sys/kernel/overflowuid can say otherwise, but nothing sets it. */
#define OVERFLOW_UID 65534

struct user_text {
    char text[80];
};

/* Those who are always trusted. */
static struct user_text we(void)
{
    struct user_text us = {"root"};

    if (geteuid() != 0)
        (void)snprintf(us.text, sizeof(us.text), "user %u or root",
                       (unsigned)geteuid());
    return us;
}

static struct user_text owner_of(const struct stat *status)
{
    struct user_text owner;

    (void)snprintf(owner.text, sizeof(owner.text), "user %u%s",
                   (unsigned)status->st_uid,
                   status->st_uid == OVERFLOW_UID
                       ? " (in a user namespace also any user that it does "
                         "not map)"
                       : "");
    return owner;
}

static bool is_ours(const struct stat *status)
{
    return status->st_uid == 0 || status->st_uid == geteuid();
}

static unsigned mode_of(const struct stat *status)
{
    return (unsigned)status->st_mode & 07777;
}

/* ------------------------------------------------------------ the way -- */

struct way {
    const char *path; /* where it leads to, for texts */
    int dir;          /* O_PATH: how far it has been gone */
    struct stat status;
    uid_t system; /* the owner of "/" */
    unsigned links;
    char gone[PATH_MAX]; /* .dir, then what is looked at; for texts */
    char left[PATH_MAX];
};

static hf_status check_owner(const struct way *way, const struct stat *status,
                             const char *what, struct hf_error *error)
{
    if (is_ours(status) || status->st_uid == way->system)
        return HF_OK;
    return hf_error_set(error, HF_EDENIED,
                        "%s, %s on the way to %s, belongs to %s, who could "
                        "replace it; expected %s: chown it, or "
                        "name a directory elsewhere",
                        way->gone, what, way->path, owner_of(status).text,
                        we().text);
}

static hf_status check_step(const struct way *way, const struct stat *status,
                            struct hf_error *error)
{
    const mode_t others = S_IWGRP | S_IWOTH;
    hf_status checked = check_owner(way, status, "a directory", error);

    if (checked != HF_OK || (status->st_mode & others) == 0 ||
        (status->st_mode & S_ISVTX) != 0)
        return checked;
    return hf_error_set(error, HF_EDENIED,
                        "%s, a directory on the way to %s, can be written by "
                        "others than user %u (mode %04o), who could replace "
                        "what is in it; chmod go-w it, or chmod +t it, or name "
                        "a directory elsewhere",
                        way->gone[0] == '\0' ? "/" : way->gone, way->path,
                        (unsigned)status->st_uid, mode_of(status));
}

static void close_keeping_errno(int fd)
{
    int number = errno;

    (void)close(fd);
    errno = number;
}

static hf_status start(struct way *way, struct hf_error *error)
{
    if (way->dir >= 0)
        (void)close(way->dir);
    way->gone[0] = '\0';
    way->dir = hf_sys_open("/", O_PATH | O_DIRECTORY, 0);
    if (way->dir < 0)
        return hf_trouble(error, "open", "/");
    if (hf_sys_fstat(way->dir, &way->status) != 0)
        return hf_trouble(error, "examine", "/");
    way->system = way->status.st_uid;
    return check_step(way, &way->status, error);
}

/* Take the first component of what is left; false if there is none. */
static bool take_name(struct way *way, char name[NAME_BYTES])
{
    const char *at = way->left + strspn(way->left, "/");
    size_t bytes = strcspn(at, "/");

    if (bytes == 0)
        return false;
    /* One that is cut is too long still, and refused for it. */
    (void)snprintf(name, NAME_BYTES, "%.*s", (int)bytes, at);
    memmove(way->left, at + bytes, strlen(at + bytes) + 1);
    return true;
}

/* Put the text of the symbolic link ${link} in front of what is left. */
static hf_status take_link(struct way *way, int link, struct hf_error *error)
{
    char target[PATH_MAX];
    ssize_t got = hf_sys_readlinkat(link, "", target, sizeof(target));
    size_t left = strlen(way->left);

    if (got < 0)
        return hf_trouble(error, "read", way->gone);
    if (++way->links > LINKS_MAX || (size_t)got + 1 + left >= PATH_MAX)
        return hf_error_set(error, HF_EDIR,
                            "%s leads through too many symbolic links, or they "
                            "are too long; name the directory itself",
                            way->path);
    memmove(way->left + got + 1, way->left, left + 1);
    memcpy(way->left, target, (size_t)got);
    way->left[got] = '/';
    return target[0] == '/' ? start(way, error) : HF_OK;
}

static hf_status take_directory(struct way *way, int dir,
                                const struct stat *status,
                                struct hf_error *error)
{
    (void)close(way->dir);
    way->dir = dir;
    way->status = *status;
    return check_step(way, status, error);
}

static hf_status missing(const struct way *way, struct hf_error *error)
{
    return hf_error_set(error, HF_EDIR,
                        "%s is not there; make it, for only the last directory "
                        "of %s is made by itself",
                        way->gone, way->path);
}

static hf_status step(struct way *way, const char *name, struct hf_error *error)
{
    size_t before = strlen(way->gone);
    struct stat status;
    hf_status checked;
    int fd = hf_sys_openat(way->dir, name, STEP_FLAGS, 0);

    (void)snprintf(way->gone + before, sizeof(way->gone) - before, "/%s", name);
    if (fd < 0)
        return errno == ENOENT ? missing(way, error)
                               : hf_trouble(error, "open", way->gone);
    if (hf_sys_fstat(fd, &status) != 0) {
        close_keeping_errno(fd);
        return hf_trouble(error, "examine", way->gone);
    }
    if (S_ISDIR(status.st_mode))
        return take_directory(way, fd, &status, error);
    if (!S_ISLNK(status.st_mode)) {
        (void)close(fd);
        errno = ENOTDIR;
        return hf_trouble(error, "open", way->gone);
    }
    checked = check_owner(way, &status, "a symbolic link", error);
    way->gone[before] = '\0';
    if (checked == HF_OK)
        checked = take_link(way, fd, error);
    (void)close(fd);
    return checked;
}

static hf_status go(struct way *way, struct hf_error *error)
{
    char name[NAME_BYTES];
    hf_status status = start(way, error);

    /* Each turn shortens what is left, but for LINKS_MAX of them. */
    while (status == HF_OK && take_name(way, name))
        status = step(way, name, error);
    return status;
}

hf_status hf_trust_open_parent(const char *path, int *dir, struct stat *parent,
                               const char **name, struct hf_error *error)
{
    struct way way = {.path = path, .dir = -1};
    hf_status status;

    *dir = -1;
    *name = strrchr(path, '/') + 1;
    if (strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return hf_error_set(error, HF_EDIR,
                            "%s ends in dots; name the directory itself", path);
    (void)snprintf(way.left, sizeof(way.left), "%.*s", (int)(*name - path),
                   path);
    status = go(&way, error);
    if (status == HF_OK) {
        *dir = way.dir;
        *parent = way.status;
    } else if (way.dir >= 0) {
        (void)close(way.dir);
    }
    return status;
}

/* ------------------------------------------------- what it leads to -- */

static hf_status check_alone(const struct hf_trust *trust,
                             const struct stat *status, const char *path,
                             struct hf_error *error)
{
    if (!is_ours(status))
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to %s, who could let two holders in; "
                            "expected %s: %s",
                            path, owner_of(status).text, we().text,
                            trust->remedy);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by others than user %u (mode "
                            "%04o), who could let two holders in; chmod go-w "
                            "it, or %s",
                            path, (unsigned)status->st_uid, mode_of(status),
                            trust->remedy);
    return HF_OK;
}

static hf_status check_group(const struct hf_trust *trust,
                             const struct stat *status, const char *path,
                             struct hf_error *error)
{
    if ((status->st_mode & S_IWOTH) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by everybody (mode %04o), not "
                            "only by group %u; chmod o-w it, or say that this "
                            "is meant with ?mode=0777",
                            path, mode_of(status), (unsigned)trust->group);
    if ((status->st_mode & S_IWGRP) != 0 && status->st_gid != trust->group)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by group %u; expected group %u, "
                            "that of the root directory: chgrp or remove it",
                            path, (unsigned)status->st_gid,
                            (unsigned)trust->group);
    return HF_OK;
}

hf_status hf_trust_check(const struct hf_trust *trust,
                         const struct stat *status, const char *path,
                         struct hf_error *error)
{
    switch (trust->sharing) {
    case HF_SHARING_NONE:
        return check_alone(trust, status, path, error);
    case HF_SHARING_GROUP:
        return check_group(trust, status, path, error);
    case HF_SHARING_ALL:
        break;
    }
    return HF_OK;
}

/* Could somebody who is not in the group have made the root directory? */
static bool made_by_outsider(const struct hf_trust *trust,
                             const struct stat *parent,
                             const struct stat *status)
{
    bool outsiders =
        (parent->st_mode & S_IWOTH) != 0 ||
        ((parent->st_mode & S_IWGRP) != 0 && parent->st_gid != trust->group);

    return outsiders && !is_ours(status);
}

hf_status hf_trust_check_root(const struct hf_trust *trust,
                              const struct stat *parent,
                              const struct stat *status, const char *path,
                              struct hf_error *error)
{
    if (trust->sharing != HF_SHARING_GROUP)
        return hf_trust_check(trust, status, path, error);
    if (made_by_outsider(trust, parent, status))
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to %s, and others than group %u can "
                            "make it (its parent has mode %04o); expected %s: "
                            "have root make it (install -d -m 2770 -g GROUP)",
                            path, owner_of(status).text, (unsigned)trust->group,
                            mode_of(parent), we().text);
    if ((status->st_mode & S_ISGID) == 0)
        return hf_error_set(error, HF_EDIR,
                            "%s is to be shared with its group %u and has mode "
                            "%04o; expected the set-group-id bit, so that what "
                            "is made there gets that group: chmod 2770 it",
                            path, (unsigned)trust->group, mode_of(status));
    return hf_trust_check(trust, status, path, error);
}

hf_status hf_trust_check_file(const struct hf_trust *trust,
                              const struct stat *status, const char *path,
                              struct hf_error *error)
{
    if (!S_ISREG(status->st_mode))
        return hf_error_set(error, HF_EDIR,
                            "%s is not a regular file; remove it", path);
    if (status->st_nlink > 1)
        return hf_error_set(error, HF_EDENIED,
                            "%s has %lu names, and can be changed by each of "
                            "them; expected one: remove it",
                            path, (unsigned long)status->st_nlink);
    return hf_trust_check(trust, status, path, error);
}
