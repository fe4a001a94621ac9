/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a TLS configuration: which ones the module refuses, and with
 * what text. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "certificates.h"
#include "client/engines.h"
#include "cmocka/runner.h"

static struct certificates certificates;
static const struct hf_tls_ops *tls;
static int blocks;

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

static void path_of(const char *name, char path[CERTIFICATES_PATH_BYTES])
{
    certificates_path(&certificates, name, path);
}

TEST(files_that_are_wrong_are_named)
{
    static const struct {
        const char *ca, *cert, *key;
        const char *part;
    } rows[] = {
        {"none.pem", NULL, NULL, "none.pem cannot be used: No such file"},
        {"ca.key", NULL, NULL, "ca.key cannot be used"},
        {"", NULL, NULL, "cannot be used"}, /* the directory */
        {"ca.pem", "none.pem", "client.key", "cert="},
        {"ca.pem", "client.key", "client.key", "cert="},
        {"ca.pem", "client.pem", "none.key", "key="},
        {"ca.pem", "client.pem", "", "key="}, /* the directory */
        {"ca.pem", "client.pem", "client.pem", "key="},
        {"ca.pem", "client.pem", "server.key", "key values mismatch"},
        {"ca.pem", "locked.pem", "locked.key", "without a passphrase"},
    };
    char ca[CERTIFICATES_PATH_BYTES], cert[CERTIFICATES_PATH_BYTES],
        key[CERTIFICATES_PATH_BYTES];
    struct hf_tls_context *context;
    struct hf_error error;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hf_tls_files files = {ca, NULL, NULL};

        path_of(rows[i].ca, ca);
        if (rows[i].cert != NULL) {
            path_of(rows[i].cert, cert);
            path_of(rows[i].key, key);
            files.cert = cert;
            files.key = key;
        }
        assert_int_equal(tls->context_new(&memory, &files, &context, &error),
                         HF_EURL);
        assert_null(context);
        if (strstr(error.text, rows[i].part) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", error.text, rows[i].part);
        assert_non_null(strstr(error.text, "expected"));
        assert_int_equal(blocks, 0);
    }
}

static hf_status use_key(const char *part)
{
    char cert[CERTIFICATES_PATH_BYTES], key[CERTIFICATES_PATH_BYTES],
        ca[CERTIFICATES_PATH_BYTES];
    const struct hf_tls_files files = {ca, cert, key};
    struct hf_tls_context *context;
    struct hf_error error;
    hf_status status;

    path_of("ca.pem", ca);
    path_of("client.pem", cert);
    path_of("client.key", key);
    status = tls->context_new(&memory, &files, &context, &error);
    if (status == HF_OK)
        tls->context_free(context);
    else if (strstr(error.text, part) == NULL ||
             strstr(error.text, key) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, part);
    return status;
}

static void set_mode(const char *name, mode_t mode)
{
    char path[CERTIFICATES_PATH_BYTES];

    path_of(name, path);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(a_key_that_others_can_read_is_refused)
{
    static const mode_t closed[] = {0600, 0400};
    static const mode_t open[] = {0644, 0604, 0660, 0620, 0650, 0602, 0601};

    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        set_mode("client.key", closed[i]);
        assert_int_equal(use_key(""), HF_OK);
    }
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        set_mode("client.key", open[i]);
        assert_int_equal(use_key("chmod"), HF_EDENIED);
    }
    /* A key of root may be readable for its group, as Debian's ssl-cert has
     * it. */
    set_mode("client.key", 0640);
    assert_int_equal(use_key("chmod"), geteuid() == 0 ? HF_OK : HF_EDENIED);
    set_mode("client.key", 0600);
}

#define SOMEBODY 65534

static void give(const char *name, uid_t user)
{
    char path[CERTIFICATES_PATH_BYTES];

    path_of(name, path);
    assert_int_equal(chown(path, user, SOMEBODY), 0);
}

TEST(a_key_of_somebody_else_is_refused)
{
    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    give("client.key", SOMEBODY);
    assert_int_equal(use_key("belongs to user 65534"), HF_EDENIED);
    set_mode("", 0755);
    set_mode("ca.pem", 0644);
    set_mode("client.pem", 0644);
    assert_int_equal(setegid(SOMEBODY), 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    assert_int_equal(use_key(""), HF_OK); /* our own */
    set_mode("client.key", 0640);
    assert_int_equal(use_key("0640"), HF_EDENIED);
    assert_int_equal(seteuid(0), 0);
    give("client.key", 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    assert_int_equal(use_key(""), HF_OK); /* root's, for our group */
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    set_mode("client.key", 0600);
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

TEST_FILE(tls_files)
{
    struct hf_error error;

    if (hf_engines_tls(&tls, &error) != HF_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return RUN_TESTS(set_up, tear_down);
}
