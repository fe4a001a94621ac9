/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See history_event.h.  The parser and the writer both follow the tables of
 * words and keys below.
 */
#include "torture/history_event.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"

/* Keys, as a set of bits. */
enum key {
    KEY_KIND = 1,
    KEY_PERMITS = 2,
    KEY_LIMIT = 4,
    KEY_TOKEN = 8,
    KEY_SAFE_UNTIL = 16,
    KEY_ACCEPTED = 32,
    KEY_AT = 64,
};

static const struct {
    const char *name;
    enum key key;
} keys[] = {
    {"kind", KEY_KIND},
    {"permits", KEY_PERMITS},
    {"limit", KEY_LIMIT},
    {"token", KEY_TOKEN},
    {"safe_until", KEY_SAFE_UNTIL},
    {"accepted", KEY_ACCEPTED},
    {"at", KEY_AT},
};
#define KEYS (sizeof keys / sizeof *keys)

static const struct {
    const char *name;
    unsigned needs;     /* keys that must be given */
    unsigned may;       /* further keys that may be given */
    bool entire_client; /* the event is about the whole client: "-" for LOCK */
} types[] = {
    [HF_HISTORY_WANT] = {"want", KEY_KIND, KEY_PERMITS | KEY_LIMIT, false},
    [HF_HISTORY_QUEUED] = {"queued", 0, 0, false},
    [HF_HISTORY_UNQUEUED] = {"unqueued", 0, 0, false},
    [HF_HISTORY_GRANT] = {"grant", KEY_TOKEN, KEY_SAFE_UNTIL, false},
    [HF_HISTORY_HELD] = {"held", KEY_SAFE_UNTIL, 0, false},
    [HF_HISTORY_SEEN] = {"seen", KEY_AT, 0, false},
    [HF_HISTORY_WRITE] = {"write", KEY_TOKEN | KEY_ACCEPTED, 0, false},
    [HF_HISTORY_SHARED] = {"shared", KEY_TOKEN, 0, false},
    [HF_HISTORY_RELEASE] = {"release", KEY_TOKEN, 0, false},
    [HF_HISTORY_LOST] = {"lost", KEY_TOKEN, 0, false},
    [HF_HISTORY_GAVEUP] = {"gaveup", 0, 0, false},
    [HF_HISTORY_DIED] = {"died", 0, 0, true},
    [HF_HISTORY_FROZEN] = {"frozen", 0, 0, true},
    [HF_HISTORY_THAWED] = {"thawed", 0, 0, true},
};
#define TYPES (sizeof types / sizeof *types)

static const struct {
    const char *name;
    enum hf_kind kind;
} kinds[] = {
    {"mutex", HF_KIND_MUTEX},       {"read", HF_KIND_READ},
    {"write", HF_KIND_WRITE},       {"semaphore", HF_KIND_SEMAPHORE},
    {"election", HF_KIND_ELECTION},
};
#define KINDS (sizeof kinds / sizeof *kinds)

const char *hf_history_kind_name(enum hf_kind kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "?";
}

/* ---------------------------------------------------------------- values -- */

/* Parse a decimal number of 64 bits. */
static bool parse_number(const char *text, uint64_t *number)
{
    *number = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return true;
}

/* Parse a number of permits, which is 1 or more. */
static bool parse_permits(const char *text, uint32_t *permits)
{
    uint64_t number;

    if (!parse_number(text, &number) || number == 0 || number > UINT32_MAX)
        return false;
    *permits = (uint32_t)number;
    return true;
}

/* Parse a time, or "forever". */
static bool parse_safe_until(const char *text, uint64_t *at_us)
{
    if (strcmp(text, "forever") == 0) {
        *at_us = HF_FOREVER;
        return true;
    }
    return parse_number(text, at_us);
}

static bool parse_accepted(const char *text, bool *accepted)
{
    *accepted = strcmp(text, "yes") == 0;
    return *accepted || strcmp(text, "no") == 0;
}

