/* SPDX-License-Identifier: Apache-2.0 */
/* Parses notifications: "gone ID KIND QUEUE", "first ID GONE QUEUE", "evicted
 * ID TEXT QUEUE", "changed QUEUE", "revoked ID COUNT QUEUE".  The words are
 * separated by spaces; the queue's name, and TEXT, which says who evicted the
 * ticket, are in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/postgres/pg_private.h"

/* Room for the longest name, and the NUL. */
#define NAME_BYTES 1100

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode ${hex} to ${name}.  Returns false if it is no name. */
static bool read_name(const char *hex, char name[NAME_BYTES])
{
    size_t bytes = strlen(hex) / 2;

    if (strlen(hex) % 2 != 0 || bytes == 0 || bytes >= NAME_BYTES)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        int high = digit(hex[2 * i]);
        int low = digit(hex[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0)
            return false;
        name[i] = (char)(high * 16 + low);
    }
    name[bytes] = '\0';
    return true;
}

/* If ${text} begins with ${word} and a space, move behind them. */
static bool read_word(const char **text, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0 || (*text)[length] != ' ')
        return false;
    *text += length + 1;
    return true;
}

static bool read_ticket(const char **text, struct hf_ticket_id *id)
{
    const char *end = strchr(*text, ' ');

    if (end == NULL || !hf_ticket_id_parse(id, *text, (size_t)(end - *text)))
        return false;
    *text = end + 1;
    return true;
}

static bool read_number(const char **text, uint32_t *number)
{
    char *end;

    *number = (uint32_t)strtoul(*text, &end, 10);
    if (end == *text || *end != ' ')
        return false;
    *text = end + 1;
    return true;
}

/* Read TEXT into ${notice}.  If TEXT cannot be decoded, it is ignored, because
 * the ticket is gone all the same.  Returns false if no space follows. */
static bool read_evicted_by(const char **text, struct hf_store_notice *notice)
{
    size_t digits = strcspn(*text, " ");

    (void)hf_evicted_by_explain_hex(*text, digits, notice->why);
    *text += digits;
    return *(*text)++ == ' ';
}

/* Parse a notification into ${notice}, whose queue name is written to ${name}.
 * Returns false if it is malformed. */
static bool parse(const char *text, struct hf_store_notice *notice,
                  char name[NAME_BYTES])
{
    uint32_t number = 0;

    notice->queue = name;
    if (read_word(&text, "changed")) {
        notice->kind = HF_STORE_CHANGED;
        return read_name(text, name);
    }
    if (read_word(&text, "evicted")) {
        notice->kind = HF_STORE_GONE;
        return read_ticket(&text, &notice->ticket) &&
               read_evicted_by(&text, notice) && read_name(text, name);
    }
    if (read_word(&text, "first")) {
        notice->kind = HF_STORE_GONE;
        return read_ticket(&text, &notice->first) &&
               read_ticket(&text, &notice->ticket) && read_name(text, name);
    }
    notice->kind = HF_STORE_REVOKED;
    if (read_word(&text, "gone"))
        notice->kind = HF_STORE_GONE;
    else if (!read_word(&text, "revoked"))
        return false;
    if (!read_ticket(&text, &notice->ticket) || !read_number(&text, &number))
        return false;
    if (notice->kind == HF_STORE_REVOKED)
        notice->revoked = number;
    else if (number == HF_TICKET_WRITE)
        notice->ticket_kind = HF_TICKET_WRITE;
    return read_name(text, name);
}

void hf_pg_notice(struct hf_store *store, const PGnotify *from)
{
    struct hf_store_notice notice = {.kind = HF_STORE_GONE};
    char name[NAME_BYTES];

    if (parse(from->extra, &notice, name))
        hf_leased_notice(store->engine->leased, &notice,
                         hf_leased_engine_now_ms(store->engine));
}
