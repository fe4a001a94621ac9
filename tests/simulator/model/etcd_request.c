/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the fields are those of rpc.proto of etcd 3.4. */
#include "simulator/model/etcd_request.h"

#include "simulator/model/sim_internal.h"

/* ---------------------------------------------------------------- ranges -- */

static void range_field(struct etcd_range *range,
                        const struct etcd_field *field)
{
    int64_t value = (int64_t)field->value;

    switch (field->number) {
    case 1:
        range->key = field->bytes;
        break;
    case 2:
        range->end = field->bytes;
        break;
    case 3:
        range->limit = value;
        break;
    case 4:
        range->revision = value;
        break;
    case 5:
        range->order = (enum etcd_sort_order)value;
        break;
    case 6:
        range->target = (enum etcd_sort_target)value;
        break;
    case 7:
        range->serializable = value != 0;
        break;
    case 8:
        range->keys_only = value != 0;
        break;
    case 9:
        range->count_only = value != 0;
        break;
    case 10:
        range->min_mod = value;
        break;
    case 11:
        range->max_mod = value;
        break;
    case 12:
        range->min_create = value;
        break;
    case 13:
        range->max_create = value;
        break;
    default:
        break;
    }
}

bool etcd_read_range(struct etcd_bytes message, struct etcd_range *range)
{
    bool empty = message.count == 0;
    struct etcd_field field;

    *range = (struct etcd_range){0};
    while (etcd_next_field(&message, &field))
        range_field(range, &field);
    return !empty && message.at != NULL && range->key.count > 0;
}

/* ---------------------------------------------------------------- writes -- */

bool etcd_read_put(struct etcd_bytes message, struct etcd_put *put)
{
    struct etcd_field field;

    *put = (struct etcd_put){0};
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            put->key = field.bytes;
        else if (field.number == 2)
            put->value = field.bytes;
        else if (field.number == 3)
            put->lease = (int64_t)field.value;
        else if (field.number == 4)
            put->previous = field.value != 0;
        else if (field.number == 5)
            put->ignore_value = field.value != 0;
        else if (field.number == 6)
            put->ignore_lease = field.value != 0;
    }
    return put->key.count > 0;
}

bool etcd_read_delete(struct etcd_bytes message, struct etcd_delete *deletion)
{
    struct etcd_field field;

    *deletion = (struct etcd_delete){0};
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            deletion->key = field.bytes;
        else if (field.number == 2)
            deletion->end = field.bytes;
        else if (field.number == 3)
            deletion->previous = field.value != 0;
    }
    return deletion->key.count > 0;
}

/* ---------------------------------------------------------- transactions -- */

static bool read_compare(struct etcd_bytes message,
                         struct etcd_compare *compare)
{
    struct etcd_field field;

    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            compare->result = (enum etcd_compare_result)field.value;
        else if (field.number == 2)
            compare->target = (enum etcd_compare_target)field.value;
        else if (field.number == 3)
            compare->key = field.bytes;
        else if (field.number == 64)
            compare->end = field.bytes;
        else if (field.is_bytes)
            compare->value = field.bytes;
        else
            compare->number = (int64_t)field.value;
    }
    return compare->key.count > 0;
}

static bool read_op(struct hf_sim *sim, struct etcd_bytes message,
                    struct etcd_op *op)
{
    struct etcd_field field;

    if (!etcd_next_field(&message, &field) || !field.is_bytes)
        return false;
    switch (field.number) {
    case 1:
        op->kind = ETCD_OP_RANGE;
        return etcd_read_range(field.bytes, &op->range);
    case 2:
        op->kind = ETCD_OP_PUT;
        return etcd_read_put(field.bytes, &op->put);
    case 3:
        op->kind = ETCD_OP_DELETE;
        return etcd_read_delete(field.bytes, &op->deletion);
    case 4:
        op->kind = ETCD_OP_TXN;
        op->txn = sim_alloc(sim, sizeof *op->txn);
        return etcd_read_txn(sim, field.bytes, op->txn);
    default:
        return false;
    }
}

static struct etcd_op *append_op(struct hf_sim *sim, struct etcd_op **end)
{
    while (*end != NULL)
        end = &(*end)->next;
    *end = sim_alloc(sim, sizeof **end);
    return *end;
}

static struct etcd_compare *append_compare(struct hf_sim *sim,
                                           struct etcd_compare **end)
{
    while (*end != NULL)
        end = &(*end)->next;
    *end = sim_alloc(sim, sizeof **end);
    return *end;
}

/* Transactions in transactions are few, so the depth is small. */
bool etcd_read_txn(struct hf_sim *sim, struct etcd_bytes message,
                   struct etcd_txn *txn)
{
    struct etcd_field field;
    bool valid = true;

    *txn = (struct etcd_txn){0};
    while (valid && etcd_next_field(&message, &field)) {
        if (field.number == 1)
            valid =
                read_compare(field.bytes, append_compare(sim, &txn->compares));
        else if (field.number == 2)
            valid = read_op(sim, field.bytes, append_op(sim, &txn->success));
        else if (field.number == 3)
            valid = read_op(sim, field.bytes, append_op(sim, &txn->failure));
    }
    return valid;
}

static bool has_op(const struct etcd_op *op, bool deletions)
{
    for (; op != NULL; op = op->next) {
        if (op->kind == ETCD_OP_PUT ||
            (deletions && op->kind == ETCD_OP_DELETE))
            return true;
        if (op->kind == ETCD_OP_TXN &&
            (deletions ? etcd_txn_writes(op->txn) : etcd_txn_puts(op->txn)))
            return true;
    }
    return false;
}

bool etcd_txn_puts(const struct etcd_txn *txn)
{
    return has_op(txn->success, false) || has_op(txn->failure, false);
}

bool etcd_txn_writes(const struct etcd_txn *txn)
{
    return has_op(txn->success, true) || has_op(txn->failure, true);
}

size_t etcd_txn_operations(const struct etcd_txn *txn)
{
    size_t success = 0, failure = 0;

    for (const struct etcd_op *op = txn->success; op != NULL; op = op->next)
        success++;
    for (const struct etcd_op *op = txn->failure; op != NULL; op = op->next)
        failure++;
    return success > failure ? success : failure;
}

/* ---------------------------------------------------------------- others -- */

bool etcd_read_watch_create(struct etcd_bytes message,
                            struct etcd_watch_create *create)
{
    struct etcd_field field;

    *create = (struct etcd_watch_create){0};
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            create->key = field.bytes;
        else if (field.number == 2)
            create->end = field.bytes;
        else if (field.number == 3)
            create->start = (int64_t)field.value;
        else if (field.number == 6)
            create->previous = field.value != 0;
        else if (field.number == 7)
            create->id = (int64_t)field.value;
    }
    return create->key.count > 0;
}

bool etcd_read_pair(struct etcd_bytes message, struct etcd_pair *pair)
{
    bool empty = message.count == 0;
    struct etcd_field field;

    *pair = (struct etcd_pair){0};
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            pair->first = (int64_t)field.value;
        else if (field.number == 2)
            pair->second = (int64_t)field.value;
    }
    return empty || message.at != NULL;
}

bool etcd_read_credentials(struct etcd_bytes message,
                           struct etcd_credentials *credentials)
{
    struct etcd_field field;

    *credentials = (struct etcd_credentials){0};
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            credentials->name = field.bytes;
        else if (field.number == 2)
            credentials->password = field.bytes;
    }
    return credentials->name.count > 0;
}
