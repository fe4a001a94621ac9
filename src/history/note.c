/* SPDX-License-Identifier: Apache-2.0 */
#include "history/note.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/quote.h"

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
    unsigned needs; /* keys that must be there; no others may, but .may */
    unsigned may;
    bool of_all; /* with "-" for LOCK */
} words[] = {
    [HF_NOTE_WANT] = {"want", KEY_KIND, KEY_PERMITS | KEY_LIMIT, false},
    [HF_NOTE_QUEUED] = {"queued", 0, 0, false},
    [HF_NOTE_UNQUEUED] = {"unqueued", 0, 0, false},
    [HF_NOTE_GRANT] = {"grant", KEY_TOKEN, KEY_SAFE_UNTIL, false},
    [HF_NOTE_HELD] = {"held", KEY_SAFE_UNTIL, 0, false},
    [HF_NOTE_SEEN] = {"seen", KEY_AT, 0, false},
    [HF_NOTE_WRITE] = {"write", KEY_TOKEN | KEY_ACCEPTED, 0, false},
    [HF_NOTE_SHARED] = {"shared", KEY_TOKEN, 0, false},
    [HF_NOTE_RELEASE] = {"release", KEY_TOKEN, 0, false},
    [HF_NOTE_LOST] = {"lost", KEY_TOKEN, 0, false},
    [HF_NOTE_GAVEUP] = {"gaveup", 0, 0, false},
    [HF_NOTE_DIED] = {"died", 0, 0, true},
    [HF_NOTE_FROZEN] = {"frozen", 0, 0, true},
    [HF_NOTE_THAWED] = {"thawed", 0, 0, true},
};
#define WORDS (sizeof words / sizeof *words)

static const struct {
    const char *name;
    enum hf_kind kind;
} kinds[] = {
    {"mutex", HF_KIND_MUTEX},       {"read", HF_KIND_READ},
    {"write", HF_KIND_WRITE},       {"semaphore", HF_KIND_SEMAPHORE},
    {"election", HF_KIND_ELECTION},
};
#define KINDS (sizeof kinds / sizeof *kinds)

const char *hf_note_kind(enum hf_kind kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "?";
}

/* ---------------------------------------------------------------- values -- */

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

static bool parse_permits(const char *text, uint32_t *permits)
{
    uint64_t number;

    if (!parse_number(text, &number) || number == 0 || number > UINT32_MAX)
        return false;
    *permits = (uint32_t)number;
    return true;
}

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

static bool parse_value(enum key key, const char *text, struct hf_note *note)
{
    switch (key) {
    case KEY_KIND:
        return parse_kind(text, &note->kind);
    case KEY_PERMITS:
        return parse_permits(text, &note->permits);
    case KEY_LIMIT:
        return parse_permits(text, &note->limit);
    case KEY_TOKEN:
        return parse_number(text, &note->token);
    case KEY_SAFE_UNTIL:
        return parse_safe_until(text, &note->safe_until_us);
    case KEY_ACCEPTED:
        return parse_accepted(text, &note->accepted);
    case KEY_AT:
        return parse_number(text, &note->seen_us);
    }
    return false;
}

/* ----------------------------------------------------------------- parse -- */

static hf_status refuse(struct hf_error *error, const char *what,
                        const char *text, const char *expected)
{
    if (text == NULL)
        return hf_error_set(error, HF_EINVAL, "%s is missing; expected %s",
                            what, expected);
    return hf_error_set(error, HF_EINVAL, "%s: no %s; expected %s",
                        hf_quote(text, strlen(text)).text, what, expected);
}

/* The next piece of a line, NUL-terminated; NULL at its end. */
static char *take(char **rest)
{
    char *piece = *rest + strspn(*rest, " \t\r\n");

    if (*piece == '\0')
        return NULL;
    *rest = piece + strcspn(piece, " \t\r\n");
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return piece;
}

static hf_status take_word(char **rest, struct hf_note *note,
                           struct hf_error *error)
{
    const char *text = take(rest);

    for (size_t i = 0; text != NULL && i < WORDS; i++) {
        if (strcmp(text, words[i].name) == 0) {
            note->word = (enum hf_note_word)i;
            return HF_OK;
        }
    }
    return refuse(error, "word", text,
                  "want, queued, unqueued, grant, held, seen, write, "
                  "shared, release, lost, gaveup, died, frozen or thawed");
}

