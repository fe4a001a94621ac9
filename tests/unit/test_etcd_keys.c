/* SPDX-License-Identifier: Apache-2.0 */
/* Names of keys and their values: what is written is read again, and what
 * others write is taken for what it is. */
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/etcd/key_name.h"
#include "engines/etcd/ticket_value.h"

#define LEASE INT64_C(0x1f2e3d4c5b6a7988)
#define UUID "0f3c2a10-1111-4222-8333-444455556666"

static struct hf_ticket_id some_id(void)
{
    struct hf_ticket_id id;

    assert_true(hf_ticket_id_parse(&id, UUID, strlen(UUID)));
    return id;
}

/* The form of what is behind "PREFIX a/". */
static enum hf_etcd_engine_key_form form_of(const char *suffix)
{
    return hf_etcd_engine_key_name_parse("a", suffix, strlen(suffix)).form;
}

/* ----------------------------------------------------------------- names -- */

/* The key is ${expected}, and is read as what it is. */
static void check_ticket(enum hf_ticket_kind kind, uint32_t slot,
                         const char *expected,
                         enum hf_etcd_engine_key_form form)
{
    struct hf_ticket_id id = some_id();
    char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_engine_key_name name;
    size_t bytes =
        hf_etcd_engine_ticket_key("p/", "a/b", LEASE, kind, &id, slot, key);
    size_t before = strlen("p/a/b/");

    assert_int_equal(bytes, strlen(expected));
    assert_string_equal(key, expected);
    name = hf_etcd_engine_key_name_parse("a/b", key + before, bytes - before);
    assert_int_equal(name.form, form);
    assert_true(name.lease == LEASE);
    assert_int_equal(name.slot, slot);
    if (form == HF_ETCD_KEY_ELECTION)
        assert_true(hf_ticket_id_equal(&name.id, &id));
}

TEST(tickets_have_keys)
{
    check_ticket(HF_TICKET_MUTEX, 0, "p/a/b/1f2e3d4c5b6a7988-0",
                 HF_ETCD_KEY_TICKET);
    check_ticket(HF_TICKET_LEASE, 12, "p/a/b/1f2e3d4c5b6a7988-12",
                 HF_ETCD_KEY_TICKET);
    check_ticket(HF_TICKET_PARTICIPANT, 3, "p/a/b/1f2e3d4c5b6a7988-p3",
                 HF_ETCD_KEY_PARTICIPANT);
    check_ticket(HF_TICKET_ELECTION, HF_ETCD_NO_SLOT,
                 "p/a/b/1f2e3d4c5b6a7988-" UUID, HF_ETCD_KEY_ELECTION);
}

TEST(flags_have_keys)
{
    char key[HF_ETCD_KEY_BYTES];

    (void)hf_etcd_engine_flag_key("p/", "a/b", HF_TICKET_BARRIER, key);
    assert_string_equal(key, "p/a/b");
    (void)hf_etcd_engine_flag_key("", "a", HF_TICKET_READY, key);
    assert_string_equal(key, "a//ready");
    assert_int_equal(form_of(key + strlen("a/")), HF_ETCD_KEY_READY);
    (void)hf_etcd_engine_queue_prefix("", "a", key);
    assert_string_equal(key, "a/");
}

/* `etcdctl lock` and Go's Mutex, something else, and Go's RWMutex. */
TEST(keys_of_others_are_foreign)
{
    static const char *const foreign[] = {
        "694d7f0e3b2c1a05", "x",         "1f2e-01", "1f2e-",
        "1f2e-x",           "01f2e-0",   "0-0",     "1f2e3d4c5b6a79881-0",
        "1f2e-1234567890",  "1F2E-0",    "1f2e-p",  "1f2e-p01",
        ("1f2e-" UUID "0"), "read/1234", "write/1", "ready"};

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_int_equal(form_of(foreign[i]), HF_ETCD_KEY_FOREIGN);
}

TEST(deeper_names_are_of_other_locks)
{
    static const char *const deeper[] = {"b/1f2e-0", "/",        "read/",
                                         "read/12x", "reads/12", "write/1/2",
                                         "//ready"};

    for (size_t i = 0; i < sizeof deeper / sizeof deeper[0]; i++)
        assert_int_equal(form_of(deeper[i]), HF_ETCD_KEY_DEEPER);
}

TEST(sessions_have_their_own_component)
{
    assert_true(hf_etcd_engine_queue_is_reserved(".holdfast"));
    assert_true(hf_etcd_engine_queue_is_reserved(".holdfast/a"));
    assert_false(hf_etcd_engine_queue_is_reserved(".holdfasts"));
    assert_false(hf_etcd_engine_queue_is_reserved("a/.holdfast"));
    assert_int_equal(hf_etcd_engine_key_name_parse(".holdfast", "1f2e", 4).form,
                     HF_ETCD_KEY_SESSION);
}

