/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the modules are that belong to the code that asks for them.
 *
 * An installed tree may be moved, so that the place that was configured is
 * only the second guess.  The first is relative to the file that this code was
 * loaded from, which is the shared library or a program that was linked with
 * the static one:
 *
 *     PREFIX/LIBDIR/libholdfast.so.0.1    LIBDIR is the base
 *     PREFIX/BINDIR/PROGRAM               PREFIX is the base
 *     PREFIX/LIBDIR/holdfast/MODULE.so
 *
 * What is loaded runs with our rights, so the first guess is left out where
 * somebody else could have put the modules there:
 *
 * - In a set-user-id program, because any user may have linked the program to
 *   a place of his own, or told the loader where to find the library.
 * - With a base that every user may write to, as when a program is built in
 *   /tmp/bin.  Whoever can write above the base could replace the program too.
 * - When the library was loaded by a relative path, which may mean another
 *   file by now.
 *
 * A file of its own because programs that are not installed have another one:
 * they find the modules that were built with them.
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

#include "host/modules.h"

#ifndef HF_MODULE_DIR
#error "HF_MODULE_DIR must be set to the directory of modules"
#endif

/* From the directory of a program to PREFIX, and from there to the modules;
 * not set where the two have no PREFIX in common. */
#ifndef HF_MODULE_PREFIX
#define HF_MODULE_PREFIX ""
#define HF_MODULE_BELOW_PREFIX ""
#endif

/* What a file of code says of its place. */
struct origin {
    char base[PATH_MAX]; /* absolute; "": unknown */
    const char *below;   /* from there to the modules; "": they are nowhere */
};

/* glibc calls the program by its argv[0], which may be anything; so it is told
 * from a library by where its program headers are. */
static bool is_program(const Dl_info *info)
{
    const ElfW(Ehdr) *header = info->dli_fbase;

    return (uintptr_t)header + header->e_phoff == getauxval(AT_PHDR);
}

/* Set ${base} to the directory ${up} from that of the file ${path}. */
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

static bool find_origin(struct origin *origin)
{
    static const char here;
    Dl_info info;

    if (dladdr(&here, &info) == 0 || is_program(&info)) {
        origin->below = HF_MODULE_BELOW_PREFIX;
        return find_base(origin->base, "/proc/self/exe", HF_MODULE_PREFIX);
    }
    origin->below = "holdfast";
    return find_base(origin->base, info.dli_fname, "");
}

static bool is_world_writable(const char *directory)
{
    struct stat status;

    return stat(directory, &status) != 0 || (status.st_mode & S_IWOTH) != 0;
}

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
