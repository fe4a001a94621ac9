/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of a double barrier whose processes die, calls that fail, and
 * a lock that is held elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/real_host.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"
#include "file_participants.h"
#include "heap/heap.h"

#define STEPS_MAX 256

/* -------------------------------------------------------------- crashes -- */

FILE_TEST(a_crash_is_reported)
{
    pid_t victim = participant_victim_start();
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen = participants_look(a, 2, false);

    victim_kill_process(victim);
    assert_true(client_wait_gone(a, seen));
    (void)participants_list(a, 1, false);
    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FAILED);
    participant_leave(a, id);
    assert_int_equal(participants_files(), 0);
}

/* They were all dead, so their directory goes when they are listed. */
FILE_TEST(who_comes_after_the_dead_is_reported)
{
    pid_t victim = participant_victim_start();
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *seen;

    victim_kill_process(victim);
    seen = participants_look(a, 0, false);
    assert_int_equal(participants_files(), 0);
    client_drain(a);
    assert_int_equal(seen->gone, 0);
    (void)participant_enter(b);
    assert_true(client_wait_gone(a, seen));
    (void)participants_look(a, 1, false);
}

/* A participant that is dead when they are counted does not count, and is
 * removed. */
FILE_TEST(a_generation_counts_living_participants)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    pid_t victims[3];
    struct client_request *request;

    for (size_t i = 0; i < 3; i++)
        victims[i] = participant_victim_start();
    assert_int_equal(participants_new_generation(a, id, 4)->answer,
                     HF_EVENT_FLAG_UPDATED);
    for (size_t i = 0; i < 2; i++)
        victim_kill_process(victims[i]);
    assert_int_equal(participants_files(), 2 * 4 + 1);
    request = participants_new_generation(a, id, 3);
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->failure, HF_FAILURE_RETRY);
    assert_non_null(strstr(request->text, "2 of 3"));
    assert_int_equal(participants_files(), 2 * 2 + 1);
    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FLAG_UPDATED);
    victim_kill_process(victims[2]);
    participant_leave(a, id);
    assert_true(participants_clear(a)); /* the dead keep it up no longer */
    assert_int_equal(participants_files(), 0);
}

/* The last participant of a generation is killed: its flag lets no later
 * participant enter and blocks none. */
FILE_TEST(a_generation_left_by_the_dead_does_no_harm)
{
    pid_t victim = participant_victim_start();
    struct engine_client *a = client_open(&conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *request;
    uint64_t token;

    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FLAG_UPDATED);
    token = participants_list(a, 2, true)->tickets[2].token;
    participant_leave(a, id);
    assert_false(participants_clear(a));
    victim_kill_process(victim);
    request = client_enqueue(a, BARRIER, fresh_id(), HF_TICKET_PARTICIPANT, "");
    assert_true(request->tickets[request->count - 1].token > token);
    (void)participants_look(a, 1, true);
    client_close(a);
    a = client_open(&conformance_file);
    assert_true(participants_clear(a));
    client_close(a);
}

/* A stopped participant counts.  Once it is evicted it does not, although it
 * cannot notice. */
FILE_TEST(a_stopped_participant_is_counted_until_it_is_taken_out)
{
    pid_t victim = participant_victim_start();
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen = participants_look(b, 2, false);

    assert_int_equal(kill(victim, SIGSTOP), 0);
    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FLAG_UPDATED);
    assert_true(client_wait_gone(b, seen));
    seen = participants_look(b, 2, true);
    participant_leave(a, seen->tickets[0].id);
    assert_true(client_wait_gone(b, seen));
    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FAILED);
    participant_leave(a, id);
    assert_true(participants_clear(a));
    victim_kill_process(victim);
}

/* ------------------------------------------------- a kill at each call -- */

static int error_now;

static void live_a_generation(struct engine_client *client)
{
    struct hf_ticket_id id = fresh_id();

    (void)client_enqueue(client, BARRIER, id, HF_TICKET_PARTICIPANT, "doomed");
    (void)client_double_barrier(client, HF_REQUEST_WATCH_QUEUE, BARRIER, id, 0);
    (void)participants_new_generation(client, id, 1);
    (void)participants_new_generation(client, id, 1);
    (void)client_double_barrier(client, HF_REQUEST_LIST, BARRIER, id, 0);
    (void)client_ask(client, HF_REQUEST_REMOVE, BARRIER, id);
    (void)client_double_barrier(client, HF_REQUEST_CLEAR_FLAG, BARRIER, id, 0);
}

