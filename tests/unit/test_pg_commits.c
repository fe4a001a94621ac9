/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an answer of a PostgreSQL server is final: libpq and the store read
 * what a server would send, byte by byte.  A letter is a message:
 *
 *     C  what the statement returned, up to CommandComplete
 *     Z  ReadyForQuery
 *     E  an error           W  a warning        w  a harmless one
 *     A  a notification     X  the end of the connection
 */
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engines/postgres/pg_private.h"

#define BACKEND 7
#define MESSAGE_BYTES 2048

static struct hf_engine engine;
static struct hf_store store;
static struct hf_store_call calls[2];
static char events[256];

/* ------------------------------------------------- in place of the machine */

static void add_server_message(const char *word)
{
    size_t used = strlen(events);

    (void)snprintf(events + used, sizeof events - used, "%s%s",
                   used > 0 ? " " : "", word);
}

void __wrap_hf_leased_answered(struct hf_leased *leased,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms);
void __wrap_hf_leased_answered(struct hf_leased *leased,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms)
{
    static const char *const failures[] = {"RETRY", "UNSURE", "FATAL"};
    char word[16];

    (void)leased;
    (void)now_ms;
    (void)snprintf(word, sizeof word, "%d:%s", (int)(call - calls),
                   answer->ok ? "OK" : failures[answer->failure]);
    add_server_message(word);
}

void __wrap_hf_leased_down(struct hf_leased *leased, hf_status status,
                           const char *why, uint64_t now_ms);
void __wrap_hf_leased_down(struct hf_leased *leased, hf_status status,
                           const char *why, uint64_t now_ms)
{
    (void)leased;
    (void)now_ms;
    assert_true(why[0] != '\0');
    add_server_message(status == HF_EPROTOCOL ? "NONSENSE" : "DOWN");
}

static void on_down(struct hf_store *ended, hf_status status, const char *why)
{
    (void)ended;
    __wrap_hf_leased_down(NULL, status, why, 0);
}

void __wrap_hf_leased_notice(struct hf_leased *leased,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms);
void __wrap_hf_leased_notice(struct hf_leased *leased,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms)
{
    (void)leased;
    (void)notice;
    (void)now_ms;
    add_server_message("NOTICE");
}

static uint64_t now_ms(void *host)
{
    (void)host;
    return 1;
}

/* -------------------------------------------------------------- messages -- */

struct pg_message {
    char bytes[MESSAGE_BYTES];
    size_t count;
};

