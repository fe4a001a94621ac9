/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories of tickets are removed or moved, or descriptors of
 * them are duplicated. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "conformance/real_host.h"
#include "engines/file/file.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

/* Run ${command}, in which $P is ${path}. */
static void shell(const char *command, const char *path)
{
    assert_int_equal(setenv("P", path, 1), 0);
    assert_int_equal(system(command), 0);
}

static uint64_t take(struct engine_client *client, const char *queue,
                     struct hf_ticket_id id, size_t expected)
{
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_MUTEX, "who");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(request->count + request->more, expected);
    return client_request_find(request, id)->token;
}

static struct client_request *watch(struct engine_client *client,
                                    const char *queue, struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_WATCH, queue, id);

    assert_int_equal(request->answer, HF_EVENT_WATCHING);
    return request;
}

static void expect_not_found(struct engine_client *client, const char *queue,
                             struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_false(request->found);
}

/* A holder and a waiter get the event.  The next ticket is alone in the queue
 * and has a greater token. */
static void lose_by(const char *command, const char *path)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waiting = fresh_id();
    struct hf_ticket_id next = fresh_id();
    uint64_t token = take(a, "q", held, 1);
    struct client_request *own_a, *own_b;

    (void)take(b, "q", waiting, 2);
    own_a = watch(a, "q", held);
    own_b = watch(b, "q", waiting);
    shell(command, path);
    assert_true(client_wait_gone(a, own_a));
    assert_true(client_wait_gone(b, own_b));
    expect_not_found(a, "q", held);
    expect_not_found(b, "q", waiting);
    assert_true(take(a, "q", next, 1) > token);
    own_a = watch(a, "q", next);
    client_drain(a);
    assert_int_equal(own_a->gone, 0);
    /* Once more, because the files were opened again. */
    shell(command, path);
    assert_true(client_wait_gone(a, own_a));
    (void)take(b, "q", fresh_id(), 1);
    client_close(b);
    client_close(a);
}

FILE_TEST(the_lock_is_removed)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path("q", path);
    lose_by("rm -r $P", path);
}

/* A waiter for a ticket that is removed goes on, also when it finds that by
 * itself and before the event. */
FILE_TEST(a_ticket_is_removed_before_it_is_watched)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id held = fresh_id();
    struct client_request *others;

    conformance_file_path("q", path);
    (void)take(a, "q", held, 1);
    (void)take(b, "q", fresh_id(), 2);
    others = watch(b, "q", held);
    shell("cd $P && rm $(ls | grep -v payload | head -n 1)", path);
    assert_int_equal(client_ask(a, HF_REQUEST_WATCH, "q", held)->answer,
                     HF_EVENT_GONE);
    assert_true(client_wait_gone(b, others));
    expect_not_found(a, "q", held);
}

static unsigned looks_left;

static int no_looks(const char *request)
{
    if (strcmp(request, "fstat") != 0 && strcmp(request, "lstat") != 0)
        return 0;
    return looks_left > 0 && --looks_left == 0 ? ENOMEM : 0;
}

/* A ticket that cannot be examined is not taken for one that is gone. */
FILE_TEST(a_ticket_is_not_seen_for_once)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    OPEN_CLIENT(a, &conformance_file);
    struct client_request *own;

    for (unsigned look = 1; look <= 2; look++) {
        struct hf_ticket_id id = fresh_id();

        (void)take(a, "q", id, 1);
        looks_left = look;
        hf_file_sys_hook = no_looks;
        own = watch(a, "q", id);
        assert_int_equal(looks_left, 0);
        hf_file_sys_hook = NULL;
        client_drain(a);
        assert_int_equal(own->gone, 0);
        conformance_file_path("q", path);
        shell("rm -r $P", path);
        assert_true(client_wait_gone(a, own));
    }
}

FILE_TEST(the_lock_is_moved)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path("q", path);
    lose_by("d=$(mktemp -d /tmp/holdfast-moved-XXXXXX) && mv $P $d && rm -r $d",
            path);
}

FILE_TEST(the_root_is_removed)
{
    lose_by("rm -r $P", conformance_file_root());
}

FILE_TEST(the_root_is_moved)
{
    lose_by("d=$(mktemp -d /tmp/holdfast-moved-XXXXXX) && mv $P $d && rm -r $d",
            conformance_file_root());
}