static void live_to_be_killed(void *arg)
{
    struct engine_client *client = client_open(&conformance_file);

    fault_die_at_call(*(const unsigned *)arg);
    live_a_generation(client);
    client_close(client);
}

/* Enter, make a generation and leave alone, whatever was left in the
 * directory; nothing may be left then.  The token of the generation. */
static uint64_t meet_alone(void)
{
    struct engine_client *a = client_open(&conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *request;
    uint64_t token;

    assert_int_equal(participants_new_generation(a, id, 2)->answer,
                     HF_EVENT_FAILED);
    assert_int_equal(participants_new_generation(a, id, 1)->answer,
                     HF_EVENT_FLAG_UPDATED);
    request =
        participants_list(a, 1, true); /* which costs less than a queue watch */
    token = request->tickets[1].token;
    assert_true(token > request->tickets[0].token);
    participant_leave(a, id);
    assert_true(participants_clear(a));
    client_close(a);
    return token;
}

FILE_TEST(a_kill_before_any_call_leaves_no_trace)
{
    unsigned step = 1;
    uint64_t last = 0;
    int ended = SIGKILL;

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

/* True if the fault was hit. */
static bool generation_with_fault(unsigned step)
{
    struct engine_client *client = client_open(&conformance_file);
    bool met;

    fault_fail_call(step, error_now);
    live_a_generation(client);
    met = fault_call_failed();
    client_close(client);
    return met;
}

/* The state after a kill in the middle of setting the flag. */
static void leave_unfinished(void)
{
    char path[BARRIER_PATH_BYTES];

    participants_path(HF_NEW_FILE, path);
    assert_true(symlink("1", path) == 0 || errno == EEXIST);
}

/* True if all was answered; each answer must be true: a queue watch reports,
 * a generation has its flag. */
static bool meeting_with_fault(unsigned step)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id first = participant_enter(a),
                        second = participant_enter(b);
    struct client_request *look, *generation;
    bool met;

    leave_unfinished();
    fault_fail_call(step, error_now);
    look = client_double_barrier(a, HF_REQUEST_WATCH_QUEUE, BARRIER, first, 0);
    generation = participants_new_generation(b, second, 2);
    met = fault_call_failed();
    assert_true(generation->answer != HF_EVENT_FLAG_UPDATED ||
                participants_has("ready"));
    if (generation->answer != HF_EVENT_FLAG_UPDATED)
        assert_false(participants_has("ready"));
    if (look->answer == HF_EVENT_LISTED) {
        assert_int_equal(look->count, 2);
        participant_leave(b, second);
        assert_true(client_wait_gone(a, look));
    }
    client_close(b);
    client_close(a);
    return met;
}

static void fail_each_call_of(unsigned least, bool (*with_fault)(unsigned step))
{
    static const int errors[] = {EIO, ENOSPC, EMFILE};
    unsigned before;

    (void)meet_alone(); /* whatever is opened once is */
    before = count_descriptors();
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
    assert_int_equal(count_descriptors(), before);
}

FILE_TEST(every_call_of_a_generation_may_fail)
{
    fail_each_call_of(60, generation_with_fault);
}

FILE_TEST(every_call_of_a_meeting_may_fail)
{
    fail_each_call_of(20, meeting_with_fault);
}

FILE_TEST(memory_may_run_out)
{
    unsigned before, step = 0;
    bool met;

    (void)meet_alone();
    before = count_descriptors();
    do {
        struct engine_client *a = client_open(&conformance_file);
        struct engine_client *b = client_open(&conformance_file);
        struct hf_ticket_id id = participant_enter(a);

        heap_fail(++step, false);
        (void)client_double_barrier(b, HF_REQUEST_WATCH_QUEUE, BARRIER, id, 0);
        (void)participants_new_generation(a, id, 1);
        live_a_generation(b);
        met = heap_failed();
        heap_fail(0, false);
        client_close(b);
        client_close(a);
        (void)meet_alone();
    } while (met);
    assert_true(step > 10);
    assert_int_equal(count_descriptors(), before);
}

/* ------------------------------------------------------ without inotify -- */

static int no_inotify(const char *request)
{
    return strcmp(request, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *request)
{
    return strcmp(request, "inotify_add") == 0 ? ENOSPC : 0;
}

static int neither(const char *request)
{
    return strcmp(request, "timerfd_create") == 0 ? EMFILE
                                                  : no_inotify(request);
}

static void look_without(int (*fault)(const char *request))
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id id = participant_enter(b);
    struct client_request *seen;

    hf_file_sys_hook = fault;
    seen = participants_look(a, 1, false);
    hf_file_sys_hook = NULL;
    (void)participant_enter(b);
    assert_true(client_wait_gone(a, seen));
    assert_non_null(strstr(conformance_file_log(), "inotify"));
    hf_file_sys_hook = fault;
    seen = participants_look(a, 2, false);
    hf_file_sys_hook = NULL;
    assert_int_equal(participants_new_generation(b, id, 2)->answer,
                     HF_EVENT_FLAG_UPDATED);
    assert_true(client_wait_gone(a, seen));
    seen = participants_look(a, 2, true);
    participant_leave(b, id); /* by its hang-up */
    assert_true(client_wait_gone(a, seen));
    client_close(b);
    assert_true(participants_clear(a));
    client_close(a);
}

FILE_TEST(participants_are_looked_at_without_inotify)
{
    look_without(no_inotify);
    look_without(no_inotify_watch);
}

FILE_TEST(or_it_is_said_that_they_cannot_be)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *request;

    hf_file_sys_hook = neither;
    request = client_double_barrier(a, HF_REQUEST_WATCH_QUEUE, BARRIER, id, 0);
    hf_file_sys_hook = NULL;
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_ELIMIT);
    assert_non_null(strstr(request->text, "ulimit -n"));
    participant_leave(a, id);
}

