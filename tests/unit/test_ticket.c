/* SPDX-License-Identifier: Apache-2.0 */
/* Ticket ids, the order of tickets, and the random numbers of ids. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "core/ticket.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct hf_ticket_id example = {{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b,
                                             0x42, 0xd3, 0xa4, 0x56, 0x42, 0x66,
                                             0x14, 0x17, 0x40, 0x00}};
static const char example_text[] = "123e4567-e89b-42d3-a456-426614174000";

TEST(an_id_is_written_as_a_uuid)
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&example, text);
    assert_string_equal(text, example_text);
}

TEST(a_uuid_is_read_back)
{
    struct hf_ticket_id id;

    assert_true(hf_ticket_id_parse(&id, example_text, 36));
    assert_true(hf_ticket_id_equal(&id, &example));
}

TEST(what_is_no_uuid_is_refused)
{
    static const char *const bad[] = {
        "",
        "123e4567-e89b-42d3-a456-42661417400",
        "123e4567-e89b-42d3-a456-4266141740000",
        "123e4567+e89b-42d3-a456-426614174000",
        "123e4567-e89b-42d3-a456-42661417400g",
        "123E4567-E89B-42D3-A456-426614174000",
        "123e45678e89b-42d3-a456-426614174000",
        "-23e4567-e89b-42d3-a456-426614174000",
    };
    struct hf_ticket_id id;

    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(hf_ticket_id_parse(&id, bad[i], strlen(bad[i])));
}

/* Only that many bytes may be read. */
TEST(a_uuid_is_read_from_the_bytes_given)
{
    struct hf_ticket_id id;
    char *text = malloc(36);

    assert_non_null(text);
    memcpy(text, example_text, 36);
    assert_true(hf_ticket_id_parse(&id, text, 36));
    assert_false(hf_ticket_id_parse(&id, text, 35));
    free(text);
}

TEST(every_byte_distinguishes_ids)
{
    for (size_t i = 0; i < HF_TICKET_ID_BYTES; i++) {
        struct hf_ticket_id other = example;

        other.bytes[i] ^= 1;
        assert_false(hf_ticket_id_equal(&example, &other));
    }
}

TEST(fn50_the_sequence_orders_and_then_the_token)
{
    struct hf_ticket tickets[] = {
        {.sequence = UINT64_MAX, .token = 1}, {.sequence = 2, .token = 9},
        {.sequence = 2, .token = 3},          {.sequence = 0, .token = 5},
        {.sequence = 1, .token = UINT64_MAX},
    };
    static const uint64_t tokens[] = {5, UINT64_MAX, 3, 9, 1};

    qsort(tickets, COUNT(tickets), sizeof tickets[0], hf_ticket_compare);
    for (size_t i = 0; i < COUNT(tickets); i++)
        assert_true(tickets[i].token == tokens[i]);
    assert_int_equal(hf_ticket_compare(&tickets[0], &tickets[0]), 0);
}

TEST(a_ticket_is_found_by_its_id)
{
    struct hf_ticket tickets[3] = {{.sequence = 1}, {.sequence = 2}};
    struct hf_snapshot snapshot = {tickets, 3, 0};

    tickets[1].id = example;
    assert_int_equal(hf_snapshot_find(&snapshot, &example), 1);
    tickets[1].id.bytes[15] = 1;
    assert_int_equal(hf_snapshot_find(&snapshot, &example), 3);
}

TEST(a_long_payload_is_cut_between_characters)
{
    char to[HF_PAYLOAD_BYTES], payload[HF_PAYLOAD_BYTES + 9];

    memset(payload, 'x', sizeof payload);
    memcpy(payload + HF_PAYLOAD_BYTES - 2, "\u00e9", 2);
    payload[sizeof payload - 1] = '\0';
    hf_payload_copy(to, payload);
    assert_int_equal(strlen(to), HF_PAYLOAD_BYTES - 2);
    assert_memory_equal(to, payload, HF_PAYLOAD_BYTES - 2);
    payload[HF_PAYLOAD_BYTES - 2] = '\0';
    hf_payload_copy(to, payload);
    assert_string_equal(to, payload);
}

TEST(a_seed_gives_the_same_numbers_again)
{
    struct hf_random one, two, other;
    unsigned equal = 0;

    hf_random_seed(&one, 42);
    hf_random_seed(&two, 42);
    hf_random_seed(&other, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t number = hf_random_next(&one);

        assert_true(number == hf_random_next(&two));
        equal += number == hf_random_next(&other);
    }
    assert_int_equal(equal, 0);
}

/* The output of the authors' implementation for the state 1, 2, 3, 4. */
TEST(the_generator_is_xoshiro256_star_star)
{
    struct hf_random random = {{1, 2, 3, 4}};

    assert_true(hf_random_next(&random) == 11520);
    assert_true(hf_random_next(&random) == 0);
    assert_true(hf_random_next(&random) == 1509978240);
    assert_true(hf_random_next(&random) == 1215971899390074240);
}

TEST(numbers_below_a_bound_are_even)
{
    unsigned seen[5] = {0};
    struct hf_random random;

    hf_random_seed(&random, 7);
    for (int i = 0; i < 50000; i++)
        seen[hf_random_below(&random, 5)]++;
    for (size_t i = 0; i < COUNT(seen); i++)
        assert_in_range(seen[i], 9500, 10500);
    assert_int_equal(hf_random_below(&random, 1), 0);
    for (int i = 0; i < 100; i++)
        assert_true(hf_random_below(&random, UINT64_MAX) < UINT64_MAX);
}

TEST(fn10_fresh_ids_are_version_4_and_differ)
{
    struct hf_ticket_id before = {{0}};
    struct hf_random random;

    hf_random_seed(&random, 1);
    for (int i = 0; i < 1000; i++) {
        struct hf_ticket_id id = hf_ticket_id_random(&random);

        assert_int_equal(id.bytes[6] >> 4, 4);
        assert_int_equal(id.bytes[8] >> 6, 2);
        assert_false(hf_ticket_id_equal(&id, &before));
        before = id;
    }
}
