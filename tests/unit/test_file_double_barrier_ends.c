/* SPDX-License-Identifier: Apache-2.0 */
/* Members that die, calls that fail, and a lock that others have. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/real_host.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_members.h"
#include "file_story.h"
#include "heap/heap.h"

#define STEPS_MAX 256

/* -------------------------------------------------------------- crashes -- */

static void a_crash_is_told(void **state)
{
    pid_t victim = crew_victim_start();
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen = crew_look(a, 2, false);

    (void)state;
    story_victim_kill(victim);
    assert_true(seat_sees_gone(a, seen));
    (void)crew_list(a, 1, false);
    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FAILED);
    crew_go(a, id);
    assert_int_equal(crew_files(), 0);
    seat_close(a);
}

/* Who is dead when it is counted is no member, and goes. */
static void a_stamp_counts_the_living(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    pid_t victims[3];
    struct call *call;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        victims[i] = crew_victim_start();
    assert_int_equal(crew_stamp(a, id, 4)->answer, HF_EVENT_FLAG_UPDATED);
    for (size_t i = 0; i < 2; i++)
        story_victim_kill(victims[i]);
    assert_int_equal(crew_files(), 2 * 4 + 1);
    call = crew_stamp(a, id, 3);
    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->failure, HF_FAILURE_RETRY);
    assert_non_null(strstr(call->text, "2 of 3"));
    assert_int_equal(crew_files(), 2 * 2 + 1);
    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FLAG_UPDATED);
    story_victim_kill(victims[2]);
    crew_go(a, id);
    assert_true(crew_lower(a)); /* the dead keep it up no longer */
    assert_int_equal(crew_files(), 0);
    seat_close(a);
}

/* The mark of a round whose last member is killed lets in nobody who comes
 * after, and is in nobody's way. */
static void a_stamp_left_by_the_dead_does_no_harm(void **state)
{
    pid_t victim = crew_victim_start();
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *call;
    uint64_t token;

    (void)state;
    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FLAG_UPDATED);
    token = crew_list(a, 2, true)->tickets[2].token;
    crew_go(a, id);
    assert_false(crew_lower(a));
    story_victim_kill(victim);
    call = seat_enqueue(a, CREW, fresh_id(), HF_TICKET_PARTICIPANT, "");
    assert_true(call->tickets[call->count - 1].token > token);
    (void)crew_look(a, 1, true);
    seat_close(a);
    a = seat_open(&bench_file);
    assert_true(crew_lower(a));
    seat_close(a);
}

/* Stopped, it is there; taken out, it is not, though it cannot say so. */
static void a_stopped_member_is_counted_until_it_is_taken_out(void **state)
{
    pid_t victim = crew_victim_start();
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen = crew_look(b, 2, false);

    (void)state;
    assert_int_equal(kill(victim, SIGSTOP), 0);
    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FLAG_UPDATED);
    assert_true(seat_sees_gone(b, seen));
    seen = crew_look(b, 2, true);
    crew_go(a, seen->tickets[0].id);
    assert_true(seat_sees_gone(b, seen));
    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FAILED);
    crew_go(a, id);
    assert_true(crew_lower(a));
    story_victim_kill(victim);
    seat_close(b);
    seat_close(a);
}

/* ------------------------------------------------- a kill at each call -- */

static int error_now;

static void live_a_round(struct seat *seat)
{
    struct hf_ticket_id id = fresh_id();

    (void)seat_enqueue(seat, CREW, id, HF_TICKET_PARTICIPANT, "doomed");
    (void)seat_members(seat, HF_REQUEST_WATCH_QUEUE, CREW, id, 0);
    (void)crew_stamp(seat, id, 1);
    (void)crew_stamp(seat, id, 1);
    (void)seat_members(seat, HF_REQUEST_LIST, CREW, id, 0);
    (void)seat_ask(seat, HF_REQUEST_REMOVE, CREW, id);
    (void)seat_members(seat, HF_REQUEST_CLEAR_FLAG, CREW, id, 0);
}

static void live_to_be_killed(void *arg)
{
    struct seat *seat = seat_open(&bench_file);

    story_die_at_call(*(const unsigned *)arg);
    live_a_round(seat);
    seat_close(seat);
}

/* Alone, whatever was left there; and leave nothing.  The token. */
static uint64_t meet_alone(void)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *call;
    uint64_t token;

    assert_int_equal(crew_stamp(a, id, 2)->answer, HF_EVENT_FAILED);
    assert_int_equal(crew_stamp(a, id, 1)->answer, HF_EVENT_FLAG_UPDATED);
    call = crew_list(a, 1, true); /* which is cheaper than a look */
    token = call->tickets[1].token;
    assert_true(token > call->tickets[0].token);
    crew_go(a, id);
    assert_true(crew_lower(a));
    seat_close(a);
    return token;
}

