/* SPDX-License-Identifier: Apache-2.0 */
/* A queue watch that has been there for a while, which is when inotify watches
 * what comes into the queue. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/engine_host.h"
#include "cmocka/runner.h"
#include "conformance/real_host.h"
#include "engines/file/file.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "engines/file/watch.h"
#include "file_fixture.h"
#include "file_leases.h"

#define PATH_BYTES (CONFORMANCE_FILE_PATH_BYTES + HF_PAYLOAD_FILE_BYTES)

/* --------------------------------------------------------- until armed -- */

/* How often this call was made since a test began to count. */
static const char *counted;
static unsigned count;

static int count_calls(const char *request)
{
    count += strcmp(request, counted) == 0;
    return 0;
}

static void begin_counting(const char *call, int (*hook)(const char *call))
{
    counted = call;
    count = 0;
    hf_file_sys_hook = hook;
}

static bool is_counted(void *nobody)
{
    (void)nobody;
    return count > 0;
}

static void wait_until_counted(void)
{
    conformance_file.pump(&conformance_file, is_counted, NULL);
    assert_true(count > 0);
    hf_file_sys_hook = NULL;
}

/* Watch the leases.  Answered at once, without a turn of the loop, in which the
 * watch is armed. */
static struct client_request *look(struct engine_client *client,
                                   size_t expected)
{
    struct client_request *request =
        client_start(client, HF_REQUEST_WATCH_QUEUE, LEASES, fresh_id());

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count, expected);
    return request;
}

/* The same, and wait until inotify watches them. */
static struct client_request *look_until_armed(struct engine_client *client,
                                               size_t expected)
{
    struct client_request *request = look(client, expected);

    begin_counting("inotify_add", count_calls);
    wait_until_counted();
    assert_string_equal(conformance_file_log(), ""); /* and not the timer */
    assert_int_equal(request->gone, 0);
    return request;
}

static void path_of(const struct hf_ticket *ticket, char path[PATH_BYTES])
{
    char dir[CONFORMANCE_FILE_PATH_BYTES], file[HF_TICKET_FILE_BYTES];

    conformance_file_path(LEASES, dir);
    hf_file_name_format(ticket, file);
    (void)snprintf(path, PATH_BYTES, "%s/%s", dir, file);
}

/* -------------------------------------------------------------- arrivals -- */

FILE_TEST(what_comes_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request = look_until_armed(b, 0);

    for (size_t i = 1; i <= 3; i++) {
        (void)leases_take(a, 1);
        assert_true(client_wait_gone(b, request));
        request = look_until_armed(b, i);
    }
    (void)leases_take(b, 1); /* one's own, too */
    assert_true(client_wait_gone(b, request));
    (void)leases_look(b, 4);
}

/* A long queue does not take a descriptor for each of its tickets. */
FILE_TEST(who_is_far_behind_is_watched_by_name)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id ids[HF_FILE_QUEUE_FIFOS_MAX + 2];
    struct client_request *request;
    const size_t many = sizeof ids / sizeof *ids;

    for (size_t i = 0; i < many; i++)
        ids[i] = leases_take(a, 1);
    request = look_until_armed(b, many);
    assert_true(leases_leave(a, ids[many - 1]));
    assert_true(client_wait_gone(b, request));
    request = look_until_armed(b, many - 1);
    assert_true(leases_leave(a, ids[0]));
    assert_true(client_wait_gone(b, request));
    (void)leases_look(b, many - 2);
}

/* The event comes when the watch is armed. */
FILE_TEST(what_has_come_before_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = look(b, 0);

    (void)client_start_enqueue(a, LEASES, id); /* the loop does not run */
    assert_int_equal(request->gone, 0);
    assert_true(client_wait_gone(b, request));
    request = look(b, 1);
    (void)client_start_enqueue(a, LEASES, fresh_id());
    assert_true(client_wait_gone(b, request));
}

/* An entry of the directory that is no ticket ends no watch. */
FILE_TEST(other_names_change_nothing)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request = look_until_armed(b, 0), *elsewhere;
    char path[PATH_BYTES], other[PATH_BYTES + 8];

    (void)client_lease(a, "t/leases", fresh_id(), 1);
    leases_expect_nothing(b, request);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
    request = look_until_armed(b, 1);
    elsewhere =
        client_double_barrier(b, HF_REQUEST_WATCH_QUEUE, LEASES, fresh_id(), 0);
    assert_int_equal(
        client_describe(a, LEASES, &request->tickets[0], "another")->answer,
        HF_EVENT_DESCRIBED);
    path_of(&request->tickets[0], path);
    (void)snprintf(other, sizeof other, "%s.aside", path);
    assert_int_equal(symlink("x", other), 0);
    *strrchr(path, '-') = '\0'; /* no name of a ticket */
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(unlink(path), 0);
    leases_expect_nothing(b, request);
    assert_int_equal(elsewhere->gone, 0);
    (void)client_start_double_barrier(a, HF_REQUEST_ENQUEUE, LEASES, fresh_id(),
                                      0);
    assert_true(client_wait_gone(b, elsewhere));
    leases_expect_nothing(b, request);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
}

