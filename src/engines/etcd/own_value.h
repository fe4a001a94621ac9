/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the value of a ticket of ours, and who has put it.
 *
 * A request to release a ticket puts its key again with the value that it has.
 * So each put that the owner has not made asks the owner to release.  The owner
 * recognizes its own puts by three rules:
 *
 *   - A put of ours compares the revision of the last known put.  So of the
 *     puts that were sent after that one, at most one is carried out, early or
 *     late.
 *   - The owner never writes the value that is there already.  So a value
 *     that another client puts again is none that the owner is about to write.
 *   - The server counts the puts of a key (its version).
 *
 * So the owner knows of each put whether it was its own: whether the answer, an
 * event of a watch or a read shows the put first, and even if no answer comes.
 */
#ifndef HF_ENGINES_ETCD_OWN_VALUE_H
#define HF_ENGINES_ETCD_OWN_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/message.h"

/* How many values are remembered that were written since the last known put and
 * got no answer.  If there are more, the oldest are forgotten.  If one of those
 * was carried out, it is taken for a request to release. */
#define HF_ETCD_WRITTEN_MAX 4

struct hf_etcd_engine_own_value {
    int64_t mod_revision;                  /* revision of the last known put */
    int64_t version;                       /* the number of that put, from 1 */
    uint64_t hash;                         /* hash of the value that it put */
    uint64_t written[HF_ETCD_WRITTEN_MAX]; /* a ring of hashes of values that
                                              were sent since then */
    size_t written_count;
    bool revoked; /* somebody else has put the key, so the owner is asked to
                     release */
};

/* Begin with ${kv}, the key as it is.  If it was put more than once, somebody
 * else has put it, and .revoked is set. */
void hf_etcd_engine_own_value_begin(struct hf_etcd_engine_own_value *value,
                                    const struct hf_etcd_key_value *kv);

/* Are ${bytes} the value that the key has, as far as is known? */
bool hf_etcd_engine_own_value_is(const struct hf_etcd_engine_own_value *value,
                                 struct hf_etcd_bytes bytes);

/* Note that a put of ${bytes} is sent now.  They must not be the value that the
 * key has. */
void hf_etcd_engine_own_value_writes(struct hf_etcd_engine_own_value *value,
                                     struct hf_etcd_bytes bytes);

/* Note that our put of ${bytes} was committed at ${revision}. */
void hf_etcd_engine_own_value_wrote(struct hf_etcd_engine_own_value *value,
                                    struct hf_etcd_bytes bytes,
                                    int64_t revision);

/* Note that a watch or a read has shown the key as it is in ${kv}.  Returns
 * true if the owner is now asked to release the ticket. */
bool hf_etcd_engine_own_value_was_put(struct hf_etcd_engine_own_value *value,
                                      const struct hf_etcd_key_value *kv);

#endif
