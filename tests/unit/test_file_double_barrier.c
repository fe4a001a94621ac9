/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of a double barrier in directories: the files that they make,
 * and which clients get an event. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"
#include "file_participants.h"

static void expect_silence(struct engine_client *client,
                           const struct client_request *request)
{
    client_drain(client);
    assert_int_equal(request->gone, 0);
}

static void generation(struct engine_client *client, struct hf_ticket_id id,
                       uint32_t limit)
{
    assert_int_equal(participants_new_generation(client, id, limit)->answer,
                     HF_EVENT_FLAG_UPDATED);
}

/* ---------------------------------------------------------------- layout -- */

static void ticket_path(const struct hf_ticket *ticket,
                        char path[BARRIER_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];

    hf_file_name_format(ticket, file);
    participants_path(file, path);
}

/* As ls -l shows it.  The last participant to leave removes the flag. */
FILE_TEST(what_lies_in_the_directory)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen = participants_list(a, 1, false);
    char path[BARRIER_PATH_BYTES], text[64];
    struct stat status;
    ssize_t got;

    ticket_path(&seen->tickets[0], path);
    assert_non_null(strstr(path, "-d-"));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    generation(a, id, 1);
    seen = participants_list(a, 1, true);
    participants_path("ready", path);
    got = readlink(path, text, sizeof text - 1);
    assert_int_equal(got, 20);
    text[got] = '\0';
    assert_int_equal(strtoull(text, NULL, 10), seen->tickets[1].token);
    assert_int_equal(participants_files(), 3); /* and what he says of himself */
    participant_leave(a, id);
    assert_int_equal(participants_files(), 1);
    assert_true(participants_clear(a));
    assert_int_equal(participants_files(), 0);
}

/* Participants are in no queue, and no ticket of a queue is a participant. */
FILE_TEST(a_queue_of_that_name_is_another)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id participant = participant_enter(a);
    struct hf_ticket_id mutex = fresh_id();
    struct client_request *request =
        client_enqueue(b, BARRIER, mutex, HF_TICKET_MUTEX, "");

    assert_int_equal(request->count, 1);
    generation(a, participant, 1);
    (void)participants_list(b, 1, true);
    assert_int_equal(client_ask(a, HF_REQUEST_LIST, BARRIER, mutex)->count, 1);
    assert_int_equal(client_detailed_list(a, BARRIER)->count, 1);
    assert_int_equal(participants_new_generation(b, mutex, 1)->answer,
                     HF_EVENT_FAILED);
    participant_leave(a, participant);
    assert_true(participants_clear(a)); /* a mutex is no participant */
    assert_true(client_ask(b, HF_REQUEST_REMOVE, BARRIER, mutex)->found);
}

/* An enqueue that is repeated finds the ticket, or makes it if it is not
 * there. */
FILE_TEST(one_who_comes_twice_is_one)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    char path[BARRIER_PATH_BYTES];
    struct client_request *request;

    request = client_enqueue(a, BARRIER, id, HF_TICKET_PARTICIPANT, "me");
    assert_int_equal(request->count, 1);
    ticket_path(&request->tickets[0], path);
    assert_int_equal(unlink(path), 0);
    request = client_enqueue(a, BARRIER, id, HF_TICKET_PARTICIPANT, "me");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    (void)participants_list(a, 1, false);
    participant_leave(a, id);
}

FILE_TEST(a_long_name_is_one_name)
{
    static char name[401];
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request;

    memset(name, 'n', sizeof name - 1);
    name[200] = '/';
    request = client_enqueue(a, name, id, HF_TICKET_PARTICIPANT, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    request = client_double_barrier(a, HF_REQUEST_NEW_GENERATION, name, id, 1);
    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    request = client_double_barrier(a, HF_REQUEST_WATCH_QUEUE, name, id, 0);
    assert_int_equal(request->count, 2);
    (void)client_ask(a, HF_REQUEST_REMOVE, name, id);
    assert_true(
        client_double_barrier(a, HF_REQUEST_CLEAR_FLAG, name, id, 0)->found);
}

FILE_TEST(participants_of_all_users)
{
    struct engine_client *a;
    struct hf_ticket_id id;
    struct stat status;
    char path[BARRIER_PATH_BYTES];
    mode_t before = umask(077);

    conformance_file_share();
    a = client_open(&conformance_file);
    id = participant_enter(a);
    ticket_path(&participants_list(a, 1, false)->tickets[0], path);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 0666, 0666);
    participant_leave(a, id);
    client_close(a);
    (void)umask(before);
}

