/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the calls that come from the library and decides which one fails. */
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct fault_kind fault_kinds[FAULT_ROWS] = {
#define FAULT_KIND_(row, name_, ...)                                           \
    [FAULT_##row] = {.name = (name_), .errors = {__VA_ARGS__}},
    FAULT_TABLE(FAULT_KIND_)
#undef FAULT_KIND_
};

/* The libraries whose calls count: this one as it is built for the sweep, its
 * modules, and the libraries below those. */
static const char *const looked_at[] = {
    "libhf_swept.", "engine-",     "transport-",  "libuv.",
    "libpq.",       "libhiredis.", "libnghttp2.",
};

static struct fault_plan plan;
static struct fault_report *report;
static _Atomic bool armed;

const char *fault_error_name(int error)
{
    if (error == FAULT_SHORT)
        return "short";
    if (error == FAULT_END)
        return "end";
    return strerrorname_np(error);
}

void fault_set(const struct fault_plan *wanted, struct fault_report *kept)
{
    plan = *wanted;
    report = kept;
}

void fault_begin(void)
{
    atomic_store(&armed, true);
}

void fault_end(void)
{
    atomic_store(&armed, false);
}

/* ---------------------------------------------------------------- callers */

/* The file name of the library that ${address} is in; "" for the program. */
static const char *object_of(const void *address)
{
    struct dl_find_object found;
    const char *path;
    const char *slash;

    if (_dl_find_object((void *)(uintptr_t)address, &found) != 0 ||
        found.dlfo_link_map->l_name == NULL)
        return "";
    path = found.dlfo_link_map->l_name;
    slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool fault_is_from(const void *caller, const char *library)
{
    return strncmp(object_of(caller), library, strlen(library)) == 0;
}

static bool is_looked_at(const char *object)
{
    for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]); i++)
        if (strncmp(object, looked_at[i], strlen(looked_at[i])) == 0)
            return true;
    return false;
}

int fault_meets(enum fault_row row, const void *caller)
{
    const char *object;
    unsigned call;

    if (!atomic_load(&armed))
        return 0;
    object = object_of(caller);
    if (!is_looked_at(object))
        return 0;
    call = atomic_fetch_add(&report->calls[row], 1) + 1;
    if (plan.error == 0 || plan.row != row || plan.nth != call)
        return 0;
    (void)snprintf(report->caller, sizeof(report->caller), "%s", object);
    atomic_fetch_add(&report->met, 1);
    return plan.error;
}

void *fault_real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        (void)fprintf(stderr, "libc has no %s\n", name);
        _Exit(70);
    }
    return found;
}

/* ------------------------------------------------------------ libuv's end */

_Noreturn void abort(void)
{
    if (report != NULL && fault_is_from(__builtin_return_address(0), "libuv."))
        atomic_store(&report->uv_aborted, true);
    (void)signal(SIGABRT, SIG_DFL);
    (void)raise(SIGABRT);
    _Exit(134);
}
