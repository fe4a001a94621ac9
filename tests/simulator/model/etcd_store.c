/* SPDX-License-Identifier: Apache-2.0 */
/* The rules are those of mvcc/kvstore_txn.go and etcdserver/apply.go of etcd
 * 3.4.  Nothing is freed before the run ends, so every version is there still
 * for watches that start late. */
#include "simulator/model/etcd_store.h"

#include <stdlib.h>
#include <string.h>

#include "grpc/grpc.h"
#include "simulator/model/sim_internal.h"

#define TXN_OPERATIONS_MAX 128 /* --max-txn-ops */

const struct etcd_error_row etcd_errors[ETCD_ERRORS] = {
    [ETCD_DONE] = {HF_GRPC_OK, ""},
    [ETCD_LEASE_NOT_FOUND] = {HF_GRPC_NOT_FOUND,
                              "etcdserver: requested lease not found"},
    [ETCD_LEASE_EXISTS] = {HF_GRPC_FAILED_PRECONDITION,
                           "etcdserver: lease already exists"},
    [ETCD_LEASE_TOO_LONG] = {HF_GRPC_OUT_OF_RANGE,
                             "etcdserver: too large lease TTL"},
    [ETCD_KEY_NOT_FOUND] = {HF_GRPC_INVALID_ARGUMENT,
                            "etcdserver: key not found"},
    [ETCD_KEY_TWICE] = {HF_GRPC_INVALID_ARGUMENT,
                        "etcdserver: duplicate key given in txn request"},
    [ETCD_TOO_MANY_OPERATIONS] =
        {HF_GRPC_INVALID_ARGUMENT,
         "etcdserver: too many operations in txn request"},
    [ETCD_COMPACTED] = {HF_GRPC_OUT_OF_RANGE,
                        "etcdserver: mvcc: required revision has been "
                        "compacted"},
    [ETCD_FUTURE_REVISION] = {HF_GRPC_OUT_OF_RANGE,
                              "etcdserver: mvcc: required revision is a future "
                              "revision"},
    [ETCD_NO_SPACE] = {HF_GRPC_RESOURCE_EXHAUSTED,
                       "etcdserver: mvcc: database space exceeded"},
    [ETCD_NO_LEADER] = {HF_GRPC_UNAVAILABLE, "etcdserver: no leader"},
    [ETCD_TOO_MANY_REQUESTS] = {HF_GRPC_RESOURCE_EXHAUSTED,
                                "etcdserver: too many requests"},
    [ETCD_TIMED_OUT] = {HF_GRPC_UNAVAILABLE, "etcdserver: request timed out"},
    [ETCD_STOPPED] = {HF_GRPC_UNAVAILABLE, "etcdserver: server stopped"},
    [ETCD_DENIED] = {HF_GRPC_PERMISSION_DENIED,
                     "etcdserver: permission denied"},
    [ETCD_WRONG_PASSWORD] = {HF_GRPC_INVALID_ARGUMENT,
                             "etcdserver: authentication failed, invalid user "
                             "ID or password"},
    [ETCD_NO_TOKEN] = {HF_GRPC_INVALID_ARGUMENT,
                       "etcdserver: user name is empty"},
    [ETCD_OLD_TOKEN] = {HF_GRPC_UNAUTHENTICATED,
                        "etcdserver: invalid auth token"},
    [ETCD_OLD_AUTH_REVISION] = {HF_GRPC_INVALID_ARGUMENT,
                                "etcdserver: revision of auth store is old"},
    [ETCD_AUTH_OFF] = {HF_GRPC_FAILED_PRECONDITION,
                       "etcdserver: authentication is not enabled"},
    [ETCD_MALFORMED] = {HF_GRPC_INTERNAL, "grpc: error unmarshalling request"},
    [ETCD_UNKNOWN_METHOD] = {HF_GRPC_UNIMPLEMENTED, "unknown method"},
};

