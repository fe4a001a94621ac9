/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/error.h"

#define FIRST_ROOM 16 /* elements that an array gets first */

static void *default_allocate(size_t bytes, void *arg)
{
    (void)arg;
    return malloc(bytes);
}

static void *default_resize(void *memory, size_t bytes, void *arg)
{
    (void)arg;
    return realloc(memory, bytes);
}

static void default_release(void *memory, void *arg)
{
    (void)arg;
    free(memory);
}

/* ${allocator} does not change any more once ${fixed} is set, so every later
 * call reads it without a lock.  Both are written with ${mutex} held. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool fixed;
static struct hf_allocator allocator = {default_allocate, default_resize,
                                        default_release, NULL};

/* The first use fixes the allocator for the life of the process, because memory
 * must be freed by the allocator that it came from. */
const struct hf_allocator *hf_allocator_in_use(void)
{
    if (!atomic_load_explicit(&fixed, memory_order_acquire)) {
        pthread_mutex_lock(&mutex);
        atomic_store_explicit(&fixed, true, memory_order_release);
        pthread_mutex_unlock(&mutex);
    }
    return &allocator;
}

hf_status hf_set_allocator(const struct hf_allocator *wanted)
{
    static const char api_name[] = "hf_set_allocator";
    struct hf_error error;
    hf_status status = HF_OK;

    if (wanted->allocate == NULL || wanted->resize == NULL ||
        wanted->release == NULL)
        status = hf_error_set(&error, HF_EINVAL,
                              "a function is NULL; expected all three");
    pthread_mutex_lock(&mutex);
    if (status == HF_OK && atomic_load_explicit(&fixed, memory_order_relaxed))
        status = hf_error_set(&error, HF_ESTATE,
                              "memory was allocated already; call it first");
    if (status == HF_OK)
        allocator = *wanted;
    pthread_mutex_unlock(&mutex);
    return status == HF_OK ? HF_OK : hf_fail(api_name, &error);
}

void *hf_alloc(size_t bytes)
{
    const struct hf_allocator *from = hf_allocator_in_use();
    void *memory;

    assert(bytes > 0);
    memory = from->allocate(bytes, from->arg);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

void *hf_realloc(void *memory, size_t bytes)
{
    const struct hf_allocator *from = hf_allocator_in_use();

    assert(bytes > 0);
    return from->resize(memory, bytes, from->arg);
}

bool hf_array_room(void *array, size_t *room, size_t count, size_t bytes)
{
    size_t wanted = *room > 0 ? *room : FIRST_ROOM;
    void *memory;

    if (count <= *room)
        return true;
    while (wanted < count)
        wanted *= 2;
    assert(wanted <= SIZE_MAX / bytes);
    memcpy(&memory, array, sizeof memory);
    if ((memory = hf_realloc(memory, wanted * bytes)) == NULL)
        return false;
    memcpy(array, &memory, sizeof memory);
    *room = wanted;
    return true;
}

void hf_free(void *memory)
{
    if (memory != NULL) {
        assert(atomic_load_explicit(&fixed, memory_order_relaxed));
        allocator.release(memory, allocator.arg);
    }
}

char *hf_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = hf_alloc(bytes);

    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}
