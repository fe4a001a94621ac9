/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds other root directories on this machine: the default ones of all users,
 * and $HOLDFAST_DIR.  Locks in them do not exclude ours, which surprises users
 * under sudo, in cron and in containers.
 *
 * In each, the directories of locks that have a ticket are counted.  Such a
 * ticket may be that of a dead process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines/file/requests.h"
#include "engines/file/syscalls.h"

#define BUFFER_BYTES 32768

/* The most that is looked at: directories that may be roots; entries of a
 * directory; and locks of a root. */
#define ROOTS_MAX 64
#define ENTRIES_MAX 100000
#define LOCKS_MAX 1000

struct other_roots {
    struct hf_finding_list *list;
    /* status of our own root; .st_ino is 0 if it does not exist */
    struct stat own;
    struct {
        dev_t dev;
        ino_t ino;
    } seen[ROOTS_MAX];
    size_t seen_count;
    bool more; /* some directories were not looked at */
};

/* Called with the name of each entry of a directory.  Returns false to stop. */
typedef bool entry_function(void *arg, int dir, const char *name);

/* Call ${function} for each entry of ${dir} except "." and "..", at most
 * ${most} times.  Returns false if there were more, or if ${dir} could not be
 * read. */
static bool for_each_entry(int dir, size_t most, entry_function *function,
                           void *arg)
{
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    ssize_t got;

    while ((got = hf_file_sys_getdents(dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *found =
                (const struct dirent64 *)(const void *)(buffer + at);

            at += found->d_reclen;
            if (strcmp(found->d_name, ".") == 0 ||
                strcmp(found->d_name, "..") == 0)
                continue;
            if (most-- == 0)
                return false;
            if (!function(arg, dir, found->d_name))
                return true;
        }
    }
    return got == 0;
}

/* ------------------------------------------------------------- its locks -- */

/* What was found in "locks" of a root. */
struct lock_count {
    uint64_t locks; /* how many locks have a ticket */
    /* there may be more, because some could not be looked at or there are too
     * many */
    bool partial;
};

/* An entry_function: stop at a ticket, and note that there is one. */
static bool find_ticket(void *arg, int dir, const char *name)
{
    struct hf_ticket ticket;

    (void)dir;
    if (hf_file_name_parse(name, &ticket) != HF_FILE_NAME_TICKET)
        return true;
    *(bool *)arg = true;
    return false;
}

/* An entry_function: count the directory ${name} if it has a ticket. */
static bool count_lock(void *arg, int dir, const char *name)
{
    struct lock_count *count = arg;
    int fd =
        hf_file_sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    bool found = false;

    if (fd < 0) {
        /* a directory that is gone by now had no ticket */
        count->partial |= errno != ENOENT;
        return true;
    }
    (void)for_each_entry(fd, ENTRIES_MAX, find_ticket, &found);
    (void)close(fd);
    count->locks += found;
    return true;
}

/* Count the locks of the root ${path}. */
static struct lock_count count_locks(const char *path)
{
    char locks[HF_ROOT_BYTES + sizeof "/locks"];
    struct lock_count count = {0, false};
    int fd;

    (void)snprintf(locks, sizeof locks, "%s/locks", path);
    fd = hf_file_sys_open(locks, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0) {
        count.partial = errno != ENOENT;
        return count;
    }
    if (!for_each_entry(fd, LOCKS_MAX, count_lock, &count))
        count.partial = true;
    (void)close(fd);
    return count;
}

/* ---------------------------------------------------------------- a root -- */

/* Returns whether the directory belongs to our own user.  Then two sets of
 * locks are hardly intended. */
static bool is_ours(const struct stat *status)
{
    return status->st_uid == geteuid();
}

static void report(struct other_roots *roots, const char *path,
                   const struct stat *status)
{
    struct lock_count count = count_locks(path);
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "file-other-root", path,
                                   NULL};

    if (count.locks > 0) {
        head.severity =
            is_ours(status) ? HF_SEVERITY_WARNING : HF_SEVERITY_NOTICE;
        head.advice = "if they have to exclude those of ours, have all "
                      "programs name one directory: file:DIR?mode=..., or "
                      "HOLDFAST_DIR";
        hf_finding_add(roots->list, &head,
                       "%s%" PRIu64 " names have tickets in this directory of "
                       "user %u, which do not exclude those of ours",
                       count.partial ? "at least " : "", count.locks,
                       (unsigned)status->st_uid);
    } else if (count.partial) {
        head.advice = "look as that user, or as root";
        hf_finding_add(roots->list, &head,
                       "it cannot be seen whether there are tickets in this "
                       "directory of user %u; they would not exclude those of "
                       "ours",
                       (unsigned)status->st_uid);
    }
}

