/* SPDX-License-Identifier: Apache-2.0 */
#include "shelf.h"

#include <assert.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>

/* As a list of pointers, behind each of which is what was asked for. */
union box {
    struct {
        union box *next;
        union box **link;
    } place;
    long double aligned;
};

static union box *first;
static bool refuses;

static void put(union box *box)
{
    box->place.next = first;
    box->place.link = &first;
    if (first != NULL)
        first->place.link = &box->place.next;
    first = box;
}

static void take(union box *box)
{
    *box->place.link = box->place.next;
    if (box->place.next != NULL)
        box->place.next->place.link = box->place.link;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    union box *box = memory == NULL ? NULL : (union box *)memory - 1;
    union box *resized;

    (void)arg;
    if (refuses)
        return NULL;
    if (box != NULL)
        take(box);
    resized = realloc(box, sizeof(*box) + bytes);
    if (resized == NULL && box != NULL)
        put(box);
    if (resized == NULL)
        return NULL;
    put(resized);
    return resized + 1;
}

static void *allocate(size_t bytes, void *arg)
{
    return resize(NULL, bytes, arg);
}

static void release(void *memory, void *arg)
{
    (void)arg;
    take((union box *)memory - 1);
    free((union box *)memory - 1);
}

void shelf_refuse(bool wanted)
{
    refuses = wanted;
}

void shelf_own(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  NULL};
    static bool done;

    if (!done && hf_set_allocator(&allocator) != HF_OK)
        assert(false && "something was allocated before");
    done = true;
}
