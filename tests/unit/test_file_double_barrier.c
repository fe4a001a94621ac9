/* SPDX-License-Identifier: Apache-2.0 */
/* Members in directories: what is made of them, who is told and who is not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_members.h"
#include "file_story.h"

static void expect_silence(struct seat *seat, const struct call *call)
{
    seat_settle(seat);
    assert_int_equal(call->gone, 0);
}

static void stamp(struct seat *seat, struct hf_ticket_id id, uint32_t limit)
{
    assert_int_equal(crew_stamp(seat, id, limit)->answer,
                     HF_EVENT_FLAG_UPDATED);
}

/* ---------------------------------------------------------------- layout -- */

static void ticket_path(const struct hf_ticket *ticket,
                        char path[CREW_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];

    hf_ticket_file_format(ticket, file);
    crew_path(file, path);
}

/* As ls -l shows it; and who leaves last takes it along. */
static void what_lies_in_the_directory(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen = crew_list(a, 1, false);
    char path[CREW_PATH_BYTES], text[64];
    struct stat status;
    ssize_t got;

    (void)state;
    ticket_path(&seen->tickets[0], path);
    assert_non_null(strstr(path, "-d-"));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    stamp(a, id, 1);
    seen = crew_list(a, 1, true);
    crew_path("ready", path);
    got = readlink(path, text, sizeof text - 1);
    assert_int_equal(got, 20);
    text[got] = '\0';
    assert_int_equal(strtoull(text, NULL, 10), seen->tickets[1].token);
    assert_int_equal(crew_files(), 3); /* and what he says of himself */
    crew_go(a, id);
    assert_int_equal(crew_files(), 1);
    assert_true(crew_lower(a));
    assert_int_equal(crew_files(), 0);
    seat_close(a);
}

/* They are in no queue, and no ticket of a queue is a member. */
static void a_queue_of_that_name_is_another(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id member = crew_come(a);
    struct hf_ticket_id mutex = fresh_id();
    struct call *call = seat_enqueue(b, CREW, mutex, HF_TICKET_MUTEX, "");

    (void)state;
    assert_int_equal(call->count, 1);
    stamp(a, member, 1);
    (void)crew_list(b, 1, true);
    assert_int_equal(seat_ask(a, HF_REQUEST_LIST, CREW, mutex)->count, 1);
    assert_int_equal(seat_look(a, CREW)->count, 1);
    assert_int_equal(crew_stamp(b, mutex, 1)->answer, HF_EVENT_FAILED);
    crew_go(a, member);
    assert_true(crew_lower(a)); /* a mutex is no member */
    assert_true(seat_ask(b, HF_REQUEST_REMOVE, CREW, mutex)->found);
    seat_close(b);
    seat_close(a);
}

/* Asked for once more it is found, if it is there, or else made. */
static void one_who_comes_twice_is_one(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    char path[CREW_PATH_BYTES];
    struct call *call;

    (void)state;
    call = seat_enqueue(a, CREW, id, HF_TICKET_PARTICIPANT, "me");
    assert_int_equal(call->count, 1);
    ticket_path(&call->tickets[0], path);
    assert_int_equal(unlink(path), 0);
    call = seat_enqueue(a, CREW, id, HF_TICKET_PARTICIPANT, "me");
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    (void)crew_list(a, 1, false);
    crew_go(a, id);
    seat_close(a);
}

static void a_long_name_is_one_name(void **state)
{
    static char name[401];
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *call;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[200] = '/';
    call = seat_enqueue(a, name, id, HF_TICKET_PARTICIPANT, "");
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    call = seat_members(a, HF_REQUEST_NEW_GENERATION, name, id, 1);
    assert_int_equal(call->answer, HF_EVENT_FLAG_UPDATED);
    call = seat_members(a, HF_REQUEST_WATCH_QUEUE, name, id, 0);
    assert_int_equal(call->count, 2);
    (void)seat_ask(a, HF_REQUEST_REMOVE, name, id);
    assert_true(seat_members(a, HF_REQUEST_CLEAR_FLAG, name, id, 0)->found);
    seat_close(a);
}

static void members_of_all_users(void **state)
{
    struct seat *a;
    struct hf_ticket_id id;
    struct stat status;
    char path[CREW_PATH_BYTES];
    mode_t before = umask(077);

    (void)state;
    bench_file_share();
    a = seat_open(&bench_file);
    id = crew_come(a);
    ticket_path(&crew_list(a, 1, false)->tickets[0], path);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 0666, 0666);
    crew_go(a, id);
    seat_close(a);
    (void)umask(before);
}

static void what_is_no_stamp_is_refused(void **state)
{
    static const char *const texts[] = {"nonsense", "00000000000000000001x",
                                        "1"};
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    char path[CREW_PATH_BYTES];
    struct call *call;

    (void)state;
    crew_path("ready", path);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(symlink(texts[i], path), 0);
        call = seat_members(a, HF_REQUEST_WATCH_QUEUE, CREW, id, 0);
        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->status, HF_EDIR);
        assert_non_null(strstr(call->text, texts[i]));
        stamp(a, id, 1); /* takes its place */
        (void)crew_list(a, 1, true);
        assert_int_equal(unlink(path), 0);
    }
    crew_go(a, id);
    assert_int_equal(symlink("nonsense", path), 0);
    assert_true(crew_lower(a));
    seat_close(a);
}

