/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS module as a filter between buffers, against OpenSSL's own server in
 * memory. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include <openssl/ssl.h>

#include "base/memory.h"
#include "certificates.h"
#include "client/engines.h"
#include "link_fixture.h"

static struct certificates certificates;
static const struct hf_tls_ops *tls;

/* ---------------------------------------------------------------- memory -- */

static _Atomic int blocks;

static void *counted_alloc(size_t bytes)
{
    blocks++;
    return hf_alloc(bytes);
}

static void counted_free(void *memory)
{
    blocks -= memory != NULL;
    hf_free(memory);
}

static const struct hf_tls_memory memory = {counted_alloc, counted_free};

/* ----------------------------------------------------------------- talks -- */

/* What a test changes; NULL and 0: the usual. */
struct tls_setup {
    const char *certificate; /* the server's: "server" */
    const char *host;        /* "127.0.0.1" */
    const char *ca;          /* "ca.pem"; "": the system's */
    const char *own;         /* the client's certificate; NULL: none */
    bool client_wanted;      /* the server insists on one */
    int version;             /* the server's highest */
    size_t step;             /* bytes at a time */
    const char *protocol;    /* that the client wants (ALPN); NULL: any */
    /* What the server says to that: NULL: it does not know ALPN; "": it
     * refuses, as Go's servers do; else what it chooses. */
    const char *chosen;
};

struct tls_fixture {
    struct hf_tls_context *context;
    struct hf_tls *tls;
    SSL_CTX *server_context;
    SSL *server;
    size_t step;
    size_t received; /* bytes from the server that the filter was given */
};

static void path_of(const char *name, const char *suffix,
                    char path[CERTIFICATES_PATH_BYTES])
{
    char file[64];

    (void)snprintf(file, sizeof(file), "%s%s", name, suffix);
    certificates_path(&certificates, file, path);
}

static struct hf_tls_context *make_context(const struct tls_setup *setup)
{
    char ca[CERTIFICATES_PATH_BYTES] = "";
    char cert[CERTIFICATES_PATH_BYTES] = "";
    char key[CERTIFICATES_PATH_BYTES] = "";
    const struct hf_tls_files files = {ca, cert, key};
    struct hf_tls_context *context;
    struct hf_error error;

    if (setup->ca == NULL || setup->ca[0] != '\0')
        path_of(setup->ca != NULL ? setup->ca : "ca.pem", "", ca);
    if (setup->own != NULL) {
        path_of(setup->own, ".pem", cert);
        path_of(setup->own, ".key", key);
    }
    if (tls->context_new(&memory, &files, &context, &error) != HF_OK)
        fail_msg("%s", error.text);
    return context;
}

