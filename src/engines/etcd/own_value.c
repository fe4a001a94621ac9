/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/own_value.h"

#include <assert.h>

#include "base/hash.h"

static uint64_t hash_of(struct hf_etcd_bytes value)
{
    return hf_hash64(value.bytes, value.count);
}

/* Note the value that is there now.  Who has put it is known. */
static void take(struct hf_etcd_engine_own_value *value, int64_t mod_revision,
                 int64_t version, uint64_t hash)
{
    value->mod_revision = mod_revision;
    value->version = version;
    value->hash = hash;
    value->written_count = 0;
}

void hf_etcd_engine_own_value_begin(struct hf_etcd_engine_own_value *value,
                                    const struct hf_etcd_key_value *kv)
{
    take(value, kv->mod_revision, kv->version, hash_of(kv->value));
    value->revoked = kv->version > 1;
}

bool hf_etcd_engine_own_value_is(const struct hf_etcd_engine_own_value *value,
                                 struct hf_etcd_bytes bytes)
{
    return value->hash == hash_of(bytes);
}

/* Have we sent a put of a value with this ${hash} since the last known put?
 * Only the last HF_ETCD_WRITTEN_MAX such values are remembered. */
static bool was_sent(const struct hf_etcd_engine_own_value *value,
                     uint64_t hash)
{
    for (size_t i = 0; i < value->written_count && i < HF_ETCD_WRITTEN_MAX; i++)
        if (value->written[i] == hash)
            return true;
    return false;
}

void hf_etcd_engine_own_value_writes(struct hf_etcd_engine_own_value *value,
                                     struct hf_etcd_bytes bytes)
{
    uint64_t hash = hash_of(bytes);

    assert(hash != value->hash);
    if (!was_sent(value, hash))
        value->written[value->written_count++ % HF_ETCD_WRITTEN_MAX] = hash;
}

/* If an event has already shown this put, or a later one, nothing changes. */
void hf_etcd_engine_own_value_wrote(struct hf_etcd_engine_own_value *value,
                                    struct hf_etcd_bytes bytes,
                                    int64_t revision)
{
    if (revision > value->mod_revision)
        take(value, revision, value->version + 1, hash_of(bytes));
}

bool hf_etcd_engine_own_value_was_put(struct hf_etcd_engine_own_value *value,
                                      const struct hf_etcd_key_value *kv)
{
    uint64_t hash = hash_of(kv->value);
    int64_t puts = kv->version - value->version;
    int64_t ours = was_sent(value, hash) ? 1 : 0;

    if (kv->mod_revision <= value->mod_revision)
        return false;
    take(value, kv->mod_revision, kv->version, hash);
    if (puts == ours)
        return false;
    value->revoked = true;
    return true;
}
