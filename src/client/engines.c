/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines that are built in, and finding and loading the modules of the
 * others.
 *
 * A module is trusted like the library itself, so it is only looked for where
 * the library was installed or loaded from.  A scheme is at most 32 lower-case
 * letters and digits, because it becomes part of a file name.
 */
#include "client/engines.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/version.h>

#include "base/error.h"
#include "engines/file/file.h"
#include "engines/zookeeper/zookeeper.h"

#ifndef HF_SOVERSION
#error "HF_SOVERSION must be set to the version in the soname"
#endif

/* -------------------------------------------------------------- modules -- */

/* Is ${found}, the symbol of the module in ${path}, there, and of our
 * version? */
static hf_status check_abi(const struct hf_module *module, const void *found,
                           const char *path, struct hf_error *error)
{
    unsigned abi;

    if (found == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s is no module of holdfast: it has no symbol %s; "
                            "install the module that belongs to this version "
                            "of holdfast",
                            path, module->symbol);
    memcpy(&abi, found, sizeof(abi));
    if (abi != module->abi)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s was built for interface %u of %s, this "
                            "library has %u; install the module of version %s",
                            path, abi, module->symbol, module->abi,
                            HF_VERSION_STRING);
    return HF_OK;
}

/* Is there a file for ${module} in ${directory}?  Sets ${path} to its name. */
static bool is_in(const char *directory, const struct hf_module *module,
                  char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%s.so", directory, module->name);

    return length > 0 && length < PATH_MAX && access(path, F_OK) == 0;
}

/* The error names every directory that was tried. */
hf_status hf_module_find(const struct hf_module_dirs *dirs,
                         const struct hf_module *module, char path[PATH_MAX],
                         struct hf_error *error)
{
    bool two =
        dirs->beside[0] != '\0' && strcmp(dirs->beside, dirs->configured) != 0;

    assert(strchr(module->name, '/') == NULL);
    if ((two && is_in(dirs->beside, module, path)) ||
        is_in(dirs->configured, module, path))
        return HF_OK;
    return hf_error_set(
        error, HF_EUNSUPPORTED,
        "%s, and there is no module %s/%s.so%s%s; install the "
        "package libholdfast" HF_SOVERSION "-%s if there is one; "
        "'holdfast --version -v' lists the engines",
        module->what, dirs->configured, module->name,
        two ? ", nor one in " : "", two ? dirs->beside : "", module->package);
}

/* A module that does not fit is closed, but stays in memory (RTLD_NODELETE). */
hf_status hf_module_load(const char *path, const struct hf_module *module,
                         const void **found, struct hf_error *error)
{
    /* Never unloaded: its code may run until the process ends. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    hf_status status;

    *found = NULL;
    if (library == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the module cannot be loaded: %s; install what it "
                            "needs",
                            dlerror());
    *found = dlsym(library, module->symbol);
    status = check_abi(module, *found, path, error);
    if (status != HF_OK) {
        *found = NULL;
        (void)dlclose(library);
    }
    return status;
}

/* -------------------------------------------------------------- engines -- */

/* For the text of an error. */
#define BUILT_IN "\"file:\", \"zk:\" and \"zks:\" are built in"

/* The longest scheme that a URL can have; see base/url.c. */
#define SCHEME_BYTES 32

/* In the order in which they are tried. */
static const struct hf_engine_ops *const built_in[] = {
    &hf_engine_file,
    &hf_engine_zookeeper,
    &hf_engine_zookeeper_tls,
};

/* May ${scheme} become part of the name of a file? */
static bool is_plain(const char *scheme)
{
    return scheme[0] != '\0' && strlen(scheme) <= SCHEME_BYTES &&
           scheme[strspn(scheme, "abcdefghijklmnopqrstuvwxyz0123456789")] ==
               '\0';
}

/* The scheme whose module serves ${scheme}. */
static const char *module_of(const char *scheme)
{
    static const char *const aliases[][2] = {{"postgres", "postgresql"},
                                             {"rediss", "redis"},
                                             {"quorum", "redis"},
                                             {"etcds", "etcd"}};

    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcmp(aliases[i][0], scheme) == 0)
            return aliases[i][1];
    }
    return scheme;
}

/* A module is accepted only if it serves the scheme that its file name
 * promises. */
hf_status hf_engines_load(const struct hf_module_dirs *dirs, const char *scheme,
                          const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    const char *wanted_scheme = module_of(scheme);
    char name[SCHEME_BYTES + sizeof("engine-")];
    char what[SCHEME_BYTES + sizeof("no engine for \":\": " BUILT_IN)];
    const struct hf_module module = {
        .name = name,
        .symbol = HF_ENGINE_MODULE_SYMBOL,
        .abi = HF_ENGINE_ABI,
        .what = what,
        .package = wanted_scheme,
    };
    char path[PATH_MAX];
    const struct hf_engine_ops *engine;
    const void *found;
    hf_status status;

    if (!is_plain(scheme))
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "no engine has the scheme \"%.64s\"; %s", scheme,
                            BUILT_IN);
    (void)snprintf(name, sizeof(name), "engine-%s", wanted_scheme);
    (void)snprintf(what, sizeof(what), "no engine for \"%s:\": %s", scheme,
                   BUILT_IN);
    if ((status = hf_module_find(dirs, &module, path, error)) != HF_OK ||
        (status = hf_module_load(path, &module, &found, error)) != HF_OK)
        return status;
    engine = found;
    if (strcmp(engine->scheme, wanted_scheme) != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s serves the scheme \"%s\", not \"%s\"; "
                            "install it under its own name",
                            path, engine->scheme, wanted_scheme);
    *ops = engine;
    return HF_OK;
}

/* The engines that are built in come first: no module can take their place. */
hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    struct hf_module_dirs dirs;
    size_t i;

    for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
        if (strcmp(built_in[i]->scheme, scheme) == 0) {
            *ops = built_in[i];
            return HF_OK;
        }
    }
    hf_module_dirs_find(&dirs);
    return hf_engines_load(&dirs, scheme, ops, error);
}

/* Load ${module} from where modules are, and set ${found} to its symbol. */
static hf_status load_module(const struct hf_module *module, const void **found,
                             struct hf_error *error)
{
    struct hf_module_dirs dirs;
    char path[PATH_MAX];
    hf_status status;

    *found = NULL;
    hf_module_dirs_find(&dirs);
    status = hf_module_find(&dirs, module, path, error);
    return status == HF_OK ? hf_module_load(path, module, found, error)
                           : status;
}

/* TLS is a module of its own, so that the library does not need a TLS
 * library. */
hf_status hf_engines_tls(const struct hf_tls_ops **tls, struct hf_error *error)
{
    static const struct hf_module module = {
        .name = "transport-tls",
        .symbol = HF_TLS_MODULE_SYMBOL,
        .abi = HF_TLS_ABI,
        .what = "TLS is not built in",
        .package = "tls",
    };
    const void *found;
    hf_status status = load_module(&module, &found, error);

    *tls = found;
    return status;
}

/* A module of its own for the same reason as TLS. */
hf_status hf_engines_sasl(const struct hf_sasl_ops **sasl,
                          struct hf_error *error)
{
    static const struct hf_module module = {
        .name = "transport-sasl",
        .symbol = HF_SASL_MODULE_SYMBOL,
        .abi = HF_SASL_ABI,
        .what = "SASL is not built in",
        .package = "sasl",
    };
    const void *found;
    hf_status status = load_module(&module, &found, error);

    *sasl = found;
    return status;
}