static void add(struct pg_message *to, const void *bytes, size_t count)
{
    assert_true(to->count + count <= sizeof to->bytes);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void add_two(struct pg_message *to, uint16_t number)
{
    number = htobe16(number);
    add(to, &number, sizeof number);
}

static void add_four(struct pg_message *to, uint32_t number)
{
    number = htobe32(number);
    add(to, &number, sizeof number);
}

/* One message, with its header. */
static void add_message(struct pg_message *to, char kind,
                        const struct pg_message *body)
{
    add(to, &kind, 1);
    add_four(to, (uint32_t)body->count + 4);
    add(to, body->bytes, body->count);
}

enum { COLUMNS = 14 };

static void add_columns(struct pg_message *to)
{
    static const uint32_t types[COLUMNS] = {23, 20, 23, 16, 17, 2950, 20,
                                            23, 23, 17, 20, 23, 20,   23};
    struct pg_message body = {.count = 0};

    add_two(&body, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        add(&body, "c", 2);
        add_four(&body, 0);
        add_two(&body, 0);
        add_four(&body, types[i]);
        add_two(&body, 0);
        add_four(&body, UINT32_MAX);
        add_two(&body, 1);
    }
    add_message(to, 'T', &body);
}

/* The begin of an answer only. */
static void add_head(struct pg_message *to)
{
    struct pg_message body = {.count = 0};

    add_two(&body, COLUMNS);
    add_four(&body, 4);
    add_four(&body, 0);
    add_four(&body, 8);
    add_four(&body, 0);
    add_four(&body, 1000);
    add_four(&body, 4);
    add_four(&body, BACKEND);
    for (size_t i = 3; i < COLUMNS; i++)
        add_four(&body, UINT32_MAX);
    add_message(to, 'D', &body);
}

static void add_rows(struct pg_message *to)
{
    const struct pg_message nothing = {.count = 0};
    struct pg_message tag = {.count = 0};

    add(&tag, "SELECT 1", 9);
    add_message(to, '2', &nothing);
    add_columns(to);
    add_head(to);
    add_message(to, 'C', &tag);
}

static void add_message_text(struct pg_message *to, char kind,
                             const char *severity, const char *state,
                             const char *file)
{
    struct pg_message body = {.count = 0};

    add(&body, "V", 1);
    add(&body, severity, strlen(severity) + 1);
    add(&body, "C", 1);
    add(&body, state, strlen(state) + 1);
    add(&body, "Mtext", 6);
    add(&body, "F", 1);
    add(&body, file, strlen(file) + 1);
    add(&body, "", 1);
    add_message(to, kind, &body);
}

static void add_notification(struct pg_message *to)
{
    struct pg_message body = {.count = 0};

    add_four(&body, BACKEND);
    add(&body, "channel", 8);
    add(&body, "changed 61", 11);
    add_message(to, 'A', &body);
}

static void add_letter(struct pg_message *to, char letter)
{
    struct pg_message body = {.bytes = "I", .count = 1};

    switch (letter) {
    case 'C':
        add_rows(to);
        break;
    case 'Z':
        add_message(to, 'Z', &body);
        break;
    case 'E':
        add_message_text(to, 'E', "ERROR", "53100", "trigger.c");
        break;
    case 'W':
        add_message_text(to, 'N', "WARNING", "01000", "syncrep.c");
        break;
    case 'w':
        add_message_text(to, 'N', "WARNING", "01000", "varsup.c");
        break;
    case 'A':
        add_notification(to);
        break;
    default:
        fail_msg("no message is called %c", letter);
    }
}

/* ------------------------------------------------------------ connection -- */

static char directory[] = "/tmp/holdfast-commits-XXXXXX";
static int listener = -1;
static int server = -1;

static int begin_all(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(address.sun_path, sizeof address.sun_path,
                   "%s/.s.PGSQL.5432", directory);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    return 0;
}

static int end_all(void **state)
{
    char path[sizeof directory + 32];

    (void)state;
    (void)close(listener);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.5432", directory);
    (void)unlink(path);
    return rmdir(directory);
}

static void put(const struct pg_message *message, size_t from, size_t count)
{
    assert_int_equal(send(server, message->bytes + from, count, MSG_NOSIGNAL),
                     count);
}

/* The messages of a connect without a password. */
static void connect_step(void)
{
    struct pg_message hello = {.count = 0};
    struct pg_message body = {.count = 0};
    char startup[512];

    server = accept(listener, NULL, NULL);
    assert_true(server >= 0);
    assert_true(recv(server, startup, sizeof startup, 0) > 0);
    add_four(&body, 0);
    add_message(&hello, 'R', &body);
    add_letter(&hello, 'Z');
    put(&hello, 0, hello.count);
}

static PGconn *connect_to_server(void)
{
    static const char *const keys[] = {"host",   "port",       "user",
                                       "dbname", "gssencmode", NULL};
    const char *const values[] = {directory, "5432",    "me",
                                  "db",      "disable", NULL};
    PGconn *conn = PQconnectStartParams(keys, values, 0);

    assert_non_null(conn);
    for (int i = 0; i < 10 && PQconnectPoll(conn) == PGRES_POLLING_WRITING; i++)
        ;
    connect_step();
    for (int i = 0; i < 10 && PQconnectPoll(conn) == PGRES_POLLING_READING; i++)
        ;
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    assert_int_equal(PQenterPipelineMode(conn), 1);
    return conn;
}

static int begin(void **state)
{
    (void)state;
    events[0] = '\0';
    memset(&store, 0, sizeof store);
    engine.host.now_ms = now_ms;
    store.engine = &engine;
    store.on_down = on_down;
    store.backend = BACKEND;
    store.conn = connect_to_server();
    store.state = HF_PG_UP;
    hf_pg_set_message_receiver(&store);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (store.conn != NULL)
        hf_pg_disconnect(&store);
    if (server >= 0)
        (void)close(server);
    server = -1;
    return 0;
}

/* Two calls of one kind, one behind the other. */
static void call(enum hf_store_call_kind kind)
{
    for (size_t i = 0; i < 2; i++) {
        calls[i] = (struct hf_store_call){
            .kind = kind, .session = "0", .queue = "q", .payload = ""};
        assert_true(hf_pg_call_send(&store, &calls[i]));
    }
    calls[0].store_data = &calls[1];
    store.first = &calls[0];
    store.last = &calls[1];
    assert_int_equal(PQflush(store.conn), 0);
}

/* The server sends ${letters}, ${step} bytes at a time; what the store
 * reports must be ${expected}. */
static void sends(const char *letters, size_t step, const char *expected)
{
    struct pg_message message = {.count = 0};

    for (; *letters != '\0' && *letters != 'X'; letters++)
        add_letter(&message, *letters);
    for (size_t at = 0; at < message.count && store.conn != NULL; at += step) {
        put(&message, at,
            message.count - at < step ? message.count - at : step);
        hf_pg_calls_read(&store);
    }
    if (*letters == 'X') {
        (void)shutdown(server, SHUT_RDWR);
        hf_pg_calls_read(&store);
        if (store.conn != NULL)
            hf_pg_calls_read(&store);
    }
    assert_string_equal(events, expected);
    events[0] = '\0';
}

static void one_by_one_and_at_once(enum hf_store_call_kind kind,
                                   const char *letters, const char *expected)
{
    static const size_t steps[] = {1, 7, MESSAGE_BYTES};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        call(kind);
        sends(letters, steps[i], expected);
        (void)end(NULL);
        (void)begin(NULL);
    }
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, end)

