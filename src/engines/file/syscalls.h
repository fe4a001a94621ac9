/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of this engine, behind one seam: a test may have the n-th
 * one fail, or end the process just before it.  Each is exactly the call it is
 * named after; what opens a descriptor sets close-on-exec.
 */
#ifndef HF_ENGINES_FILE_SYSCALLS_H
#define HF_ENGINES_FILE_SYSCALLS_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

/* Asked before each call: 0 to go on, else the errno it is to fail with.  NULL
 * outside tests, and never changed while an engine is open. */
extern int (*hf_sys_hook)(const char *call);

int hf_sys_open(const char *path, int flags, mode_t mode);
int hf_sys_openat(int dir, const char *path, int flags, mode_t mode);
int hf_sys_mkdir(const char *path, mode_t mode);
int hf_sys_mkdirat(int dir, const char *path, mode_t mode);
int hf_sys_rmdir(const char *path);
int hf_sys_flock(int fd, int operation);
int hf_sys_fstat(int fd, struct stat *status);
int hf_sys_lstat(const char *path, struct stat *status);
int hf_sys_lstatat(int dir, const char *path, struct stat *status);
int hf_sys_fstatfs(int fd, struct statfs *status);
int hf_sys_fchmod(int fd, mode_t mode);
int hf_sys_symlinkat(const char *target, int dir, const char *path);
ssize_t hf_sys_readlinkat(int dir, const char *path, char *text, size_t bytes);
int hf_sys_mkfifoat(int dir, const char *path, mode_t mode);
int hf_sys_renameat(int dir, const char *from, const char *to);
int hf_sys_unlinkat(int dir, const char *path);
int hf_sys_unlink(const char *path);
ssize_t hf_sys_getdents(int dir, void *entries, size_t bytes);
int hf_sys_rewind(int dir);
ssize_t hf_sys_pread(int fd, void *data, size_t bytes);
ssize_t hf_sys_pwrite(int fd, const void *data, size_t bytes);
int hf_sys_fdatasync(int fd);
int hf_sys_fsync(int fd);
void *hf_sys_map(int fd, size_t bytes);
ssize_t hf_sys_write(int fd, const void *data, size_t bytes);
/* Both its times become those of now. */
int hf_sys_touch(const char *path);
int hf_sys_duplicate(int fd, int least);
int hf_sys_inotify(void);
int hf_sys_inotify_add(int fd, const char *path, uint32_t mask);
int hf_sys_timer(void);
/* FUTEX_WAIT and FUTEX_WAKE of one, between processes: ${word} is in memory
 * that they share.  ${timeout_ms} is counted from now, by CLOCK_MONOTONIC. */
int hf_sys_futex_wait(_Atomic uint32_t *word, uint32_t value,
                      unsigned timeout_ms);
int hf_sys_futex_wake(_Atomic uint32_t *word);

#endif