void etcd_store_init(struct etcd_store *store, struct hf_sim *sim)
{
    memset(store, 0, sizeof *store);
    store->sim = sim;
    store->revision = 1;
    store->view = ETCD_LATEST;
}

void etcd_store_free(struct etcd_store *store)
{
    free(store->changes);
}

/* ------------------------------------------------------------------ keys -- */

bool etcd_in_range(struct etcd_bytes key, struct etcd_bytes first,
                   struct etcd_bytes end)
{
    if (end.count == 0)
        return etcd_bytes_equal(key, first);
    if (etcd_bytes_compare(key, first) < 0)
        return false;
    return (end.count == 1 && end.at[0] == 0) ||
           etcd_bytes_compare(key, end) < 0;
}

static const struct etcd_version *version_at(const struct etcd_key *key,
                                             int64_t revision)
{
    const struct etcd_version *version = key->latest;

    while (version != NULL && version->mod > revision)
        version = version->previous;
    return version == NULL || version->deleted ? NULL : version;
}

static struct etcd_key **find(const struct etcd_store *store,
                              struct etcd_bytes name)
{
    struct etcd_key *const *at = &store->keys;

    while (*at != NULL && etcd_bytes_compare((*at)->name, name) < 0)
        at = &(*at)->next;
    return (struct etcd_key **)at;
}

const struct etcd_version *etcd_store_get(const struct etcd_store *store,
                                          struct etcd_bytes key,
                                          int64_t revision)
{
    const struct etcd_key *found = *find(store, key);

    return found != NULL && etcd_bytes_equal(found->name, key)
               ? version_at(found, revision)
               : NULL;
}

static struct etcd_bytes copy(struct hf_sim *sim, struct etcd_bytes bytes)
{
    uint8_t *at = sim_alloc(sim, bytes.count + 1);

    if (bytes.count > 0)
        memcpy(at, bytes.at, bytes.count);
    return (struct etcd_bytes){at, bytes.count};
}

static struct etcd_key *make_key(struct etcd_store *store,
                                 struct etcd_bytes name)
{
    struct etcd_key **at = find(store, name);
    struct etcd_key *key = *at;

    if (key != NULL && etcd_bytes_equal(key->name, name))
        return key;
    key = sim_alloc(store->sim, sizeof *key);
    key->name = copy(store->sim, name);
    key->next = *at;
    *at = key;
    return key;
}

/* ---------------------------------------------------------------- ranges -- */

void etcd_put_key_value(struct etcd_writer *out, uint32_t number,
                        const struct etcd_version *version, bool keys_only)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, version->key->name);
    etcd_put_integer(&message, 2, (uint64_t)version->create);
    etcd_put_integer(&message, 3, (uint64_t)version->mod);
    etcd_put_integer(&message, 4, (uint64_t)version->version);
    if (!keys_only)
        etcd_put_bytes(&message, 5, version->value);
    etcd_put_integer(&message, 6, (uint64_t)version->lease);
    etcd_put_message(out, number, &message);
    etcd_writer_free(&message);
}

/* Set by sort() for the functions of qsort(). */
static enum etcd_sort_target sorted_by;

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int ascending(const void *left, const void *right)
{
    const struct etcd_version *a = *(const struct etcd_version *const *)left;
    const struct etcd_version *b = *(const struct etcd_version *const *)right;

    switch (sorted_by) {
    case ETCD_BY_VERSION:
        return compare_numbers(a->version, b->version);
    case ETCD_BY_CREATE:
        return compare_numbers(a->create, b->create);
    case ETCD_BY_MOD:
        return compare_numbers(a->mod, b->mod);
    case ETCD_BY_VALUE:
        return etcd_bytes_compare(a->value, b->value);
    default:
        return etcd_bytes_compare(a->key->name, b->key->name);
    }
}

static int descending(const void *left, const void *right)
{
    return ascending(right, left);
}

static bool fits(const struct etcd_version *v, const struct etcd_range *range)
{
    return (range->max_mod == 0 || v->mod <= range->max_mod) &&
           (range->min_mod == 0 || v->mod >= range->min_mod) &&
           (range->max_create == 0 || v->create <= range->max_create) &&
           (range->min_create == 0 || v->create >= range->min_create);
}

