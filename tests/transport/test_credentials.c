/* SPDX-License-Identifier: Apache-2.0 */
/* What the ZooKeeper engine takes for credentials, and for a URL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "seat.h"

static void assert_refused(const char *url, hf_status status, const char *part)
{
    struct seat seat;

    seat_start(&seat);
    assert_int_equal(seat_open(&seat, url), status);
    if (strstr(seat.error.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", seat.error.text, part);
    kit_loop_end(&seat.loop);
    assert_int_equal(heap_live(), 0);
}

static void what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    assert_refused("zk://", HF_EURL, "names no server");
    assert_refused("zk://h:0", HF_EURL, "port");
    assert_refused("zk://h?acl=creator", HF_EURL, "acl=creator");
    assert_refused("zk://u:" SEAT_PASSWORD "@h?nonsense=1", HF_EURL,
                   "nonsense");
    assert_refused("zk://h?auth_file=/nonexistent/file", HF_EURL,
                   "/nonexistent/file");
    assert_refused("zk://h?auth_file=/dev/null", HF_EURL, "/dev/null");
    assert_refused("zk://h?auth_file=/tmp", HF_EURL, "/tmp");
    assert_refused("zks://h", HF_EUNSUPPORTED, "no TLS");
}

/* ----------------------------------------------------------------- files -- */

struct secret {
    char path[64];
    char url[128];
};

static void secret_write(struct secret *secret, const char *text, size_t bytes,
                         mode_t mode)
{
    int fd;

    memset(secret, 0, sizeof(*secret));
    (void)snprintf(secret->path, sizeof(secret->path),
                   "/tmp/holdfast-auth-XXXXXX");
    fd = mkstemp(secret->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    (void)snprintf(secret->url, sizeof(secret->url), "zk://h?auth_file=%s",
                   secret->path);
}

static void secret_remove(const struct secret *secret)
{
    assert_int_equal(unlink(secret->path), 0);
}

static void a_file_that_others_can_read_is_refused(void **state)
{
    static const mode_t modes[] = {0604, 0640, 0602, 0620, 0601, 0610, 0666};
    static const char text[] = "digest:u:" SEAT_PASSWORD "\n";
    struct secret secret;

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        secret_write(&secret, text, sizeof(text) - 1, modes[i]);
        assert_refused(secret.url, HF_EDENIED, secret.path);
        assert_refused(secret.url, HF_EDENIED, "chmod");
        secret_remove(&secret);
    }
    if (geteuid() != 0)
        return; /* nobody else may give a file away */
    secret_write(&secret, text, sizeof(text) - 1, 0600);
    assert_int_equal(chown(secret.path, 1, 1), 0);
    assert_refused(secret.url, HF_EDENIED, "belongs to user 1");
    secret_remove(&secret);
}

static void a_file_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: strlen */
        const char *part;
    } rows[] = {
        {"\n", 0, "no line"},
        {"# digest:u:" SEAT_PASSWORD "\n", 0, "no line"},
        {SEAT_PASSWORD "\n", 0, "not of the scheme"},
        {"u:" SEAT_PASSWORD "\n", 0, "not of the scheme"},
        {"sasl:u:" SEAT_PASSWORD "\n", 0, "not of the scheme"},
        {"digest:" SEAT_PASSWORD "\n", 0, "without a user"},
        {"digest::" SEAT_PASSWORD "\n", 0, "without a user"},
        {"digest:u:\n", 0, "without a password"},
        {"digest:u:" SEAT_PASSWORD "\ndigest:v:" SEAT_PASSWORD "\n", 0,
         "more than one"},
        {"digest:u:" SEAT_PASSWORD "\r\n", 0, "no text"},
        {"digest:u:" SEAT_PASSWORD "\xff\n", 0, "no text"},
        {"digest:u:" SEAT_PASSWORD "\0\n", 16, "NUL"},
    };
    struct secret secret;
    char longer[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        secret_write(&secret, rows[i].text,
                     rows[i].bytes > 0 ? rows[i].bytes : strlen(rows[i].text),
                     0600);
        assert_refused(secret.url, HF_EURL, rows[i].part);
        secret_remove(&secret);
    }
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "digest:u:", 9);
    secret_write(&secret, longer, 1000, 0600);
    assert_refused(secret.url, HF_EURL, "too long");
    secret_remove(&secret);
    secret_write(&secret, longer, sizeof(longer), 0600);
    assert_refused(secret.url, HF_EURL, "too long");
    secret_remove(&secret);
}

static void a_fifo_holds_nobody_up(void **state)
{
    char path[] = "/tmp/holdfast-auth-XXXXXX";
    char url[128];

    (void)state;
    assert_non_null(mkdtemp(path));
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(mkfifo(url, 0600), 0);
    (void)snprintf(url, sizeof(url), "zk://h?auth_file=%s/fifo", path);
    assert_refused(url, HF_EURL, "not a plain file");
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(unlink(url), 0);
    assert_int_equal(rmdir(path), 0);
}

/* Is the password of the file shown to the server? */
static bool is_shown(const char *options)
{
    struct seat seat;
    struct peer peer;
    char url[256];

    peer_start(&peer, GREETS);
    seat_start(&seat);
    (void)snprintf(url, sizeof(url), "zk://127.0.0.1:%u%s",
                   (unsigned)peer.server.port, options);
    if (seat_open(&seat, url) != HF_OK)
        fail_msg("%s", seat.error.text);
    seat_run_until(&seat, &peer, &seat.connected);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    return peer.heard_password;
}

static void a_good_file_is_used(void **state)
{
    static const char text[] =
        "# for the locks\n\ndigest:u:" SEAT_PASSWORD "\n";
    struct secret secret;
    char options[128];

    (void)state;
    secret_write(&secret, text, sizeof(text) - 1, 0400);
    (void)snprintf(options, sizeof(options), "?auth_file=%s&acl=creator",
                   secret.path);
    assert_true(is_shown(options));
    assert_false(is_shown(""));
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", secret.path, 1), 0);
    assert_true(is_shown(""));
    assert_true(is_shown("?acl=creator"));
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "/nonexistent", 1), 0);
    assert_refused("zk://h", HF_EURL, "/nonexistent");
    assert_true(is_shown(options)); /* the URL's own goes before */
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "", 1), 0);
    assert_false(is_shown(""));
    assert_int_equal(unsetenv("HOLDFAST_AUTH_FILE"), 0);
    secret_remove(&secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_opened_says_why),
        cmocka_unit_test(a_file_that_others_can_read_is_refused),
        cmocka_unit_test(a_file_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_fifo_holds_nobody_up),
        cmocka_unit_test(a_good_file_is_used),
    };

    heap_own();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
