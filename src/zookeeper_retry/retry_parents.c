/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper_retry/retry_parents.h"

#include <string.h>

/* The end of the component that follows the first ${at} bytes of ${path}, as an
 * offset. */
static size_t next_end(const char *path, size_t bytes, size_t at)
{
    for (at++; at < bytes && path[at] != '/';)
        at++;
    return at;
}

/* The length of the parent of the path in the first ${at} bytes; 0: "/". */
static size_t parent_of(const char *path, size_t at)
{
    do
        at--;
    while (at > 0 && path[at] != '/');
    return at;
}

/* "/" of the handle, which is its chroot, is not created as a container,
 * because others rely on it. */
void hf_zk_retry_parents_resume(struct hf_zk_retry_parents *parents,
                                struct hf_zk_retry_step *step)
{
    size_t bytes = parents->at > 0 ? parents->at : 1;

    memcpy(parents->path, parents->below, bytes);
    parents->path[bytes] = '\0';
    hf_zk_retry_do(step, HF_ZOOKEEPER_CREATE, parents->path);
    step->op.mode = parents->containers && parents->at > 0
                        ? HF_ZOOKEEPER_CONTAINER
                        : HF_ZOOKEEPER_PERSISTENT;
}

/* Create the parent at ${at}. */
static enum hf_zk_retry_parents_state
create(struct hf_zk_retry_parents *parents, size_t at,
       struct hf_zk_retry_step *step)
{
    if (parents->steps == 0)
        return HF_ZK_RETRY_PARENTS_VANISH;
    parents->steps--;
    parents->at = at;
    hf_zk_retry_parents_resume(parents, step);
    return HF_ZK_RETRY_PARENTS_GO_ON;
}

void hf_zk_retry_parents_begin(struct hf_zk_retry_parents *parents,
                               struct hf_zk_retry_step *step)
{
    /* Enough to go up and down once, and some more for parents that are deleted
     * meanwhile. */
    parents->steps = 2 * parents->bytes + 16;
    (void)create(parents, parents->bytes, step);
}

enum hf_zk_retry_parents_state
hf_zk_retry_parents_answered(struct hf_zk_retry_parents *parents,
                             const struct hf_zookeeper_result *result,
                             struct hf_zk_retry_step *step)
{
    size_t at = parents->at;

    if (result->status == HF_OK || result->status == HF_EEXISTS)
        return at == parents->bytes
                   ? HF_ZK_RETRY_PARENTS_THERE
                   : create(parents,
                            next_end(parents->below, parents->bytes, at), step);
    if (result->status == HF_EGONE && at > 0)
        return create(parents, parent_of(parents->below, at), step);
    if (result->status != HF_EUNSUPPORTED || !parents->containers)
        return HF_ZK_RETRY_PARENTS_FAILED;
    parents->containers = false;
    return create(parents, at, step);
}