static hf_status take_lock(char **rest, struct hf_note *note,
                           struct hf_error *error)
{
    const char *text = take(rest);
    bool of_all = words[note->word].of_all;

    if (text == NULL || of_all != (strcmp(text, "-") == 0))
        return refuse(error, "lock", text,
                      of_all ? "'-': the whole client is meant" : "its name");
    note->lock = of_all ? NULL : text;
    return HF_OK;
}

static hf_status take_value(char *text, struct hf_note *note, unsigned *given,
                            struct hf_error *error)
{
    unsigned allowed = words[note->word].needs | words[note->word].may;
    size_t bytes = strcspn(text, "=");

    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) != bytes ||
            strncmp(keys[i].name, text, bytes) != 0)
            continue;
        if (text[bytes] != '=' || !(allowed & keys[i].key) ||
            (*given & keys[i].key) ||
            !parse_value(keys[i].key, text + bytes + 1, note))
            break;
        *given |= keys[i].key;
        return HF_OK;
    }
    return hf_error_set(error, HF_EINVAL,
                        "%s: not expected behind '%s', or twice, or without a "
                        "value that makes sense",
                        hf_quote(text, strlen(text)).text,
                        words[note->word].name);
}

static hf_status take_values(char **rest, struct hf_note *note,
                             struct hf_error *error)
{
    unsigned given = 0, lacking;
    char *text;

    while ((text = take(rest)) != NULL) {
        hf_status status = take_value(text, note, &given, error);

        if (status != HF_OK)
            return status;
    }
    lacking = words[note->word].needs & ~given;
    for (size_t i = 0; i < KEYS; i++)
        if (lacking & keys[i].key)
            return hf_error_set(error, HF_EINVAL,
                                "%s= is missing; expected behind '%s'",
                                keys[i].name, words[note->word].name);
    if (note->permits > note->limit)
        return hf_error_set(error, HF_EINVAL,
                            "permits=%" PRIu32 ": expected no more than "
                            "limit=%" PRIu32,
                            note->permits, note->limit);
    return HF_OK;
}

hf_status hf_note_parse(char *line, struct hf_note *note,
                        struct hf_error *error)
{
    char *rest = line;
    char *time = take(&rest);
    hf_status status;

    *note = (struct hf_note){.permits = 1, .limit = 1};
    if (time == NULL || !parse_number(time, &note->at_us))
        return refuse(error, "time", time, "a number of microseconds");
    note->client = take(&rest);
    if (note->client == NULL)
        return refuse(error, "client", NULL, "its name");
    status = take_word(&rest, note, error);
    if (status == HF_OK)
        status = take_lock(&rest, note, error);
    if (status == HF_OK)
        status = take_values(&rest, note, error);
    return status;
}

/* ---------------------------------------------------------------- format -- */

struct text {
    char *to;
    size_t bytes;
};

static void __attribute__((format(printf, 2, 3)))
add(struct text *text, const char *format, ...)
{
    va_list arguments;
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(text->to + text->bytes, HF_NOTE_BYTES - text->bytes,
                      format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && (size_t)bytes < HF_NOTE_BYTES - text->bytes);
    text->bytes += (size_t)bytes;
}

static void add_lock(struct text *text, const char *lock)
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

size_t hf_note_format(const struct hf_note *note, char line[HF_NOTE_BYTES])
{
    struct text text = {line, 0};
    unsigned has = words[note->word].needs;

    add(&text, "%" PRIu64 " %s %s", note->at_us, note->client,
        words[note->word].name);
    if (note->lock != NULL)
        add_lock(&text, note->lock);
    else
        add(&text, " -");
    if (has & KEY_KIND)
        add(&text, " kind=%s", hf_note_kind(note->kind));
    if ((has & KEY_KIND) && note->kind == HF_KIND_SEMAPHORE)
        add(&text, " permits=%" PRIu32 " limit=%" PRIu32, note->permits,
            note->limit);
    if (has & KEY_TOKEN)
        add(&text, " token=%" PRIu64, note->token);
    if (note->safe_until_us == HF_FOREVER)
        add(&text, " safe_until=forever");
    else if (note->safe_until_us != 0)
        add(&text, " safe_until=%" PRIu64, note->safe_until_us);
    if (has & KEY_ACCEPTED)
        add(&text, " accepted=%s", note->accepted ? "yes" : "no");
    if (has & KEY_AT)
        add(&text, " at=%" PRIu64, note->seen_us);
    add(&text, "\n");
    return text.bytes;
}