/* The versions that ${range} shows, in ${found}, which has room for all keys.
 * ${total}: of all keys between its ends. */
static size_t collect(const struct etcd_store *store,
                      const struct etcd_range *range, int64_t revision,
                      const struct etcd_version **found, size_t *total)
{
    size_t count = 0;

    *total = 0;
    for (const struct etcd_key *k = *find(store, range->key); k != NULL;
         k = k->next) {
        const struct etcd_version *version = version_at(k, revision);

        if (!etcd_in_range(k->name, range->key, range->end))
            break;
        if (version == NULL)
            continue;
        ++*total;
        if (fits(version, range))
            found[count++] = version;
    }
    sorted_by = range->target;
    if (range->order == ETCD_DESCEND)
        qsort((void *)found, count, sizeof(const void *), descending);
    else if (range->order == ETCD_ASCEND || range->target != ETCD_BY_KEY)
        qsort((void *)found, count, sizeof(const void *), ascending);
    return count;
}

static size_t key_count(const struct etcd_store *store)
{
    size_t count = 0;

    for (const struct etcd_key *k = store->keys; k != NULL; k = k->next)
        count++;
    return count;
}

void etcd_store_range(const struct etcd_store *store,
                      const struct etcd_range *range, int64_t revision,
                      struct etcd_writer *out)
{
    const struct etcd_version **found = sim_require_memory(
        calloc(key_count(store) + 1, sizeof(const struct etcd_version *)));
    size_t total;
    size_t count = collect(store, range, revision, found, &total);
    bool more = range->limit > 0 && count > (size_t)range->limit;

    if (more)
        count = (size_t)range->limit;
    for (size_t i = 0; i < count && !range->count_only; i++)
        etcd_put_key_value(out, 2, found[i], range->keys_only);
    etcd_put_integer(out, 3, more && !range->count_only);
    etcd_put_integer(out, 4, total);
    free(found);
}

/* ---------------------------------------------------------------- writes -- */

void etcd_store_begin(struct etcd_store *store)
{
    size_t next = (size_t)store->revision + 1;

    if (next >= store->change_room) {
        store->change_room = 2 * next + 64;
        store->changes = sim_require_memory(
            realloc(store->changes,
                    store->change_room * sizeof(struct etcd_version *)));
    }
    store->changes[next] = NULL;
    store->end = &store->changes[next];
}

/* A revision in which nothing was written is none. */
void etcd_store_end(struct etcd_store *store)
{
    if (store->changes[store->revision + 1] != NULL)
        store->revision++;
    store->end = NULL;
}

static struct etcd_version *add_version(struct etcd_store *store,
                                        struct etcd_key *key)
{
    struct etcd_version *version = sim_alloc(store->sim, sizeof *version);

    version->key = key;
    version->mod = store->revision + 1;
    version->previous = key->latest;
    key->latest = version;
    *store->end = version;
    store->end = &version->next;
    return version;
}

void etcd_store_delete_key(struct etcd_store *store, struct etcd_key *key)
{
    if (key->latest != NULL && !key->latest->deleted)
        add_version(store, key)->deleted = true;
}

void etcd_store_delete_of(struct etcd_store *store, int64_t lease)
{
    for (struct etcd_key *k = store->keys; k != NULL; k = k->next) {
        if (k->latest != NULL && k->latest->lease == lease)
            etcd_store_delete_key(store, k);
    }
}

static enum etcd_error check_put(const struct etcd_store *store,
                                 const struct etcd_put *put,
                                 etcd_lease_known *known, void *arg)
{
    if (store->no_space)
        return ETCD_NO_SPACE;
    if ((put->ignore_value || put->ignore_lease) &&
        etcd_store_get(store, put->key, ETCD_LATEST) == NULL)
        return ETCD_KEY_NOT_FOUND;
    return put->lease != 0 && !known(arg, put->lease) ? ETCD_LEASE_NOT_FOUND
                                                      : ETCD_DONE;
}

