/* SPDX-License-Identifier: Apache-2.0 */
/* Our tickets: their slots, what is known of their values, and the queue around
 * them as ranges show it. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/etcd/etcd_private.h"

#define TEXT "host=x"

static struct hf_etcd_engine *the_engine(void)
{
    static struct hf_etcd_engine engine;

    memset(&engine, 0, sizeof engine);
    hf_etcd_engine_tables_init(&engine);
    engine.session.lease = 0xabc;
    return &engine;
}

static struct hf_ticket_id id_of(uint8_t number)
{
    struct hf_ticket_id id = {{number, 0, 0, 0, 0, 0, 0x40, 0, 0x80}};

    return id;
}

static struct hf_etcd_engine_own_ticket *
enqueue(struct hf_etcd_engine *engine, uint8_t number, enum hf_ticket_kind kind)
{
    struct hf_etcd_engine_queue *queue = hf_etcd_engine_queue_use(engine, "q");
    struct hf_request request = {.kind = HF_REQUEST_ENQUEUE,
                                 .ticket_kind = kind,
                                 .weight = 1,
                                 .queue = "q",
                                 .ticket = id_of(number)};
    struct hf_etcd_engine_own_ticket *own;

    assert_non_null(queue);
    own = hf_etcd_engine_own_new(engine, queue, &request);
    assert_non_null(own);
    hf_etcd_engine_queue_release(engine, queue);
    return own;
}

/* ----------------------------------------------------------------- slots -- */

TEST(slots_are_used_again)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_ticket *own[5];
    char key[HF_ETCD_KEY_BYTES];

    for (uint8_t i = 0; i < 4; i++)
        own[i] = enqueue(engine, i, HF_TICKET_MUTEX);
    own[4] = enqueue(engine, 4, HF_TICKET_ELECTION);
    assert_int_equal(own[4]->slot, HF_ETCD_NO_SLOT);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(own[i]->slot, i);
    hf_etcd_engine_own_free(engine, own[1]);
    hf_etcd_engine_own_free(engine, own[0]);
    own[0] = enqueue(engine, 5, HF_TICKET_READ);
    own[1] = enqueue(engine, 6, HF_TICKET_WRITE);
    assert_int_equal(own[0]->slot, 0);
    assert_int_equal(own[1]->slot, 1);
    hf_etcd_engine_own_next_slot(own[0]); /* the next one that is free */
    assert_int_equal(own[0]->slot, 4);
    (void)hf_etcd_engine_own_key(engine, own[0], key);
    assert_string_equal(key, "q/abc-4");
    assert_ptr_equal(hf_etcd_engine_own_find(engine, &own[1]->id), own[1]);
    hf_etcd_engine_own_clear(engine);
    assert_null(engine->queues.root);
}

/* ----------------------------------------------------------------- value -- */

/* A ticket that was put at revision 10 with "old". */
static struct hf_etcd_engine_own_ticket *queued(struct hf_etcd_engine *engine)
{
    struct hf_etcd_engine_own_ticket *own = enqueue(engine, 1, HF_TICKET_MUTEX);
    struct hf_etcd_key_value kv = {.create_revision = 10,
                                   .mod_revision = 10,
                                   .version = 1,
                                   .value = hf_etcd_bytes_of("old")};

    hf_etcd_engine_own_queued(own, &kv);
    assert_false(own->value.revoked);
    return own;
}

/* The key is put at ${revision} with ${text}, the ${version}th time, as a watch
 * or a read shows. */
static bool is_put(struct hf_etcd_engine_own_value *value, int64_t revision,
                   int64_t version, const char *text)
{
    struct hf_etcd_key_value kv = {.create_revision = 10,
                                   .mod_revision = revision,
                                   .version = version,
                                   .value = hf_etcd_bytes_of(text)};

    return hf_etcd_engine_own_value_was_put(value, &kv);
}

static void writes(struct hf_etcd_engine_own_value *value, const char *text)
{
    assert_false(hf_etcd_engine_own_value_is(value, hf_etcd_bytes_of(text)));
    hf_etcd_engine_own_value_writes(value, hf_etcd_bytes_of(text));
}

static void wrote(struct hf_etcd_engine_own_value *value, const char *text,
                  int64_t revision)
{
    hf_etcd_engine_own_value_wrote(value, hf_etcd_bytes_of(text), revision);
}

TEST(a_put_by_another_hand_asks)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_value *value = &queued(engine)->value;

    assert_false(is_put(value, 10, 1, "old")); /* our own */
    assert_true(is_put(value, 11, 2, "old"));
    assert_true(value->revoked);
    assert_false(is_put(value, 11, 2, "old")); /* another watch shows it, too */
    assert_true(is_put(value, 12, 3, "old"));
    hf_etcd_engine_own_clear(engine);
}

