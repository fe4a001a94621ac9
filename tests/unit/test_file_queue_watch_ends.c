/* SPDX-License-Identifier: Apache-2.0 */
/* Leases that end by force, and the ends of queue watches on them. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/real_host.h"
#include "engines/file/file.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"
#include "file_leases.h"
#include "heap/heap.h"

#define VICTIMS_MAX 4

static unsigned files_of_leases(void)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path(LEASES, path);
    return count_files(path);
}

/* -------------------------------------------------------------- crashes -- */

static void enqueue_lease(void *weight)
{
    (void)leases_take(client_open(&conformance_file),
                      *(const uint32_t *)weight);
}

static pid_t victim_start(uint32_t weight)
{
    return victim_start_process(enqueue_lease, &weight);
}

FILE_TEST(a_crash_is_reported)
{
    pid_t victim = victim_start(2);
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request;

    (void)leases_take(a, 1);
    request = leases_look(b, 2);
    victim_kill_process(victim);
    assert_true(client_wait_gone(b, request));
    /* Its ticket was removed before, so a list does not have it. */
    assert_int_equal(
        client_ask(a, HF_REQUEST_LIST, LEASES, request->tickets[0].id)->count,
        1);
    (void)leases_look(b, 1);
}

/* No event came at that time.  A lease does not wait for another, so only a
 * list finds the dead among them. */
FILE_TEST(the_dead_are_dropped)
{
    OPEN_CLIENT(a, &conformance_file);
    pid_t victims[VICTIMS_MAX];
    struct hf_ticket_id id;
    struct client_request *request;

    for (size_t i = 0; i < VICTIMS_MAX; i++) {
        if (i == VICTIMS_MAX / 2)
            id = leases_take(a, 7);
        victims[i] = victim_start(1);
    }
    for (size_t i = 0; i < VICTIMS_MAX; i++)
        victim_kill_process(victims[i]);
    assert_int_equal(files_of_leases(), 2 * (VICTIMS_MAX + 1));
    request = leases_look(a, 1);
    assert_true(hf_ticket_id_equal(&request->tickets[0].id, &id));
    assert_int_equal(request->tickets[0].weight, 7);
    assert_int_equal(files_of_leases(), 2);
    leases_expect_nothing(a, request); /* they had gone before the list */
}

FILE_TEST(a_queue_of_the_dead_is_removed)
{
    OPEN_CLIENT(a, &conformance_file);
    pid_t victim = victim_start(1);
    char path[CONFORMANCE_FILE_PATH_BYTES];

    victim_kill_process(victim);
    (void)leases_look(a, 0);
    conformance_file_path(LEASES, path);
    assert_int_equal(access(path, F_OK), -1);
}

/* ------------------------------------------------------------- eviction -- */

/* The owner gets the event and closes its ticket.  That is what the others
 * notice. */
FILE_TEST(an_evicted_lease_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct client_request *mine = leases_look(a, 1);
    struct client_request *own = client_watch(a, LEASES, &mine->tickets[0]);
    struct client_request *request = leases_look(b, 1);

    conformance_file.evict(&conformance_file, LEASES, &request->tickets[0]);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_true(client_wait_gone(a, own));
    assert_int_equal(mine->gone, 1);
    assert_false(leases_leave(a, id));
    assert_true(client_wait_gone(b, request));
    (void)leases_look(b, 0);
}

/* The client that evicts does not wait for the owner. */
FILE_TEST(ones_own_eviction_is_reported_at_once)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct client_request *request = leases_look(b, 1);

    assert_true(leases_leave(b, id));
    assert_int_equal(request->gone, 1);
    request = leases_look(b, 0);
    assert_false(leases_leave(b, id));
    leases_expect_nothing(b, request);
    assert_false(leases_leave(a, id));
}

/* An owner that is stopped closes nothing.  Queue watches get the event all
 * the same, in other processes too. */
FILE_TEST(a_stopped_owner_keeps_no_permit)
{
    pid_t victim = victim_start(1);
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *mine = leases_look(a, 1);
    struct client_request *theirs = leases_look(b, 1);

    assert_int_equal(kill(victim, SIGSTOP), 0);
    assert_true(leases_leave(a, mine->tickets[0].id));
    assert_int_equal(mine->gone, 1);
    assert_true(client_wait_gone(b, theirs));
    (void)leases_look(b, 0);
    victim_kill_process(victim);
}

/* An enqueue that is repeated makes a lease again that was removed. */
FILE_TEST(a_lease_put_in_anew_has_been_gone)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct client_request *request = leases_look(a, 1);

    conformance_file.evict(&conformance_file, LEASES, &request->tickets[0]);
    assert_int_equal(client_lease(a, LEASES, id, 1)->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->gone, 1);
}

/* -------------------------------------------------------------- the end -- */