FILE_TEST(what_is_no_generation_is_refused)
{
    static const char *const texts[] = {"nonsense", "00000000000000000001x",
                                        "1"};
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    char path[BARRIER_PATH_BYTES];
    struct client_request *request;

    participants_path("ready", path);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(symlink(texts[i], path), 0);
        request =
            client_double_barrier(a, HF_REQUEST_WATCH_QUEUE, BARRIER, id, 0);
        assert_int_equal(request->answer, HF_EVENT_FAILED);
        assert_int_equal(request->status, HF_EDIR);
        assert_non_null(strstr(request->text, texts[i]));
        generation(a, id, 1); /* takes its place */
        (void)participants_list(a, 1, true);
        assert_int_equal(unlink(path), 0);
    }
    participant_leave(a, id);
    assert_int_equal(symlink("nonsense", path), 0);
    assert_true(participants_clear(a));
}

/* --------------------------------------------------------------- events -- */

static void make(const char *file)
{
    char path[BARRIER_PATH_BYTES];
    int fd;

    participants_path(file, path);
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
    char paths[2][BARRIER_PATH_BYTES];

    participants_path(from, paths[0]);
    participants_path(to, paths[1]);
    move(paths[0], paths[1]);
}

static void remove_file(const char *file)
{
    char path[BARRIER_PATH_BYTES];

    participants_path(file, path);
    assert_int_equal(unlink(path), 0);
}

/* Tickets of a queue, new times, names without a meaning, and an old
 * generation that is put there again. */
FILE_TEST(fn66_other_events_wake_no_participant)
{
    struct engine_client *a = client_open(&conformance_file);
    struct engine_client *b = client_open(&conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct hf_ticket_id mutex = fresh_id();
    char path[BARRIER_PATH_BYTES];
    struct client_request *seen;

    generation(a, id, 1);
    seen = participants_look(a, 1, true);
    (void)client_enqueue(b, BARRIER, mutex, HF_TICKET_MUTEX, "");
    (void)client_ask(b, HF_REQUEST_REMOVE, BARRIER, mutex);
    make("beside");
    move_file("beside", "beside.too");
    remove_file("beside.too");
    ticket_path(&seen->tickets[0], path);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    move_file("ready", "beside");
    move_file("beside", "ready");
    expect_silence(a, seen);
    (void)participant_enter(b);
    assert_true(client_wait_gone(a, seen));
    client_close(b);
    client_close(a);
    remove_file("ready");
    participants_path("", path);
    assert_int_equal(rmdir(path), 0);
}

/* How many inotify watches of this process are for changes of names. */
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

/* Without a waiter no inotify watch is needed. */
FILE_TEST(without_a_queue_watch_nothing_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen = participants_list(a, 1, false);
    struct client_request *own = client_watch(a, BARRIER, &seen->tickets[0]);
    struct client_request *look = participants_look(a, 1, false);

    assert_int_equal(watches_of_names(), 1);
    client_forget(a, look);
    assert_int_equal(watches_of_names(), 0);
    (void)participant_enter(b);
    expect_silence(a, look);
    assert_int_equal(own->gone, 0);
    look = participants_look(a, 2, false);
    assert_int_equal(watches_of_names(), 1);
    (void)participant_enter(b);
    assert_true(client_wait_gone(a, look));
    assert_int_equal(watches_of_names(), 0);
    assert_int_equal(own->gone, 0);
    participant_leave(a, id);
    assert_int_equal(own->gone, 1);
}

/* A change that the list shows already, although its event was not read yet. */
FILE_TEST(an_old_event_wakes_nobody)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen = participants_list(a, 1, false);
    struct client_request *own = client_watch(a, BARRIER, &seen->tickets[0]);
    struct hf_ticket_id other = fresh_id();

    seen = participants_look(a, 1, false);
    /* The loop does not run before the end of this. */
    (void)client_start_double_barrier(b, HF_REQUEST_ENQUEUE, BARRIER, other, 0);
    (void)client_start_double_barrier(b, HF_REQUEST_NEW_GENERATION, BARRIER,
                                      other, 2);
    assert_int_equal(seen->gone, 0);
    client_forget(a, seen);
    seen = participants_look(a, 2, true);
    expect_silence(a, seen);
    assert_int_equal(own->gone, 0);
    participant_leave(b, other);
    assert_true(client_wait_gone(a, seen));
    participant_leave(a, id);
    assert_true(participants_clear(a));
}

/* Tickets of one session: no FIFO is closed for them. */
FILE_TEST(ones_own_participants_come_and_go)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id first = participant_enter(a), second;
    struct client_request *seen = participants_look(a, 1, false);

    second = participant_enter(a);
    assert_true(client_wait_gone(a, seen));
    seen = participants_look(a, 2, false);
    generation(a, first, 2);
    assert_true(client_wait_gone(a, seen));
    seen = participants_look(a, 2, true);
    participant_leave(a, first);
    assert_int_equal(seen->gone, 1); /* at once */
    seen = participants_look(a, 1, true);
    expect_silence(a, seen);
    participant_leave(a, second);
    assert_true(participants_clear(a));
}

