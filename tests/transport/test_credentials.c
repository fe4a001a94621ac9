/* SPDX-License-Identifier: Apache-2.0 */
/* Which credentials the ZooKeeper engine takes, and in which URLs. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engine_fixture.h"
#include "heap/heap.h"
#include "transport/auth_file.h"
#include "transport/secret_file.h"
#include "transport/set_user_id.h"

static void assert_refused(const char *url, hf_status status, const char *part)
{
    struct engine_fixture fixture;

    engine_fixture_start(&fixture);
    assert_int_equal(engine_fixture_open(&fixture, url), status);
    if (strstr(fixture.error.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fixture.error.text, part);
    loop_end(&fixture.loop);
    assert_int_equal(heap_live(), 0);
}

TEST(what_cannot_be_opened_says_why)
{
    assert_refused("zk://", HF_EURL, "names no server");
    assert_refused("zk://h:0", HF_EURL, "port");
    assert_refused("zk://h?acl=creator", HF_EURL, "acl=creator");
    assert_refused("zk://u:" ENGINE_FIXTURE_PASSWORD "@h?nonsense=1", HF_EURL,
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

TEST(a_file_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0604, 0644, 0602, 0620, 0601, 0610, 0666};
    static const char text[] = "digest:u:" ENGINE_FIXTURE_PASSWORD "\n";
    struct secret secret;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        secret_write(&secret, text, sizeof(text) - 1, modes[i]);
        assert_refused(secret.url, HF_EDENIED, secret.path);
        assert_refused(secret.url, HF_EDENIED, "chmod");
        secret_remove(&secret);
    }
    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    secret_write(&secret, text, sizeof(text) - 1, 0600);
    assert_int_equal(chown(secret.path, 1, 1), 0);
    assert_refused(secret.url, HF_EDENIED, "belongs to user 1");
    secret_remove(&secret);
}

#define SOMEBODY 65534

static void assert_taken(const char *path)
{
    char text[HF_SECRET_FILE_BYTES];
    struct hf_error error = {0};
    size_t bytes;

    if (hf_secret_file_read(path, text, &bytes, &error) != HF_OK)
        fail_msg("refused: %s", error.text);
}

/* Kubernetes and systemd give secrets to a service as files of root that the
 * group of the service may read. */
TEST(a_file_of_root_for_our_group_is_taken)
{
    static const char text[] = "digest:u:" ENGINE_FIXTURE_PASSWORD "\n";
    static const mode_t taken[] = {0640, 0440, 0040};
    static const mode_t refused[] = {0644, 0660, 0650, 0641};
    struct secret secret;

    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    secret_write(&secret, text, sizeof(text) - 1, 0600);
    assert_int_equal(chown(secret.path, 0, SOMEBODY), 0);
    assert_int_equal(setegid(SOMEBODY), 0);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        assert_int_equal(chmod(secret.path, taken[i]), 0);
        assert_int_equal(seteuid(SOMEBODY), 0);
        assert_taken(secret.path);
        assert_int_equal(seteuid(0), 0);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(chmod(secret.path, refused[i]), 0);
        assert_int_equal(seteuid(SOMEBODY), 0);
        assert_refused(secret.url, HF_EDENIED, "0640 or less");
        assert_int_equal(seteuid(0), 0);
    }
    /* a group that this process is not in */
    assert_int_equal(chown(secret.path, SOMEBODY, SOMEBODY), 0);
    assert_int_equal(chmod(secret.path, 0640), 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    assert_refused(secret.url, HF_EDENIED, "0600 or less");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    secret_remove(&secret);
}

/* The caller of a set-user-id program chooses neither the user nor what lies in
 * the home directory. */
TEST(the_home_directory_is_the_effective_users)
{
    const struct passwd *entry = getpwuid(0);
    char wanted[256], path[256];
    bool found;

    if (geteuid() != 0)
        skip(); /* only root can become another user */
    assert_non_null(entry);
    (void)snprintf(wanted, sizeof(wanted), "%s/.file", entry->pw_dir);
    assert_int_equal(setresuid(SOMEBODY, 0, 0), 0);
    found = hf_set_user_id_home(".file", path, sizeof(path));
    assert_int_equal(setresuid(0, 0, 0), 0);
    assert_true(found);
    assert_string_equal(path, wanted);
}