/* Returns whether the directory is to be skipped, because it was looked at, is
 * ours, or is one too many.  Otherwise it counts as looked at from now on. */
static bool is_seen(struct other_roots *roots, const struct stat *status)
{
    if (status->st_dev == roots->own.st_dev &&
        status->st_ino == roots->own.st_ino)
        return true;
    for (size_t i = 0; i < roots->seen_count; i++) {
        if (roots->seen[i].dev == status->st_dev &&
            roots->seen[i].ino == status->st_ino)
            return true;
    }
    if (roots->seen_count == ROOTS_MAX) {
        roots->more = true;
        return true;
    }
    roots->seen[roots->seen_count].dev = status->st_dev;
    roots->seen[roots->seen_count++].ino = status->st_ino;
    return false;
}

/* Examine ${path}, if it is a directory. */
static void look_at(struct other_roots *roots, const char *path)
{
    struct stat status;

    if (hf_file_sys_lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
        !is_seen(roots, &status))
        report(roots, path, &status);
}

/* --------------------------------------------------------- where to look -- */

/* A directory that may have default root directories. */
struct above {
    struct other_roots *roots;
    const char *path;
};

/* An entry_function: examine ${name} if it is the name of a default root
 * directory. */
static bool look_at_default(void *arg, int dir, const char *name)
{
    static const char start[] = "holdfast-";
    const struct above *above = arg;
    char path[HF_ROOT_BYTES];
    const char *uid = name + sizeof start - 1;

    (void)dir;
    if (strncmp(name, start, sizeof start - 1) != 0 || uid[0] == '\0' ||
        strspn(uid, "0123456789") != strlen(uid))
        return true;
    if (snprintf(path, sizeof path, "%s/%s", above->path, name) <
        (int)sizeof path)
        look_at(above->roots, path);
    return true;
}

static void look_in(struct other_roots *roots, const char *path)
{
    struct above above = {roots, path};
    int fd = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return;
    if (!for_each_entry(fd, ENTRIES_MAX, look_at_default, &above))
        roots->more = true;
    (void)close(fd);
}

void hf_file_examine_other_roots(const struct hf_file_root_settings *settings,
                                 struct hf_finding_list *list)
{
    struct other_roots roots = {.list = list};
    const char *named = secure_getenv("HOLDFAST_DIR");
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-other-root", "", NULL};
    size_t before = list->count;

    if (hf_file_sys_lstat(settings->root, &roots.own) != 0)
        roots.own = (struct stat){0};
    if (named != NULL && named[0] == '/')
        look_at(&roots, named);
    look_at(&roots, "/run/holdfast");
    look_in(&roots, "/run/lock");
    look_in(&roots, "/tmp");
    if (roots.more) {
        head.severity = HF_SEVERITY_UNKNOWN;
        hf_finding_add(list, &head,
                       "not all directories of /run/lock and /tmp were looked "
                       "at: there are too many");
    } else if (list->count == before) {
        hf_finding_add(list, &head,
                       "no other default directory of this machine has "
                       "tickets, as seen from this mount namespace");
    }
}
