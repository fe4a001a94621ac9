/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of a client, and its copy in a file in a directory that
 * `holdfast metrics --dir` reads.
 *
 * The client counts in memory of its own and writes what has changed, because
 * counting must not be able to kill the program: a page of a mapped file that
 * somebody truncates, or for which the disk has no room, kills the process that
 * touches it.  For the same reason nothing is written beyond the limit of the
 * size of files (SIGXFSZ), nor to a descriptor that became another file.
 *
 * Others read the file meanwhile, and the writer may be killed between any two
 * writes.  So nothing is locked, and the order of writes is chosen so that what
 * a killed writer leaves counts nothing twice:
 *
 *  - .sequence is odd while the file is being written.  A reader of a living
 *    writer reads again (a sequence lock: Lameter, "Effective Synchronization
 *    on Linux/NUMA Systems", 2005).  If the writer is dead, at most its last
 *    event is counted in part.
 *  - The sum of all names is written before the entries, because an entry must
 *    never have more than the sum.
 *  - An entry that has another name is no entry until all of it is written.
 *
 * The process keeps a record lock on the file as a sign of life; nobody ever
 * waits for it.
 */
#ifndef HF_METRICS_METRICS_FILE_H
#define HF_METRICS_METRICS_FILE_H

#include <sys/types.h>

#include "metrics/metrics_block.h"

/* Names of files in the directory end so; a file that is being made has
 * another one. */
#define HF_METRICS_LIVE_SUFFIX ".live"
#define HF_METRICS_NEW_SUFFIX ".new"

struct hf_metrics_file {
    struct hf_metrics_block *block; /* NULL: there is none */
    int fd;                         /* -1: no file */
    dev_t device;                   /* of the file that .fd is */
    ino_t inode;
    uint64_t changed; /* entries that the file does not have as they are now, a
                         bit for each */
    uint64_t renamed; /* of .changed: they have another name in the file */
    bool behind;      /* the last write failed */
};

/* Set ${file} to a block in memory.  False if there is no memory. */
bool hf_metrics_file_in_memory(struct hf_metrics_file *file);

/* Set ${file} to a block in a new file in the directory ${path}, which is made
 * if it does not exist; the one above it must exist.
 *   Fails     HF_EDENIED HF_EFULL HF_ELIMIT HF_ENOMEM; HF_EDIR if it is a
 *             symbolic link or no directory, if everybody may write to it and
 *             it is not sticky, or for another error.  There is then no
 *             block. */
hf_status hf_metrics_file_create(struct hf_metrics_file *file, const char *path,
                                 struct hf_error *error);

/* Give the entry ${index} to ${name}, unless it has it, and note that the entry
 * is about to change. */
void hf_metrics_file_take(struct hf_metrics_file *file, size_t index,
                          const struct hf_metrics_name_ref *name);

/* Write to the file what has changed, if there is a file.  Changes that could
 * not be written are written with the next call.
 *   Fails     only the first of several calls that could not write: HF_EFULL,
 *             also for the limit of the size of files; HF_EDIR HF_EDENIED
 *             HF_ELIMIT.  HF_ESTATE: the program has closed the descriptor, and
 *             nothing is written any more. */
hf_status hf_metrics_file_write(struct hf_metrics_file *file,
                                struct hf_error *error);

/* Have the file say that the block will not change any more, and free the
 * block.  The file stays, for those who read it. */
void hf_metrics_file_close(struct hf_metrics_file *file);

/* In the child of a fork: close the file, and count no more. */
void hf_metrics_file_after_fork(struct hf_metrics_file *file);

/* Write the id of the boot of the machine to ${boot}; "" if the kernel does not
 * say. */
void hf_metrics_read_boot(char boot[HF_METRICS_BOOT_BYTES]);

/* Open the directory ${path} to keep files in it, as
 * hf_metrics_file_create(), or to read them: ${make} is false, and HF_EDIR if
 * it does not exist.  The caller closes ${fd}. */
hf_status hf_metrics_open_dir(const char *path, bool make, int *fd,
                              struct hf_error *error);

#endif