/* The server's choice of a protocol. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen,
                           unsigned char *bytes, const unsigned char *offered,
                           unsigned offered_bytes, void *arg)
{
    const char *choice = arg;

    (void)ssl;
    assert_int_equal(offered_bytes, 3);
    assert_memory_equal(offered, "\2h2", 3);
    *chosen = (const unsigned char *)choice;
    *bytes = (unsigned char)strlen(choice);
    return *bytes > 0 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_server(const struct tls_setup *setup)
{
    const char *name =
        setup->certificate != NULL ? setup->certificate : "server";
    SSL_CTX *server = SSL_CTX_new(TLS_server_method());
    char path[CERTIFICATES_PATH_BYTES];

    assert_non_null(server);
    path_of(name, ".pem", path);
    assert_int_equal(SSL_CTX_use_certificate_chain_file(server, path), 1);
    path_of(name, ".key", path);
    assert_int_equal(
        SSL_CTX_use_PrivateKey_file(server, path, SSL_FILETYPE_PEM), 1);
    path_of("ca", ".pem", path);
    assert_int_equal(SSL_CTX_load_verify_file(server, path), 1);
    if (setup->client_wanted)
        SSL_CTX_set_verify(
            server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (setup->chosen != NULL)
        SSL_CTX_set_alpn_select_cb(server, choose_protocol,
                                   (void *)(uintptr_t)setup->chosen);
    if (setup->version != 0) {
        SSL_CTX_set_security_level(server, 0);
        assert_int_equal(SSL_CTX_set_min_proto_version(server, 0), 1);
        assert_int_equal(SSL_CTX_set_max_proto_version(server, setup->version),
                         1);
    }
    return server;
}

static void tls_fixture_start(struct tls_fixture *fixture,
                              const struct tls_setup *setup)
{
    fixture->step = setup->step != 0 ? setup->step : 65536;
    fixture->received = 0;
    fixture->context = make_context(setup);
    fixture->tls = tls->open(fixture->context,
                             setup->host != NULL ? setup->host : "127.0.0.1",
                             setup->protocol);
    assert_non_null(fixture->tls);
    fixture->server_context = make_server(setup);
    fixture->server = SSL_new(fixture->server_context);
    assert_non_null(fixture->server);
    SSL_set_bio(fixture->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(fixture->server);
}

static void tls_fixture_stop(struct tls_fixture *fixture)
{
    tls->close(fixture->tls);
    tls->context_free(fixture->context);
    SSL_free(fixture->server);
    SSL_CTX_free(fixture->server_context);
    assert_int_equal(blocks, 0);
}

/* Transfer one step each way; false if there was nothing to transfer. */
static bool move(struct tls_fixture *fixture)
{
    char bytes[65536];
    int to_server = (int)tls->pull(fixture->tls, bytes, fixture->step);
    int to_client;

    if (to_server > 0)
        assert_int_equal(
            BIO_write(SSL_get_rbio(fixture->server), bytes, to_server),
            to_server);
    to_client =
        BIO_read(SSL_get_wbio(fixture->server), bytes, (int)fixture->step);
    if (to_client > 0) {
        assert_int_equal(tls->push(fixture->tls, bytes, (size_t)to_client),
                         HF_TLS_DONE);
        fixture->received += (size_t)to_client;
    }
    return to_server > 0 || to_client > 0;
}

/* Until both sides are done, or the client has failed. */
static enum hf_tls_result handshake_step(struct tls_fixture *fixture)
{
    enum hf_tls_result answer = tls->handshake(fixture->tls);

    while (answer != HF_TLS_FAILED) {
        (void)SSL_do_handshake(fixture->server);
        if (!move(fixture))
            break;
        if (answer == HF_TLS_MORE)
            answer = tls->handshake(fixture->tls);
    }
    return answer;
}

static void assert_through(struct tls_fixture *fixture)
{
    if (handshake_step(fixture) != HF_TLS_DONE)
        fail_msg("no handshake: %s", tls->why(fixture->tls));
    assert_int_equal(SSL_is_init_finished(fixture->server), 1);
}