/* --------------------------------------------------- the lock is taken -- */

static int take_lock(void)
{
    char path[BARRIER_PATH_BYTES];
    int fd;

    participants_path("", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static struct client_request *begin_work(struct engine_client *client,
                                         enum hf_request_kind kind,
                                         struct hf_ticket_id id)
{
    struct client_request *request =
        client_start_double_barrier(client, kind, BARRIER, id, 1);

    client_drain(client);
    assert_int_equal(request->answers, 0);
    return request;
}

FILE_TEST(generations_wait_for_the_lock)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    int fd = take_lock();
    struct client_request *generation =
        begin_work(a, HF_REQUEST_NEW_GENERATION, id);
    struct client_request *clear = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);

    (void)participants_list(a, 1, false); /* which needs no lock */
    assert_int_equal(close(fd), 0);
    assert_int_equal(client_wait(a, generation)->answer, HF_EVENT_FLAG_UPDATED);
    assert_false(client_wait(a, clear)->found);
    fd = take_lock();
    clear = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);
    participant_leave(a, id); /* nor does this */
    assert_int_equal(close(fd), 0);
    assert_int_equal(client_wait(a, clear)->answer, HF_EVENT_FLAG_UPDATED);
    assert_true(clear->found);
}

/* A participant that left before the lock was free makes no generation. */
FILE_TEST(a_generation_is_overtaken_by_a_removal)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    int fd = take_lock();
    struct client_request *generation =
        begin_work(a, HF_REQUEST_NEW_GENERATION, id);

    participant_leave(a, id);
    assert_int_equal(close(fd), 0);
    assert_int_equal(client_wait(a, generation)->answer, HF_EVENT_FAILED);
    assert_int_equal(generation->failure, HF_FAILURE_RETRY);
    assert_false(participants_has("ready"));
}

FILE_TEST(the_end_waits_for_no_lock)
{
    struct engine_client *a = client_open(&conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    int fd = take_lock();
    struct client_request *generation =
        begin_work(a, HF_REQUEST_NEW_GENERATION, id);
    struct client_request *clear = begin_work(a, HF_REQUEST_CLEAR_FLAG, id);
    char path[BARRIER_PATH_BYTES];

    client_end(a);
    assert_int_equal(generation->answer, HF_EVENT_FAILED);
    assert_int_equal(generation->status, HF_ECLOSED);
    assert_int_equal(clear->answer, HF_EVENT_FAILED);
    client_free(a);
    assert_int_equal(close(fd), 0);
    assert_int_equal(participants_files(), 0);
    participants_path("", path);
    assert_int_equal(rmdir(path), 0);
}

TEST_FILE(file_double_barrier_ends)
{
    int failed;

    heap_install();
    failed = RUN_TESTS(NULL, NULL);
    return failed != 0 ? failed : heap_live() != 0;
}
