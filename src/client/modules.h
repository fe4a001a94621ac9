/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: parts of the library that need another library, each a file with one
 * symbol.  A module is loaded when it is first needed and never unloaded.  It
 * is looked for in two directories and nowhere else; no environment variable
 * names a third.
 */
#ifndef HF_HOST_MODULES_H
#define HF_HOST_MODULES_H

#include <limits.h>

#include <holdfast/holdfast.h>

/* The module that is needed. */
struct hf_module {
    const char *name; /* of the file: "engine-redis" for engine-redis.so */
    /* The symbol that it exports.  The object begins with an unsigned number,
     * that of its interface. */
    const char *symbol;
    unsigned abi;        /* the number of the interface that is needed */
    const char *what;    /* begins an error: "no engine for \"redis:\"" */
    const char *package; /* its package is called "libholdfast-" and this */
};

/* Where modules are looked for, in this order. */
struct hf_module_dirs {
    /* In the tree that our own code was loaded from, which may have been moved;
     * "": there is none. */
    char beside[PATH_MAX];
    /* The directory that the build was configured with. */
    const char *configured;
};

/* Set ${dirs} for this process: module_dirs.c. */
void hf_module_dirs_find(struct hf_module_dirs *dirs);

/* Set ${path} to the file of ${module} in the first of ${dirs} that has it.
 *   Fails     HF_EUNSUPPORTED if none has it; ${error} names the directories
 *             and what to install. */
hf_status hf_module_find(const struct hf_module_dirs *dirs,
                         const struct hf_module *module, char path[PATH_MAX],
                         struct hf_error *error);

/* Load the file ${path} and set ${found} to the symbol of ${module} in it.
 *   Fails     HF_EUNSUPPORTED if it cannot be loaded or belongs to another
 *             version; ${error} names the file and what to do. */
hf_status hf_module_load(const char *path, const struct hf_module *module,
                         const void **found, struct hf_error *error);

#endif
