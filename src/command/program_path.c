/* SPDX-License-Identifier: Apache-2.0 */
/* See program_path.h. */
#include "command/program_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#if !defined HF_BIN_DIR || !defined HF_LIBEXEC_DIR ||                          \
    !defined HF_BIN_TO_LIBEXEC || !defined HF_LIBEXEC_TO_BIN
#error "HF_BIN_DIR, HF_LIBEXEC_DIR and the ways between the two must be set"
#endif

const struct hf_program hf_program_holdfast = {"holdfast", HF_LIBEXEC_TO_BIN,
                                               HF_BIN_DIR};
const struct hf_program hf_program_torture = {
    "holdfast-torture", HF_BIN_TO_LIBEXEC, HF_LIBEXEC_DIR};
const struct hf_program hf_program_zk = {"holdfast-zk", HF_BIN_TO_LIBEXEC,
                                         HF_LIBEXEC_DIR};

/* Set ${directory} to that of the running program.  Returns false on failure.
 */
static bool find_own_directory(char directory[PATH_MAX])
{
    if (realpath("/proc/self/exe", directory) == NULL)
        return false;
    *strrchr(directory, '/') = '\0';
    return true;
}

static bool is_world_writable(const char *directory)
{
    struct stat status;

    return stat(directory, &status) != 0 || (status.st_mode & S_IWOTH) != 0;
}

/* Set ${path} to ${directory}/${name}.  Returns false if that cannot be
 * executed. */
static bool find_in(const char *directory, const char *name,
                    char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);

    return length > 0 && length < PATH_MAX && access(path, X_OK) == 0;
}

/* The same in the directory ${relative}, seen from the directory ${own}.  Also
 * returns false if every user may write to that directory. */
static bool find_from(const char *own, const char *relative, const char *name,
                      char path[PATH_MAX])
{
    char joined[PATH_MAX], directory[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s/%s", own, relative);

    return length > 0 && length < PATH_MAX &&
           realpath(joined, directory) != NULL &&
           !is_world_writable(directory) && find_in(directory, name, path);
}

bool hf_program_find(const struct hf_program *program, char path[PATH_MAX])
{
    char own[PATH_MAX];

    if (getauxval(AT_SECURE) == 0 && find_own_directory(own)) {
        if (find_from(own, ".", program->name, path))
            return true;
        if (program->relative_dir[0] != '\0' &&
            find_from(own, program->relative_dir, program->name, path))
            return true;
    }
    return find_in(program->configured_dir, program->name, path);
}
