/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading is bounded: one block at a time is in memory.  What is in the
 * directory may have been written by other users, so nothing of it is mapped
 * and each number is checked that memory depends on.
 */
#include "cli/metrics_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "cli/metrics_folded.h"
#include "cli/process.h"
#include "command/clock.h"
#include "command/ui.h"
#include "metrics/metrics_file.h"

/* Users that have a folded file of their own in one pass.  The files of dead
 * clients of any further user stay. */
#define FOLDS_MAX 64
/* How long another process may have the lock, and the pause between two
 * tries. */
#define LOCK_WAIT_MS 5000
#define LOCK_TRY_EVERY_MS 10
/* A block that changes while it is read is read up to this many times. */
#define READ_TRIES 100

/* One pass through a directory. */
struct pass {
    const char *path;
    int dir;
    uid_t owner;   /* of the directory */
    bool may_fold; /* this user */
    char boot[HF_METRICS_BOOT_BYTES];
    struct hf_metrics_block *block; /* what was read last */
    struct hf_metrics_dir *result;
    struct hf_metrics_fold
        folds[FOLDS_MAX]; /* the first one is of those who are trusted */
    size_t fold_count;
    bool no_memory;
    uint64_t entries; /* that were looked at */
    struct hf_progress shown;
};

/* Print that ${name} is skipped, and ${why}; and whose it is, unless ${stat} is
 * NULL. */
static void skip(struct pass *pass, const char *name, const struct stat *stat,
                 const char *why)
{
    char user[32] = "";

    pass->result->skipped++;
    if (stat != NULL)
        (void)snprintf(user, sizeof user, " of user %u",
                       (unsigned)stat->st_uid);
    hf_ui_log(HF_LOG_WARNING, "%.200s: skipped %s%s: %s", pass->path,
              hf_quote(name, strlen(name)).text, user, why);
}

/* --------------------------------------------------------------- a file -- */

/* Read ${bytes} at the beginning of ${fd}.  False with errno, which is 0 if the
 * file is shorter. */
static bool read_all(int fd, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

/* Read the sequence number of a block.  False with errno as read_all(). */
static bool read_sequence(int fd, uint64_t *sequence)
{
    struct hf_metrics_header header;

    if (!read_all(fd, &header, sizeof header))
        return false;
    *sequence = header.sequence;
    return true;
}

/* Read the block of a client.  While it is being written it is read again.  If
 * that does not help, one event may be counted in part.  NULL: done; else why
 * not. */
static const char *read_block(int fd, struct hf_metrics_block *block)
{
    const char *why;

    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before, after;

        if (!read_sequence(fd, &before) ||
            !read_all(fd, block, sizeof *block) || !read_sequence(fd, &after))
            return errno == 0 ? "too short" : hf_errno_text(errno);
        if (before == after && before % 2 == 0)
            break;
    }
    if ((why = hf_metrics_header_check(&block->header)) != NULL)
        return why;
    if (block->header.bytes != sizeof *block ||
        block->header.used > HF_METRICS_NAMES)
        return "damaged";
    if (!hf_metrics_sum_check(block, HF_METRICS_NAMES, HF_METRICS_NUMBER_MAX))
        return "it has numbers that no client counts to";
    return NULL;
}

/* Is the client of ${fd} gone?  Its process keeps a lock on the file.  A
 * process that has closed its descriptors has no lock, and is found by its
 * pid. */
static bool is_dead(const struct pass *pass, int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct hf_metrics_header header;

    if (!read_all(fd, &header, sizeof header))
        return false;
    if (header.closed != 0)
        return true;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        return false;
    return strncmp(header.boot, pass->boot, sizeof header.boot) != 0 ||
           header.pid > INT32_MAX ||
           hf_process_started((pid_t)header.pid) != header.started;
}

/* Open ${name} to read it.  -1 with ${why}, and with errno, which is 0 if it is
 * there but no regular file. */
static int open_file(const struct pass *pass, const char *name,
                     struct stat *stat, const char **why)
{
    int fd =
        openat(pass->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        *why = errno == ELOOP ? "a symbolic link" : hf_errno_text(errno);
        return -1;
    }
    if (fstat(fd, stat) == 0 && S_ISREG(stat->st_mode))
        return fd;
    close(fd);
    *why = "no regular file";
    errno = 0; /* it is there */
    return -1;
}

/* Remove a file that was not finished, because its maker is dead.  A maker that
 * lives has a lock on it; one that has no lock yet makes another file. */
static void remove_unfinished(const struct pass *pass, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct stat stat;
    const char *why;
    int fd;

    if (!pass->may_fold || (fd = open_file(pass, name, &stat, &why)) < 0)
        return;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK)
        (void)unlinkat(pass->dir, name, 0);
    close(fd);
}

/* ----------------------------------------------------------- the folded -- */

/* Read the folded file, if there is one.  It is skipped if it cannot be
 * trusted: in a directory for all users anybody may have made it. */