static void a_kill_before_any_call_leaves_no_trace(void **state)
{
    unsigned step = 1;
    uint64_t last = 0;
    int ended = SIGKILL;

    (void)state;
    for (; ended == SIGKILL; step++) {
        pid_t pid = real_host_fork(live_to_be_killed, &step);
        uint64_t token;

        assert_true(step < STEPS_MAX);
        assert_int_equal(waitpid(pid, &ended, 0), pid);
        token = meet_alone();
        assert_true(token > last);
        last = token;
    }
    assert_int_equal(ended, 0);
    assert_true(step > 60);
}

/* --------------------------------------------------------------- faults -- */

/* True if the fault was met. */
static bool round_with_fault(unsigned step)
{
    struct seat *seat = seat_open(&bench_file);
    bool met;

    story_fail_call(step, error_now);
    live_a_round(seat);
    met = story_call_failed();
    seat_close(seat);
    return met;
}

/* As one leaves it who is killed while he makes the mark. */
static void leave_unfinished(void)
{
    char path[CREW_PATH_BYTES];

    crew_path(HF_NEW_FILE, path);
    assert_true(symlink("1", path) == 0 || errno == EEXIST);
}

/* What was answered is so: looked at, told; stamped, marked. */
static bool meeting_with_fault(unsigned step)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = crew_come(a), second = crew_come(b);
    struct call *look, *stamp;
    bool met;

    leave_unfinished();
    story_fail_call(step, error_now);
    look = seat_members(a, HF_REQUEST_WATCH_QUEUE, CREW, first, 0);
    stamp = crew_stamp(b, second, 2);
    met = story_call_failed();
    assert_true(stamp->answer != HF_EVENT_FLAG_UPDATED || crew_has("ready"));
    if (stamp->answer != HF_EVENT_FLAG_UPDATED)
        assert_false(crew_has("ready"));
    if (look->answer == HF_EVENT_LISTED) {
        assert_int_equal(look->count, 2);
        crew_go(b, second);
        assert_true(seat_sees_gone(a, look));
    }
    seat_close(b);
    seat_close(a);
    return met;
}

static void sweep(unsigned least, bool (*with_fault)(unsigned step))
{
    static const int errors[] = {EIO, ENOSPC, EMFILE};
    unsigned before;

    (void)meet_alone(); /* whatever is opened once is */
    before = story_descriptors();
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
        unsigned step = 0;
        bool met;

        error_now = errors[e];
        do {
            assert_true(step < STEPS_MAX);
            met = with_fault(++step);
            (void)meet_alone();
        } while (met);
        assert_true(step > least);
    }
    assert_int_equal(story_descriptors(), before);
}

static void every_call_of_a_round_may_fail(void **state)
{
    (void)state;
    sweep(60, round_with_fault);
}

static void every_call_of_a_meeting_may_fail(void **state)
{
    (void)state;
    sweep(20, meeting_with_fault);
}

static void memory_may_run_out(void **state)
{
    unsigned before, step = 0;
    bool met;

    (void)state;
    (void)meet_alone();
    before = story_descriptors();
    do {
        struct seat *a = seat_open(&bench_file);
        struct seat *b = seat_open(&bench_file);
        struct hf_ticket_id id = crew_come(a);

        heap_fail(++step, false);
        (void)seat_members(b, HF_REQUEST_WATCH_QUEUE, CREW, id, 0);
        (void)crew_stamp(a, id, 1);
        live_a_round(b);
        met = heap_failed();
        heap_fail(0, false);
        seat_close(b);
        seat_close(a);
        (void)meet_alone();
    } while (met);
    assert_true(step > 10);
    assert_int_equal(story_descriptors(), before);
}

/* ------------------------------------------------------ without inotify -- */