/* A put without the lease of the key takes it from there. */
static void put(struct etcd_store *store, const struct etcd_put *request,
                struct etcd_writer *out)
{
    struct etcd_key *key = make_key(store, request->key);
    const struct etcd_version *was = version_at(key, ETCD_LATEST);
    struct etcd_version *now = add_version(store, key);

    now->create = was == NULL ? now->mod : was->create;
    now->version = was == NULL ? 1 : was->version + 1;
    now->lease =
        was != NULL && request->ignore_lease ? was->lease : request->lease;
    now->value = was != NULL && request->ignore_value
                     ? was->value
                     : copy(store->sim, request->value);
    if (request->previous && was != NULL)
        etcd_put_key_value(out, 2, was, false);
}

static void delete_range(struct etcd_store *store,
                         const struct etcd_delete *request,
                         struct etcd_writer *out)
{
    uint64_t deleted = 0;

    for (struct etcd_key *k = *find(store, request->key); k != NULL;
         k = k->next) {
        const struct etcd_version *was = version_at(k, ETCD_LATEST);

        if (!etcd_in_range(k->name, request->key, request->end))
            break;
        if (was == NULL)
            continue;
        deleted++;
        etcd_store_delete_key(store, k);
        if (request->previous)
            etcd_put_key_value(out, 3, was, false);
    }
    etcd_put_integer(out, 2, deleted);
}

/* ---------------------------------------------------------- transactions -- */

static int compare_with(const struct etcd_compare *compare,
                        const struct etcd_version *version)
{
    static const struct etcd_version none;

    if (compare->target == ETCD_COMPARE_VALUE) /* of a key that is not there */
        return version == NULL                 /* every comparison fails */
                   ? 0
                   : etcd_bytes_compare(version->value, compare->value);
    if (version == NULL)
        version = &none;
    switch (compare->target) {
    case ETCD_COMPARE_VERSION:
        return compare_numbers(version->version, compare->number);
    case ETCD_COMPARE_CREATE:
        return compare_numbers(version->create, compare->number);
    case ETCD_COMPARE_MOD:
        return compare_numbers(version->mod, compare->number);
    default:
        return compare_numbers(version->lease, compare->number);
    }
}

static bool holds_for(const struct etcd_compare *compare,
                      const struct etcd_version *version)
{
    int order = compare_with(compare, version);

    if (version == NULL && compare->target == ETCD_COMPARE_VALUE)
        return false;
    switch (compare->result) {
    case ETCD_EQUAL:
        return order == 0;
    case ETCD_GREATER:
        return order > 0;
    case ETCD_LESS:
        return order < 0;
    default:
        return order != 0;
    }
}

/* It holds for every key of its range; a range without keys counts as one key
 * that is not there. */
static bool holds(const struct etcd_store *store,
                  const struct etcd_compare *compare)
{
    bool any = false;

    if (compare->end.count == 0)
        return holds_for(compare,
                         etcd_store_get(store, compare->key, store->view));
    for (const struct etcd_key *k = *find(store, compare->key); k != NULL;
         k = k->next) {
        const struct etcd_version *version = version_at(k, store->view);

        if (!etcd_in_range(k->name, compare->key, compare->end))
            break;
        if (version != NULL && !holds_for(compare, version))
            return false;
        any |= version != NULL;
    }
    return any || holds_for(compare, NULL);
}

static bool succeeds(const struct etcd_store *store, const struct etcd_txn *txn)
{
    for (const struct etcd_compare *c = txn->compares; c != NULL; c = c->next) {
        if (!holds(store, c))
            return false;
    }
    return true;
}

