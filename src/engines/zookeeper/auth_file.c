/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/auth_file.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "core/utf8.h"
#include "transport/secret_file.h"

#define SCHEME "digest:"

/* The line that counts, or NULL with ${fault} set. */
static char *find_line(char *text, const char **fault)
{
    char *found = NULL;
    char *rest = text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        *fault = "more than one line of credentials";
        if (found != NULL)
            return NULL;
        found = line;
    }
    if (found == NULL)
        *fault = "no line of credentials";
    return found;
}

static bool has_controls(const char *text)
{
    size_t bytes = strlen(text);
    uint32_t code = 0;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0 || hf_utf8_control(code))
            return true;
    }
    return false;
}

static const char *take_line(const char *line, char auth[HF_ZK_AUTH_BYTES])
{
    const char *user, *colon;

    if (strncmp(line, SCHEME, strlen(SCHEME)) != 0)
        return "a line that is not of the scheme \"digest\"";
    if (has_controls(line))
        return "bytes that are no text (a carriage return, perhaps)";
    user = line + strlen(SCHEME);
    colon = strchr(user, ':');
    if (colon == NULL || colon == user || colon[1] == '\0')
        return "a line without a user or without a password";
    if (strlen(user) >= HF_ZK_AUTH_BYTES)
        return "a line that is too long";
    memcpy(auth, user, strlen(user) + 1);
    return NULL;
}

hf_status hf_zk_auth_file_parse(const char *path, char *text, size_t bytes,
                                char auth[HF_ZK_AUTH_BYTES],
                                struct hf_error *error)
{
    const char *fault = "a NUL in it";
    char *line;

    assert(text[bytes] == '\0');
    if (strlen(text) == bytes && (line = find_line(text, &fault)) != NULL)
        fault = take_line(line, auth);
    if (fault == NULL)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the file of credentials %s has %s; expected one line "
                        "digest:USER:PASSWORD of less than %d bytes",
                        path, fault, HF_ZK_AUTH_BYTES);
}

hf_status hf_zk_auth_file_read(const char *path, char auth[HF_ZK_AUTH_BYTES],
                               struct hf_error *error)
{
    char text[HF_SECRET_FILE_BYTES];
    size_t bytes = 0;
    hf_status status =
        hf_secret_file_read(path, "digest:USER:PASSWORD", text, &bytes, error);

    if (status == HF_OK)
        status = hf_zk_auth_file_parse(path, text, bytes, auth, error);
    explicit_bzero(text, sizeof(text));
    return status;
}