static int no_inotify(const char *call)
{
    return strcmp(call, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *call)
{
    return strcmp(call, "inotify_add") == 0 ? ENOSPC : 0;
}

static int neither(const char *call)
{
    return strcmp(call, "timerfd_create") == 0 ? EMFILE : no_inotify(call);
}

static void look_without(int (*fault)(const char *call))
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(b);
    struct call *seen;

    hf_sys_hook = fault;
    seen = crew_look(a, 1, false);
    hf_sys_hook = NULL;
    (void)crew_come(b);
    assert_true(seat_sees_gone(a, seen));
    assert_non_null(strstr(bench_file_log(), "inotify"));
    hf_sys_hook = fault;
    seen = crew_look(a, 2, false);
    hf_sys_hook = NULL;
    assert_int_equal(crew_stamp(b, id, 2)->answer, HF_EVENT_FLAG_UPDATED);
    assert_true(seat_sees_gone(a, seen));
    seen = crew_look(a, 2, true);
    crew_go(b, id); /* by its hang-up */
    assert_true(seat_sees_gone(a, seen));
    seat_close(b);
    assert_true(crew_lower(a));
    seat_close(a);
}

static void members_are_looked_at_without_inotify(void **state)
{
    (void)state;
    look_without(no_inotify);
    look_without(no_inotify_watch);
}

static void or_it_is_said_that_they_cannot_be(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *call;

    (void)state;
    hf_sys_hook = neither;
    call = seat_members(a, HF_REQUEST_WATCH_QUEUE, CREW, id, 0);
    hf_sys_hook = NULL;
    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->status, HF_ELIMIT);
    assert_non_null(strstr(call->text, "ulimit -n"));
    crew_go(a, id);
    seat_close(a);
}

/* --------------------------------------------------- the lock is taken -- */

static int take_lock(void)
{
    char path[CREW_PATH_BYTES];
    int fd;

    crew_path("", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static struct call *begin_work(struct seat *seat, enum hf_request_kind kind,
                               struct hf_ticket_id id)
{
    struct call *call = seat_members_only(seat, kind, CREW, id, 1);

    seat_settle(seat);
    assert_int_equal(call->answers, 0);
    return call;
}

static void stamps_wait_for_the_lock(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    int fd = take_lock();
    struct call *stamp = begin_work(a, HF_REQUEST_NEW_GENERATION, id);
    struct call *lower = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);

    (void)state;
    (void)crew_list(a, 1, false); /* which needs no lock */
    assert_int_equal(close(fd), 0);
    assert_int_equal(seat_wait(a, stamp)->answer, HF_EVENT_FLAG_UPDATED);
    assert_false(seat_wait(a, lower)->found);
    fd = take_lock();
    lower = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);
    crew_go(a, id); /* nor does this */
    assert_int_equal(close(fd), 0);
    assert_int_equal(seat_wait(a, lower)->answer, HF_EVENT_FLAG_UPDATED);
    assert_true(lower->found);
    seat_close(a);
}

/* Who has gone by the time the lock is had does not stamp. */
static void a_stamp_is_overtaken_by_a_withdrawal(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    int fd = take_lock();
    struct call *stamp = begin_work(a, HF_REQUEST_NEW_GENERATION, id);

    (void)state;
    crew_go(a, id);
    assert_int_equal(close(fd), 0);
    assert_int_equal(seat_wait(a, stamp)->answer, HF_EVENT_FAILED);
    assert_int_equal(stamp->failure, HF_FAILURE_RETRY);
    assert_false(crew_has("ready"));
    seat_close(a);
}

static void the_end_waits_for_no_lock(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    int fd = take_lock();
    struct call *stamp = begin_work(a, HF_REQUEST_NEW_GENERATION, id);
    struct call *lower = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);
    char path[CREW_PATH_BYTES];

    (void)state;
    seat_end(a);
    assert_int_equal(stamp->answer, HF_EVENT_FAILED);
    assert_int_equal(stamp->status, HF_ECLOSED);
    assert_int_equal(lower->answer, HF_EVENT_FAILED);
    seat_free(a);
    assert_int_equal(close(fd), 0);
    assert_int_equal(crew_files(), 0);
    crew_path("", path);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_crash_is_told),
        TEST(a_stamp_counts_the_living),
        TEST(a_stamp_left_by_the_dead_does_no_harm),
        TEST(a_stopped_member_is_counted_until_it_is_taken_out),
        TEST(a_kill_before_any_call_leaves_no_trace),
        TEST(every_call_of_a_round_may_fail),
        TEST(every_call_of_a_meeting_may_fail),
        TEST(memory_may_run_out),
        TEST(members_are_looked_at_without_inotify),
        TEST(or_it_is_said_that_they_cannot_be),
        TEST(stamps_wait_for_the_lock),
        TEST(a_stamp_is_overtaken_by_a_withdrawal),
        TEST(the_end_waits_for_no_lock),
    };
    int failed;

    heap_own();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed != 0 ? failed : heap_live() != 0;
}