/* Parse the name of a kind. */
static bool parse_kind(const char *text, enum hf_kind *kind)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(text, kinds[i].name) == 0) {
            *kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* Parse the value of ${key} into its field of ${event}. */
static bool parse_value(enum key key, const char *text,
                        struct hf_history_event *event)
{
    switch (key) {
    case KEY_KIND:
        return parse_kind(text, &event->kind);
    case KEY_PERMITS:
        return parse_permits(text, &event->permits);
    case KEY_LIMIT:
        return parse_permits(text, &event->limit);
    case KEY_TOKEN:
        return parse_number(text, &event->token);
    case KEY_SAFE_UNTIL:
        return parse_safe_until(text, &event->safe_until_us);
    case KEY_ACCEPTED:
        return parse_accepted(text, &event->accepted);
    case KEY_AT:
        return parse_number(text, &event->seen_us);
    }
    return false;
}

/* ----------------------------------------------------------------- parse -- */

/* Refuse ${text}, which is no valid ${what}, with HF_EINVAL.  ${text} is NULL
 * if it is missing. */
static hf_status refuse(struct hf_error *error, const char *what,
                        const char *text, const char *expected)
{
    if (text == NULL)
        return hf_error_set(error, HF_EINVAL, "%s is missing; expected %s",
                            what, expected);
    return hf_error_set(error, HF_EINVAL, "%s: no %s; expected %s",
                        hf_quote(text, strlen(text)).text, what, expected);
}

/* Return the next word of a line, with a NUL behind it, and move ${rest} behind
 * the word.  Returns NULL at the end of the line. */
static char *next_word(char **rest)
{
    char *piece = *rest + strspn(*rest, " \t\r\n");

    if (*piece == '\0')
        return NULL;
    *rest = piece + strcspn(piece, " \t\r\n");
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return piece;
}

/* Parse the WORD. */
static hf_status take_type(char **rest, struct hf_history_event *event,
                           struct hf_error *error)
{
    const char *text = next_word(rest);

    for (size_t i = 0; text != NULL && i < TYPES; i++) {
        if (strcmp(text, types[i].name) == 0) {
            event->type = (enum hf_history_event_type)i;
            return HF_OK;
        }
    }
    return refuse(error, "word", text,
                  "want, queued, unqueued, grant, held, seen, write, "
                  "shared, release, lost, gaveup, died, frozen or thawed");
}

/* Parse the LOCK.  It is "-" for events about the whole client. */
static hf_status take_lock(char **rest, struct hf_history_event *event,
                           struct hf_error *error)
{
    const char *text = next_word(rest);
    bool entire_client = types[event->type].entire_client;

    if (text == NULL || entire_client != (strcmp(text, "-") == 0))
        return refuse(error, "lock", text,
                      entire_client ? "'-': the whole client is meant"
                                    : "its name");
    event->lock = entire_client ? NULL : text;
    return HF_OK;
}

/* Parse one "KEY=VALUE", and add its key to ${given}. */
static hf_status take_value(char *text, struct hf_history_event *event,
                            unsigned *given, struct hf_error *error)
{
    unsigned allowed = types[event->type].needs | types[event->type].may;
    size_t bytes = strcspn(text, "=");

    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) != bytes ||
            strncmp(keys[i].name, text, bytes) != 0)
            continue;
        if (text[bytes] != '=' || !(allowed & keys[i].key) ||
            (*given & keys[i].key) ||
            !parse_value(keys[i].key, text + bytes + 1, event))
            break;
        *given |= keys[i].key;
        return HF_OK;
    }
    return hf_error_set(error, HF_EINVAL,
                        "%s: not expected behind '%s', or twice, or without a "
                        "value that makes sense",
                        hf_quote(text, strlen(text)).text,
                        types[event->type].name);
}

/* Parse the rest of the line: the keys that the event must have and may have.
 */
