/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a directory is held elsewhere: the helper thread waits for it,
 * and no other thread of the process does. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "conformance/real_host.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"
#include "file_fixture.h"

/* Make the directory of a lock and take its flock, as a process that is
 * stopped inside. */
static int lock_directory(const char *queue)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    int fd;

    conformance_file_path(queue, path);
    assert_int_equal(mkdir(path, 0700), 0);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

/* Start an enqueue, which is not answered yet. */
static struct client_request *begin_enqueue(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id)
{
    struct client_request *request = client_start_enqueue(client, queue, id);

    client_drain(client);
    assert_int_equal(request->answers, 0);
    return request;
}

FILE_TEST(an_enqueue_waits_for_the_lock)
{
    OPEN_CLIENT(a, &conformance_file);
    int fd = lock_directory("q");
    struct hf_ticket_id ids[3] = {fresh_id(), fresh_id(), fresh_id()};
    struct client_request *calls[3];
    size_t places = 0;

    for (size_t i = 0; i < 3; i++)
        calls[i] = begin_enqueue(a, "q", ids[i]);
    /* The queue of another lock is not delayed. */
    assert_int_equal(
        client_enqueue(a, "other", fresh_id(), HF_TICKET_MUTEX, "")->answer,
        HF_EVENT_ENQUEUED);
    assert_int_equal(close(fd), 0);
    for (size_t i = 0; i < 3; i++) {
        (void)client_wait(a, calls[i]);
        assert_int_equal(calls[i]->answer, HF_EVENT_ENQUEUED);
        assert_non_null(client_request_find(calls[i], ids[i]));
        places += calls[i]->count;
    }
    assert_int_equal(places, 1 + 2 + 3); /* in whichever order */
}

/* A stuck lock does not delay another one that is only busy. */
FILE_TEST(a_stuck_lock_holds_up_no_other)
{
    OPEN_CLIENT(a, &conformance_file);
    int stuck = lock_directory("stuck");
    int busy = lock_directory("busy");
    struct client_request *first = begin_enqueue(a, "stuck", fresh_id());
    struct client_request *second = begin_enqueue(a, "busy", fresh_id());

    assert_int_equal(close(busy), 0);
    (void)client_wait(a, second);
    assert_int_equal(second->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(first->answers, 0);
    assert_int_equal(close(stuck), 0);
    (void)client_wait(a, first);
    assert_int_equal(first->answer, HF_EVENT_ENQUEUED);
}

FILE_TEST(the_end_waits_for_nobody)
{
    struct engine_client *a = client_open(&conformance_file);
    int fd = lock_directory("q");
    struct client_request *calls[2];
    char path[CONFORMANCE_FILE_PATH_BYTES];

    for (size_t i = 0; i < 2; i++)
        calls[i] = begin_enqueue(a, "q", fresh_id());
    client_end(a);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(calls[i]->answer, HF_EVENT_FAILED);
        assert_int_equal(calls[i]->status, HF_ECLOSED);
    }
    client_free(a);
    assert_int_equal(close(fd), 0);
    conformance_file_path("q", path);
    assert_int_equal(rmdir(path), 0);
}

FILE_TEST(a_removal_catches_up)
{
    OPEN_CLIENT(a, &conformance_file);
    int fd = lock_directory("q");
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = begin_enqueue(a, "q", id);
    struct client_request *remove_request =
        client_start(a, HF_REQUEST_REMOVE, "q", id);

    client_wait(a, remove_request);
    assert_int_equal(request->answers, 1);
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(remove_request->answer, HF_EVENT_REMOVED);
    assert_false(remove_request->found);
    assert_int_equal(close(fd), 0);
    request = client_enqueue(a, "q", fresh_id(), HF_TICKET_MUTEX, "");
    assert_int_equal(request->count, 1);
}

/* Two jobs wait when the root is replaced.  The first opens the new one.  The
 * second takes no number, and so ends in the old one; the engine keeps the new
 * one all the same. */
