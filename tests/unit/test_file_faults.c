/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail each system call of a ticket's life in turn: every request is answered
 * all the same, no descriptor stays open, and nothing is left that would keep
 * the next one out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "file_story.h"

#define STEPS_MAX 256

static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, EROFS, ENOMEM};

static int error_now;

/* A ticket's life beside a neighbour's, both with a payload. */
static void live(struct seat *seat, const char *queue)
{
    struct hf_ticket_id first = fresh_id();
    struct hf_ticket_id second = fresh_id();

    (void)seat_enqueue(seat, queue, first, HF_TICKET_MUTEX, "first");
    (void)seat_enqueue(seat, queue, second, HF_TICKET_MUTEX, "second");
    (void)seat_ask(seat, HF_REQUEST_LIST, queue, second);
    (void)seat_ask(seat, HF_REQUEST_WATCH, queue, first);
    (void)seat_ask(seat, HF_REQUEST_WATCH, queue, second);
    (void)seat_ask(seat, HF_REQUEST_WITHDRAW, queue, first);
    (void)seat_ask(seat, HF_REQUEST_WITHDRAW, queue, second);
}

/* True if the fault was met. */
static bool live_with_fault(const char *queue, unsigned step)
{
    struct seat *seat = seat_open(&bench_file);
    bool met;

    story_fail_call(step, error_now);
    live(seat, queue);
    met = story_call_failed();
    seat_close(seat);
    return met;
}

/* A look at two leases, one of which goes: if it was answered it is told. */
static bool look_with_fault(const char *queue, unsigned step)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = fresh_id();
    struct call *look;
    bool met;

    (void)seat_lease(a, queue, first, 1);
    (void)seat_lease(a, queue, fresh_id(), 2);
    story_fail_call(step, error_now);
    look = seat_ask(b, HF_REQUEST_LOOK, queue, first);
    (void)seat_ask(a, HF_REQUEST_WITHDRAW, queue, first);
    met = story_call_failed();
    if (look->answer == HF_EVENT_LISTED)
        assert_true(seat_sees_gone(b, look));
    else
        assert_int_equal(look->answer, HF_EVENT_FAILED);
    seat_close(b);
    seat_close(a);
    return met;
}

static void expect_free(const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct seat *seat = seat_open(&bench_file);
    struct call *call = seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->count, 1);
    seat_close(seat);
}

static void sweep(const char *queue, unsigned least,
                  bool (*with_fault)(const char *queue, unsigned step))
{
    unsigned before;

    expect_free(queue); /* whatever is opened once is */
    before = story_descriptors();
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
        unsigned step = 1;

        error_now = errors[e];
        while (with_fault(queue, step)) {
            expect_free(queue);
            assert_true(step++ < STEPS_MAX);
        }
        assert_true(step > least);
    }
    assert_int_equal(story_descriptors(), before);
}

static void every_call_may_fail(void **state)
{
    (void)state;
    sweep("q", 30, live_with_fault);
}

static void every_call_may_fail_for_a_long_name(void **state)
{
    static char name[401];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[200] = '/';
    sweep(name, 30, live_with_fault);
}

static void every_call_of_a_look_may_fail(void **state)
{
    (void)state;
    sweep("q", 12, look_with_fault);
}

/* Two names of one digest, if there ever are: the second is refused. */
static void a_digest_serves_one_name(void **state)
{
    static char name[401];
    char path[BENCH_FILE_PATH_BYTES];
    char inside[BENCH_FILE_PATH_BYTES + 8];
    struct seat *seat = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *call;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[200] = '/';
    call = seat_enqueue(seat, name, id, HF_TICKET_MUTEX, "");
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    bench_file_path(name, path);
    (void)strcat(strcpy(inside, path), "/name");
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(symlink("another", inside), 0);
    call = seat_enqueue(seat, name, fresh_id(), HF_TICKET_MUTEX, "");
    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->status, HF_EDIR);
    seat_close(seat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_call_may_fail),
        TEST(every_call_may_fail_for_a_long_name),
        TEST(every_call_of_a_look_may_fail),
        TEST(a_digest_serves_one_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
