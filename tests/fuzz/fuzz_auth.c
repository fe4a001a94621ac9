/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of credentials.  The first byte chooses the URL that
 * they are for.  Properties: what is found belongs to that URL, and an error
 * never contains a password. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "transport/auth_file.h"

#define PASSWORD "QJXZW"

static const struct {
    const char *url;
    const char *word;
    unsigned port;
    const char *hosts[2]; /* hosts that a matching line must name */
} rows[] = {
    {"zk://h1:7,h2", "digest", 2181, {"h1:7", "h2"}},
    {"zks://[::1]/a", "digest", 2281, {"[::1]", "[::1]"}},
    {"redis://h1", "redis", 6379, {"h1", "h1"}},
    {"redis:/run/s?db=1", "redis", 6379, {"/run/s", "/run/s"}},
    {"redis://h1?auth_file=/f", "redis", 6379, {"", ""}},
};

static void check_found(const struct hf_auth *auth, const char *text,
                        size_t row)
{
    MUST(strlen(auth->user) < HF_AUTH_BYTES);
    MUST(strlen(auth->password) < HF_AUTH_BYTES);
    MUST(auth->for_other_servers == (auth->password[0] == '\0'));
    if (auth->for_other_servers)
        return;
    MUST(strstr(text, "//") != NULL || rows[row].hosts[0][0] == '\0');
    MUST(strchr(text, '%') != NULL ||
         (strcasestr(text, rows[row].hosts[0]) != NULL &&
          strcasestr(text, rows[row].hosts[1]) != NULL));
}

static void check_refused(const struct hf_error *error)
{
    MUST(error->status == HF_EURL);
    MUST(strstr(error->text, "/f") != NULL);
    MUST(strstr(error->text, "expected") != NULL);
    MUST(strstr(error->text, PASSWORD) == NULL);
    MUST(hf_utf8_valid(error->text, strlen(error->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t row = bytes > 0 ? data[0] % (sizeof rows / sizeof rows[0]) : 0;
    size_t skipped = bytes > 0;
    char *text = fuzz_text(data + skipped, bytes - skipped);
    char *as_it_was = fuzz_text(data + skipped, bytes - skipped);
    struct hf_error error = {HF_OK, ""};
    struct hf_auth auth;
    struct hf_url url;
    struct hf_auth_wanted wanted = {&url, rows[row].word, rows[row].port};

    MUST(hf_url_parse(rows[row].url, &url, &error) == HF_OK);
    if (hf_auth_parse(&wanted, "/f", text, bytes - skipped, &auth, &error) ==
        HF_OK)
        check_found(&auth, as_it_was, row);
    else
        check_refused(&error);
    hf_url_free(&url);
    free(as_it_was);
    free(text);
    return 0;
}
