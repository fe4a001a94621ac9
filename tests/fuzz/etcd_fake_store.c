/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_fake_store.h"

#include <string.h>

#include "fuzz.h"

/* ------------------------------------------------------------------ keys -- */

void store_init(struct etcd_fake_store *store)
{
    memset(store, 0, sizeof *store);
    store->revision = 1;
    store->term = 2;
    store->ttl_s = 4;
}

static struct hf_etcd_bytes bytes_of(const struct store_text *text)
{
    return (struct hf_etcd_bytes){text->bytes, text->count};
}

static bool set(struct store_text *text, struct hf_etcd_bytes bytes)
{
    if (bytes.count > sizeof text->bytes)
        return false;
    if (bytes.count > 0)
        memcpy(text->bytes, bytes.bytes, bytes.count);
    text->count = bytes.count;
    return true;
}

static int compare(struct hf_etcd_bytes a, struct hf_etcd_bytes b)
{
    size_t common = a.count < b.count ? a.count : b.count;
    int order = common > 0 ? memcmp(a.bytes, b.bytes, common) : 0;

    if (order != 0)
        return order;
    return (a.count > b.count) - (a.count < b.count);
}

bool store_in_range(const struct store_text *key, struct hf_etcd_bytes first,
                    struct hf_etcd_bytes end)
{
    bool open_end = end.count == 1 && *(const char *)end.bytes == '\0';

    if (key->count == 0)
        return false;
    if (end.count == 0)
        return compare(bytes_of(key), first) == 0;
    return compare(bytes_of(key), first) >= 0 &&
           (open_end || compare(bytes_of(key), end) < 0);
}

static struct store_key *find(struct etcd_fake_store *store,
                              struct hf_etcd_bytes key)
{
    for (size_t i = 0; i < STORE_KEYS; i++) {
        if (store->keys[i].key.count > 0 &&
            compare(bytes_of(&store->keys[i].key), key) == 0)
            return &store->keys[i];
    }
    return NULL;
}

static void remember(struct etcd_fake_store *store, const struct store_key *key,
                     bool deleted)
{
    struct store_event *event =
        &store->events[store->event_count++ % STORE_EVENTS];

    event->deleted = deleted;
    event->kv = *key;
    event->kv.mod = store->revision;
}

static void remove_key(struct etcd_fake_store *store, struct store_key *key)
{
    remember(store, key, true);
    key->key.count = 0;
}

void store_delete(struct etcd_fake_store *store, size_t index)
{
    if (store->keys[index].key.count == 0)
        return;
    store->revision++;
    remove_key(store, &store->keys[index]);
}

void store_touch(struct etcd_fake_store *store, size_t index)
{
    struct store_key *key = &store->keys[index];

    if (key->key.count == 0)
        return;
    key->mod = ++store->revision;
    key->version++;
    remember(store, key, false);
}

void store_expire(struct etcd_fake_store *store)
{
    store->revision++;
    for (size_t i = 0; i < STORE_KEYS; i++) {
        if (store->keys[i].key.count > 0 && store->keys[i].lease != 0)
            remove_key(store, &store->keys[i]);
    }
}

/* ------------------------------------------------------------ operations -- */

/* The fields of a request that several have. */
struct fields {
    struct hf_etcd_bytes bytes[8];
    uint64_t numbers[16];
};

static bool read_fields(struct hf_etcd_bytes message, struct fields *fields)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_field field;

    *fields = (struct fields){0};
    while (hf_etcd_reader_next(&reader, &field)) {
        if (field.is_number && field.number < 16)
            fields->numbers[field.number] = field.value;
        else if (!field.is_number && field.number < 8)
            fields->bytes[field.number] = field.bytes;
    }
    return !reader.failed;
}

static void put_kv(struct hf_etcd_buffer *answer, unsigned number,
                   const struct store_key *key, bool keys_only)
{
    size_t begin = hf_etcd_put_begin(answer, number);

    hf_etcd_put_bytes(answer, 1, bytes_of(&key->key));
    hf_etcd_put_signed(answer, 2, key->create);
    hf_etcd_put_signed(answer, 3, key->mod);
    hf_etcd_put_signed(answer, 4, key->version);
    if (!keys_only)
        hf_etcd_put_bytes(answer, 5, bytes_of(&key->value));
    hf_etcd_put_signed(answer, 6, key->lease);
    hf_etcd_put_end(answer, begin);
}