FILE_TEST(a_job_in_the_old_root_does_not_bring_it_back)
{
    OPEN_CLIENT(a, &conformance_file);
    int locked[2] = {lock_directory("first"), lock_directory("second")};
    struct client_request *first = begin_enqueue(a, "first", fresh_id());
    struct client_request *second = client_start_double_barrier(
        a, HF_REQUEST_NEW_GENERATION, "second", fresh_id(), 2);
    char command[256];

    client_drain(a);
    assert_int_equal(second->answers, 0);
    (void)snprintf(command, sizeof(command), "rm -r %s/*",
                   conformance_file_root());
    assert_int_equal(system(command), 0);
    assert_int_equal(close(locked[0]), 0);
    (void)client_wait(a, first);
    assert_int_equal(first->answer, HF_EVENT_ENQUEUED);
    assert_non_null(strstr(conformance_file_log(), "opened anew"));
    assert_int_equal(conformance_file_log_lines(), 1);
    assert_int_equal(close(locked[1]), 0);
    (void)client_wait(a, second);
    assert_int_equal(conformance_file_log_lines(), 1);
}

static void lock_and_stop(void *arg)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    int fd;

    (void)arg;
    conformance_file_path("q", path);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        _exit(1);
    (void)raise(SIGSTOP);
}

/* The enqueue fails within a bound, and names the process. */
FILE_TEST(who_has_the_lock_is_named)
{
    OPEN_CLIENT(a, &conformance_file);
    pid_t pid;
    struct client_request *request;
    char expected[64];
    int ended;

    assert_int_equal(close(lock_directory("q")), 0);
    pid = real_host_fork(lock_and_stop, NULL);
    assert_int_equal(waitpid(pid, &ended, WUNTRACED), pid);
    assert_true(WIFSTOPPED(ended));
    request = begin_enqueue(a, "q", fresh_id());
    client_wait(a, request);
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->failure, HF_FAILURE_RETRY);
    assert_int_equal(request->status, HF_EUNREACHABLE);
    (void)snprintf(expected, sizeof(expected), "held by pid %d:", (int)pid);
    assert_non_null(strstr(request->text, expected));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    request = client_enqueue(a, "q", fresh_id(), HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->count, 1);
}

/* ------------------------------------------------------------ wake-ups -- */

/* While this thread holds the lock of a directory, .client asks for a ticket
 * there. */
static struct {
    pthread_t self;
    const char *at;   /* the system call before which it does; NULL: it has */
    const char *move; /* and what is moved away then, or NULL */
    struct engine_client *client;
    struct hf_ticket_id id;
    struct client_request *request;
    atomic_uint sleeps; /* of helpers */
    bool here;          /* until this thread makes a directory again */
    unsigned own_sleeps, own_wakes;
} visit;

static void enqueue_now(void)
{
    char aside[CONFORMANCE_FILE_PATH_BYTES + sizeof(".aside")];

    visit.request = client_start_enqueue(visit.client, "q", visit.id);
    for (time_t until = time(NULL) + 30;
         atomic_load(&visit.sleeps) == 0 && time(NULL) < until;)
        (void)sched_yield();
    if (visit.move == NULL)
        return;
    (void)snprintf(aside, sizeof(aside), "%s.aside", visit.move);
    (void)rename(visit.move, aside);
}

static int enqueue_meanwhile(const char *request)
{
    bool sleeps = strcmp(request, "futex_wait") == 0;

    if (!pthread_equal(pthread_self(), visit.self)) {
        if (sleeps)
            (void)atomic_fetch_add(&visit.sleeps, 1);
        return 0;
    }
    visit.own_sleeps += sleeps;
    if (strcmp(request, "mkdir") == 0)
        visit.here = false;
    visit.own_wakes += visit.here && strcmp(request, "futex_wake") == 0;
    if (visit.at != NULL && strcmp(request, visit.at) == 0) {
        visit.at = NULL;
        enqueue_now();
        visit.here = true;
    }
    return 0;
}

static void begin_visit(struct engine_client *client, const char *at)
{
    memset(&visit, 0, sizeof(visit));
    visit.self = pthread_self();
    visit.at = at;
    visit.client = client;
    visit.id = fresh_id();
    hf_file_sys_hook = enqueue_meanwhile;
}

