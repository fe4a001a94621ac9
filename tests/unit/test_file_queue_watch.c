/* SPDX-License-Identifier: Apache-2.0 */
/* A queue watch of leases: its list, and the event when one is removed. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "base/engine_host.h"
#include "cmocka/runner.h"
#include "engines/file/file.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"
#include "file_leases.h"

/* ----------------------------------------------------------------- list -- */

FILE_TEST(a_list_says_who_has_how_many)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id first = leases_take(a, 3);
    struct hf_ticket_id second = leases_take(b, HF_WEIGHT_MAX);
    struct client_request *request = leases_look(b, 2);

    assert_true(hf_ticket_id_equal(&request->tickets[0].id, &first));
    assert_int_equal(request->tickets[0].kind, HF_TICKET_LEASE);
    assert_int_equal(request->tickets[0].weight, 3);
    assert_string_equal(request->tickets[0].payload, "lease");
    assert_true(hf_ticket_id_equal(&request->tickets[1].id, &second));
    assert_int_equal(request->tickets[1].weight, HF_WEIGHT_MAX);
}

/* The name of a queue of leases is longer than any name of a lock. */
FILE_TEST(the_longest_name_has_leases)
{
    static char name[HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES)];
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request;

    memset(name, 'n', HF_NAME_BYTES);
    (void)strcpy(name + HF_NAME_BYTES, HF_QUEUE_LEASES);
    request = client_lease(a, name, id, 1);
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    request = client_lease(b, name, fresh_id(), 1);
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->count, 2);
    request = client_ask(b, HF_REQUEST_WATCH_QUEUE, name, id);
    assert_int_equal(request->count, 2);
    assert_true(client_ask(a, HF_REQUEST_REMOVE, name, id)->found);
    assert_true(client_wait_gone(b, request));
}

static pthread_t loop_thread;

/* The lock of a directory is waited for by the helper thread, never by this
 * one. */
static int busy_here(const char *request)
{
    bool here = pthread_equal(pthread_self(), loop_thread) != 0;

    return here && strcmp(request, "flock") == 0 ? EWOULDBLOCK : 0;
}

FILE_TEST(a_lease_that_had_to_wait_has_its_weight)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id;
    struct client_request *request;

    loop_thread = pthread_self();
    hf_file_sys_hook = busy_here;
    id = leases_take(a, 5);
    hf_file_sys_hook = NULL;
    request = leases_look(a, 1);
    assert_int_equal(client_request_find(request, id)->weight, 5);
}

static unsigned lists_left;

/* The directory is removed between its opening and its reading. */
static int remove_before_list(const char *request)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    char command[CONFORMANCE_FILE_PATH_BYTES + 8];

    if (strcmp(request, "getdents") != 0 || --lists_left > 0)
        return 0;
    hf_file_sys_hook = NULL;
    conformance_file_path(LEASES, path);
    (void)snprintf(command, sizeof(command), "rm -r %s", path);
    assert_int_equal(system(command), 0);
    return 0;
}

static void expect_empty(struct engine_client *client,
                         enum hf_request_kind kind, unsigned lists)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *request;

    (void)leases_take(client, 1);
    lists_left = lists;
    hf_file_sys_hook = remove_before_list;
    request = client_ask(client, kind, LEASES, nobody);
    assert_null(hf_file_sys_hook);
    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count, 0);
}

/* As the last client removes it; nothing or some of it was read before. */
FILE_TEST(a_directory_that_is_removed_is_empty)
{
    OPEN_CLIENT(a, &conformance_file);

    for (unsigned lists = 1; lists <= 2; lists++) {
        expect_empty(a, HF_REQUEST_LIST, lists);
        expect_empty(a, HF_REQUEST_WATCH_QUEUE, lists);
    }
}

/* ---------------------------------------------------------------- going -- */

