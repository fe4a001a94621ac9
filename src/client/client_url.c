/* SPDX-License-Identifier: Apache-2.0 */
/* See client_url.h. */
#include "client/client_url.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/url.h"

/* Of Linux 6.3, where the administrator may refuse memfds without it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define PREFIX "fd:"

/* Nobody changes the URL behind the back of those who have it open. */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* The first number that is tried: above what shells and scripts use, and below
 * 1024, the usual limit of descriptors. */
#define HIGH_NUMBER 900

hf_status hf_client_url_of_environment(const char **url, struct hf_error *error)
{
    *url = secure_getenv("HOLDFAST_URL");
    if (*url == NULL || (*url)[0] != '\0')
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "HOLDFAST_URL is empty; expected the URL of an engine, "
                        "such as file:/run/holdfast, or no such variable, "
                        "which means file: (unset HOLDFAST_URL)");
}

/* ----------------------------------------------------------- references -- */

struct reference {
    int fd;
    uint64_t device, inode;
};

static bool parse_reference(const char *text, struct reference *reference)
{
    int end = -1;

    /* Nearly all texts are URLs, and a first sscanf() is slow. */
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return false;
    if (sscanf(text, PREFIX "%d:%" SCNu64 ":%" SCNu64 "%n", &reference->fd,
               &reference->device, &reference->inode, &end) != 3)
        return false;
    return end > 0 && text[end] == '\0' && reference->fd >= 0;
}

/* Is the descriptor the memfd that ${reference} was made for?  ${status} is
 * set if so. */
static bool is_the_same(const struct reference *reference, struct stat *status)
{
    return fstat(reference->fd, status) == 0 &&
           (uint64_t)status->st_dev == reference->device &&
           (uint64_t)status->st_ino == reference->inode &&
           fcntl(reference->fd, F_GET_SEALS) >= 0 &&
           (fcntl(reference->fd, F_GET_SEALS) & SEALS) == SEALS;
}

static hf_status refuse_reference(const struct reference *reference,
                                  struct hf_error *error)
{
    return hf_error_set(
        error, HF_EURL,
        "the URL has a password and was left in descriptor %d by the run that "
        "this program is part of, and a program in between has closed that; "
        "expected it to be passed on, as subprocess.Popen(close_fds=False) of "
        "Python or -C of sudo(8) do; or give a URL with -c, or use auth_file= "
        "in the outer run",
        reference->fd);
}

/* Set ${url} to the URL that the descriptor has.  pread(), because all who
 * inherited it share the offset. */
static hf_status read_reference(const struct reference *reference, char **url,
                                struct hf_error *error)
{
    struct stat status;
    ssize_t bytes;

    if (!is_the_same(reference, &status) || status.st_size <= 0 ||
        status.st_size > HF_URL_BYTES)
        return refuse_reference(reference, error);
    *url = hf_alloc((size_t)status.st_size + 1);
    if (*url == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    bytes = pread(reference->fd, *url, (size_t)status.st_size, 0);
    if (bytes == status.st_size)
        return HF_OK;
    hf_client_url_free(*url);
    *url = NULL;
    return refuse_reference(reference, error);
}

hf_status hf_client_url_take(const char *given, char **url,
                             struct hf_error *error)
{
    struct reference reference;

    *url = NULL;
    if (parse_reference(given, &reference))
        return read_reference(&reference, url, error);
    *url = hf_strdup(given);
    if (*url != NULL)
        return HF_OK;
    return hf_error_set(error, HF_ENOMEM, "out of memory");
}

void hf_client_url_free(char *url)
{
    if (url != NULL)
        explicit_bzero(url, strlen(url));
    hf_free(url);
}

/* ------------------------------------------------------------ hand down -- */

static int new_memfd(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("holdfast-url", flags | MFD_NOEXEC_SEAL);

    return fd >= 0 || errno != EINVAL ? fd
                                      : memfd_create("holdfast-url", flags);
}

/* Write ${url} to the memfd ${fd} and seal it.  Only its user may open it by
 * way of /proc, as only he can inspect the processes that have it. */
static bool fill(int fd, const char *url)
{
    size_t bytes = strlen(url);
    ssize_t written = write(fd, url, bytes);

    if (written >= 0 && (size_t)written != bytes)
        errno = ENOSPC;
    return written >= 0 && (size_t)written == bytes && fchmod(fd, 0400) == 0 &&
           fcntl(fd, F_ADD_SEALS, SEALS) == 0;
}

/* Move ${fd} to a free number from 900 on or, if the limit of descriptors is
 * lower, from 450, 225 and so on.  Returns the number; -1 with errno: ${fd} is
 * still open. */
static int move_up(int fd)
{
    int moved = -1;

    for (int least = HIGH_NUMBER; least > 2 && moved < 0; least /= 2)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (moved >= 0)
        (void)close(fd);
    return moved;
}

int hf_client_url_refer(const char *url, char reference[HF_URL_REFERENCE_BYTES])
{
    int fd = new_memfd(), moved, error;
    struct stat status;

    if (fd < 0)
        return -1;
    if (!fill(fd, url) || fstat(fd, &status) != 0 ||
        (moved = move_up(fd)) < 0) {
        error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    (void)snprintf(reference, HF_URL_REFERENCE_BYTES,
                   PREFIX "%d:%" PRIu64 ":%" PRIu64, moved,
                   (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    return moved;
}
