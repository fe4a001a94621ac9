/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests.  The numbers of the fields are those of etcd's rpc.proto. */
#include <assert.h>
#include <string.h>

#include "etcd/message.h"

/* Fields of TxnRequest and of RequestOp. */
enum { TXN_COMPARE = 1 };
enum { OP_RANGE = 1, OP_PUT = 2, OP_DELETE_RANGE = 3 };

/* WatchRequest. */
enum { WATCH_CREATE = 1, WATCH_CANCEL = 2 };

/* ------------------------------------------------------------ operations -- */

void hf_etcd_write_range(struct hf_etcd_buffer *request,
                         const struct hf_etcd_range *range)
{
    hf_etcd_put_bytes(request, 1, range->key);
    hf_etcd_put_bytes(request, 2, range->range_end);
    hf_etcd_put_signed(request, 3, range->limit);
    hf_etcd_put_signed(request, 4, range->revision);
    hf_etcd_put_signed(request, 5, range->order);
    hf_etcd_put_signed(request, 6, range->target);
    hf_etcd_put_bool(request, 7, range->serializable);
    hf_etcd_put_bool(request, 8, range->keys_only);
    hf_etcd_put_bool(request, 9, range->count_only);
    hf_etcd_put_signed(request, 12, range->min_create_revision);
    hf_etcd_put_signed(request, 13, range->max_create_revision);
}

void hf_etcd_write_put(struct hf_etcd_buffer *request,
                       const struct hf_etcd_put *put)
{
    assert(put->lease == 0 || !put->ignore_lease);
    request->writes = true;
    hf_etcd_put_bytes(request, 1, put->key);
    hf_etcd_put_bytes(request, 2, put->value);
    hf_etcd_put_signed(request, 3, put->lease);
    hf_etcd_put_bool(request, 5, put->ignore_value);
    hf_etcd_put_bool(request, 6, put->ignore_lease);
}

void hf_etcd_write_delete(struct hf_etcd_buffer *request,
                          const struct hf_etcd_delete *deletion)
{
    request->writes = true;
    hf_etcd_put_bytes(request, 1, deletion->key);
    hf_etcd_put_bytes(request, 2, deletion->range_end);
    hf_etcd_put_bool(request, 3, deletion->prev_kv);
}

/* --------------------------------------------------------- a transaction -- */

/* The number is written even if it is 0, because the field is part of a oneof.
 * Servers take a missing number for 0, but nothing says that they must. */
void hf_etcd_txn_compare(struct hf_etcd_buffer *request,
                         const struct hf_etcd_comparison *comparison)
{
    static const unsigned numbers[] = {[HF_ETCD_VERSION] = 4,
                                       [HF_ETCD_CREATE_REVISION] = 5,
                                       [HF_ETCD_MOD_REVISION] = 6,
                                       [HF_ETCD_VALUE] = 7,
                                       [HF_ETCD_LEASE] = 8};
    size_t begin = hf_etcd_put_begin(request, TXN_COMPARE);

    hf_etcd_put_signed(request, 1, comparison->result);
    hf_etcd_put_signed(request, 2, comparison->target);
    hf_etcd_put_bytes(request, 3, comparison->key);
    if (comparison->target == HF_ETCD_VALUE)
        hf_etcd_put_bytes(request, numbers[HF_ETCD_VALUE], comparison->value);
    else
        hf_etcd_put_signed_always(request, numbers[comparison->target],
                                  comparison->number);
    hf_etcd_put_bytes(request, 64, comparison->range_end);
    hf_etcd_put_end(request, begin);
}

void hf_etcd_txn_range(struct hf_etcd_buffer *request,
                       enum hf_etcd_branch branch,
                       const struct hf_etcd_range *range)
{
    size_t operation = hf_etcd_put_begin(request, branch);
    size_t begin = hf_etcd_put_begin(request, OP_RANGE);

    hf_etcd_write_range(request, range);
    hf_etcd_put_end(request, begin);
    hf_etcd_put_end(request, operation);
}