/* The same name may have been used before. */
TEST(foreign_ids_are_of_one_creation)
{
    struct hf_ticket_id first = hf_etcd_engine_foreign_id("1f2e", 4, 7);
    struct hf_ticket_id again = hf_etcd_engine_foreign_id("1f2e", 4, 7);
    struct hf_ticket_id later = hf_etcd_engine_foreign_id("1f2e", 4, 8);
    struct hf_ticket_id other = hf_etcd_engine_foreign_id("1f2d", 4, 7);

    assert_true(hf_ticket_id_equal(&first, &again));
    assert_false(hf_ticket_id_equal(&first, &later));
    assert_false(hf_ticket_id_equal(&first, &other));
    assert_int_equal(hf_ticket_id_role(&first), HF_ROLE_UNKNOWN);
}

/* ---------------------------------------------------------------- values -- */

static void check_value(enum hf_ticket_kind kind, uint32_t weight,
                        const char *text, const char *expected)
{
    struct hf_ticket_id id = some_id();
    char value[HF_ETCD_VALUE_BYTES];
    size_t bytes = hf_etcd_engine_value_format(kind, &id, weight, text, value);
    struct hf_etcd_engine_ticket_value read =
        hf_etcd_engine_value_parse(value, bytes);

    assert_int_equal(bytes, strlen(expected));
    assert_string_equal(value, expected);
    assert_int_equal(read.kind, kind);
    assert_true(hf_ticket_id_equal(&read.id, &id));
    assert_int_equal(read.weight, weight);
    assert_false(read.evicted);
    assert_int_equal(read.text_bytes, strlen(text));
    assert_memory_equal(read.text, text, strlen(text));
}

TEST(values_say_kind_and_id)
{
    check_value(HF_TICKET_MUTEX, 1, "host=x pid=1",
                "mutex " UUID "\nhost=x pid=1");
    check_value(HF_TICKET_READ, 1, "", "read " UUID "\n");
    check_value(HF_TICKET_WRITE, 1, "a\nb", "write " UUID "\na\nb");
    check_value(HF_TICKET_LEASE, 64, "t", "lease " UUID " 64\nt");
    check_value(HF_TICKET_PARTICIPANT, 1, "", "participant " UUID "\n");
    check_value(HF_TICKET_BARRIER, 1, "", "barrier " UUID "\n");
}

TEST(a_candidate_has_its_value_to_itself)
{
    struct hf_ticket_id id = some_id();
    char value[HF_ETCD_VALUE_BYTES];

    assert_int_equal(hf_etcd_engine_value_format(HF_TICKET_ELECTION, &id, 1,
                                                 "node-7", value),
                     strlen("node-7"));
    assert_string_equal(value, "node-7");
}

TEST(the_longest_values_fit)
{
    char text[HF_PAYLOAD_BYTES];
    struct hf_ticket_id id = some_id();
    char value[HF_ETCD_VALUE_BYTES];
    struct hf_etcd_engine_ticket_value read;
    size_t bytes;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    bytes = hf_etcd_engine_value_format_evicted(HF_TICKET_LEASE, &id,
                                                HF_WEIGHT_MAX, text, value);
    read = hf_etcd_engine_value_parse(value, bytes);
    assert_true(read.evicted);
    assert_int_equal(read.kind, HF_TICKET_LEASE);
    assert_int_equal(read.weight, HF_WEIGHT_MAX);
    assert_int_equal(read.text_bytes, sizeof text - 1);
}

TEST(other_values_are_not_ours)
{
    static const char *const others[] = {
        "",
        "mutex",
        "mutex " UUID,
        "mutex " UUID "x\n",
        "mutex x\n",
        "MUTEX " UUID "\n",
        "evicted " UUID "\n",
        "lease " UUID "\n",
        "lease " UUID " \n",
        "lease " UUID " 0\n",
        "lease " UUID " 65\n",
        "lease " UUID " 100\n",
        "election " UUID "\n",
    };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        /* On the heap, so that a sanitizer sees a read behind the end. */
        size_t bytes = strlen(others[i]);
        char *value = malloc(bytes + 1);
        struct hf_etcd_engine_ticket_value read;

        assert_non_null(value);
        memcpy(value, others[i], bytes);
        read = hf_etcd_engine_value_parse(value, bytes);
        assert_int_equal(read.kind, 0);
        assert_int_equal(read.weight, 1);
        assert_int_equal(read.text_bytes, bytes);
        free(value);
    }
    assert_int_equal(hf_etcd_engine_value_parse(NULL, 0).kind, 0);
}

TEST(payloads_are_text)
{
    char payload[HF_PAYLOAD_BYTES], long_text[2 * HF_PAYLOAD_BYTES];

    assert_int_equal(hf_etcd_engine_payload_copy(payload, "gr\xc3\xbc", 4), 4);
    assert_string_equal(payload, "gr\xc3\xbc");
    assert_int_equal(hf_etcd_engine_payload_copy(payload, NULL, 0), 0);
    (void)hf_etcd_engine_payload_copy(payload, "a\0b", 3);
    assert_string_equal(payload, "\"a\\x00b\"");
    (void)hf_etcd_engine_payload_copy(payload, "\xff", 1);
    assert_string_equal(payload, "\"\\xFF\"");
    memset(long_text, 'x', sizeof long_text);
    assert_true(hf_etcd_engine_payload_copy(
                    payload, long_text, sizeof long_text) < HF_PAYLOAD_BYTES);
}
