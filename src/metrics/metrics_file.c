/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, mapping and closing the file.
 */
#include "metrics/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errno_text.h"
#include "core/error.h"
#include "core/memory.h"

/* Somebody who sums up a directory removes a file that is being made and that
 * has no lock yet, because its maker may be dead; then it is made again. */
#define CREATE_TRIES 8

#define LENGTH_OF_BOOT_ID 36

static const size_t all_bytes = sizeof(struct hf_metrics_block);

/* As a file, it has the same form on every machine of one byte order. */
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t),
               "an atomic is the number and nothing else");
_Static_assert(sizeof(struct hf_metrics_header) == 104, "no padding");
_Static_assert(sizeof(struct hf_metrics_entry) == 816, "no padding");

/* ------------------------------------------------------------ identity -- */

void hf_metrics_read_boot(char boot[HF_METRICS_BOOT_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    memset(boot, 0, HF_METRICS_BOOT_BYTES);
    if (fd < 0)
        return;
    if (read(fd, boot, LENGTH_OF_BOOT_ID) != LENGTH_OF_BOOT_ID)
        memset(boot, 0, HF_METRICS_BOOT_BYTES);
    close(fd);
}

/* The 22nd field of /proc/self/stat, the 20th behind the name of the program,
 * which may have any characters.  0 if it cannot be read. */
static uint64_t read_start(void)
{
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    char line[512], *field;
    ssize_t got;

    if (fd < 0)
        return 0;
    got = read(fd, line, sizeof(line) - 1);
    close(fd);
    line[got > 0 ? got : 0] = '\0';
    field = strrchr(line, ')');
    for (int i = 0; i < 20 && field != NULL; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field + 1, NULL, 10) : 0;
}

static void write_header(struct hf_metrics_header *header)
{
    header->version = HF_METRICS_VERSION;
    header->byte_order = HF_METRICS_BYTE_ORDER;
    header->bytes = all_bytes;
    hf_metrics_read_boot(header->boot);
    header->pid = (uint64_t)getpid();
    header->started = read_start();
    memcpy(header->magic, HF_METRICS_MAGIC, sizeof(header->magic));
}

/* ------------------------------------------------------- the directory -- */

/* Set ${error} to why ${call} failed on ${path}. */
static hf_status fail(struct hf_error *error, const char *call,
                      const char *path)
{
    hf_status status = HF_EDIR;

    if (errno == EACCES || errno == EPERM || errno == EROFS)
        status = HF_EDENIED;
    else if (errno == ENOSPC || errno == EDQUOT)
        status = HF_EFULL;
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        status = HF_ELIMIT;
    return hf_error_set(error, status, "%s of %.200s: %s", call, path,
                        hf_errno_text(errno));
}

/* Others may not rename our file: where everybody may write, the directory has
 * to be sticky. */
static hf_status check_dir(int fd, const char *path, struct hf_error *error)
{
    struct stat stat;

    if (fstat(fd, &stat) != 0)
        return fail(error, "fstat", path);
    if ((stat.st_mode & S_IWOTH) != 0 && (stat.st_mode & S_ISVTX) == 0)
        return hf_error_set(
            error, HF_EDIR,
            "everybody may write to %.200s and remove files of others there; "
            "expected mode 1777, or one that only its owner or group may write "
            "to",
            path);
    return HF_OK;
}

/* A symbolic link is refused, because others could point it elsewhere. */
hf_status hf_metrics_open_dir(const char *path, bool make, int *fd,
                              struct hf_error *error)
{
    hf_status status;

    if (make && mkdir(path, 0755) != 0 && errno != EEXIST)
        return errno == ENOENT
                   ? hf_error_set(error, HF_EDIR,
                                  "the directory above %.200s does not exist; "
                                  "make it, or name another one",
                                  path)
                   : fail(error, "mkdir", path);
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOTDIR || errno == ELOOP
                   ? hf_error_set(error, HF_EDIR,
                                  "%.200s is no directory, or a symbolic link; "
                                  "expected a directory",
                                  path)
                   : fail(error, "open", path);
    if ((status = check_dir(*fd, path, error)) != HF_OK)
        close(*fd);
    return status;
}

/* ------------------------------------------------------------ the file -- */

/* Take the lock that shows that this process lives.  A record lock belongs to
 * the process: a child of a fork has none. */
static void lock_file(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    /* Without it, because the filesystem has none, the pid has to do. */
    (void)fcntl(fd, F_SETLK, &lock);
}

/* Map ${fd}, whose size is set. */
static bool map_file(struct hf_metrics_file *file, int fd)
{
    void *memory =
        mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED)
        return false;
    file->block = memory;
    file->fd = fd;
    file->ready = 0;
    return true;
}

