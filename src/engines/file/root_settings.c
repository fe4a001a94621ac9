/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the root directory, from the URL and the environment, and the
 * paths below it.
 */
#include "engines/file/root_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/url_options.h"
#include "engines/file/syscalls.h"

#define LOCK_DIR "/run/lock"

/* Nothing that a login sets is used: XDG_RUNTIME_DIR is unset in cron, and its
 * directory is removed at logout.  Two directories would mean two holders. */
void hf_file_root_settings_default(uid_t uid, char root[HF_ROOT_BYTES])
{
    struct stat status;
    const mode_t open_to_all = S_ISVTX | S_IWOTH;

    if (uid == 0)
        (void)snprintf(root, HF_ROOT_BYTES, "/run/holdfast");
    else if (hf_file_sys_lstat(LOCK_DIR, &status) == 0 &&
             S_ISDIR(status.st_mode) &&
             (status.st_mode & open_to_all) == open_to_all)
        (void)snprintf(root, HF_ROOT_BYTES, LOCK_DIR "/holdfast-%u",
                       (unsigned)uid);
    else
        (void)snprintf(root, HF_ROOT_BYTES, "/tmp/holdfast-%u", (unsigned)uid);
}

/* Copy an absolute path without the slashes at its end, because with a slash at
 * its end a symbolic link would be followed in spite of O_NOFOLLOW.  ${what} is
 * for the error. */
static hf_status copy_path(const char *from, char *to, size_t room,
                           hf_status failure, const char *what,
                           struct hf_error *error)
{
    size_t bytes = strlen(from);

    if (from[0] != '/')
        return hf_error_set(error, failure,
                            "%s %s is relative; expected an absolute path, "
                            "the same from wherever a program is started",
                            what, hf_quote(from, bytes).text);
    while (bytes > 0 && from[bytes - 1] == '/')
        bytes--;
    if (bytes == 0)
        return hf_error_set(error, failure,
                            "%s is \"/\"; expected a directory of its own",
                            what);
    if (bytes >= room)
        return hf_error_set(error, failure,
                            "%s %s has %zu bytes; expected at most %zu", what,
                            hf_quote(from, bytes).text, bytes, room - 1);
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return HF_OK;
}

/* Use $HOLDFAST_DIR.  A '?' in it is refused, although a path may have one,
 * because most likely it begins options, which would be ignored.  If the
 * variable is empty, that is a mistake in a script; with the default instead,
 * the script could use another directory than the other programs. */
static hf_status copy_named(const char *named,
                            struct hf_file_root_settings *settings,
                            struct hf_error *error)
{
    if (strchr(named, '?') != NULL || strncmp(named, "file:", 5) == 0)
        return hf_error_set(error, HF_EDIR,
                            "HOLDFAST_DIR %s is not the path of a directory; "
                            "a URL, and the options behind its '?', go into "
                            "HOLDFAST_URL, for instance "
                            "file:/run/holdfast?mode=0770",
                            hf_quote(named, strlen(named)).text);
    if (named[0] == '\0')
        return hf_error_set(error, HF_EDIR,
                            "HOLDFAST_DIR is empty; expected the path of a "
                            "directory, or no such variable, which means the "
                            "default one (unset HOLDFAST_DIR)");
    return copy_path(named, settings->root, sizeof(settings->root), HF_EDIR,
                     "HOLDFAST_DIR", error);
}

/* Set the root directory: from the URL, or $HOLDFAST_DIR, or the default. */
static hf_status choose_root(const struct hf_url *url,
                             struct hf_file_root_settings *settings,
                             struct hf_error *error)
{
    const char *named = secure_getenv("HOLDFAST_DIR");

    if (url->authority != NULL && url->authority[0] != '\0')
        return hf_error_set(
            error, HF_EURL,
            "a file: URL names no host, this one names %s; "
            "expected file:/PATH",
            hf_quote(url->authority, strlen(url->authority)).text);
    if (url->path[0] != '\0')
        return copy_path(url->path, settings->root, sizeof(settings->root),
                         HF_EURL, "the path of the URL", error);
    if (named != NULL)
        return copy_named(named, settings, error);
    settings->by_default = true;
    hf_file_root_settings_default(geteuid(), settings->root);
    return HF_OK;
}

