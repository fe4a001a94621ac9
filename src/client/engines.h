/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which engine serves the scheme of a URL.  Some are built in; the others are
 * modules.
 *
 * A module is a part of the library that needs another library, a file with one
 * symbol.  It is loaded when it is first needed and never unloaded.  It is
 * looked for in two directories and nowhere else; no environment variable names
 * a third.
 */
#ifndef HF_CLIENT_ENGINES_H
#define HF_CLIENT_ENGINES_H

#include <limits.h>

#include <holdfast/status.h>

#include "core/engine.h"
#include "transport/sasl.h"
#include "transport/tls.h"

/* -------------------------------------------------------------- modules -- */

/* The module that is needed. */
struct hf_module {
    const char *name; /* of the file: "engine-redis" for engine-redis.so */
    /* The symbol that it exports.  The object begins with an unsigned number,
     * that of its interface. */
    const char *symbol;
    unsigned abi;     /* the number of the interface that is needed */
    const char *what; /* begins an error: "no engine for \"redis:\"" */
    const char
        *package; /* the end of its package: "redis" for libholdfast0.1-redis */
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

/* -------------------------------------------------------------- engines -- */

/* Set ${ops} to the engine for ${scheme}; its module is loaded if it has one,
 * and stays loaded.  HF_EUNSUPPORTED as hf_engines_load(); if there is no
 * module, ${error} names the file and the package that are missing. */
hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* Load the module for ${scheme} from ${dirs} and set ${ops} to its engine.
 * Engines that are built in are not looked at; hf_engines_find() calls it after
 * those, and tests call it with directories of their own.
 *   Fails     HF_EUNSUPPORTED if ${scheme} cannot be part of a file name, if
 *             there is no module for it or it cannot be loaded, or if the
 *             module is of another version or serves another scheme; ${ops} is
 *             then not set. */
hf_status hf_engines_load(const struct hf_module_dirs *dirs, const char *scheme,
                          const struct hf_engine_ops **ops,
                          struct hf_error *error);

/* The functions for TLS, from their module; as .tls of struct
 * hf_engine_host. */
hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error);

/* The functions for SASL, from their module; as .sasl of struct
 * hf_engine_host. */
hf_status hf_engines_sasl(const struct hf_sasl_ops **sasl,
                          struct hf_error *error);

#endif