/* The other thread slept and was woken by this one, which did not sleep. */
static void assert_visitor_was_woken(void)
{
    assert_null(visit.at);
    assert_int_equal(visit.own_sleeps, 0);
    assert_int_equal(visit.own_wakes, 1);
    (void)client_wait(visit.client, visit.request);
    hf_file_sys_hook = NULL;
    assert_int_equal(visit.request->answer, HF_EVENT_ENQUEUED);
}

static void enqueue_and_remove(struct engine_client *client)
{
    struct hf_ticket_id id = fresh_id();

    (void)client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    assert_true(client_ask(client, HF_REQUEST_REMOVE, "q", id)->found);
}

FILE_TEST(an_enqueue_wakes_who_waits)
{
    struct engine_client *a = client_open(&conformance_file),
                         *b = client_open(&conformance_file);

    begin_visit(a, "mkfifoat");
    (void)client_enqueue(b, "q", fresh_id(), HF_TICKET_MUTEX, "");
    assert_visitor_was_woken();
    assert_int_equal(visit.request->count, 2);
    client_close(b);
    client_close(a);
}

FILE_TEST(tidying_up_wakes_who_waits)
{
    struct engine_client *a = client_open(&conformance_file),
                         *b = client_open(&conformance_file);

    enqueue_and_remove(b);
    begin_visit(a, "rmdir");
    client_close(b);
    assert_visitor_was_woken();
    client_close(a);
}

/* Both have the directory open when it is moved away. */
FILE_TEST(leaving_another_directory_wakes_who_waits)
{
    struct engine_client *a = client_open(&conformance_file),
                         *b = client_open(&conformance_file);
    char path[CONFORMANCE_FILE_PATH_BYTES],
        aside[CONFORMANCE_FILE_PATH_BYTES + 16];

    enqueue_and_remove(b);
    conformance_file_path("q", path);
    begin_visit(a, "lstat");
    visit.move = path;
    (void)client_enqueue(b, "q", fresh_id(), HF_TICKET_MUTEX, "");
    assert_visitor_was_woken();
    (void)snprintf(aside, sizeof(aside), "%s.aside", path);
    assert_int_equal(rmdir(aside), 0);
    client_close(b);
    client_close(a);
}

/* The mapped page of the file must not be touched any more. */
FILE_TEST(a_counter_that_was_truncated_wakes_nobody)
{
    OPEN_CLIENT(a, &conformance_file);
    int fd = lock_directory("q");
    char counter[CONFORMANCE_FILE_PATH_BYTES];
    struct client_request *request;

    (void)snprintf(counter, sizeof(counter), "%s/counter",
                   conformance_file_root());
    assert_int_equal(truncate(counter, 0), 0);
    begin_visit(a, NULL);
    request = begin_enqueue(a, "q", fresh_id());
    assert_int_equal(close(fd), 0);
    (void)client_wait(a, request);
    hf_file_sys_hook = NULL;
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(atomic_load(&visit.sleeps), 0);
}

/* ------------------------------------------------------------- the disk -- */

/* It takes two syncs, on the helper thread, once in a million numbers. */
FILE_TEST(a_new_block_is_reserved_on_the_side)
{
    OPEN_CLIENT(a, &conformance_file);
    char path[CONFORMANCE_FILE_PATH_BYTES];
    struct hf_file_token_counter_page *page;
    struct client_request *request;
    uint64_t limit;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/counter", conformance_file_root());
    fd = open(path, O_RDWR | O_CLOEXEC);
    page = mmap(NULL, HF_TOKEN_COUNTER_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    limit = atomic_load(&page->limit);
    atomic_store(&page->value, limit);
    request = client_start_enqueue(a, "q", fresh_id());
    assert_int_equal(request->answers, 0);
    client_wait(a, request);
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_true(request->tickets[0].token > limit);
    assert_true(atomic_load(&page->limit) > limit);
    (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
    (void)close(fd);
}