static void read_folded(struct pass *pass, struct hf_metrics_fold *fold)
{
    const char *why = "too large";
    char *memory = NULL;
    struct stat stat;
    size_t bytes;
    int fd = open_file(pass, fold->name, &stat, &why);

    if (fd < 0 && errno == ENOENT)
        return;
    if (fd >= 0 && stat.st_uid != pass->owner && stat.st_uid != 0) {
        why = "its owner is neither that of the directory nor root";
    } else if (fd >= 0 && stat.st_size >= 0 &&
               (uintmax_t)stat.st_size <= hf_metrics_fold_bytes_max()) {
        bytes = (size_t)stat.st_size;
        memory = hf_alloc(bytes + 1);
        pass->no_memory |= memory == NULL;
        if (memory != NULL && !read_all(fd, memory, bytes))
            why = "it cannot be read";
        else if (memory != NULL &&
                 !hf_metrics_fold_parse(fold, memory, bytes, &pass->result->sum,
                                        &why))
            pass->no_memory = true;
    }
    if (why != NULL && !pass->no_memory) {
        fold->is_bad = true;
        skip(pass, fold->name, fd >= 0 ? &stat : NULL, why);
        hf_ui_log(HF_LOG_WARNING,
                  "%.200s: nothing is folded into it while that is there; "
                  "remove it to lose what it counts and begin anew",
                  pass->path);
    }
    hf_free(memory);
    if (fd >= 0)
        close(fd);
}

static struct hf_metrics_fold *new_fold(struct pass *pass, uid_t user,
                                        const char *name)
{
    struct hf_metrics_fold *fold = &pass->folds[pass->fold_count++];

    fold->user = user;
    (void)snprintf(fold->name, sizeof fold->name, "%s", name);
    read_folded(pass, fold);
    return fold;
}

/* Where the files of ${user} are folded.  NULL: there is no room for one more
 * user. */
static struct hf_metrics_fold *get_fold(struct pass *pass, uid_t user)
{
    char name[32];

    if (user == 0 || user == pass->owner)
        return &pass->folds[0];
    for (size_t i = 1; i < pass->fold_count; i++)
        if (pass->folds[i].user == user)
            return &pass->folds[i];
    if (pass->fold_count == FOLDS_MAX)
        return NULL;
    (void)snprintf(name, sizeof name, HF_METRICS_FOLDED "-%u", (unsigned)user);
    return new_fold(pass, user, name);
}

static hf_status fold_all(struct pass *pass, struct hf_error *error)
{
    hf_status status = HF_OK;

    for (size_t i = 0; i < pass->fold_count && status == HF_OK; i++)
        if (pass->folds[i].absorbed.count > 0)
            status = hf_metrics_fold_write(&pass->folds[i], pass->dir,
                                           pass->path, error);
    return status;
}

/* -------------------------------------------------------------- a client -- */

/* Add a dead client, whose block was read last, to ${fold}, which is NULL if
 * there is no room for its user.  If it cannot be folded now, its file
 * stays. */
static void absorb(struct pass *pass, struct hf_metrics_fold *fold,
                   const char *name)
{
    if (fold == NULL || !pass->may_fold || fold->is_bad ||
        fold->absorbed.count >= HF_METRICS_ABSORBED_MAX)
        return;
    if (!hf_metrics_fold_absorb(fold, name, pass->block))
        pass->no_memory = true;
}

/* Is ${name} in a folded file already, because an earlier fold was killed
 * before it removed the file?  Then remove it now. */
static bool was_absorbed(struct pass *pass, struct hf_metrics_fold *fold,
                         const char *name)
{
    if (fold == NULL || !hf_metrics_fold_has(fold, name))
        return false;
    if (pass->may_fold && unlinkat(pass->dir, name, 0) != 0 &&
        !hf_metrics_fold_keep(fold, name))
        pass->no_memory = true;
    return true;
}

/* Count the open file of a client.  Whether the client is dead is found out
 * before the file is read, because only the numbers of the dead do not change
 * any more. */
static void add_open_client(struct pass *pass, const char *name, int fd,
                            const struct stat *stat)
{
    struct hf_metrics_dir *result = pass->result;
    struct hf_metrics_fold *fold = get_fold(pass, stat->st_uid);
    const char *why;
    bool dead;

    if (was_absorbed(pass, fold, name))
        return;
    dead = is_dead(pass, fd);
    if ((why = read_block(fd, pass->block)) != NULL) {
        skip(pass, name, stat, why);
        return;
    }
    if (!hf_metrics_sum_add(&result->sum, pass->block, HF_METRICS_NAMES))
        pass->no_memory = true;
    result->alive += !dead;
    result->dead += dead;
    if (dead)
        absorb(pass, fold, name);
}

static void add_client(struct pass *pass, const char *name)
{
    const char *why;
    struct stat stat;
    int fd = open_file(pass, name, &stat, &why);

    if (fd >= 0) {
        add_open_client(pass, name, fd, &stat);
        close(fd);
    } else if (errno != ENOENT) {
        skip(pass, name, NULL, why);
    }
}

/* --------------------------------------------------------- the directory -- */

