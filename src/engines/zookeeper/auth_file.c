/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/auth_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/utf8.h"

#define FILE_BYTES 4096
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

static hf_status check_owner(int fd, const char *path, struct hf_error *error)
{
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return hf_error_set(error, HF_EURL,
                            "the file of credentials %s is not a plain file; "
                            "expected one with a line digest:USER:PASSWORD",
                            path);
    if (status.st_uid != geteuid())
        return hf_error_set(error, HF_EDENIED,
                            "the file of credentials %s belongs to user %u; "
                            "expected it to be owned by user %u, who runs this",
                            path, (unsigned)status.st_uid, (unsigned)geteuid());
    if ((status.st_mode & 0077) != 0)
        return hf_error_set(error, HF_EDENIED,
                            "the file of credentials %s has mode %04o and is "
                            "open to others; expected 0600: chmod it, and "
                            "change the password if others may have read it",
                            path, (unsigned)status.st_mode & 07777);
    return HF_OK;
}

static hf_status read_all(int fd, const char *path, char text[FILE_BYTES + 1],
                          size_t *bytes, struct hf_error *error)
{
    ssize_t got = 1;

    for (*bytes = 0; got > 0 && *bytes < FILE_BYTES; *bytes += (size_t)got) {
        got = read(fd, text + *bytes, FILE_BYTES - *bytes);
        if (got < 0)
            return hf_error_set(error, HF_EURL,
                                "the file of credentials %s cannot be read: "
                                "%s",
                                path, strerrordesc_np(errno));
    }
    text[*bytes] = '\0';
    if (*bytes < FILE_BYTES)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the file of credentials %s is too long; expected less "
                        "than %d bytes",
                        path, FILE_BYTES);
}

hf_status hf_zk_auth_file_read(const char *path, char auth[HF_ZK_AUTH_BYTES],
                               struct hf_error *error)
{
    /* Not blocking, in case it is a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char text[FILE_BYTES + 1];
    size_t bytes = 0;
    hf_status status;

    if (fd < 0)
        return hf_error_set(error, errno == EACCES ? HF_EDENIED : HF_EURL,
                            "the file of credentials %s cannot be opened: %s; "
                            "create it, or correct auth_file= or "
                            "HOLDFAST_AUTH_FILE, which names it",
                            path, strerrordesc_np(errno));
    if ((status = check_owner(fd, path, error)) == HF_OK)
        status = read_all(fd, path, text, &bytes, error);
    (void)close(fd);
    if (status == HF_OK)
        status = hf_zk_auth_file_parse(path, text, bytes, auth, error);
    explicit_bzero(text, sizeof(text));
    return status;
}
