/* SPDX-License-Identifier: Apache-2.0 */
/* What the sessions of other programs hold (cli/session_table.h). */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/session_table.h"
#include "cmocka/runner.h"
#include <holdfast/holdfast.h>

#define ROOM HF_DEADLOCK_SESSION_HOLDS

/* Add a ticket of ${session} whose id begins with ${digits}. */
static void add(struct hf_session_table *table, uint64_t session,
                const char *name, unsigned digits, bool holds)
{
    char id[HF_TICKET_ID_TEXT_BYTES];
    const struct hf_ticket_view view = {.id = id,
                                        .kind = HF_KIND_MUTEX,
                                        .holds = holds,
                                        .owner = "192.0.2.1",
                                        .session = session};

    (void)snprintf(id, sizeof id, "%08x-0000-4000-8000-000000000000", digits);
    hf_session_table_add(table, name, &view);
}

TEST(a_session_holds_what_its_tickets_hold)
{
    struct hf_session_table table = {.cut = false};
    struct hf_session_hold holds[ROOM];

    add(&table, 7, "a", 0x11, true);
    add(&table, 8, "a", 0x12, false);
    add(&table, 7, "b", 0x13, true);
    add(&table, 8, "b", 0x14, false);
    add(&table, 7, "c", 0x15, false);
    assert_int_equal(hf_session_table_find(&table, 7, "c", holds), 2);
    assert_string_equal(holds[0].lock, "a");
    assert_int_equal(holds[0].id, 0x11);
    assert_string_equal(holds[1].lock, "b");
    assert_int_equal(holds[1].id, 0x13);
    assert_int_equal(hf_session_table_find(&table, 7, "a", holds), 0);
    assert_int_equal(hf_session_table_find(&table, 8, "a", holds), 0);
    assert_int_equal(hf_session_table_find(&table, 9, "a", holds), 0);
    assert_false(table.cut);
    hf_session_table_free(&table);
}

/* Our own say it themselves, and nobody waits in an election or a barrier. */
TEST(some_tickets_do_not_count)
{
    struct hf_session_table table = {.cut = false};
    struct hf_ticket_view view = {.id = "00000011-0000-4000-8000-000000000000",
                                  .kind = HF_KIND_MUTEX,
                                  .holds = true,
                                  .owner = "host=h pid=1 command=c",
                                  .session = 7};
    struct hf_session_hold holds[ROOM];

    hf_session_table_add(&table, "a", &view);
    view.owner = "192.0.2.1";
    view.kind = HF_KIND_ELECTION;
    hf_session_table_add(&table, "a", &view);
    view.kind = HF_KIND_PARTICIPANT;
    hf_session_table_add(&table, "a", &view);
    add(&table, 0, "a", 0x12, true);
    assert_int_equal(hf_session_table_find(&table, 7, "b", holds), 0);
    assert_int_equal(hf_session_table_find(&table, 0, "b", holds), 0);
    hf_session_table_free(&table);
}

TEST(a_session_that_holds_too_much_is_cut)
{
    struct hf_session_table table = {.cut = false};
    struct hf_session_hold holds[ROOM];
    char name[16];

    for (unsigned i = 0; i < ROOM; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        add(&table, 7, name, i + 1, true);
    }
    assert_int_equal(hf_session_table_find(&table, 7, "a", holds), ROOM);
    assert_false(table.cut);
    add(&table, 7, "one more", ROOM + 1, true);
    assert_int_equal(hf_session_table_find(&table, 7, "a", holds), 0);
    assert_true(table.cut);
    hf_session_table_free(&table);
}

static hf_status visit(void *arg, const char *name, struct hf_error *error)
{
    (void)error;
    strcat(arg, name);
    return HF_OK;
}

/* Session 7 holds a, 8 holds b, 9 nothing. */
TEST(each_name_that_leads_on_is_visited_once)
{
    struct hf_session_table table = {.cut = false};
    struct hf_error error;
    char visited[16] = "";

    add(&table, 7, "a", 0x11, true);
    add(&table, 8, "a", 0x12, false);
    add(&table, 9, "a", 0x13, false);
    add(&table, 8, "b", 0x14, true);
    add(&table, 9, "b", 0x15, false);
    add(&table, 7, "c", 0x16, false);
    add(&table, 8, "c", 0x17, false);
    add(&table, 9, "d", 0x18, false);
    assert_int_equal(hf_session_table_for_each(&table, visit, visited, &error),
                     HF_OK);
    assert_string_equal(visited, "ca");
    hf_session_table_free(&table);
}
