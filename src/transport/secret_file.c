/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

#define MOST (HF_SECRET_FILE_BYTES - 1)

static hf_status check_owner(int fd, const char *path, struct hf_error *error)
{
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return hf_error_set(error, HF_EURL,
                            "the file of credentials %s is not a plain file; "
                            "expected one with lines such as "
                            "zk://USER:PASSWORD@HOST:PORT",
                            path);
    if (status.st_uid != geteuid())
        return hf_error_set(error, HF_EDENIED,
                            "the file of credentials %s belongs to user %u; "
                            "expected it to be owned by user %u, who runs this",
                            path, (unsigned)status.st_uid, (unsigned)geteuid());
    if ((status.st_mode & 0077) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "the file of credentials %s has mode %04o and is "
                            "open to others; expected 0600: chmod it, and "
                            "change the password if others may have read it",
                            path, (unsigned)status.st_mode & 07777);
    return HF_OK;
}

static hf_status read_all(int fd, const char *path,
                          char text[HF_SECRET_FILE_BYTES], size_t *bytes,
                          struct hf_error *error)
{
    ssize_t got = 1;

    for (*bytes = 0; got > 0 && *bytes < MOST; *bytes += (size_t)got) {
        got = read(fd, text + *bytes, MOST - *bytes);
        if (got < 0)
            return hf_error_set(error, HF_EURL,
                                "the file of credentials %s cannot be read: "
                                "%s",
                                path, strerrordesc_np(errno));
    }
    text[*bytes] = '\0';
    if (*bytes < MOST)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the file of credentials %s is too long; expected less "
                        "than %d bytes",
                        path, MOST);
}

hf_status hf_secret_file_read(const char *path, char text[HF_SECRET_FILE_BYTES],
                              size_t *bytes, struct hf_error *error)
{
    /* Not blocking, in case it is a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    hf_status status;

    if (fd < 0)
        return hf_error_set(error, errno == EACCES ? HF_EDENIED : HF_EURL,
                            "the file of credentials %s cannot be opened: %s; "
                            "create it, or correct auth_file= or "
                            "HOLDFAST_AUTH_FILE, which names it",
                            path, strerrordesc_np(errno));
    if ((status = check_owner(fd, path, error)) == HF_OK)
        status = read_all(fd, path, text, bytes, error);
    (void)close(fd);
    return status;
}
