/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a queue of leases: the list, and the news of one that goes. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engines/file/file.h"
#include "engines/file/syscalls.h"
#include "file_leases.h"
#include "file_story.h"

/* ----------------------------------------------------------------- list -- */

static void a_list_says_who_has_how_many(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = leases_take(a, 3);
    struct hf_ticket_id second = leases_take(b, HF_WEIGHT_MAX);
    struct call *call = leases_look(b, 2);

    (void)state;
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &first));
    assert_int_equal(call->tickets[0].kind, HF_TICKET_LEASE);
    assert_int_equal(call->tickets[0].weight, 3);
    assert_string_equal(call->tickets[0].payload, "lease");
    assert_true(hf_ticket_id_equal(&call->tickets[1].id, &second));
    assert_int_equal(call->tickets[1].weight, HF_WEIGHT_MAX);
    seat_close(b);
    seat_close(a);
}

/* Nobody goes where nobody is, and who comes is no news. */
static void a_queue_without_tickets_stays_quiet(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call = leases_look(b, 0);

    (void)state;
    (void)leases_take(a, 1);
    leases_expect_nothing(b, call);
    seat_close(b);
    seat_close(a);
}

/* The name of a queue is longer than the longest name of a lock. */
static void the_longest_name_has_leases(void **state)
{
    static char name[HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES)];
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *call;

    (void)state;
    memset(name, 'n', HF_NAME_BYTES);
    (void)strcpy(name + HF_NAME_BYTES, HF_QUEUE_LEASES);
    call = seat_lease(a, name, id, 1);
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    call = seat_lease(b, name, fresh_id(), 1);
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->count, 2);
    call = seat_ask(b, HF_REQUEST_WATCH_QUEUE, name, id);
    assert_int_equal(call->count, 2);
    assert_true(seat_ask(a, HF_REQUEST_REMOVE, name, id)->found);
    assert_true(seat_sees_gone(b, call));
    seat_close(b);
    seat_close(a);
}

static pthread_t loop_thread;

/* Whoever waits for the lock of a directory is another thread. */
static int busy_here(const char *call)
{
    bool here = pthread_equal(pthread_self(), loop_thread) != 0;

    return here && strcmp(call, "flock") == 0 ? EWOULDBLOCK : 0;
}

static void a_lease_that_had_to_wait_has_its_weight(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id;
    struct call *call;

    (void)state;
    loop_thread = pthread_self();
    hf_sys_hook = busy_here;
    id = leases_take(a, 5);
    hf_sys_hook = NULL;
    call = leases_look(a, 1);
    assert_int_equal(call_find(call, id)->weight, 5);
    seat_close(a);
}

static unsigned lists_left;

/* The directory goes between its opening and the reading of it. */
static int remove_before_list(const char *call)
{
    char path[BENCH_FILE_PATH_BYTES];
    char command[BENCH_FILE_PATH_BYTES + 8];

    if (strcmp(call, "getdents") != 0 || --lists_left > 0)
        return 0;
    hf_sys_hook = NULL;
    bench_file_path(LEASES, path);
    (void)snprintf(command, sizeof(command), "rm -r %s", path);
    assert_int_equal(system(command), 0);
    return 0;
}

static void expect_empty(struct seat *seat, enum hf_request_kind kind,
                         unsigned lists)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call;

    (void)leases_take(seat, 1);
    lists_left = lists;
    hf_sys_hook = remove_before_list;
    call = seat_ask(seat, kind, LEASES, nobody);
    assert_null(hf_sys_hook);
    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, 0);
}

/* As the last one out removes it; whether nothing was read of it or part. */
static void a_directory_that_is_removed_is_empty(void **state)
{
    struct seat *a = seat_open(&bench_file);

    (void)state;
    for (unsigned lists = 1; lists <= 2; lists++) {
        expect_empty(a, HF_REQUEST_LIST, lists);
        expect_empty(a, HF_REQUEST_WATCH_QUEUE, lists);
    }
    seat_close(a);
}

/* ---------------------------------------------------------------- going -- */

