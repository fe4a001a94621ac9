/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From errno to a status and a remedy, by a table.
 */
#include "engines/file/errno_error.h"

#include <errno.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "base/error.h"

static const struct {
    int number;
    hf_status status;
    const char *remedy;
} errno_rows[] = {
    {ENOSPC, HF_EFULL, "free space or inodes on that filesystem"},
    {EDQUOT, HF_EFULL, "this user's quota there is used up"},
    {EMFILE, HF_ELIMIT,
     "raise this process's limit of descriptors (ulimit -n)"},
    {ENFILE, HF_ELIMIT, "raise the system's limit (sysctl fs.file-max)"},
    {ENOLCK, HF_ELIMIT, "the kernel has no room for another file lock"},
    {EAGAIN, HF_ELIMIT, "raise this user's limit of processes (ulimit -u)"},
    {ENOMEM, HF_ENOMEM, "the system is out of memory"},
    {EACCES, HF_EDIR, "give this user write access, or use another directory"},
    {EPERM, HF_EDIR, "give this user write access, or use another directory"},
    {EROFS, HF_EDIR, "the filesystem is mounted read-only; use another"},
    {ENOENT, HF_EDIR, "its parent directory must exist"},
    {ENOTDIR, HF_EDIR, "it must be a directory"},
    {ELOOP, HF_EDIR, "it must not be a symbolic link"},
};

hf_status hf_file_error_set_errno(struct hf_error *error, const char *what,
                                  const char *path)
{
    int number = errno;

    for (size_t i = 0; i < sizeof(errno_rows) / sizeof(errno_rows[0]); i++)
        if (errno_rows[i].number == number)
            return hf_error_set(error, errno_rows[i].status,
                                "cannot %s %s as user %u: %s; %s", what, path,
                                (unsigned)geteuid(), hf_errno_text(number),
                                errno_rows[i].remedy);
    return hf_error_set(error, HF_EDIR,
                        "cannot %s %s as user %u: %s (error %d)", what, path,
                        (unsigned)geteuid(), hf_errno_text(number), number);
}