FILE_TEST(each_leave_is_reported_once)
{
    OPEN_CLIENT(a, &conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id ids[3];
    struct client_request *request;

    for (size_t i = 0; i < 3; i++)
        ids[i] = leases_take(a, 1);
    for (size_t i = 0; i < 3; i++) {
        /* From the middle, from the end, from the beginning. */
        struct hf_ticket_id id = ids[(i + 1) % 3];

        request = leases_look(b, 3 - i);
        leases_expect_nothing(b, request);
        assert_true(leases_leave(a, id));
        assert_true(client_wait_gone(b, request));
    }
    (void)leases_look(b, 0);
    client_drain(b);
    client_close(b); /* which checks that no event came twice */
}

FILE_TEST(all_going_at_once_is_one_change)
{
    struct engine_client *a = client_open(&conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request;

    for (unsigned i = 0; i < 5; i++)
        (void)leases_take(a, 1);
    request = leases_look(b, 5);
    client_close(a);
    assert_true(client_wait_gone(b, request));
    (void)leases_look(b, 0);
    client_drain(b);
}

/* Several queue watches of one client, each with its own end. */
FILE_TEST(looks_do_not_mix)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct hf_ticket_id other = fresh_id();
    struct client_request *here, *there, *again;

    (void)client_lease(a, "t/leases", other, 1);
    here = leases_look(b, 1);
    there = client_ask(b, HF_REQUEST_WATCH_QUEUE, "t/leases", other);
    again = leases_look(b, 1);
    assert_true(leases_leave(a, id));
    assert_true(client_wait_gone(b, here));
    assert_true(client_wait_gone(b, again));
    leases_expect_nothing(b, there);
    assert_true(client_ask(a, HF_REQUEST_REMOVE, "t/leases", other)->found);
    assert_true(client_wait_gone(b, there));
}

/* ------------------------------------------------------------- one's own -- */

FILE_TEST(ones_own_ticket_that_goes_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id first = leases_take(a, 1);
    struct hf_ticket_id second = leases_take(a, 1);
    struct client_request *request, *elsewhere;

    (void)leases_take(b, 1);
    request = leases_look(a, 3);
    elsewhere = client_ask(a, HF_REQUEST_WATCH_QUEUE, "t/leases", first);
    assert_true(leases_leave(a, first));
    assert_int_equal(request->gone, 1);
    request = leases_look(a, 2);
    assert_true(leases_leave(a, second));
    assert_int_equal(request->gone, 1);
    leases_expect_nothing(a, elsewhere);
}

FILE_TEST(ones_own_take_no_descriptor)
{
    OPEN_CLIENT(a, &conformance_file);
    unsigned before;

    for (unsigned i = 0; i < 5; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    (void)leases_look(a, 5);
    assert_int_equal(leases_open_in_root(), before);
}

/* The descriptor was duplicated into another process: the ticket stays in the
 * queue until that is closed too. */
FILE_TEST(a_copy_keeps_a_lease)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct client_request *request;
    int copy;

    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    request = leases_look(a, 1);
    assert_true(leases_leave(a, id));
    assert_int_equal(request->gone, 1);
    request = leases_look(a, 1); /* by its hang-up from now on */
    leases_expect_nothing(a, request);
    assert_int_equal(close(copy), 0);
    assert_true(client_wait_gone(a, request));
    (void)leases_look(a, 0);
}

/* A host that loses the ticket at the head of the locks, and then has no use
 * for the queue watch of the leases. */
struct head_watch {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_ticket barrier;
    struct hf_request look;
    unsigned gone;
    unsigned changed;
};

static void on_head_event(void *arg, struct hf_event *event)
{
    struct head_watch *head_watch = arg;

    if (event->kind == HF_EVENT_ENQUEUED)
        head_watch->barrier = event->as.answer.snapshot.tickets[0];
    if (event->kind == HF_EVENT_QUEUE_CHANGED)
        head_watch->changed++;
    if (event->kind != HF_EVENT_GONE)
        return;
    head_watch->gone++;
    hf_engine_file.unwatch(head_watch->engine, &head_watch->look);
}

static bool head_is_lost(void *arg)
{
    return ((struct head_watch *)arg)->gone > 0;
}

/* The loop learns first that the lease is gone.  Its event comes last all the
 * same, or not at all. */
FILE_TEST(a_lost_head_is_reported_before_a_change)
{
    struct head_watch head_watch = {
        .look = {.kind = HF_REQUEST_WATCH_QUEUE, .queue = LEASES}};
    OPEN_CLIENT(b, &conformance_file);
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

    head_watch.host =
        (struct hf_engine_host){.event = on_head_event, .host = &head_watch};
    head_watch.engine =
        conformance_file.open(&conformance_file, &head_watch.host);
    hf_engine_file.request(head_watch.engine, &enqueue);
    hf_engine_file.request(head_watch.engine, &watch);
    hf_engine_file.request(head_watch.engine, &head_watch.look);
    assert_non_null(head_watch.look.engine_data);
    client_drain(b); /* the loop waits for all of it from here on */
    assert_true(client_start(b, HF_REQUEST_REMOVE, LEASES, lease)->found);
    conformance_file.evict(&conformance_file, LOCKS, &head_watch.barrier);
    conformance_file.pump(&conformance_file, head_is_lost, &head_watch);
    assert_int_equal(head_watch.gone, 1);
    client_drain(b);
    assert_int_equal(head_watch.changed, 0);
    hf_engine_file.request(head_watch.engine, &end);
    hf_engine_file.free(head_watch.engine);
}

/* A host that watches the queue again from inside the event. */
struct repeated_watch {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_request look;
    unsigned listed;
    unsigned changed;
};

static void on_event(void *arg, struct hf_event *event)
{
    struct repeated_watch *repeated_watch = arg;

    if (event->kind == HF_EVENT_LISTED)
        repeated_watch->listed++;
    if (event->kind != HF_EVENT_QUEUE_CHANGED || ++repeated_watch->changed > 3)
        return;
    repeated_watch->look.engine_data = NULL;
    hf_engine_file.request(repeated_watch->engine, &repeated_watch->look);
}

FILE_TEST(looking_again_at_once_is_another_look)
{
    struct repeated_watch repeated_watch = {
        .look = {.kind = HF_REQUEST_WATCH_QUEUE, .queue = LEASES}};
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct hf_request enqueue = {.kind = HF_REQUEST_ENQUEUE,
                                 .queue = LEASES,
                                 .ticket = fresh_id(),
                                 .ticket_kind = HF_TICKET_LEASE,
                                 .weight = 1,
                                 .payload = ""};
    struct hf_request remove_request = {
        .kind = HF_REQUEST_REMOVE, .queue = LEASES, .ticket = enqueue.ticket};

    repeated_watch.host =
        (struct hf_engine_host){.event = on_event, .host = &repeated_watch};
    repeated_watch.engine =
        conformance_file.open(&conformance_file, &repeated_watch.host);
    hf_engine_file.request(repeated_watch.engine, &enqueue);
    hf_engine_file.request(repeated_watch.engine, &repeated_watch.look);
    hf_engine_file.request(repeated_watch.engine, &remove_request);
    assert_int_equal(repeated_watch.changed, 1);
    assert_int_equal(repeated_watch.listed, 2);
    hf_engine_file.request(repeated_watch.engine, &end);
    hf_engine_file.free(repeated_watch.engine);
}

/* A host with two watches of a queue, which removes a ticket of another queue
 * from inside the event of the first that is answered. */
struct removing_host {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_request looks[2];
    struct hf_request remove_other;
    unsigned changed;
};

static void on_removing_event(void *arg, struct hf_event *event)
{
    struct removing_host *host = arg;

    if (event->kind == HF_EVENT_QUEUE_CHANGED && host->changed++ == 0)
        hf_engine_file.request(host->engine, &host->remove_other);
}

FILE_TEST(a_removal_inside_of_an_answer_loses_no_change)
{
    struct hf_request enqueue[2] = {{.queue = LEASES}, {.queue = LOCKS}};
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct removing_host host = {.changed = 0};
    struct hf_request remove_request;

    host.host =
        (struct hf_engine_host){.event = on_removing_event, .host = &host};
    host.engine = conformance_file.open(&conformance_file, &host.host);
    for (size_t i = 0; i < 2; i++) {
        enqueue[i].kind = HF_REQUEST_ENQUEUE;
        enqueue[i].ticket = fresh_id();
        enqueue[i].ticket_kind = HF_TICKET_LEASE;
        enqueue[i].weight = 1;
        enqueue[i].payload = "";
        hf_engine_file.request(host.engine, &enqueue[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        host.looks[i] = (struct hf_request){.kind = HF_REQUEST_WATCH_QUEUE,
                                            .queue = LEASES};
        hf_engine_file.request(host.engine, &host.looks[i]);
    }
    host.remove_other = (struct hf_request){
        .kind = HF_REQUEST_REMOVE, .queue = LOCKS, .ticket = enqueue[1].ticket};
    remove_request = (struct hf_request){.kind = HF_REQUEST_REMOVE,
                                         .queue = LEASES,
                                         .ticket = enqueue[0].ticket};
    hf_engine_file.request(host.engine, &remove_request);
    assert_int_equal(host.changed, 2);
    hf_engine_file.request(host.engine, &end);
    hf_engine_file.free(host.engine);
}
