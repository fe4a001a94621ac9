/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call of the life of a ticket fails in turn: every request is
 * answered all the same, no descriptor stays open, and nothing is left that
 * blocks the next client. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "engines/file/watch.h"
#include "file_fixture.h"

#define STEPS_MAX 256

static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, EROFS, ENOMEM};
#define ALL (sizeof(errors) / sizeof(errors[0]))

static int error_now;

/* The life of a ticket beside that of another one, both with a payload. */
static void live(struct engine_client *client, const char *queue)
{
    struct hf_ticket_id first = fresh_id();
    struct hf_ticket_id second = fresh_id();

    (void)client_enqueue(client, queue, first, HF_TICKET_MUTEX, "first");
    (void)client_enqueue(client, queue, second, HF_TICKET_MUTEX, "second");
    (void)client_ask(client, HF_REQUEST_LIST, queue, second);
    (void)client_ask(client, HF_REQUEST_WATCH, queue, first);
    (void)client_ask(client, HF_REQUEST_WATCH, queue, second);
    (void)client_ask(client, HF_REQUEST_DESCRIBE, queue, first);
    (void)client_ask(client, HF_REQUEST_REMOVE, queue, first);
    (void)client_ask(client, HF_REQUEST_REMOVE, queue, second);
}

/* True if the fault was hit. */
static bool live_with_fault(const char *queue, unsigned step)
{
    struct engine_client *client = client_open(&conformance_file);
    bool met;

    fault_fail_call(step, error_now);
    live(client, queue);
    met = fault_call_failed();
    client_close(client);
    return met;
}

/* A queue watch of two leases, one of which is removed.  If it was answered,
 * the event must come. */
static bool look_with_fault(const char *queue, unsigned step)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id first = fresh_id();
    struct client_request *look;
    bool met;

    (void)client_lease(a, queue, first, 1);
    (void)client_lease(a, queue, fresh_id(), 2);
    fault_fail_call(step, error_now);
    look = client_ask(b, HF_REQUEST_WATCH_QUEUE, queue, first);
    (void)client_ask(a, HF_REQUEST_REMOVE, queue, first);
    met = fault_call_failed();
    if (look->answer == HF_EVENT_LISTED)
        assert_true(client_wait_gone(b, look));
    else
        assert_int_equal(look->answer, HF_EVENT_FAILED);
    client_close(b);
    client_close(a);
    return met;
}

/* The engine has ended it, or watches what comes into its queue. */
static bool is_over_or_armed(void *look)
{
    const struct hf_file_watch *watch =
        ((struct client_request *)look)->request.engine_data;

    return watch == NULL || watch->state == HF_FILE_WATCH_ARMED ||
           watch->state == HF_FILE_WATCH_TIMED;
}

/* A queue watch that is armed after its list.  It then reports what comes, or
 * has asked for another list before. */
static bool arm_with_fault(const char *queue, unsigned step)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct client_request *look;
    bool met;

    (void)client_lease(a, queue, fresh_id(), 1);
    /* Answered at once, without a turn of the loop, in which it is armed. */
    look = client_start(b, HF_REQUEST_WATCH_QUEUE, queue, fresh_id());
    assert_int_equal(look->answer, HF_EVENT_LISTED);
    fault_fail_call(step, error_now);
    conformance_file.pump(&conformance_file, is_over_or_armed, look);
    met = fault_call_failed();
    (void)client_lease(a, queue, fresh_id(), 1);
    assert_true(client_wait_gone(b, look));
    client_close(b);
    client_close(a);
    return met;
}

static void path_in(const char *queue, const char *file,
                    char path[2 * CONFORMANCE_FILE_PATH_BYTES])
{
    char directory[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path(queue, directory);
    (void)snprintf(path, 2 * sizeof(directory), "%s/%s", directory, file);
}

/* The state after a kill while a ticket is made, */
static void leave_unfinished(const char *queue)
{
    char path[2 * CONFORMANCE_FILE_PATH_BYTES];

    path_in(queue, HF_NEW_FILE, path);
    assert_true(mkfifo(path, 0600) == 0 || errno == EEXIST);
}

/* and after a kill while it is held. */
static struct hf_ticket_id leave_dead(struct engine_client *client,
                                      const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_MUTEX, "");
    char path[2 * CONFORMANCE_FILE_PATH_BYTES];
    char file[HF_TICKET_FILE_BYTES];

    hf_file_name_format(&request->tickets[request->count - 1], file);
    path_in(queue, file, path);
    (void)client_ask(client, HF_REQUEST_REMOVE, queue, id);
    assert_int_equal(mkfifo(path, 0600), 0);
    return id;
}

