/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on files: what wakes who waits, what does not, and what may fail. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "engines/file/syscalls.h"
#include "file_story.h"

#define MARK_BYTES (BENCH_FILE_PATH_BYTES + 16)
#define STEPS_MAX 256

static void mark_path(const char *queue, char path[MARK_BYTES])
{
    char directory[BENCH_FILE_PATH_BYTES];

    bench_file_path(queue, directory);
    (void)snprintf(path, MARK_BYTES, "%s/barrier", directory);
}

static bool is_there(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static struct call *look(struct seat *seat, bool up)
{
    struct call *call = seat_mark(seat, HF_REQUEST_WATCH_QUEUE, "b");

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, up ? 1 : 0);
    return call;
}

static void mark(struct seat *seat, enum hf_request_kind kind)
{
    assert_int_equal(seat_mark(seat, kind, "b")->answer, HF_EVENT_FLAG_UPDATED);
}

/* As ls -l shows it; and it takes its directory along. */
static void a_mark_says_whose_it_is(void **state)
{
    struct seat *a = seat_open(&bench_file);
    char path[MARK_BYTES], text[128];
    ssize_t got;

    (void)state;
    mark(a, HF_REQUEST_SET_FLAG);
    mark_path("b", path);
    got = readlink(path, text, sizeof text - 1);
    assert_int_equal(got, 36 + 2);
    text[got] = '\0';
    assert_string_equal(text + 36, " b");
    mark(a, HF_REQUEST_CLEAR_FLAG);
    assert_false(is_there(path));
    *strrchr(path, '/') = '\0';
    assert_false(is_there(path));
    seat_close(a);
}

/* Times, links, other files and other marks: news of nothing. */
static void fn66_other_news_wakes_nobody(void **state)
{
    struct seat *a = seat_open(&bench_file);
    char path[MARK_BYTES], beside[MARK_BYTES + 8];
    struct call *seen;

    (void)state;
    mark(a, HF_REQUEST_SET_FLAG);
    seen = look(a, true);
    mark_path("b", path);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW), 0);
    (void)snprintf(beside, sizeof beside, "%s.too", path);
    assert_int_equal(link(path, beside), 0);
    assert_int_equal(unlink(beside), 0);
    seat_settle(a);
    assert_int_equal(seen->gone, 0);
    assert_int_equal(unlink(path), 0); /* by hand, as good as any */
    assert_true(seat_sees_gone(a, seen));
    (void)look(a, false);
    mark(a, HF_REQUEST_CLEAR_FLAG); /* who finds it down tidies up */
    seat_close(a);
}

/* Tickets come and go in the same directory. */
static void a_mark_stays_when_a_queue_runs_empty(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *seen;

    (void)state;
    mark(a, HF_REQUEST_SET_FLAG);
    seen = look(b, true);
    (void)seat_enqueue(a, "b", id, HF_TICKET_MUTEX, "");
    (void)seat_ask(a, HF_REQUEST_REMOVE, "b", id);
    seat_close(a);
    seat_settle(b);
    assert_int_equal(seen->gone, 0);
    (void)look(b, true);
    mark(b, HF_REQUEST_CLEAR_FLAG);
    assert_true(seat_sees_gone(b, seen));
    seat_close(b);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

/* Its directory, all locks, or the root: it is not up where it should be. */
static void a_mark_that_was_moved_away_is_down(void **state)
{
    struct seat *a = seat_open(&bench_file);
    char paths[3][MARK_BYTES], away[MARK_BYTES];
    struct call *seen;

    (void)state;
    mark_path("b", paths[0]);
    *strrchr(paths[0], '/') = '\0';
    (void)snprintf(paths[1], MARK_BYTES, "%s/locks", bench_file_root());
    (void)snprintf(paths[2], MARK_BYTES, "%s", bench_file_root());
    for (size_t i = 0; i < 3; i++) {
        mark(a, HF_REQUEST_SET_FLAG);
        seen = look(a, true);
        (void)snprintf(away, sizeof away, "%.*s.away", MARK_BYTES - 8,
                       paths[i]);
        move(paths[i], away);
        assert_true(seat_sees_gone(a, seen));
        (void)look(a, false);
        move(away, paths[i]);
        (void)look(a, true);
        mark(a, HF_REQUEST_CLEAR_FLAG);
    }
    seat_close(a);
}

/* Whoever raises it makes what is missing. */
static void a_root_that_is_gone_is_made_again(void **state)
{
    struct seat *a = seat_open(&bench_file);
    char locks[MARK_BYTES];

    (void)state;
    (void)snprintf(locks, sizeof locks, "%s/locks", bench_file_root());
    assert_int_equal(rmdir(locks), 0);
    mark(a, HF_REQUEST_SET_FLAG);
    (void)look(a, true);
    mark(a, HF_REQUEST_CLEAR_FLAG);
    seat_close(a);
}

static void a_mark_for_all_users(void **state)
{
    struct seat *a;
    struct stat status;
    char path[MARK_BYTES];
    mode_t before = umask(077);

    (void)state;
    bench_file_share();
    a = seat_open(&bench_file);
    mark(a, HF_REQUEST_SET_FLAG);
    mark_path("b", path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 0022, 0022);
    mark(a, HF_REQUEST_CLEAR_FLAG);
    seat_close(a);
    (void)umask(before);
}

/* Not made by us, or for another name. */
static void what_is_no_mark_is_refused(void **state)
{
    static const char *const texts[] = {
        "nonsense", "00000000-0000-0000-0000-000000000000 another"};
    struct seat *a = seat_open(&bench_file);
    char path[MARK_BYTES];
    struct call *call;

    (void)state;
    mark_path("b", path);
    for (size_t i = 0; i < 2; i++) {
        mark(a, HF_REQUEST_SET_FLAG);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(texts[i], path), 0);
        call = seat_mark(a, HF_REQUEST_WATCH_QUEUE, "b");
        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->status, HF_EDIR);
        assert_non_null(strstr(call->text, texts[i]));
        call = seat_mark(a, HF_REQUEST_SET_FLAG, "b");
        assert_int_equal(call->status, HF_EDIR);
        mark(a, HF_REQUEST_CLEAR_FLAG);
    }
    seat_close(a);
}