/* The branches are chosen and checked before anything is written. */
static enum etcd_error check_ops(const struct etcd_store *store,
                                 const struct etcd_txn *txn,
                                 etcd_lease_known *known, void *arg)
{
    const struct etcd_op *op =
        succeeds(store, txn) ? txn->success : txn->failure;

    for (; op != NULL; op = op->next) {
        enum etcd_error error = ETCD_DONE;

        if (op->kind == ETCD_OP_PUT)
            error = check_put(store, &op->put, known, arg);
        else if (op->kind == ETCD_OP_TXN)
            error = check_ops(store, op->txn, known, arg);
        if (error != ETCD_DONE)
            return error;
    }
    return ETCD_DONE;
}

static void carry_out_txn(struct etcd_store *store, const struct etcd_txn *txn,
                          bool success, struct etcd_writer *out);

/* ${out}: the fields of the answer to the operation. */
static void carry_out(struct etcd_store *store, const struct etcd_op *op,
                      struct etcd_writer *out)
{
    switch (op->kind) {
    case ETCD_OP_RANGE:
        etcd_store_range(store, &op->range, store->view, out);
        break;
    case ETCD_OP_PUT:
        put(store, &op->put, out);
        break;
    case ETCD_OP_DELETE:
        delete_range(store, &op->deletion, out);
        break;
    case ETCD_OP_TXN:
        carry_out_txn(store, op->txn, succeeds(store, op->txn), out);
    }
}

/* The fields of a ResponseOp have the numbers of a RequestOp. */
static void carry_out_txn(struct etcd_store *store, const struct etcd_txn *txn,
                          bool success, struct etcd_writer *out)
{
    etcd_put_integer(out, 2, success);
    for (const struct etcd_op *op = success ? txn->success : txn->failure;
         op != NULL; op = op->next) {
        struct etcd_writer answer = {0}, response = {0};

        carry_out(store, op, &answer);
        etcd_put_message(&response, 1 + (uint32_t)op->kind, &answer);
        etcd_put_message(out, 3, &response);
        etcd_writer_free(&answer);
        etcd_writer_free(&response);
    }
}

enum etcd_error etcd_store_txn(struct etcd_store *store,
                               const struct etcd_txn *txn,
                               etcd_lease_known *known, void *arg,
                               struct etcd_writer *out)
{
    enum etcd_error error = check_ops(store, txn, known, arg);

    /* With the alarm every transaction that could write is refused. */
    if (store->no_space && etcd_txn_puts(txn))
        error = ETCD_NO_SPACE;
    if (error == ETCD_DONE)
        carry_out_txn(store, txn, succeeds(store, txn), out);
    return error;
}

enum etcd_error etcd_store_op(struct etcd_store *store,
                              const struct etcd_op *op, etcd_lease_known *known,
                              void *arg, struct etcd_writer *out)
{
    enum etcd_error error = op->kind == ETCD_OP_PUT
                                ? check_put(store, &op->put, known, arg)
                                : ETCD_DONE;

    if (error == ETCD_DONE)
        carry_out(store, op, out);
    return error;
}

/* ------------------------------------------------ checks of transactions -- */

static bool touches(const struct etcd_op *op, struct etcd_bytes key)
{
    return (op->kind == ETCD_OP_PUT && etcd_bytes_equal(op->put.key, key)) ||
           (op->kind == ETCD_OP_DELETE &&
            etcd_in_range(key, op->deletion.key, op->deletion.end));
}

/* No key may be put twice in a branch, nor put and deleted. */
static bool has_key_twice(const struct etcd_op *ops)
{
    for (const struct etcd_op *op = ops; op != NULL; op = op->next) {
        if (op->kind != ETCD_OP_PUT)
            continue;
        for (const struct etcd_op *other = ops; other != NULL;
             other = other->next) {
            if (other != op && touches(other, op->put.key))
                return true;
        }
    }
    return false;
}

enum etcd_error etcd_txn_check(const struct etcd_txn *txn)
{
    if (etcd_txn_operations(txn) > TXN_OPERATIONS_MAX)
        return ETCD_TOO_MANY_OPERATIONS;
    return has_key_twice(txn->success) || has_key_twice(txn->failure)
               ? ETCD_KEY_TWICE
               : ETCD_DONE;
}
