/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of this engine.  Each function makes the call that it is
 * named after, or the nearest to it (lstatat uses fstatat()).  A descriptor
 * that it opens is close-on-exec, and is moved above 2 if it is lower.  By a
 * hook, a test can make the n-th call fail, or kill the process just before it.
 * The last function turns errno into a status and a text that says what to do.
 */
#ifndef HF_ENGINES_FILE_SYSCALLS_H
#define HF_ENGINES_FILE_SYSCALLS_H

#include <holdfast/status.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

/* Called before each call with the name of the call.  Returns 0 to make the
 * call, or the errno to fail with.  NULL outside of tests.  Must not be changed
 * while an engine is open. */
extern int (*hf_file_sys_hook)(const char *call);

int hf_file_sys_open(const char *path, int flags, mode_t mode);
int hf_file_sys_openat(int dir, const char *path, int flags, mode_t mode);
int hf_file_sys_mkdir(const char *path, mode_t mode);
int hf_file_sys_mkdirat(int dir, const char *path, mode_t mode);
int hf_file_sys_rmdir(const char *path);
int hf_file_sys_flock(int fd, int operation);
int hf_file_sys_fstat(int fd, struct stat *status);
int hf_file_sys_lstat(const char *path, struct stat *status);
/* faccessat(AT_EACCESS): by the effective user. */
int hf_file_sys_access(const char *path, int mode);
int hf_file_sys_lstatat(int dir, const char *path, struct stat *status);
int hf_file_sys_fstatfs(int fd, struct statfs *status);
int hf_file_sys_fchmod(int fd, mode_t mode);
int hf_file_sys_symlinkat(const char *target, int dir, const char *path);
ssize_t hf_file_sys_readlinkat(int dir, const char *path, char *text,
                               size_t bytes);
int hf_file_sys_mkfifoat(int dir, const char *path, mode_t mode);
int hf_file_sys_renameat(int dir, const char *from, const char *to);
int hf_file_sys_unlinkat(int dir, const char *path);
int hf_file_sys_unlink(const char *path);
ssize_t hf_file_sys_getdents(int dir, void *entries, size_t bytes);
int hf_file_sys_rewind(int dir);
ssize_t hf_file_sys_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t hf_file_sys_pwrite(int fd, const void *data, size_t bytes, off_t at);
int hf_file_sys_fdatasync(int fd);
int hf_file_sys_fsync(int fd);
void *hf_file_sys_map(int fd, size_t bytes);
ssize_t hf_file_sys_write(int fd, const void *data, size_t bytes);
/* utimensat(): set both times to now, of the file itself and not of the target
 * of a link. */
int hf_file_sys_touch(const char *path);
int hf_file_sys_touch_open(int fd);
/* fcntl(F_DUPFD_CLOEXEC): the lowest free number, ${least} or more. */
int hf_file_sys_duplicate(int fd, int least);
/* Non-blocking. */
int hf_file_sys_inotify(void);
int hf_file_sys_inotify_add(int fd, const char *path, uint32_t mask);
/* timerfd_create(CLOCK_BOOTTIME), non-blocking. */
int hf_file_sys_timer(void);
/* FUTEX_WAIT, and FUTEX_WAKE of one waiter, between processes: ${word} is in
 * memory that they share.  ${timeout_ms} counts from now on CLOCK_MONOTONIC. */
int hf_file_sys_futex_wait(_Atomic uint32_t *word, uint32_t value,
                           unsigned timeout_ms);
int hf_file_sys_futex_wake(_Atomic uint32_t *word);

/* -------------------------------------------------------- errno in words -- */

/* Fill in ${error} from errno, with the text "cannot ${what} ${path} as user N:
 * ...; remedy".  ${what} is a verb ("create").  Returns the status:
 *   ENOSPC EDQUOT                HF_EFULL
 *   EMFILE ENFILE ENOLCK EAGAIN  HF_ELIMIT
 *   ENOMEM                       HF_ENOMEM
 *   anything else                HF_EDIR */
hf_status hf_file_error_set_errno(struct hf_error *error, const char *what,
                                  const char *path);

#endif
