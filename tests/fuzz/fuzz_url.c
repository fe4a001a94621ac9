/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an engine URL, and as the password in one.  Properties: what
 * is parsed is valid UTF-8 and parses again, an error says what was
 * expected, and no error contains the password. */
#include <string.h>

#include "base/url.h"
#include "base/url_options.h"
#include "base/utf8.h"
#include "engines/zookeeper/zk_config.h"
#include "fuzz.h"

/* Part of no text of the library or of this file. */
#define CANARY "QJXZW"

static void check_text(const char *text)
{
    MUST(text == NULL || hf_utf8_valid(text, strlen(text)));
}

static void check_parsed(const char *text, const struct hf_url *url)
{
    uint64_t ms;

    MUST(url->scheme != NULL && url->scheme[0] != '\0');
    MUST(url->path != NULL);
    MUST(url->path[0] == '\0' || url->path[0] == '/');
    MUST(url->password == NULL || url->user != NULL);
    MUST(url->user == NULL || url->authority != NULL);
    MUST(url->password == NULL || hf_url_has_secret(text));
    check_text(url->user);
    check_text(url->password);
    check_text(url->authority);
    check_text(url->path);
    MUST(url->option_count <= HF_URL_OPTIONS);
    for (size_t i = 0; i < url->option_count; i++) {
        check_text(url->options[i].value);
        MUST(hf_url_option(url, url->options[i].key) == url->options[i].value);
        (void)hf_duration_parse(url->options[i].value, &ms);
    }
}

static void check_equal(const char *a, const char *b)
{
    MUST((a == NULL) == (b == NULL));
    MUST(a == NULL || strcmp(a, b) == 0);
}

static void check_again(const char *text, const struct hf_url *url)
{
    struct hf_url again;

    MUST(hf_url_parse(text, &again, NULL) == HF_OK);
    check_equal(url->scheme, again.scheme);
    check_equal(url->user, again.user);
    check_equal(url->password, again.password);
    check_equal(url->authority, again.authority);
    check_equal(url->path, again.path);
    MUST(url->option_count == again.option_count);
    hf_url_free(&again);
}

/* The URL as the ZooKeeper engine reads it. */
static void check_config(const struct hf_url *url)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_zk_engine_config config;
    hf_status st;

    if (strcmp(url->scheme, "zk") != 0 && strcmp(url->scheme, "zks") != 0)
        return;
    st = hf_zk_engine_config_parse(&config, url, &error);
    MUST(st == HF_OK || (st == HF_EURL && error.status == HF_EURL));
    MUST(hf_utf8_valid(error.text, strlen(error.text)));
    if (st != HF_OK) {
        MUST(strstr(error.text, "expected") != NULL);
        return;
    }
    MUST(config.url.session.server_count > 0 &&
         config.url.session.server_count <= HF_ZK_SERVERS_MAX);
    for (size_t i = 0; i < config.url.session.server_count; i++) {
        MUST(config.url.session.servers[i].host[0] != '\0');
        MUST(config.url.session.servers[i].port != 0);
    }
    MUST(config.url.chroot[0] == '\0' || config.url.chroot[0] == '/');
    MUST(config.url.session.timeout_ms >= 1000 &&
         config.url.session.timeout_ms <= 600000);
    MUST((config.url.session.auth[0] != '\0') == (url->user != NULL));
}

static void try_text(const char *text)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    hf_status st = hf_url_parse(text, &url, &error);

    if (st == HF_OK) {
        check_parsed(text, &url);
        check_again(text, &url);
        check_config(&url);
        hf_url_free(&url);
    } else {
        MUST(st == HF_EURL && error.status == HF_EURL);
        MUST(url.memory == NULL);
        MUST(hf_utf8_valid(error.text, strlen(error.text)));
        MUST(strstr(error.text, "expected") != NULL);
    }
}

/* No error text contains the password, whether the URL is malformed or an
 * engine refuses an option. */
static void try_as_password(const char *text)
{
    static const struct hf_url_option_row row = {.key = "other"};
    struct hf_zk_engine_config config;
    size_t bytes = strlen(text) + 100;
    char *entire = malloc(bytes);
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    MUST(entire != NULL);
    snprintf(entire, bytes, "zk://user:%s" CANARY "@host", text);
    MUST(hf_url_has_secret(entire));
    if (hf_url_parse(entire, &url, &error) == HF_OK) {
        MUST(strstr(url.authority, CANARY) == NULL);
        MUST(strstr(url.path, CANARY) == NULL);
        (void)hf_url_options_read(&url, &row, 1, NULL, &error);
        MUST(strstr(error.text, CANARY) == NULL);
        (void)hf_zk_engine_config_parse(&config, &url, &error);
        hf_url_free(&url);
    }
    MUST(strstr(error.text, CANARY) == NULL);
    free(entire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);

    (void)hf_url_has_secret(text);
    try_text(text);
    if (strstr(text, CANARY) == NULL)
        try_as_password(text);
    free(text);
    return 0;
}
