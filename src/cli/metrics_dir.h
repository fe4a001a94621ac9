/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of metrics in a directory: their sum, and folding those of the dead
 * into one.
 *
 *   HEX.live  a block of one client (metrics/metrics_file.h)
 *   HEX.new   one that is being made
 *   folded    the sum of the blocks of dead clients of the directory's owner
 *             and of root, and the names of the files that are in it and may
 *             not be removed yet
 *   folded-N  the same for the user number N.  In a directory for several users
 *             each can write what he likes, and it must not spoil the others
 *
 * A process that sums has a lock on the directory, exclusive if it folds, else
 * shared; the system releases it if the process is killed.  A fold writes the
 * new sum together with the names of the files that it has added, renames that
 * to "folded", and only then removes those files.  So after a fold that was
 * killed in between nothing is counted twice: the next one finds the names.
 */
#ifndef HF_CLI_METRICS_DIR_H
#define HF_CLI_METRICS_DIR_H

#include "metrics/metrics_sum.h"

struct hf_metrics_dir {
    struct hf_metrics_sum sum;
    size_t alive;   /* files of living clients */
    size_t dead;    /* files of dead clients that were not in "folded" yet */
    size_t skipped; /* entries that are no files of metrics; each was printed */
};

/* Set ${result} to the sum of ${path}.  If this user owns the directory, or is
 * root, fold the files of the dead.  The caller frees .sum.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ENOMEM; HF_EBUSY if another one
 *             has the lock for too long. */
hf_status hf_metrics_dir_read(const char *path, struct hf_metrics_dir *result,
                              struct hf_error *error);

#endif
