/* SPDX-License-Identifier: Apache-2.0 */
/* See etcd_raw_client.h. */
#include "etcd_raw_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "simulator/model/etcd_faults.h"

#define ANSWER_MS 20000

/* --------------------------------------------------------------- answers -- */

static void read_header(struct raw *raw, struct etcd_bytes header)
{
    struct etcd_field field;

    while (etcd_next_field(&header, &field)) {
        if (field.number == 3)
            raw->revision = (int64_t)field.value;
        else if (field.number == 4)
            raw->term = field.value;
    }
}

static void read_key(struct etcd_bytes message, struct raw_key *key)
{
    struct etcd_field field;

    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            snprintf(key->name, sizeof key->name, "%.*s",
                     (int)field.bytes.count, (const char *)field.bytes.at);
        else if (field.number == 2)
            key->create = (int64_t)field.value;
        else if (field.number == 3)
            key->mod = (int64_t)field.value;
        else if (field.number == 4)
            key->version = (int64_t)field.value;
    }
}

static void read_range(struct raw *raw, struct etcd_bytes message)
{
    struct etcd_field field;

    raw->key_count = 0;
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            read_header(raw, field.bytes);
        else if (field.number == 2 && raw->key_count < RAW_KEYS_MAX)
            read_key(field.bytes, &raw->keys[raw->key_count++]);
    }
}

/* Of all answers, what the tests look at. */
static void read_answer(struct raw *raw, struct etcd_bytes message)
{
    struct etcd_field field, inner;

    raw->succeeded = false;
    raw->ttl = 0;
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1) {
            read_header(raw, field.bytes);
        } else if (field.number == 2 && field.is_bytes) {
            snprintf(raw->token, sizeof raw->token, "%.*s",
                     (int)field.bytes.count, (const char *)field.bytes.at);
        } else if (field.number == 2) {
            raw->succeeded = field.value != 0;
        } else if (field.number == 3 && field.is_bytes) {
            if (etcd_next_field(&field.bytes, &inner) && inner.number == 1)
                read_range(raw, inner.bytes);
        } else if (field.number == 3) {
            raw->ttl = (int64_t)field.value;
        }
    }
}

static void read_event(struct raw *raw, struct etcd_bytes message)
{
    struct raw_key *event = &raw->events[raw->event_count];
    struct etcd_field field;

    if (raw->event_count == RAW_KEYS_MAX)
        return;
    raw->event_count++;
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            event->deleted = field.value != 0;
        else if (field.number == 2)
            read_key(field.bytes, event);
    }
}

static void read_watch(struct raw *raw, struct etcd_bytes message)
{
    struct etcd_field field;

    while (etcd_next_field(&message, &field)) {
        if (field.number == 5)
            raw->compacted = (int64_t)field.value;
        else if (field.number == 11)
            read_event(raw, field.bytes);
    }
}

static bool is_range(const struct raw *raw)
{
    return raw->key_count == UINT32_MAX;
}

static void handle(struct raw *raw, const struct etcd_frame *frame)
{
    if (frame->kind == ETCD_FRAME_MESSAGE && frame->call == raw->watch_call) {
        read_watch(raw, frame->bytes);
        return;
    }
    if (frame->kind == ETCD_FRAME_ENDED && frame->call == raw->keep_alive_call)
        raw->keep_alive_call = 0;
    if (frame->call != raw->awaited)
        return;
    raw->answered = true;
    if (frame->kind == ETCD_FRAME_MESSAGE && is_range(raw))
        read_range(raw, frame->bytes);
    else if (frame->kind == ETCD_FRAME_MESSAGE)
        read_answer(raw, frame->bytes);
    else
        raw->status = frame->flags;
}

static void receive(void *user, struct etcd_connection *connection,
                    const struct etcd_chunk *chunk)
{
    struct raw *raw = user;
    struct etcd_frame frame;

    (void)connection;
    if (chunk->kind != ETCD_SOME_BYTES)
        return;
    etcd_put_raw(&raw->received,
                 (struct etcd_bytes){chunk->bytes, chunk->count});
    while (etcd_frame_read(etcd_written(&raw->received), &frame) > 0) {
        size_t bytes = etcd_frame_bytes(&frame);

        handle(raw, &frame);
        memmove(raw->received.at, raw->received.at + bytes,
                raw->received.count - bytes);
        raw->received.count -= bytes;
    }
}

static const struct etcd_connection_ops ops = {.receive = receive};

/* ----------------------------------------------------------- connections -- */

