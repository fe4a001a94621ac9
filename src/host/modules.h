/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: parts of the library that need somebody else's, each a file with one
 * symbol, loaded when it is first wanted and never unloaded.  They are looked
 * for in two directories and nowhere else; no environment variable names one.
 */
#ifndef HF_HOST_MODULES_H
#define HF_HOST_MODULES_H

#include <limits.h>

#include <holdfast/holdfast.h>

/* What is wanted. */
struct hf_module {
    const char *name;    /* of the file: "engine-redis" for engine-redis.so */
    const char *symbol;  /* the one it exports, which begins with an unsigned
                            number of its interface */
    unsigned abi;        /* and this is the number wanted */
    const char *what;    /* for texts: "no engine for \"redis:\"" */
    const char *package; /* what the package is called behind "libholdfast-" */
};

/* Where modules are looked for, in this order. */
struct hf_module_dirs {
    char beside[PATH_MAX];  /* in the tree that our own code was loaded from,
                               which may have been moved; "": none */
    const char *configured; /* where the build was told to install them */
};

/* Set ${dirs} for this process: module_dirs.c. */
void hf_module_dirs_find(struct hf_module_dirs *dirs);

/* Set ${path} to the file of ${module} in the first of ${dirs} that has it.
 *   Fails  HF_EUNSUPPORTED, with ${error} naming where it was looked for and
 *          what to install, if none has it. */
hf_status hf_module_find(const struct hf_module_dirs *dirs,
                         const struct hf_module *module, char path[PATH_MAX],
                         struct hf_error *error);

/* Set ${found} to the symbol of ${module} in the file ${path}.
 *   Fails  HF_EUNSUPPORTED, with ${error} naming the file and what to do, if it
 *          cannot be loaded or belongs to another version. */
hf_status hf_module_load(const char *path, const struct hf_module *module,
                         const void **found, struct hf_error *error);

#endif
