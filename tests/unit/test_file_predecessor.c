/* SPDX-License-Identifier: Apache-2.0 */
/* Who is ahead of a ticket, known without reading the directory. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "engines/file/file_names.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"
#include "file_story.h"

static unsigned readings;

static int count_readings(const char *call)
{
    readings += strcmp(call, "getdents") == 0;
    return 0;
}

/* One who stands in the queue "q". */
struct one {
    struct seat *seat;
    struct hf_ticket ticket;
};

static struct one come(enum hf_ticket_kind kind)
{
    struct one one = {.seat = seat_open(&bench_file)};
    struct hf_ticket_id id = fresh_id();
    struct call *call = seat_enqueue(one.seat, "q", id, kind, "");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    one.ticket = *call_find(call, id);
    return one;
}

static void leave(const struct one *one)
{
    assert_true(
        seat_ask(one->seat, HF_REQUEST_REMOVE, "q", one->ticket.id)->found);
}

static struct call *list(const struct one *one)
{
    struct call *call;

    readings = 0;
    hf_sys_hook = count_readings;
    call = seat_ask(one->seat, HF_REQUEST_LIST, "q", one->ticket.id);
    hf_sys_hook = NULL;
    assert_int_equal(call->answer, HF_EVENT_LISTED);
    return call;
}

static void assert_next(const struct one *one)
{
    struct call *call = list(one);

    assert_int_equal(call->count, 1);
    assert_int_equal(call->more, 0);
    assert_non_null(call_find(call, one->ticket.id));
}

static void assert_next_unread(const struct one *one)
{
    assert_next(one);
    assert_int_equal(readings, 0);
}

static void assert_behind(const struct one *one, const struct one *other)
{
    struct call *call = list(one);

    assert_int_not_equal(readings, 0);
    assert_int_equal(call->count, 2);
    assert_non_null(call_find(call, one->ticket.id));
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &other->ticket.id));
}

static void close_all(const struct one *ones, size_t count)
{
    for (size_t i = count; i-- > 0;)
        seat_close(ones[i].seat);
}

static void path_of(const struct one *one, char path[BENCH_FILE_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];
    char dir[BENCH_FILE_PATH_BYTES];

    bench_file_path("q", dir);
    hf_ticket_file_format(&one->ticket, file);
    assert_true(snprintf(path, BENCH_FILE_PATH_BYTES, "%s/%s", dir, file) <
                BENCH_FILE_PATH_BYTES);
}

/* The page that all processes share. */
static struct hf_token_counter_page *map_page(void)
{
    char path[BENCH_FILE_PATH_BYTES];
    void *page;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/counter", bench_file_root());
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    page = mmap(NULL, HF_TOKEN_COUNTER_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    (void)close(fd);
    return page;
}

/* ---------------------------------------------------------------- unread -- */

static void one_behind_the_other(void **state)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_MUTEX, HF_TICKET_ELECTION, HF_TICKET_WRITE};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct one ones[4];

        for (size_t i = 0; i < 4; i++)
            ones[i] = come(kinds[k]);
        for (size_t i = 1; i < 4; i++) {
            leave(&ones[i - 1]);
            assert_next_unread(&ones[i]);
        }
        close_all(ones, 4);
    }
}

static void a_writer_behind_readers(void **state)
{
    struct one ones[3] = {come(HF_TICKET_READ), come(HF_TICKET_READ),
                          come(HF_TICKET_WRITE)};

    (void)state;
    leave(&ones[0]);
    assert_behind(&ones[2], &ones[1]); /* which has not told that it is first */
    leave(&ones[1]);
    assert_next_unread(&ones[2]);
    close_all(ones, 3);
}

/* ------------------------------------------------------------------ read -- */

static void the_one_before_died_waiting(void **state)
{
    struct one ones[3] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX),
                          come(HF_TICKET_MUTEX)};

    (void)state;
    leave(&ones[1]);
    assert_behind(&ones[2], &ones[0]);
    leave(&ones[0]);
    assert_next_unread(&ones[2]);
    close_all(ones, 3);
}

static void the_one_before_is_there(void **state)
{
    struct one ones[2] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX)};

    (void)state;
    assert_behind(&ones[1], &ones[0]);
    close_all(ones, 2);
}

static void a_reader_has_taken_its_writers_place(void **state)
{
    struct one ones[2] = {come(HF_TICKET_WRITE), come(HF_TICKET_WRITE)};

    (void)state;
    assert_int_equal(
        seat_ask(ones[0].seat, HF_REQUEST_DOWNGRADE, "q", ones[0].ticket.id)
            ->answer,
        HF_EVENT_DOWNGRADED);
    assert_behind(&ones[1], &ones[0]);
    leave(&ones[0]);
    assert_next_unread(&ones[1]);
    close_all(ones, 2);
}

static void ones_own_was_taken_out(void **state)
{
    struct one ones[2] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX)};
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    leave(&ones[0]);
    path_of(&ones[1], path);
    assert_int_equal(unlink(path), 0);
    assert_null(call_find(list(&ones[1]), ones[1].ticket.id));
    close_all(ones, 2);
}

