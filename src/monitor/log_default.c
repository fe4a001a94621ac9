/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line is one system call, so that the lines of several threads and
 * processes do not mix.  No line waits for its reader, because the thread that
 * writes it may be the one that renews a lease: lines that find no room are
 * counted, and the next one that finds room says how many they were.
 */
#include "monitor/log_default.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monitor/nonblocking_write.h"

/* Room for a line, each character of it escaped. */
#define LINE_BYTES ((size_t)2 * HF_LOG_BYTES + HF_LOG_JSON_BYTES)

static const char *const names[] = {
    [HF_LOG_ERROR] = "error",
    [HF_LOG_WARNING] = "warning",
    [HF_LOG_INFO] = "info",
    [HF_LOG_DEBUG] = "debug",
};
#define LEVELS (sizeof(names) / sizeof(*names))

static const char *name_of(enum hf_log_level level)
{
    return (unsigned)level < LEVELS ? names[level] : "?";
}

static const char *chosen(void)
{
    const char *value = secure_getenv("HOLDFAST_LOG");

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static size_t format_text(char *text, size_t bytes, enum hf_log_level level,
                          const struct hf_log_origin *origin, const char *line)
{
    const char *session = origin->session, *server = origin->server;
    int wanted =
        snprintf(text, bytes, "holdfast[%d]: %s: %s%s%s%s%s\n", (int)getpid(),
                 name_of(level), line, session[0] != '\0' ? " session=" : "",
                 session, server[0] != '\0' ? " server=" : "", server);

    if (wanted < 0)
        return 0;
    return (size_t)wanted < bytes ? (size_t)wanted : bytes - 1;
}

/* A line that is being written; what finds no room is cut. */
struct json_line {
    char *text;
    size_t used;
    size_t room; /* without the bytes for the end */
};

/* Append ,"${key}":"${value}", with quotes and backslashes escaped; nothing if
 * ${value} is empty. */
static void put_field(struct json_line *to, const char *key, const char *value)
{
    if (value[0] == '\0' || to->room - to->used < strlen(key) + 8)
        return;
    to->used += (size_t)sprintf(to->text + to->used, ",\"%s\":\"", key);
    for (; *value != '\0' && to->used + 3 < to->room; value++) {
        if (*value == '"' || *value == '\\')
            to->text[to->used++] = '\\';
        to->text[to->used++] = *value;
    }
    to->text[to->used++] = '"';
}

size_t hf_log_format_json(char *text, size_t bytes, enum hf_log_level level,
                          const struct hf_log_origin *origin, const char *line)
{
    struct json_line to = {.text = text, .room = bytes - 2};
    time_t now = time(NULL); /* for people; nothing is decided by it */
    struct tm parts;
    char at[32] = "";

    assert(bytes > HF_LOG_JSON_BYTES);
    if (gmtime_r(&now, &parts) != NULL)
        (void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &parts);
    to.used = (size_t)snprintf(text, bytes, "{\"time\":\"%s\",\"pid\":%d", at,
                               (int)getpid());
    put_field(&to, "level", name_of(level));
    put_field(&to, "session", origin->session);
    put_field(&to, "server", origin->server);
    put_field(&to, "text", line);
    text[to.used++] = '}';
    text[to.used++] = '\n';
    return to.used;
}

/* How a line is written, in one of the two forms. */
typedef size_t format_fn(char *text, size_t bytes, enum hf_log_level level,
                         const struct hf_log_origin *origin, const char *line);

static bool write_line(format_fn *format, enum hf_log_level level,
                       const struct hf_log_origin *origin, const char *line)
{
    char text[LINE_BYTES];
    size_t bytes = format(text, sizeof(text), level, origin, line);

    return bytes > 0 && hf_write_nonblocking(STDERR_FILENO, text, bytes);
}

/* Lines of all clients that found no room and are not mentioned yet. */
static _Atomic unsigned lost_lines;

static bool mention_lost(format_fn *format, const struct hf_log_origin *origin)
{
    unsigned lost = atomic_exchange(&lost_lines, 0);
    char text[HF_LOG_BYTES];

    if (lost == 0)
        return true;
    hf_log_format_lost(lost, text);
    if (write_line(format, HF_LOG_WARNING, origin, text))
        return true;
    atomic_fetch_add(&lost_lines, lost);
    return false;
}

static void write_counted(format_fn *format, enum hf_log_level level,
                          const struct hf_log_origin *origin, const char *line)
{
    if (!mention_lost(format, origin) ||
        !write_line(format, level, origin, line))
        atomic_fetch_add(&lost_lines, 1);
}

static void log_text(void *arg, enum hf_log_level level, const char *line)
{
    write_counted(format_text, level, arg, line);
}

static void log_json(void *arg, enum hf_log_level level, const char *line)
{
    write_counted(hf_log_format_json, level, arg, line);
}

bool hf_log_is_chosen(void)
{
    return chosen() != NULL;
}

bool hf_log_is_json(void)
{
    const char *value = chosen();
    const char *comma = value != NULL ? strchr(value, ',') : NULL;

    return value != NULL &&
           strcmp(comma != NULL ? comma + 1 : value, "json") == 0;
}

/* With any other value the level is the usual one, and a warning says what is
 * wrong. */
struct hf_on_log hf_log_choose(struct hf_on_log on_log)
{
    const char *value = chosen();
    struct hf_log_origin nowhere = {.session = ""};
    bool json = hf_log_is_json();
    size_t bytes;

    if (on_log.fn != NULL || value == NULL)
        return on_log;
    bytes = strcspn(value, ",");
    on_log =
        (struct hf_on_log){json ? log_json : log_text, NULL, HF_LOG_WARNING};
    for (size_t i = 0; i < LEVELS; i++)
        if (strlen(names[i]) == bytes && memcmp(value, names[i], bytes) == 0 &&
            (json || value[bytes] == '\0')) {
            on_log.level = (enum hf_log_level)i;
            return on_log;
        }
    if (strcmp(value, "json") != 0)
        on_log.fn(&nowhere, HF_LOG_WARNING,
                  "HOLDFAST_LOG is not as expected: error, warning, info or "
                  "debug, and perhaps ',json' behind it, such as info,json; or "
                  "json");
    return on_log;
}
