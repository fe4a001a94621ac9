/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a block: of the process alone, or a file in a directory that
 * `holdfast metrics --dir` reads.
 *
 * The file is mapped.  It has room for all entries, but blocks of the
 * filesystem are allocated for those in use only, before they are written,
 * because a write to a mapped page for which there is no space kills the
 * process.  The process keeps a record lock on the file as a sign of life;
 * nobody ever waits for it.
 */
#ifndef HF_METRICS_METRICS_FILE_H
#define HF_METRICS_METRICS_FILE_H

#include "metrics/metrics_block.h"

/* Names of files in the directory end so; a file that is being made has
 * another one. */
#define HF_METRICS_LIVE_SUFFIX ".live"
#define HF_METRICS_NEW_SUFFIX ".new"

struct hf_metrics_file {
    struct hf_metrics_block *block; /* NULL: there is none */
    int fd;                         /* -1: no file */
    size_t ready;                   /* entries that have memory */
};

/* Set ${file} to a block in memory.  False if there is no memory. */
bool hf_metrics_file_in_memory(struct hf_metrics_file *file);

/* Set ${file} to a block in a new file in the directory ${path}, which is made
 * if it does not exist; the one above it must exist.
 *   Fails     HF_EDIR if it is no directory, or one that everybody may write
 *             to and that is not sticky; HF_EDENIED HF_EFULL HF_ELIMIT.  There
 * is then no block. */
hf_status hf_metrics_file_create(struct hf_metrics_file *file, const char *path,
                                 struct hf_error *error);

/* Have memory for the entry ${index}.  False if there is none. */
bool hf_metrics_file_extend(struct hf_metrics_file *file, size_t index);

/* Say that the block will not change any more, and free it.  The file stays,
 * for those who read it. */
void hf_metrics_file_close(struct hf_metrics_file *file);

/* In the child of a fork. */
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
