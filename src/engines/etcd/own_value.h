/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the value of a ticket of ours: who has put it.
 *
 * A request to release puts the key again with the value that it has.  So the
 * owner is asked by each put that it has not made itself.  Three things
 * distinguish its own:
 *
 *  - A put of ours compares the revision of the last put that is known.  So at
 *    most one of those that were sent on top of it is carried out, early or
 *    late.
 *  - The owner never writes the value that is there.  So others, who put that
 *    value, cannot put one of the owner's before the owner has.
 *  - The server counts the puts of a key (its version).
 *
 * So it is known of each put whether it is ours, whether its answer, an event
 * of a watch or a read shows it first, and even if the answer never comes.
 */
#ifndef HF_ENGINES_ETCD_OWN_VALUE_H
#define HF_ENGINES_ETCD_OWN_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "etcd/message.h"

/* Values that were written on top of one put and got no answer.  With more the
 * oldest are forgotten: if one of them was carried out, that is taken for a
 * request. */
#define HF_ETCD_WRITTEN_MAX 4

struct hf_etcd_engine_own_value {
    int64_t mod_revision; /* of the last put that is accounted for */
    int64_t version;      /* the number of that put, from 1 */
    uint64_t hash;        /* of its value */
    uint64_t written[HF_ETCD_WRITTEN_MAX]; /* a ring */
    size_t written_count;
    bool revoked; /* another hand has put the key, so somebody asks for the
                     release */
};

/* Begin with ${kv}, which is there.  If it was put more than once, another hand
 * has put it: .revoked is set. */
void hf_etcd_engine_own_value_begin(struct hf_etcd_engine_own_value *value,
                                    const struct hf_etcd_key_value *kv);

/* Is ${bytes} the value that is there, as far as is known? */
bool hf_etcd_engine_own_value_is(const struct hf_etcd_engine_own_value *value,
                                 struct hf_etcd_bytes bytes);

/* A put of ${bytes}, which are not the value that is there, is sent now. */
void hf_etcd_engine_own_value_writes(struct hf_etcd_engine_own_value *value,
                                     struct hf_etcd_bytes bytes);

/* The put of ${bytes} was committed at ${revision}. */
void hf_etcd_engine_own_value_wrote(struct hf_etcd_engine_own_value *value,
                                    struct hf_etcd_bytes bytes,
                                    int64_t revision);

/* A watch or a read shows the key as it is in ${kv}.  True if its owner is to
 * be asked for its release. */
bool hf_etcd_engine_own_value_was_put(struct hf_etcd_engine_own_value *value,
                                      const struct hf_etcd_key_value *kv);

#endif
