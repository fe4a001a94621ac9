/* SPDX-License-Identifier: Apache-2.0 */
#include "thread/descriptor_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thread/high_descriptor.h"

static void close_ends(const int ends[2])
{
    int error = errno;

    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
    errno = error;
}

bool hf_descriptor_guard_open(struct hf_descriptor_guard *guard)
{
    struct stat stat;

    if (pipe2(guard->ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    for (int i = 0; i < 2; i++)
        guard->ends[i] = hf_high_descriptor(guard->ends[i]);
    if (guard->ends[0] < 0 || guard->ends[1] < 0 ||
        fstat(guard->ends[0], &stat) < 0) {
        close_ends(guard->ends);
        return false;
    }
    guard->device = stat.st_dev;
    guard->inode = stat.st_ino;
    return true;
}

/* Both ends have the same inode, so it is enough to look at one.  If the kernel
 * cannot answer, that says nothing about the descriptor. */
bool hf_descriptor_guard_is_intact(const struct hf_descriptor_guard *guard)
{
    struct stat stat;

    if (guard->ends[0] < 0)
        return true;
    if (fstat(guard->ends[0], &stat) < 0)
        return errno != EBADF;
    return stat.st_ino == guard->inode && stat.st_dev == guard->device;
}

void hf_descriptor_guard_close(const struct hf_descriptor_guard *guard)
{
    if (hf_descriptor_guard_is_intact(guard))
        close_ends(guard->ends);
}

void hf_descriptor_guard_end(struct hf_descriptor_guard *guard)
{
    hf_descriptor_guard_close(guard);
    guard->ends[0] = guard->ends[1] = -1;
}

void hf_descriptor_guard_send(uv_async_t *async)
{
    const struct hf_descriptor_guard *guard = async->loop->data;

    if (guard == NULL || hf_descriptor_guard_is_intact(guard))
        (void)uv_async_send(async);
}
