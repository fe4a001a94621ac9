/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to tickets of others whose owners are stopped, dead, or do not
 * look. */
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "engines/file/syscalls.h"
#include "file_story.h"

static struct call *watch(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_WATCH, "q", id);

    assert_int_equal(call->answer, HF_EVENT_WATCHING);
    return call;
}

static void take(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_enqueue(seat, "q", id, HF_TICKET_MUTEX, "");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
}

/* The first member of struct victim is its process. */
static pid_t pid_of(const struct victim *victim)
{
    pid_t pid;

    memcpy(&pid, victim, sizeof pid);
    return pid;
}

/* Nobody may be held up by one that cannot hear: not one who waits already,
 * nor a second one. */
static void a_stopped_holder_is_evicted(void **state)
{
    struct hf_ticket_id held = fresh_id();
    struct victim *victim = bench_file.victim_start(&bench_file, "q", held, 0);
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *first, *second, *evict;

    (void)state;
    take(a, fresh_id());
    first = watch(a, held);
    second = watch(b, held);
    assert_int_equal(kill(pid_of(victim), SIGSTOP), 0);
    evict = seat_ask(b, HF_REQUEST_REMOVE, "q", held);
    assert_true(evict->found);
    assert_true(seat_sees_gone(a, first));
    assert_true(seat_sees_gone(b, second));
    assert_int_equal(seat_look(a, "q")->count, 1);
    bench_file.victim_kill(&bench_file, victim);
    seat_close(b);
    seat_close(a);
}

/* The holder is told by its own watch, and need do nothing for the next one
 * to be told: what it still has of the ticket is closed for it. */
static void a_ticket_removed_by_hand_holds_nobody_up(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id held = fresh_id();
    struct call *own, *before;

    (void)state;
    take(a, held);
    own = watch(a, held);
    take(b, fresh_id());
    before = watch(b, held);
    bench_file.evict(&bench_file, "q", call_find(seat_look(b, "q"), held));
    assert_true(seat_sees_gone(a, own));
    assert_true(seat_sees_gone(b, before));
    seat_close(b);
    seat_close(a);
}

/* Whoever looks clears them away. */
static void a_whole_list_has_no_dead_that_nobody_watched(void **state)
{
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim = bench_file.victim_start(&bench_file, "q", dead, 0);
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    bench_file.victim_kill(&bench_file, victim);
    assert_int_equal(seat_look(a, "q")->count, 0);
    take(a, id);
    assert_int_equal(seat_look(a, "q")->count, 1);
    seat_close(a);
}

static void the_dead_are_not_asked(void **state)
{
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim = bench_file.victim_start(&bench_file, "q", dead, 0);
    struct seat *a = seat_open(&bench_file);
    struct call *ask;

    (void)state;
    bench_file.victim_kill(&bench_file, victim);
    ask = seat_insist(a, HF_REQUEST_REVOKE, "q", dead);
    assert_int_equal(ask->answer, HF_EVENT_REVOKE_SENT);
    assert_false(ask->found);
    assert_int_equal(seat_look(a, "q")->count, 0);
    seat_close(a);
}

/* As an administrator would ask. */
static void touching_a_ticket_asks_its_owner(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    char command[2 * BENCH_FILE_PATH_BYTES];
    char path[BENCH_FILE_PATH_BYTES];
    struct call *own;

    (void)state;
    take(a, id);
    own = watch(a, id);
    bench_file_path("q", path);
    /* A time of its own, however coarse the filesystem's clock is. */
    (void)snprintf(command, sizeof command,
                   "find %s -type p -exec touch -d @1234567890 {} +", path);
    assert_int_equal(system(command), 0);
    assert_true(seat_sees_revoked(a, own, 0));
    seat_close(a);
}

static bool touched;

/* As soon as the ticket has its name, and before its session knows of it. */
static int touch_at_once(const char *call)
{
    static const struct timespec times[] = {{1, 0}, {1, 0}};
    char pattern[BENCH_FILE_PATH_BYTES + sizeof("/*")];
    char path[BENCH_FILE_PATH_BYTES];
    glob_t tickets;

    (void)call;
    bench_file_path("q", path);
    (void)snprintf(pattern, sizeof pattern, "%s/*", path);
    if (!touched && glob(pattern, 0, NULL, &tickets) == 0) {
        touched = utimensat(AT_FDCWD, tickets.gl_pathv[0], times,
                            AT_SYMLINK_NOFOLLOW) == 0;
        globfree(&tickets);
    }
    return 0;
}

static void a_request_is_not_lost_however_early_it_comes(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    touched = false;
    hf_sys_hook = touch_at_once;
    take(a, id);
    hf_sys_hook = NULL;
    assert_true(touched);
    assert_true(seat_sees_revoked(a, watch(a, id), 0));
    seat_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_holder_is_evicted),
        TEST(a_ticket_removed_by_hand_holds_nobody_up),
        TEST(a_whole_list_has_no_dead_that_nobody_watched),
        TEST(the_dead_are_not_asked),
        TEST(touching_a_ticket_asks_its_owner),
        TEST(a_request_is_not_lost_however_early_it_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
