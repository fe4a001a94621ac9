/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client of ZooKeeper reads of lists of children when it walks over
 * names, and of answers to a multiRead when it reads some texts of a queue. The
 * first byte chooses between these, and the layout; then come the answers, each
 * a byte that says of which kind it is and what it consists of.
 *
 * A page has names that are at or below the prefix; an input is too short for
 * more than one.  A list has texts of a length that a text may have.  The
 * checks of the fixture hold, see zk_fixture.h.
 */
#include <string.h>

#include "core/name_list.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "zk_fixture.h"

#define PREFIX "r"

static struct program {
    struct zk_fixture f;
    const uint8_t *bytes;
    size_t left;
} program;

static uint8_t next(void)
{
    if (program.left == 0)
        return 0;
    program.left--;
    return *program.bytes++;
}

/* --------------------------------------------------------------- answers -- */

/* Bytes of the input, as the record of an answer. */
static void answer_raw(void)
{
    size_t count = next();

    if (count > program.left)
        count = program.left;
    answer_with(&program.f, program.bytes, count);
    program.bytes += count;
    program.left -= count;
}

/* Children: some that are tickets of one of the layouts, some that are almost,
 * and names of the input. */
static void answer_children(uint8_t which)
{
    static const char *const nodes[] = {
        "x#1",    "y/r#2",      "z/l#3",     "i/m",       "ready", "locks",
        "leases", "a-__lock__", "zookeeper", "-__lock__", "limit", "A/p#4",
    };
    char text[256] = "";
    size_t used = 0;

    for (uint8_t count = which % 8; count > 0; count--) {
        uint8_t node = next();

        if (node < sizeof nodes / sizeof nodes[0])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                                     nodes[node]);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%c%c ",
                                     'a' + node % 26, 'a' + node / 26);
    }
    children(&program.f, text);
}

/* Parts of a multiRead: data, or an error of one node. */
static void answer_multi_read(uint8_t which)
{
    struct hf_jute_writer out = {0};
    static const uint8_t stat[HF_ZK_STAT_BYTES] = {0};

    heap_exempt(true);
    for (uint8_t count = which % 4; count > 0; count--) {
        bool fails = next() & 1;

        hf_jute_put_int(&out, fails ? -1 : HF_ZK_GET_DATA);
        hf_jute_put_bool(&out, false);
        hf_jute_put_int(&out, fails ? HF_ZK_NO_NODE : 0);
        if (fails) {
            hf_jute_put_int(&out, next() & 1 ? HF_ZK_NO_NODE : HF_ZK_NO_AUTH);
            continue;
        }
        hf_jute_put_string(&out, next() & 1 ? "host=h pid=1" : "\xff");
        hf_jute_put_bytes(&out, stat, sizeof stat);
    }
    hf_jute_put_int(&out, -1);
    hf_jute_put_bool(&out, true);
    hf_jute_put_int(&out, -1);
    heap_exempt(false);
    answer_with(&program.f, out.bytes, out.used);
    hf_jute_free(&out);
}

static void answer_oldest(void)
{
    static const int32_t errors[] = {HF_ZK_NO_NODE, HF_ZK_NO_AUTH,
                                     HF_ZK_UNIMPLEMENTED, HF_ZK_THROTTLED,
                                     -4711};
    int32_t opcode = program.f.first->opcode;
    uint8_t which = next();

    if (which >= 250)
        link_down(&program.f, "reset");
    else if (which >= 240)
        refused(&program.f, errors[which % 5]);
    else if (which >= 200)
        answer_raw();
    else if (opcode == HF_ZK_GET_CHILDREN)
        answer_children(which);
    else if (opcode == HF_ZK_MULTI_READ)
        answer_multi_read(which);
    else if (opcode == HF_ZK_GET_DATA)
        data(&program.f, which & 1 ? "me" : NULL, 17, 1);
    else
        done(&program.f);
}

/* ---------------------------------------------------------------- events -- */

static void check_names(const struct hf_names_answer *names)
{
    MUST(names->looked_at <= HF_NAMES_PAGE);
    MUST(names->unreadable <= names->looked_at);
    for (size_t i = 0; i < names->count; i++)
        MUST(hf_name_is_below(names->queues[i].queue, PREFIX));
    MUST(names->cursor_bytes == 0);
}

static void on_event(struct zk_fixture *f, const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    (void)f;
    if (event->kind == HF_EVENT_NAMED)
        check_names(event->as.answer.names);
    if (event->kind != HF_EVENT_LISTED)
        return;
    for (size_t i = 0; i < snapshot->count; i++)
        MUST(strlen(snapshot->tickets[i].payload) < HF_PAYLOAD_BYTES);
}

/* ------------------------------------------------------------- requests -- */

static void answer_all(void)
{
    while (program.f.first != NULL && program.left > 0)
        answer_oldest();
}

static void walk(void)
{
    program.f.queue = PREFIX;
    (void)ask(&program.f, HF_REQUEST_NAMES, "z");
    answer_all();
}

static void read_texts(void)
{
    program.f.detailed = true;
    program.f.texts = (struct hf_text_range){1, 2};
    program.f.queue = "q";
    (void)ask(&program.f, HF_REQUEST_LIST, "z");
    answer_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    uint8_t choice;

    memset(&program, 0, sizeof program);
    program.bytes = data_;
    program.left = bytes;
    choice = next();
    zk_fixture_layout = choice & 2 ? HF_ZK_KAZOO : HF_ZK_CURATOR;
    zk_fixture_connected(&program.f);
    program.f.event_hook = on_event;
    if (choice & 1)
        read_texts();
    else
        walk();
    if (program.f.up)
        link_down(&program.f, "the last");
    MUST(program.f.under_way == 0);
    zk_fixture_close(&program.f);
    return 0;
}
