/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of a double barrier (core/admission.h): which participants
 * may enter, and which may leave. */
#include <stdint.h>

#include "cmocka/runner.h"
#include "core/admission.h"

#define ROOM 8

/* The participants, in the order of their tokens. */
struct barrier_case {
    struct hf_ticket tickets[ROOM];
    struct hf_snapshot snapshot;
};

static struct hf_ticket_id id_of(char name)
{
    return (struct hf_ticket_id){{(uint8_t)name}};
}

/* Fill a case from text: a letter for a participant, in the order of names,
 * and '!' for the generation.  Each token is the position, from 1. */
static struct barrier_case *barrier_case(struct barrier_case *s,
                                         const char *who)
{
    *s = (struct barrier_case){.snapshot = {s->tickets, 0, 0}};
    for (; *who != '\0'; who++) {
        struct hf_ticket *ticket = &s->tickets[s->snapshot.count++];

        assert_true(s->snapshot.count <= ROOM);
        ticket->id = id_of(*who);
        ticket->token = s->snapshot.count;
        ticket->kind = *who == '!' ? HF_TICKET_READY : HF_TICKET_PARTICIPANT;
    }
    return s;
}

static enum hf_enter_answer enter(const char *who, char name,
                                  uint32_t participants)
{
    struct hf_ticket_id mine = id_of(name);
    struct barrier_case s;

    barrier_case(&s, who);
    return hf_double_barrier_decide_enter(&s.snapshot, &mine, participants)
        .answer;
}

static enum hf_leave_answer leave(const char *who, char name,
                                  uint64_t generation, bool keeps)
{
    struct hf_ticket_id mine = id_of(name);
    struct barrier_case s;

    barrier_case(&s, who);
    return hf_double_barrier_decide_leave(&s.snapshot, &mine, generation,
                                          keeps);
}

TEST(who_is_not_there_does_not_go_in)
{
    assert_int_equal(enter("", 'a', 1), HF_ENTER_MISSING);
    assert_int_equal(enter("bc!", 'a', 2), HF_ENTER_MISSING);
}

TEST(too_few_wait_and_enough_make_a_generation)
{
    assert_int_equal(enter("a", 'a', 2), HF_ENTER_WAIT);
    assert_int_equal(enter("ab", 'a', 3), HF_ENTER_WAIT);
    assert_int_equal(enter("abc", 'a', 3), HF_ENTER_NEW_GENERATION);
    assert_int_equal(enter("abc", 'c', 3), HF_ENTER_NEW_GENERATION);
    assert_int_equal(enter("abcd", 'b', 3), HF_ENTER_NEW_GENERATION);
    assert_int_equal(enter("a", 'a', 1), HF_ENTER_NEW_GENERATION);
}

TEST(fn66_a_generation_counts_for_those_it_found)
{
    assert_int_equal(enter("ab!", 'a', 2), HF_ENTER_PASS);
    assert_int_equal(enter("ab!", 'b', 2), HF_ENTER_PASS);
    assert_int_equal(enter("ab!c", 'a', 2), HF_ENTER_PASS);
    /* The others have left. */
    assert_int_equal(enter("a!", 'a', 2), HF_ENTER_PASS);
}

TEST(fn66_an_old_generation_lets_nobody_in)
{
    assert_int_equal(enter("!a", 'a', 2), HF_ENTER_WAIT);
    assert_int_equal(enter("a!b", 'b', 3), HF_ENTER_WAIT);
    assert_int_equal(enter("!ab", 'a', 2), HF_ENTER_NEW_GENERATION);
    assert_int_equal(enter("a!b", 'b', 2), HF_ENTER_NEW_GENERATION);
}

TEST(the_generation_does_not_count_as_a_participant)
{
    struct hf_ticket_id mine = id_of('a');
    struct hf_enter_decision answer;
    struct barrier_case s;

    barrier_case(&s, "!ab");
    answer = hf_double_barrier_decide_enter(&s.snapshot, &mine, 3);
    assert_int_equal(answer.answer, HF_ENTER_WAIT);
    assert_int_equal(answer.participants, 2);
    assert_int_equal(answer.generation, 1);
}

TEST(the_last_of_the_generation_goes)
{
    assert_int_equal(leave("a!", 'a', 2, true), HF_LEAVE_PASS);
    assert_int_equal(leave("!", 'a', 2, false), HF_LEAVE_PASS);
    assert_int_equal(leave("", 'a', 2, false), HF_LEAVE_PASS);
}

TEST(the_lowest_keeps_its_ticket_and_others_yield)
{
    assert_int_equal(leave("abc!", 'a', 4, true), HF_LEAVE_WAIT);
    assert_int_equal(leave("abc!", 'b', 4, true), HF_LEAVE_YIELD);
    assert_int_equal(leave("abc!", 'c', 4, true), HF_LEAVE_YIELD);
    assert_int_equal(leave("cba!", 'c', 4, true), HF_LEAVE_YIELD);
    assert_int_equal(leave("bc!", 'b', 3, true), HF_LEAVE_WAIT);
}

/* Also where a list still shows a ticket that was removed. */
TEST(who_has_yielded_waits_for_all)
{
    assert_int_equal(leave("a!", 'b', 2, false), HF_LEAVE_WAIT);
    assert_int_equal(leave("ab!", 'b', 3, false), HF_LEAVE_WAIT);
    assert_int_equal(leave("b!", 'b', 2, false), HF_LEAVE_PASS);
}

TEST(later_participants_are_of_another_generation)
{
    assert_int_equal(leave("b!a", 'b', 2, true), HF_LEAVE_PASS);
    assert_int_equal(leave("!ab", 'c', 1, false), HF_LEAVE_PASS);
    /* b has entered since. */
    assert_int_equal(leave("ba!", 'b', 2, true), HF_LEAVE_PASS);
    assert_int_equal(leave("ba!", 'a', 3, true), HF_LEAVE_WAIT);
}

/* Whatever participants of a generation are left, in any order: one keeps its
 * ticket, and once all have asked to leave one of them can. */
TEST(somebody_always_gets_on)
{
    static const char *const orders[] = {"abc!", "acb!", "bac!",
                                         "bca!", "cab!", "cba!"};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        size_t keep = 0;

        for (const char *name = "abc"; *name != '\0'; name++)
            keep += leave(orders[i], *name, 4, true) == HF_LEAVE_WAIT;
        assert_int_equal(keep, 1);
    }
}