/* After the move the old directory exists with all in it. */
FILE_TEST(the_lock_is_moved_and_kept)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    conformance_file_path("q", path);
    (void)take(a, "q", id, 1);
    own = watch(a, "q", id);
    shell("mv $P $P.aside", path);
    assert_true(client_wait_gone(a, own));
    (void)take(b, "q", fresh_id(), 1);
    /* a has the old directory open, and must not use it any more. */
    (void)take(a, "q", fresh_id(), 2);
    assert_int_equal(client_ask(b, HF_REQUEST_LIST, "q", id)->count, 2);
    shell("rm -r $P.aside", path);
}

FILE_TEST(the_counter_is_removed)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    uint64_t last = take(a, "q", id, 1);

    (void)snprintf(path, sizeof(path), "%s/counter", conformance_file_root());
    for (unsigned i = 0; i < 5; i++) {
        uint64_t token;

        shell(i % 2 == 0 ? "rm $P" : "truncate -s 7 $P", path);
        token = take(a, "q", fresh_id(), i + 2);
        assert_true(token > last);
        last = token;
    }
}

/* ----------------------------------------------------------- no inotify -- */

static int no_inotify(const char *request)
{
    return strcmp(request, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *request)
{
    return strcmp(request, "inotify_add") == 0 ? ENOSPC : 0;
}

static void lose_without(int (*step)(const char *request))
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    struct engine_client *a = client_open(&conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    hf_file_sys_hook = step;
    conformance_file_path("q", path);
    (void)take(a, "q", id, 1);
    own = watch(a, "q", id);
    assert_non_null(strstr(conformance_file_log(), "max_user_instances"));
    shell("rm -r $P", path);
    assert_true(client_wait_gone(a, own));
    client_close(a);
    hf_file_sys_hook = NULL;
}

FILE_TEST(removal_is_noticed_without_inotify)
{
    lose_without(no_inotify);
    lose_without(no_inotify_watch);
}

/* -------------------------------------------------------------- copies -- */

FILE_TEST(a_copy_keeps_the_ticket)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket_id next = fresh_id();
    struct client_request *gone, *request;
    int copy;

    (void)take(a, "q", id, 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    assert_int_equal(fcntl(copy, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    (void)take(b, "q", next, 2);
    gone = watch(b, "q", id);
    request = client_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_true(request->found);
    client_drain(b);
    assert_int_equal(gone->gone, 0);
    (void)take(a, "q", fresh_id(), 3); /* a newcomer sees it too */
    assert_int_equal(close(copy), 0);
    assert_true(client_wait_gone(b, gone));
}

FILE_TEST(a_closed_copy_keeps_nothing)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    int copy;

    (void)take(a, "q", id, 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    assert_int_equal(close(copy), 0);
    assert_true(client_ask(a, HF_REQUEST_REMOVE, "q", id)->found);
    (void)take(a, "q", fresh_id(), 1);
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_ELOST);
    assert_int_equal(copy, -1);
}

struct forking_parent {
    int ready_pipe;
    struct hf_ticket_id id;
};

/* Take the ticket, fork a child that drops the engine, and wait. */
static void be_parent(void *arg)
{
    struct forking_parent *forking_parent = arg;
    struct engine_client *client = client_open(&conformance_file);
    pid_t child;

    (void)take(client, "q", forking_parent->id, 1);
    (void)watch(client, "q", forking_parent->id);
    child = test_fork();
    if (child == 0) {
        hf_engine_file.after_fork(client->engine);
        child = getpid();
        if (write(forking_parent->ready_pipe, &child, sizeof(child)) !=
            sizeof(child))
            _exit(1);
    }
    for (;;)
        (void)pause();
}

FILE_TEST(fn56_a_forked_child_keeps_nothing)
{
    struct forking_parent forking_parent = {.id = fresh_id()};
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *gone;
    pid_t pid, grandchild;
    int ready_pipe[2];

    assert_int_equal(pipe(ready_pipe), 0);
    forking_parent.ready_pipe = ready_pipe[1];
    pid = real_host_fork(be_parent, &forking_parent);
    (void)close(ready_pipe[1]); /* so that its death ends the read */
    assert_int_equal(read(ready_pipe[0], &grandchild, sizeof(grandchild)),
                     sizeof(grandchild));
    gone = watch(b, "q", forking_parent.id);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(client_wait_gone(b, gone));
    assert_int_equal(kill(grandchild, SIGKILL), 0);
    (void)close(ready_pipe[0]);
}

/* ---------------------------------------------------------- bystanders -- */

FILE_TEST(bytes_in_the_fifo_wake_nobody)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket ticket = {.id = fresh_id(), .kind = HF_TICKET_MUTEX};
    char dir[CONFORMANCE_FILE_PATH_BYTES];
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[CONFORMANCE_FILE_PATH_BYTES + sizeof(file)];
    struct client_request *gone;
    int fd;

    ticket.sequence = take(a, "q", ticket.id, 1);
    gone = watch(b, "q", ticket.id);
    conformance_file_path("q", dir);
    hf_file_name_format(&ticket, file);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, file);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(write(fd, "boo", 3), 3);
    assert_int_equal(close(fd), 0);
    client_drain(b);
    assert_int_equal(gone->gone, 0);
    assert_true(client_ask(a, HF_REQUEST_REMOVE, "q", ticket.id)->found);
    assert_true(client_wait_gone(b, gone));
}

