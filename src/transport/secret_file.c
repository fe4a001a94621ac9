/* SPDX-License-Identifier: Apache-2.0 */
/* The file is opened first and then checked through the descriptor, so that it
 * cannot be replaced between check and use. */
#include "transport/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_BYTES (HF_SECRET_FILE_BYTES - 1)

/* Check that only the owner of the file can use it.  If root owns it, its group
 * may read it. */
static hf_status check_owner(const struct stat *status, const char *path,
                             const struct hf_secret_kind *kind,
                             struct hf_error *error)
{
    bool owned_by_root = status->st_uid == 0;
    mode_t others =
        owned_by_root ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;

    if (status->st_uid != geteuid() && !owned_by_root)
        return hf_error_set(error, HF_EDENIED,
                            "%s%s belongs to user %u; expected it to be owned "
                            "by user %u, who runs this, or by root",
                            kind->name, path, (unsigned)status->st_uid,
                            (unsigned)geteuid());
    if ((status->st_mode & others) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "%s%s has mode %04o and is open to others; "
                            "expected %s: chmod it, and replace what is in it "
                            "if others may have read it",
                            kind->name, path, (unsigned)status->st_mode & 07777,
                            owned_by_root ? "0640 or less" : "0600 or less");
    return HF_OK;
}

/* Check that ${fd} is a plain file that no other user may read. */
static hf_status check(int fd, const char *path,
                       const struct hf_secret_kind *kind,
                       struct hf_error *error)
{
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return hf_error_set(error, HF_EURL,
                            "%s%s is not a plain file; expected %s", kind->name,
                            path, kind->expected);
    return check_owner(&status, path, kind, error);
}

hf_status hf_secret_file_open(const char *path,
                              const struct hf_secret_kind *kind, int *fd,
                              struct hf_error *error)
{
    hf_status status;

    /* O_NONBLOCK, because opening a FIFO would otherwise wait. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return hf_error_set(error, errno == EACCES ? HF_EDENIED : HF_EURL,
                            "%s%s cannot be opened: %s; expected %s: create "
                            "it, or correct %s, which names it",
                            kind->name, path, hf_errno_text(errno),
                            kind->expected, kind->named_by);
    status = check(*fd, path, kind, error);
    if (status != HF_OK)
        (void)close(*fd);
    return status;
}

/* Read the whole file; it must be shorter than the buffer. */
static hf_status read_all(int fd, const char *path,
                          char text[HF_SECRET_FILE_BYTES], size_t *bytes,
                          struct hf_error *error)
{
    ssize_t got = 1;

    for (*bytes = 0; got > 0 && *bytes < MAX_BYTES; *bytes += (size_t)got) {
        got = read(fd, text + *bytes, MAX_BYTES - *bytes);
        if (got < 0)
            return hf_error_set(error, HF_EURL,
                                "the file of credentials %s cannot be read: "
                                "%s",
                                path, hf_errno_text(errno));
    }
    text[*bytes] = '\0';
    if (*bytes < MAX_BYTES)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the file of credentials %s is too long; expected less "
                        "than %d bytes",
                        path, MAX_BYTES);
}

hf_status hf_secret_file_read(const char *path, char text[HF_SECRET_FILE_BYTES],
                              size_t *bytes, struct hf_error *error)
{
    static const struct hf_secret_kind kind = {
        .name = "the file of credentials ",
        .expected = "one with lines such as zk://USER:PASSWORD@HOST:PORT",
        .named_by = "auth_file= or HOLDFAST_AUTH_FILE",
    };
    int fd;
    hf_status status = hf_secret_file_open(path, &kind, &fd, error);

    if (status != HF_OK)
        return status;
    status = read_all(fd, path, text, bytes, error);
    (void)close(fd);
    return status;
}
