/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a PostgreSQL server, also nonsense, and the failures that they
 * become. */
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/postgres/pg_private.h"

/* ------------------------------------------------- in place of the machine */

static struct {
    unsigned answers;
    unsigned notices;
    bool ok;
    enum hf_failure failure;
    size_t count;
    size_t missing;
    struct hf_ticket first;
    struct hf_store_notice notice;
    char queue[64];
} events;

void hf_leased_answered(struct hf_leased *leased, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t now_ms)
{
    (void)leased;
    (void)call;
    (void)now_ms;
    events.answers++;
    events.ok = answer->ok;
    events.failure = answer->failure;
    events.count = answer->count;
    events.missing = 0;
    for (size_t i = 0; i < answer->count; i++)
        events.missing += answer->leases[i].missing;
    if (answer->count > 0)
        events.first = answer->tickets[0];
}

void hf_leased_notice(struct hf_leased *leased,
                      const struct hf_store_notice *notice, uint64_t now_ms)
{
    (void)leased;
    (void)now_ms;
    events.notices++;
    events.notice = *notice;
    (void)snprintf(events.queue, sizeof events.queue, "%s", notice->queue);
}

uint64_t hf_leased_engine_now_ms(const struct hf_engine *engine)
{
    (void)engine;
    return 1;
}

void hf_pg_down(struct hf_store *store, hf_status status, const char *format,
                ...)
{
    (void)status;
    (void)format;
    store->number++;
}

static struct hf_engine engine;
static struct hf_store store = {.engine = &engine, .backend = 7};

/* ------------------------------------------------------------------ rows -- */

enum { COLUMNS = 14 };

static const Oid types[COLUMNS] = {23, 20, 23, 16, 17, 2950, 20,
                                   23, 23, 17, 20, 23, 20,   23};

static PGresult *rows_of(const Oid of[COLUMNS], int count)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc columns[COLUMNS];
    char name[] = "column";

    memset(columns, 0, sizeof columns);
    for (int i = 0; i < count; i++) {
        columns[i].name = name;
        columns[i].typid = of[i];
        columns[i].format = 1;
    }
    assert_int_equal(PQsetResultAttrs(result, count, columns), 1);
    return result;
}

static void put(PGresult *result, int row, int column, const void *bytes,
                int count)
{
    char copy[64];

    memcpy(copy, bytes, (size_t)count);
    assert_int_equal(PQsetvalue(result, row, column, copy, count), 1);
}

static void put_four(PGresult *result, int row, int column, uint32_t number)
{
    number = htobe32(number);
    put(result, row, column, &number, 4);
}

static void put_eight(PGresult *result, int row, int column, uint64_t number)
{
    number = htobe64(number);
    put(result, row, column, &number, 8);
}

static PGresult *head_of(uint32_t code, uint32_t backend)
{
    PGresult *result = rows_of(types, COLUMNS);

    put_four(result, 0, 0, code);
    put_eight(result, 0, 1, 1000);
    put_four(result, 0, 2, backend);
    return result;
}

/* Clears ${result}. */
static bool answer_in_doubt(struct hf_store_call *call, PGresult *result,
                            const char *doubt)
{
    char why[HF_PG_TEXT_BYTES] = "";
    bool sense;

    memset(&events, 0, sizeof events);
    sense = hf_pg_answer_call(&store, call, result, doubt, why);
    assert_int_equal(sense, why[0] == '\0');
    PQclear(result);
    return sense;
}

static bool answer_to(struct hf_store_call *call, PGresult *result)
{
    return answer_in_doubt(call, result, "");
}

/* ----------------------------------------------------------------- tests -- */

TEST(a_ticket_is_read)
{
    struct hf_store_call call = {.kind = HF_STORE_LIST};
    PGresult *result = head_of(0, 7);

    put(result, 1, 5, "0123456789abcdef", 16);
    put_eight(result, 1, 6, UINT64_C(1) << 40);
    put_four(result, 1, 7, HF_TICKET_READ);
    put_four(result, 1, 8, 3);
    put(result, 1, 9, "me", 2);
    assert_true(answer_to(&call, result));
    assert_true(events.ok);
    assert_int_equal(events.count, 1);
    assert_memory_equal(events.first.id.bytes, "0123456789abcdef", 16);
    assert_int_equal(events.first.sequence, UINT64_C(1) << 40);
    assert_int_equal(events.first.kind, HF_TICKET_READ);
    assert_int_equal(events.first.weight, 3);
    assert_int_equal(store.server_ms, 1000);
}

TEST(a_kind_of_later_is_in_everybodys_way)
{
    struct hf_store_call call = {.kind = HF_STORE_LIST};
    PGresult *result = head_of(0, 7);

    put(result, 1, 5, "0123456789abcdef", 16);
    put_four(result, 1, 7, 4711);
    assert_true(answer_to(&call, result));
    assert_int_equal(events.first.kind, HF_TICKET_EXCLUSIVE);
}

TEST(what_a_renewal_does_not_name_is_missing)
{
    struct hf_ticket_id ids[3] = {{{1}}, {{2}}, {{3}}};
    struct hf_store_ticket_set ticket_sets[2] = {
        {.queue = "a", .tickets = ids, .count = 2},
        {.queue = "b", .tickets = ids + 2, .count = 1},
    };
    struct hf_store_call call = {.kind = HF_STORE_RENEW,
                                 .ticket_sets = ticket_sets,
                                 .ticket_set_count = 2};
    PGresult *result = head_of(0, 7);

    assert_true(answer_to(&call, result));
    assert_int_equal(events.missing, 3);
    result = head_of(0, 7);
    put(result, 0, 4, (const struct hf_ticket_id[]){ids[2], ids[0]}, 32);
    assert_true(answer_to(&call, result));
    assert_int_equal(events.missing, 1);
    assert_int_equal(events.first.id.bytes[0], 2);
}