/* Files in a lock directory that are no tickets stay and block nobody;
 * payloads without a ticket are removed. */
FILE_TEST(unknown_files_block_nobody)
{
    OPEN_CLIENT(a, &conformance_file);
    char path[CONFORMANCE_FILE_PATH_BYTES];

    (void)take(a, "q", fresh_id(), 1);
    conformance_file_path("q", path);
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
}

struct other_user {
    struct hf_ticket_id before;
    int ready_pipe;
};

/* Another user, next in the queue, removes the ticket of a dead owner. */
static void be_other_user(void *arg)
{
    struct other_user *other_user = arg;
    struct hf_ticket_id id;
    struct engine_client *client;
    struct client_request *gone;

    if (seteuid(12345) != 0)
        _exit(1);
    id = fresh_id();
    client = client_open(&conformance_file);
    (void)take(client, "q", id, 2);
    gone = watch(client, "q", other_user->before);
    (void)watch(client, "q", id);
    if (write(other_user->ready_pipe, "x", 1) != 1)
        _exit(1);
    assert_true(client_wait_gone(client, gone));
    assert_int_equal(client_ask(client, HF_REQUEST_LIST, "q", id)->count, 1);
    client_close(client);
}

FILE_TEST(users_share_a_queue)
{
    struct other_user other_user = {.before = fresh_id()};
    struct victim *victim;
    int ready_pipe[2];
    pid_t pid;
    int ended;
    char byte;

    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    conformance_file_share();
    victim = conformance_file.victim_start(&conformance_file, "q",
                                           other_user.before, 0);
    assert_int_equal(pipe(ready_pipe), 0);
    other_user.ready_pipe = ready_pipe[1];
    pid = real_host_fork(be_other_user, &other_user);
    (void)close(ready_pipe[1]);
    assert_int_equal(read(ready_pipe[0], &byte, 1), 1);
    (void)close(ready_pipe[0]);
    conformance_file.victim_kill(&conformance_file, victim);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
}

struct mount_namespace {
    char elsewhere[CONFORMANCE_FILE_PATH_BYTES];
    int ready_pipe;
    struct hf_ticket_id id;
};

/* In a mount namespace that has the root at another path. */
static void be_in_mount_namespace(void *arg)
{
    struct mount_namespace *mount_namespace = arg;
    struct engine_client *client;

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(conformance_file_root(), mount_namespace->elsewhere, NULL,
              MS_BIND, NULL) != 0)
        _exit(77);
    conformance_file_move(mount_namespace->elsewhere);
    client = client_open(&conformance_file);
    (void)take(client, "q", mount_namespace->id, 1);
    if (write(mount_namespace->ready_pipe, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

FILE_TEST(two_mount_namespaces_share_a_queue)
{
    struct mount_namespace mount_namespace = {.id = fresh_id()};
    struct engine_client *b;
    struct client_request *gone;
    int ready_pipe[2];
    pid_t pid;
    char byte;

    assert_int_equal(pipe(ready_pipe), 0);
    mount_namespace.ready_pipe = ready_pipe[1];
    (void)snprintf(mount_namespace.elsewhere, sizeof(mount_namespace.elsewhere),
                   "%s-elsewhere", conformance_file_root());
    shell("mkdir -m 700 $P", mount_namespace.elsewhere);
    pid = real_host_fork(be_in_mount_namespace, &mount_namespace);
    (void)close(ready_pipe[1]);
    if (read(ready_pipe[0], &byte, 1) != 1) {
        (void)close(ready_pipe[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        shell("rmdir $P", mount_namespace.elsewhere);
        print_message("no permission to make a mount namespace\n");
        skip();
    }
    (void)close(ready_pipe[0]);
    b = client_open(&conformance_file);
    (void)take(b, "q", fresh_id(), 2);
    gone = watch(b, "q", mount_namespace.id);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(client_wait_gone(b, gone));
    shell("rmdir $P", mount_namespace.elsewhere);
    client_close(b);
}
