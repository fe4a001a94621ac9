/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the modules are that belong to the code that asks for them.
 *
 * An installed tree may be moved, so the directory that was configured is only
 * the second guess.  The first guess is relative to the file that this code was
 * loaded from, which is the shared library, or a program that was linked with
 * the static one:
 *
 *     PREFIX/LIBDIR/libholdfast.so.0.1    LIBDIR is the base
 *     PREFIX/BINDIR/PROGRAM               PREFIX is the base
 *     PREFIX/LIBDIR/holdfast-0.1/MODULE.so    with the version of the soname
 *
 * A module runs with our rights, so the first guess is left out where another
 * user could have put modules there:
 *
 * - In a set-user-id program, because any user may have linked the program to a
 *   directory of his own, or set where the loader looks for the library.
 * - With a base that every user may write to, as when a program is built in
 *   /tmp/bin.  A user who can write above the base could replace the program
 *   too.
 * - When the library was loaded by a relative path, which may mean another file
 *   by now.
 *
 * It is a file of its own because programs that are not installed have another
 * one: they find the modules that were built with them.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "client/engines.h"

#ifndef HF_MODULE_DIR
#error "HF_MODULE_DIR must be set to the directory of modules"
#endif

/* The way from the directory of a program to PREFIX, and from there to the
 * modules; empty where the two have no PREFIX in common. */
#ifndef HF_MODULE_PREFIX
#define HF_MODULE_PREFIX ""
#define HF_MODULE_BELOW_PREFIX ""
#endif

/* Where a file of code is, and the modules relative to that. */
struct origin {
    char base[PATH_MAX]; /* absolute */
    const char *below;   /* from there to the modules; "": they are nowhere */
};

/* Is ${info} about the program, and not about a library? glibc calls the
 * program by its argv[0], which may be anything; so compare where its program
 * headers are. */
static bool is_program(const Dl_info *info)
{
    const ElfW(Ehdr) *header = info->dli_fbase;

    return (uintptr_t)header + header->e_phoff == getauxval(AT_PHDR);
}

/* Set ${base} to the directory that is ${up} from that of the file ${path}. */
static bool find_base(char base[PATH_MAX], const char *path, const char *up)
{
    char real[PATH_MAX];
    char joined[PATH_MAX];
    int length;

    if (path[0] != '/' || realpath(path, real) == NULL)
        return false;
    *strrchr(real, '/') = '\0';
    length = snprintf(joined, sizeof(joined), "%s/%s", real, up);
    return length > 0 && (size_t)length < sizeof(joined) &&
           realpath(joined, base) != NULL;
}

/* Set ${origin} for the file that this function was loaded from. */
static bool find_origin(struct origin *origin)
{
    static const char here;
    Dl_info info;

    if (dladdr(&here, &info) == 0 || is_program(&info)) {
        origin->below = HF_MODULE_BELOW_PREFIX;
        return find_base(origin->base, "/proc/self/exe", HF_MODULE_PREFIX);
    }
    /* Beside the library modules are in a directory of the same name. */
    origin->below = strrchr(HF_MODULE_DIR, '/') + 1;
    return find_base(origin->base, info.dli_fname, "");
}

/* May every user write to ${directory}?  True also if that cannot be found
 * out. */
static bool is_world_writable(const char *directory)
{
    struct stat status;

    return stat(directory, &status) != 0 || (status.st_mode & S_IWOTH) != 0;
}

/* AT_SECURE is set for set-user-id programs and the like; see getauxval(3). */
void hf_module_dirs_find(struct hf_module_dirs *dirs)
{
    struct origin origin;
    int length;

    dirs->configured = HF_MODULE_DIR;
    dirs->beside[0] = '\0';
    if (getauxval(AT_SECURE) != 0 || !find_origin(&origin) ||
        origin.below[0] == '\0' || is_world_writable(origin.base))
        return;
    length = snprintf(dirs->beside, sizeof(dirs->beside), "%s/%s", origin.base,
                      origin.below);
    if (length < 0 || (size_t)length >= sizeof(dirs->beside))
        dirs->beside[0] = '\0';
}
