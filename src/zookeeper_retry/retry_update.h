/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read, a change and a write by version: hf_zookeeper_update() says what it
 * does.
 *
 * A server carries out one of all writes with one version of a node.  So it is
 * safe to repeat a write with the same version and the same data, whatever has
 * become of the write before it: the node gets these data once.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_UPDATE_H
#define HF_ZOOKEEPER_RETRY_RETRY_UPDATE_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_update;

/* The update of ${path}, which is copied.  NULL: no memory. */
struct hf_zk_retry_update *
hf_zk_retry_update_new(const char *path, const struct hf_random *random);

/* After HF_ZK_RETRY_ASK: take what was read, which becomes the caller's. */
struct hf_zookeeper_result *
hf_zk_retry_update_take(struct hf_zk_retry_update *update);

/* Give that back as ${now}, with what is to be written.  The latter must stay
 * valid until the next HF_ZK_RETRY_ASK, or the end. */
void hf_zk_retry_update_set(struct hf_zk_retry_update *update,
                            struct hf_zookeeper_result *now,
                            const struct hf_zookeeper_new_data *new_data);

extern const struct hf_zk_retry_ops hf_zk_retry_update_ops;

#endif
