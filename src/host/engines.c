/* SPDX-License-Identifier: Apache-2.0 */
#include "host/engines.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "engines/file/file.h"

#ifndef HF_MODULE_DIR
#error "HF_MODULE_DIR must be set to the directory of engine modules"
#endif

static const struct hf_engine_ops *const built_in[] = {&hf_engine_file};

/* The scheme becomes part of a file name. */
static bool is_plain(const char *scheme)
{
    return scheme[0] != '\0' &&
           scheme[strspn(scheme, "abcdefghijklmnopqrstuvwxyz0123456789")] ==
               '\0';
}

static hf_status check_module(const struct hf_engine_ops *found,
                              const char *path, const char *scheme,
                              struct hf_error *error)
{
    if (found == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s is not an engine module: it has no symbol "
                            "%s; install the module that belongs to this "
                            "version of holdfast",
                            path, HF_ENGINE_MODULE_SYMBOL);
    if (found->abi != HF_ENGINE_ABI)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s was built for engine interface %u, this "
                            "library has %u; install the module of version "
                            "%s",
                            path, found->abi, (unsigned)HF_ENGINE_ABI,
                            HF_VERSION_STRING);
    if (strcmp(found->scheme, scheme) != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s serves the scheme \"%s\", not \"%s\"; "
                            "install it under its own name",
                            path, found->scheme, scheme);
    return HF_OK;
}

hf_status hf_engines_load(const char *directory, const char *scheme,
                          const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    char path[PATH_MAX];
    void *module;
    int length;
    hf_status status;

    length = snprintf(path, sizeof(path), "%s/engine-%s.so", directory, scheme);
    if (!is_plain(scheme) || length < 0 || (size_t)length >= sizeof(path))
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "no engine has the scheme \"%.64s\"; expected "
                            "\"file:\"",
                            scheme);
    if (access(path, F_OK) != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "no engine for \"%.64s:\": \"file:\" is built in, "
                            "and there is no module %s; install the package "
                            "libholdfast-%.64s if there is one",
                            scheme, path, scheme);
    /* Never closed: its code may run until the process ends. */
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the engine module cannot be loaded: %s; "
                            "install what it needs",
                            dlerror());
    *ops = dlsym(module, HF_ENGINE_MODULE_SYMBOL);
    if ((status = check_module(*ops, path, scheme, error)) != HF_OK) {
        *ops = NULL;
        (void)dlclose(module);
    }
    return status;
}

hf_status hf_engines_find(const char *scheme, const struct hf_engine_ops **ops,
                          struct hf_error *error)
{
    size_t i;

    for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
        if (strcmp(built_in[i]->scheme, scheme) == 0) {
            *ops = built_in[i];
            return HF_OK;
        }
    }
    return hf_engines_load(HF_MODULE_DIR, scheme, ops, error);
}
