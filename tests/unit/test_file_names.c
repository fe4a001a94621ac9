/* SPDX-License-Identifier: Apache-2.0 */
/* The names of lock directories and ticket files. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"

#include <holdfast/holdfast.h>

#include "base/random.h"
#include "engines/file/file_names.h"

TEST(names_are_spelled_out)
{
    static const struct {
        const char *queue;
        const char *entry;
    } rows[] = {
        {"nightly", "nightly"}, {"Nightly_Report-2", "Nightly_Report-2"},
        {"v1.2", "v1.2"},       {".a", "%2Ea"},
        {"a.", "a%2E"},         {"a..b", "a..b"},
        {"a/b", "a%2Fb"},       {"a%2Fb", "a%252Fb"},
        {"~", "%7E"},           {"gr\xc3\xbc\xc3\x9f", "gr%C3%BC%C3%9F"},
        {" ", "%20"},
    };
    char entry[HF_DIR_NAME_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(hf_file_dir_name_format(rows[i].queue, entry));
        assert_string_equal(entry, rows[i].entry);
    }
}

TEST(two_hundred_bytes_are_spelled_and_more_are_not)
{
    char queue[HF_NAME_BYTES + 1] = {0};
    char entry[HF_DIR_NAME_BYTES];

    memset(queue, 'n', 200);
    assert_false(hf_file_dir_name_format(queue, entry));
    assert_string_equal(entry, queue);
    queue[200] = 'n';
    assert_true(hf_file_dir_name_format(queue, entry));
    assert_int_equal(strlen(entry), 120 + 1 + 64);
    assert_memory_equal(entry, queue, 120);
    assert_int_equal(entry[120], '~');
    memset(queue, 'n', HF_NAME_BYTES);
    assert_true(hf_file_dir_name_format(queue, entry));
    assert_int_equal(strlen(entry), 120 + 1 + 64);
}

/* As sha256sum(1) prints it for 201 times "n". */
TEST(the_digest_is_sha256)
{
    char queue[HF_NAME_BYTES + 1] = {0};
    char entry[HF_DIR_NAME_BYTES];

    memset(queue, 'n', 201);
    assert_true(hf_file_dir_name_format(queue, entry));
    assert_string_equal(
        entry + 121,
        "291c4194382c6bd5c12b872660b0fb6d2316508d4632c9b289ed5928c2588b1b");
}

TEST(a_digest_cuts_no_character)
{
    char queue[HF_NAME_BYTES + 1] = {0};
    char entry[HF_DIR_NAME_BYTES];

    queue[0] = 'n';
    memset(queue + 1, '/', 300);
    assert_true(hf_file_dir_name_format(queue, entry));
    assert_int_equal(strchr(entry, '~') - entry, 1 + 39 * 3);
}

static void expect_read_back(const struct hf_ticket *ticket)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    struct hf_ticket back;

    hf_file_name_format(ticket, file);
    assert_true(strlen(file) < HF_TICKET_FILE_BYTES);
    assert_int_equal(hf_file_name_parse(file, &back), HF_FILE_NAME_TICKET);
    assert_true(back.sequence == ticket->sequence);
    assert_true(back.token == ticket->sequence);
    assert_int_equal(back.kind, ticket->kind);
    assert_int_equal(back.weight, ticket->weight);
    assert_true(hf_ticket_id_equal(&back.id, &ticket->id));
    assert_string_equal(back.payload, "");
    hf_file_payload_name_format(ticket, file);
    assert_true(strlen(file) < HF_PAYLOAD_FILE_BYTES);
    assert_int_equal(hf_file_name_parse(file, &back), HF_FILE_NAME_PAYLOAD);
    assert_true(hf_ticket_id_equal(&back.id, &ticket->id));
}

TEST(tickets_are_read_back)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_MUTEX, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_LEASE,
        HF_TICKET_ELECTION};
    static const uint64_t sequences[] = {0, 1, UINT64_C(1795259628291109),
                                         UINT64_MAX};
    struct hf_random random;

    hf_random_seed(&random, 7);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t s = 0; s < 4; s++) {
            struct hf_ticket ticket = {.id = hf_ticket_id_random(&random),
                                       .sequence = sequences[s],
                                       .kind = kinds[k],
                                       .weight = 1};

            expect_read_back(&ticket);
        }
    }
}

TEST(a_lease_says_what_it_weighs)
{
    struct hf_ticket ticket = {.sequence = 9, .kind = HF_TICKET_LEASE};
    struct hf_random random;
    char file[HF_TICKET_FILE_BYTES];

    hf_random_seed(&random, 8);
    ticket.id = hf_ticket_id_random(&random);
    for (uint32_t weight = 1; weight <= HF_WEIGHT_MAX; weight++) {
        ticket.weight = weight;
        expect_read_back(&ticket);
    }
    hf_file_name_format(&ticket, file);
    assert_memory_equal(file, "00000000000000000009-l64-", 25);
}

TEST(unknown_files_are_left_alone)
{
#define ID "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f"
    static const char *const foreign[] = {
        "",
        ".",
        ".new",
        "name",
        "00000000000000000001",
        "00000000000000000001-m-",
        "0000000000000000001-m-" ID,
        "000000000000000000001-m-" ID,
        "00000000000000000001-x-" ID,
        "00000000000000000001_m-" ID,
        "0000000000000000000x-m-" ID,
        "99999999999999999999-m-" ID,
        "00000000000000000001-m-" ID "0",
        "00000000000000000001-m-" ID ".payloa",
        "00000000000000000001-m-" ID ".payload2",
        "00000000000000000001-m-0A1B2C3D-0A1B-4C3D-8A1B-0A1B2C3D4E5F",
        /* A weight of a kind that has none, and a weight that is no number. */
        "00000000000000000001-m01-" ID,
        "00000000000000000001-w01-" ID,
        "00000000000000000001-l",
        "00000000000000000001-l0",
        "00000000000000000001-l01",
        "00000000000000000001-l01-",
        "00000000000000000001-l-" ID,
        "00000000000000000001-l1-" ID,
        "00000000000000000001-l00-" ID,
        "00000000000000000001-l65-" ID,
        "00000000000000000001-l001-" ID,
        "00000000000000000001-l 1-" ID,
        "00000000000000000001-l1x-" ID,
        "00000000000000000001-l01_" ID,
        "00000000000000000001-l01-" ID "0",
        "00000000000000000001-l01-0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5",
    };
    struct hf_ticket ticket;

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_int_equal(hf_file_name_parse(foreign[i], &ticket),
                         HF_FILE_NAME_OTHER);
    assert_int_equal(hf_file_name_parse("00000000000000000001-m-" ID, &ticket),
                     HF_FILE_NAME_TICKET);
    assert_int_equal(
        hf_file_name_parse("00000000000000000001-l01-" ID, &ticket),
        HF_FILE_NAME_TICKET);
}
