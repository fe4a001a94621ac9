/* SPDX-License-Identifier: Apache-2.0 */
/* One connection (transport/connection.h), and every way in which it ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "link_fixture.h"
#include "transport/socket.h"

#define HERE "127.0.0.1"

static void connect_both(struct link_fixture *fixture,
                         struct fake_server *server)
{
    link_fixture_start(fixture);
    fake_server_listen(server, 8);
    assert_true(link_fixture_open(fixture, HERE, server->port));
    fake_server_accept(server);
    link_fixture_await_up(fixture);
}

static void stop_both(struct link_fixture *fixture, struct fake_server *server)
{
    link_fixture_stop(fixture);
    fake_server_stop(server);
}

TEST(bytes_go_both_ways)
{
    struct link_fixture fixture;
    struct fake_server server;
    char bytes[8];

    connect_both(&fixture, &server);
    link_fixture_send(&fixture, "hello", 5);
    fake_server_receive(&server, bytes, 5);
    assert_memory_equal(bytes, "hello", 5);
    fake_server_send(&server, "world", 5);
    link_fixture_await_bytes(&fixture, 5);
    assert_memory_equal(fixture.bytes, "world", 5);
    link_fixture_close(&fixture, HF_CONNECTION_FINISH);
    assert_int_equal(fake_server_await_end(&server), 0);
    stop_both(&fixture, &server);
}

TEST(nothing_is_taken_before_it_is_up)
{
    struct link_fixture fixture;
    struct fake_server server;
    size_t taken = 7;

    link_fixture_start(&fixture);
    fake_server_listen(&server, 8);
    assert_true(link_fixture_open(&fixture, HERE, server.port));
    assert_true(hf_connection_send(fixture.link, "early", 5, &taken));
    assert_int_equal(taken, 0);
    link_fixture_await_up(&fixture);
    assert_true(hf_connection_send(fixture.link, "", 0, &taken));
    assert_int_equal(taken, 0);
    stop_both(&fixture, &server);
}

TEST(a_refused_connection_says_so)
{
    struct link_fixture fixture;
    struct fake_server server;

    link_fixture_start(&fixture);
    fake_server_listen(&server, 1);
    fake_server_stop(&server); /* no server listens on its port now */
    assert_true(link_fixture_open(&fixture, HERE, server.port));
    link_fixture_await_down(&fixture);
    assert_false(fixture.up);
    assert_string_equal(fixture.why, "connection refused");
    assert_false(hf_connection_closed_by_peer(fixture.link));
    link_fixture_stop(&fixture);
}

TEST(an_address_that_cannot_be_reached_says_so)
{
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    /* Connecting to a multicast or broadcast address fails at once. */
    assert_false(link_fixture_open(&fixture, "255.255.255.255", 2181));
    assert_true(strlen(fixture.why) > 0);
    assert_null(fixture.link);
    link_fixture_stop(&fixture);
}

TEST(what_came_before_the_end_is_delivered)
{
    struct link_fixture fixture;
    struct fake_server server;

    connect_both(&fixture, &server);
    fake_server_send(&server, "last words", 10);
    fake_server_hang_up(&server);
    link_fixture_await_down(&fixture);
    assert_int_equal(fixture.received, 10);
    assert_memory_equal(fixture.bytes, "last words", 10);
    assert_string_equal(fixture.why, "closed by the server");
    assert_true(hf_connection_closed_by_peer(fixture.link));
    stop_both(&fixture, &server);
}

TEST(a_reset_says_so)
{
    struct link_fixture fixture;
    struct fake_server server;

    connect_both(&fixture, &server);
    fake_server_reset(&server);
    link_fixture_await_down(&fixture);
    assert_string_equal(fixture.why, "connection reset by peer");
    assert_true(hf_connection_closed_by_peer(fixture.link));
    stop_both(&fixture, &server);
}

/* SIGPIPE has its default action, which would end this process. */
TEST(writing_to_a_broken_connection_raises_nothing)
{
    struct link_fixture fixture;
    struct fake_server server;
    char bytes[4096] = {0};
    bool alive = true;
    size_t taken;

    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    connect_both(&fixture, &server);
    fake_server_reset(&server);
    /* The first write may find the reset, a later one does. */
    for (int i = 0; i < 100 && alive; i++)
        alive = hf_connection_send(fixture.link, bytes, sizeof(bytes), &taken);
    assert_false(alive);
    assert_true(strlen(hf_connection_why(fixture.link)) > 0);
    loop_turn(&fixture.loop);
    assert_false(fixture.down); /* reported once, by the call */
    stop_both(&fixture, &server);
}