static void the_directory_is_another(void **state)
{
    struct one ones[2] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX)};
    char path[BENCH_FILE_PATH_BYTES];
    char aside[BENCH_FILE_PATH_BYTES + 8];

    (void)state;
    bench_file_path("q", path);
    (void)snprintf(aside, sizeof(aside), "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(call_find(list(&ones[1]), ones[1].ticket.id));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(aside, path), 0);
    close_all(ones, 2);
}

static void another_number_is_in_its_place(void **state)
{
    static const uint64_t others[] = {0, HF_TOKEN_COUNTER_HEADS, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct hf_token_counter_page *page;
        struct one ones[2] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX)};
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

static void the_counter_is_another(void **state)
{
    struct one ones[2] = {come(HF_TICKET_MUTEX), come(HF_TICKET_MUTEX)};
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/counter", bench_file_root());
    assert_int_equal(unlink(path), 0);
    leave(&ones[0]);
    assert_next(&ones[1]);
    assert_int_not_equal(readings, 0);
    close_all(ones, 2);
}

static void what_an_earlier_boot_left_is_forgotten(void **state)
{
    struct hf_token_counter_page *page;
    struct one one = come(HF_TICKET_MUTEX);
    uint64_t number = one.ticket.sequence;

    (void)state;
    seat_close(one.seat);
    page = map_page();
    page->boot[0] ^= 1;
    seat_close(seat_open(&bench_file));
    assert_int_equal(atomic_load(&page->heads[number % HF_TOKEN_COUNTER_HEADS]),
                     0);
    (void)munmap(page, HF_TOKEN_COUNTER_BYTES);
}

/* ------------------------------------------------------------ payloads -- */

static unsigned payloads;

static int count_payloads(const char *call)
{
    payloads += strcmp(call, "readlinkat") == 0;
    return 0;
}

static void only_the_first_payload_is_read(void **state)
{
    enum { CROWD = 20 };
    struct seat *seat = seat_open(&bench_file);
    struct call *call = NULL;

    (void)state;
    hf_sys_hook = count_payloads;
    for (int i = 0; i < CROWD; i++) {
        payloads = 0;
        call = seat_enqueue(seat, "q", fresh_id(), HF_TICKET_MUTEX, "me");
        assert_int_equal(payloads, i > 0);
    }
    hf_sys_hook = NULL;
    assert_string_equal(call->tickets[0].payload, "me");
    assert_true(call->count <= 5);
    assert_int_equal(call->count + call->more, CROWD);
    seat_close(seat);
}

/* ------------------------------------------------- one's own, meanwhile -- */

static unsigned armed;

static int count_armed(const char *call)
{
    armed += strcmp(call, "inotify_add") == 0;
    return 0;
}

static struct call *watch(struct seat *seat, const struct one *one)
{
    struct call *call = seat_ask(seat, HF_REQUEST_WATCH, "q", one->ticket.id);

    assert_int_equal(call->answer, HF_EVENT_WATCHING);
    return call;
}

static struct one come_too(struct seat *seat)
{
    struct one one = {.seat = seat};
    struct hf_ticket_id id = fresh_id();
    struct call *call = seat_enqueue(seat, "q", id, HF_TICKET_MUTEX, "");

    one.ticket = *call_find(call, id);
    return one;
}

/* Of a crowd in one session the first alone takes room of inotify's, and that
 * when it has been first for a while. */
static void a_session_watches_the_first_of_its_own(void **state)
{
    struct one head = come(HF_TICKET_MUTEX);
    struct one first = come(HF_TICKET_MUTEX);
    struct one second = come_too(first.seat);
    struct call *gone, *own, *own_second;
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    armed = 0;
    hf_sys_hook = count_armed;
    gone = watch(first.seat, &head);
    own = watch(first.seat, &first);
    (void)watch(first.seat, &first); /* for the second */
    own_second = watch(first.seat, &second);
    assert_int_equal(armed, 0);
    leave(&head);
    assert_true(seat_sees_gone(first.seat, gone));
    assert_int_equal(armed, 0);
    path_of(&second, path);
    assert_int_equal(unlink(path), 0);
    path_of(&first, path);
    assert_int_equal(unlink(path), 0);
    assert_true(seat_sees_gone(first.seat, own));
    assert_int_not_equal(armed, 0);
    assert_true(seat_sees_gone(first.seat, own_second));
    hf_sys_hook = NULL;
    seat_close(first.seat);
    seat_close(head.seat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_behind_the_other),
        TEST(a_writer_behind_readers),
        TEST(the_one_before_died_waiting),
        TEST(the_one_before_is_there),
        TEST(a_reader_has_taken_its_writers_place),
        TEST(ones_own_was_taken_out),
        TEST(the_directory_is_another),
        TEST(another_number_is_in_its_place),
        TEST(the_counter_is_another),
        TEST(what_an_earlier_boot_left_is_forgotten),
        TEST(only_the_first_payload_is_read),
        TEST(a_session_watches_the_first_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