/* ------------------------------------------------------------ one's own -- */

/* Somebody removes it, and its owner does not watch it. */
FILE_TEST(ones_own_ticket_that_is_removed_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct hf_ticket_id id = leases_take(a, 1), other = leases_take(b, 1);
    struct client_request *request = look_until_armed(a, 2);
    char path[PATH_BYTES];

    path_of(client_request_find(request, id), path);
    assert_int_equal(unlink(path), 0);
    assert_true(client_wait_gone(a, request));
    request = look_until_armed(a, 1);
    assert_true(leases_leave(b, other));
    assert_true(client_wait_gone(a, request));
    assert_false(leases_leave(a, id));
}

FILE_TEST(ones_own_downgrade_is_reported_at_once)
{
    OPEN_CLIENT(a, &conformance_file);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request;

    (void)client_enqueue(a, "q", id, HF_TICKET_WRITE, "");
    request = client_ask(a, HF_REQUEST_WATCH_QUEUE, "q", id);
    assert_int_equal(client_ask(a, HF_REQUEST_DOWNGRADE, "q", id)->answer,
                     HF_EVENT_DOWNGRADED);
    assert_int_equal(request->gone, 1);
}

/* -------------------------------------------------------- its directory -- */

/* An empty directory is removed and made again while somebody has it open. */
FILE_TEST(a_directory_made_anew_is_reported)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request;
    char path[CONFORMANCE_FILE_PATH_BYTES];

    assert_true(leases_leave(a, leases_take(a, 1))); /* it stays open */
    request = look_until_armed(b, 0);
    conformance_file_path(LEASES, path);
    assert_int_equal(rmdir(path), 0);
    leases_expect_nothing(b, request);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
    (void)leases_look(b, 1);
}

static bool replaces;

/* The directory is replaced between its watch and its reading. */
static int replace_directory(const char *request)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    (void)count_calls(request);
    if (count == 0 || strcmp(request, "open") != 0 || !replaces)
        return 0;
    replaces = false;
    conformance_file_path(LEASES, path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    return 0;
}

FILE_TEST(a_directory_that_is_replaced_meanwhile_is_watched)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request;

    assert_true(leases_leave(a, leases_take(a, 1)));
    request = look(b, 0);
    replaces = true;
    begin_counting("inotify_add", replace_directory);
    wait_until_counted();
    assert_false(replaces);
    leases_expect_nothing(b, request);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
}

static struct hf_engine *open_list_only(struct conformance_fixture *fixture,
                                        const struct hf_engine_host *host)
{
    static struct hf_engine_host list_only; /* open() copies it */

    list_only = *host;
    list_only.list_only = true;
    return conformance_file.open(fixture, &list_only);
}

/* "locks" is missing, or the whole root directory. */
FILE_TEST(a_root_that_is_made_later_is_found)
{
    for (int i = 0; i < 2; i++) {
        struct conformance_fixture list_only = conformance_file;
        struct engine_client *a, *client;
        struct client_request *request;
        char locks[CONFORMANCE_FILE_PATH_BYTES];

        list_only.open = open_list_only;
        client = client_open(&list_only);
        if (i > 0)
            assert_int_equal(rmdir(conformance_file_root()), 0);
        request = look_until_armed(client, 0);
        leases_expect_nothing(client, request);
        a = client_open(&conformance_file);
        assert_true(client_wait_gone(client, request));
        request = look_until_armed(client, 0);
        (void)leases_take(a, 1);
        assert_true(client_wait_gone(client, request));
        (void)leases_look(client, 1);
        client_close(a);
        client_close(client);
        (void)snprintf(locks, sizeof locks, "%s/locks",
                       conformance_file_root());
        assert_int_equal(rmdir(locks), 0);
        (void)snprintf(locks, sizeof locks, "cd %s && rm -r *",
                       conformance_file_root());
        assert_int_equal(system(locks), 0);
    }
}

/* Somebody removes all locks while a session has the directories open. */
FILE_TEST(locks_that_are_made_anew_are_watched)
{
    OPEN_CLIENT(b, &conformance_file);
    struct client_request *request = look_until_armed(b, 0);
    char locks[CONFORMANCE_FILE_PATH_BYTES];
    struct engine_client *a;

    (void)snprintf(locks, sizeof locks, "%s/locks", conformance_file_root());
    assert_int_equal(rmdir(locks), 0);
    assert_true(client_wait_gone(b, request));
    request = look_until_armed(b, 0);
    a = client_open(&conformance_file); /* makes it */
    assert_true(client_wait_gone(b, request));
    request = look_until_armed(b, 0);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
    client_close(a);
}