TEST(abort_drops_what_is_under_way)
{
    struct link_fixture fixture;
    struct fake_server server;

    connect_both(&fixture, &server);
    link_fixture_send(&fixture, "late", 4);
    link_fixture_close(&fixture, HF_CONNECTION_ABORT);
    assert_int_equal(fake_server_await_end(&server), ECONNRESET);
    stop_both(&fixture, &server);
}

/* ------------------------------------------------------- partial writes -- */

#define MUCH (4 << 20)

static char pattern(size_t at)
{
    return (char)(at * 31 + at / 251);
}

TEST(more_than_there_is_room_for_waits)
{
    char *bytes = malloc(MUCH);
    char part[65536];
    struct link_fixture fixture;
    struct fake_server server;
    size_t sent = 0, got = 0, taken;

    assert_non_null(bytes);
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = pattern(i);
    connect_both(&fixture, &server);
    while (got < MUCH) {
        assert_true(hf_connection_send(fixture.link, bytes + sent, MUCH - sent,
                                       &taken));
        sent += taken;
        if (sent - got > 0) {
            size_t count =
                sent - got < sizeof(part) ? sent - got : sizeof(part);

            fake_server_receive(&server, part, count);
            assert_memory_equal(part, bytes + got, count);
            got += count;
        }
        loop_turn(&fixture.loop);
    }
    assert_true(fixture.writable); /* it was too much for once */
    assert_int_equal(sent, MUCH);
    stop_both(&fixture, &server);
    free(bytes);
}

TEST(while_there_is_no_room_nothing_spins)
{
    char *bytes = calloc(1, MUCH);
    struct link_fixture fixture;
    struct fake_server server;
    size_t taken = MUCH;

    assert_non_null(bytes);
    connect_both(&fixture, &server);
    while (taken > 0)
        assert_true(hf_connection_send(fixture.link, bytes, MUCH, &taken));
    for (int i = 0; i < 100; i++)
        loop_turn(&fixture.loop);
    assert_false(fixture.writable);
    /* Bytes can still be received. */
    fake_server_send(&server, "in", 2);
    link_fixture_await_bytes(&fixture, 2);
    stop_both(&fixture, &server);
    free(bytes);
}

/* ------------------------------------------------------------ black hole -- */

/* A listener whose queue is full, so that further connects hang. */
struct hole {
    struct fake_server server;
    int fillers[8];
};

static void dig(struct hole *hole)
{
    union hf_address here = {.in = {.sin_family = AF_INET}};

    here.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake_server_listen(&hole->server, 0);
    for (size_t i = 0; i < 8; i++)
        hole->fillers[i] = hf_socket_connect(&here, hole->server.port);
}

static void fill(struct hole *hole)
{
    for (size_t i = 0; i < 8; i++)
        close(hole->fillers[i]);
    fake_server_stop(&hole->server);
}

TEST(a_black_hole_can_be_left)
{
    struct link_fixture fixture;
    struct hole hole;

    dig(&hole);
    link_fixture_start(&fixture);
    assert_true(link_fixture_open(&fixture, HERE, hole.server.port));
    for (int i = 0; i < 100; i++)
        loop_turn(&fixture.loop);
    assert_int_equal(fixture.callbacks, 0);
    link_fixture_stop(&fixture);
    fill(&hole);
}

/* ----------------------------------------------------- from the callback -- */

static bool is_closed(void *arg)
{
    return ((const struct link_fixture *)arg)->link == NULL;
}

TEST(closing_from_inside_is_the_end)
{
    struct link_fixture fixture;
    struct fake_server server;

    for (int which = 0; which < 3; which++) {
        link_fixture_start(&fixture);
        fixture.close_when_up = which == 0;
        fixture.close_when_received = which == 1;
        fixture.close_when_down = which == 2;
        fake_server_listen(&server, 8);
        assert_true(link_fixture_open(&fixture, HERE, server.port));
        fake_server_accept(&server);
        fake_server_send(&server, "bytes", 5);
        if (which == 2)
            fake_server_hang_up(&server);
        loop_run_until(&fixture.loop, is_closed, &fixture);
        stop_both(&fixture, &server);
        assert_int_equal(fixture.down, which == 2);
    }
}

