/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_EXAMINE.  The examination makes no files.  What cannot be found
 * out without making one is left to the first ticket. */
#include "engines/file/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "engines/file/engine.h"
#include "engines/file/syscalls.h"

/* Less free space than this is reported.  It still has room for a page of the
 * counter and some tickets. */
#define SPACE_LOW_BYTES ((uint64_t)1 << 20)
#define INODES_LOW 100

/* Fewer free instances of inotify than this are reported, because the next
 * programs may find none. */
#define INSTANCES_LOW 16

/* ------------------------------------------------------------------ root -- */

/* Add whether there is a root directory.  The directories above it and its
 * owner were checked when it was opened. */
static void add_root(const struct hf_engine *engine,
                     struct hf_finding_list *list)
{
    struct stat status;
    const struct hf_file_root_settings *settings = &engine->settings;
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-root", settings->root,
                                   NULL};

    if (engine->root_dir == NULL) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "nothing, unless locks are held: then their holders use "
                      "another directory, which has to be named in the URL";
        hf_finding_add(list, &head,
                       hf_file_sys_lstat(settings->root, &status) == 0
                           ? "nobody has ever taken a lock in this directory"
                           : "the directory is not there: nobody has taken a "
                             "lock in it since the machine was started");
        return;
    }
    hf_finding_add(list, &head,
                   "%s; no other user can replace it or what is on the way "
                   "to it",
                   settings->by_default ? "the default directory of this user"
                                        : "the directory that was named");
}

/* Add who shares the directory.  mode= of the URL shows who is meant to share
 * it, and the mode of the directory who does. */
static void add_sharing(const struct hf_engine *engine,
                        struct hf_finding_list *list)
{
    const struct hf_file_root_settings *settings = &engine->settings;
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-sharing",
                                   settings->root, NULL};
    struct stat status;

    if (hf_file_sys_fstat(engine->root_dir->root_fd, &status) != 0)
        return;
    if (settings->shared &&
        (status.st_mode & 0777) != (settings->mode & 0777)) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "have all programs name the same mode=, and set it with "
                      "chmod";
        hf_finding_add(list, &head, "its mode is %04o, and the URL has %04o",
                       (unsigned)status.st_mode & 07777,
                       (unsigned)settings->mode & 07777);
    } else if (settings->sharing == HF_SHARING_NONE) {
        hf_finding_add(list, &head,
                       "only user %u and root can take locks in it",
                       (unsigned)status.st_uid);
    } else {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "nothing, if all of them are trusted with these locks";
        hf_finding_add(
            list, &head, "%s can take locks in it, and remove those of others",
            settings->sharing == HF_SHARING_ALL ? "every user of the machine"
                                                : "every user of its group");
    }
}

static void add_filesystem(const struct hf_engine *engine,
                           struct hf_finding_list *list)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-filesystem",
                                   engine->settings.root, NULL};
    struct statfs status;
    const char *name;

    if (hf_file_sys_fstatfs(engine->root_dir->root_fd, &status) != 0)
        return;
    name =
        hf_file_root_dir_filesystem_name((uint64_t)status.f_type & 0xffffffffu);
    if (strcmp(name, "overlay") == 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "if containers have to exclude each other, bind one "
                      "directory of the machine into all of them";
    }
    hf_finding_add(list, &head,
                   head.severity == HF_SEVERITY_OK
                       ? "it is on %s, where locks can be kept"
                       : "it is on %s: another container has its own copy, "
                         "and other locks",
                   name);
    head.id = "file-space";
    head.severity = HF_SEVERITY_OK;
    head.advice = NULL;
    if ((status.f_blocks > 0 &&
         (uint64_t)status.f_bavail * (uint64_t)status.f_bsize <
             SPACE_LOW_BYTES) ||
        (status.f_files > 0 && status.f_ffree < INODES_LOW)) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "make room: a ticket that cannot be written fails";
    }
    hf_finding_add(list, &head,
                   "%" PRIu64 " bytes and %" PRIu64 " files are free",
                   (uint64_t)status.f_bavail * (uint64_t)status.f_bsize,
                   (uint64_t)status.f_ffree);
}

/* ----------------------------------------------------------------- floor -- */

/* The directory above ${dir}. */
static void parent_of(const char *dir, char parent[HF_TOKEN_FLOOR_DIR_BYTES])
{
    (void)snprintf(parent, HF_TOKEN_FLOOR_DIR_BYTES, "%s", dir);
    *strrchr(parent, '/') = '\0';
    if (parent[0] == '\0')
        (void)snprintf(parent, HF_TOKEN_FLOOR_DIR_BYTES, "/");
}