static void assert_why(const struct tls_fixture *fixture, const char *part)
{
    if (strstr(tls->why(fixture->tls), part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", tls->why(fixture->tls), part);
}

static void assert_refused(const struct tls_setup *setup, const char *part)
{
    struct tls_fixture fixture;

    tls_fixture_start(&fixture, setup);
    assert_int_equal(handshake_step(&fixture), HF_TLS_FAILED);
    assert_why(&fixture, part);
    /* The server learns that it was refused, and why. */
    assert_true(move(&fixture));
    /* It stays failed. */
    assert_int_equal(tls->handshake(fixture.tls), HF_TLS_FAILED);
    assert_why(&fixture, part);
    tls_fixture_stop(&fixture);
}

/* ------------------------------------------------------------------ good -- */

static void server_receive_bytes(struct tls_fixture *fixture, char *bytes,
                                 size_t count)
{
    size_t got;

    for (size_t at = 0; at < count; at += got) {
        (void)move(fixture);
        if (SSL_read_ex(fixture->server, bytes + at, count - at, &got) != 1)
            got = 0;
    }
}

static void receive_back(struct tls_fixture *fixture, char *bytes, size_t count)
{
    size_t got;

    for (size_t at = 0; at < count; at += got) {
        enum hf_tls_result answer =
            tls->read(fixture->tls, bytes + at, count - at, &got);

        assert_true(answer == HF_TLS_DONE || answer == HF_TLS_MORE);
        assert_int_equal(got > 0, answer == HF_TLS_DONE);
        if (answer == HF_TLS_MORE)
            assert_true(move(fixture));
    }
}

static void check_echo(struct tls_fixture *fixture, size_t count)
{
    char *said = malloc(count);
    char *server_received = malloc(count);

    assert_true(said != NULL && server_received != NULL);
    for (size_t i = 0; i < count; i++)
        said[i] = (char)(i * 31 + i / 251);
    assert_int_equal(tls->write(fixture->tls, said, count), HF_TLS_DONE);
    server_receive_bytes(fixture, server_received, count);
    assert_memory_equal(said, server_received, count);
    assert_int_equal(SSL_write(fixture->server, server_received, (int)count),
                     (int)count);
    memset(server_received, 0, count);
    receive_back(fixture, server_received, count);
    assert_memory_equal(said, server_received, count);
    free(said);
    free(server_received);
}

TEST(a_good_server_is_believed)
{
    static const struct {
        struct tls_setup setup;
        const char *sni;
    } rows[] = {
        {{.host = "127.0.0.1"}, NULL},
        {{.host = "::1"}, NULL},
        {{.host = "localhost"}, "localhost"},
        {{.host = "localhost."}, "localhost"},
        {{.host = "LOCALHOST"}, "LOCALHOST"},
        {{.version = TLS1_2_VERSION}, NULL},
        {{.version = TLS1_3_VERSION}, NULL},
        {{.step = 1}, NULL},
        {{.step = 7}, NULL},
        {{.own = "client"}, NULL},
        {{.own = "client", .client_wanted = true}, NULL},
        {{.own = "client", .client_wanted = true, .version = TLS1_2_VERSION},
         NULL},
    };
    struct tls_fixture fixture;
    const char *sni;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tls_fixture_start(&fixture, &rows[i].setup);
        assert_through(&fixture);
        sni = SSL_get_servername(fixture.server, TLSEXT_NAMETYPE_host_name);
        assert_int_equal(sni != NULL, rows[i].sni != NULL);
        if (sni != NULL)
            assert_string_equal(sni, rows[i].sni);
        check_echo(&fixture, rows[i].setup.step == 1 ? 1000 : 200000);
        tls_fixture_stop(&fixture);
    }
}

TEST(a_close_is_not_a_failure)
{
    const struct tls_setup usual = {.step = 0};
    struct tls_fixture fixture;
    char bytes[16];
    size_t count;

    tls_fixture_start(&fixture, &usual);
    assert_through(&fixture);
    assert_int_equal(tls->read(fixture.tls, bytes, sizeof(bytes), &count),
                     HF_TLS_MORE);
    assert_int_equal(SSL_write(fixture.server, "last", 4), 4);
    (void)SSL_shutdown(fixture.server);
    (void)move(&fixture);
    assert_int_equal(tls->read(fixture.tls, bytes, sizeof(bytes), &count),
                     HF_TLS_DONE);
    assert_int_equal(count, 4);
    assert_int_equal(tls->read(fixture.tls, bytes, sizeof(bytes), &count),
                     HF_TLS_CLOSED);
    assert_int_equal(count, 0);
    tls_fixture_stop(&fixture);
}

/* --------------------------------------------------------------- refused -- */

TEST(a_bad_server_is_not)
{
    static const struct {
        struct tls_setup setup;
        const char *part;
    } rows[] = {
        {{.certificate = "wrong_name"},
         "the certificate is for elsewhere.test, expected 127.0.0.1"},
        {{.certificate = "wrong_name", .host = "localhost"},
         "the certificate is for elsewhere.test, expected localhost"},
        {{.certificate = "long_name"},
         "the certificate is for a-label-of-thirty-one-characters.a-label-of-"},
        {{.certificate = "long_name"}, "a-label-o..., expected 127.0.0.1"},
        {{.host = "127.0.0.2"},
         "is for 127.0.0.1, ::1, localhost, expected 127.0.0.2"},
        {{.host = "local"}, "expected local"},
        {{.host = "localhost.example"}, "expected localhost.example"},
        {{.certificate = "localhost", .host = "localhost"},
         "has no subjectAltName with a name or an address; expected localhost"},
        {{.certificate = "localhost", .host = "localhost."},
         "has no subjectAltName with a name or an address; expected localhost"},
        {{.certificate = "nameless"},
         "the certificate of odd?name has no subjectAltName"},
        {{.certificate = "untrusted"},
         "was issued by none of the authorities in ca="},
        {{.certificate = "untrusted", .version = TLS1_2_VERSION},
         "was issued by none of the authorities in ca="},
        {{.ca = "other_ca.pem"},
         "was issued by none of the authorities in ca="},
        {{.ca = ""}, "none that this system trusts; name its CA with ca="},
        {{.certificate = "expired"}, "certificate has expired"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(&rows[i].setup, rows[i].part);
}

TEST(a_server_of_old_is_not_spoken_to)
{
    const struct tls_setup old = {.version = TLS1_1_VERSION};
    struct tls_fixture fixture;

    tls_fixture_start(&fixture, &old);
    assert_int_equal(handshake_step(&fixture), HF_TLS_FAILED);
    assert_why(&fixture, "the server refused us");
    assert_why(&fixture, "protocol version");
    assert_null(strstr(tls->why(fixture.tls), "cert="));
    tls_fixture_stop(&fixture);
}

/* In TLS 1.3 the handshake of the client is done before the server refuses
 * it. */
TEST(a_server_that_wants_a_certificate_says_so)
{
    static const struct tls_setup rows[] = {
        {.client_wanted = true, .version = TLS1_2_VERSION},
        {.client_wanted = true, .version = TLS1_3_VERSION},
        {.client_wanted = true, .own = "untrusted"},
    };
    struct tls_fixture fixture;
    char bytes[16];
    size_t count;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tls_fixture_start(&fixture, &rows[i]);
        if (handshake_step(&fixture) == HF_TLS_DONE)
            assert_int_equal(
                tls->read(fixture.tls, bytes, sizeof(bytes), &count),
                HF_TLS_FAILED);
        assert_why(&fixture, "the server refused us");
        if (rows[i].own == NULL)
            assert_why(&fixture, "cert= and key=");
        tls_fixture_stop(&fixture);
    }
}

TEST(what_is_no_tls_is_called_that)
{
    static const char *const answers[] = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "This ZooKeeper instance is not currently serving requests\n",
        "\0\0\0%\0\0\0\0\0\0'\020\1\0\1!q\021\0\4\0\0\0\020",
    };
    const struct tls_setup usual = {.step = 0};
    struct tls_fixture fixture;

    for (size_t i = 0; i < 3; i++) {
        tls_fixture_start(&fixture, &usual);
        assert_int_equal(tls->handshake(fixture.tls), HF_TLS_MORE);
        assert_int_equal(tls->push(fixture.tls, answers[i], 24), HF_TLS_DONE);
        assert_int_equal(tls->handshake(fixture.tls), HF_TLS_FAILED);
        assert_why(&fixture, "the server does not speak TLS");
        tls_fixture_stop(&fixture);
    }
}

/* A handshake that stops at any byte waits for more and can be closed, and a
 * byte that was changed is detected. */
TEST(a_handshake_may_stop_anywhere)
{
    const struct tls_setup slow = {.step = 1};
    size_t bytes = 1;
    struct tls_fixture fixture;
    char flipped;

    tls_fixture_start(&fixture, &slow);
    assert_through(&fixture);
    bytes = fixture.received;
    tls_fixture_stop(&fixture);
    for (size_t n = 0; n < bytes; n += 97) {
        enum hf_tls_result answer;

        tls_fixture_start(&fixture, &slow);
        answer = tls->handshake(fixture.tls);
        while (fixture.received < n) {
            (void)SSL_do_handshake(fixture.server);
            (void)move(&fixture);
            if (answer == HF_TLS_MORE)
                answer = tls->handshake(fixture.tls);
        }
        assert_true(answer == HF_TLS_MORE || answer == HF_TLS_DONE);
        (void)SSL_do_handshake(fixture.server);
        if (BIO_read(SSL_get_wbio(fixture.server), &flipped, 1) == 1) {
            flipped ^= 0x40;
            assert_int_equal(tls->push(fixture.tls, &flipped, 1), HF_TLS_DONE);
            assert_true(answer == HF_TLS_DONE ||
                        handshake_step(&fixture) != HF_TLS_DONE);
        }
        tls_fixture_stop(&fixture);
    }
}

/* ------------------------------------------------------------- protocols -- */

TEST(a_server_chooses_the_protocol)
{
    const struct tls_setup setup = {.protocol = "h2", .chosen = "h2"};
    struct tls_fixture fixture;

    tls_fixture_start(&fixture, &setup);
    assert_through(&fixture);
    tls_fixture_stop(&fixture);
}

/* One that does not know it, one that refuses, and one that chooses another: in
 * none of these cases may bytes of the protocol be sent. */
TEST(a_server_must_choose_the_protocol)
{
    static const char *const choices[] = {NULL, "", "http/1.1"};

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct tls_setup setup = {.protocol = "h2", .chosen = choices[i]};
        struct tls_fixture fixture;

        tls_fixture_start(&fixture, &setup);
        assert_int_equal(handshake_step(&fixture), HF_TLS_FAILED);
        /* OpenSSL itself refuses what was not offered. */
        if (i < 2) {
            assert_why(&fixture, "does not choose the protocol \"h2\" (ALPN)");
            assert_int_equal(tls->status(fixture.tls), HF_EURL);
        }
        tls_fixture_stop(&fixture);
    }
}

