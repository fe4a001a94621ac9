/* SPDX-License-Identifier: Apache-2.0 */
/* Another user of the machine prepares the directory in which this user is to
 * keep locks.  Each test is one attack; the engine must refuse it with a text
 * that says whose directory it is, what was expected and what to do. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"
#include "file_fixture.h"
#include "file_root.h"

#define VICTIM 12345
#define ATTACKER 54321
#define TEAM 23456 /* a group that both are in */

static char path[HF_ROOT_BYTES + 64];
static struct hf_error error;

static int begin(void **state)
{
    (void)umask(022);
    return root_begin(state);
}

static const char *in_dir(const char *name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", root_dir, name);
    return path;
}

/* Give the directory of the test the mode of /tmp. */
static void open_to_all(void)
{
    assert_int_equal(chmod(root_dir, 01777), 0);
}

static void make_dir(const char *name, uid_t owner, gid_t group, mode_t mode)
{
    assert_int_equal(mkdir(in_dir(name), 0700), 0);
    assert_int_equal(chown(path, owner, group), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void make_file(const char *name, uid_t owner, mode_t mode)
{
    int fd = open(in_dir(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, owner, owner), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

/* Open the root ${name} as ${user}, with its own floor. */
static hf_status open_as(uid_t user, const char *name, const char *query)
{
    static const gid_t team = TEAM;
    char root[sizeof(path)], state[64];
    hf_status status;

    (void)snprintf(root, sizeof(root), "%s/%s", root_dir, name);
    (void)snprintf(state, sizeof(state), "/var/tmp/holdfast-trust-%ld-%u",
                   (long)getpid(), (unsigned)user);
    assert_true(mkdir(state, 0700) == 0 && chown(state, user, user) == 0);
    assert_int_equal(setgroups(1, &team), 0);
    assert_true(setegid(user) == 0 && seteuid(user) == 0);
    status = root_open_with(root, state, query, &error);
    assert_true(seteuid(0) == 0 && setegid(0) == 0);
    (void)snprintf(root, sizeof(root), "rm -r %s", state);
    assert_int_equal(system(root), 0);
    if (status != HF_OK)
        print_message("%s\n", error.text);
    return status;
}

static void refused(uid_t user, const char *name, const char *query,
                    const char *says)
{
    assert_int_equal(open_as(user, name, query), HF_EDENIED);
    if (strstr(error.text, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, says);
}

#define ATTACK(name) TEST_WITH(name, begin, root_finish)

/* ----------------------------------------------------- what is prepared -- */

ATTACK(locks_of_another)
{
    make_dir("root", 0, 0, 01777);
    make_dir("root/locks", ATTACKER, ATTACKER, 0777);
    refused(0, "root", "", "chmod");
    assert_int_equal(chmod(in_dir("root"), 0755), 0);
    refused(0, "root", "", "user 54321");
    assert_int_equal(chown(in_dir("root/locks"), 0, 0), 0);
    refused(0, "root", "", "mode 0777");
}

ATTACK(a_counter_of_another)
{
    make_dir("root", 0, 0, 0755);
    make_file("root/counter", ATTACKER, 0600);
    refused(0, "root", "", "user 54321");
    assert_int_equal(chown(in_dir("root/counter"), 0, 0), 0);
    assert_int_equal(chmod(path, 0666), 0);
    refused(0, "root", "", "mode 0666");
}

/* The counter has a second name, where another user can write to it, or is
 * another file that is to be overwritten. */
ATTACK(a_counter_with_another_name)
{
    char other[256];

    open_to_all();
    make_dir("root", VICTIM, VICTIM, 0700);
    make_file("precious", VICTIM, 0600);
    (void)strcpy(other, path);
    assert_int_equal(link(other, in_dir("root/counter")), 0);
    refused(VICTIM, "root", "", "2 names");
    make_dir("all", ATTACKER, ATTACKER, 0777);
    assert_int_equal(link(other, in_dir("all/counter")), 0);
    refused(VICTIM, "all", "&mode=0777", "3 names");
}

ATTACK(a_root_that_all_can_write)
{
    make_dir("root", 0, 0, 01777);
    refused(0, "root", "", "mode 1777");
    assert_int_equal(chmod(path, 0775), 0);
    refused(0, "root", "", "mode=0770");
    assert_int_equal(open_as(0, "root", "&mode=1777"), HF_OK);
}

ATTACK(a_root_of_another)
{
    open_to_all();
    make_dir("root", ATTACKER, ATTACKER, 0777);
    refused(VICTIM, "root", "", "user 54321");
    refused(0, "root", "", "user 54321");
}

ATTACK(a_parent_that_others_can_write)
{
    open_to_all();
    make_dir("parent", 0, 0, 0777);
    make_dir("parent/root", VICTIM, VICTIM, 0700);
    refused(VICTIM, "parent/root", "", "mode 0777");
    assert_int_equal(chmod(in_dir("parent"), 0775), 0);
    refused(VICTIM, "parent/root", "", "mode 0775");
    assert_int_equal(chmod(in_dir("parent"), 01777), 0);
    assert_int_equal(open_as(VICTIM, "parent/root", ""), HF_OK);
}

ATTACK(a_parent_of_another)
{
    open_to_all();
    make_dir("parent", ATTACKER, ATTACKER, 0755);
    make_dir("parent/root", VICTIM, VICTIM, 0700);
    refused(VICTIM, "parent/root", "", "user 54321");
    refused(VICTIM, "parent/root", "&mode=0777", "user 54321");
}

ATTACK(a_link_of_another)
{
    char target[256];

    open_to_all();
    make_dir("home", VICTIM, VICTIM, 0700);
    make_dir("home/root", VICTIM, VICTIM, 0700);
    (void)strcpy(target, in_dir("home"));
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_int_equal(open_as(VICTIM, "link/root", ""), HF_OK);
    assert_int_equal(lchown(in_dir("link"), ATTACKER, ATTACKER), 0);
    refused(VICTIM, "link/root", "", "user 54321");
    refused(VICTIM, "link/root", "&mode=0777", "user 54321");
}

/* A good symbolic link, with a relative path, to a bad directory. */
ATTACK(a_link_to_a_directory_of_another)
{
    open_to_all();
    make_dir("parent", ATTACKER, ATTACKER, 0755);
    make_dir("parent/root", VICTIM, VICTIM, 0700);
    assert_int_equal(symlink("./../x/../parent//", in_dir("link")), 0);
    assert_int_equal(open_as(VICTIM, "link/root", ""), HF_EDIR);
    make_dir("x", 0, 0, 0755);
    assert_int_equal(unlink(in_dir("link")), 0);
    assert_int_equal(symlink("./x/../parent//", in_dir("link")), 0);
    refused(VICTIM, "link/root", "", "user 54321");
}

ATTACK(links_in_a_circle)
{
    assert_int_equal(symlink("there", in_dir("here")), 0);
    assert_int_equal(symlink("here", in_dir("there")), 0);
    assert_int_equal(open_as(0, "here/root", ""), HF_EDIR);
    assert_non_null(strstr(error.text, "links"));
}

ATTACK(an_owner_that_is_not_mapped)
{
    open_to_all();
    make_dir("root", 65534, 65534, 0755);
    refused(VICTIM, "root", "", "user namespace");
}

ATTACK(what_a_path_may_be)
{
    char longest[HF_ROOT_BYTES];

    make_file("file", 0, 0600);
    assert_int_equal(open_as(0, "file/root", ""), HF_EDIR);
    assert_non_null(strstr(error.text, "must be a directory"));
    assert_int_equal(open_as(0, "root/..", ""), HF_EDIR);
    assert_non_null(strstr(error.text, "dots"));
    memset(longest, 'x', sizeof(longest));
    memcpy(longest + 300, "/root", sizeof("/root"));
    assert_int_equal(open_as(0, longest, ""), HF_EDIR);
    assert_non_null(strstr(error.text, "too long"));
}

/* --------------------------------------------------------------- faults -- */

static unsigned steps_left;

static int fail_one(const char *request)
{
    (void)request;
    return --steps_left == 0 ? EMFILE : 0;
}

/* A component that cannot be examined is refused. */
ATTACK(every_step_may_fail)
{
    unsigned before = count_descriptors(), steps = 0;
    char way[256];
    const char *name;
    struct stat parent;
    hf_status status;
    int dir;

    make_dir("home", 0, 0, 0700);
    (void)strcpy(way, path);
    assert_int_equal(symlink(way, in_dir("link")), 0);
    (void)in_dir("link/root");
    do {
        steps_left = ++steps;
        hf_file_sys_hook = fail_one;
        status =
            hf_file_safe_path_open_parent(path, &dir, &parent, &name, &error);
        hf_file_sys_hook = NULL;
        assert_true((status == HF_OK) == (dir >= 0));
        assert_true(status == HF_OK || status == HF_ELIMIT);
        assert_int_equal(count_descriptors(), before + (dir >= 0));
    } while (status != HF_OK);
    assert_true(steps > 12);
    (void)close(dir);
}

/* --------------------------------------------------------- lock by lock -- */

ATTACK(a_lock_of_another)
{
    char of_lock[CONFORMANCE_FILE_PATH_BYTES];
    struct hf_ticket_id id = {{1}};
    struct engine_client *client;
    struct client_request *request;

    conformance_file.begin(&conformance_file);
    client = client_open(&conformance_file);
    conformance_file_path("q", of_lock);
    assert_int_equal(mkdir(of_lock, 0700), 0);
    assert_int_equal(chown(of_lock, ATTACKER, ATTACKER), 0);
    request = client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_EDENIED);
    assert_non_null(strstr(request->text, "user 54321"));
    assert_int_equal(client_ask(client, HF_REQUEST_LIST, "q", id)->answer,
                     HF_EVENT_FAILED);
    assert_int_equal(client_barrier(client, HF_REQUEST_SET_FLAG, "q")->answer,
                     HF_EVENT_FAILED);
    assert_int_equal(
        client_barrier(client, HF_REQUEST_WATCH_QUEUE, "q")->answer,
        HF_EVENT_FAILED);
    assert_int_equal(chown(of_lock, 0, 0), 0);
    assert_int_equal(chmod(of_lock, 0777), 0);
    request = client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    assert_int_equal(request->status, HF_EDENIED);
    assert_int_equal(chmod(of_lock, 0700), 0);
    request = client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    client_close(client);
    conformance_file.finish(&conformance_file);
}

/* A client has the root open, and another directory is put at its path. */
ATTACK(a_root_that_another_put_in_its_place)
{
    char moved[CONFORMANCE_FILE_PATH_BYTES + 8], command[sizeof(moved) + 8];
    struct hf_ticket_id id = {{1}};
    struct engine_client *client;
    struct client_request *request;

    conformance_file.begin(&conformance_file);
    client = client_open(&conformance_file);
    (void)snprintf(moved, sizeof(moved), "%s-moved", conformance_file_root());
    assert_int_equal(rename(conformance_file_root(), moved), 0);
    assert_int_equal(mkdir(conformance_file_root(), 0777), 0);
    assert_int_equal(chown(conformance_file_root(), ATTACKER, ATTACKER), 0);
    request = client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_EDENIED);
    assert_non_null(strstr(request->text, "user 54321"));
    client_close(client);
    conformance_file.finish(&conformance_file);
    (void)snprintf(command, sizeof(command), "rm -r %s", moved);
    assert_int_equal(system(command), 0);
}

/* -------------------------------------------------------------- a group -- */

ATTACK(a_group_shares)
{
    struct stat status;

    make_dir("parent", 0, 0, 0755);
    assert_int_equal(chmod(root_dir, 0755), 0);
    make_dir("parent/root", 0, TEAM, 02770);
    assert_int_equal(open_as(VICTIM, "parent/root", "&mode=0770"), HF_OK);
    assert_int_equal(open_as(ATTACKER, "parent/root", "&mode=0770"), HF_OK);
    assert_int_equal(open_as(0, "parent/root", "&mode=0770"), HF_OK);
    assert_int_equal(stat(in_dir("parent/root/locks"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 02770);
    assert_int_equal(status.st_gid, TEAM);
    assert_int_equal(stat(in_dir("parent/root/counter"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_int_equal(status.st_gid, TEAM);
    refused(VICTIM, "parent/root", "", "mode=0770");
}

/* Made in a directory where any user could have made it, by a user who need
 * not be in the group. */
ATTACK(a_groups_root_by_another)
{
    open_to_all();
    make_dir("root", ATTACKER, TEAM, 02770);
    refused(VICTIM, "root", "&mode=0770", "user 54321");
    assert_int_equal(chown(in_dir("root"), 0, TEAM), 0);
    assert_int_equal(chmod(path, 02770), 0);
    assert_int_equal(open_as(VICTIM, "root", "&mode=0770"), HF_OK);
}

ATTACK(a_groups_root_that_all_can_write)
{
    assert_int_equal(chmod(root_dir, 0755), 0);
    make_dir("root", 0, TEAM, 02777);
    refused(VICTIM, "root", "&mode=0770", "mode 2777");
}

ATTACK(another_groups_locks)
{
    assert_int_equal(chmod(root_dir, 0755), 0);
    make_dir("root", 0, TEAM, 02770);
    make_dir("root/locks", VICTIM, ATTACKER, 02770);
    refused(VICTIM, "root", "&mode=0770", "group 54321");
}

/* ------------------------------------------------- what is not theirs -- */

#define SECRET_BYTES 9000

/* A private file of the victim, as a dump is that it has written into a
 * directory of the attacker, who can move it. */
static void make_secret(const char *name)
{
    static char secret[SECRET_BYTES];
    int fd;

    make_file(name, VICTIM, 0600);
    memset(secret, 'S', sizeof(secret));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, secret, sizeof(secret)), sizeof(secret));
    assert_int_equal(close(fd), 0);
}

/* Nobody else may read ${name}, and all of it is there. */
static void assert_secret(const char *name, off_t bytes)
{
    struct stat status;
    char text[SECRET_BYTES];
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(read(fd, text, sizeof(text)), bytes);
    for (off_t i = 0; i < bytes; i++)
        assert_int_equal(text[i], 'S');
    assert_int_equal(close(fd), 0);
}

ATTACK(a_private_file_as_the_counter)
{
    static const off_t lengths[] = {SECRET_BYTES, HF_TOKEN_COUNTER_BYTES, 20};
    struct stat status;

    assert_int_equal(chmod(root_dir, 0755), 0);
    make_dir("root", 0, TEAM, 02777);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        make_secret("root/counter");
        assert_int_equal(truncate(path, lengths[i]), 0);
        assert_int_equal(open_as(VICTIM, "root", "&mode=0777"), HF_EDIR);
        assert_non_null(strstr(error.text, "no counter of holdfast"));
        assert_secret("root/counter", lengths[i]);
        assert_int_equal(unlink(path), 0);
    }
    make_file("root/counter", VICTIM, 0600); /* and an empty one */
    assert_int_equal(open_as(VICTIM, "root", "&mode=0777"), HF_OK);
    assert_int_equal(stat(in_dir("root/counter"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* What an attacker does between two calls of the victim. */
static struct {
    char from[sizeof(path)], to[CONFORMANCE_FILE_PATH_BYTES + 8];
    bool made; /* the FIFO is there */
} swap;

static int swap_fifo(const char *call)
{
    if (swap.made && strcmp(call, "openat") == 0 &&
        rename(swap.from, swap.to) == 0)
        swap.made = false;
    swap.made |= strcmp(call, "mkfifoat") == 0;
    return 0;
}

ATTACK(a_private_file_as_the_ticket)
{
    char of_lock[CONFORMANCE_FILE_PATH_BYTES];
    struct hf_ticket_id id = {{1}};
    struct engine_client *client;
    struct client_request *request;
    struct stat status;
    int fd;

    conformance_file.begin(&conformance_file);
    conformance_file_share();
    client = client_open(&conformance_file);
    conformance_file_path("q", of_lock);
    make_file("secret", 0, 0600);
    memset(&swap, 0, sizeof(swap));
    (void)snprintf(swap.from, sizeof(swap.from), "%s", path);
    (void)snprintf(swap.to, sizeof(swap.to), "%s/.new", of_lock);
    fd = open(swap.from, O_RDONLY | O_CLOEXEC);
    hf_file_sys_hook = swap_fifo;
    request = client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");
    hf_file_sys_hook = NULL;
    assert_int_equal(access(swap.from, F_OK), -1); /* it was moved */
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(close(fd), 0);
    client_close(client);
    conformance_file.finish(&conformance_file);
}

/* ------------------------------------------------- those who only read -- */

static void assert_mode(const char *name, mode_t mode)
{
    struct stat status;

    assert_int_equal(stat(in_dir(name), &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
}

ATTACK(readers_can_lock_nothing)
{
    open_to_all();
    assert_int_equal(open_as(VICTIM, "root", "&mode=0755"), HF_OK);
    assert_mode("root", 0755);
    assert_mode("root/locks", 0700);
    assert_mode("root/counter", 0600);
    assert_int_equal(chmod(root_dir, 0755), 0);
    make_dir("team", 0, TEAM, 02775);
    assert_int_equal(open_as(VICTIM, "team", "&mode=0775"), HF_OK);
    assert_mode("team/locks", 02770);
    assert_mode("team/counter", 0660);
    /* Made by somebody who thought otherwise. */
    assert_int_equal(chmod(in_dir("team/locks"), 02775), 0);
    refused(VICTIM, "team", "&mode=0775", "chmod it to 2770");
    assert_int_equal(chmod(in_dir("team/locks"), 02770), 0);
    assert_int_equal(chmod(in_dir("team/counter"), 0664), 0);
    refused(VICTIM, "team", "&mode=0775", "flock(2)");
}

/* ------------------------------------------------------------- the floor -- */

ATTACK(a_floor_of_another)
{
    uint64_t start;

    make_dir("state", 0, 0, 0700);
    make_file("state/floor", ATTACKER, 0600);
    (void)in_dir("state");
    assert_int_equal(hf_file_token_floor_reserve(path, 5, 10, &start, &error),
                     HF_EDENIED);
    assert_non_null(strstr(error.text, "user 54321"));
}

ATTACK(a_floor_that_would_block)
{
    uint64_t start;

    make_dir("state", 0, 0, 0700);
    assert_int_equal(mkfifo(in_dir("state/floor"), 0600), 0);
    assert_int_equal(mkfifo(in_dir("state/.floor.new"), 0600), 0);
    (void)in_dir("state");
    assert_int_equal(hf_file_token_floor_reserve(path, 5, 10, &start, &error),
                     HF_EDIR);
    assert_int_equal(unlink(in_dir("state/floor")), 0);
    (void)in_dir("state");
    assert_int_equal(hf_file_token_floor_reserve(path, 5, 10, &start, &error),
                     HF_OK);
}

ATTACK(a_floor_below_a_parent_of_another)
{
    uint64_t start;

    open_to_all();
    make_dir("parent", ATTACKER, ATTACKER, 0755);
    make_dir("parent/state", 0, 0, 0700);
    assert_int_equal(hf_file_token_floor_reserve(path, 5, 10, &start, &error),
                     HF_EDENIED);
    assert_non_null(strstr(error.text, "user 54321"));
}

static void all_of_this(void **state)
{
    (void)state;
    print_message("only root can play several users\n");
    skip();
}

/* Only root can play several users. */
TEST_FILE(file_safe_path)
{
    const struct CMUnitTest skipped[] = {cmocka_unit_test(all_of_this)};

    if (geteuid() != 0)
        return test_run(NULL, skipped, 1, NULL, NULL);
    return RUN_TESTS(NULL, NULL);
}
