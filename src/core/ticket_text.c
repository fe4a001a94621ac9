/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and decoding the words of a ticket's text. */
#include "core/ticket_text.h"

#include <string.h>

#define FIRST_WORD "host="

bool hf_ticket_text_is_ours(const char *text)
{
    return strncmp(text, FIRST_WORD, strlen(FIRST_WORD)) == 0;
}

/* Words are found by their keys, so their order does not matter. */
bool hf_ticket_text_find(const char *text, const char *key, const char **value,
                         size_t *length)
{
    size_t bytes = strlen(key);

    if (!hf_ticket_text_is_ours(text))
        return false;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        bool named = word >= bytes && memcmp(text, key, bytes) == 0;

        if (named && word == bytes) { /* a word without '=' */
            *value = text + word;
            *length = 0;
            return true;
        }
        if (named && text[bytes] == '=') {
            *value = text + bytes + 1;
            *length = word - bytes - 1;
            return true;
        }
        text += word;
        text += strspn(text, " ");
    }
    return false;
}

/* The value of ${c}, a digit of a percent-encoding; -1 if it is none. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decode the byte at ${value} and return how many characters it takes: three if
 * it is encoded, else one. "%00" stays as it is, because we never write it and
 * a NUL would hide what follows. */
static size_t parse_byte(const char *value, size_t left, char *byte)
{
    int high = left > 2 && value[0] == '%' ? hex_digit(value[1]) : -1;
    int low = high >= 0 ? hex_digit(value[2]) : -1;

    *byte = value[0];
    if (low < 0 || (high | low) == 0)
        return 1;
    *byte = (char)(high << 4 | low);
    return 3;
}

bool hf_ticket_text_decode(char *text, size_t bytes, const char *value,
                           size_t length)
{
    size_t used = 0, i = 0;

    while (i < length && used + 1 < bytes)
        i += parse_byte(value + i, length - i, &text[used++]);
    text[used] = '\0';
    return i == length;
}

bool hf_ticket_text_parse_number(const char **text, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = *text;

    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == *text)
        return false;
    *text = at;
    *number = value;
    return true;
}

uint64_t hf_ticket_text_number(const char *text, const char *key)
{
    uint64_t number = 0;
    const char *value;
    size_t length;

    if (hf_ticket_text_find(text, key, &value, &length))
        (void)hf_ticket_text_parse_number(&value, &number);
    return number;
}

/* ---------------------------------------------------------------- holds= -- */

uint32_t hf_ticket_text_hold_id(const struct hf_ticket_id *id)
{
    return (uint32_t)id->bytes[0] << 24 | (uint32_t)id->bytes[1] << 16 |
           (uint32_t)id->bytes[2] << 8 | id->bytes[3];
}

struct hf_ticket_holds hf_ticket_text_list(const char *text, const char *key)
{
    struct hf_ticket_holds holds = {"", 0};

    (void)hf_ticket_text_find(text, key, &holds.rest, &holds.length);
    return holds;
}

/* The value of eight hex digits in lower case; false if they are none. */
static bool parse_id(const char *digits, uint32_t *id)
{
    *id = 0;
    for (size_t i = 0; i < HF_TICKET_HOLD_DIGITS; i++) {
        bool decimal = digits[i] >= '0' && digits[i] <= '9';

        if (!decimal && (digits[i] < 'a' || digits[i] > 'f'))
            return false;
        *id = *id << 4 |
              (uint32_t)(decimal ? digits[i] - '0' : digits[i] - 'a' + 10);
    }
    return true;
}

/* NAME:ID, perhaps with the '+' of a list that is not complete. */
static bool parse_hold(const char *word, size_t length,
                       struct hf_ticket_hold *hold)
{
    const char *colon = memchr(word, ':', length);
    size_t bytes = colon != NULL ? (size_t)(colon - word) : 0;

    return bytes > 0 && length - bytes > HF_TICKET_HOLD_DIGITS &&
           parse_id(colon + 1, &hold->id) &&
           hf_ticket_text_decode(hold->name, sizeof hold->name, word, bytes);
}

bool hf_ticket_text_next_hold(struct hf_ticket_holds *holds,
                              struct hf_ticket_hold *hold)
{
    while (holds->length > 0) {
        const char *word = holds->rest;
        const char *comma = memchr(word, ',', holds->length);
        size_t length = comma != NULL ? (size_t)(comma - word) : holds->length;
        size_t taken = comma != NULL ? length + 1 : length;

        holds->rest += taken;
        holds->length -= taken;
        if (parse_hold(word, length, hold))
            return true;
    }
    return false;
}
