/* SPDX-License-Identifier: Apache-2.0 */
/* The ticket ahead is known without reading the directory. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"
#include "file_fixture.h"

static unsigned readings;

static int count_readings(const char *request)
{
    readings += strcmp(request, "getdents") == 0;
    return 0;
}

/* A client with a ticket in the queue "q". */
struct queued_ticket {
    struct engine_client *client;
    struct hf_ticket ticket;
};

static struct queued_ticket enqueue(enum hf_ticket_kind kind)
{
    struct queued_ticket one = {.client = client_open(&conformance_file)};
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(one.client, "q", id, kind, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    one.ticket = *client_request_find(request, id);
    return one;
}

static void leave(const struct queued_ticket *one)
{
    assert_true(
        client_ask(one->client, HF_REQUEST_REMOVE, "q", one->ticket.id)->found);
}

static struct client_request *list(const struct queued_ticket *one)
{
    struct client_request *request;

    readings = 0;
    hf_file_sys_hook = count_readings;
    request = client_ask(one->client, HF_REQUEST_LIST, "q", one->ticket.id);
    hf_file_sys_hook = NULL;
    assert_int_equal(request->answer, HF_EVENT_LISTED);
    return request;
}

static void assert_next(const struct queued_ticket *one)
{
    struct client_request *request = list(one);

    assert_int_equal(request->count, 1);
    assert_int_equal(request->more, 0);
    assert_non_null(client_request_find(request, one->ticket.id));
}

static void assert_next_unread(const struct queued_ticket *one)
{
    assert_next(one);
    assert_int_equal(readings, 0);
}

static void assert_behind(const struct queued_ticket *one,
                          const struct queued_ticket *other)
{
    struct client_request *request = list(one);

    assert_int_not_equal(readings, 0);
    assert_int_equal(request->count, 2);
    assert_non_null(client_request_find(request, one->ticket.id));
    assert_true(hf_ticket_id_equal(&request->tickets[0].id, &other->ticket.id));
}

static void close_all(const struct queued_ticket *ones, size_t count)
{
    for (size_t i = count; i-- > 0;)
        client_close(ones[i].client);
}

static void path_of(const struct queued_ticket *one,
                    char path[CONFORMANCE_FILE_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];
    char dir[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path("q", dir);
    hf_file_name_format(&one->ticket, file);
    assert_true(snprintf(path, CONFORMANCE_FILE_PATH_BYTES, "%s/%s", dir,
                         file) < CONFORMANCE_FILE_PATH_BYTES);
}

/* The page of the counter, which all processes map. */
static struct hf_file_token_counter_page *map_page(void)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];
    void *page;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/counter", conformance_file_root());
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    page = mmap(NULL, HF_TOKEN_COUNTER_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    (void)close(fd);
    return page;
}

/* ---------------------------------------------------------------- unread -- */

FILE_TEST(one_behind_the_other)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_MUTEX, HF_TICKET_ELECTION, HF_TICKET_WRITE};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct queued_ticket ones[4];

        for (size_t i = 0; i < 4; i++)
            ones[i] = enqueue(kinds[k]);
        for (size_t i = 1; i < 4; i++) {
            leave(&ones[i - 1]);
            assert_next_unread(&ones[i]);
        }
        close_all(ones, 4);
    }
}

FILE_TEST(a_writer_behind_readers)
{
    struct queued_ticket ones[3] = {enqueue(HF_TICKET_READ),
                                    enqueue(HF_TICKET_READ),
                                    enqueue(HF_TICKET_WRITE)};

    leave(&ones[0]);
    assert_behind(&ones[2],
                  &ones[1]); /* which has not reported that it is first */
    leave(&ones[1]);
    assert_next_unread(&ones[2]);
    close_all(ones, 3);
}

/* ------------------------------------------------------------------ read -- */

FILE_TEST(the_one_before_died_waiting)
{
    struct queued_ticket ones[3] = {enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX)};

    leave(&ones[1]);
    assert_behind(&ones[2], &ones[0]);
    leave(&ones[0]);
    assert_next_unread(&ones[2]);
    close_all(ones, 3);
}

FILE_TEST(the_one_before_is_there)
{
    struct queued_ticket ones[2] = {enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX)};

    assert_behind(&ones[1], &ones[0]);
    close_all(ones, 2);
}

FILE_TEST(a_reader_has_taken_its_writers_place)
{
    struct queued_ticket ones[2] = {enqueue(HF_TICKET_WRITE),
                                    enqueue(HF_TICKET_WRITE)};

    assert_int_equal(
        client_ask(ones[0].client, HF_REQUEST_DOWNGRADE, "q", ones[0].ticket.id)
            ->answer,
        HF_EVENT_DOWNGRADED);
    assert_behind(&ones[1], &ones[0]);
    leave(&ones[0]);
    assert_next_unread(&ones[1]);
    close_all(ones, 2);
}

FILE_TEST(ones_own_was_taken_out)
{
    struct queued_ticket ones[2] = {enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX)};
    char path[CONFORMANCE_FILE_PATH_BYTES];

    leave(&ones[0]);
    path_of(&ones[1], path);
    assert_int_equal(unlink(path), 0);
    assert_null(client_request_find(list(&ones[1]), ones[1].ticket.id));
    close_all(ones, 2);
}

