/* SPDX-License-Identifier: Apache-2.0 */
/* The files are read line by line until a line has the name. */
#include "command/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/url.h"
#include "transport/secret_file.h"

#define BLANKS " \t\n"

/* Set ${path} to the file of the user's profiles; to "" if neither variable is
 * set, as in a service of the machine.  The first variable that is set must be
 * usable: otherwise a profile of the machine would replace that of the user,
 * and this may be another engine.  An empty XDG_CONFIG_HOME counts as not set
 * (XDG Base Directory Specification).  A set-user-id program ignores the
 * variables. */
static hf_status path_of_user(char path[PATH_MAX], struct hf_error *error)
{
    const char *variable = "XDG_CONFIG_HOME", *below = "";
    const char *directory = secure_getenv(variable);

    path[0] = '\0';
    if (directory == NULL || directory[0] == '\0') {
        variable = "HOME";
        below = "/.config";
        directory = secure_getenv(variable);
    }
    if (directory == NULL)
        return HF_OK;
    if (directory[0] == '/' &&
        snprintf(path, PATH_MAX, "%s%s/holdfast/profiles", directory, below) <
            PATH_MAX)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s is %s, so the profiles of this user cannot be "
                        "found; expected an absolute path",
                        variable,
                        directory[0] == '\0'  ? "empty"
                        : directory[0] == '/' ? "too long"
                                              : "a relative path");
}

/* A file that is being read. */
struct profiles {
    const char *path;
    FILE *file;
    unsigned line;
};

static hf_status refuse_line(const struct profiles *profiles,
                             struct hf_error *error)
{
    return hf_error_set(error, HF_EINVAL,
                        "line %u of %.200s is no profile; expected a name and "
                        "a URL, for instance 'prod zk://zk1,zk2/locks', on a "
                        "line of less than %d bytes",
                        profiles->line, profiles->path, HF_PROFILE_LINE_BYTES);
}

/* Set ${*found} to the URL in ${line} if that is the profile ${name}; otherwise
 * to NULL. */
static hf_status read_line(const struct profiles *profiles, char *line,
                           const char *name, const char **found,
                           struct hf_error *error)
{
    char *rest;
    const char *word = strtok_r(line, BLANKS, &rest);
    const char *url = strtok_r(NULL, BLANKS, &rest);

    *found = NULL;
    if (word == NULL || word[0] == '#')
        return HF_OK;
    if (url == NULL || strtok_r(NULL, BLANKS, &rest) != NULL)
        return refuse_line(profiles, error);
    if (strcmp(word, name) == 0)
        *found = url;
    return HF_OK;
}

static hf_status refuse_file(const char *path, int reason,
                             struct hf_error *error)
{
    return hf_error_set(error, HF_EDENIED,
                        "the profiles of %.200s cannot be read: %s; "
                        "expected a file that this user may read",
                        path, hf_errno_text(reason));
}

/* Find ${name} in the lines of ${profiles}.  ${*found} points into ${line};
 * NULL if the name is not there. */
static hf_status read_lines(struct profiles *profiles, const char *name,
                            char line[HF_PROFILE_LINE_BYTES],
                            const char **found, struct hf_error *error)
{
    hf_status status = HF_OK;

    *found = NULL;
    while (status == HF_OK && *found == NULL &&
           fgets(line, HF_PROFILE_LINE_BYTES, profiles->file) != NULL) {
        profiles->line++;
        if (strchr(line, '\n') == NULL && !feof(profiles->file))
            status = refuse_line(profiles, error);
        else
            status = read_line(profiles, line, name, found, error);
    }
    if (status == HF_OK && ferror(profiles->file))
        return refuse_file(profiles->path, errno, error);
    return status;
}

/* May ${url}, which is in the file ${path}, be used?  If it has a password,
 * only this user may be able to read the file. */
static hf_status check_secret(const char *path, const char *url,
                              struct hf_error *error)
{
    static const struct hf_secret_kind kind = {
        .name = "the profiles, one of which has a password, ",
        .expected = "a file of profiles",
        .named_by = "XDG_CONFIG_HOME or HOME",
    };
    hf_status status;
    int fd;

    if (!hf_url_has_secret(url))
        return HF_OK;
    status = hf_secret_file_open(path, &kind, &fd, error);
    if (status == HF_OK)
        (void)close(fd);
    return status;
}

/* Find ${name} in the file ${path}.  ${url} stays NULL if the name or the file
 * is not there. */
static hf_status find_in(const char *path, const char *name, char **url,
                         struct hf_error *error)
{
    struct profiles profiles = {.path = path, .file = fopen(path, "re")};
    char line[HF_PROFILE_LINE_BYTES];
    const char *found;
    hf_status status;

    if (profiles.file == NULL && (errno == ENOENT || errno == ENOTDIR))
        return HF_OK;
    if (profiles.file == NULL)
        return refuse_file(path, errno, error);
    status = read_lines(&profiles, name, line, &found, error);
    (void)fclose(profiles.file);
    if (status == HF_OK && found != NULL)
        status = check_secret(path, found, error);
    if (status == HF_OK && found != NULL && (*url = strdup(found)) == NULL)
        status = hf_error_set(error, HF_ENOMEM, "out of memory");
    explicit_bzero(line, sizeof line);
    return status;
}

hf_status hf_profile_find(const char *name, char **url, struct hf_error *error)
{
    char of_user[PATH_MAX];
    hf_status status = path_of_user(of_user, error);
    bool has_user = of_user[0] != '\0';

    *url = NULL;
    if (status == HF_OK && has_user)
        status = find_in(of_user, name, url, error);
    if (status == HF_OK && *url == NULL)
        status = find_in(HF_PROFILES_OF_MACHINE, name, url, error);
    if (status != HF_OK || *url != NULL)
        return status;
    return hf_error_set(error, HF_EINVAL,
                        "there is no profile '%.80s'; expected a line "
                        "'%.80s URL' in %.200s%s" HF_PROFILES_OF_MACHINE,
                        name, name, has_user ? of_user : "",
                        has_user ? " or in " : "");
}