/* A client enqueues beside one that lives and one that is dead. */
static bool visit_with_fault(const char *queue, unsigned step)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id first = fresh_id(), dead;
    struct client_request *watch;
    bool met;

    (void)client_enqueue(a, queue, first, HF_TICKET_MUTEX, "");
    dead = leave_dead(a, queue);
    leave_unfinished(queue);
    fault_fail_call(step, error_now);
    assert_int_not_equal(client_ask(b, HF_REQUEST_WATCH, queue, dead)->answer,
                         HF_EVENT_WATCHING);
    (void)client_enqueue(b, queue, fresh_id(), HF_TICKET_MUTEX, "");
    watch = client_ask(b, HF_REQUEST_WATCH, queue, first);
    (void)client_ask(b, HF_REQUEST_REVOKE, queue, first);
    (void)client_ask(b, HF_REQUEST_REMOVE, queue, first);
    met = fault_call_failed();
    (void)client_ask(a, HF_REQUEST_REMOVE, queue, first);
    if (watch->answer == HF_EVENT_WATCHING)
        assert_true(client_wait_gone(b, watch));
    client_close(b);
    client_close(a);
    return met;
}

static void expect_free(const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct engine_client *client = client_open(&conformance_file);
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_MUTEX, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->count, 1);
    client_close(client);
}

/* With each of the first ${kinds} errors of the table. */
static void fail_each_call_of(const char *queue, unsigned least, size_t kinds,
                              bool (*with_fault)(const char *queue,
                                                 unsigned step))
{
    unsigned before;

    expect_free(queue); /* whatever is opened once is */
    before = count_descriptors();
    for (size_t e = 0; e < kinds; e++) {
        unsigned step = 1;

        error_now = errors[e];
        while (with_fault(queue, step)) {
            expect_free(queue);
            assert_true(step++ < STEPS_MAX);
        }
        assert_true(step > least);
    }
    assert_int_equal(count_descriptors(), before);
}

FILE_TEST(every_call_may_fail)
{
    fail_each_call_of("q", 30, ALL, live_with_fault);
}

FILE_TEST(every_call_may_fail_for_a_long_name)
{
    static char name[401];

    memset(name, 'n', sizeof(name) - 1);
    name[200] = '/';
    fail_each_call_of(name, 30, ALL, live_with_fault);
}

/* With mode=1777 each file must be made usable for other users. */
FILE_TEST(every_call_may_fail_for_all_users)
{
    conformance_file_share();
    fail_each_call_of("q", 30, 1, live_with_fault);
}

FILE_TEST(every_call_about_others_may_fail)
{
    fail_each_call_of("q", 30, ALL, visit_with_fault);
}

FILE_TEST(every_call_of_a_look_may_fail)
{
    fail_each_call_of("q", 12, ALL, look_with_fault);
}

FILE_TEST(every_call_of_arming_may_fail)
{
    fail_each_call_of("q", 10, ALL, arm_with_fault);
}

/* Two names with one digest: the second is refused. */
FILE_TEST(a_digest_serves_one_name)
{
    static char name[401];
    char path[CONFORMANCE_FILE_PATH_BYTES];
    char inside[CONFORMANCE_FILE_PATH_BYTES + 8];
    OPEN_CLIENT(client, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request;

    memset(name, 'n', sizeof(name) - 1);
    name[200] = '/';
    request = client_enqueue(client, name, id, HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    conformance_file_path(name, path);
    (void)strcat(strcpy(inside, path), "/name");
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(symlink("another", inside), 0);
    request = client_enqueue(client, name, fresh_id(), HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_EDIR);
}
