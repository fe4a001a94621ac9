/* SPDX-License-Identifier: Apache-2.0 */
/* What a ticket in the queue NAME/locks is for: its id says whether it is a
 * mutex or in front of a lease. */
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "core/admission.h"

static struct hf_random a_random;

static struct hf_ticket ticket(uint64_t sequence, enum hf_ticket_role role)
{
    struct hf_ticket made = {.id = hf_ticket_id_random(&a_random),
                             .sequence = sequence,
                             .token = sequence,
                             .kind = HF_TICKET_MUTEX,
                             .weight = 1,
                             .payload = ""};

    if (role != HF_ROLE_UNKNOWN)
        hf_ticket_id_set_role(&made.id, role);
    return made;
}

TEST(an_id_says_its_role)
{
    static const enum hf_ticket_role roles[] = {HF_ROLE_ENTRY, HF_ROLE_LOCK};
    struct hf_ticket_id id, read;
    char text[HF_TICKET_ID_TEXT_BYTES];

    for (size_t i = 0; i < 2; i++) {
        id = ticket(1, roles[i]).id;
        assert_int_equal(hf_ticket_id_role(&id), roles[i]);
        hf_ticket_id_format(&id, text);
        assert_int_equal(text[14], '8');           /* the version ... */
        assert_non_null(strchr("89ab", text[19])); /* ... and the variant */
        assert_true(hf_ticket_id_parse(&read, text, strlen(text)));
        assert_int_equal(hf_ticket_id_role(&read), roles[i]);
    }
}

/* Ids of other clients may have any bytes. */
TEST(other_ids_say_none)
{
    struct hf_ticket_id id;

    for (int i = 0; i < 1000; i++) {
        id = hf_ticket_id_random(&a_random);
        assert_int_equal(hf_ticket_id_role(&id), HF_ROLE_UNKNOWN);
        id.bytes[6] = (uint8_t)(0x80 | (i & 15));
        assert_int_equal(hf_ticket_id_role(&id), HF_ROLE_UNKNOWN);
    }
    id = ticket(1, HF_ROLE_ENTRY).id;
    id.bytes[6] = 0x40;
    assert_int_equal(hf_ticket_id_role(&id), HF_ROLE_UNKNOWN);
    id = ticket(1, HF_ROLE_ENTRY).id;
    id.bytes[8] = 0;
    assert_int_equal(hf_ticket_id_role(&id), HF_ROLE_UNKNOWN);
}

TEST(queues_that_have_roles)
{
    assert_true(hf_queue_has_roles("a/locks"));
    assert_true(hf_queue_has_roles("a/locks/locks"));
    assert_false(hf_queue_has_roles("locks"));
    assert_false(hf_queue_has_roles("/locks"));
    assert_false(hf_queue_has_roles("a/leases"));
    assert_false(hf_queue_has_roles("a-locks"));
    assert_false(hf_queue_has_roles("a/locks/b"));
}

TEST(known_roles_that_differ_do_not_meet)
{
    for (enum hf_ticket_role a = HF_ROLE_UNKNOWN; a <= HF_ROLE_LOCK; a++) {
        for (enum hf_ticket_role b = HF_ROLE_UNKNOWN; b <= HF_ROLE_LOCK; b++) {
            struct hf_ticket queue[] = {ticket(1, a), ticket(2, b)};
            struct hf_snapshot snapshot = {queue, 2, 0};
            bool meet = a == b || a == HF_ROLE_UNKNOWN || b == HF_ROLE_UNKNOWN;
            struct hf_admission admission =
                hf_admission_decide(&snapshot, &queue[1].id, HF_TICKET_MUTEX);

            assert_int_equal(admission.answer,
                             meet ? HF_WAIT_FOR : HF_WRONG_KIND);
            assert_ptr_equal(admission.nearest, &queue[0]);
            /* The ticket ahead is not asked to let go. */
            admission =
                hf_admission_decide(&snapshot, &queue[0].id, HF_TICKET_MUTEX);
            assert_int_equal(admission.answer, HF_ADMITTED);
        }
    }
}

TEST(what_is_no_lease_is_seen)
{
    struct hf_ticket queue[] = {ticket(1, HF_ROLE_UNKNOWN),
                                ticket(2, HF_ROLE_UNKNOWN)};
    struct hf_snapshot snapshot = {queue, 2, 0};

    queue[0].kind = HF_TICKET_LEASE;
    assert_ptr_equal(hf_admission_not_a_lease(&snapshot), &queue[1]);
    queue[1].kind = HF_TICKET_LEASE;
    assert_null(hf_admission_not_a_lease(&snapshot));
}

TEST_FILE(role)
{
    hf_random_seed(&a_random, 1);
    return RUN_TESTS(NULL, NULL);
}