/* Returns whether ${dir} is in memory, and so gone after a reboot. */
static bool is_in_memory(const char *dir)
{
    int fd = hf_file_sys_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct statfs status;
    bool in_memory = false;

    if (fd < 0)
        return false;
    if (hf_file_sys_fstatfs(fd, &status) == 0) {
        const char *name = hf_file_root_dir_filesystem_name(
            (uint64_t)status.f_type & 0xffffffffu);

        in_memory = strcmp(name, "tmpfs") == 0 || strcmp(name, "ramfs") == 0;
    }
    (void)close(fd);
    return in_memory;
}

/* Returns why tokens may fall after a reboot, or NULL if they will not. */
static const char *floor_problem(const char *state)
{
    char parent[HF_TOKEN_FLOOR_DIR_BYTES];
    struct stat status;
    bool there = hf_file_sys_lstat(state, &status) == 0;

    if (!there && errno != ENOENT)
        return "cannot be looked at";
    parent_of(state, parent);
    if (there && (!S_ISDIR(status.st_mode) ||
                  (status.st_uid != geteuid() && status.st_uid != 0) ||
                  (status.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        return "is not a directory of this user's alone";
    if (hf_file_sys_access(there ? state : parent, W_OK | X_OK) != 0)
        return there ? "cannot be written" : "cannot be made";
    if (is_in_memory(there ? state : parent))
        return "is in memory, and gone after a reboot";
    return NULL;
}

static void add_floor(const struct hf_engine *engine,
                      struct hf_finding_list *list)
{
    const char *state = engine->settings.state;
    const char *problem = floor_problem(state);
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-floor", state, NULL};

    if (problem == NULL) {
        hf_finding_add(list, &head, "tokens rise also over a reboot");
        return;
    }
    head.severity = HF_SEVERITY_WARNING;
    head.advice = "name a directory on a disk that this user owns and can "
                  "write, with ?state=DIR in the URL";
    hf_finding_add(list, &head,
                   "the directory of the token floor %s: after a reboot tokens "
                   "rise only if the wall clock was not set back",
                   problem);
}

/* --------------------------------------------------------------- inotify -- */

/* Returns the number in the file ${path}; 0 if it cannot be read. */
static uint64_t read_number(const char *path)
{
    char text[32];
    int fd = hf_file_sys_open(path, O_RDONLY, 0);
    ssize_t got;

    if (fd < 0)
        return 0;
    got = hf_file_sys_pread(fd, text, sizeof text - 1, 0);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    return strtoull(text, NULL, 10);
}

/* Returns how many instances of inotify this user can get now, up to
 * ${most}. */
static unsigned try_instances(unsigned most)
{
    int fds[INSTANCES_LOW];
    unsigned count = 0;

    while (count < most && (fds[count] = hf_file_sys_inotify()) >= 0)
        count++;
    for (unsigned i = 0; i < count; i++)
        (void)close(fds[i]);
    return count;
}

/* Add how many instances of inotify are left.  A user may have few, and each
 * client that holds a lock needs one. */
static void add_inotify(struct hf_finding_list *list)
{
    static const char limits[] = "/proc/sys/fs/inotify/max_user_instances";
    uint64_t limit = read_number(limits);
    unsigned free_instances = try_instances(INSTANCES_LOW);
    struct hf_finding_head head = {HF_SEVERITY_OK, "file-inotify", limits,
                                   NULL};

    if (free_instances == INSTANCES_LOW) {
        hf_finding_add(list, &head,
                       "of %" PRIu64 " instances of inotify this user has %u "
                       "or more left",
                       limit, free_instances);
        return;
    }
    head.severity =
        free_instances == 0 ? HF_SEVERITY_WARNING : HF_SEVERITY_NOTICE;
    head.advice = "raise it: sysctl fs.inotify.max_user_instances=1024";
    hf_finding_add(list, &head,
                   "of %" PRIu64 " instances of inotify this user has %u left; "
                   "a client without one learns only once a second that its "
                   "ticket was removed",
                   limit, free_instances);
}

/* ---------------------------------------------------------------- answer -- */

void hf_file_examine(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_finding_list list = {0};
    struct hf_event event = {.kind = HF_EVENT_EXAMINED};

    add_root(engine, &list);
    if (engine->root_dir != NULL) {
        add_sharing(engine, &list);
        add_filesystem(engine, &list);
    }
    add_floor(engine, &list);
    add_inotify(&list);
    hf_file_examine_other_roots(&engine->settings, &list);
    event.as.answer.request = request;
    event.as.answer.findings = &list;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
    hf_finding_list_free(&list);
}