/* It may be made with a mode that is refused. */
FILE_TEST(a_root_that_others_may_write_to_is_refused)
{
    struct conformance_fixture list_only = conformance_file;
    struct client_request *request;
    char locks[CONFORMANCE_FILE_PATH_BYTES];
    struct engine_client *client;

    list_only.open = open_list_only;
    client = client_open(&list_only);
    (void)snprintf(locks, sizeof locks, "%s/locks", conformance_file_root());
    assert_int_equal(mkdir(locks, 0700), 0);
    assert_int_equal(chmod(locks, 0777), 0);
    request = client_ask(client, HF_REQUEST_WATCH_QUEUE, LEASES, fresh_id());
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->status, HF_EDENIED);
    client_close(client);
}

/* ------------------------------------------------------ without inotify -- */

static int no_inotify(const char *request)
{
    (void)count_calls(request);
    return strcmp(request, "inotify_init") == 0 ? EMFILE : 0;
}

static int no_inotify_watch(const char *request)
{
    (void)count_calls(request);
    return strcmp(request, "inotify_add") == 0 ? ENOSPC : 0;
}

static int no_timer_either(const char *request)
{
    (void)count_calls(request);
    return strcmp(request, "inotify_init") == 0 ||
                   strcmp(request, "timerfd_create") == 0
               ? EMFILE
               : 0;
}

/* Watch the leases without inotify; what comes is noticed all the same, after
 * ${call}. */
static void look_without(struct engine_client *a, struct engine_client *b,
                         size_t expected, const char *call,
                         int (*hook)(const char *request))
{
    struct client_request *request = look(b, expected);

    begin_counting(call, hook);
    wait_until_counted();
    assert_non_null(strstr(conformance_file_log(), "inotify"));
    begin_counting("open", count_calls); /* it is looked at, and is the same */
    wait_until_counted();
    leases_expect_nothing(b, request);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
}

/* The timer takes its place. */
FILE_TEST(arrivals_are_noticed_without_inotify)
{
    static int (*const hooks[])(const char *request) = {no_inotify,
                                                        no_inotify_watch};

    for (size_t i = 0; i < 2; i++) {
        struct engine_client *a = client_open(&conformance_file);
        struct engine_client *b = client_open(&conformance_file);

        look_without(a, b, 0, "timerfd_create", hooks[i]);
        look_without(a, b, 1, "open", hooks[i]);
        client_close(b);
        client_close(a);
    }
}

/* Without a descriptor for the timer there is another attempt. */
FILE_TEST(a_watch_that_finds_no_room_tries_again)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);

    look_without(a, b, 0, "timerfd_create", no_timer_either);
}

/* ------------------------------------------------------- enough is there -- */

/* A host that waits for room for permits, and does not take its watch back. */
struct permits_host {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_request look;
    unsigned listed;
    unsigned changed;
};

static void on_event(void *arg, struct hf_event *event)
{
    struct permits_host *host = arg;

    host->listed += event->kind == HF_EVENT_LISTED;
    host->changed += event->kind == HF_EVENT_QUEUE_CHANGED;
}

static void permits_open(struct permits_host *host, uint32_t weight)
{
    *host = (struct permits_host){.look = {.kind = HF_REQUEST_WATCH_QUEUE,
                                           .queue = LEASES,
                                           .weight = weight,
                                           .limit = 3}};
    host->host = (struct hf_engine_host){.event = on_event, .host = host};
    host->engine = conformance_file.open(&conformance_file, &host->host);
}

static void permits_look(struct permits_host *host)
{
    hf_engine_file.request(host->engine, &host->look);
    assert_int_equal(host->listed, 1);
}

static void permits_end(struct permits_host *host)
{
    struct hf_request end = {.kind = HF_REQUEST_END};

    hf_engine_file.request(host->engine, &end);
    hf_engine_file.free(host->engine);
}

static int count_all(const char *request)
{
    (void)request;
    count++;
    return 0;
}

/* The way to a free permit has no more than the list, which is one call where
 * there is no directory. */
FILE_TEST(room_in_an_empty_queue_costs_one_call)
{
    struct permits_host room;

    permits_open(&room, 3);
    begin_counting("open", count_all);
    permits_look(&room);
    hf_engine_file.unwatch(room.engine, &room.look);
    hf_file_sys_hook = NULL;
    assert_int_equal(count, 1);
    permits_end(&room);
}

/* A list that leaves room for them is all that is wanted of the watch. */
FILE_TEST(what_leaves_room_is_not_watched)
{
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    struct permits_host room, none;
    struct client_request *request;

    (void)leases_take(a, 2);
    permits_open(&room, 1);
    permits_open(&none, 2);
    permits_look(&room);
    permits_look(&none);
    request = look_until_armed(b, 1);
    (void)leases_take(a, 1);
    assert_true(client_wait_gone(b, request));
    client_drain(b);
    assert_int_equal(room.changed, 0);
    assert_int_equal(none.changed, 1);
    permits_end(&none);
    permits_end(&room);
}
