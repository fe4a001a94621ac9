/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates the nodes above a node (its parents), as mkdir -p creates
 * directories.  The lowest parent is tried first; if its own parent is missing,
 * the next higher one, and so on; then the lower ones are created in turn.  It
 * does not matter who created a parent, so a create whose answer was lost is
 * simply repeated.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_PARENTS_H
#define HF_ZOOKEEPER_RETRY_RETRY_PARENTS_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_parents {
    bool containers;   /* create containers; cleared when a server does not know
                          them */
    const char *below; /* the path of the node whose parents are created */
    size_t bytes;      /* the lowest parent is this many bytes of .below; 0:
                          "/" */
    size_t at;         /* the parent that is being created is this many bytes of
                          .below */
    size_t steps;      /* at most this many more creates are sent */
    char *path;        /* the path of the parent at .at; has room for .bytes and
                          two more */
};

/* What an answer means for the creation of all parents. */
enum hf_zk_retry_parents_state {
    HF_ZK_RETRY_PARENTS_GO_ON,  /* ${step} is the next create */
    HF_ZK_RETRY_PARENTS_THERE,  /* all of them exist */
    HF_ZK_RETRY_PARENTS_FAILED, /* one cannot be created; the answer says why */
    HF_ZK_RETRY_PARENTS_VANISH, /* others delete them again and again */
};

/* Make ${step} the create of the lowest parent. */
void hf_zk_retry_parents_begin(struct hf_zk_retry_parents *parents,
                               struct hf_zk_retry_step *step);

/* Make ${step} the create of the current parent, again. */
void hf_zk_retry_parents_resume(struct hf_zk_retry_parents *parents,
                                struct hf_zk_retry_step *step);

/* To be called when the create was answered with ${result}, which stays the
 * caller's.  Sets ${step} to the next create if there is one. */
enum hf_zk_retry_parents_state
hf_zk_retry_parents_answered(struct hf_zk_retry_parents *parents,
                             const struct hf_zookeeper_result *result,
                             struct hf_zk_retry_step *step);

#endif
