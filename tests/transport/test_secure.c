/* SPDX-License-Identifier: Apache-2.0 */
/* Links over TLS, with a server in a thread and with servers that break off. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cmocka/runner.h"
#include <openssl/ssl.h>

#include "base/memory.h"
#include "certificates.h"
#include "client/engines.h"
#include "link_fixture.h"

static struct certificates certificates;
static const struct hf_tls_ops *tls;

/* ---------------------------------------------------------------- server -- */

/* A server that accepts one client and sends back what it receives until the
 * client ends. */
struct echo {
    struct fake_server server;
    SSL_CTX *context;
    pthread_t thread;
};

static void *echo_main(void *arg)
{
    struct echo *echo = arg;
    SSL *ssl = SSL_new(echo->context);
    char bytes[16384];
    int got = 0;
    int said = 1;

    fake_server_accept(&echo->server);
    (void)SSL_set_fd(ssl, echo->server.fd);
    if (SSL_accept(ssl) == 1)
        while (said > 0 && (got = SSL_read(ssl, bytes, sizeof(bytes))) > 0)
            said = SSL_write(ssl, bytes, got);
    SSL_free(ssl);
    fake_server_hang_up(&echo->server);
    return NULL;
}

/* A server that neither sends nor receives after the handshake. */
static void *silent_main(void *arg)
{
    struct echo *echo = arg;
    SSL *ssl = SSL_new(echo->context);

    fake_server_accept(&echo->server);
    (void)SSL_set_fd(ssl, echo->server.fd);
    (void)SSL_set_num_tickets(ssl, 0);
    (void)SSL_accept(ssl);
    SSL_free(ssl);
    return NULL;
}

static void server_start(struct echo *echo, const char *certificate,
                         void *(*server_main)(void *))
{
    char file[64], path[CERTIFICATES_PATH_BYTES];

    fake_server_listen(&echo->server, 8);
    echo->context = SSL_CTX_new(TLS_server_method());
    (void)snprintf(file, sizeof(file), "%s.pem", certificate);
    certificates_path(&certificates, file, path);
    assert_int_equal(SSL_CTX_use_certificate_chain_file(echo->context, path),
                     1);
    (void)snprintf(file, sizeof(file), "%s.key", certificate);
    certificates_path(&certificates, file, path);
    assert_int_equal(
        SSL_CTX_use_PrivateKey_file(echo->context, path, SSL_FILETYPE_PEM), 1);
    assert_int_equal(pthread_create(&echo->thread, NULL, server_main, echo), 0);
}

static void echo_start(struct echo *echo, const char *certificate)
{
    server_start(echo, certificate, echo_main);
}

static void echo_stop(struct echo *echo)
{
    assert_int_equal(pthread_join(echo->thread, NULL), 0);
    SSL_CTX_free(echo->context);
    fake_server_stop(&echo->server);
}

/* ---------------------------------------------------------------- client -- */

static void secure_start(struct link_fixture *fixture)
{
    static const struct hf_tls_memory memory = {hf_alloc, hf_free};
    char ca[CERTIFICATES_PATH_BYTES];
    const struct hf_tls_files files = {ca, NULL, NULL};
    struct hf_error error;

    link_fixture_start(fixture);
    certificates_path(&certificates, "ca.pem", ca);
    fixture->way.tls = tls;
    assert_int_equal(
        tls->context_new(&memory, &files, &fixture->way.context, &error),
        HF_OK);
}

static void secure_stop(struct link_fixture *fixture)
{
    link_fixture_stop(fixture);
    tls->context_free(fixture->way.context);
}

TEST(bytes_go_both_ways)
{
    struct link_fixture fixture;
    struct echo echo;

    echo_start(&echo, "server");
    secure_start(&fixture);
    assert_true(link_fixture_open(&fixture, "127.0.0.1", echo.server.port));
    link_fixture_await_up(&fixture);
    link_fixture_send(&fixture, "hello", 5);
    link_fixture_await_bytes(&fixture, 5);
    assert_memory_equal(fixture.bytes, "hello", 5);
    secure_stop(&fixture);
    echo_stop(&echo);
}

/* More than the buffers of both sides hold. */
#define MUCH (8 << 20)

static bool has_everything(void *arg)
{
    return ((const struct link_fixture *)arg)->received == MUCH;
}

TEST(much_goes_both_ways)
{
    char *bytes = malloc(MUCH);
    struct link_fixture fixture;
    struct echo echo;

    assert_non_null(bytes);
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    echo_start(&echo, "server");
    secure_start(&fixture);
    assert_true(link_fixture_open(&fixture, "127.0.0.1", echo.server.port));
    link_fixture_await_up(&fixture);
    assert_false(hf_connection_awaits_tls(fixture.link));
    link_fixture_send(&fixture, bytes, MUCH);
    loop_run_until(&fixture.loop, has_everything, &fixture);
    assert_memory_equal(fixture.last, bytes + MUCH - sizeof(fixture.last),
                        sizeof(fixture.last));
    secure_stop(&fixture);
    echo_stop(&echo);
    free(bytes);
}

