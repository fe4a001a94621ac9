/* SPDX-License-Identifier: Apache-2.0 */
/* What a session with etcd gets besides its URL: credentials of a file, and the
 * servers as text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "etcd_io/etcd_prepare.h"

static char path[] = "/tmp/etcd-prepare-XXXXXX";
static char logged[512];

__attribute__((format(printf, 3, 4))) static void
log_line(void *nobody, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)nobody;
    assert_int_equal(level, HF_LOG_WARNING);
    va_start(args, format);
    (void)vsnprintf(logged, sizeof logged, format, args);
    va_end(args);
}

/* A file of credentials with ${text}. */
static int set_up(void **state)
{
    int fd;

    (void)state;
    (void)strcpy(path, "/tmp/etcd-prepare-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    (void)unsetenv("HOLDFAST_AUTH_FILE");
    logged[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unsetenv("HOLDFAST_AUTH_FILE");
    return unlink(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Prepare ${text}; ${options} may be "auth_file". */
static hf_status prepare(const char *text, bool auth_file,
                         struct hf_etcd_url_config *config, char **description,
                         struct hf_error *error)
{
    const struct hf_engine_host host = {.log = log_line};
    char complete[512];
    struct hf_url url;
    hf_status status;

    (void)snprintf(complete, sizeof complete, "%s%s%s", text,
                   auth_file ? "?auth_file=" : "", auth_file ? path : "");
    *description = NULL;
    memset(config, 0, sizeof *config);
    assert_int_equal(hf_url_parse(complete, &url, error), HF_OK);
    assert_int_equal(hf_etcd_url_parse(config, &url, error), HF_OK);
    status = hf_etcd_prepare(config, &url, &host, description, error);
    hf_url_free(&url);
    return status;
}

TEST(description)
{
    static const char *const texts[][2] = {
        {"etcd://u:secret@host", "etcd://host:2379"},
        {"etcd://a:1,b:2/jobs", "etcd://a:1,b:2/jobs"},
        {"etcds://[::1],h:5/a/b/", "etcds://[::1]:2379,h:5/a/b"},
    };
    struct hf_etcd_url_config config;
    struct hf_error error;
    char *text;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(prepare(texts[i][0], false, &config, &text, &error),
                         HF_OK);
        assert_string_equal(text, texts[i][1]);
        assert_true(config.session.random.s[0] != 0);
        hf_free(text);
    }
}

TEST_WITH(a_file_names_the_servers, set_up, tear_down)
{
    struct hf_etcd_url_config config;
    struct hf_error error;
    char *text;

    write_file("# for the cluster\netcd://me:word@b:2379,a\n");
    assert_int_equal(prepare("etcd://a,b", true, &config, &text, &error),
                     HF_OK);
    assert_string_equal(config.session.user, "me");
    assert_string_equal(config.session.password, "word");
    hf_free(text);
    /* Not the same servers, and not the same scheme. */
    assert_int_equal(prepare("etcd://a,c", true, &config, &text, &error),
                     HF_EURL);
    assert_int_equal(prepare("etcds://a", true, &config, &text, &error),
                     HF_EURL);
    assert_null(strstr(error.text, "word"));
}

TEST_WITH(a_file_for_any_server, set_up, tear_down)
{
    struct hf_etcd_url_config config;
    struct hf_error error;
    char *text;

    write_file("etcd:me:word\n");
    assert_int_equal(prepare("etcds://a", true, &config, &text, &error), HF_OK);
    assert_string_equal(config.session.user, "me");
    hf_free(text);
    write_file("etcd::word\n");
    assert_int_equal(prepare("etcds://a", true, &config, &text, &error),
                     HF_EURL);
    assert_non_null(strstr(error.text, "a line without a user"));
    assert_null(strstr(error.text, "word"));
}

/* The environment gives credentials to the servers that it names only. */
TEST_WITH(a_file_of_the_environment, set_up, tear_down)
{
    struct hf_etcd_url_config config;
    struct hf_error error;
    char *text;

    write_file("etcd://me:word@a\n");
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", path, 1), 0);
    assert_int_equal(prepare("etcd://a", false, &config, &text, &error), HF_OK);
    assert_string_equal(config.session.user, "me");
    assert_string_equal(logged, "");
    hf_free(text);
    assert_int_equal(prepare("etcd://c", false, &config, &text, &error), HF_OK);
    assert_string_equal(config.session.user, "");
    assert_non_null(strstr(logged, "has no line for all of the servers c"));
    hf_free(text);
    /* A user of the URL counts alone. */
    assert_int_equal(prepare("etcd://u:p@a", false, &config, &text, &error),
                     HF_OK);
    assert_string_equal(config.session.user, "u");
    hf_free(text);
}