void raw_reconnect(struct raw *raw, int member)
{
    if (raw->connection != NULL && raw->connection->client_open)
        etcd_connection_close_client(raw->connection);
    raw->received.count = 0;
    raw->keep_alive_call = raw->watch_call = 0;
    raw->connection = etcd_connection_new(
        raw->sim, NULL, &raw->sim->etcd->members[member], &ops, raw);
    hf_sim_run_ms(raw->sim, 10);
}

static struct raw *make(struct hf_sim *sim)
{
    struct raw *raw = calloc(1, sizeof *raw);

    assert_non_null(raw);
    raw->sim = sim;
    return raw;
}

struct raw *raw_new(const struct hf_sim_config *config)
{
    struct hf_sim_config plain = hf_sim_config_etcd(1);
    struct raw *raw = make(hf_sim_new(config == NULL ? &plain : config));

    raw->owns_sim = true;
    hf_sim_run_ms(raw->sim, 10000);
    assert_int_not_equal(hf_sim_etcd_leader(raw->sim), -1);
    raw_reconnect(raw, hf_sim_etcd_leader(raw->sim));
    return raw;
}

struct raw *raw_connect(struct raw *first, int member)
{
    struct raw *raw = make(first->sim);

    raw_reconnect(raw, member);
    return raw;
}

void raw_close(struct raw *raw)
{
    etcd_connection_close_client(raw->connection);
    raw->connection = NULL;
    etcd_writer_free(&raw->received);
    if (!raw->owns_sim)
        free(raw);
}

void raw_free(struct raw *raw)
{
    hf_sim_free(raw->sim);
    etcd_writer_free(&raw->received);
    free(raw);
}

/* ----------------------------------------------------------------- calls -- */

static void write_frame(struct raw *raw, enum etcd_frame_kind kind,
                        uint32_t call, struct etcd_bytes bytes)
{
    struct etcd_frame frame = {kind, 0, call, bytes};
    struct etcd_writer out = {0};

    etcd_frame_write(&out, &frame);
    etcd_connection_write(raw->connection, out.at, out.count);
    etcd_writer_free(&out);
}

static uint32_t begin(struct raw *raw, const char *method)
{
    struct etcd_writer start = {0};

    etcd_put_raw(&start, (struct etcd_bytes){(const uint8_t *)method,
                                             strlen(method) + 1});
    etcd_put_raw(&start, etcd_text(raw->token));
    write_frame(raw, ETCD_FRAME_START, ++raw->last_call, etcd_written(&start));
    etcd_writer_free(&start);
    return raw->last_call;
}

/* Frees ${message}. */
static void call_start(struct raw *raw, const char *method,
                       struct etcd_writer *message)
{
    raw->awaited = begin(raw, method);
    raw->answered = false;
    raw->status = UINT32_MAX;
    raw->key_count = 0;
    write_frame(raw, ETCD_FRAME_MESSAGE, raw->awaited, etcd_written(message));
    etcd_writer_free(message);
}

static void await(struct raw *raw)
{
    for (int i = 0; i < ANSWER_MS && raw->status == UINT32_MAX; i++)
        hf_sim_run_ms(raw->sim, 1);
    assert_int_not_equal(raw->status, UINT32_MAX);
}

bool raw_answered(const struct raw *raw)
{
    return raw->answered;
}

/* ------------------------------------------------------------------ keys -- */

static struct etcd_writer put_message(const char *key, const char *value,
                                      int64_t lease)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text(key));
    etcd_put_bytes(&message, 2, etcd_text(value));
    etcd_put_integer(&message, 3, (uint64_t)lease);
    return message;
}

void raw_put(struct raw *raw, const char *key, const char *value)
{
    struct etcd_writer message = put_message(key, value, 0);

    call_start(raw, "/etcdserverpb.KV/Put", &message);
    await(raw);
    assert_int_equal(raw->status, 0);
}

void raw_put_start(struct raw *raw, const char *key)
{
    struct etcd_writer message = put_message(key, "", 0);

    call_start(raw, "/etcdserverpb.KV/Put", &message);
}

unsigned raw_put_status(struct raw *raw, const char *key)
{
    raw_put_start(raw, key);
    await(raw);
    return raw->status;
}

void raw_delete(struct raw *raw, const char *key)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text(key));
    call_start(raw, "/etcdserverpb.KV/DeleteRange", &message);
    await(raw);
    assert_int_equal(raw->status, 0);
}

bool raw_get(struct raw *raw, const char *key, struct raw_key *found)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text(key));
    call_start(raw, "/etcdserverpb.KV/Range", &message);
    raw->key_count = UINT32_MAX; /* it is one, see is_range() */
    await(raw);
    assert_int_equal(raw->status, 0);
    if (raw->key_count == 1)
        *found = raw->keys[0];
    return raw->key_count == 1;
}

