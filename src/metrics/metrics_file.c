/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, writing and closing the file.
 */
#include "metrics/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "thread/high_descriptor.h"

/* How often a file is made.  While a file is being made and has no lock yet, a
 * process that sums up the directory may remove it, because its maker may be
 * dead.  Then it is made again. */
#define CREATE_TRIES 8

#define LENGTH_OF_BOOT_ID 36

static const size_t all_bytes = sizeof(struct hf_metrics_block);

/* Without padding the file has the same form on all machines with the same byte
 * order. */
_Static_assert(sizeof(struct hf_metrics_header) == 104, "no padding");
_Static_assert(sizeof(struct hf_metrics_entry) == 816, "no padding");
_Static_assert(HF_METRICS_NAMES == 64, "a bit for each entry");

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

/* Return when this process was started: the 22nd field of /proc/self/stat.
 * That is the 20th behind the name of the program, which may contain any
 * characters.  Returns 0 if it cannot be read. */
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

/* Set ${error} to why ${call} has failed on ${path}. */
static hf_status fail(struct hf_error *error, const char *call,
                      const char *path)
{
    hf_status status = HF_EDIR;

    if (errno == EACCES || errno == EPERM || errno == EROFS)
        status = HF_EDENIED;
    else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
        status = HF_EFULL;
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        status = HF_ELIMIT;
    return hf_error_set(error, status, "%s of %.200s: %s", call, path,
                        hf_errno_text(errno));
}

/* Check that others cannot rename our file: a directory that everybody may
 * write to must be sticky. */
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

/* A symbolic link is refused, because others could make it point elsewhere. */
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

/* Take the lock that shows that this process lives.  It is a record lock, which
 * belongs to the process: the child of a fork does not have it. */
static void lock_file(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    /* A filesystem may have no locks.  Then only the pid shows that the process
     * lives. */
    (void)fcntl(fd, F_SETLK, &lock);
}

/* Write ${bytes} of the block, from the offset ${at} on.  Returns false with
 * errno set on failure. */
static bool write_part(const struct hf_metrics_file *file, size_t at,
                       size_t bytes)
{
    const char *from = (const char *)file->block + at;
    ssize_t put = pwrite(file->fd, from, bytes, (off_t)at);

    if (put >= 0 && (size_t)put < bytes)
        errno = ENOSPC;
    return put >= 0 && (size_t)put == bytes;
}

static bool write_sequence(struct hf_metrics_file *file)
{
    file->block->header.sequence++;
    return write_part(file, offsetof(struct hf_metrics_header, sequence),
                      sizeof(uint64_t));
}

/* Clear the id of the entry at the offset ${at} in the file. */
static bool clear_id(const struct hf_metrics_file *file, size_t at)
{
    static const uint64_t none;

    return pwrite(file->fd, &none, sizeof(none), (off_t)at) == sizeof(none);
}

/* Write the entry ${i}.  If it has another name in the file, its id is cleared
 * first and written last, so that the entry is not in use in between. */
static bool write_entry(const struct hf_metrics_file *file, size_t i)
{
    const size_t at = hf_metrics_block_bytes(i), id_bytes = sizeof(uint64_t);

    if ((file->renamed >> i & 1) == 0)
        return write_part(file, at, sizeof(struct hf_metrics_entry));
    return clear_id(file, at) &&
           write_part(file, at + id_bytes,
                      sizeof(struct hf_metrics_entry) - id_bytes) &&
           write_part(file, at, id_bytes);
}

/* Give the file the length of a block.  If it has another length, somebody may
 * have truncated it, and all entries are written again.  Returns false with
 * errno set on failure. */
static bool restore_length(struct hf_metrics_file *file, off_t length)
{
    if (length == (off_t)all_bytes)
        return true;
    for (size_t i = 0; i < file->block->header.used; i++)
        file->changed |= UINT64_C(1) << i;
    return ftruncate(file->fd, (off_t)all_bytes) == 0;
}

/* May a whole block be written?  A write beyond the limit of the size of files
 * would kill the process (SIGXFSZ).  If not, errno is set. */
static bool check_limit(void)
{
    struct rlimit limit;

    errno = EFBIG;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= all_bytes;
}

/* Write everything that has changed to the file, which has the right length.
 * Returns false with errno set on failure. */
static bool write_changed(struct hf_metrics_file *file)
{
    if (!write_sequence(file) ||
        !write_part(file, 0, hf_metrics_block_bytes(0)))
        return false;
    for (size_t i = 0; i < HF_METRICS_NAMES; i++)
        if ((file->changed >> i & 1) != 0 && !write_entry(file, i))
            return false;
    if (!write_sequence(file))
        return false;
    file->changed = file->renamed = 0;
    return true;
}

