/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See safe_path.h.  The walk opens each component with O_PATH | O_NOFOLLOW from
 * the one before it, and follows symbolic links itself, so that each link is
 * checked before it is used.
 */
#include "engines/file/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "engines/file/syscalls.h"

/* As many links as the kernel follows in one path. */
#define LINKS_MAX 40

/* Room for a name that is one byte too long, and its NUL. */
#define NAME_BYTES (NAME_MAX + 2)

#define STEP_FLAGS (O_PATH | O_NOFOLLOW)

/* The user that the kernel shows for users that a user namespace does not map.
 * (/proc/sys/kernel/overflowuid can change it, but nothing does.) */
#define OVERFLOW_UID 65534

/* Room for a user in an error text. */
struct user_text {
    char text[80];
};

/* Returns the users that are always trusted, for error texts. */
static struct user_text trusted_users(void)
{
    struct user_text users = {"root"};

    if (geteuid() != 0)
        (void)snprintf(users.text, sizeof(users.text), "user %u or root",
                       (unsigned)geteuid());
    return users;
}

/* Returns the owner of a file, for error texts. */
static struct user_text owner_text(const struct stat *status)
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

/* -------------------------------------------------------------- the walk -- */

/* The state of the walk from "/" to the parent of a path. */
struct walk {
    const char *path;   /* the whole path, for error texts */
    int dir;            /* the directory that was reached last, O_PATH */
    struct stat status; /* of .dir */
    uid_t root_owner;   /* the owner of "/" */
    unsigned links;     /* number of links followed so far */
    /* path of the present component, for error texts */
    char walked[PATH_MAX];
    char remaining[PATH_MAX]; /* components that are still to come */
};

/* Check that the owner of a component is trusted.  ${what} is for the error. */
static hf_status check_owner(const struct walk *walk, const struct stat *status,
                             const char *what, struct hf_error *error)
{
    if (is_ours(status) || status->st_uid == walk->root_owner)
        return HF_OK;
    return hf_error_set(error, HF_EDENIED,
                        "%s, %s on the way to %s, belongs to %s, who could "
                        "replace it; expected %s: chown it, or "
                        "name a directory elsewhere",
                        walk->walked, what, walk->path, owner_text(status).text,
                        trusted_users().text);
}

/* Check the directory that was reached: its owner, and who can write to it.  In
 * a sticky directory others can write, but cannot replace the files of
 * others. */
static hf_status check_directory(const struct walk *walk,
                                 const struct stat *status,
                                 struct hf_error *error)
{
    const mode_t others = S_IWGRP | S_IWOTH;
    hf_status checked = check_owner(walk, status, "a directory", error);

    if (checked != HF_OK || (status->st_mode & others) == 0 ||
        (status->st_mode & S_ISVTX) != 0)
        return checked;
    return hf_error_set(error, HF_EDENIED,
                        "%s, a directory on the way to %s, can be written by "
                        "others than user %u (mode %04o), who could replace "
                        "what is in it; chmod go-w it, or chmod +t it, or name "
                        "a directory elsewhere",
                        walk->walked[0] == '\0' ? "/" : walk->walked,
                        walk->path, (unsigned)status->st_uid, mode_of(status));
}

/* Close ${fd} without a change of errno. */
static void close_keeping_errno(int fd)
{
    int number = errno;

    (void)close(fd);
    errno = number;
}

/* Begin the walk at "/"; or begin again there, because of an absolute link. */
static hf_status start_at_root(struct walk *walk, struct hf_error *error)
{
    if (walk->dir >= 0)
        (void)close(walk->dir);
    walk->walked[0] = '\0';
    walk->dir = hf_file_sys_open("/", O_PATH | O_DIRECTORY, 0);
    if (walk->dir < 0)
        return hf_file_error_set_errno(error, "open", "/");
    if (hf_file_sys_fstat(walk->dir, &walk->status) != 0)
        return hf_file_error_set_errno(error, "examine", "/");
    walk->root_owner = walk->status.st_uid;
    return check_directory(walk, &walk->status, error);
}

/* Remove the first component from what remains, into ${name}.  Returns false if
 * there is none. */
static bool next_component(struct walk *walk, char name[NAME_BYTES])
{
    const char *component = walk->remaining + strspn(walk->remaining, "/");
    size_t bytes = strcspn(component, "/");

    if (bytes == 0)
        return false;
    /* a name that is cut here is still too long, and is refused for that */
    (void)snprintf(name, NAME_BYTES, "%.*s", (int)bytes, component);
    memmove(walk->remaining, component + bytes, strlen(component + bytes) + 1);
    return true;
}

