/* SPDX-License-Identifier: Apache-2.0 */
/* Memory.  The library and libuv have hooks for allocators.  The client
 * libraries below the modules have none, so malloc() and its like are replaced,
 * except in builds with sanitizers, which replace them themselves. */
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>
#include <uv.h>

#include "wrap.h"

/* -------------------------------------------------------------- libc's own */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void *plain_malloc(size_t bytes)
{
    return malloc(bytes);
}

static void *plain_realloc(void *memory, size_t bytes)
{
    return realloc(memory, bytes);
}

#else

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static void *plain_malloc(size_t bytes)
{
    return __libc_malloc(bytes);
}

static void *plain_realloc(void *memory, size_t bytes)
{
    return __libc_realloc(memory, bytes);
}

static bool is_refused(const void *caller)
{
    if (!fault_is_from(caller, "libpq.") &&
        !fault_is_from(caller, "libhiredis.") &&
        !fault_is_from(caller, "libnghttp2."))
        return false;
    if (fault_meets(FAULT_BELOW_ALLOC, caller) == 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    if (is_refused(__builtin_return_address(0)))
        return NULL;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (is_refused(__builtin_return_address(0)))
        return NULL;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    if (is_refused(__builtin_return_address(0)))
        return NULL;
    return __libc_realloc(memory, bytes);
}

char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy;

    if (is_refused(__builtin_return_address(0)))
        return NULL;
    copy = __libc_malloc(bytes);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

#endif

/* ------------------------------------------------------------------ hooks */

static struct fault_report *counted;

static void *own_allocate(size_t bytes, void *arg)
{
    void *memory = NULL;

    (void)arg;
    if (fault_meets(FAULT_ALLOC, __builtin_return_address(0)) == 0)
        memory = plain_malloc(bytes);
    if (memory != NULL)
        atomic_fetch_add(&counted->own_memory, 1);
    return memory;
}

static void *own_resize(void *memory, size_t bytes, void *arg)
{
    void *resized = NULL;

    (void)arg;
    if (fault_meets(FAULT_ALLOC, __builtin_return_address(0)) == 0)
        resized = plain_realloc(memory, bytes);
    if (memory == NULL && resized != NULL)
        atomic_fetch_add(&counted->own_memory, 1);
    return resized;
}

static void own_release(void *memory, void *arg)
{
    (void)arg;
    free(memory);
    atomic_fetch_sub(&counted->own_memory, 1);
}

static void *uv_allocate(size_t bytes)
{
    void *memory = NULL;

    if (fault_meets(FAULT_UV_ALLOC, __builtin_return_address(0)) == 0)
        memory = plain_malloc(bytes);
    else
        errno = ENOMEM;
    if (memory != NULL)
        atomic_fetch_add(&counted->uv_memory, 1);
    return memory;
}

static void *uv_resize(void *memory, size_t bytes)
{
    void *resized = NULL;

    if (fault_meets(FAULT_UV_ALLOC, __builtin_return_address(0)) == 0)
        resized = plain_realloc(memory, bytes);
    else
        errno = ENOMEM;
    if (memory == NULL && resized != NULL)
        atomic_fetch_add(&counted->uv_memory, 1);
    return resized;
}

static void *uv_zeroed(size_t count, size_t bytes)
{
    void *memory = NULL;

    if (fault_meets(FAULT_UV_ALLOC, __builtin_return_address(0)) == 0)
        memory = plain_malloc(count * bytes);
    else
        errno = ENOMEM;
    if (memory == NULL)
        return NULL;
    atomic_fetch_add(&counted->uv_memory, 1);
    return memset(memory, 0, count * bytes);
}

static void uv_release(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&counted->uv_memory, 1);
    free(memory);
}

bool wrap_take_memory(struct fault_report *report)
{
    static const struct hf_allocator own = {own_allocate, own_resize,
                                            own_release, NULL};

    counted = report;
    return hf_set_allocator(&own) == HF_OK &&
           uv_replace_allocator(uv_allocate, uv_resize, uv_zeroed,
                                uv_release) == 0;
}
