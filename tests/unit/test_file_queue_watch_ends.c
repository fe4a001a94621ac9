/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a lease by force, and what ends a look at it. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/real_host.h"
#include "engines/file/file.h"
#include "engines/file/syscalls.h"
#include "file_leases.h"
#include "file_story.h"
#include "heap/heap.h"

#define VICTIMS_MAX 4

static unsigned files_of_leases(void)
{
    char path[BENCH_FILE_PATH_BYTES];

    bench_file_path(LEASES, path);
    return story_files(path);
}

/* -------------------------------------------------------------- crashes -- */

static void come(void *weight)
{
    (void)leases_take(seat_open(&bench_file), *(const uint32_t *)weight);
}

static pid_t victim_start(uint32_t weight)
{
    return story_victim_start(come, &weight);
}

static void a_crash_is_told(void **state)
{
    pid_t victim = victim_start(2);
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)leases_take(a, 1);
    call = leases_look(b, 2);
    story_victim_kill(victim);
    assert_true(seat_sees_gone(b, call));
    /* Its ticket was removed before: a plain list has it no more. */
    assert_int_equal(
        seat_ask(a, HF_REQUEST_LIST, LEASES, call->tickets[0].id)->count, 1);
    (void)leases_look(b, 1);
    seat_close(b);
    seat_close(a);
}

/* Nobody looked at the time; no lease stands in another's way, so only a look
 * finds the dead among them. */
static void the_dead_are_dropped(void **state)
{
    struct seat *a = seat_open(&bench_file);
    pid_t victims[VICTIMS_MAX];
    struct hf_ticket_id id;
    struct call *call;

    (void)state;
    for (size_t i = 0; i < VICTIMS_MAX; i++) {
        if (i == VICTIMS_MAX / 2)
            id = leases_take(a, 7);
        victims[i] = victim_start(1);
    }
    for (size_t i = 0; i < VICTIMS_MAX; i++)
        story_victim_kill(victims[i]);
    assert_int_equal(files_of_leases(), 2 * (VICTIMS_MAX + 1));
    call = leases_look(a, 1);
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &id));
    assert_int_equal(call->tickets[0].weight, 7);
    assert_int_equal(files_of_leases(), 2);
    leases_expect_nothing(a, call); /* they had gone before the list */
    seat_close(a);
}

static void a_queue_of_the_dead_is_removed(void **state)
{
    struct seat *a = seat_open(&bench_file);
    pid_t victim = victim_start(1);
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    story_victim_kill(victim);
    (void)leases_look(a, 0);
    bench_file_path(LEASES, path);
    assert_int_equal(access(path, F_OK), -1);
    seat_close(a);
}

/* ------------------------------------------------------------- eviction -- */

/* Its owner is told, lets go, and that is what the others hear. */
static void an_evicted_lease_is_told(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct call *mine = leases_look(a, 1);
    struct call *own = seat_watch(a, LEASES, &mine->tickets[0]);
    struct call *call = leases_look(b, 1);

    (void)state;
    bench_file.evict(&bench_file, LEASES, &call->tickets[0]);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_true(seat_sees_gone(a, own));
    assert_int_equal(mine->gone, 1);
    assert_false(leases_leave(a, id));
    assert_true(seat_sees_gone(b, call));
    (void)leases_look(b, 0);
    seat_close(b);
    seat_close(a);
}

/* Whoever evicts need not wait for the owner. */
static void ones_own_eviction_is_told_at_once(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct call *call = leases_look(b, 1);

    (void)state;
    assert_true(leases_leave(b, id));
    assert_int_equal(call->gone, 1);
    call = leases_look(b, 0);
    assert_false(leases_leave(b, id));
    leases_expect_nothing(b, call);
    assert_false(leases_leave(a, id));
    seat_close(b);
    seat_close(a);
}

/* A stopped owner closes nothing: whoever looks is told all the same, in other
 * processes too. */
static void a_stopped_owner_keeps_no_permit(void **state)
{
    pid_t victim = victim_start(1);
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *mine = leases_look(a, 1);
    struct call *theirs = leases_look(b, 1);

    (void)state;
    assert_int_equal(kill(victim, SIGSTOP), 0);
    assert_true(leases_leave(a, mine->tickets[0].id));
    assert_int_equal(mine->gone, 1);
    assert_true(seat_sees_gone(b, theirs));
    (void)leases_look(b, 0);
    story_victim_kill(victim);
    seat_close(b);
    seat_close(a);
}

/* Asked for once more, a lease that was removed is put in anew. */
static void a_lease_put_in_anew_has_been_gone(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct call *call = leases_look(a, 1);

    (void)state;
    bench_file.evict(&bench_file, LEASES, &call->tickets[0]);
    assert_int_equal(seat_lease(a, LEASES, id, 1)->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->gone, 1);
    seat_close(a);
}

/* -------------------------------------------------------------- the end -- */

