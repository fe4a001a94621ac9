/* SPDX-License-Identifier: Apache-2.0 */
/* The admission rule (core/admission.h), compared with a definition that is
 * too slow to use and plain enough to trust: for every queue of up to six
 * tickets of every mix of kinds, and for every ticket in it. */
#include <string.h>

#include "cmocka/runner.h"
#include "core/admission.h"

#define LONGEST 6
#define KINDS 5
#define MEANINGS ((size_t)3)

/* By the kind that a ticket is shown as: what it may be. */
static const enum hf_ticket_kind may_be[][MEANINGS] = {
    [HF_TICKET_MUTEX] = {HF_TICKET_MUTEX},
    [HF_TICKET_READ] = {HF_TICKET_READ},
    [HF_TICKET_WRITE] = {HF_TICKET_WRITE},
    [HF_TICKET_ELECTION] = {HF_TICKET_ELECTION},
    [HF_TICKET_EXCLUSIVE] = {HF_TICKET_MUTEX, HF_TICKET_WRITE,
                             HF_TICKET_ELECTION},
};

static struct hf_ticket_id id_of(size_t place)
{
    struct hf_ticket_id id = {{(uint8_t)(place + 1)}};

    return id;
}

static size_t position_of(const struct hf_ticket *ticket)
{
    return ticket->id.bytes[0] - 1u;
}

/* The kinds that may be in one queue, without permits. */
static const enum hf_ticket_kind plain[KINDS] = {
    HF_TICKET_MUTEX, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_ELECTION,
    HF_TICKET_EXCLUSIVE};

/* The ${number}-th queue of ${count} tickets, in base KINDS. */
static void make_queue(struct hf_ticket *tickets, size_t count, unsigned number)
{
    for (size_t i = 0; i < count; i++) {
        tickets[i] = (struct hf_ticket){
            .id = id_of(i),
            .sequence = 10 + i,
            .token = i,
            .kind = plain[number % KINDS],
            .weight = 1,
            .payload = "",
        };
        number /= KINDS;
    }
}

static bool conflict(enum hf_ticket_kind a, enum hf_ticket_kind b)
{
    return !(a == HF_TICKET_READ && b == HF_TICKET_READ);
}

/* Readers and writers are kinds of one lock. */
static enum hf_ticket_kind family(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_WRITE ? HF_TICKET_READ : kind;
}

/* True if it may be a ticket of the lock that ${kind} is of. */
static bool same_lock(const struct hf_ticket *seen, enum hf_ticket_kind kind)
{
    return seen->kind == HF_TICKET_EXCLUSIVE ||
           family(seen->kind) == family(kind);
}

static bool any_other_ahead(const struct hf_ticket *tickets, size_t mine,
                            enum hf_ticket_kind kind)
{
    for (size_t i = 0; i < mine; i++) {
        if (!same_lock(&tickets[i], kind))
            return true;
    }
    return false;
}

/* The ${nth} conflicting ticket ahead, counted from ours towards the head, or
 * -1. */
static int nth_blocking(const struct hf_ticket *tickets, size_t mine,
                        enum hf_ticket_kind kind, size_t nth)
{
    for (int i = (int)mine - 1; i >= 0; i--) {
        if (conflict(tickets[i].kind, kind) && nth-- == 0)
            return i;
    }
    return -1;
}

/* A writer that may become a reader keeps its number, so it counts as ahead. */
static bool any_write_ahead(const struct hf_ticket *tickets, size_t mine)
{
    for (size_t i = 0; i < mine; i++) {
        if (tickets[i].kind == HF_TICKET_WRITE ||
            tickets[i].kind == HF_TICKET_EXCLUSIVE)
            return true;
    }
    return false;
}

static void check_position(const struct hf_ticket *ticket, int expected)
{
    if (expected < 0)
        assert_null(ticket);
    else
        assert_int_equal(position_of(ticket), expected);
}

