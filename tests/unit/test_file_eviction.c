/* SPDX-License-Identifier: Apache-2.0 */
/* Eviction of tickets whose owners are stopped, dead, or do not watch them. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

static struct client_request *watch(struct engine_client *client,
                                    struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_WATCH, "q", id);

    assert_int_equal(request->answer, HF_EVENT_WATCHING);
    return request;
}

static void take(struct engine_client *client, struct hf_ticket_id id)
{
    struct client_request *request =
        client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
}

/* The process of a struct victim of real_host.c is its first field. */
static pid_t pid_of(const struct victim *victim)
{
    pid_t pid;

    memcpy(&pid, victim, sizeof pid);
    return pid;
}

/* An owner that is stopped cannot answer, and blocks neither a waiter nor the
 * next one. */
FILE_TEST(a_stopped_holder_is_evicted)
{
    struct hf_ticket_id held = fresh_id();
    struct victim *victim =
        conformance_file.victim_start(&conformance_file, "q", held, 0);
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *first, *second, *evict;

    take(a, fresh_id());
    first = watch(a, held);
    second = watch(b, held);
    assert_int_equal(kill(pid_of(victim), SIGSTOP), 0);
    evict = client_ask(b, HF_REQUEST_REMOVE, "q", held);
    assert_true(evict->found);
    assert_true(client_wait_gone(a, first));
    assert_true(client_wait_gone(b, second));
    assert_int_equal(client_detailed_list(a, "q")->count, 1);
    conformance_file.victim_kill(&conformance_file, victim);
}

/* Does any ticket of "q" have a payload? */
static bool has_payload(void)
{
    char command[2 * CONFORMANCE_FILE_PATH_BYTES];
    char path[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path("q", path);
    (void)snprintf(command, sizeof command,
                   "find %s -name '*.payload*' | grep -q .", path);
    return system(command) == 0;
}

/* The text that it cannot read is removed with the next ticket that is made.
 */
FILE_TEST(nothing_stays_that_a_stopped_holder_was_to_read)
{
    struct hf_ticket_id held = fresh_id();
    struct victim *victim =
        conformance_file.victim_start(&conformance_file, "q", held, 0);
    OPEN_CLIENT(a, &conformance_file);

    assert_int_equal(kill(pid_of(victim), SIGSTOP), 0);
    assert_true(client_evict(a, "q", held, "alice@db1")->found);
    assert_true(has_payload());
    take(a, fresh_id());
    assert_false(has_payload());
    conformance_file.victim_kill(&conformance_file, victim);
}

/* The payload of a ticket says nothing of an eviction unless it begins as
 * evictions do, and then nothing that could deceive. */
FILE_TEST(payloads_are_no_texts_of_evictions)
{
    static const struct {
        const char *payload, *why;
    } rows[] = {
        {"host=db1 text=evicted%20by%20me", ""},
        {"evicted by ", ""},
        {"evicted by \x1b]0;x\a", "its ticket was evicted by ?]0;x?"},
    };
    OPEN_CLIENT(a, &conformance_file);
    char command[2 * CONFORMANCE_FILE_PATH_BYTES];
    char path[CONFORMANCE_FILE_PATH_BYTES];
    struct hf_ticket_id held;
    struct client_request *own;

    conformance_file_path("q", path);
    (void)snprintf(command, sizeof command, "find %s -type p -delete", path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        held = fresh_id();
        (void)client_enqueue(a, "q", held, HF_TICKET_MUTEX, rows[i].payload);
        own = watch(a, held);
        assert_int_equal(system(command), 0);
        assert_true(client_wait_gone(a, own));
        assert_string_equal(own->text, rows[i].why);
    }
}

/* The holder learns of it by its own watch.  The next client does not depend
 * on that: the FIFO of the ticket is closed for the holder. */
FILE_TEST(a_ticket_removed_by_hand_holds_nobody_up)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id held = fresh_id();
    struct client_request *own, *before;

    take(a, held);
    own = watch(a, held);
    take(b, fresh_id());
    before = watch(b, held);
    conformance_file.evict(
        &conformance_file, "q",
        client_request_find(client_detailed_list(b, "q"), held));
    assert_true(client_wait_gone(a, own));
    assert_true(client_wait_gone(b, before));
}

/* A detailed list removes the tickets of dead processes. */
FILE_TEST(a_detailed_list_has_no_dead_that_nobody_watched)
{
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim =
        conformance_file.victim_start(&conformance_file, "q", dead, 0);
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();

    conformance_file.victim_kill(&conformance_file, victim);
    assert_int_equal(client_detailed_list(a, "q")->count, 0);
    take(a, id);
    assert_int_equal(client_detailed_list(a, "q")->count, 1);
}

FILE_TEST(the_dead_are_not_asked)
{
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim =
        conformance_file.victim_start(&conformance_file, "q", dead, 0);
    OPEN_CLIENT(a, &conformance_file);
    struct client_request *ask;

    conformance_file.victim_kill(&conformance_file, victim);
    ask = client_ask_until_done(a, HF_REQUEST_REVOKE, "q", dead);
    assert_int_equal(ask->answer, HF_EVENT_REVOKE_SENT);
    assert_false(ask->found);
    assert_int_equal(client_detailed_list(a, "q")->count, 0);
}

/* As an administrator asks for it: touch the ticket. */
FILE_TEST(touching_a_ticket_asks_its_owner)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    char command[2 * CONFORMANCE_FILE_PATH_BYTES];
    char path[CONFORMANCE_FILE_PATH_BYTES];
    struct client_request *own;

    take(a, id);
    own = watch(a, id);
    conformance_file_path("q", path);
    /* A new time, also where the clock of the filesystem is coarse. */
    (void)snprintf(command, sizeof command,
                   "find %s -type p -exec touch -d @1234567890 {} +", path);
    assert_int_equal(system(command), 0);
    assert_true(client_wait_revoked(a, own, 0));
}

static bool touched;

/* As soon as the ticket has its name, and before its session has it in its
 * table. */
static int touch_at_once(const char *request)
{
    static const struct timespec times[] = {{1, 0}, {1, 0}};
    char pattern[CONFORMANCE_FILE_PATH_BYTES + sizeof("/*")];
    char path[CONFORMANCE_FILE_PATH_BYTES];
    glob_t tickets;

    (void)request;
    conformance_file_path("q", path);
    (void)snprintf(pattern, sizeof pattern, "%s/*", path);
    if (!touched && glob(pattern, 0, NULL, &tickets) == 0) {
        touched = utimensat(AT_FDCWD, tickets.gl_pathv[0], times,
                            AT_SYMLINK_NOFOLLOW) == 0;
        globfree(&tickets);
    }
    return 0;
}

FILE_TEST(a_request_is_not_lost_however_early_it_comes)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();

    touched = false;
    hf_file_sys_hook = touch_at_once;
    take(a, id);
    hf_file_sys_hook = NULL;
    assert_true(touched);
    assert_true(client_wait_revoked(a, watch(a, id), 0));
}
