/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of the keys of a queue change what a list has shown. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/etcd/etcd_private.h"
#include "engines/etcd/queue_change.h"

#define UUID "0f3c2a10-1111-4222-8333-444455556666"
#define TICKET "abc-1"
#define PARTICIPANT "abc-p1"
#define CANDIDATE "abc-" UUID
#define FOREIGN "def"

enum change { MADE, WRITTEN, DELETED };

static struct hf_etcd_engine engine;
static struct hf_etcd_engine_queue *queue;
static struct hf_etcd_engine_shown shown;

static void set_up(bool participants, bool has_writers)
{
    memset(&engine, 0, sizeof engine);
    hf_etcd_engine_tables_init(&engine);
    queue = hf_etcd_engine_queue_use(&engine, "q");
    assert_non_null(queue);
    shown = (struct hf_etcd_engine_shown){participants, has_writers};
}

static void tear_down(void)
{
    hf_etcd_engine_queue_release(&engine, queue);
}

static bool changes(enum change change, const char *suffix, const char *value)
{
    char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_event event = {
        .deleted = change == DELETED,
        .kv = {.create_revision = change == MADE ? 7 : 5,
               .mod_revision = 7,
               .value = {value, strlen(value)}}};

    if (event.deleted)
        event.kv.create_revision = 0; /* the server does not say it */
    (void)snprintf(key, sizeof key, "%s%s", queue->prefix, suffix);
    event.kv.key = (struct hf_etcd_bytes){key, strlen(key)};
    return hf_etcd_engine_is_change(queue, &shown, &event);
}

TEST(what_comes_and_what_goes)
{
    static const char *const names[] = {TICKET, CANDIDATE, FOREIGN};

    set_up(false, false);
    for (size_t i = 0; i < 3; i++) {
        assert_true(changes(MADE, names[i], "read " UUID "\n"));
        assert_true(changes(DELETED, names[i], ""));
    }
    assert_false(changes(MADE, PARTICIPANT, "participant " UUID "\n"));
    assert_false(changes(MADE, "deeper/" TICKET, "mutex " UUID "\n"));
    tear_down();
}

/* A description, a request to release, an eviction that is about to be carried
 * out. */
TEST(a_text_is_no_change)
{
    static const char *const values[] = {
        "mutex " UUID "\nx", "write " UUID "\nx", "evicted mutex " UUID "\nx"};

    for (int has_writers = 0; has_writers < 2; has_writers++) {
        set_up(false, has_writers == 1);
        for (size_t i = 0; i < 3; i++)
            assert_false(changes(WRITTEN, TICKET, values[i]));
        assert_false(changes(WRITTEN, CANDIDATE, "x"));
        assert_int_equal(changes(WRITTEN, TICKET, "read " UUID "\nx"),
                         has_writers);
        assert_true(changes(WRITTEN, FOREIGN, "x"));
        tear_down();
    }
}

TEST(a_list_has_writers)
{
    struct hf_etcd_engine_listed listed[2] = {
        {.ticket = {.kind = HF_TICKET_READ}},
        {.ticket = {.kind = HF_TICKET_WRITE}}};
    struct hf_etcd_engine_list list = {.listed = listed, .count = 1};

    assert_false(hf_etcd_engine_shown_by(&list, false).has_writers);
    list.count = 2;
    assert_true(hf_etcd_engine_shown_by(&list, false).has_writers);
    assert_true(hf_etcd_engine_shown_by(&list, true).participants);
}

TEST(participants_and_generations)
{
    set_up(true, false);
    assert_true(changes(MADE, PARTICIPANT, "participant " UUID "\n"));
    assert_false(changes(WRITTEN, PARTICIPANT, "participant " UUID "\nx"));
    assert_true(changes(DELETED, PARTICIPANT, ""));
    assert_true(changes(WRITTEN, "/ready", "ready " UUID "\n"));
    assert_false(changes(MADE, TICKET, "mutex " UUID "\n"));
    tear_down();
}