FILE_TEST(a_forgotten_look_is_silent)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct client_request *request, *observer;
    unsigned before;

    (void)leases_take(a, 1);
    before = leases_open_in_root();
    request = leases_look(b, 2);
    assert_int_equal(leases_open_in_root(), before + 2);
    client_forget(b, request);
    assert_int_equal(leases_open_in_root(), before);
    client_forget(b, request); /* of what is over */
    observer = leases_look(b, 2);
    assert_true(leases_leave(a, id));
    assert_true(client_wait_gone(b, observer));
    client_forget(b, observer);
    client_drain(b);
    assert_int_equal(request->gone, 0);
    assert_int_equal(leases_open_in_root(), before - 1);
}

FILE_TEST(an_end_is_silent)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct client_request *request;

    (void)leases_take(a, 1);
    (void)leases_take(b, 1);
    request = leases_look(b, 2);
    client_end(b);
    client_close(a);
    assert_int_equal(request->gone, 0);
    client_free(b);
}

struct forked_child_check {
    struct engine_client *holder;
    struct engine_client *looker;
};

static void be_child(void *arg)
{
    const struct forked_child_check *forked_child_check = arg;
    unsigned rest;

    hf_engine_file.after_fork(forked_child_check->holder->engine);
    rest = leases_open_in_root();
    hf_engine_file.after_fork(forked_child_check->looker->engine);
    _exit(rest > 2 && leases_open_in_root() == 0 ? 0 : 1);
}

FILE_TEST(a_forked_child_looks_at_nothing)
{
    struct forked_child_check forked_child_check = {
        client_open(&conformance_file), client_open(&conformance_file)};
    int ended;
    pid_t pid;

    (void)leases_take(forked_child_check.holder, 1);
    (void)leases_take(forked_child_check.holder, 1);
    (void)leases_look(forked_child_check.looker, 2);
    pid = real_host_fork(be_child, &forked_child_check);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    client_close(forked_child_check.looker);
    client_close(forked_child_check.holder);
}

/* --------------------------------------------------------------- limits -- */

static unsigned opens_left;
static int error_now;

static int fail_an_open(const char *request)
{
    if (strcmp(request, "open") != 0)
        return 0;
    return opens_left == 0 || --opens_left == 0 ? error_now : 0;
}

/* ${opens} tickets can be opened after the directory, and no more. */
static struct client_request *look_with(struct engine_client *client,
                                        unsigned opens, int error)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *request;

    opens_left = opens + 2;
    error_now = error;
    hf_file_sys_hook = fail_an_open;
    request = client_ask(client, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);
    hf_file_sys_hook = NULL;
    return request;
}

FILE_TEST(too_few_descriptors_are_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    unsigned before;

    for (unsigned i = 0; i < 3; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    for (unsigned i = 0; i < 3; i++) {
        struct client_request *request =
            look_with(b, i, i == 1 ? ENFILE : EMFILE);

        assert_int_equal(request->answer, HF_EVENT_FAILED);
        assert_int_equal(request->status, HF_ELIMIT);
        assert_int_equal(request->failure, HF_FAILURE_FATAL);
        assert_non_null(strstr(request->text, "3 tickets"));
        assert_non_null(strstr(request->text, "\"" LEASES "\""));
        assert_non_null(strstr(request->text, "ulimit -n"));
        assert_int_equal(leases_open_in_root(), before);
    }
    assert_int_equal(look_with(b, 3, EMFILE)->answer, HF_EVENT_LISTED);
}

FILE_TEST(other_connection_error_is_reported_as_it_is)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request;

    (void)leases_take(a, 1);
    request = look_with(b, 0, EACCES);
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_EDIR);
    assert_non_null(strstr(request->text, "write access"));
}

FILE_TEST(memory_may_run_out)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id nobody = {{0}};
    unsigned before, step = 0;
    struct client_request *request;
    bool listed = false;

    for (unsigned i = 0; i < 3; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    do { /* what fails behind the answer, as the watch is armed, is repeated */
        struct engine_client *b = client_open(&conformance_file);

        heap_fail(++step, false);
        request = client_ask(b, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);
        if (request->answer == HF_EVENT_FAILED) {
            assert_true(heap_failed());
            assert_int_equal(request->status, HF_ENOMEM);
        } else {
            assert_int_equal(request->answer, HF_EVENT_LISTED);
            listed = true;
        }
        heap_fail(0, false);
        client_close(b);
        client_drain(a); /* closed handles */
    } while (!listed);
    assert_true(step > 5);
    assert_int_equal(leases_open_in_root(), before);
}

TEST_FILE(file_queue_watch_ends)
{
    int failed;

    heap_install();
    failed = RUN_TESTS(NULL, NULL);
    return failed != 0 ? failed : heap_live() != 0;
}