/* Give ${fd} its size, with memory for all but the entries, and write the
 * header.  Set ${call} to what failed. */
static bool prepare_file(struct hf_metrics_file *file, int fd,
                         const char **call)
{
    *call = "ftruncate";
    if (ftruncate(fd, (off_t)all_bytes) != 0)
        return false;
    *call = "posix_fallocate";
    errno = posix_fallocate(fd, 0, (off_t)hf_metrics_block_bytes(1));
    if (errno != 0)
        return false;
    *call = "mmap";
    if (!map_file(file, fd))
        return false;
    file->ready = 1;
    write_header(&file->block->header);
    return true;
}

/* Make a file under another name, and rename it when it has a header and a
 * lock.  True with no block: it was removed meanwhile. */
static bool try_create(struct hf_metrics_file *file, int dir, const char **call)
{
    char made[64], named[64];
    uint64_t random[2];
    int fd;

    *call = "getrandom";
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return false;
    (void)snprintf(made, sizeof(made), "%016" PRIx64 "%016" PRIx64 "%s",
                   random[0], random[1], HF_METRICS_NEW_SUFFIX);
    (void)snprintf(named, sizeof(named), "%016" PRIx64 "%016" PRIx64 "%s",
                   random[0], random[1], HF_METRICS_LIVE_SUFFIX);
    *call = "open of a new file";
    fd = openat(dir, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0644);
    if (fd < 0)
        return false;
    lock_file(fd);
    if (!prepare_file(file, fd, call))
        goto close_fd;
    *call = "rename";
    if (renameat(dir, made, dir, named) == 0)
        return true;
    munmap(file->block, all_bytes);
    file->block = NULL;
    if (errno == ENOENT) {
        close(fd);
        return true;
    }
close_fd:
    (void)unlinkat(dir, made, 0);
    close(fd);
    return false;
}

hf_status hf_metrics_file_create(struct hf_metrics_file *file, const char *path,
                                 struct hf_error *error)
{
    const char *call = "rename";
    hf_status status;
    int dir = -1;

    *file = (struct hf_metrics_file){.fd = -1};
    if ((status = hf_metrics_open_dir(path, true, &dir, error)) != HF_OK)
        return status;
    for (int i = 0; i < CREATE_TRIES && file->block == NULL; i++)
        if (!try_create(file, dir, &call)) {
            status = fail(error, call, path);
            break;
        }
    close(dir);
    if (status == HF_OK && file->block == NULL)
        status = hf_error_set(error, HF_EDIR,
                              "somebody removes the files that are made in "
                              "%.200s; expected `holdfast metrics` alone to do "
                              "that",
                              path);
    if (status != HF_OK)
        file->fd = -1;
    return status;
}

bool hf_metrics_file_in_memory(struct hf_metrics_file *file)
{
    *file = (struct hf_metrics_file){.fd = -1, .ready = HF_METRICS_NAMES};
    file->block = hf_alloc(all_bytes);
    return file->block != NULL;
}

bool hf_metrics_file_extend(struct hf_metrics_file *file, size_t index)
{
    if (index < file->ready)
        return true;
    if (posix_fallocate(file->fd, 0,
                        (off_t)hf_metrics_block_bytes(index + 1)) != 0)
        return false;
    file->ready = index + 1;
    return true;
}

void hf_metrics_file_close(struct hf_metrics_file *file)
{
    if (file->block == NULL)
        return;
    if (file->fd < 0) {
        hf_free(file->block);
    } else {
        atomic_store_explicit(&file->block->header.closed, 1,
                              memory_order_release);
        munmap(file->block, all_bytes);
        close(file->fd);
    }
    *file = (struct hf_metrics_file){.fd = -1};
}

/* The mapping goes with the child, which does not write to it. */
void hf_metrics_file_after_fork(struct hf_metrics_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct hf_metrics_file){.fd = -1};
}