TEST(a_file_that_makes_no_sense_is_refused)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: strlen */
        const char *part;
    } rows[] = {
        {"\n", 0, "no line"},
        {"# digest:u:" ENGINE_FIXTURE_PASSWORD "\n", 0, "no line"},
        {ENGINE_FIXTURE_PASSWORD "\n", 0, "not of the scheme"},
        {"u:" ENGINE_FIXTURE_PASSWORD "\n", 0, "not of the scheme"},
        {"sasl:u:" ENGINE_FIXTURE_PASSWORD "\n", 0, "not of the scheme"},
        {"digest:" ENGINE_FIXTURE_PASSWORD "\n", 0, "without a user"},
        {"digest::" ENGINE_FIXTURE_PASSWORD "\n", 0, "without a user"},
        {"digest:u:\n", 0, "without a password"},
        {"digest:u:" ENGINE_FIXTURE_PASSWORD
         "\ndigest:v:" ENGINE_FIXTURE_PASSWORD "\n",
         0, "more than one"},
        {"digest:u:" ENGINE_FIXTURE_PASSWORD "\r\n", 0, "no text"},
        {"digest:u:" ENGINE_FIXTURE_PASSWORD "\xff\n", 0, "no text"},
        {"digest:u:" ENGINE_FIXTURE_PASSWORD "\0\n", 16, "NUL"},
    };
    struct secret secret;
    char longer[5000];

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

TEST(a_fifo_holds_nobody_up)
{
    char path[] = "/tmp/holdfast-auth-XXXXXX";
    char url[128];

    assert_non_null(mkdtemp(path));
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(mkfifo(url, 0600), 0);
    (void)snprintf(url, sizeof(url), "zk://h?auth_file=%s/fifo", path);
    assert_refused(url, HF_EURL, "not a plain file");
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(unlink(url), 0);
    assert_int_equal(rmdir(path), 0);
}

/* True if the client sends its password to the server at
 * "zk://127.0.0.1:PORT${options}". ${lines} is a format for the lines of
 * HOLDFAST_AUTH_FILE, which gets the port; NULL: there is no file. */
static bool is_shown_by(const char *lines, const char *options)
{
    struct secret secret;
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;
    char url[256], text[512];

    fake_zookeeper_start(&zookeeper, ACCEPTS);
    if (lines != NULL) {
        (void)snprintf(text, sizeof text, lines,
                       (unsigned)zookeeper.server.port);
        secret_write(&secret, text, strlen(text), 0600);
        assert_int_equal(setenv("HOLDFAST_AUTH_FILE", secret.path, 1), 0);
    }
    engine_fixture_start(&fixture);
    (void)snprintf(url, sizeof(url), "zk://127.0.0.1:%u%s",
                   (unsigned)zookeeper.server.port, options);
    if (engine_fixture_open(&fixture, url) != HF_OK)
        fail_msg("%s", fixture.error.text);
    engine_fixture_run_until(&fixture, &zookeeper, &fixture.connected);
    engine_fixture_end(&fixture, &zookeeper);
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
    if (lines != NULL) {
        assert_int_equal(unsetenv("HOLDFAST_AUTH_FILE"), 0);
        secret_remove(&secret);
    }
    return zookeeper.received_password;
}

static bool is_shown(const char *options)
{
    return is_shown_by(NULL, options);
}

/* HOLDFAST_AUTH_FILE says which servers its lines are for, so a URL of an
 * argument cannot send them elsewhere. */
TEST(a_file_of_the_environment_is_for_its_servers)
{
    static const char *const others[] = {
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@other:%u\n",
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.1\n", /* 2181 */
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.1:7,h:%u\n",
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.11:%u\n",
        "zks://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.1:%u\n",
        "redis://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.1:%u\n",
    };
    static const char *const ours[] = {
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@127.0.0.1:%u\n",
        "# some\n\nZK://u:not@h\nzk://u:" ENGINE_FIXTURE_PASSWORD
        "@h1,127.0.0.1:%u,[::1]:7",
    };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (is_shown_by(others[i], ""))
            fail_msg("%s", others[i]);
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (!is_shown_by(ours[i], ""))
            fail_msg("%s", ours[i]);
    }
}

