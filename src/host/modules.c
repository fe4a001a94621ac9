/* SPDX-License-Identifier: Apache-2.0 */
#include "host/modules.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

static hf_status check(const struct hf_module *module, const void *found,
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

hf_status hf_module_load(const char *directory, const struct hf_module *module,
                         const void **found, struct hf_error *error)
{
    char path[PATH_MAX];
    void *library;
    int length;
    hf_status status;

    *found = NULL;
    assert(strchr(module->name, '/') == NULL);
    length = snprintf(path, sizeof(path), "%s/%s.so", directory, module->name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s, and the path of the directory of modules is "
                            "too long",
                            module->what);
    if (access(path, F_OK) != 0)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "%s, and there is no module %s; install the "
                            "package libholdfast-%s if there is one",
                            module->what, path, module->package);
    /* Never closed: its code may run until the process ends. */
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the module cannot be loaded: %s; install what it "
                            "needs",
                            dlerror());
    *found = dlsym(library, module->symbol);
    status = check(module, *found, path, error);
    if (status != HF_OK) {
        *found = NULL;
        (void)dlclose(library);
    }
    return status;
}