/* Is .fd still our file?  The program may have closed it and opened another
 * one. */
static bool is_ours(const struct hf_metrics_file *file, struct stat *stat)
{
    return fstat(file->fd, stat) == 0 && stat->st_dev == file->device &&
           stat->st_ino == file->inode;
}

hf_status hf_metrics_file_write(struct hf_metrics_file *file,
                                struct hf_error *error)
{
    bool was_behind = file->behind;
    struct stat stat;

    if (file->fd < 0)
        return HF_OK;
    if (!is_ours(file, &stat)) {
        file->fd = -1;
        return hf_error_set(error, HF_ESTATE,
                            "the program has closed its descriptor; expected "
                            "it to close only those that it has opened");
    }
    /* If the last write failed in the middle, .sequence was left odd. */
    file->block->header.sequence &= ~UINT64_C(1);
    file->behind = !check_limit() || !restore_length(file, stat.st_size) ||
                   !write_changed(file);
    return file->behind && !was_behind
               ? fail(error, "write", "the file of this process")
               : HF_OK;
}

/* Give the new file ${fd} its length and header.  On failure returns false and
 * sets ${call} to the call that failed. */
static bool prepare_file(struct hf_metrics_file *file, int fd,
                         const char **call)
{
    struct stat stat;

    *call = "fstat";
    if (fstat(fd, &stat) != 0)
        return false;
    file->fd = fd;
    file->device = stat.st_dev;
    file->inode = stat.st_ino;
    write_header(&file->block->header);
    *call = "write";
    return check_limit() && restore_length(file, stat.st_size) &&
           write_changed(file);
}

/* Make a file under a temporary name, and rename it once it has a lock and a
 * header.  If it was removed before it could be renamed, true is returned and
 * .fd is -1. */
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
    fd = hf_high_descriptor(openat(
        dir, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (fd < 0)
        return false;
    lock_file(fd);
    if (!prepare_file(file, fd, call))
        goto close_fd;
    *call = "rename";
    if (renameat(dir, made, dir, named) == 0)
        return true;
    if (errno == ENOENT) {
        close(fd);
        file->fd = -1;
        return true;
    }
close_fd:
    (void)unlinkat(dir, made, 0);
    close(fd);
    file->fd = -1;
    return false;
}

/* Make the file of ${file}, which has a block already. */
static hf_status create(struct hf_metrics_file *file, int dir, const char *path,
                        struct hf_error *error)
{
    const char *call;

    for (int i = 0; i < CREATE_TRIES && file->fd < 0; i++)
        if (!try_create(file, dir, &call))
            return fail(error, call, path);
    if (file->fd < 0)
        return hf_error_set(error, HF_EDIR,
                            "somebody removes the files that are made in "
                            "%.200s; expected `holdfast metrics` alone to do "
                            "that",
                            path);
    return HF_OK;
}

hf_status hf_metrics_file_create(struct hf_metrics_file *file, const char *path,
                                 struct hf_error *error)
{
    hf_status status;
    int dir = -1;

    if (!hf_metrics_file_in_memory(file))
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    status = hf_metrics_open_dir(path, true, &dir, error);
    if (status == HF_OK) {
        status = create(file, dir, path, error);
        close(dir);
    }
    if (status != HF_OK)
        hf_metrics_file_close(file);
    return status;
}

bool hf_metrics_file_in_memory(struct hf_metrics_file *file)
{
    *file = (struct hf_metrics_file){.fd = -1};
    file->block = hf_alloc(all_bytes);
    return file->block != NULL;
}

void hf_metrics_file_take(struct hf_metrics_file *file, size_t index,
                          const struct hf_metrics_name_ref *name)
{
    file->changed |= UINT64_C(1) << index;
    if (hf_metrics_take(file->block, index, name))
        file->renamed |= UINT64_C(1) << index;
}

void hf_metrics_file_close(struct hf_metrics_file *file)
{
    struct hf_error ignored;

    if (file->block == NULL)
        return;
    file->block->header.closed = 1;
    (void)hf_metrics_file_write(file, &ignored);
    if (file->fd >= 0)
        close(file->fd);
    hf_free(file->block);
    *file = (struct hf_metrics_file){.fd = -1};
}

/* In the child the block stays allocated, because another thread may have been
 * in the allocator when the process forked. */
void hf_metrics_file_after_fork(struct hf_metrics_file *file)
{
    struct stat stat;

    if (file->fd >= 0 && is_ours(file, &stat))
        close(file->fd);
    *file = (struct hf_metrics_file){.fd = -1};
}