/* -------------------------------------------------- close at each stage -- */

/* Close the link after that many turns of the loop; true if it had ended by
 * itself before. */
static bool close_after(int turns)
{
    struct link_fixture fixture;
    struct fake_server server;
    bool complete;
    int i;

    link_fixture_start(&fixture);
    fake_server_listen(&server, 8);
    assert_true(link_fixture_open(&fixture, HERE, server.port));
    fake_server_accept(&server); /* the kernel's half is done without us */
    fake_server_send(&server, "bytes", 5);
    fake_server_hang_up(&server);
    for (i = 0; i < turns && !fixture.down; i++)
        (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
    complete = fixture.down;
    stop_both(&fixture, &server);
    return complete;
}

TEST(it_can_be_closed_at_each_stage)
{
    int fds = count_fds();
    int turns = 0;

    while (!close_after(turns)) {
        assert_true(turns < 100);
        turns++;
    }
    assert_true(turns > 1);
    assert_int_equal(count_fds(), fds);
}

/* ----------------------------------------------------------- descriptors -- */

TEST(its_socket_is_without_delay_and_closed_on_exec)
{
    struct link_fixture fixture;
    struct fake_server server;
    struct sockaddr_in zookeeper;
    socklen_t bytes = sizeof(zookeeper);
    int found = 0;

    connect_both(&fixture, &server);
    for (int fd = 0; fd < 256; fd++) {
        int delay = 0;
        socklen_t delay_bytes = sizeof(delay);

        bytes = sizeof(zookeeper);
        if (getpeername(fd, (struct sockaddr *)&zookeeper, &bytes) != 0 ||
            zookeeper.sin_family != AF_INET ||
            ntohs(zookeeper.sin_port) != server.port)
            continue;
        found++;
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(
            getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &delay, &delay_bytes), 0);
        assert_int_equal(delay, 1);
        assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    }
    assert_int_equal(found, 1);
    stop_both(&fixture, &server);
}

TEST(without_descriptors_it_fails_at_once)
{
    struct link_fixture fixture;
    struct fake_server server;
    struct rlimit limit, none;

    link_fixture_start(&fixture);
    fake_server_listen(&server, 8);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(link_fixture_open(&fixture, HERE, server.port));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_non_null(strstr(fixture.why, "too many open files"));
    /* Later there are descriptors again. */
    assert_true(link_fixture_open(&fixture, HERE, server.port));
    link_fixture_await_up(&fixture);
    stop_both(&fixture, &server);
}

TEST(a_socket_that_met_itself_was_refused)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(hf_socket_connected(fd), ECONNREFUSED);
    close(fd);
}

TEST(a_child_that_closes_its_copy_disturbs_nobody)
{
    struct link_fixture fixture;
    struct fake_server server;
    char bytes[2];
    int status;
    pid_t child;

    connect_both(&fixture, &server);
    child = test_fork();
    if (child == 0) {
        hf_connection_after_fork(fixture.link);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    link_fixture_send(&fixture, "on", 2);
    fake_server_receive(&server, bytes, 2);
    assert_false(fixture.down);
    stop_both(&fixture, &server);
}

TEST(a_socket_file_that_is_not_there_is_named)
{
    static const struct {
        const char *path;
        hf_status status;
        const char *why;
    } rows[] = {
        {"/nowhere/socket", HF_EUNREACHABLE, "no such socket file"},
        {"/dev/null/socket", HF_EURL, "not a directory"},
        /* no server listens */
        {"/dev/null", HF_EUNREACHABLE, "connection refused"},
    };
    struct link_fixture fixture;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        link_fixture_start(&fixture);
        fixture.way.path = rows[i].path;
        assert_false(link_fixture_open(&fixture, "", 0));
        assert_int_equal(fixture.status, rows[i].status);
        assert_non_null(strstr(fixture.why, rows[i].why));
        link_fixture_stop(&fixture);
    }
}
