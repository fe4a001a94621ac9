/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the names of queues, a page at a time. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* More nodes than two pages ask about. */
#define NODES 9000

/* What becomes of the node of this number while it waits to be asked. */
enum fate {
    STAYS, /* it has a ticket, and so has a node below it */
    GOES,  /* it had a ticket */
    EMPTY, /* only a node below it has a ticket */
    FATES
};

static struct walk {
    unsigned listed[NODES];
    unsigned below[NODES];
    unsigned pages;
    char cursor[NODES * 16];
    size_t cursor_bytes;
} walk;

/* Begin to walk over the names below the root, where the cursor is. */
static void ask_page(struct zk_fixture *f)
{
    f->queue = "";
    f->names = (struct hf_names_request){walk.cursor, walk.cursor_bytes, false};
    (void)ask(f, HF_REQUEST_NAMES, "z");
}

static void begin(struct zk_fixture *f)
{
    memset(&walk, 0, sizeof walk);
    zk_fixture_connected(f);
}

static void take_name(const char *queue)
{
    char below[2] = "";
    unsigned number;
    int fields = sscanf(queue, "node%u/%1[x]", &number, below);

    assert_in_range(fields, 1, 2);
    assert_true(number < NODES);
    if (fields == 2)
        walk.below[number]++;
    else
        walk.listed[number]++;
}

/* The event hook: count what is listed, and keep the cursor. */
static void take_page(struct zk_fixture *f, const struct hf_event *event)
{
    const struct hf_names_answer *names = event->as.answer.names;

    (void)f;
    if (event->kind != HF_EVENT_NAMED)
        return;
    for (size_t i = 0; i < names->count; i++)
        take_name(names->queues[i].queue);
    assert_true(names->cursor_bytes <= sizeof walk.cursor);
    if (names->cursor_bytes > 0)
        memcpy(walk.cursor, names->cursor, names->cursor_bytes);
    walk.cursor_bytes = names->cursor_bytes;
    walk.pages++;
}

/* Answer the root's children. */
static void answer_root(struct zk_fixture *f)
{
    static char text[NODES * 16];
    size_t used = 0;

    for (unsigned i = 0; i < NODES; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "node%u ", i);
    children(f, text);
}

/* Answer a question about the children of a node. */
static void answer_node(struct zk_fixture *f)
{
    char below[2] = "";
    unsigned number;
    int fields = sscanf(f->first->path, "/node%u/%1[x]", &number, below);

    if (fields < 1)
        answer_root(f);
    else if (number % FATES == GOES)
        refused(f, HF_ZK_NO_NODE);
    else if (fields == 2)
        children(f, "y#2");
    else
        children(f, number % FATES == STAYS ? "x#1 xx" : "xx");
}

/* Ask for pages until the last, at most ${pages}. */
static void walk_over_all(struct zk_fixture *f, unsigned pages)
{
    do {
        assert_in_range(walk.pages, 0, pages - 1);
        ask_page(f);
        done(f);
        while (f->first != NULL)
            answer_node(f);
        (void)zk_fixture_sent(f);
        (void)zk_fixture_events(f);
    } while (walk.cursor_bytes > 0);
    assert_int_equal(walk.pages, pages);
}

/* Each page asks about 4096 nodes. */
ZK_TEST_FROM(who_stays_is_listed_once_in_all_pages, begin(f))
{
    f->event_hook = take_page;
    walk_over_all(f, 4);
    for (unsigned i = 0; i < NODES; i++) {
        assert_int_equal(walk.listed[i], i % FATES == STAYS);
        assert_int_equal(walk.below[i], i % FATES != GOES);
    }
}

ZK_TEST_FROM(a_page_is_one_reading, begin(f))
{
    ask_page(f);
    assert_string_equal(zk_fixture_sent(f), "SYNC /; LIST /");
    done(f);
    children(f, "ab zookeeper");
    assert_string_equal(zk_fixture_sent(f), "LIST ab");
    children(f, "x#1 y#2 i/m");
    assert_string_equal(zk_fixture_events(f), "NAMED z: ab* ab");
}