static void whoever_goes_is_told_once(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id ids[3];
    struct call *call;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        ids[i] = leases_take(a, 1);
    for (size_t i = 0; i < 3; i++) {
        /* From the middle, the end, the beginning. */
        struct hf_ticket_id id = ids[(i + 1) % 3];

        call = leases_look(b, 3 - i);
        leases_expect_nothing(b, call);
        assert_true(leases_leave(a, id));
        assert_true(seat_sees_gone(b, call));
    }
    (void)leases_look(b, 0);
    seat_settle(b);
    seat_close(b); /* which sees that none was told twice */
    seat_close(a);
}

static void all_going_at_once_is_one_change(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)leases_take(a, 1);
    call = leases_look(b, 5);
    seat_close(a);
    assert_true(seat_sees_gone(b, call));
    (void)leases_look(b, 0);
    seat_settle(b);
    seat_close(b);
}

/* Looks by one client, of which each has its own end. */
static void looks_do_not_mix(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct hf_ticket_id other = fresh_id();
    struct call *here, *there, *again;

    (void)state;
    (void)seat_lease(a, "t/leases", other, 1);
    here = leases_look(b, 1);
    there = seat_ask(b, HF_REQUEST_WATCH_QUEUE, "t/leases", other);
    again = leases_look(b, 1);
    assert_true(leases_leave(a, id));
    assert_true(seat_sees_gone(b, here));
    assert_true(seat_sees_gone(b, again));
    leases_expect_nothing(b, there);
    assert_true(seat_ask(a, HF_REQUEST_REMOVE, "t/leases", other)->found);
    assert_true(seat_sees_gone(b, there));
    seat_close(b);
    seat_close(a);
}

/* ------------------------------------------------------------- one's own -- */

static void ones_own_ticket_that_goes_is_told(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = leases_take(a, 1);
    struct hf_ticket_id second = leases_take(a, 1);
    struct call *call, *elsewhere;

    (void)state;
    (void)leases_take(b, 1);
    call = leases_look(a, 3);
    elsewhere = seat_ask(a, HF_REQUEST_WATCH_QUEUE, "t/leases", first);
    assert_true(leases_leave(a, first));
    assert_int_equal(call->gone, 1);
    call = leases_look(a, 2);
    assert_true(leases_leave(a, second));
    assert_int_equal(call->gone, 1);
    leases_expect_nothing(a, elsewhere);
    seat_close(b);
    seat_close(a);
}

static void ones_own_take_no_descriptor(void **state)
{
    struct seat *a = seat_open(&bench_file);
    unsigned before;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    (void)leases_look(a, 5);
    assert_int_equal(leases_open_in_root(), before);
    seat_close(a);
}

/* Given up here, and in the queue for as long as somebody has a copy. */
static void a_copy_keeps_a_lease(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct call *call;
    int copy;

    (void)state;
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    call = leases_look(a, 1);
    assert_true(leases_leave(a, id));
    assert_int_equal(call->gone, 1);
    call = leases_look(a, 1); /* by its hang-up from now on */
    leases_expect_nothing(a, call);
    assert_int_equal(close(copy), 0);
    assert_true(seat_sees_gone(a, call));
    (void)leases_look(a, 0);
    seat_close(a);
}

/* A host at the head of the locks, which has no use for a look once that is
 * lost. */
struct head {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_ticket gate;
    struct hf_request look;
    unsigned gone;
    unsigned changed;
};

static void on_head_event(void *arg, struct hf_event *event)
{
    struct head *head = arg;

    if (event->kind == HF_EVENT_ENQUEUED)
        head->gate = event->as.answer.snapshot.tickets[0];
    if (event->kind == HF_EVENT_QUEUE_CHANGED)
        head->changed++;
    if (event->kind != HF_EVENT_GONE)
        return;
    head->gone++;
    hf_engine_file.unwatch(head->engine, &head->look);
}

static bool head_is_lost(void *arg)
{
    return ((struct head *)arg)->gone > 0;
}