FILE_TEST(the_directory_is_another)
{
    struct queued_ticket ones[2] = {enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX)};
    char path[CONFORMANCE_FILE_PATH_BYTES];
    char aside[CONFORMANCE_FILE_PATH_BYTES + 8];

    conformance_file_path("q", path);
    (void)snprintf(aside, sizeof(aside), "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(client_request_find(list(&ones[1]), ones[1].ticket.id));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(aside, path), 0);
    close_all(ones, 2);
}

FILE_TEST(another_number_is_in_its_place)
{
    static const uint64_t others[] = {0, HF_TOKEN_COUNTER_HEADS, UINT64_MAX};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct hf_file_token_counter_page *page;
        struct queued_ticket ones[2] = {enqueue(HF_TICKET_MUTEX),
                                        enqueue(HF_TICKET_MUTEX)};
        uint64_t number = ones[0].ticket.sequence;

        page = map_page();
        assert_int_equal(
            atomic_load(&page->heads[number % HF_TOKEN_COUNTER_HEADS]), number);
        atomic_store(&page->heads[number % HF_TOKEN_COUNTER_HEADS],
                     others[i] == UINT64_MAX ? number - HF_TOKEN_COUNTER_HEADS
                                             : others[i]);
        (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
        leave(&ones[0]);
        assert_next(&ones[1]);
        assert_int_not_equal(readings, 0);
        close_all(ones, 2);
    }
}

FILE_TEST(the_counter_is_another)
{
    struct queued_ticket ones[2] = {enqueue(HF_TICKET_MUTEX),
                                    enqueue(HF_TICKET_MUTEX)};
    char path[CONFORMANCE_FILE_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/counter", conformance_file_root());
    assert_int_equal(unlink(path), 0);
    leave(&ones[0]);
    assert_next(&ones[1]);
    assert_int_not_equal(readings, 0);
    close_all(ones, 2);
}

FILE_TEST(what_an_earlier_boot_left_is_forgotten)
{
    struct hf_file_token_counter_page *page;
    struct queued_ticket one = enqueue(HF_TICKET_MUTEX);
    uint64_t number = one.ticket.sequence;

    client_close(one.client);
    page = map_page();
    page->boot[0] ^= 1;
    client_close(client_open(&conformance_file));
    assert_int_equal(atomic_load(&page->heads[number % HF_TOKEN_COUNTER_HEADS]),
                     0);
    (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
}

/* ------------------------------------------------------------ payloads -- */

static unsigned payloads;

static int count_payloads(const char *request)
{
    payloads += strcmp(request, "readlinkat") == 0;
    return 0;
}

FILE_TEST(only_the_first_payload_is_read)
{
    enum { MANY = 20 };
    OPEN_CLIENT(client, &conformance_file);
    struct client_request *request = NULL;

    hf_file_sys_hook = count_payloads;
    for (int i = 0; i < MANY; i++) {
        payloads = 0;
        request =
            client_enqueue(client, "q", fresh_id(), HF_TICKET_MUTEX, "me");
        assert_int_equal(payloads, i > 0);
    }
    hf_file_sys_hook = NULL;
    assert_string_equal(request->tickets[0].payload, "me");
    assert_true(request->count <= 5);
    assert_int_equal(request->count + request->more, MANY);
}

/* ------------------------------------------------- one's own, meanwhile -- */

static unsigned armed;

static int count_armed(const char *request)
{
    armed += strcmp(request, "inotify_add") == 0;
    return 0;
}

static struct client_request *watch(struct engine_client *client,
                                    const struct queued_ticket *one)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_WATCH, "q", one->ticket.id);

    assert_int_equal(request->answer, HF_EVENT_WATCHING);
    return request;
}

static struct queued_ticket enqueue_with(struct engine_client *client)
{
    struct queued_ticket one = {.client = client};
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");

    one.ticket = *client_request_find(request, id);
    return one;
}

/* Of many tickets of one session only the first has an inotify watch, and
 * only once it has been first for a while. */
FILE_TEST(a_session_watches_the_first_of_its_own)
{
    struct queued_ticket head = enqueue(HF_TICKET_MUTEX);
    struct queued_ticket first = enqueue(HF_TICKET_MUTEX);
    struct queued_ticket second = enqueue_with(first.client);
    struct client_request *gone, *own, *own_second;
    char path[CONFORMANCE_FILE_PATH_BYTES];

    armed = 0;
    hf_file_sys_hook = count_armed;
    gone = watch(first.client, &head);
    own = watch(first.client, &first);
    (void)watch(first.client, &first); /* for the second */
    own_second = watch(first.client, &second);
    assert_int_equal(armed, 0);
    leave(&head);
    assert_true(client_wait_gone(first.client, gone));
    assert_int_equal(armed, 0);
    path_of(&second, path);
    assert_int_equal(unlink(path), 0);
    path_of(&first, path);
    assert_int_equal(unlink(path), 0);
    assert_true(client_wait_gone(first.client, own));
    assert_int_not_equal(armed, 0);
    assert_true(client_wait_gone(first.client, own_second));
    hf_file_sys_hook = NULL;
    client_close(first.client);
    client_close(head.client);
}
