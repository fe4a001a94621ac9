/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and loading a module.  A module is trusted like the library itself,
 * so it is only looked for where the library was installed or loaded from.
 */
#include "client/modules.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

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
    return hf_error_set(error, HF_EUNSUPPORTED,
                        "%s, and there is no module %s/%s.so%s%s; install the "
                        "package libholdfast-%s if there is one",
                        module->what, dirs->configured, module->name,
                        two ? ", nor one in " : "", two ? dirs->beside : "",
                        module->package);
}

/* RTLD_NODELETE keeps the module although dlclose() is called when it does not
 * fit. */
hf_status hf_module_load(const char *path, const struct hf_module *module,
                         const void **found, struct hf_error *error)
{
    /* Never closed: its code may run until the process ends. */
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