static hf_status take_values(char **rest, struct hf_history_event *event,
                             struct hf_error *error)
{
    unsigned given = 0, missing;
    char *text;

    while ((text = next_word(rest)) != NULL) {
        hf_status status = take_value(text, event, &given, error);

        if (status != HF_OK)
            return status;
    }
    missing = types[event->type].needs & ~given;
    for (size_t i = 0; i < KEYS; i++)
        if (missing & keys[i].key)
            return hf_error_set(error, HF_EINVAL,
                                "%s= is missing; expected behind '%s'",
                                keys[i].name, types[event->type].name);
    if (event->permits > event->limit)
        return hf_error_set(error, HF_EINVAL,
                            "permits=%" PRIu32 ": expected no more than "
                            "limit=%" PRIu32,
                            event->permits, event->limit);
    return HF_OK;
}

hf_status hf_history_event_parse(char *line, struct hf_history_event *event,
                                 struct hf_error *error)
{
    char *rest = line;
    char *time = next_word(&rest);
    hf_status status;

    *event = (struct hf_history_event){.permits = 1, .limit = 1};
    if (time == NULL || !parse_number(time, &event->at_us))
        return refuse(error, "time", time, "a number of microseconds");
    event->client = next_word(&rest);
    if (event->client == NULL)
        return refuse(error, "client", NULL, "its name");
    status = take_type(&rest, event, error);
    if (status == HF_OK)
        status = take_lock(&rest, event, error);
    if (status == HF_OK)
        status = take_values(&rest, event, error);
    return status;
}

/* ---------------------------------------------------------------- format -- */

/* The line that is being written. */
struct line_writer {
    char *to;
    size_t bytes;
};

/* Append the formatted text to the line, which has room for any event of ours.
 */
static void __attribute__((format(printf, 2, 3)))
add(struct line_writer *text, const char *format, ...)
{
    va_list arguments;
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(text->to + text->bytes,
                      HF_HISTORY_EVENT_BYTES - text->bytes, format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && (size_t)bytes < HF_HISTORY_EVENT_BYTES - text->bytes);
    text->bytes += (size_t)bytes;
}

/* Append the name of a lock, percent-encoded where necessary. */
static void add_lock(struct line_writer *text, const char *lock)
{
    bool dash = strcmp(lock, "-") == 0;

    add(text, " ");
    for (; *lock != '\0'; lock++) {
        if (*lock > ' ' && *lock != '%' && *lock != 127 && !dash)
            add(text, "%c", *lock);
        else if ((uint8_t)*lock > 127)
            add(text, "%c", *lock);
        else
            add(text, "%%%02X", (uint8_t)*lock);
    }
}

size_t hf_history_event_format(const struct hf_history_event *event,
                               char line[HF_HISTORY_EVENT_BYTES])
{
    struct line_writer text = {line, 0};
    unsigned has = types[event->type].needs;

    add(&text, "%" PRIu64 " %s %s", event->at_us, event->client,
        types[event->type].name);
    if (event->lock != NULL)
        add_lock(&text, event->lock);
    else
        add(&text, " -");
    if (has & KEY_KIND)
        add(&text, " kind=%s", hf_history_kind_name(event->kind));
    if ((has & KEY_KIND) && event->kind == HF_KIND_SEMAPHORE)
        add(&text, " permits=%" PRIu32 " limit=%" PRIu32, event->permits,
            event->limit);
    if (has & KEY_TOKEN)
        add(&text, " token=%" PRIu64, event->token);
    if (event->safe_until_us == HF_FOREVER)
        add(&text, " safe_until=forever");
    else if (event->safe_until_us != 0)
        add(&text, " safe_until=%" PRIu64, event->safe_until_us);
    if (has & KEY_ACCEPTED)
        add(&text, " accepted=%s", event->accepted ? "yes" : "no");
    if (has & KEY_AT)
        add(&text, " at=%" PRIu64, event->seen_us);
    add(&text, "\n");
    return text.bytes;
}
