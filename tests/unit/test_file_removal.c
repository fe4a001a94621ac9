/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody removes or moves what tickets stand in, or keeps copies of what
 * holds them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/real_host.h"
#include "conformance/seat.h"
#include "engines/file/file.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_story.h"

/* Run ${command}, in which $P is ${path}. */
static void shell(const char *command, const char *path)
{
    assert_int_equal(setenv("P", path, 1), 0);
    assert_int_equal(system(command), 0);
}

static uint64_t take(struct seat *seat, const char *queue,
                     struct hf_ticket_id id, size_t expected)
{
    struct call *call = seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "who");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->count + call->more, expected);
    return call_find(call, id)->token;
}

static struct call *watch(struct seat *seat, const char *queue,
                          struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_WATCH, queue, id);

    assert_int_equal(call->answer, HF_EVENT_WATCHING);
    return call;
}

static void expect_not_found(struct seat *seat, const char *queue,
                             struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_false(call->found);
}

/* A holder and a waiter, both told; the next ticket stands alone and above. */
static void lose_by(const char *command, const char *path)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waiting = fresh_id();
    struct hf_ticket_id next = fresh_id();
    uint64_t token = take(a, "q", held, 1);
    struct call *own_a, *own_b;

    (void)take(b, "q", waiting, 2);
    own_a = watch(a, "q", held);
    own_b = watch(b, "q", waiting);
    shell(command, path);
    assert_true(seat_sees_gone(a, own_a));
    assert_true(seat_sees_gone(b, own_b));
    expect_not_found(a, "q", held);
    expect_not_found(b, "q", waiting);
    assert_true(take(a, "q", next, 1) > token);
    own_a = watch(a, "q", next);
    seat_settle(a);
    assert_int_equal(own_a->gone, 0);
    /* And once more, now that things were opened anew. */
    shell(command, path);
    assert_true(seat_sees_gone(a, own_a));
    (void)take(b, "q", fresh_id(), 1);
    seat_close(b);
    seat_close(a);
}

static void the_lock_is_removed(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    bench_file_path("q", path);
    lose_by("rm -r $P", path);
}

/* Whoever waits for a ticket that is removed is let go, also when its owner
 * finds that by itself and before it has been told of anything. */
static void a_ticket_is_removed_before_it_is_watched(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id held = fresh_id();
    struct call *others;

    (void)state;
    bench_file_path("q", path);
    (void)take(a, "q", held, 1);
    (void)take(b, "q", fresh_id(), 2);
    others = watch(b, "q", held);
    shell("cd $P && rm $(ls | grep -v payload | head -n 1)", path);
    assert_int_equal(seat_ask(a, HF_REQUEST_WATCH, "q", held)->answer,
                     HF_EVENT_GONE);
    assert_true(seat_sees_gone(b, others));
    expect_not_found(a, "q", held);
    seat_close(b);
    seat_close(a);
}

static unsigned looks_left;

static int no_looks(const char *call)
{
    if (strcmp(call, "fstat") != 0 && strcmp(call, "lstat") != 0)
        return 0;
    return looks_left > 0 && --looks_left == 0 ? ENOMEM : 0;
}

/* That a ticket cannot be looked at does not say that it is gone. */
static void a_ticket_is_not_seen_for_once(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];
    struct seat *a = seat_open(&bench_file);
    struct call *own;

    (void)state;
    for (unsigned look = 1; look <= 2; look++) {
        struct hf_ticket_id id = fresh_id();

        (void)take(a, "q", id, 1);
        looks_left = look;
        hf_sys_hook = no_looks;
        own = watch(a, "q", id);
        assert_int_equal(looks_left, 0);
        hf_sys_hook = NULL;
        seat_settle(a);
        assert_int_equal(own->gone, 0);
        bench_file_path("q", path);
        shell("rm -r $P", path);
        assert_true(seat_sees_gone(a, own));
    }
    seat_close(a);
}

static void the_lock_is_moved(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    bench_file_path("q", path);
    lose_by("d=$(mktemp -d /tmp/holdfast-moved-XXXXXX) && mv $P $d && rm -r $d",
            path);
}

static void the_root_is_removed(void **state)
{
    (void)state;
    lose_by("rm -r $P", bench_file_root());
}

static void the_root_is_moved(void **state)
{
    (void)state;
    lose_by("d=$(mktemp -d /tmp/holdfast-moved-XXXXXX) && mv $P $d && rm -r $d",
            bench_file_root());
}

/* Moved, and kept: the old directory goes on to exist with all in it. */
static void the_lock_is_moved_and_kept(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *own;

    (void)state;
    bench_file_path("q", path);
    (void)take(a, "q", id, 1);
    own = watch(a, "q", id);
    shell("mv $P $P.aside", path);
    assert_true(seat_sees_gone(a, own));
    (void)take(b, "q", fresh_id(), 1);
    /* a has the old one open still, and must not go on in it. */
    (void)take(a, "q", fresh_id(), 2);
    assert_int_equal(seat_ask(b, HF_REQUEST_LIST, "q", id)->count, 2);
    shell("rm -r $P.aside", path);
    seat_close(b);
    seat_close(a);
}

