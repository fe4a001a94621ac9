/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of the file engine, which are files: what wakes a waiter, what
 * does not, and which calls may fail. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/engine_host.h"
#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

#define FLAG_BYTES (CONFORMANCE_FILE_PATH_BYTES + 16)
#define STEPS_MAX 256

static void flag_path(const char *queue, char path[FLAG_BYTES])
{
    char directory[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path(queue, directory);
    (void)snprintf(path, FLAG_BYTES, "%s/barrier", directory);
}

static bool is_there(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static struct client_request *look(struct engine_client *client, bool up)
{
    struct client_request *request =
        client_barrier(client, HF_REQUEST_WATCH_QUEUE, "b");

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count, up ? 1 : 0);
    return request;
}

static void flag(struct engine_client *client, enum hf_request_kind kind)
{
    assert_int_equal(client_barrier(client, kind, "b")->answer,
                     HF_EVENT_FLAG_UPDATED);
}

/* As ls -l shows it.  Clearing removes the directory too. */
FILE_TEST(a_flag_says_whose_it_is)
{
    OPEN_CLIENT(a, &conformance_file);
    char path[FLAG_BYTES], text[128];
    ssize_t got;

    flag(a, HF_REQUEST_SET_FLAG);
    flag_path("b", path);
    got = readlink(path, text, sizeof text - 1);
    assert_int_equal(got, 36 + 2);
    text[got] = '\0';
    assert_string_equal(text + 36, " b");
    flag(a, HF_REQUEST_CLEAR_FLAG);
    assert_false(is_there(path));
    *strrchr(path, '/') = '\0';
    assert_false(is_there(path));
}

/* New times, links, other files and other barriers are no event of this one. */
FILE_TEST(fn66_other_events_wake_nobody)
{
    OPEN_CLIENT(a, &conformance_file);
    char path[FLAG_BYTES], beside[FLAG_BYTES + 8];
    struct client_request *seen;

    flag(a, HF_REQUEST_SET_FLAG);
    seen = look(a, true);
    flag_path("b", path);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW), 0);
    (void)snprintf(beside, sizeof beside, "%s.too", path);
    assert_int_equal(link(path, beside), 0);
    assert_int_equal(unlink(beside), 0);
    client_drain(a);
    assert_int_equal(seen->gone, 0);
    assert_int_equal(unlink(path), 0); /* by hand, as good as any */
    assert_true(client_wait_gone(a, seen));
    (void)look(a, false);
    flag(a, HF_REQUEST_CLEAR_FLAG); /* the first to find it cleared removes the
                                       rest */
}

