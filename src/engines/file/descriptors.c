/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See descriptors.h.  Each descriptor has one bit, in word fd / 64 of its page,
 * which is changed only by atomic operations.
 */
#include "engines/file/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/memory.h"

#define WORDS (HF_DESCRIPTORS_PER_PAGE / 64)

/* Returns the page at ${index}, which is made if it is missing; NULL if memory
 * runs out. */
static struct hf_file_descriptors_page *
page_of(struct hf_file_descriptors *descriptors, size_t index)
{
    struct hf_file_descriptors_page *page =
        atomic_load(&descriptors->pages[index]);
    struct hf_file_descriptors_page *created;

    if (page != NULL)
        return page;
    created = hf_alloc(sizeof(*created));
    if (created == NULL)
        return NULL;
    if (atomic_compare_exchange_strong(&descriptors->pages[index], &page,
                                       created))
        return created;
    hf_free(created); /* another thread was first */
    return page;
}

bool hf_file_descriptors_add(struct hf_file_descriptors *descriptors, int fd)
{
    size_t index = (size_t)fd / HF_DESCRIPTORS_PER_PAGE;
    size_t bit = (size_t)fd % HF_DESCRIPTORS_PER_PAGE;
    struct hf_file_descriptors_page *page = NULL;

    assert(fd >= 0);
    if (index < HF_DESCRIPTORS_PAGES)
        page = page_of(descriptors, index);
    if (page == NULL) {
        (void)close(fd);
        errno = ENOMEM;
        return false;
    }
    atomic_fetch_or(&page->words[bit / 64], UINT64_C(1) << bit % 64);
    return true;
}

void hf_file_descriptors_close(struct hf_file_descriptors *descriptors, int *fd)
{
    size_t bit = (size_t)*fd % HF_DESCRIPTORS_PER_PAGE;
    uint64_t mask = UINT64_C(1) << bit % 64;
    struct hf_file_descriptors_page *page;
    uint64_t before;

    if (*fd < 0)
        return;
    page =
        atomic_load(&descriptors->pages[(size_t)*fd / HF_DESCRIPTORS_PER_PAGE]);
    assert(page != NULL);
    /* The bit is cleared before the close.  If a child is forked between the
     * two, it keeps a copy; in the other order it could close a number that has
     * become another file's. */
    before = atomic_fetch_and(&page->words[bit / 64], ~mask);
    assert((before & mask) != 0);
    (void)close(*fd);
    *fd = -1;
}

/* Close the descriptors whose bits are set in ${word}; bit 0 stands for
 * ${first}. */
static void close_word(uint64_t word, size_t first)
{
    for (size_t bit = 0; word != 0; bit++, word >>= 1)
        if (word & 1)
            (void)close((int)(first + bit));
}

void hf_file_descriptors_close_all(struct hf_file_descriptors *descriptors)
{
    for (size_t p = 0; p < HF_DESCRIPTORS_PAGES; p++) {
        struct hf_file_descriptors_page *page =
            atomic_load(&descriptors->pages[p]);

        for (size_t w = 0; page != NULL && w < WORDS; w++)
            close_word(atomic_exchange(&page->words[w], 0),
                       p * HF_DESCRIPTORS_PER_PAGE + w * 64);
    }
}

void hf_file_descriptors_free(struct hf_file_descriptors *descriptors)
{
    for (size_t p = 0; p < HF_DESCRIPTORS_PAGES; p++)
        hf_free(atomic_load(&descriptors->pages[p]));
}