static void check_rule(const struct hf_ticket *tickets, size_t count,
                       size_t mine, enum hf_ticket_kind kind)
{
    struct hf_snapshot snapshot = {tickets, count, 0};
    struct hf_admission admission =
        hf_admission_decide(&snapshot, &tickets[mine].id, kind);
    size_t blocking = 0;
    bool marks[LONGEST];

    hf_admission_mark_admitted(&snapshot, marks);
    assert_int_equal(marks[mine], admission.answer == HF_ADMITTED);
    assert_int_equal(admission.ahead, mine);
    if (any_other_ahead(tickets, mine, kind)) {
        assert_int_equal(admission.answer, HF_WRONG_KIND);
        assert_false(same_lock(admission.nearest, kind));
        assert_true(position_of(admission.nearest) < mine);
        return;
    }
    while (nth_blocking(tickets, mine, kind, blocking) >= 0)
        blocking++;
    assert_int_equal(admission.answer,
                     blocking == 0 ? HF_ADMITTED : HF_WAIT_FOR);
    assert_int_equal(admission.blocking, blocking);
    check_position(admission.nearest, nth_blocking(tickets, mine, kind, 0));
    check_position(admission.second, nth_blocking(tickets, mine, kind, 1));
    assert_int_equal(admission.gone_admits,
                     kind == HF_TICKET_READ || !any_write_ahead(tickets, mine));
}

/* A list that has only the nearest tickets leads to the same decision as the
 * complete list.  The exception is a ticket of another kind of lock further
 * ahead: the first list that shows it reports that. */
static void check_partial_list(const struct hf_ticket *tickets, size_t count,
                               size_t mine, enum hf_ticket_kind kind)
{
    struct hf_ticket copy[LONGEST];
    struct hf_snapshot whole = {tickets, count, 0}, part = {copy, count, 0};
    struct hf_admission all =
        hf_admission_decide(&whole, &tickets[mine].id, kind);
    struct hf_admission some;

    memcpy(copy, tickets, count * sizeof *tickets);
    hf_admission_trim(&part, copy, &tickets[mine].id, kind);
    assert_true(part.count <= HF_ADMISSION_NEAREST + 2);
    assert_int_equal(position_of(&part.tickets[part.count - 1]), mine);
    assert_int_equal(position_of(&part.tickets[0]), 0);
    some = hf_admission_decide(&part, &tickets[mine].id, kind);
    assert_int_equal(some.ahead, mine);
    if (all.answer == HF_WRONG_KIND) {
        assert_int_not_equal(some.answer, HF_ADMITTED);
        assert_true(some.answer == HF_WRONG_KIND ||
                    some.blocking >= HF_ADMISSION_NEAREST);
        return;
    }
    assert_int_equal(some.answer, all.answer);
    check_position(some.nearest, nth_blocking(tickets, mine, kind, 0));
    check_position(some.second, nth_blocking(tickets, mine, kind, 1));
    if (all.blocking < HF_ADMISSION_NEAREST) {
        assert_int_equal(some.blocking, all.blocking);
        assert_int_equal(some.gone_admits, all.gone_admits);
    } else {
        assert_true(some.blocking >= HF_ADMISSION_NEAREST);
    }
}

static void check_each_kind(const struct hf_ticket *tickets, size_t count,
                            size_t mine)
{
    const enum hf_ticket_kind *kinds = may_be[tickets[mine].kind];

    for (size_t i = 0; i < MEANINGS && kinds[i] != 0; i++) {
        check_rule(tickets, count, mine, kinds[i]);
        check_partial_list(tickets, count, mine, kinds[i]);
    }
}

TEST(fn43_the_rule_holds_for_every_small_queue)
{
    struct hf_ticket tickets[LONGEST];
    unsigned queues = 1;

    for (size_t count = 1; count <= LONGEST; count++) {
        queues *= KINDS;
        for (unsigned number = 0; number < queues; number++) {
            make_queue(tickets, count, number);
            for (size_t mine = 0; mine < count; mine++)
                check_each_kind(tickets, count, mine);
        }
    }
}

static bool admitted(const struct hf_snapshot *snapshot, size_t place,
                     enum hf_ticket_kind kind)
{
    return kind != 0 &&
           hf_admission_decide(snapshot, &snapshot->tickets[place].id, kind)
                   .answer == HF_ADMITTED;
}

static void check_pair(const struct hf_snapshot *snapshot, size_t i, size_t j)
{
    const enum hf_ticket_kind *ones = may_be[snapshot->tickets[i].kind];
    const enum hf_ticket_kind *others = may_be[snapshot->tickets[j].kind];

    for (size_t k = 0; k < MEANINGS * MEANINGS; k++) {
        enum hf_ticket_kind one = ones[k / MEANINGS];
        enum hf_ticket_kind other = others[k % MEANINGS];

        if (admitted(snapshot, i, one) && admitted(snapshot, j, other))
            assert_false(conflict(one, other));
    }
}

/* The invariant itself: two tickets of one queue that may both enter now do
 * not conflict, whatever a ticket of an unknown kind is. */