/* Tickets come and go in the same directory. */
FILE_TEST(a_flag_stays_when_a_queue_runs_empty)
{
    struct engine_client *a = client_open(&conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *seen;

    flag(a, HF_REQUEST_SET_FLAG);
    seen = look(b, true);
    (void)client_enqueue(a, "b", id, HF_TICKET_MUTEX, "");
    (void)client_ask(a, HF_REQUEST_REMOVE, "b", id);
    client_close(a);
    client_drain(b);
    assert_int_equal(seen->gone, 0);
    (void)look(b, true);
    flag(b, HF_REQUEST_CLEAR_FLAG);
    assert_true(client_wait_gone(b, seen));
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

/* The directory of the barrier, that of all locks, or the root was moved: the
 * flag counts as cleared. */
FILE_TEST(a_flag_that_was_moved_away_is_down)
{
    OPEN_CLIENT(a, &conformance_file);
    char paths[3][FLAG_BYTES], away[FLAG_BYTES];
    struct client_request *seen;

    flag_path("b", paths[0]);
    *strrchr(paths[0], '/') = '\0';
    (void)snprintf(paths[1], FLAG_BYTES, "%s/locks", conformance_file_root());
    (void)snprintf(paths[2], FLAG_BYTES, "%s", conformance_file_root());
    for (size_t i = 0; i < 3; i++) {
        flag(a, HF_REQUEST_SET_FLAG);
        seen = look(a, true);
        (void)snprintf(away, sizeof away, "%.*s.away", FLAG_BYTES - 8,
                       paths[i]);
        move(paths[i], away);
        assert_true(client_wait_gone(a, seen));
        (void)look(a, false);
        move(away, paths[i]);
        (void)look(a, true);
        flag(a, HF_REQUEST_CLEAR_FLAG);
    }
}

/* Setting a flag makes the directories that are missing. */
FILE_TEST(a_root_that_is_gone_is_made_again)
{
    OPEN_CLIENT(a, &conformance_file);
    char locks[FLAG_BYTES];

    (void)snprintf(locks, sizeof locks, "%s/locks", conformance_file_root());
    assert_int_equal(rmdir(locks), 0);
    flag(a, HF_REQUEST_SET_FLAG);
    (void)look(a, true);
    flag(a, HF_REQUEST_CLEAR_FLAG);
}

static struct hf_engine *open_list_only(struct conformance_fixture *fixture,
                                        const struct hf_engine_host *host)
{
    static struct hf_engine_host list_only; /* open() copies it */

    list_only = *host;
    list_only.list_only = true;
    return conformance_file.open(fixture, &list_only);
}

/* A client that only looks makes no root; any request that needs one does. */
FILE_TEST(a_missing_root_is_made_when_a_request_needs_it)
{
    struct conformance_fixture list_only = conformance_file;
    struct engine_client *client;

    list_only.open = open_list_only;
    client = client_open(&list_only);
    assert_int_equal(count_files(conformance_file_root()), 0);
    flag(client, HF_REQUEST_CLEAR_FLAG);
    assert_int_equal(count_files(conformance_file_root()), 0);
    flag(client, HF_REQUEST_SET_FLAG);
    (void)look(client, true);
    flag(client, HF_REQUEST_CLEAR_FLAG);
    client_close(client);
}

FILE_TEST(a_missing_root_is_made_by_who_watches)
{
    struct conformance_fixture list_only = conformance_file;
    struct engine_client *a, *client;

    list_only.open = open_list_only;
    client = client_open(&list_only);
    a = client_open(&conformance_file);
    flag(a, HF_REQUEST_SET_FLAG);
    (void)look(client, true);
    flag(a, HF_REQUEST_CLEAR_FLAG);
    client_close(client);
    client_close(a);
}

FILE_TEST(a_missing_root_is_made_by_an_enqueue)
{
    struct conformance_fixture list_only = conformance_file;
    struct engine_client *client;

    list_only.open = open_list_only;
    client = client_open(&list_only);
    assert_int_equal(
        client_enqueue(client, "q", fresh_id(), HF_TICKET_MUTEX, "me")->answer,
        HF_EVENT_ENQUEUED);
    client_close(client);
}

FILE_TEST(a_flag_for_all_users)
{
    struct engine_client *a;
    struct stat status;
    char path[FLAG_BYTES];
    mode_t before = umask(077);

    conformance_file_share();
    a = client_open(&conformance_file);
    flag(a, HF_REQUEST_SET_FLAG);
    flag_path("b", path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 0022, 0022);
    flag(a, HF_REQUEST_CLEAR_FLAG);
    client_close(a);
    (void)umask(before);
}

/* A file of another program, or of another name. */
FILE_TEST(what_is_no_flag_is_refused)
{
    static const char *const texts[] = {
        "nonsense", "00000000-0000-0000-0000-000000000000 another"};
    OPEN_CLIENT(a, &conformance_file);
    char path[FLAG_BYTES];
    struct client_request *request;

    flag_path("b", path);
    for (size_t i = 0; i < 2; i++) {
        flag(a, HF_REQUEST_SET_FLAG);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(texts[i], path), 0);
        request = client_barrier(a, HF_REQUEST_WATCH_QUEUE, "b");
        assert_int_equal(request->answer, HF_EVENT_FAILED);
        assert_int_equal(request->status, HF_EDIR);
        assert_non_null(strstr(request->text, texts[i]));
        request = client_barrier(a, HF_REQUEST_SET_FLAG, "b");
        assert_int_equal(request->status, HF_EDIR);
        flag(a, HF_REQUEST_CLEAR_FLAG);
    }
}

/* ---------------------------------------------------------- system calls -- */

static int no_inotify(const char *request)
{
    return strcmp(request, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *request)
{
    return strcmp(request, "inotify_add") == 0 ? ENOSPC : 0;
}

static void wait_without(int (*fault)(const char *request))
{
    struct engine_client *a = client_open(&conformance_file);
    struct client_request *seen;

    flag(a, HF_REQUEST_SET_FLAG);
    hf_file_sys_hook = fault;
    seen = look(a, true);
    hf_file_sys_hook = NULL;
    flag(a, HF_REQUEST_CLEAR_FLAG);
    assert_true(client_wait_gone(a, seen));
    assert_non_null(strstr(conformance_file_log(), "inotify"));
    client_close(a);
}

FILE_TEST(a_barrier_is_watched_without_inotify)
{
    wait_without(no_inotify);
    wait_without(no_inotify_watch);
}

/* One client has a watch on each of several barriers. */
FILE_TEST(barriers_are_watched_side_by_side)
{
    OPEN_CLIENT(a, &conformance_file);
    struct client_request *looks[3];
    char queue[] = "0";

    for (unsigned i = 0; i < 3; i++, queue[0]++) {
        (void)client_barrier(a, HF_REQUEST_SET_FLAG, queue);
        looks[i] = client_barrier(a, HF_REQUEST_WATCH_QUEUE, queue);
        assert_int_equal(looks[i]->count, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        queue[0] = (char)('0' + i);
        (void)client_barrier(a, HF_REQUEST_CLEAR_FLAG, queue);
        assert_true(client_wait_gone(a, looks[i]));
    }
}

static int error_now;

/* True if the fault was hit.  Every answer must be true. */
static bool live_with_fault(unsigned step)
{
    struct engine_client *a = client_open(&conformance_file);
    char path[FLAG_BYTES];
    struct client_request *request;
    bool met;

    flag_path("b", path);
    fault_fail_call(step, error_now);
    request = client_barrier(a, HF_REQUEST_SET_FLAG, "b");
    assert_true(request->answer == HF_EVENT_FAILED || is_there(path));
    request = client_barrier(a, HF_REQUEST_WATCH_QUEUE, "b");
    if (request->answer == HF_EVENT_LISTED)
        assert_int_equal(request->count, is_there(path) ? 1 : 0);
    if (client_barrier(a, HF_REQUEST_CLEAR_FLAG, "b")->answer ==
        HF_EVENT_FLAG_UPDATED)
        assert_false(is_there(path));
    met = fault_call_failed();
    (void)client_barrier(a, HF_REQUEST_CLEAR_FLAG, "b");
    if (request->answer == HF_EVENT_LISTED && request->count == 1)
        assert_true(client_wait_gone(a, request));
    client_close(a);
    return met;
}

/* With each of the first ${kinds} errors of the table. */
static void fail_each_call(size_t kinds)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, ENOMEM};
    unsigned before, step;

    assert_true(kinds <= sizeof errors / sizeof errors[0]);
    (void)live_with_fault(0);
    before = count_descriptors();
    for (size_t e = 0; e < kinds; e++) {
        error_now = errors[e];
        for (step = 1; live_with_fault(step); step++)
            assert_true(step < STEPS_MAX);
        assert_true(step > 8);
    }
    assert_int_equal(count_descriptors(), before);
}

FILE_TEST(every_call_of_a_flag_may_fail)
{
    fail_each_call(5);
}

FILE_TEST(every_call_of_a_flag_for_all_users_may_fail)
{
    conformance_file_share();
    fail_each_call(1);
}
