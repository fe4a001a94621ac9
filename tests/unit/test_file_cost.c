/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls a ticket takes on its way through a queue.  Not counted
 * are close(), and what the loop does to wait: docs/engine-file.md has both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "engines/file/syscalls.h"
#include "file_story.h"

#define CALLS_BYTES 512

/* Into a directory that is there and open. */
#define ENQUEUE                                                                \
    "flock lstat lstat symlinkat mkfifoat openat fstat flock renameat lseek "  \
    "getdents getdents flock"

static char calls[CALLS_BYTES];

static int note_call(const char *call)
{
    size_t used = strlen(calls);

    assert_true(used + strlen(call) + 2 <= sizeof(calls));
    (void)snprintf(calls + used, sizeof(calls) - used, "%s%s",
                   used > 0 ? " " : "", call);
    return 0;
}

static void begin_noting(void)
{
    calls[0] = '\0';
    hf_sys_hook = note_call;
}

static void assert_noted(const char *expected)
{
    hf_sys_hook = NULL;
    assert_string_equal(calls, expected);
}

static struct hf_ticket_id come(struct seat *seat, enum hf_ticket_kind kind)
{
    struct hf_ticket_id id = fresh_id();

    assert_int_equal(seat_enqueue(seat, "q", id, kind, "me")->answer,
                     HF_EVENT_ENQUEUED);
    return id;
}

static void leave(struct seat *seat, struct hf_ticket_id id)
{
    assert_true(seat_ask(seat, HF_REQUEST_REMOVE, "q", id)->found);
}

static struct call *watch(struct seat *seat, struct hf_ticket_id id,
                          enum hf_ticket_kind kind)
{
    const struct hf_ticket ticket = {.id = id, .kind = kind};
    struct call *call = seat_watch(seat, "q", &ticket);

    assert_int_equal(call->answer, HF_EVENT_WATCHING);
    return call;
}

/* The directory is there and open from the first time on. */
static void nobody_else(void **state)
{
    struct seat *seat = seat_open(&bench_file);
    struct hf_ticket_id id = come(seat, HF_TICKET_MUTEX);

    (void)state;
    leave(seat, id);
    begin_noting();
    id = come(seat, HF_TICKET_MUTEX);
    assert_noted(ENQUEUE);
    begin_noting();
    leave(seat, id);
    assert_noted("unlink unlink");
    seat_close(seat);
}

/* The number of inotify's descriptor is below those of the tickets to come. */
static void a_ticket_is_watched(void **state)
{
    struct seat *seat = seat_open(&bench_file);
    struct hf_ticket_id id = come(seat, HF_TICKET_MUTEX);

    (void)state;
    (void)watch(seat, id, HF_TICKET_MUTEX);
    leave(seat, id);
    begin_noting();
    id = come(seat, HF_TICKET_MUTEX);
    assert_noted(ENQUEUE);
    leave(seat, id);
    seat_close(seat);
}

/* Each ticket keeps one descriptor, behind another of its session too. */
static void descriptors(void **state)
{
    struct seat *seat = seat_open(&bench_file);
    unsigned before;

    (void)state;
    (void)come(seat, HF_TICKET_MUTEX);
    before = story_descriptors();
    for (unsigned i = 1; i <= 3; i++) {
        (void)come(seat, HF_TICKET_MUTEX);
        assert_int_equal(story_descriptors(), before + i);
    }
    seat_close(seat);
}

/* The third of three, whose turn comes when the second leaves: which calls that
 * takes, those of leaving included. */
static void hand_over(enum hf_ticket_kind kind, const char *in_its_turn)
{
    struct seat *seats[3];
    struct hf_ticket_id ids[3];
    struct call *other, *list;

    for (size_t i = 0; i < 3; i++)
        seats[i] = seat_open(&bench_file);
    leave(seats[2], come(seats[2], kind));
    for (size_t i = 0; i < 2; i++)
        ids[i] = come(seats[i], kind);
    begin_noting();
    ids[2] = come(seats[2], kind);
    assert_noted(ENQUEUE " open flock readlinkat");
    begin_noting();
    other = watch(seats[2], ids[1], kind);
    assert_noted("");
    begin_noting();
    (void)watch(seats[2], ids[2], kind);
    assert_noted("lstat");
    leave(seats[0], ids[0]);
    assert_int_equal(seat_ask(seats[1], HF_REQUEST_LIST, "q", ids[1])->count,
                     1);
    /* Without another turn of the loop, in which the wait for the watch of its
     * own ticket may end. */
    begin_noting();
    leave(seats[1], ids[1]);
    assert_int_equal(other->gone, 1);
    list = seat_ask_only(seats[2], HF_REQUEST_LIST, "q", ids[2]);
    assert_noted(in_its_turn);
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, 1);
    for (size_t i = 3; i-- > 0;)
        seat_close(seats[i]);
}

static void a_mutex_is_handed_over(void **state)
{
    (void)state;
    hand_over(HF_TICKET_MUTEX, "unlink unlink fstat lstat lstat");
}

/* It looks whether the writer has become a reader. */
static void a_write_lock_is_handed_over(void **state)
{
    (void)state;
    hand_over(HF_TICKET_WRITE, "unlink unlink fstat lstat lstat lstat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_else),
        TEST(a_ticket_is_watched),
        TEST(descriptors),
        TEST(a_mutex_is_handed_over),
        TEST(a_write_lock_is_handed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
