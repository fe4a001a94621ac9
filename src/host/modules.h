/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: parts of the library that need somebody else's, each a file with one
 * symbol, loaded when it is first wanted and never unloaded.  They are looked
 * for in one directory, fixed when the library is built, and nowhere else.
 */
#ifndef HF_HOST_MODULES_H
#define HF_HOST_MODULES_H

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

/* Where modules are: module_dir.c. */
extern const char hf_module_directory[];

/* Set ${found} to the symbol of ${module} in ${directory}.  HF_EUNSUPPORTED,
 * with ${error} naming the file and what to do, if there is none or it is
 * another version's. */
hf_status hf_module_load(const char *directory, const struct hf_module *module,
                         const void **found, struct hf_error *error);

#endif