/* Whether the event or the answer comes first. */
TEST(a_put_of_ours_does_not)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_value *value = &queued(engine)->value;

    writes(value, "new");
    assert_false(is_put(value, 12, 2, "new"));
    wrote(value, "new", 12);
    assert_true(hf_etcd_engine_own_value_is(value, hf_etcd_bytes_of("new")));
    writes(value, "newer");
    wrote(value, "newer", 15);
    assert_false(is_put(value, 15, 3, "newer"));
    assert_int_equal(value->mod_revision, 15);
    assert_false(value->revoked);
    hf_etcd_engine_own_clear(engine);
}

/* Before it, behind it, and where only the last of the two is seen. */
TEST(a_request_beside_a_put_of_ours_is_seen)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_value *value = &queued(engine)->value;

    writes(value, "new");
    assert_true(is_put(value, 11, 2, "old"));
    writes(value, "new");
    assert_false(is_put(value, 12, 3, "new"));
    assert_true(is_put(value, 13, 4, "new"));
    wrote(value, "new", 12);
    assert_int_equal(value->mod_revision, 13);
    writes(value, "newer");
    assert_true(is_put(value, 15, 6, "newer"));
    hf_etcd_engine_own_clear(engine);
}

/* Several got no answer, with one text or with two; one was carried out. */
TEST(a_put_without_an_answer_is_ours)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_value *value = &queued(engine)->value;

    writes(value, "new");
    writes(value, "new");
    writes(value, "other");
    assert_false(is_put(value, 12, 2, "new"));
    writes(value, "other");
    writes(value, "other");
    assert_false(is_put(value, 13, 3, "other"));
    assert_false(value->revoked);
    assert_true(is_put(value, 14, 4, "other"));
    hf_etcd_engine_own_clear(engine);
}

/* More than are remembered: the oldest one is taken for a request. */
TEST(puts_without_answers_are_bounded)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_value *value = &queued(engine)->value;
    char text[16];

    for (int i = 0; i < 3 * HF_ETCD_WRITTEN_MAX; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        writes(value, text);
    }
    assert_false(is_put(value, 12, 2, text));
    writes(value, "0");
    for (int i = 1; i <= HF_ETCD_WRITTEN_MAX; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        writes(value, text);
    }
    assert_true(is_put(value, 13, 3, "0"));
    hf_etcd_engine_own_clear(engine);
}

/* An enqueue got no answer, and somebody has asked since. */
TEST(a_ticket_that_is_found_may_be_asked_for)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_ticket *own = enqueue(engine, 1, HF_TICKET_MUTEX);
    struct hf_etcd_key_value kv = {.create_revision = 10,
                                   .mod_revision = 12,
                                   .version = 2,
                                   .value = hf_etcd_bytes_of("old")};

    hf_etcd_engine_own_queued(own, &kv);
    assert_true(own->value.revoked);
    hf_etcd_engine_own_clear(engine);
}

/* ----------------------------------------------------------------- queue -- */

/* Read the key "q/SUFFIX"; its role. */
static enum hf_etcd_engine_role
read_key(const struct hf_etcd_engine_queue *queue, const char *suffix,
         const char *value, int64_t lease, int64_t created,
         struct hf_etcd_engine_entry *entry)
{
    static char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_key_value kv = {.create_revision = created,
                                   .mod_revision = created,
                                   .lease = lease,
                                   .value = hf_etcd_bytes_of(value)};

    (void)snprintf(key, sizeof key, "q/%s", suffix);
    kv.key = hf_etcd_bytes_of(key);
    assert_true(hf_etcd_engine_entry_read(queue, &kv, entry));
    return entry->role;
}

/* The value of ticket ${number}. */
static const char *value_of(enum hf_ticket_kind kind, uint8_t number)
{
    static char value[HF_ETCD_VALUE_BYTES];
    struct hf_ticket_id id = id_of(number);

    (void)hf_etcd_engine_value_format(kind, &id, 1, TEXT, value);
    return value;
}