/* The loop hears of the lease first, and yet it is told last, or not at all. */
static void a_lost_head_is_told_before_a_change(void **state)
{
    struct head head = {
        .look = {.kind = HF_REQUEST_WATCH_QUEUE, .queue = LEASES}};
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id lease = leases_take(b, 1);
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct hf_request enqueue = {.kind = HF_REQUEST_ENQUEUE,
                                 .queue = LOCKS,
                                 .ticket = fresh_id(),
                                 .ticket_kind = HF_TICKET_MUTEX,
                                 .weight = 1,
                                 .payload = ""};
    struct hf_request watch = {.kind = HF_REQUEST_WATCH,
                               .queue = LOCKS,
                               .ticket = enqueue.ticket,
                               .ticket_kind = HF_TICKET_MUTEX};

    (void)state;
    head.host = (struct hf_engine_host){.event = on_head_event, .host = &head};
    head.engine = bench_file.open(&bench_file, &head.host);
    hf_engine_file.request(head.engine, &enqueue);
    hf_engine_file.request(head.engine, &watch);
    hf_engine_file.request(head.engine, &head.look);
    assert_non_null(head.look.engine_data);
    seat_settle(b); /* the loop waits for all of it from here on */
    assert_true(seat_ask_only(b, HF_REQUEST_REMOVE, LEASES, lease)->found);
    bench_file.evict(&bench_file, LOCKS, &head.gate);
    bench_file.pump(&bench_file, head_is_lost, &head);
    assert_int_equal(head.gone, 1);
    seat_settle(b);
    assert_int_equal(head.changed, 0);
    hf_engine_file.request(head.engine, &end);
    hf_engine_file.free(head.engine);
    seat_close(b);
}

/* A host that looks again from inside the news. */
struct eager {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_request look;
    unsigned listed;
    unsigned changed;
};

static void on_event(void *arg, struct hf_event *event)
{
    struct eager *eager = arg;

    if (event->kind == HF_EVENT_LISTED)
        eager->listed++;
    if (event->kind != HF_EVENT_QUEUE_CHANGED || ++eager->changed > 3)
        return;
    eager->look.engine_data = NULL;
    hf_engine_file.request(eager->engine, &eager->look);
}

static void looking_again_at_once_is_another_look(void **state)
{
    struct eager eager = {
        .look = {.kind = HF_REQUEST_WATCH_QUEUE, .queue = LEASES}};
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct hf_request enqueue = {.kind = HF_REQUEST_ENQUEUE,
                                 .queue = LEASES,
                                 .ticket = fresh_id(),
                                 .ticket_kind = HF_TICKET_LEASE,
                                 .weight = 1,
                                 .payload = ""};
    struct hf_request withdraw = {
        .kind = HF_REQUEST_REMOVE, .queue = LEASES, .ticket = enqueue.ticket};

    (void)state;
    eager.host = (struct hf_engine_host){.event = on_event, .host = &eager};
    eager.engine = bench_file.open(&bench_file, &eager.host);
    hf_engine_file.request(eager.engine, &enqueue);
    hf_engine_file.request(eager.engine, &eager.look);
    hf_engine_file.request(eager.engine, &withdraw);
    assert_int_equal(eager.changed, 1);
    assert_int_equal(eager.listed, 2);
    hf_engine_file.request(eager.engine, &end);
    hf_engine_file.free(eager.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_list_says_who_has_how_many),
        TEST(a_queue_without_tickets_stays_quiet),
        TEST(the_longest_name_has_leases),
        TEST(a_lease_that_had_to_wait_has_its_weight),
        TEST(a_directory_that_is_removed_is_empty),
        TEST(whoever_goes_is_told_once),
        TEST(all_going_at_once_is_one_change),
        TEST(looks_do_not_mix),
        TEST(ones_own_ticket_that_goes_is_told),
        TEST(ones_own_take_no_descriptor),
        TEST(a_copy_keeps_a_lease),
        TEST(a_lost_head_is_told_before_a_change),
        TEST(looking_again_at_once_is_another_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