void hf_etcd_txn_put(struct hf_etcd_buffer *request, enum hf_etcd_branch branch,
                     const struct hf_etcd_put *put)
{
    size_t operation = hf_etcd_put_begin(request, branch);
    size_t begin = hf_etcd_put_begin(request, OP_PUT);

    hf_etcd_write_put(request, put);
    hf_etcd_put_end(request, begin);
    hf_etcd_put_end(request, operation);
}

void hf_etcd_txn_delete(struct hf_etcd_buffer *request,
                        enum hf_etcd_branch branch,
                        const struct hf_etcd_delete *deletion)
{
    size_t operation = hf_etcd_put_begin(request, branch);
    size_t begin = hf_etcd_put_begin(request, OP_DELETE_RANGE);

    hf_etcd_write_delete(request, deletion);
    hf_etcd_put_end(request, begin);
    hf_etcd_put_end(request, operation);
}

/* ---------------------------------------------------------------- leases -- */

void hf_etcd_write_grant(struct hf_etcd_buffer *request, int64_t lease,
                         int64_t ttl_s)
{
    request->writes = true;
    hf_etcd_put_signed(request, 1, ttl_s);
    hf_etcd_put_signed(request, 2, lease);
}

void hf_etcd_write_revoke(struct hf_etcd_buffer *request, int64_t lease)
{
    request->writes = true;
    hf_etcd_put_signed(request, 1, lease);
}

void hf_etcd_write_keep_alive(struct hf_etcd_buffer *request, int64_t lease)
{
    hf_etcd_put_signed(request, 1, lease);
}

void hf_etcd_write_time_to_live(struct hf_etcd_buffer *request, int64_t lease,
                                bool keys)
{
    hf_etcd_put_signed(request, 1, lease);
    hf_etcd_put_bool(request, 2, keys);
}

/* --------------------------------------------------------------- watches -- */

void hf_etcd_write_watch_create(struct hf_etcd_buffer *request,
                                const struct hf_etcd_watch_create *create)
{
    size_t begin = hf_etcd_put_begin(request, WATCH_CREATE);

    hf_etcd_put_bytes(request, 1, create->key);
    hf_etcd_put_bytes(request, 2, create->range_end);
    hf_etcd_put_signed(request, 3, create->start_revision);
    hf_etcd_put_signed(request, 7, create->watch_id);
    hf_etcd_put_end(request, begin);
}

void hf_etcd_write_watch_cancel(struct hf_etcd_buffer *request,
                                int64_t watch_id)
{
    size_t begin = hf_etcd_put_begin(request, WATCH_CANCEL);

    hf_etcd_put_signed(request, 1, watch_id);
    hf_etcd_put_end(request, begin);
}

/* ---------------------------------------------------------------- others -- */

void hf_etcd_write_authenticate(struct hf_etcd_buffer *request,
                                const char *user, const char *password)
{
    hf_etcd_put_bytes(request, 1, hf_etcd_bytes_of(user));
    hf_etcd_put_bytes(request, 2, hf_etcd_bytes_of(password));
}

/* The action GET and the type NONE are 0, so nothing is written. */
void hf_etcd_write_alarm_get(struct hf_etcd_buffer *request)
{
    (void)request;
}

/* ------------------------------------------------------------------ keys -- */

struct hf_etcd_bytes hf_etcd_prefix_end(struct hf_etcd_bytes prefix, void *end)
{
    static const char no_end[] = "";
    const unsigned char *from = prefix.bytes;
    unsigned char *to = end;
    size_t count = prefix.count;

    while (count > 0 && from[count - 1] == 0xff)
        count--;
    if (count == 0)
        return (struct hf_etcd_bytes){no_end, 1};
    memcpy(to, from, count);
    to[count - 1]++;
    return (struct hf_etcd_bytes){to, count};
}