/* ----------------------------------------------------------------- tests -- */

FIXTURE_TEST(nothing_is_answered_before_it_is_committed)
{
    call(HF_STORE_ENQUEUE);
    sends("C", 1, "");
    sends("Z", 1, "0:OK");
    sends("C", MESSAGE_BYTES, "");
    sends("Z", MESSAGE_BYTES, "1:OK");
}

FIXTURE_TEST(a_commit_that_fails_is_unsure)
{
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CEZCZ", "0:UNSURE 1:OK");
    one_by_one_and_at_once(HF_STORE_RENEW, "CEZCZ", "0:UNSURE 1:OK");
    one_by_one_and_at_once(HF_STORE_EXISTS, "CZCEZ", "0:OK 1:RETRY");
}

/* A statement that fails has no effect. */
FIXTURE_TEST(what_fails_before_may_be_tried_again)
{
    call(HF_STORE_ENQUEUE);
    sends("E", 1, "");
    sends("ZCZ", 1, "0:RETRY 1:OK");
}

FIXTURE_TEST(an_end_before_the_commit_reports_nothing)
{
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CX", "DOWN");
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CWX", "DOWN");
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CZCX", "0:OK DOWN");
}

FIXTURE_TEST(a_warning_takes_the_commit_back)
{
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CWZCZ", "0:UNSURE 1:OK");
    one_by_one_and_at_once(HF_STORE_RENEW, "CZCWZ", "0:OK 1:UNSURE");
    one_by_one_and_at_once(HF_STORE_EXISTS, "CWZCZ", "0:RETRY 1:OK");
}

FIXTURE_TEST(a_warning_that_comes_with_every_call_does_not)
{
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CwZCwZ", "0:OK 1:OK");
}

/* Another transaction was committed, or this one. */
FIXTURE_TEST(a_notification_in_between_is_passed_on)
{
    call(HF_STORE_ENQUEUE);
    sends("CA", 1, "NOTICE");
    sends("ZCZ", 1, "0:OK 1:OK");
}

/* The notice may name the first ticket, and the poll only says that the one
 * ahead is gone. */
FIXTURE_TEST(a_poll_is_answered_behind_the_notices_before_it)
{
    call(HF_STORE_EXISTS);
    sends("CAZCZ", MESSAGE_BYTES, "NOTICE 0:OK 1:OK");
}

/* The answer begins the watch that the notice ends. */
FIXTURE_TEST(an_enqueue_is_answered_before_its_notices)
{
    call(HF_STORE_ENQUEUE);
    sends("CAZCZ", MESSAGE_BYTES, "0:OK 1:OK NOTICE");
}

FIXTURE_TEST(a_server_that_cannot_count_is_left)
{
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "Z", "NONSENSE");
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CC", "NONSENSE");
    one_by_one_and_at_once(HF_STORE_ENQUEUE, "CZCZE", "0:OK 1:OK");
}

TEST_FILE(pg_commits)
{
    return RUN_TESTS(begin_all, end_all);
}