TEST(a_protocol_has_a_name)
{
    const struct tls_setup usual = {.step = 0};
    struct hf_tls_context *context = make_context(&usual);

    assert_null(tls->open(context, "localhost", ""));
    assert_null(tls->open(context, "localhost", "a-protocol-with-a-long-name"));
    tls->context_free(context);
    assert_int_equal(blocks, 0);
}

/* ---------------------------------------------------------------- hosts -- */

TEST(a_host_must_be_one)
{
    const struct tls_setup usual = {.step = 0};
    struct hf_tls_context *context = make_context(&usual);
    char longest[300];

    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(tls->open(context, longest, NULL));
    assert_null(tls->open(context, "", NULL));
    assert_null(tls->open(context, ".", NULL));
    tls->context_free(context);
    assert_int_equal(blocks, 0);
}

/* ------------------------------------------------------------------- end -- */

/* With and without a cleanup of OpenSSL by the program. */
TEST(a_process_may_end_while_others_are_in_here)
{
    char argument[80];

    for (int i = 0; i < 20; i++) {
        (void)snprintf(argument, sizeof(argument), "%c%s", i % 2 ? 'p' : 'l',
                       certificates.directory);
        assert_int_equal(test_run_self(argument), 0);
    }
}

/* Handshakes while the process exits, until OpenSSL refuses. */
static void *handshake_for_ever(void *arg)
{
    static struct hf_tls_context *context; /* static: so that it is no leak */
    const struct tls_setup usual = {.step = 0};
    struct hf_tls *filter;
    char bytes[4096];
    size_t count;

    context = make_context(&usual);
    while ((filter = tls->open(context, "localhost", "h2")) != NULL) {
        (void)tls->handshake(filter);
        count = tls->pull(filter, bytes, sizeof(bytes));
        (void)tls->push(filter, bytes, count);
        (void)tls->handshake(filter);
        tls->close(filter);
        atomic_store((_Atomic bool *)arg, true);
    }
    while (pause() != 0)
        continue;
    return NULL;
}

static int end_in_the_middle(const char *argument)
{
    static _Atomic bool begun;
    pthread_t thread;

    (void)snprintf(certificates.directory, sizeof(certificates.directory), "%s",
                   argument + 1);
    if (argument[0] == 'p' && OPENSSL_init_ssl(0, NULL) != 1)
        return 1;
    if (pthread_create(&thread, NULL, handshake_for_ever, (void *)&begun) != 0)
        return 1;
    (void)pthread_detach(thread);
    while (!atomic_load(&begun))
        (void)sched_yield();
    return 0;
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

TEST_FILE(tls)
{
    struct hf_error error;

    if (hf_engines_tls(&tls, &error) != HF_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (test_argument() != NULL)
        return end_in_the_middle(test_argument());
    return RUN_TESTS(set_up, tear_down);
}
