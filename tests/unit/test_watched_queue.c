/* SPDX-License-Identifier: Apache-2.0 */
/* What has happened between two lists of a queue
 * (src/client/watched_queue.h). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/ticket_list.h"
#include "client/watched_queue.h"
#include "cmocka/runner.h"
#include "core/core.h"
#include "core/operation.h"
#include "heap/heap.h"

#define NOW_MS 1000000
#define TICKETS_MAX 16

/* The queue as the engine has it, and a watch of it. */
struct queue_fixture {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_ticket tickets[TICKETS_MAX];
    size_t count;
    struct hf_watched_queue queue;
};

static void queue_init(struct queue_fixture *f)
{
    struct hf_core_config config = {.engine_name = "sim:here"};

    heap_install();
    memset(f, 0, sizeof *f);
    f->client = calloc(1, sizeof *f->client);
    f->lock = calloc(1, sizeof *f->lock + 2);
    assert_non_null(f->client);
    assert_non_null(f->lock);
    hf_core_init(&f->client->core, &config, NOW_MS);
    f->lock->client = f->client;
    f->lock->kind = HF_TICKET_MUTEX;
    strcpy(f->lock->name, "q");
    f->queue.texts.count = 3;
}

static void queue_free(struct queue_fixture *f)
{
    hf_watched_queue_free(&f->queue);
    free(f->lock);
    free(f->client);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    __attribute__((cleanup(queue_free))) struct queue_fixture f;               \
    queue_init(&f)

/* Ticket ${number}, at the tail. */
static struct hf_ticket *enter(struct queue_fixture *f, uint8_t number,
                               enum hf_ticket_kind kind, const char *text)
{
    struct hf_ticket *ticket = &f->tickets[f->count++];

    *ticket = (struct hf_ticket){.id = {{number}},
                                 .sequence = number,
                                 .token = number,
                                 .kind = kind,
                                 .weight = 1,
                                 .payload = text};
    return ticket;
}

static void leave(struct queue_fixture *f, uint8_t number)
{
    size_t i = 0;

    while (f->tickets[i].id.bytes[0] != number)
        i++;
    memmove(&f->tickets[i], &f->tickets[i + 1],
            (--f->count - i) * sizeof *f->tickets);
}

/* The list, with texts as the range of the watch wants them. */
static struct hf_tickets *make_list(struct queue_fixture *f)
{
    struct hf_ticket shown[TICKETS_MAX];
    const struct hf_operation operation = {.queue = f->lock->name,
                                           .texts = f->queue.texts};
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    struct hf_tickets *tickets = NULL;
    size_t taken = 0;

    for (size_t i = 0; i < f->count; i++) {
        shown[i] = f->tickets[i];
        if (hf_text_range_wants(&f->queue.texts, shown[i].sequence, taken)) {
            taken++;
            continue;
        }
        shown[i].payload = "";
        shown[i].unread = true;
    }
    event.as.answer.snapshot = (struct hf_snapshot){shown, f->count, 0};
    assert_true(
        hf_tickets_add(&tickets, f->lock, &operation, &event, HF_TICKETS_ALL));
    return tickets;
}

/* List, and compare what has happened with ${expected}: a letter for the kind
 * and the number of the ticket, and the position, if there is one. */
static void list(struct queue_fixture *f, const char *expected)
{
    static const char letters[] = "?tcg~r-";
    struct hf_tickets *tickets = make_list(f);
    struct hf_watched_change change;
    char found[256] = "";

    assert_true(hf_watched_queue_take(&f->queue, tickets, false, NOW_MS));
    hf_tickets_free(tickets);
    while (hf_watched_queue_next(&f->queue, NOW_MS, &change)) {
        size_t at = strlen(found);

        (void)snprintf(found + at, sizeof found - at, "%s%c%u@%zu",
                       at > 0 ? " " : "", letters[change.kind],
                       (unsigned)change.view->token, change.position);
    }
    assert_string_equal(found, expected);
}

TEST(come_granted_and_gone)
{
    FIXTURE(f);
    enter(&f, 1, HF_TICKET_MUTEX, "a");
    enter(&f, 2, HF_TICKET_MUTEX, "b");
    list(&f, "t1@1 t2@2");
    assert_int_equal(f.queue.count, 2);
    list(&f, "");
    enter(&f, 3, HF_TICKET_MUTEX, "c");
    list(&f, "c3@3");
    leave(&f, 2);
    list(&f, "-2@0");
    leave(&f, 1);
    list(&f, "-1@0 g3@1");
    leave(&f, 3);
    enter(&f, 4, HF_TICKET_MUTEX, "d");
    list(&f, "-3@0 g4@1"); /* it was not seen to wait */
    leave(&f, 4);
    list(&f, "-4@0");
    list(&f, "");
}

/* List, whatever has happened; then ${count} tickets are known. */
static void list_any(struct queue_fixture *f, size_t count)
{
    struct hf_tickets *tickets = make_list(f);
    struct hf_watched_change change;

    assert_true(hf_watched_queue_take(&f->queue, tickets, false, NOW_MS));
    hf_tickets_free(tickets);
    while (hf_watched_queue_next(&f->queue, NOW_MS, &change))
        ;
    assert_int_equal(f->queue.count, count);
}

/* Nodes of ZooKeeper may have any id.  One of the two counts, and each is freed
 * once. */
TEST(two_of_one_id)
{
    FIXTURE(f);
    enter(&f, 1, HF_TICKET_MUTEX, "a");
    enter(&f, 2, HF_TICKET_MUTEX, "b")->id.bytes[0] = 1;
    list_any(&f, 1);
    list_any(&f, 1);
    enter(&f, 3, HF_TICKET_MUTEX, "c");
    list_any(&f, 2);
    leave(&f, 1);
    leave(&f, 1);
    list_any(&f, 1);
    leave(&f, 3);
    list_any(&f, 0);
}

/* Some go, some come, and one may move to the head, as where another library
 * has an order of its own.  ${count} have come so far; their ids are in no
 * order. */
static void change_at_random(struct queue_fixture *f, unsigned *seed,
                             unsigned *count)
{
    while (f->count > 0 && rand_r(seed) % 3 == 0)
        leave(f, f->tickets[(size_t)rand_r(seed) % f->count].id.bytes[0]);
    while (f->count < TICKETS_MAX && *count < 255 && rand_r(seed) % 2 == 0)
        (void)enter(f, (uint8_t)(++*count * 37), HF_TICKET_MUTEX, "x");
    if (f->count > 1 && rand_r(seed) % 4 == 0) {
        struct hf_ticket last = f->tickets[f->count - 1];

        memmove(&f->tickets[1], f->tickets,
                (f->count - 1) * sizeof *f->tickets);
        f->tickets[0] = last;
    }
    for (size_t i = 0; i < f->count; i++)
        f->tickets[i].sequence = i + 1;
}

/* List, and bring ${there}, by number, up to date by what has happened. */
static void follow(struct queue_fixture *f, bool there[256])
{
    struct hf_tickets *tickets = make_list(f);
    struct hf_watched_change change;

    assert_true(hf_watched_queue_take(&f->queue, tickets, false, NOW_MS));
    hf_tickets_free(tickets);
    while (hf_watched_queue_next(&f->queue, NOW_MS, &change)) {
        uint64_t number = change.view->token;

        if (change.kind == HF_QUEUE_GONE) {
            assert_true(there[number]);
            there[number] = false;
            continue;
        }
        assert_true(!there[number] || change.kind == HF_QUEUE_GRANTED);
        assert_int_equal(f->tickets[change.position - 1].token, number);
        there[number] = true;
    }
}

TEST(what_has_happened_leads_to_what_is_there)
{
    for (unsigned first_seed = 1; first_seed <= 200; first_seed++) {
        unsigned seed = first_seed, count = 0;
        bool there[256] = {false};

        FIXTURE(f);
        f.queue.texts.count = 0; /* all texts, with each list */
        for (int step = 0; step < 40; step++) {
            size_t known = 0;

            change_at_random(&f, &seed, &count);
            follow(&f, there);
            for (size_t i = 0; i < f.count; i++)
                assert_true(there[f.tickets[i].token]);
            for (size_t i = 0; i < 256; i++)
                known += there[i];
            assert_int_equal(known, f.count);
        }
    }
}

TEST(an_empty_queue_has_a_first_list)
{
    FIXTURE(f);
    list(&f, "");
    enter(&f, 1, HF_TICKET_MUTEX, "a");
    list(&f, "g1@1"); /* it was not there when the watch began */
}

TEST(a_writer_becomes_a_reader)
{
    FIXTURE(f);
    enter(&f, 1, HF_TICKET_WRITE, "a");
    enter(&f, 2, HF_TICKET_READ, "b");
    list(&f, "t1@1 t2@2");
    f.tickets[0].kind = HF_TICKET_READ;
    list(&f, "~1@1 g2@2");
}

TEST(a_view_is_what_is_known)
{
    struct hf_tickets *tickets;
    struct hf_watched_change change;
    const struct hf_ticket_view *view;

    FIXTURE(f);
    enter(&f, 1, HF_TICKET_MUTEX, "the owner");
    tickets = make_list(&f);
    assert_true(hf_watched_queue_take(&f.queue, tickets, false, NOW_MS));
    hf_tickets_free(tickets);
    assert_true(hf_watched_queue_next(&f.queue, NOW_MS, &change));
    assert_string_equal(change.view->owner, "the owner");
    assert_true(change.view->holds);
    assert_int_equal(change.view->kind, HF_KIND_MUTEX);
    assert_false(hf_watched_queue_next(&f.queue, NOW_MS, &change));
    view = hf_watched_queue_at(&f.queue, 0, NOW_MS);
    assert_string_equal(view->owner, "the owner");
    assert_null(hf_watched_queue_at(&f.queue, 1, NOW_MS));
    list(&f, ""); /* the text is not read again, and stays */
    assert_string_equal(hf_watched_queue_at(&f.queue, 0, NOW_MS)->owner,
                        "the owner");
}

/* Three at a time, from the head on. */
TEST(a_ticket_is_reported_when_its_text_is_there)
{
    FIXTURE(f);
    for (uint8_t i = 1; i <= 7; i++)
        enter(&f, i, HF_TICKET_MUTEX, "x");
    list(&f, "t1@1 t2@2 t3@3");
    assert_true(f.queue.reads_on);
    leave(&f, 5); /* nobody has seen it */
    list(&f, "t4@4 t6@5 t7@6");
    assert_false(f.queue.reads_on);
    leave(&f, 1);
    list(&f, "-1@0 g2@1");
}

TEST(a_queue_that_counts_anew_is_read_from_the_head)
{
    FIXTURE(f);
    enter(&f, 8, HF_TICKET_MUTEX, "x");
    list(&f, "t8@1");
    leave(&f, 8);
    enter(&f, 1, HF_TICKET_MUTEX, "y");
    list(&f, "-8@0");
    assert_true(f.queue.reads_on);
    list(&f, "g1@1");
    assert_false(f.queue.reads_on);
}

/* A text that may not be read is not asked for again and again. */
TEST(a_text_that_never_comes_is_given_up)
{
    FIXTURE(f);
    enter(&f, 1, HF_TICKET_MUTEX, "x");
    enter(&f, 2, HF_TICKET_MUTEX, "y")->unread = true;
    f.tickets[1].payload = "";
    list(&f, "t1@1");
    for (int i = 0; f.queue.reads_on; i++) {
        assert_true(i < 4);
        list(&f, "");
    }
}

TEST(a_request_to_release_is_seen_if_the_text_is)
{
    FIXTURE(f);
    f.queue.texts.count = 0; /* all texts, with each list */
    enter(&f, 1, HF_TICKET_MUTEX, "host=a pid=1");
    list(&f, "t1@1");
    f.tickets[0].payload = "host=a pid=1 asked=2026-11-21T16:33:00Z";
    list(&f, "r1@1");
    list(&f, "");
}

TEST(without_memory_the_next_list_shows_it)
{
    struct hf_tickets *tickets;

    FIXTURE(f);
    enter(&f, 1, HF_TICKET_MUTEX, "a");
    list(&f, "t1@1");
    leave(&f, 1);
    enter(&f, 2, HF_TICKET_MUTEX, "b");
    enter(&f, 3, HF_TICKET_MUTEX, "c");
    tickets = make_list(&f);
    for (unsigned long nth = 1;; nth++) {
        bool taken;

        heap_fail(nth, false);
        taken = hf_watched_queue_take(&f.queue, tickets, false, NOW_MS);
        if (!heap_failed()) {
            assert_true(taken);
            break;
        }
        assert_false(taken);
    }
    heap_fail(0, false);
    hf_tickets_free(tickets);
    list(&f, "-1@0 g2@1 c3@2");
}