TEST(what_came_late_may_be_tried_again)
{
    struct hf_store_call call = {.kind = HF_STORE_ENQUEUE};

    assert_true(answer_to(&call, head_of(1, 7)));
    assert_int_equal(events.answers, 1);
    assert_false(events.ok);
}

TEST(what_was_not_committed_for_sure_is_unsure)
{
    struct hf_store_call enqueue = {.kind = HF_STORE_ENQUEUE};
    struct hf_store_call list = {.kind = HF_STORE_LIST};

    assert_true(answer_in_doubt(&enqueue, head_of(0, 7), "no standby has it"));
    assert_int_equal(events.answers, 1);
    assert_false(events.ok);
    assert_int_equal(events.failure, HF_FAILURE_UNSURE);
    assert_true(answer_in_doubt(&list, head_of(0, 7), "no standby has it"));
    assert_false(events.ok);
    assert_int_equal(events.failure, HF_FAILURE_RETRY);
}

TEST(nonsense_is_no_answer)
{
    struct hf_store_call call = {.kind = HF_STORE_LIST};
    Oid others[COLUMNS];
    PGresult *result;

    memcpy(others, types, sizeof others);
    others[6] = 25;
    assert_false(answer_to(&call, rows_of(types, COLUMNS)));     /* no head */
    assert_false(answer_to(&call, rows_of(types, COLUMNS - 1))); /* narrow */
    assert_false(answer_to(&call, head_of(0, 8))); /* another backend */
    assert_false(answer_to(&call, PQmakeEmptyPGresult(NULL, PGRES_COMMAND_OK)));
    result = rows_of(others, COLUMNS);
    put_four(result, 0, 0, 0);
    assert_false(answer_to(&call, result)); /* other types */
    result = head_of(0, 7);
    put(result, 1, 5, "short", 5);
    assert_false(answer_to(&call, result)); /* half an id */
    result = head_of(0, 7);
    put_eight(result, 1, 6, 1);
    assert_false(answer_to(&call, result)); /* no id */
    assert_int_equal(events.answers, 0);
}

/* --------------------------------------------------------------- notices -- */

#define REST "1234567-89ab-4def-8123-456789abcdef"
#define ID "0" REST

static unsigned notices_of(const char *text)
{
    char extra[3000];
    PGnotify notify = {.extra = extra};

    (void)snprintf(extra, sizeof extra, "%s", text);
    memset(&events, 0, sizeof events);
    hf_pg_notice(&store, &notify);
    return events.notices;
}

TEST(notices_are_read)
{
    assert_int_equal(notices_of("gone " ID " 0 612f62"), 1);
    assert_int_equal(events.notice.kind, HF_STORE_GONE);
    assert_int_equal(events.notice.ticket_kind, 0);
    assert_int_equal(events.notice.ticket.bytes[0], 1);
    assert_string_equal(events.queue, "a/b");
    assert_int_equal(notices_of("gone " ID " 3 61"), 1);
    assert_int_equal(events.notice.ticket_kind, HF_TICKET_WRITE);
    assert_int_equal(events.notice.first.bytes[0], 0);
    assert_int_equal(notices_of("first f" REST " " ID " 61"), 1);
    assert_int_equal(events.notice.kind, HF_STORE_GONE);
    assert_int_equal(events.notice.ticket_kind, 0);
    assert_int_equal(events.notice.ticket.bytes[0], 1);
    assert_int_equal(events.notice.first.bytes[0], 0xf1);
    assert_int_equal(notices_of("revoked " ID " 12 61"), 1);
    assert_int_equal(events.notice.kind, HF_STORE_REVOKED);
    assert_int_equal(events.notice.revoked, 12);
    assert_int_equal(notices_of("changed 61"), 1);
    assert_int_equal(events.notice.kind, HF_STORE_CHANGED);
}

TEST(a_notice_that_makes_no_sense_is_passed_over)
{
    static const char *const texts[] = {
        "",
        "gone",
        "gone ",
        "gone " ID,
        "gone " ID " 0",
        "gone " ID " 0 ",
        "gone " ID " x 61",
        "gone " ID " 0 6",
        "gone " ID " 0 6g",
        "gone " ID " 0 6100",
        "gone 0123 0 61",
        "first " ID " 61",
        "first " ID " " ID,
        "first " ID " 0 61",
        "changed",
        "changed ",
        "changed 61 62",
        "went " ID " 0 61",
    };
    char endless[2500];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (notices_of(texts[i]) != 0)
            fail_msg("\"%s\" was taken", texts[i]);
    }
    memset(endless, '6', sizeof endless);
    memcpy(endless, "changed ", 8);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(notices_of(endless), 0);
}

/* A state that is not known is not tried again. */
TEST(connection_errors_are_distinguished_by_their_state)
{
    assert_int_equal(hf_pg_failure("42501").status, HF_EDENIED);
    assert_int_equal(hf_pg_failure("XX999").failure, HF_FAILURE_FATAL);
    assert_int_equal(hf_pg_failure("ZZ999").failure, HF_FAILURE_FATAL);
    assert_int_equal(hf_pg_failure("ZZ999").status, HF_EPROTOCOL);
}