/* Is ${a} in front of ${b} in the order that the range asks for? */
static bool precedes(const struct fields *range, const struct store_key *a,
                     const struct store_key *b)
{
    bool by_create = range->numbers[6] == HF_ETCD_BY_CREATE_REVISION;
    int order = by_create ? (a->create > b->create) - (a->create < b->create)
                          : compare(bytes_of(&a->key), bytes_of(&b->key));

    return range->numbers[5] == HF_ETCD_DESCENDING ? order > 0 : order < 0;
}

static bool is_wanted(const struct fields *range, const struct store_key *key)
{
    uint64_t least = range->numbers[12];
    uint64_t most = range->numbers[13];

    return store_in_range(&key->key, range->bytes[1], range->bytes[2]) &&
           (least == 0 || (uint64_t)key->create >= least) &&
           (most == 0 || (uint64_t)key->create <= most);
}

static void carry_out_range(const struct etcd_fake_store *store,
                            const struct fields *range,
                            struct hf_etcd_buffer *answer)
{
    const struct store_key *found[STORE_KEYS];
    size_t count = 0;
    size_t limit;

    for (size_t i = 0; i < STORE_KEYS; i++) {
        size_t at = count;

        if (!is_wanted(range, &store->keys[i]))
            continue;
        while (at > 0 && precedes(range, &store->keys[i], found[at - 1])) {
            found[at] = found[at - 1];
            at--;
        }
        found[at] = &store->keys[i];
        count++;
    }
    limit = range->numbers[3] == 0 || range->numbers[3] > count
                ? count
                : (size_t)range->numbers[3];
    for (size_t i = 0; i < limit && range->numbers[9] == 0; i++)
        put_kv(answer, 2, found[i], range->numbers[8] != 0);
    hf_etcd_put_bool(answer, 3, limit < count);
    hf_etcd_put_signed(answer, 4, (int64_t)count);
}

static bool carry_out_put(struct etcd_fake_store *store,
                          const struct fields *put)
{
    struct store_key *key = find(store, put->bytes[1]);
    bool is_new = key == NULL;

    for (size_t i = 0; i < STORE_KEYS && key == NULL; i++) {
        if (store->keys[i].key.count == 0)
            key = &store->keys[i];
    }
    if (key == NULL || (is_new && (put->numbers[5] || put->numbers[6])))
        return false;
    if (!set(&key->key, put->bytes[1]) ||
        (!put->numbers[5] && !set(&key->value, put->bytes[2])))
        return false;
    if (is_new)
        key->create = store->revision;
    key->version = is_new ? 1 : key->version + 1;
    key->mod = store->revision;
    if (!put->numbers[6])
        key->lease = (int64_t)put->numbers[3];
    remember(store, key, false);
    return true;
}

static int64_t carry_out_delete(struct etcd_fake_store *store,
                                const struct fields *deletion)
{
    int64_t deleted = 0;

    for (size_t i = 0; i < STORE_KEYS; i++) {
        if (!store_in_range(&store->keys[i].key, deletion->bytes[1],
                            deletion->bytes[2]))
            continue;
        remove_key(store, &store->keys[i]);
        deleted++;
    }
    return deleted;
}

/* ---------------------------------------------------------- transactions -- */

static bool holds(struct etcd_fake_store *store, struct hf_etcd_bytes message)
{
    struct store_key none = {0};
    struct store_key *key;
    struct fields fields;
    int64_t has;
    int64_t wanted;

    if (!read_fields(message, &fields))
        return false;
    if ((key = find(store, fields.bytes[3])) == NULL)
        key = &none;
    has = fields.numbers[2] == HF_ETCD_CREATE_REVISION ? key->create
          : fields.numbers[2] == HF_ETCD_MOD_REVISION  ? key->mod
          : fields.numbers[2] == HF_ETCD_LEASE         ? key->lease
                                                       : key->version;
    wanted =
        (int64_t)(fields.numbers[2] == HF_ETCD_CREATE_REVISION
                      ? fields.numbers[5]
                  : fields.numbers[2] == HF_ETCD_MOD_REVISION
                      ? fields.numbers[6]
                  : fields.numbers[2] == HF_ETCD_LEASE ? fields.numbers[8]
                                                       : fields.numbers[4]);
    switch (fields.numbers[1]) {
    case HF_ETCD_EQUAL:
        return has == wanted;
    case HF_ETCD_GREATER:
        return has > wanted;
    case HF_ETCD_LESS:
        return has < wanted;
    default:
        return has != wanted;
    }
}