/* ------------------------------------------------------------------ news -- */

static void make(const char *file)
{
    char path[CREW_PATH_BYTES];
    int fd;

    crew_path(file, path);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

static void move_file(const char *from, const char *to)
{
    char paths[2][CREW_PATH_BYTES];

    crew_path(from, paths[0]);
    crew_path(to, paths[1]);
    move(paths[0], paths[1]);
}

static void remove_file(const char *file)
{
    char path[CREW_PATH_BYTES];

    crew_path(file, path);
    assert_int_equal(unlink(path), 0);
}

/* Tickets of a queue, touches, names that mean nothing, a stamp of before that
 * is put there again. */
static void fn66_other_news_wakes_no_member(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct hf_ticket_id mutex = fresh_id();
    char path[CREW_PATH_BYTES];
    struct call *seen;

    (void)state;
    stamp(a, id, 1);
    seen = crew_look(a, 1, true);
    (void)seat_enqueue(b, CREW, mutex, HF_TICKET_MUTEX, "");
    (void)seat_ask(b, HF_REQUEST_REMOVE, CREW, mutex);
    make("beside");
    move_file("beside", "beside.too");
    remove_file("beside.too");
    ticket_path(&seen->tickets[0], path);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    move_file("ready", "beside");
    move_file("beside", "ready");
    expect_silence(a, seen);
    (void)crew_come(b);
    assert_true(seat_sees_gone(a, seen));
    seat_close(b);
    seat_close(a);
    remove_file("ready");
    crew_path("", path);
    assert_int_equal(rmdir(path), 0);
}

/* How many of this process's inotify watches are told of names given. */
static unsigned watches_of_names(void)
{
    char path[64], line[256];
    unsigned count = 0;

    for (int fd = 0; fd < 64; fd++) {
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        if ((file = fopen(path, "re")) == NULL)
            continue;
        while (fgets(line, sizeof line, file) != NULL) {
            const char *mask = strstr(line, " mask:");

            if (strncmp(line, "inotify ", 8) == 0 && mask != NULL)
                count += (strtoul(mask + 6, NULL, 16) & IN_MOVED_TO) != 0;
        }
        (void)fclose(file);
    }
    return count;
}

/* Nobody waits, so nobody is to be woken. */
static void who_does_not_look_hears_of_nobody(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen = crew_list(a, 1, false);
    struct call *own = seat_watch(a, CREW, &seen->tickets[0]);
    struct call *look = crew_look(a, 1, false);

    (void)state;
    assert_int_equal(watches_of_names(), 1);
    seat_forget(a, look);
    assert_int_equal(watches_of_names(), 0);
    (void)crew_come(b);
    expect_silence(a, look);
    assert_int_equal(own->gone, 0);
    look = crew_look(a, 2, false);
    assert_int_equal(watches_of_names(), 1);
    (void)crew_come(b);
    assert_true(seat_sees_gone(a, look));
    assert_int_equal(watches_of_names(), 0);
    assert_int_equal(own->gone, 0);
    crew_go(a, id);
    assert_int_equal(own->gone, 1);
    seat_close(b);
    seat_close(a);
}

/* What is in the list already, though it has not been heard of yet. */
static void news_of_before_wakes_nobody(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen = crew_list(a, 1, false);
    struct call *own = seat_watch(a, CREW, &seen->tickets[0]);
    struct hf_ticket_id other = fresh_id();

    (void)state;
    seen = crew_look(a, 1, false);
    /* The loop does not run until all of this is over. */
    (void)seat_members_only(b, HF_REQUEST_ENQUEUE, CREW, other, 0);
    (void)seat_members_only(b, HF_REQUEST_NEW_GENERATION, CREW, other, 2);
    assert_int_equal(seen->gone, 0);
    seat_forget(a, seen);
    seen = crew_look(a, 2, true);
    expect_silence(a, seen);
    assert_int_equal(own->gone, 0);
    crew_go(b, other);
    assert_true(seat_sees_gone(a, seen));
    crew_go(a, id);
    assert_true(crew_lower(a));
    seat_close(b);
    seat_close(a);
}

/* Of one session: nothing hangs up for one's own. */
static void ones_own_members_come_and_go(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id first = crew_come(a), second;
    struct call *seen = crew_look(a, 1, false);

    (void)state;
    second = crew_come(a);
    assert_true(seat_sees_gone(a, seen));
    seen = crew_look(a, 2, false);
    stamp(a, first, 2);
    assert_true(seat_sees_gone(a, seen));
    seen = crew_look(a, 2, true);
    crew_go(a, first);
    assert_int_equal(seen->gone, 1); /* at once */
    seen = crew_look(a, 1, true);
    expect_silence(a, seen);
    crew_go(a, second);
    assert_true(crew_lower(a));
    seat_close(a);
}

/* Two looks at once, of which each is told. */
static void all_who_look_are_told(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = crew_come(a);
    struct call *seen[2] = {crew_look(b, 1, false), crew_look(b, 1, false)};

    (void)state;
    (void)crew_come(a);
    for (size_t i = 0; i < 2; i++)
        assert_true(seat_sees_gone(b, seen[i]));
    for (size_t i = 0; i < 2; i++)
        seen[i] = crew_look(b, 2, false);
    crew_go(a, id);
    for (size_t i = 0; i < 2; i++)
        assert_true(seat_sees_gone(b, seen[i]));
    seat_close(b);
    seat_close(a);
}

/* Their directory, all locks, or the root: they are not where they should be.
 */
static void members_that_are_moved_away_are_gone(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    char paths[3][CREW_PATH_BYTES], away[CREW_PATH_BYTES];
    struct call *seen;

    (void)state;
    (void)crew_come(a);
    crew_path("", paths[0]);
    *strrchr(paths[0], '/') = '\0';
    (void)snprintf(paths[1], CREW_PATH_BYTES, "%s/locks", bench_file_root());
    (void)snprintf(paths[2], CREW_PATH_BYTES, "%s", bench_file_root());
    for (size_t i = 0; i < 3; i++) {
        seen = crew_look(b, 1, false);
        (void)snprintf(away, sizeof away, "%.*s.away", CREW_PATH_BYTES - 8,
                       paths[i]);
        move(paths[i], away);
        assert_true(seat_sees_gone(b, seen));
        (void)crew_list(b, 0, false);
        (void)crew_look(b, 0, false);
        move(away, paths[i]);
    }
    seat_close(b);
    seat_close(a);
}

/* The directory goes and comes between one look and the next. */
static void a_directory_made_anew_is_watched(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id;
    struct call *seen;
    char path[CREW_PATH_BYTES], command[CREW_PATH_BYTES + 16];

    (void)state;
    (void)crew_come(a);
    seen = crew_look(b, 1, false);
    crew_path("", path);
    (void)snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
    seat_close(a);
    assert_true(seat_sees_gone(b, seen));
    (void)crew_look(b, 0, false);
    a = seat_open(&bench_file);
    id = crew_come(a);
    seen = crew_look(b, 1, false);
    (void)crew_come(a);
    assert_true(seat_sees_gone(b, seen));
    seen = crew_look(b, 2, false);
    stamp(a, id, 2);
    assert_true(seat_sees_gone(b, seen));
    seat_close(a);
    assert_true(crew_lower(b));
    seat_close(b);
}

static char aside[CREW_PATH_BYTES];
static struct seat *latecomer;
static unsigned watched;

static void replace_directory(void)
{
    char path[CREW_PATH_BYTES];

    crew_path("", path);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    move(aside, path);
}

/* Between the watch of the empty directory and the reading of it; and then
 * somebody comes before it could be watched. */
static int replace_under_a_look(const char *call)
{
    bool watches = strcmp(call, "inotify_add") == 0;

    if (watches && ++watched == 2) {
        hf_sys_hook = NULL;
        (void)crew_come(latecomer);
    } else if (watched == 1 && aside[0] != '\0' && strcmp(call, "open") == 0) {
        replace_directory();
        aside[0] = '\0';
    }
    return 0;
}

/* What is read has to be what is watched. */
static void a_directory_replaced_under_a_look_is_watched(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    char path[CREW_PATH_BYTES];
    struct call *seen;

    (void)state;
    /* For inotify, and what it watches above. */
    (void)seat_members(a, HF_REQUEST_WATCH_QUEUE, "other", fresh_id(), 0);
    latecomer = seat_open(&bench_file);
    (void)crew_come(b);
    crew_path("", path);
    *strrchr(path, '/') = '\0';
    (void)snprintf(aside, sizeof aside, "%.*s.aside", CREW_PATH_BYTES - 8,
                   path);
    move(path, aside);
    assert_int_equal(mkdir(path, 0700), 0);
    watched = 0;
    hf_sys_hook = replace_under_a_look;
    seen = crew_look(a, 2, false);
    assert_null(hf_sys_hook);
    crew_go(latecomer, seen->tickets[1].id);
    assert_true(seat_sees_gone(a, seen));
    seat_close(latecomer);
    seat_close(b);
    seat_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_lies_in_the_directory),
        TEST(a_queue_of_that_name_is_another),
        TEST(one_who_comes_twice_is_one),
        TEST(a_long_name_is_one_name),
        TEST(members_of_all_users),
        TEST(what_is_no_stamp_is_refused),
        TEST(fn66_other_news_wakes_no_member),
        TEST(who_does_not_look_hears_of_nobody),
        TEST(news_of_before_wakes_nobody),
        TEST(ones_own_members_come_and_go),
        TEST(all_who_look_are_told),
        TEST(members_that_are_moved_away_are_gone),
        TEST(a_directory_made_anew_is_watched),
        TEST(a_directory_replaced_under_a_look_is_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
