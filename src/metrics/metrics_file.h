/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of a client, and its copy in a file.  `holdfast metrics --dir`
 * reads the directory of these files.
 *
 * The client counts in memory of its own and writes what has changed, because
 * counting must never kill the program.  A mapped file could do so: if somebody
 * truncates it, or the disk has no room for a page, the process that touches
 * the page is killed.  For the same reason nothing is written beyond the limit
 * of the size of files (SIGXFSZ), nor to a descriptor that has become another
 * file.
 *
 * Other processes read the file meanwhile, and the writer may be killed between
 * any two writes.  So nothing is locked, and the order of writes is chosen so
 * that a file that a killed writer leaves counts nothing twice:
 *
 *  - .sequence is odd while the file is being written.  If the writer lives, a
 *    reader then reads again (a sequence lock: Lameter, "Effective
 *    Synchronization on Linux/NUMA Systems", 2005).  If the writer is dead, at
 *    most its last event is counted in part.
 *  - The sum of all names is written before the entries, because an entry must
 *    never have more than the sum.
 *  - When an entry gets another name, its id is 0 until all of it is written.
 *
 * The process keeps a record lock on the file as a sign of life.  Nobody ever
 * waits for that lock.
 */
#ifndef HF_METRICS_METRICS_FILE_H
#define HF_METRICS_METRICS_FILE_H

#include <sys/types.h>

#include "metrics/metrics_block.h"

/* The ends of the names of files in the directory: of complete files, and of
 * files that are being made. */
#define HF_METRICS_LIVE_SUFFIX ".live"
#define HF_METRICS_NEW_SUFFIX ".new"

struct hf_metrics_file {
    struct hf_metrics_block *block; /* NULL: there is no block */
    int fd;                         /* -1: no file */
    dev_t device;                   /* device and inode of the file that .fd
                                       must be */
    ino_t inode;
    uint64_t changed; /* a bit for each entry that differs from the file */
    uint64_t renamed; /* those of .changed that have another name in the file */
    bool behind;      /* the last write failed */
};

/* Set ${file} to a block in memory, without a file.  Returns false if there is
 * no memory. */
bool hf_metrics_file_in_memory(struct hf_metrics_file *file);

/* Set ${file} to a block with a new file in the directory ${path}.  The
 * directory is made if it does not exist; its parent must exist.  Fails with
 * HF_EDENIED, HF_EFULL, HF_ELIMIT or HF_ENOMEM.  Fails with HF_EDIR if the
 * directory is a symbolic link or no directory, if everybody may write to it
 * and it is not sticky, or for another error.  After a failure there is no
 * block. */
hf_status hf_metrics_file_create(struct hf_metrics_file *file, const char *path,
                                 struct hf_error *error);

/* Give the entry ${index} to ${name}, unless ${name} has it already.  Note that
 * the entry is about to change. */
void hf_metrics_file_take(struct hf_metrics_file *file, size_t index,
                          const struct hf_metrics_name_ref *name);

/* Write what has changed to the file, if there is a file.  What could not be
 * written is written by the next call.  Of several calls in a row that cannot
 * write, only the first one fails: with HF_EFULL (also for the limit of the
 * size of files), HF_EDIR, HF_EDENIED or HF_ELIMIT.  HF_ESTATE: the program has
 * closed the descriptor, and nothing is written any more. */
hf_status hf_metrics_file_write(struct hf_metrics_file *file,
                                struct hf_error *error);

/* Mark the file as closed, so that readers know that the numbers are final, and
 * free the block.  The file stays, for its readers. */
void hf_metrics_file_close(struct hf_metrics_file *file);

/* In the child of a fork: close the file, and stop counting. */
void hf_metrics_file_after_fork(struct hf_metrics_file *file);

/* Write the id of the machine's boot to ${boot}; "" if the kernel does not
 * provide it. */
void hf_metrics_read_boot(char boot[HF_METRICS_BOOT_BYTES]);

/* Open the directory ${path}, and set ${fd}, which the caller closes.  With
 * ${make} it is made and checked as by hf_metrics_file_create().  Without
 * ${make} fails with HF_EDIR if it does not exist. */
hf_status hf_metrics_open_dir(const char *path, bool make, int *fd,
                              struct hf_error *error);

#endif