/* Returns with whom the write bits of ${mode} share the root directory. */
static enum hf_file_sharing sharing_of(mode_t mode)
{
    if ((mode & S_IWOTH) != 0)
        return HF_SHARING_ALL;
    return (mode & S_IWGRP) != 0 ? HF_SHARING_GROUP : HF_SHARING_NONE;
}

/* Read ?mode=, which sets the mode and with whom the root directory is
 * shared. */
static hf_status read_mode(const struct hf_url_option_row *row,
                           const char *text, void *field,
                           struct hf_error *error)
{
    struct hf_file_root_settings *settings = field;
    char *end;
    unsigned long mode =
        strspn(text, "01234567") == strlen(text) ? strtoul(text, &end, 8) : 0;
    if ((mode & 0700) != 0700 || mode > 07777 || (mode & S_ISUID) != 0)
        return hf_error_set(error, HF_EURL,
                            "mode=%s is no mode for the lock directory; "
                            "expected octal digits that let its owner in, "
                            "such as 0770: %s",
                            hf_quote(text, strlen(text)).text, row->help);
    settings->shared = true;
    settings->mode = (mode_t)mode;
    settings->sharing = sharing_of(settings->mode);
    /* so that files made by a member of the group belong to the group */
    if (settings->sharing == HF_SHARING_GROUP)
        settings->mode |= S_ISGID;
    return HF_OK;
}

/* Read ?state=, the directory of the token floor.  If it is given, it must be
 * usable. */
static hf_status read_state(const struct hf_url_option_row *row,
                            const char *text, void *field,
                            struct hf_error *error)
{
    struct hf_file_root_settings *settings = field;

    (void)row;
    settings->state_required = true;
    return copy_path(text, settings->state, sizeof(settings->state), HF_EURL,
                     "state=", error);
}

/* The options of the URL.  Each sets several fields, so each gets the whole
 * settings as its field. */
static const struct hf_url_option_row rows[] = {
    {.key = "mode",
     .read = read_mode,
     .help = "who may use the lock directory, as of chmod(1)"},
    {.key = "state",
     .read = read_state,
     .help = "the directory that keeps tokens rising over a reboot"},
};

/* Returns the mode of the root directory without the bits for users who may
 * only read.  Locks are not shared with them, but to read is enough for
 * flock(2): they could keep everybody waiting, and keep a dead ticket alive. */
static mode_t inner_mode(const struct hf_file_root_settings *settings)
{
    mode_t mode = settings->mode;

    if ((mode & S_IWGRP) == 0)
        mode &= (mode_t)~S_IRWXG;
    if ((mode & S_IWOTH) == 0)
        mode &= (mode_t)~S_IRWXO;
    return mode;
}

hf_status hf_file_root_settings_choose(const struct hf_url *url,
                                       struct hf_file_root_settings *settings,
                                       struct hf_error *error)
{
    hf_status status;

    *settings = (struct hf_file_root_settings){.mode = 0700};
    hf_file_token_floor_default(settings->state);
    status = hf_url_options_read(url, rows, sizeof rows / sizeof rows[0],
                                 settings, error);
    if (status == HF_OK)
        status = choose_root(url, settings, error);
    (void)snprintf(settings->counter_path, sizeof(settings->counter_path),
                   "%s/counter", settings->root);
    /* Without the sticky bit, because with it a user could not remove the
     * ticket of a dead process of another user. */
    settings->dir_mode = inner_mode(settings) & (mode_t)~S_ISVTX;
    settings->file_mode = inner_mode(settings) & 0666;
    return status;
}

void hf_file_root_settings_path(const struct hf_file_root_settings *settings,
                                const char *dir_name, const char *file,
                                char path[HF_PATH_BYTES])
{
    size_t at = strlen(settings->root);

    memcpy(path, settings->root, at);
    memcpy(path + at, "/" HF_FILE_LOCKS "/", sizeof("/" HF_FILE_LOCKS "/"));
    at += sizeof("/" HF_FILE_LOCKS "/") - 1;
    memcpy(path + at, dir_name, strlen(dir_name) + 1);
    if (file == NULL)
        return;
    at += strlen(dir_name);
    path[at] = '/';
    memcpy(path + at + 1, file, strlen(file) + 1);
}