TEST(a_url_of_several_servers_wants_a_line_with_all)
{
    static const char text[] =
        "zk://u:" ENGINE_FIXTURE_PASSWORD "@A.example,b:2182,[::1]\n";
    static const struct {
        const char *url;
        bool fits;
    } rows[] = {
        {"zk://b:2182?", true},     {"zk://B:2182,a.example?", true},
        {"zk://[::1]:2181?", true}, {"zk://b?", false},
        {"zk://b:2182,c?", false},  {"zk://a.example.org?", false},
        {"zk://a.exampl?", false},  {"zk://[::2]?", false},
    };
    struct hf_error error;
    struct secret secret;
    struct hf_auth auth;
    struct hf_url url;
    const struct hf_auth_wanted wait_condition = {&url, "digest", 2181};
    char whole[128];

    secret_write(&secret, text, sizeof text - 1, 0600);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(whole, sizeof whole, "%sauth_file=%s", rows[i].url,
                       secret.path);
        assert_int_equal(hf_url_parse(whole, &url, &error), HF_OK);
        assert_int_equal(hf_auth_find(&wait_condition, &auth, &error),
                         rows[i].fits ? HF_OK : HF_EURL);
        if (rows[i].fits)
            assert_string_equal(auth.password, ENGINE_FIXTURE_PASSWORD);
        else
            assert_non_null(strstr(error.text, "no line for"));
        hf_url_free(&url);
    }
    secret_remove(&secret);
}

TEST(a_file_of_the_environment_that_makes_no_sense)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"\n", "no line"},
        {"digest:u:" ENGINE_FIXTURE_PASSWORD "\n", "that names no server"},
        {"zk://h\n", "not a URL"},
        {"zk://u@h\n", "not a URL"},
        {"zk://u:@h\n", "without a user or without a password"},
        {"zk://:" ENGINE_FIXTURE_PASSWORD "@h\n", "without a user"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@\n", "not a URL"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h,\n", "not a URL"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h:x\n", "not a URL"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h/a\n", "not a URL"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h?timeout=1s\n", "not a URL"},
        {"zk:/h\n", "not a URL"},
        {ENGINE_FIXTURE_PASSWORD "\n", "not a URL"},
        {"#\n\nzk://u:" ENGINE_FIXTURE_PASSWORD "@g\nzk://u:x@h x\n", "line 4"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h\nzk://v:x@g,h\n",
         "more than one"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD "@h\r\n", "no text"},
    };
    struct secret secret;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        secret_write(&secret, rows[i].text, strlen(rows[i].text), 0600);
        assert_int_equal(setenv("HOLDFAST_AUTH_FILE", secret.path, 1), 0);
        assert_refused("zk://h", HF_EURL, rows[i].part);
        assert_int_equal(unsetenv("HOLDFAST_AUTH_FILE"), 0);
        secret_remove(&secret);
    }
}

TEST(a_good_file_is_used)
{
    static const char text[] =
        "# for the locks\n\ndigest:u:" ENGINE_FIXTURE_PASSWORD "\n";
    struct secret secret;
    char options[128];

    secret_write(&secret, text, sizeof(text) - 1, 0400);
    (void)snprintf(options, sizeof(options), "?auth_file=%s&acl=creator",
                   secret.path);
    assert_true(is_shown(options));
    assert_false(is_shown(""));
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "/nonexistent", 1), 0);
    assert_refused("zk://h", HF_EURL, "/nonexistent");
    assert_true(is_shown(options)); /* the URL's own goes before */
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "", 1), 0);
    assert_refused("zk://h", HF_EURL, "HOLDFAST_AUTH_FILE is empty; expected");
    assert_int_equal(unsetenv("HOLDFAST_AUTH_FILE"), 0);
    secret_remove(&secret);
}

TEST_FILE(credentials)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