/* Is ${name} the id of a client and then ${suffix}? */
static bool has_form(const char *name, const char *suffix)
{
    return strspn(name, "0123456789abcdef") == HF_METRICS_ID_BYTES &&
           strcmp(name + HF_METRICS_ID_BYTES, suffix) == 0;
}

/* Is ${name} the folded file of a user other than root and the directory's
 * owner?  Then read it, unless a file of that user has led to that before. */
static bool add_folded_of_user(struct pass *pass, const char *name)
{
    char expected[32];
    unsigned user;

    if (sscanf(name, HF_METRICS_FOLDED "-%10u", &user) != 1 || user == 0 ||
        user == pass->owner)
        return false;
    (void)snprintf(expected, sizeof expected, HF_METRICS_FOLDED "-%u", user);
    return strcmp(name, expected) == 0 && get_fold(pass, user) != NULL;
}

static void add_entry(struct pass *pass, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strcmp(name, HF_METRICS_FOLDED) == 0 ||
        strcmp(name, HF_METRICS_FOLDED_TEMPORARY) == 0)
        return;
    if (has_form(name, HF_METRICS_LIVE_SUFFIX))
        add_client(pass, name);
    else if (has_form(name, HF_METRICS_NEW_SUFFIX))
        remove_unfinished(pass, name);
    else if (!add_folded_of_user(pass, name))
        skip(pass, name, NULL, "its name is none of a file of metrics");
}

static void show_progress(struct pass *pass)
{
    pass->entries++;
    if (hf_progress_is_due(&pass->shown))
        hf_ui_show_progress("files looked at: %" PRIu64, pass->entries);
}

/* Take the lock on the directory.  It is tried again and again, because flock()
 * has no timeout. */
static hf_status lock_dir(const struct pass *pass, struct hf_error *error)
{
    const struct timespec pause = {.tv_nsec = LOCK_TRY_EVERY_MS * 1000000L};
    uint64_t until_ms = hf_clock_add(hf_clock_now_ms(), LOCK_WAIT_MS);

    while (flock(pass->dir, (pass->may_fold ? LOCK_EX : LOCK_SH) | LOCK_NB) !=
           0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return hf_error_set(error, HF_EDIR, "no lock on %.200s: %s",
                                pass->path, hf_errno_text(errno));
        if (hf_clock_now_ms() >= until_ms)
            return hf_error_set(error, HF_EBUSY,
                                "another process has had the lock on %.200s "
                                "for 5 s; see which one with lslocks(8)",
                                pass->path);
        nanosleep(&pause, NULL);
    }
    return HF_OK;
}

/* Read all entries, with the lock. */
static hf_status read_entries(struct pass *pass, struct hf_error *error)
{
    int copy = fcntl(pass->dir, F_DUPFD_CLOEXEC, 0);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;

    if (listing == NULL) {
        if (copy >= 0)
            close(copy);
        return hf_error_set(error, HF_EDIR, "cannot list %.200s: %s",
                            pass->path, hf_errno_text(errno));
    }
    (void)new_fold(pass, pass->owner, HF_METRICS_FOLDED);
    while (!pass->no_memory && (entry = readdir(listing)) != NULL) {
        add_entry(pass, entry->d_name);
        show_progress(pass);
    }
    closedir(listing);
    if (pass->no_memory)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    return HF_OK;
}

static hf_status run_pass(struct pass *pass, struct hf_error *error)
{
    struct stat stat;
    hf_status status;

    if (fstat(pass->dir, &stat) != 0)
        return hf_error_set(error, HF_EDIR, "fstat of %.200s: %s", pass->path,
                            hf_errno_text(errno));
    pass->owner = stat.st_uid;
    pass->may_fold = geteuid() == 0 || geteuid() == stat.st_uid;
    hf_metrics_read_boot(pass->boot);
    if ((pass->block = hf_alloc(sizeof *pass->block)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if ((status = lock_dir(pass, error)) == HF_OK &&
        (status = read_entries(pass, error)) == HF_OK && pass->may_fold)
        status = fold_all(pass, error);
    return status;
}

static void free_pass(struct pass *pass)
{
    hf_free(pass->block);
    for (size_t i = 0; i < pass->fold_count; i++)
        hf_metrics_fold_free(&pass->folds[i]);
    hf_free(pass);
}

hf_status hf_metrics_dir_read(const char *path, struct hf_metrics_dir *result,
                              struct hf_error *error)
{
    struct pass *pass = hf_alloc(sizeof *pass);
    hf_status status;

    *result = (struct hf_metrics_dir){.alive = 0};
    if (pass == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    pass->path = path;
    pass->result = result;
    status = hf_metrics_open_dir(path, false, &pass->dir, error);
    if (status == HF_OK) {
        hf_progress_begin(&pass->shown);
        status = run_pass(pass, error);
        hf_ui_clear_wait();
        close(pass->dir); /* which releases the lock */
    }
    free_pass(pass);
    if (status != HF_OK)
        hf_metrics_sum_free(&result->sum);
    return status;
}