TEST(nobody_is_admitted_beside_a_conflict)
{
    struct hf_ticket tickets[LONGEST];
    struct hf_snapshot snapshot = {tickets, LONGEST, 0};

    for (unsigned number = 0; number < 1u << 2 * LONGEST; number++) {
        make_queue(tickets, LONGEST, number);
        for (size_t i = 0; i < LONGEST; i++) {
            for (size_t j = 0; j < i; j++)
                check_pair(&snapshot, i, j);
        }
    }
}

TEST(a_missing_ticket_is_reported_missing)
{
    struct hf_ticket tickets[2];
    struct hf_snapshot snapshot = {tickets, 2, 0};
    struct hf_snapshot empty = {NULL, 0, 0};
    struct hf_ticket_id other = id_of(5);

    make_queue(tickets, 2, 0);
    assert_int_equal(
        hf_admission_decide(&snapshot, &other, HF_TICKET_READ).answer,
        HF_MISSING);
    assert_int_equal(
        hf_admission_decide(&empty, &other, HF_TICKET_MUTEX).answer,
        HF_MISSING);
}

TEST(a_reader_waits_for_the_nearest_writer)
{
    struct hf_ticket tickets[4];
    struct hf_snapshot snapshot = {tickets, 4, 0};
    struct hf_admission admission;

    make_queue(tickets, 4, 0);
    tickets[0].kind = tickets[2].kind = HF_TICKET_WRITE;
    tickets[1].kind = tickets[3].kind = HF_TICKET_READ;
    admission = hf_admission_decide(&snapshot, &tickets[3].id, HF_TICKET_READ);
    assert_int_equal(position_of(admission.nearest), 2);
    assert_int_equal(position_of(admission.second), 0);
    assert_int_equal(admission.blocking, 2);
    assert_true(admission.gone_admits);
}

/* The Lock, WriteLock and Election of kazoo have one name.  Whatever such a
 * ticket is, all wait for it, and it does not mean that the name is in use
 * for another kind of lock. */
TEST(what_may_be_of_several_kinds_is_waited_for)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_MUTEX, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_ELECTION};
    struct hf_ticket tickets[2];
    struct hf_snapshot snapshot = {tickets, 2, 0};
    struct hf_admission admission;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        make_queue(tickets, 2, 0);
        tickets[0].kind = HF_TICKET_EXCLUSIVE;
        tickets[1].kind = kinds[i];
        admission = hf_admission_decide(&snapshot, &tickets[1].id, kinds[i]);
        assert_int_equal(admission.answer, HF_WAIT_FOR);
        assert_int_equal(position_of(admission.nearest), 0);
        assert_int_equal(admission.gone_admits, kinds[i] == HF_TICKET_READ);
    }
}

/* Only the permits of leases ahead count. */
TEST(leases_wait_for_room)
{
    struct hf_ticket tickets[3];
    struct hf_snapshot snapshot = {tickets, 3, 0};
    struct hf_admission admission;

    make_queue(tickets, 3, 0);
    for (size_t i = 0; i < 3; i++) {
        tickets[i].kind = HF_TICKET_LEASE;
        tickets[i].weight = (uint32_t)i + 1;
    }
    for (uint32_t limit = 1; limit <= 8; limit++) {
        uint32_t permits = 0;

        for (size_t i = 0; i < 3; i++) {
            permits += tickets[i].weight;
            admission =
                hf_admission_decide_lease(&snapshot, &tickets[i].id, limit);
            assert_int_equal(admission.answer,
                             permits <= limit ? HF_ADMITTED : HF_WAIT_FOR);
            assert_int_equal(admission.blocking, permits <= limit ? 0 : 1);
            assert_null(admission.nearest);
        }
        assert_int_equal(hf_admission_has_room(&snapshot, 2, limit),
                         limit >= 8);
    }
}

TEST(leases_do_not_mix_with_others)
{
    struct hf_ticket tickets[2];
    struct hf_snapshot snapshot = {tickets, 2, 0};
    struct hf_admission admission;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        make_queue(tickets, 2, kind);
        tickets[1].kind = HF_TICKET_LEASE;
        admission = hf_admission_decide_lease(&snapshot, &tickets[1].id, 9);
        assert_int_equal(admission.answer, HF_WRONG_KIND);
        make_queue(tickets, 2, kind * KINDS);
        tickets[0].kind = HF_TICKET_LEASE;
        admission = hf_admission_decide(
            &snapshot, &tickets[1].id,
            plain[kind] == HF_TICKET_EXCLUSIVE ? HF_TICKET_MUTEX : plain[kind]);
        assert_int_equal(admission.answer, HF_WRONG_KIND);
    }
}