/* One operation, whose answer is appended. */
static bool carry_out_operation(struct etcd_fake_store *store,
                                struct hf_etcd_bytes message,
                                struct hf_etcd_buffer *answer)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_field operation;
    struct fields fields;
    size_t response = hf_etcd_put_begin(answer, 3);
    size_t begin;
    bool done = true;

    if (!hf_etcd_reader_next(&reader, &operation) || operation.is_number ||
        !read_fields(operation.bytes, &fields))
        return false;
    begin = hf_etcd_put_begin(answer, operation.number);
    if (operation.number == HF_ETCD_RANGE_RESPONSE)
        carry_out_range(store, &fields, answer);
    else if (operation.number == HF_ETCD_PUT_RESPONSE)
        done = carry_out_put(store, &fields);
    else
        hf_etcd_put_signed(answer, 2, carry_out_delete(store, &fields));
    hf_etcd_put_end(answer, begin);
    hf_etcd_put_end(answer, response);
    return done;
}

/* The operations see each other's changes, in their order.  A transaction that
 * changes nothing makes no revision. */
static bool carry_out_txn(struct etcd_fake_store *store,
                          struct hf_etcd_bytes message,
                          struct hf_etcd_buffer *answer)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_buffer responses = {0};
    struct hf_etcd_field field;
    size_t before = store->event_count;
    bool succeeded = true;
    bool done = true;

    while (hf_etcd_reader_next(&reader, &field)) {
        if (field.number == 1 && !field.is_number)
            succeeded = holds(store, field.bytes) && succeeded;
    }
    store->revision++;
    reader = hf_etcd_reader_of(message);
    while (done && hf_etcd_reader_next(&reader, &field)) {
        if (!field.is_number &&
            field.number == (succeeded ? (unsigned)HF_ETCD_SUCCESS
                                       : (unsigned)HF_ETCD_FAILURE))
            done = carry_out_operation(store, field.bytes, &responses);
    }
    if (store->event_count == before)
        store->revision--;
    store_header(store, answer);
    hf_etcd_put_bool(answer, 2, succeeded);
    hf_etcd_put_raw(answer, responses.bytes, responses.used);
    hf_etcd_buffer_free(&responses);
    return done && !reader.failed;
}

/* --------------------------------------------------------------- methods -- */

void store_header(const struct etcd_fake_store *store,
                  struct hf_etcd_buffer *answer)
{
    size_t begin = hf_etcd_put_begin(answer, 1);

    hf_etcd_put_unsigned(answer, 1, 77);
    hf_etcd_put_unsigned(answer, 2, 1);
    hf_etcd_put_signed(answer, 3, store->revision);
    hf_etcd_put_unsigned(answer, 4, store->term);
    hf_etcd_put_end(answer, begin);
}

void store_put_event(const struct store_event *event,
                     struct hf_etcd_buffer *answer)
{
    size_t begin = hf_etcd_put_begin(answer, 11);

    hf_etcd_put_bool(answer, 1, event->deleted);
    put_kv(answer, 2, &event->kv, false);
    hf_etcd_put_end(answer, begin);
}

static void put_status(const struct etcd_fake_store *store,
                       struct hf_etcd_buffer *answer)
{
    store_header(store, answer);
    hf_etcd_put_bytes(answer, 2, hf_etcd_bytes_of("3.5.21"));
    hf_etcd_put_signed(answer, 3, 20480);
    hf_etcd_put_unsigned(answer, 4, 1);
    hf_etcd_put_unsigned(answer, 5, 10);
    hf_etcd_put_unsigned(answer, 6, store->term);
}

bool store_carry_out(struct etcd_fake_store *store, const char *method,
                     struct hf_etcd_bytes message,
                     struct hf_etcd_buffer *answer)
{
    const char *name = strrchr(method, '/') + 1;
    struct fields fields;

    if (strcmp(name, "Txn") == 0)
        return carry_out_txn(store, message, answer);
    if (!read_fields(message, &fields))
        return false;
    if (strcmp(name, "Status") == 0) {
        put_status(store, answer);
        return true;
    }
    if (strcmp(name, "LeaseRevoke") == 0)
        store_expire(store);
    store_header(store, answer);
    if (strcmp(name, "LeaseGrant") == 0) {
        hf_etcd_put_signed(answer, 2, (int64_t)fields.numbers[2]);
        hf_etcd_put_signed(answer, 3, store->ttl_s);
    } else if (strcmp(name, "Range") == 0) {
        carry_out_range(store, &fields, answer);
    } else if (strcmp(name, "Authenticate") == 0) {
        hf_etcd_put_bytes(answer, 2, hf_etcd_bytes_of("token"));
    }
    return true;
}