static void a_forgotten_look_is_silent(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = leases_take(a, 1);
    struct call *call, *witness;
    unsigned before;

    (void)state;
    (void)leases_take(a, 1);
    before = leases_open_in_root();
    call = leases_look(b, 2);
    assert_int_equal(leases_open_in_root(), before + 2);
    seat_forget(b, call);
    assert_int_equal(leases_open_in_root(), before);
    seat_forget(b, call); /* of what is over */
    witness = leases_look(b, 2);
    assert_true(leases_leave(a, id));
    assert_true(seat_sees_gone(b, witness));
    seat_forget(b, witness);
    seat_settle(b);
    assert_int_equal(call->gone, 0);
    assert_int_equal(leases_open_in_root(), before - 1);
    seat_close(b);
    seat_close(a);
}

static void an_end_is_silent(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)leases_take(a, 1);
    (void)leases_take(b, 1);
    call = leases_look(b, 2);
    seat_end(b);
    seat_close(a);
    assert_int_equal(call->gone, 0);
    seat_free(b);
}

struct family {
    struct seat *holder;
    struct seat *looker;
};

static void be_child(void *arg)
{
    const struct family *family = arg;
    unsigned rest;

    hf_engine_file.after_fork(family->holder->engine);
    rest = leases_open_in_root();
    hf_engine_file.after_fork(family->looker->engine);
    _exit(rest > 2 && leases_open_in_root() == 0 ? 0 : 1);
}

static void a_forked_child_looks_at_nothing(void **state)
{
    struct family family = {seat_open(&bench_file), seat_open(&bench_file)};
    int ended;
    pid_t pid;

    (void)state;
    (void)leases_take(family.holder, 1);
    (void)leases_take(family.holder, 1);
    (void)leases_look(family.looker, 2);
    pid = real_host_fork(be_child, &family);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    seat_close(family.looker);
    seat_close(family.holder);
}

/* --------------------------------------------------------------- limits -- */

static unsigned opens_left;
static int error_now;

static int fail_an_open(const char *call)
{
    if (strcmp(call, "open") != 0)
        return 0;
    return opens_left == 0 || --opens_left == 0 ? error_now : 0;
}

/* After the directory ${opens} tickets can be opened, and no more. */
static struct call *look_with(struct seat *seat, unsigned opens, int error)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call;

    opens_left = opens + 2;
    error_now = error;
    hf_sys_hook = fail_an_open;
    call = seat_ask(seat, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);
    hf_sys_hook = NULL;
    return call;
}

static void too_few_descriptors_are_told_of(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    unsigned before;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    for (unsigned i = 0; i < 3; i++) {
        struct call *call = look_with(b, i, i == 1 ? ENFILE : EMFILE);

        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->status, HF_ELIMIT);
        assert_int_equal(call->failure, HF_FAILURE_FATAL);
        assert_non_null(strstr(call->text, "3 tickets"));
        assert_non_null(strstr(call->text, "\"" LEASES "\""));
        assert_non_null(strstr(call->text, "ulimit -n"));
        assert_int_equal(leases_open_in_root(), before);
    }
    assert_int_equal(look_with(b, 3, EMFILE)->answer, HF_EVENT_LISTED);
    seat_close(b);
    seat_close(a);
}

static void other_trouble_is_told_as_it_is(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)leases_take(a, 1);
    call = look_with(b, 0, EACCES);
    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->status, HF_EDIR);
    assert_non_null(strstr(call->text, "write access"));
    seat_close(b);
    seat_close(a);
}

static void memory_may_run_out(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id nobody = {{0}};
    unsigned before, step = 0;
    struct call *call;
    bool met;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        (void)leases_take(a, 1);
    before = leases_open_in_root();
    do {
        struct seat *b = seat_open(&bench_file);

        heap_fail(++step, false);
        call = seat_ask(b, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);
        met = heap_failed();
        heap_fail(0, false);
        if (met) {
            assert_int_equal(call->answer, HF_EVENT_FAILED);
            assert_int_equal(call->status, HF_ENOMEM);
        } else {
            assert_int_equal(call->answer, HF_EVENT_LISTED);
        }
        seat_close(b);
        seat_settle(a); /* closed handles */
    } while (met);
    assert_true(step > 5);
    assert_int_equal(leases_open_in_root(), before);
    seat_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_crash_is_told),
        TEST(the_dead_are_dropped),
        TEST(a_queue_of_the_dead_is_removed),
        TEST(an_evicted_lease_is_told),
        TEST(ones_own_eviction_is_told_at_once),
        TEST(a_stopped_owner_keeps_no_permit),
        TEST(a_lease_put_in_anew_has_been_gone),
        TEST(a_forgotten_look_is_silent),
        TEST(an_end_is_silent),
        TEST(a_forked_child_looks_at_nothing),
        TEST(too_few_descriptors_are_told_of),
        TEST(other_trouble_is_told_as_it_is),
        TEST(memory_may_run_out),
    };
    int failed;

    heap_own();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed != 0 ? failed : heap_live() != 0;
}
