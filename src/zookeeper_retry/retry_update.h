/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine (retry_step.h) of an update: it reads a node, asks the user for
 * new data, and writes them if the version is still the same.  For what users
 * get see hf_zookeeper_update().
 *
 * Of all writes that expect the same version of a node, only one can succeed.
 * So it is safe to repeat a write with the same version and the same data, even
 * if the earlier write may have been carried out: the node gets these data
 * once.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_UPDATE_H
#define HF_ZOOKEEPER_RETRY_RETRY_UPDATE_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_update;

/* Make a machine for the update of ${path}, which is copied.  NULL: no
 * memory. */
struct hf_zk_retry_update *
hf_zk_retry_update_new(const char *path, const struct hf_random *random);

/* To be called after HF_ZK_RETRY_ASK: return the result of the read, which
 * belongs to the caller until hf_zk_retry_update_set(). */
struct hf_zookeeper_result *
hf_zk_retry_update_take(struct hf_zk_retry_update *update);

/* Give the result of the read back as ${now}, with ${new_data} to write.  These
 * data must stay valid until the next HF_ZK_RETRY_ASK, or the end. */
void hf_zk_retry_update_set(struct hf_zk_retry_update *update,
                            struct hf_zookeeper_result *now,
                            const struct hf_zookeeper_new_data *new_data);

extern const struct hf_zk_retry_ops hf_zk_retry_update_ops;

#endif
