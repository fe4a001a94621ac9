/* SPDX-License-Identifier: Apache-2.0 */
/* Links over TLS: with a server on a thread of its own, and with servers that
 * break off. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "certificates.h"
#include "core/memory.h"
#include "host/engines.h"
#include "kit.h"

static struct certificates certificates;
static const struct hf_tls_ops *tls;

/* ---------------------------------------------------------------- server -- */

/* Greets one client, then says back what it hears until the client ends. */
struct echo {
    struct server server;
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

    server_accept(&echo->server);
    (void)SSL_set_fd(ssl, echo->server.fd);
    if (SSL_accept(ssl) == 1)
        while (said > 0 && (got = SSL_read(ssl, bytes, sizeof(bytes))) > 0)
            said = SSL_write(ssl, bytes, got);
    SSL_free(ssl);
    server_hang_up(&echo->server);
    return NULL;
}

static void echo_start(struct echo *echo, const char *certificate)
{
    char file[64], path[CERTIFICATES_PATH_BYTES];

    server_listen(&echo->server, 8);
    echo->context = SSL_CTX_new(TLS_server_method());
    (void)snprintf(file, sizeof(file), "%s.pem", certificate);
    certificates_path(&certificates, file, path);
    assert_int_equal(SSL_CTX_use_certificate_chain_file(echo->context, path),
                     1);
    (void)snprintf(file, sizeof(file), "%s.key", certificate);
    certificates_path(&certificates, file, path);
    assert_int_equal(
        SSL_CTX_use_PrivateKey_file(echo->context, path, SSL_FILETYPE_PEM), 1);
    assert_int_equal(pthread_create(&echo->thread, NULL, echo_main, echo), 0);
}

static void echo_stop(struct echo *echo)
{
    assert_int_equal(pthread_join(echo->thread, NULL), 0);
    SSL_CTX_free(echo->context);
    server_stop(&echo->server);
}

/* ---------------------------------------------------------------- client -- */

static void secure_start(struct client *client)
{
    static const struct hf_tls_memory memory = {hf_alloc, hf_free};
    char ca[CERTIFICATES_PATH_BYTES];
    const struct hf_tls_files files = {ca, NULL, NULL};
    struct hf_error error;

    client_start(client);
    certificates_path(&certificates, "ca.pem", ca);
    client->way.tls = tls;
    assert_int_equal(
        tls->context_new(&memory, &files, &client->way.context, &error), HF_OK);
}

static void secure_stop(struct client *client)
{
    client_stop(client);
    tls->context_free(client->way.context);
}

static void bytes_go_both_ways(void **state)
{
    struct client client;
    struct echo echo;

    (void)state;
    echo_start(&echo, "server");
    secure_start(&client);
    assert_true(client_open(&client, "127.0.0.1", echo.server.port));
    client_await_up(&client);
    client_send(&client, "hello", 5);
    client_await_bytes(&client, 5);
    assert_memory_equal(client.bytes, "hello", 5);
    secure_stop(&client);
    echo_stop(&echo);
}

/* Both sides' buffers are full before anybody reads. */
#define MUCH (8 << 20)

static bool has_everything(void *arg)
{
    return ((const struct client *)arg)->received == MUCH;
}

static void much_goes_both_ways(void **state)
{
    char *bytes = malloc(MUCH);
    struct client client;
    struct echo echo;

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    echo_start(&echo, "server");
    secure_start(&client);
    assert_true(client_open(&client, "127.0.0.1", echo.server.port));
    client_await_up(&client);
    assert_false(hf_connection_awaits_tls(client.link));
    client_send(&client, bytes, MUCH);
    kit_run_until(&client.loop, has_everything, &client);
    assert_memory_equal(client.last, bytes + MUCH - sizeof(client.last),
                        sizeof(client.last));
    secure_stop(&client);
    echo_stop(&echo);
    free(bytes);
}

static void a_wrong_certificate_ends_it(void **state)
{
    struct client client;
    struct echo echo;

    (void)state;
    echo_start(&echo, "wrong_name");
    secure_start(&client);
    client.close_when_down = true;
    assert_true(client_open(&client, "127.0.0.1", echo.server.port));
    client_await_down(&client);
    assert_false(client.up);
    assert_string_equal(client.why,
                        "TLS: the certificate is for elsewhere.test, expected "
                        "127.0.0.1");
    assert_int_equal(client.status, HF_EDENIED);
    secure_stop(&client);
    echo_stop(&echo);
}

static void a_server_that_breaks_off_is_named(void **state)
{
    static const char garbage[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct client client;
    struct server server;
    char hello[5];

    (void)state;
    for (int how = 0; how < 4; how++) {
        server_listen(&server, 8);
        secure_start(&client);
        assert_true(client_open(&client, "127.0.0.1", server.port));
        server_accept(&server);
        if (how == 1) {
            (void)uv_run(&client.loop, UV_RUN_NOWAIT);
            kit_turn(&client.loop);
            server_receive(&server, hello, sizeof(hello));
        }
        if (how == 2)
            server_send(&server, garbage, sizeof(garbage) - 1);
        if (how == 3)
            server_reset(&server);
        else
            server_hang_up(&server);
        client_await_down(&client);
        assert_false(client.up);
        assert_true(strlen(client.why) > 0);
        if (how == 0)
            assert_non_null(strstr(client.why, "during the TLS handshake"));
        if (how == 2)
            assert_non_null(strstr(client.why, "does not speak TLS"));
        if (how < 3) /* a reset may come before the handshake begins */
            assert_int_equal(hf_connection_awaits_tls(client.link), how != 2);
        assert_int_equal(client.status, how == 2 ? HF_EURL : HF_EPROTOCOL);
        secure_stop(&client);
        server_stop(&server);
    }
}

/* Close after so many turns; true if it was up by then. */
static bool close_after(int turns)
{
    struct client client;
    struct echo echo;
    bool up;

    echo_start(&echo, "server");
    secure_start(&client);
    assert_true(client_open(&client, "127.0.0.1", echo.server.port));
    for (int i = 0; i < turns; i++) {
        struct pollfd fd = {.fd = uv_backend_fd(&client.loop),
                            .events = POLLIN};

        (void)uv_run(&client.loop, UV_RUN_NOWAIT);
        if (!client.up && uv_backend_timeout(&client.loop) != 0)
            assert_int_equal(poll(&fd, 1, 10000), 1);
    }
    up = client.up;
    secure_stop(&client);
    echo_stop(&echo);
    return up;
}

static void it_can_be_closed_at_each_stage(void **state)
{
    int turns = 0;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(much_goes_both_ways),
        cmocka_unit_test(a_wrong_certificate_ends_it),
        cmocka_unit_test(a_server_that_breaks_off_is_named),
        cmocka_unit_test(it_can_be_closed_at_each_stage),
    };
    struct hf_error error;

    /* The server's own writes, to a client that has gone. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (hf_engines_tls(&tls, &error) != HF_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