/* ---------------------------------------------------------- transactions -- */

static void add(struct raw_txn *txn, uint32_t field, uint32_t kind,
                struct etcd_writer *message)
{
    struct etcd_writer op = {0};

    etcd_put_message(&op, kind, message);
    etcd_put_message(&txn->bytes, field, &op);
    etcd_writer_free(&op);
    etcd_writer_free(message);
}

void raw_txn_compare_create(struct raw_txn *txn, const char *key,
                            int64_t revision)
{
    struct etcd_writer compare = {0};

    etcd_put_integer(&compare, 2, ETCD_COMPARE_CREATE);
    etcd_put_bytes(&compare, 3, etcd_text(key));
    etcd_put_integer(&compare, 5, (uint64_t)revision);
    etcd_put_message(&txn->bytes, 1, &compare);
    etcd_writer_free(&compare);
}

void raw_txn_put(struct raw_txn *txn, const char *key, const char *value,
                 int64_t lease)
{
    struct etcd_writer message = put_message(key, value, lease);

    add(txn, 2, 2, &message);
}

void raw_txn_delete(struct raw_txn *txn, const char *key)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text(key));
    add(txn, 2, 3, &message);
}

void raw_txn_range_newest(struct raw_txn *txn, const char *key, const char *end,
                          int64_t limit)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text(key));
    etcd_put_bytes(&message, 2, etcd_text(end));
    etcd_put_integer(&message, 3, (uint64_t)limit);
    etcd_put_integer(&message, 5, ETCD_DESCEND);
    etcd_put_integer(&message, 6, ETCD_BY_CREATE);
    add(txn, 2, 1, &message);
}

unsigned raw_txn_status(struct raw *raw, struct raw_txn *txn)
{
    call_start(raw, "/etcdserverpb.KV/Txn", &txn->bytes);
    await(raw);
    return raw->status;
}

bool raw_txn_succeeds(struct raw *raw, struct raw_txn *txn)
{
    assert_int_equal(raw_txn_status(raw, txn), 0);
    return raw->succeeded;
}

/* ---------------------------------------------------------------- leases -- */

int64_t raw_grant(struct raw *raw, int64_t lease, int64_t ttl)
{
    struct etcd_writer message = {0};

    etcd_put_integer(&message, 1, (uint64_t)ttl);
    etcd_put_integer(&message, 2, (uint64_t)lease);
    call_start(raw, "/etcdserverpb.Lease/LeaseGrant", &message);
    await(raw);
    return raw->status == 0 ? raw->ttl : -(int64_t)raw->status;
}

void raw_keep_alive_start(struct raw *raw, int64_t lease)
{
    struct etcd_writer message = {0};

    if (raw->keep_alive_call == 0)
        raw->keep_alive_call = begin(raw, "/etcdserverpb.Lease/LeaseKeepAlive");
    raw->awaited = raw->keep_alive_call;
    raw->answered = false;
    raw->key_count = 0;
    etcd_put_integer(&message, 1, (uint64_t)lease);
    write_frame(raw, ETCD_FRAME_MESSAGE, raw->keep_alive_call,
                etcd_written(&message));
    etcd_writer_free(&message);
}

int64_t raw_keep_alive(struct raw *raw, int64_t lease)
{
    raw->ttl = -1;
    raw_keep_alive_start(raw, lease);
    for (int i = 0; i < ANSWER_MS && !raw->answered; i++)
        hf_sim_run_ms(raw->sim, 1);
    return raw->ttl;
}

/* ---------------------------------------------------------------- others -- */

void raw_watch(struct raw *raw, const char *key, int64_t start)
{
    struct etcd_writer create = {0}, message = {0};

    if (raw->watch_call == 0)
        raw->watch_call = begin(raw, "/etcdserverpb.Watch/Watch");
    etcd_put_bytes(&create, 1, etcd_text(key));
    etcd_put_integer(&create, 3, (uint64_t)start);
    etcd_put_message(&message, 1, &create);
    write_frame(raw, ETCD_FRAME_MESSAGE, raw->watch_call,
                etcd_written(&message));
    etcd_writer_free(&create);
    etcd_writer_free(&message);
}

void raw_authenticate(struct raw *raw)
{
    struct etcd_writer message = {0};

    etcd_put_bytes(&message, 1, etcd_text("user"));
    etcd_put_bytes(&message, 2, etcd_text("password"));
    raw->token[0] = '\0';
    call_start(raw, "/etcdserverpb.Auth/Authenticate", &message);
    await(raw);
    assert_int_equal(raw->status, 0);
}
