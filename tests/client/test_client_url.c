/* SPDX-License-Identifier: Apache-2.0 */
/* Where the URL of a client comes from: the environment, or a descriptor that a
 * run around the program has left open. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "base/url.h"
#include "client/client_url.h"
#include "cmocka/runner.h"

#define SECRET "zk://user:geheim@127.0.0.1:1"

TEST(an_empty_variable_is_refused)
{
    struct hf_client *client;
    struct hf_error error;
    const char *url;

    assert_int_equal(setenv("HOLDFAST_URL", "", 1), 0);
    assert_int_equal(hf_client_url_of_environment(&url, &error), HF_EURL);
    assert_int_equal(hf_client_open(NULL, NULL, &client), HF_EURL);
    assert_null(client);
    assert_non_null(
        strstr(hf_last_error()->text, "HOLDFAST_URL is empty; expected"));
    assert_int_equal(unsetenv("HOLDFAST_URL"), 0);
    assert_int_equal(hf_client_url_of_environment(&url, &error), HF_OK);
    assert_null(url);
}

TEST(a_reference_has_the_url)
{
    char reference[HF_URL_REFERENCE_BYTES];
    struct hf_client *client;
    struct hf_error error;
    char *url, text[200];
    int fd = hf_client_url_refer(SECRET, reference);

    assert_true(fd > 2);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_false(hf_url_has_secret(reference));
    /* As often as anybody asks: the offset is not used. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_client_url_take(reference, &url, &error), HF_OK);
        assert_string_equal(url, SECRET);
        hf_client_url_free(url);
    }
    assert_int_equal(setenv("HOLDFAST_URL", reference, 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            hf_client_open(i == 0 ? NULL : reference, NULL, &client), HF_OK);
        hf_client_describe(client, text, sizeof text);
        assert_non_null(strstr(text, "127.0.0.1:1"));
        assert_int_equal(hf_client_close(client), HF_OK);
    }
    assert_int_equal(unsetenv("HOLDFAST_URL"), 0);
    assert_int_equal(close(fd), 0);
}

/* Refuse ${reference}; the text says why. */
static void assert_refused(const char *reference)
{
    struct hf_error error;
    char *url;

    assert_int_equal(hf_client_url_take(reference, &url, &error), HF_EURL);
    assert_null(url);
    assert_non_null(strstr(error.text, "has closed that; expected"));
    assert_null(strstr(error.text, "geheim"));
}

/* Write a reference to ${fd}, whatever that is. */
static void refer_to(int fd, char reference[HF_URL_REFERENCE_BYTES])
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    (void)snprintf(reference, HF_URL_REFERENCE_BYTES, "fd:%d:%llu:%llu", fd,
                   (unsigned long long)status.st_dev,
                   (unsigned long long)status.st_ino);
}

TEST(another_descriptor_is_refused)
{
    char reference[HF_URL_REFERENCE_BYTES], other[HF_URL_REFERENCE_BYTES];
    int fd = hf_client_url_refer(SECRET, reference);
    int second = hf_client_url_refer("file:/run/other", other);
    int plain;

    assert_true(fd > 2 && second > 2);
    assert_int_equal(dup2(second, fd), fd);
    assert_refused(reference);
    assert_int_equal(close(fd), 0);
    assert_refused(reference);
    assert_int_equal(close(second), 0);
    /* A file that nobody has sealed, though device and inode are right. */
    plain = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
    assert_true(plain >= 0);
    refer_to(plain, other);
    assert_refused(other);
    assert_int_equal(close(plain), 0);
}

/* Whatever is no reference is taken for a URL, and read as one. */
TEST(other_texts_are_copied)
{
    static const char *const texts[] = {"",
                                        "file:",
                                        "fd:",
                                        "fd:1:2",
                                        "fd:1:2:3x",
                                        "fd:-1:2:3",
                                        "fd:99999999999999999999999:x:y",
                                        SECRET};
    struct hf_error error;
    char *url;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(hf_client_url_take(texts[i], &url, &error), HF_OK);
        assert_string_equal(url, texts[i]);
        hf_client_url_free(url);
    }
}

TEST(a_low_limit_of_descriptors_is_kept)
{
    char reference[HF_URL_REFERENCE_BYTES];
    struct rlimit before, low;
    int fd;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){128, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    fd = hf_client_url_refer(SECRET, reference);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(fd >= 64 && fd < 128);
    assert_int_equal(close(fd), 0);
}