TEST(keys_are_what_they_are)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_queue *queue = hf_etcd_engine_queue_use(engine, "q");
    struct hf_etcd_engine_entry entry;
    const char *mutex = value_of(HF_TICKET_MUTEX, 1);

    assert_int_equal(read_key(queue, "1-0", mutex, 1, 5, &entry),
                     HF_ETCD_ROLE_TICKET);
    assert_int_equal(entry.value.kind, HF_TICKET_MUTEX);
    /* Somebody has put our key by hand, and so has detached it. */
    assert_int_equal(read_key(queue, "1-0", "x", 0, 5, &entry),
                     HF_ETCD_ROLE_TICKET);
    assert_int_equal(entry.value.kind, HF_TICKET_EXCLUSIVE);
    /* `etcdctl lock`, and keys without a lease. */
    assert_int_equal(read_key(queue, "1f", "", 0x1f, 5, &entry),
                     HF_ETCD_ROLE_TICKET);
    assert_int_equal(entry.value.kind, HF_TICKET_EXCLUSIVE);
    assert_int_equal(read_key(queue, "1f", "", 0, 5, &entry),
                     HF_ETCD_ROLE_NONE);
    assert_int_equal(read_key(queue, "readme", "text", 0, 5, &entry),
                     HF_ETCD_ROLE_UNKNOWN);
    assert_int_equal(
        read_key(queue, "b", value_of(HF_TICKET_BARRIER, 1), 0, 5, &entry),
        HF_ETCD_ROLE_NONE);
    assert_int_equal(read_key(queue, "b/1-0", mutex, 1, 5, &entry),
                     HF_ETCD_ROLE_NONE);
    assert_int_equal(read_key(queue, "1-p0", value_of(HF_TICKET_PARTICIPANT, 1),
                              1, 5, &entry),
                     HF_ETCD_ROLE_PARTICIPANT);
    assert_int_equal(read_key(queue, "/ready", "", 0, 5, &entry),
                     HF_ETCD_ROLE_PARTICIPANT);
    hf_etcd_engine_queue_release(engine, queue);
}

/* The value of our own ticket does not matter. */
TEST(our_ticket_stays_ours)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_ticket *own = queued(engine);
    struct hf_etcd_engine_entry entry;

    (void)read_key(own->queue, "abc-0", "put by hand", 0, 10, &entry);
    assert_int_equal(entry.value.kind, HF_TICKET_MUTEX);
    assert_true(hf_ticket_id_equal(&entry.value.id, &own->id));
    hf_etcd_engine_own_clear(engine);
}

TEST(snapshots_are_in_the_order_of_creation)
{
    static const int64_t created[] = {30, 10, 20, 10};
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_queue *queue = hf_etcd_engine_queue_use(engine, "q");
    struct hf_etcd_engine_list list = {0};
    struct hf_etcd_engine_entry entry;
    struct hf_snapshot snapshot;
    char suffix[16];

    for (size_t i = 0; i < 4; i++) {
        uint8_t number = (uint8_t)(created[i] / 10);

        (void)snprintf(suffix, sizeof suffix, "%d-0", number);
        (void)read_key(queue, suffix, value_of(HF_TICKET_MUTEX, number), 1,
                       created[i], &entry);
        hf_etcd_engine_list_add(&list, &entry, 1000);
    }
    assert_true(hf_etcd_engine_list_snapshot(&list, 2, &snapshot));
    assert_int_equal(snapshot.count, 3);
    assert_int_equal(snapshot.more_ahead, 2);
    for (size_t i = 0; i < 3; i++) {
        struct hf_ticket_id id = id_of((uint8_t)(i + 1));

        assert_true(hf_ticket_id_equal(&snapshot.tickets[i].id, &id));
        assert_int_equal(snapshot.tickets[i].sequence, 10 * (i + 1));
        assert_int_equal(snapshot.tickets[i].token, 1000 + 10 * (i + 1));
        assert_string_equal(snapshot.tickets[i].payload, TEXT);
    }
    hf_etcd_engine_list_free(&list);
    hf_etcd_engine_queue_release(engine, queue);
}

TEST(what_is_ahead_is_remembered)
{
    struct hf_etcd_engine *engine = the_engine();
    struct hf_etcd_engine_own_ticket *own = enqueue(engine, 9, HF_TICKET_READ);
    struct hf_etcd_engine_list list = {0};
    struct hf_etcd_engine_entry entry;
    struct hf_snapshot snapshot;
    const struct hf_etcd_engine_seen_ticket *seen;
    struct hf_ticket_id writer = id_of(1), reader = id_of(2);
    int64_t revision;

    hf_etcd_engine_own_queued(
        own, &(struct hf_etcd_key_value){
                 .create_revision = 100, .mod_revision = 100, .version = 1});
    (void)read_key(own->queue, "1-0", value_of(HF_TICKET_WRITE, 1), 1, 10,
                   &entry);
    hf_etcd_engine_list_add(&list, &entry, 0);
    (void)read_key(own->queue, "1-1", value_of(HF_TICKET_READ, 2), 1, 20,
                   &entry);
    hf_etcd_engine_list_add(&list, &entry, 0);
    assert_true(hf_etcd_engine_list_snapshot(&list, 0, &snapshot));
    hf_etcd_engine_own_listed(own, &list, 2, 100);
    seen = hf_etcd_engine_own_saw(own->queue, &writer, &revision);
    assert_non_null(seen);
    assert_int_equal(revision, 100);
    assert_int_equal(seen->create_revision, 10);
    assert_string_equal(seen->suffix, "1-0");
    /* A reader does not wait for readers. */
    assert_null(hf_etcd_engine_own_saw(own->queue, &reader, &revision));
    hf_etcd_engine_list_free(&list);
    hf_etcd_engine_own_clear(engine);
}