/* Two queue watches at once; each gets the event. */
FILE_TEST(all_queue_watches_are_notified)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = participant_enter(a);
    struct client_request *seen[2] = {participants_look(b, 1, false),
                                      participants_look(b, 1, false)};

    (void)participant_enter(a);
    for (size_t i = 0; i < 2; i++)
        assert_true(client_wait_gone(b, seen[i]));
    for (size_t i = 0; i < 2; i++)
        seen[i] = participants_look(b, 2, false);
    participant_leave(a, id);
    for (size_t i = 0; i < 2; i++)
        assert_true(client_wait_gone(b, seen[i]));
}

/* Their directory, that of all locks, or the root was moved: they do not
 * count. */
FILE_TEST(participants_that_are_moved_away_are_gone)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    char paths[3][BARRIER_PATH_BYTES], away[BARRIER_PATH_BYTES];
    struct client_request *seen;

    (void)participant_enter(a);
    participants_path("", paths[0]);
    *strrchr(paths[0], '/') = '\0';
    (void)snprintf(paths[1], BARRIER_PATH_BYTES, "%s/locks",
                   conformance_file_root());
    (void)snprintf(paths[2], BARRIER_PATH_BYTES, "%s", conformance_file_root());
    for (size_t i = 0; i < 3; i++) {
        seen = participants_look(b, 1, false);
        (void)snprintf(away, sizeof away, "%.*s.away", BARRIER_PATH_BYTES - 8,
                       paths[i]);
        move(paths[i], away);
        assert_true(client_wait_gone(b, seen));
        (void)participants_list(b, 0, false);
        (void)participants_look(b, 0, false);
        move(away, paths[i]);
    }
}

/* The directory is removed and made again between two lists. */
FILE_TEST(a_directory_made_anew_is_watched)
{
    struct engine_client *a = client_open(&conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id;
    struct client_request *seen;
    char path[BARRIER_PATH_BYTES], command[BARRIER_PATH_BYTES + 16];

    (void)participant_enter(a);
    seen = participants_look(b, 1, false);
    participants_path("", path);
    (void)snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
    client_close(a);
    assert_true(client_wait_gone(b, seen));
    (void)participants_look(b, 0, false);
    a = client_open(&conformance_file);
    id = participant_enter(a);
    seen = participants_look(b, 1, false);
    (void)participant_enter(a);
    assert_true(client_wait_gone(b, seen));
    seen = participants_look(b, 2, false);
    generation(a, id, 2);
    assert_true(client_wait_gone(b, seen));
    client_close(a);
    assert_true(participants_clear(b));
}

static char aside[BARRIER_PATH_BYTES];
static struct engine_client *latecomer;
static unsigned watched;

static void replace_directory(void)
{
    char path[BARRIER_PATH_BYTES];

    participants_path("", path);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    move(aside, path);
}

/* The directory is replaced between the watch on it, when it is empty, and
 * its reading; then a participant enters before the new one is watched. */
static int replace_under_a_look(const char *request)
{
    bool watches = strcmp(request, "inotify_add") == 0;

    if (watches && ++watched == 2) {
        hf_file_sys_hook = NULL;
        (void)participant_enter(latecomer);
    } else if (watched == 1 && aside[0] != '\0' &&
               strcmp(request, "open") == 0) {
        replace_directory();
        aside[0] = '\0';
    }
    return 0;
}

/* The directory that is read must be the one that is watched. */
FILE_TEST(a_directory_replaced_under_a_look_is_watched)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    char path[BARRIER_PATH_BYTES];
    struct client_request *seen;

    /* One for inotify, and one for the directory above. */
    (void)client_double_barrier(a, HF_REQUEST_WATCH_QUEUE, "other", fresh_id(),
                                0);
    latecomer = client_open(&conformance_file);
    (void)participant_enter(b);
    participants_path("", path);
    *strrchr(path, '/') = '\0';
    (void)snprintf(aside, sizeof aside, "%.*s.aside", BARRIER_PATH_BYTES - 8,
                   path);
    move(path, aside);
    assert_int_equal(mkdir(path, 0700), 0);
    watched = 0;
    hf_file_sys_hook = replace_under_a_look;
    seen = participants_look(a, 2, false);
    assert_null(hf_file_sys_hook);
    participant_leave(latecomer, seen->tickets[1].id);
    assert_true(client_wait_gone(a, seen));
    client_close(latecomer);
}