static void the_counter_is_removed(void **state)
{
    char path[BENCH_FILE_PATH_BYTES];
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    uint64_t last = take(a, "q", id, 1);

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/counter", bench_file_root());
    for (unsigned i = 0; i < 5; i++) {
        uint64_t token;

        shell(i % 2 == 0 ? "rm $P" : "truncate -s 7 $P", path);
        token = take(a, "q", fresh_id(), i + 2);
        assert_true(token > last);
        last = token;
    }
    seat_close(a);
}

/* ----------------------------------------------------------- no inotify -- */

static int no_inotify(const char *call)
{
    return strcmp(call, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *call)
{
    return strcmp(call, "inotify_add") == 0 ? ENOSPC : 0;
}

static void lose_without(int (*step)(const char *call))
{
    char path[BENCH_FILE_PATH_BYTES];
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *own;

    hf_sys_hook = step;
    bench_file_path("q", path);
    (void)take(a, "q", id, 1);
    own = watch(a, "q", id);
    assert_non_null(strstr(bench_file_log(), "max_user_instances"));
    shell("rm -r $P", path);
    assert_true(seat_sees_gone(a, own));
    seat_close(a);
    hf_sys_hook = NULL;
}

static void removal_is_noticed_without_inotify(void **state)
{
    (void)state;
    lose_without(no_inotify);
    lose_without(no_inotify_watch);
}

/* -------------------------------------------------------------- copies -- */

static void a_copy_keeps_the_ticket(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket_id next = fresh_id();
    struct call *gone, *call;
    int copy;

    (void)state;
    (void)take(a, "q", id, 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    assert_int_equal(fcntl(copy, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    (void)take(b, "q", next, 2);
    gone = watch(b, "q", id);
    call = seat_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_true(call->found);
    seat_settle(b);
    assert_int_equal(gone->gone, 0);
    (void)take(a, "q", fresh_id(), 3); /* a newcomer sees it too */
    assert_int_equal(close(copy), 0);
    assert_true(seat_sees_gone(b, gone));
    seat_close(b);
    seat_close(a);
}

static void a_closed_copy_keeps_nothing(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    int copy;

    (void)state;
    (void)take(a, "q", id, 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    assert_int_equal(close(copy), 0);
    assert_true(seat_ask(a, HF_REQUEST_REMOVE, "q", id)->found);
    (void)take(a, "q", fresh_id(), 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_ELOST);
    assert_int_equal(copy, -1);
    seat_close(a);
}

struct parent {
    int said;
    struct hf_ticket_id id;
};

/* Take the ticket, fork a child that lets go of it, and wait. */
static void be_parent(void *arg)
{
    struct parent *parent = arg;
    struct seat *seat = seat_open(&bench_file);
    pid_t child;

    (void)take(seat, "q", parent->id, 1);
    (void)watch(seat, "q", parent->id);
    child = fork();
    if (child == 0) {
        hf_engine_file.after_fork(seat->engine);
        child = getpid();
        if (write(parent->said, &child, sizeof(child)) != sizeof(child))
            _exit(1);
    }
    for (;;)
        (void)pause();
}

static void fn56_a_forked_child_keeps_nothing(void **state)
{
    struct parent parent = {.id = fresh_id()};
    struct seat *b = seat_open(&bench_file);
    struct call *gone;
    pid_t pid, grandchild;
    int said[2];

    (void)state;
    assert_int_equal(pipe(said), 0);
    parent.said = said[1];
    pid = real_host_fork(be_parent, &parent);
    assert_int_equal(read(said[0], &grandchild, sizeof(grandchild)),
                     sizeof(grandchild));
    gone = watch(b, "q", parent.id);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(seat_sees_gone(b, gone));
    assert_int_equal(kill(grandchild, SIGKILL), 0);
    (void)close(said[0]);
    (void)close(said[1]);
    seat_close(b);
}

/* ---------------------------------------------------------- bystanders -- */

static void bytes_in_the_fifo_wake_nobody(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket ticket = {.id = fresh_id(), .kind = HF_TICKET_MUTEX};
    char dir[BENCH_FILE_PATH_BYTES];
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[BENCH_FILE_PATH_BYTES + sizeof(file)];
    struct call *gone;
    int fd;

    (void)state;
    ticket.sequence = take(a, "q", ticket.id, 1);
    gone = watch(b, "q", ticket.id);
    bench_file_path("q", dir);
    hf_ticket_file_format(&ticket, file);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, file);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(write(fd, "boo", 3), 3);
    assert_int_equal(close(fd), 0);
    seat_settle(b);
    assert_int_equal(gone->gone, 0);
    assert_true(seat_ask(a, HF_REQUEST_REMOVE, "q", ticket.id)->found);
    assert_true(seat_sees_gone(b, gone));
    seat_close(b);
    seat_close(a);
}

/* What lies in the directory and is no ticket is left alone and in nobody's
 * way; payloads without a ticket are litter. */
static void foreign_files_are_in_nobodys_way(void **state)
{
    struct seat *a = seat_open(&bench_file);
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    (void)take(a, "q", fresh_id(), 1);
    bench_file_path("q", path);
    shell("touch $P/README $P/.nfs0001", path);
    shell("ln -s x $P/00000000000000000001-m-"
          "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f.payload",
          path);
    shell("ln -s x $P/00000000000000000001-m-"
          "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f.payload.new",
          path);
    (void)take(a, "q", fresh_id(), 2);
    shell("test ! -L $P/00000000000000000001-m-"
          "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f.payload.new",
          path);
    shell("test ! -L $P/00000000000000000001-m-"
          "0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f.payload",
          path);
    shell("rm $P/README $P/.nfs0001", path);
    seat_close(a);
}

struct stranger {
    struct hf_ticket_id before;
    int said;
};

/* Another user, next in line, who has to clear away the one before. */
static void be_stranger(void *arg)
{
    struct stranger *stranger = arg;
    struct hf_ticket_id id;
    struct seat *seat;
    struct call *gone;

    if (seteuid(12345) != 0)
        _exit(1);
    id = fresh_id();
    seat = seat_open(&bench_file);
    (void)take(seat, "q", id, 2);
    gone = watch(seat, "q", stranger->before);
    (void)watch(seat, "q", id);
    if (write(stranger->said, "x", 1) != 1)
        _exit(1);
    assert_true(seat_sees_gone(seat, gone));
    assert_int_equal(seat_ask(seat, HF_REQUEST_LIST, "q", id)->count, 1);
    seat_close(seat);
}

static void users_share_a_queue(void **state)
{
    struct stranger stranger = {.before = fresh_id()};
    struct victim *victim;
    int said[2];
    pid_t pid;
    int ended;
    char byte;

    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    bench_file_share();
    victim = bench_file.victim_start(&bench_file, "q", stranger.before, 0);
    assert_int_equal(pipe(said), 0);
    stranger.said = said[1];
    pid = real_host_fork(be_stranger, &stranger);
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    bench_file.victim_kill(&bench_file, victim);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
}

struct cousin {
    char elsewhere[BENCH_FILE_PATH_BYTES];
    int said;
    struct hf_ticket_id id;
};

/* In a mount namespace of its own, which has the root in another place. */
static void be_cousin(void *arg)
{
    struct cousin *cousin = arg;
    struct seat *seat;

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(bench_file_root(), cousin->elsewhere, NULL, MS_BIND, NULL) != 0)
        _exit(77);
    bench_file_move(cousin->elsewhere);
    seat = seat_open(&bench_file);
    (void)take(seat, "q", cousin->id, 1);
    if (write(cousin->said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static void two_mount_namespaces_share_a_queue(void **state)
{
    struct cousin cousin = {.id = fresh_id()};
    struct seat *b;
    struct call *gone;
    int said[2];
    pid_t pid;
    char byte;

    (void)state;
    assert_int_equal(pipe(said), 0);
    cousin.said = said[1];
    (void)snprintf(cousin.elsewhere, sizeof(cousin.elsewhere), "%s-elsewhere",
                   bench_file_root());
    shell("mkdir -m 700 $P", cousin.elsewhere);
    pid = real_host_fork(be_cousin, &cousin);
    (void)close(said[1]);
    if (read(said[0], &byte, 1) != 1) {
        (void)close(said[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        shell("rmdir $P", cousin.elsewhere);
        print_message("no permission to make a mount namespace\n");
        skip();
    }
    (void)close(said[0]);
    b = seat_open(&bench_file);
    (void)take(b, "q", fresh_id(), 2);
    gone = watch(b, "q", cousin.id);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(seat_sees_gone(b, gone));
    shell("rmdir $P", cousin.elsewhere);
    seat_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_lock_is_removed),
        TEST(a_ticket_is_removed_before_it_is_watched),
        TEST(a_ticket_is_not_seen_for_once),
        TEST(the_lock_is_moved),
        TEST(the_root_is_removed),
        TEST(the_root_is_moved),
        TEST(the_lock_is_moved_and_kept),
        TEST(the_counter_is_removed),
        TEST(removal_is_noticed_without_inotify),
        TEST(a_copy_keeps_the_ticket),
        TEST(a_closed_copy_keeps_nothing),
        TEST(fn56_a_forked_child_keeps_nothing),
        TEST(bytes_in_the_fifo_wake_nobody),
        TEST(foreign_files_are_in_nobodys_way),
        TEST(users_share_a_queue),
        TEST(two_mount_namespaces_share_a_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