/* Put the target of the symbolic link ${link} in front of what remains. */
static hf_status follow_link(struct walk *walk, int link,
                             struct hf_error *error)
{
    char target[PATH_MAX];
    ssize_t got = hf_file_sys_readlinkat(link, "", target, sizeof(target));
    size_t remaining = strlen(walk->remaining);

    if (got < 0)
        return hf_file_error_set_errno(error, "read", walk->walked);
    if (++walk->links > LINKS_MAX || (size_t)got + 1 + remaining >= PATH_MAX)
        return hf_error_set(error, HF_EDIR,
                            "%s leads through too many symbolic links, or they "
                            "are too long; name the directory itself",
                            walk->path);
    memmove(walk->remaining + got + 1, walk->remaining, remaining + 1);
    memcpy(walk->remaining, target, (size_t)got);
    walk->remaining[got] = '/';
    return target[0] == '/' ? start_at_root(walk, error) : HF_OK;
}

/* Continue from ${dir}, which the walk owns from now on. */
static hf_status enter_directory(struct walk *walk, int dir,
                                 const struct stat *status,
                                 struct hf_error *error)
{
    (void)close(walk->dir);
    walk->dir = dir;
    walk->status = *status;
    return check_directory(walk, status, error);
}

/* Set the error for a component that does not exist. */
static hf_status fail_missing(const struct walk *walk, struct hf_error *error)
{
    return hf_error_set(error, HF_EDIR,
                        "%s is not there; make it, for only the last directory "
                        "of %s is made by itself",
                        walk->walked, walk->path);
}

/* Take one step to ${name}: enter a directory, or follow a link. */
static hf_status walk_component(struct walk *walk, const char *name,
                                struct hf_error *error)
{
    size_t before = strlen(walk->walked);
    struct stat status;
    hf_status checked;
    int fd = hf_file_sys_openat(walk->dir, name, STEP_FLAGS, 0);

    (void)snprintf(walk->walked + before, sizeof(walk->walked) - before, "/%s",
                   name);
    if (fd < 0)
        return errno == ENOENT
                   ? fail_missing(walk, error)
                   : hf_file_error_set_errno(error, "open", walk->walked);
    if (hf_file_sys_fstat(fd, &status) != 0) {
        close_keeping_errno(fd);
        return hf_file_error_set_errno(error, "examine", walk->walked);
    }
    if (S_ISDIR(status.st_mode))
        return enter_directory(walk, fd, &status, error);
    if (!S_ISLNK(status.st_mode)) {
        (void)close(fd);
        errno = ENOTDIR;
        return hf_file_error_set_errno(error, "open", walk->walked);
    }
    checked = check_owner(walk, &status, "a symbolic link", error);
    walk->walked[before] = '\0';
    if (checked == HF_OK)
        checked = follow_link(walk, fd, error);
    (void)close(fd);
    return checked;
}

/* Walk to the end of .remaining. */
static hf_status walk_path(struct walk *walk, struct hf_error *error)
{
    char name[NAME_BYTES];
    hf_status status = start_at_root(walk, error);

    /* Each step shortens .remaining, except those that follow a link, of which
     * there are at most LINKS_MAX. */
    while (status == HF_OK && next_component(walk, name))
        status = walk_component(walk, name, error);
    return status;
}

hf_status hf_file_safe_path_open_parent(const char *path, int *dir,
                                        struct stat *parent, const char **name,
                                        struct hf_error *error)
{
    struct walk walk = {.path = path, .dir = -1};
    hf_status status;

    *dir = -1;
    *name = strrchr(path, '/') + 1;
    if (strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return hf_error_set(error, HF_EDIR,
                            "%s ends in dots; name the directory itself", path);
    (void)snprintf(walk.remaining, sizeof(walk.remaining), "%.*s",
                   (int)(*name - path), path);
    status = walk_path(&walk, error);
    if (status == HF_OK) {
        *dir = walk.dir;
        *parent = walk.status;
    } else if (walk.dir >= 0) {
        (void)close(walk.dir);
    }
    return status;
}

/* ------------------------------------------------------------- the files -- */

/* Without ?mode=, or without write bits for group or others: only root and this
 * user are trusted. */
static hf_status check_unshared(const struct hf_file_path_policy *policy,
                                const struct stat *status, const char *path,
                                struct hf_error *error)
{
    if (!is_ours(status))
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to %s, who could let two holders in; "
                            "expected %s: %s",
                            path, owner_text(status).text, trusted_users().text,
                            policy->remedy);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by others than user %u (mode "
                            "%04o), who could let two holders in; chmod go-w "
                            "it, or %s",
                            path, (unsigned)status->st_uid, mode_of(status),
                            policy->remedy);
    return HF_OK;
}

