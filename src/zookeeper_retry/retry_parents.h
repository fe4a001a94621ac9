/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes above one that is to be created, as mkdir -p makes directories: the
 * lowest one first, one higher each time that its own parent is missing, and
 * then down again.  A parent that is there is fine, no matter who made it, so a
 * create whose answer was lost is repeated.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_PARENTS_H
#define HF_ZOOKEEPER_RETRY_RETRY_PARENTS_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_parents {
    bool containers;   /* until a server does not know them */
    const char *below; /* the path of the node that needs them */
    size_t bytes;      /* of .below: the lowest parent; 0: "/" */
    size_t at;         /* of .below: the one that is being created */
    size_t steps;      /* how many creates may still be sent */
    char *path;        /* of the one at .at; room for .bytes and two more */
};

/* What the answer of one of them means for all. */
enum hf_zk_retry_parents_state {
    HF_ZK_RETRY_PARENTS_GO_ON,  /* ${step} is the next one */
    HF_ZK_RETRY_PARENTS_THERE,  /* all of them are there */
    HF_ZK_RETRY_PARENTS_FAILED, /* the answer says why */
    HF_ZK_RETRY_PARENTS_VANISH, /* others delete them again and again */
};

/* Make ${step} the create of the lowest one. */
void hf_zk_retry_parents_begin(struct hf_zk_retry_parents *parents,
                               struct hf_zk_retry_step *step);

/* Make ${step} the create of the current one, again. */
void hf_zk_retry_parents_resume(struct hf_zk_retry_parents *parents,
                                struct hf_zk_retry_step *step);

/* That create was answered with ${result}, which stays the caller's.  Sets
 * ${step} if there is another one. */
enum hf_zk_retry_parents_state
hf_zk_retry_parents_answered(struct hf_zk_retry_parents *parents,
                             const struct hf_zookeeper_result *result,
                             struct hf_zk_retry_step *step);

#endif
