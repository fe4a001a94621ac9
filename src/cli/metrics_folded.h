/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folded file: the sum of the blocks of dead clients, and the names of the
 * files that were added to it and may not be removed yet (metrics_dir.h).
 */
#ifndef HF_CLI_METRICS_FOLDED_H
#define HF_CLI_METRICS_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <holdfast/status.h>

#include "metrics/metrics_sum.h"

#define HF_METRICS_FOLDED "folded"
#define HF_METRICS_FOLDED_TEMPORARY "folded.tmp"
/* The name of the file of a client without its suffix. */
#define HF_METRICS_ID_BYTES 32
/* Files that one fold takes in; the rest waits for the next one. */
#define HF_METRICS_ABSORBED_MAX ((size_t)65536)

/* Names of files, without a NUL. */
struct hf_metrics_ids {
    char (*items)[HF_METRICS_ID_BYTES];
    size_t count;
    size_t room;
};

/* The folded file of root and the directory's owner, or of one other user.
 * What a user makes up is thus in a file of his, which can be removed. */
struct hf_metrics_fold {
    uid_t user;    /* ignored for the first one */
    char name[32]; /* HF_METRICS_FOLDED, or that, '-' and the number of the user
                    */
    struct hf_metrics_sum sum;
    struct hf_metrics_ids in_file; /* as the file says, in order */
    /* The clients of this pass, and those of .in_file whose files could not be
     * removed. */
    struct hf_metrics_ids absorbed;
    bool is_bad; /* the file cannot be read: fold nothing */
};

/* Is ${header} that of this version and machine?  NULL: yes; else what is
 * wrong. */
const char *hf_metrics_header_check(const struct hf_metrics_header *header);

/* The bytes that a folded file has at most. */
size_t hf_metrics_fold_bytes_max(void);

/* Read the folded file in ${memory} into ${fold}, which is empty, and add it to
 * ${total}.  ${why} is NULL or, if it is no folded file, says what is wrong.
 * False: no memory. */
bool hf_metrics_fold_parse(struct hf_metrics_fold *fold, const char *memory,
                           size_t bytes, struct hf_metrics_sum *total,
                           const char **why);

/* Is the client ${id} in the file that was read? */
bool hf_metrics_fold_has(const struct hf_metrics_fold *fold, const char *id);

/* Add the dead client ${id} with ${block}.  False: no memory. */
bool hf_metrics_fold_absorb(struct hf_metrics_fold *fold, const char *id,
                            const struct hf_metrics_block *block);

/* The file of ${id}, which is in the sum, could not be removed: keep its name,
 * so that it is not counted twice.  False: no memory. */
bool hf_metrics_fold_keep(struct hf_metrics_fold *fold, const char *id);

/* Write ${fold} to the directory ${dir}, which errors call ${path}, and remove
 * the files whose numbers it has. */
hf_status hf_metrics_fold_write(struct hf_metrics_fold *fold, int dir,
                                const char *path, struct hf_error *error);

void hf_metrics_fold_free(struct hf_metrics_fold *fold);

#endif