/* The socket of this process that is connected to ${port}. */
static int socket_to(uint16_t port)
{
    for (int fd = 0; fd < 256; fd++) {
        struct sockaddr_in peer;
        socklen_t bytes = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
            return fd;
    }
    fail_msg("no socket is connected to port %u", (unsigned)port);
    return -1;
}

/* What is left of a record is sent when there is room.  That this fails is
 * reported, although there is nothing to read. */
TEST(a_rest_that_cannot_be_sent_ends_it)
{
    char *bytes = calloc(1, MUCH);
    struct link_fixture fixture;
    struct echo silent;
    size_t taken = MUCH;

    assert_non_null(bytes);
    server_start(&silent, "server", silent_main);
    secure_start(&fixture);
    assert_true(link_fixture_open(&fixture, "127.0.0.1", silent.server.port));
    link_fixture_await_up(&fixture);
    while (taken > 0)
        assert_true(hf_connection_send(fixture.link, bytes, MUCH, &taken));
    assert_int_equal(shutdown(socket_to(silent.server.port), SHUT_WR), 0);
    link_fixture_await_down(&fixture);
    assert_string_equal(fixture.why, "broken pipe");
    assert_false(fixture.writable);
    secure_stop(&fixture);
    echo_stop(&silent);
    free(bytes);
}

TEST(a_wrong_certificate_ends_it)
{
    struct link_fixture fixture;
    struct echo echo;

    echo_start(&echo, "wrong_name");
    secure_start(&fixture);
    fixture.close_when_down = true;
    assert_true(link_fixture_open(&fixture, "127.0.0.1", echo.server.port));
    link_fixture_await_down(&fixture);
    assert_false(fixture.up);
    assert_string_equal(fixture.why,
                        "TLS: the certificate is for elsewhere.test, expected "
                        "127.0.0.1");
    assert_int_equal(fixture.status, HF_EDENIED);
    secure_stop(&fixture);
    echo_stop(&echo);
}

TEST(a_server_that_breaks_off_is_named)
{
    static const char garbage[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct link_fixture fixture;
    struct fake_server server;
    char hello[5];

    for (int how = 0; how < 4; how++) {
        fake_server_listen(&server, 8);
        secure_start(&fixture);
        assert_true(link_fixture_open(&fixture, "127.0.0.1", server.port));
        fake_server_accept(&server);
        if (how == 1) {
            (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
            loop_turn(&fixture.loop);
            fake_server_receive(&server, hello, sizeof(hello));
        }
        if (how == 2)
            fake_server_send(&server, garbage, sizeof(garbage) - 1);
        if (how == 3)
            fake_server_reset(&server);
        else
            fake_server_hang_up(&server);
        link_fixture_await_down(&fixture);
        assert_false(fixture.up);
        assert_true(strlen(fixture.why) > 0);
        if (how == 0)
            assert_non_null(strstr(fixture.why, "during the TLS handshake"));
        if (how == 2)
            assert_non_null(strstr(fixture.why, "does not speak TLS"));
        if (how < 3) /* a reset may come before the handshake begins */
            assert_int_equal(hf_connection_awaits_tls(fixture.link), how != 2);
        assert_int_equal(fixture.status, how == 2 ? HF_EURL : HF_EPROTOCOL);
        secure_stop(&fixture);
        fake_server_stop(&server);
    }
}

/* Close the link after that many turns of the loop; true if it was up by
 * then. */
static bool close_after(int turns)
{
    struct link_fixture fixture;
    struct echo echo;
    bool up;

    echo_start(&echo, "server");
    secure_start(&fixture);
    assert_true(link_fixture_open(&fixture, "127.0.0.1", echo.server.port));
    for (int i = 0; i < turns; i++) {
        struct pollfd fd = {.fd = uv_backend_fd(&fixture.loop),
                            .events = POLLIN};

        (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
        if (!fixture.up && uv_backend_timeout(&fixture.loop) != 0)
            assert_int_equal(poll(&fd, 1, 10000), 1);
    }
    up = fixture.up;
    secure_stop(&fixture);
    echo_stop(&echo);
    return up;
}

TEST(it_can_be_closed_at_each_stage)
{
    int turns = 0;

    while (!close_after(turns)) {
        assert_true(turns < 100);
        turns++;
    }
    assert_true(turns > 1);
    (void)close_after(turns + 1);
}

static int set_up(void **state)
{
    (void)state;
    certificates_make(&certificates);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    certificates_remove(&certificates);
    return 0;
}

TEST_FILE(secure)
{
    struct hf_error error;

    /* The server writes to a client that has gone. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (hf_engines_tls(&tls, &error) != HF_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return RUN_TESTS(set_up, tear_down);
}