/* Shared with a group: nobody outside of the group may write. */
static hf_status check_group(const struct hf_file_path_policy *policy,
                             const struct stat *status, const char *path,
                             struct hf_error *error)
{
    if ((status->st_mode & S_IWOTH) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by everybody (mode %04o), not "
                            "only by group %u; chmod o-w it, or say that this "
                            "is meant with ?mode=0777",
                            path, mode_of(status), (unsigned)policy->group);
    if ((status->st_mode & S_IWGRP) != 0 && status->st_gid != policy->group)
        return hf_error_set(error, HF_EDENIED,
                            "%s can be written by group %u; expected group %u, "
                            "that of the root directory: chgrp or remove it",
                            path, (unsigned)status->st_gid,
                            (unsigned)policy->group);
    return HF_OK;
}

hf_status hf_file_safe_path_check(const struct hf_file_path_policy *policy,
                                  const struct stat *status, const char *path,
                                  struct hf_error *error)
{
    switch (policy->sharing) {
    case HF_SHARING_NONE:
        return check_unshared(policy, status, path, error);
    case HF_SHARING_GROUP:
        return check_group(policy, status, path, error);
    case HF_SHARING_ALL:
        break;
    }
    return HF_OK;
}

/* Returns whether a user outside of the group could have made the root
 * directory. */
static bool made_by_outsider(const struct hf_file_path_policy *policy,
                             const struct stat *parent,
                             const struct stat *status)
{
    bool outsiders =
        (parent->st_mode & S_IWOTH) != 0 ||
        ((parent->st_mode & S_IWGRP) != 0 && parent->st_gid != policy->group);

    return outsiders && !is_ours(status);
}

hf_status hf_file_safe_path_check_root(const struct hf_file_path_policy *policy,
                                       const struct stat *parent,
                                       const struct stat *status,
                                       const char *path, struct hf_error *error)
{
    if (policy->sharing != HF_SHARING_GROUP)
        return hf_file_safe_path_check(policy, status, path, error);
    if (made_by_outsider(policy, parent, status))
        return hf_error_set(error, HF_EDENIED,
                            "%s belongs to %s, and others than group %u can "
                            "make it (its parent has mode %04o); expected %s: "
                            "have root make it (install -d -m 2770 -g GROUP)",
                            path, owner_text(status).text,
                            (unsigned)policy->group, mode_of(parent),
                            trusted_users().text);
    if ((status->st_mode & S_ISGID) == 0)
        return hf_error_set(error, HF_EDIR,
                            "%s is to be shared with its group %u and has mode "
                            "%04o; expected the set-group-id bit, so that what "
                            "is made there gets that group: chmod 2770 it",
                            path, (unsigned)policy->group, mode_of(status));
    return hf_file_safe_path_check(policy, status, path, error);
}

hf_status
hf_file_safe_path_check_readers(const struct hf_file_path_policy *policy,
                                const struct stat *status, const char *path,
                                struct hf_error *error)
{
    static const mode_t outsiders[] = {
        [HF_SHARING_NONE] = S_IRWXG | S_IRWXO,
        [HF_SHARING_GROUP] = S_IRWXO,
        [HF_SHARING_ALL] = 0,
    };
    mode_t excess = status->st_mode & outsiders[policy->sharing];

    if (excess == 0)
        return HF_OK;
    return hf_error_set(error, HF_EDENIED,
                        "%s can be opened by users who may take no lock there "
                        "(mode %04o), and who could keep it busy with "
                        "flock(2); chmod it to %04o",
                        path, mode_of(status), mode_of(status) & ~excess);
}

hf_status hf_file_safe_path_check_file(const struct hf_file_path_policy *policy,
                                       const struct stat *status,
                                       const char *path, struct hf_error *error)
{
    if (!S_ISREG(status->st_mode))
        return hf_error_set(error, HF_EDIR,
                            "%s is not a regular file; remove it", path);
    if (status->st_nlink > 1)
        return hf_error_set(error, HF_EDENIED,
                            "%s has %lu names, and can be changed by each of "
                            "them; expected one: remove it",
                            path, (unsigned long)status->st_nlink);
    return hf_file_safe_path_check(policy, status, path, error);
}