/* ---------------------------------------------------------- system calls -- */

static int no_inotify(const char *call)
{
    return strcmp(call, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *call)
{
    return strcmp(call, "inotify_add") == 0 ? ENOSPC : 0;
}

static void wait_without(int (*fault)(const char *call))
{
    struct seat *a = seat_open(&bench_file);
    struct call *seen;

    mark(a, HF_REQUEST_SET_FLAG);
    hf_sys_hook = fault;
    seen = look(a, true);
    hf_sys_hook = NULL;
    mark(a, HF_REQUEST_CLEAR_FLAG);
    assert_true(seat_sees_gone(a, seen));
    assert_non_null(strstr(bench_file_log(), "inotify"));
    seat_close(a);
}

static void a_barrier_is_watched_without_inotify(void **state)
{
    (void)state;
    wait_without(no_inotify);
    wait_without(no_inotify_watch);
}

/* One client hears of each of several. */
static void barriers_are_watched_side_by_side(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct call *looks[3];
    char queue[] = "0";

    (void)state;
    for (unsigned i = 0; i < 3; i++, queue[0]++) {
        (void)seat_mark(a, HF_REQUEST_SET_FLAG, queue);
        looks[i] = seat_mark(a, HF_REQUEST_WATCH_QUEUE, queue);
        assert_int_equal(looks[i]->count, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        queue[0] = (char)('0' + i);
        (void)seat_mark(a, HF_REQUEST_CLEAR_FLAG, queue);
        assert_true(seat_sees_gone(a, looks[i]));
    }
    seat_close(a);
}

static int error_now;

/* True if the fault was met.  What was answered is so. */
static bool live_with_fault(unsigned step)
{
    struct seat *a = seat_open(&bench_file);
    char path[MARK_BYTES];
    struct call *call;
    bool met;

    mark_path("b", path);
    story_fail_call(step, error_now);
    call = seat_mark(a, HF_REQUEST_SET_FLAG, "b");
    assert_true(call->answer == HF_EVENT_FAILED || is_there(path));
    call = seat_mark(a, HF_REQUEST_WATCH_QUEUE, "b");
    if (call->answer == HF_EVENT_LISTED)
        assert_int_equal(call->count, is_there(path) ? 1 : 0);
    if (seat_mark(a, HF_REQUEST_CLEAR_FLAG, "b")->answer ==
        HF_EVENT_FLAG_UPDATED)
        assert_false(is_there(path));
    met = story_call_failed();
    (void)seat_mark(a, HF_REQUEST_CLEAR_FLAG, "b");
    if (call->answer == HF_EVENT_LISTED && call->count == 1)
        assert_true(seat_sees_gone(a, call));
    seat_close(a);
    return met;
}

/* With each of the first ${kinds} of these errors. */
static void fail_each_call(size_t kinds)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, ENOMEM};
    unsigned before, step;

    assert_true(kinds <= sizeof errors / sizeof errors[0]);
    (void)live_with_fault(0);
    before = story_descriptors();
    for (size_t e = 0; e < kinds; e++) {
        error_now = errors[e];
        for (step = 1; live_with_fault(step); step++)
            assert_true(step < STEPS_MAX);
        assert_true(step > 8);
    }
    assert_int_equal(story_descriptors(), before);
}

static void every_call_of_a_mark_may_fail(void **state)
{
    (void)state;
    fail_each_call(5);
}

static void every_call_of_a_mark_for_all_users_may_fail(void **state)
{
    (void)state;
    bench_file_share();
    fail_each_call(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_mark_says_whose_it_is),
        TEST(fn66_other_news_wakes_nobody),
        TEST(a_mark_stays_when_a_queue_runs_empty),
        TEST(a_mark_that_was_moved_away_is_down),
        TEST(a_root_that_is_gone_is_made_again),
        TEST(a_mark_for_all_users),
        TEST(what_is_no_mark_is_refused),
        TEST(a_barrier_is_watched_without_inotify),
        TEST(barriers_are_watched_side_by_side),
        TEST(every_call_of_a_mark_may_fail),
        TEST(every_call_of_a_mark_for_all_users_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
