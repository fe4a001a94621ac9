/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page is mapped, or read and written.
 */
#include "engines/file/token_counter_page.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/errno_error.h"
#include "engines/file/syscalls.h"

/* No counter reaches this: 2^63 numbers at a million a second last three
 * hundred thousand years.  A greater value is that of a damaged file. */
#define VALUE_MAX (UINT64_MAX / 2)

/* What a copied page shares with the file under its lock. */
#define SHARED_BYTES offsetof(struct hf_file_token_counter_page, renames)
#define RENAMED_AT ((off_t)offsetof(struct hf_file_token_counter_page, renamed))

/* How often .renamed is read again because it was half written. */
#define READS 64

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the counter is shared memory");
_Static_assert(sizeof(struct hf_file_token_counter_page) <=
                   HF_TOKEN_COUNTER_BYTES,
               "one page");

struct hf_file_token_counter_page *
hf_file_token_counter_page_new(int fd, enum hf_file_counter_access access)
{
    void *page;

    if (access == HF_COUNTER_COPIED) {
        errno = ENOMEM;
        return hf_alloc(HF_TOKEN_COUNTER_BYTES);
    }
    page = hf_file_sys_map(fd, HF_TOKEN_COUNTER_BYTES);
    return page == MAP_FAILED ? NULL : page;
}

void hf_file_token_counter_page_free(struct hf_file_token_counter_page *page,
                                     enum hf_file_counter_access access)
{
    if (access == HF_COUNTER_COPIED)
        hf_free(page);
    else if (page != NULL)
        (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
}

bool hf_file_token_counter_page_is_sound(
    const struct hf_file_token_counter_page *page)
{
    return atomic_load_explicit(&page->magic, memory_order_acquire) ==
               HF_TOKEN_COUNTER_MAGIC &&
           page->version >= HF_COUNTER_MAPPED &&
           page->version <= HF_COUNTER_COPIED &&
           atomic_load(&page->value) <= VALUE_MAX &&
           atomic_load(&page->limit) <= VALUE_MAX;
}

bool hf_file_token_counter_page_is_ready(
    const struct hf_file_token_counter_page *page,
    enum hf_file_counter_access access, const struct hf_ticket_id *boot)
{
    static const struct hf_ticket_id unknown;

    return hf_file_token_counter_page_is_sound(page) &&
           page->version == access && !hf_ticket_id_equal(boot, &unknown) &&
           memcmp(page->boot, boot->bytes, sizeof(page->boot)) == 0;
}

hf_status
hf_file_token_counter_page_load(struct hf_file_token_counter_page *page, int fd,
                                const char *path, struct hf_error *error)
{
    ssize_t got = hf_file_sys_pread(fd, page, SHARED_BYTES, 0);

    if (got < 0)
        return hf_file_error_set_errno(error, "read", path);
    if (got < (ssize_t)SHARED_BYTES)
        memset(page, 0, SHARED_BYTES);
    return HF_OK;
}

/* Write ${bytes} at ${data} to the file, at ${at}. */
static hf_status write_at(int fd, const void *data, size_t bytes, off_t at,
                          const char *path, struct hf_error *error)
{
    ssize_t wrote = hf_file_sys_pwrite(fd, data, bytes, at);

    if (wrote == (ssize_t)bytes)
        return HF_OK;
    return wrote < 0 ? hf_file_error_set_errno(error, "write", path)
                     : hf_error_set(error, HF_EFULL,
                                    "%s could be written in part only; is its "
                                    "filesystem full?",
                                    path);
}

hf_status
hf_file_token_counter_page_store(const struct hf_file_token_counter_page *page,
                                 int fd, const char *path,
                                 struct hf_error *error)
{
    return write_at(fd, page, SHARED_BYTES, 0, path, error);
}

hf_status hf_file_token_counter_page_store_all(
    const struct hf_file_token_counter_page *page, int fd, const char *path,
    struct hf_error *error)
{
    return write_at(fd, page, HF_TOKEN_COUNTER_BYTES, 0, path, error);
}

hf_status hf_file_token_counter_page_set_renamed(int fd, uint64_t number,
                                                 const char *path,
                                                 struct hf_error *error)
{
    const uint64_t renamed[2] = {number, number};

    return write_at(fd, renamed, sizeof(renamed), RENAMED_AT, path, error);
}

/* Writes exclude each other, and each goes from its first byte to its last.  So
 * a reader that meets one halfway has one whole word of the new number, or of
 * the old one, and something else in the other. */
uint64_t hf_file_token_counter_page_renamed(int fd)
{
    uint64_t renamed[2];

    for (unsigned i = 0; i < READS; i++) {
        if (hf_file_sys_pread(fd, renamed, sizeof(renamed), RENAMED_AT) !=
            (ssize_t)sizeof(renamed))
            return 0;
        if (renamed[0] == renamed[1])
            return renamed[0];
    }
    return 0;
}
