/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and parses the names on disk.  No other file knows their format.
 */
#include "engines/file/file_names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

#define DIGEST_PREFIX_BYTES 120
#define SEQUENCE_DIGITS 20
#define WEIGHT_DIGITS 2
#define ID_CHARS (HF_TICKET_ID_TEXT_BYTES - 1)

static const char hex_upper[] = "0123456789ABCDEF";

static const struct {
    enum hf_ticket_kind kind;
    char letter;
} kind_letters[] = {
    {HF_TICKET_MUTEX, 'm'},    {HF_TICKET_READ, 'r'},
    {HF_TICKET_WRITE, 'w'},    {HF_TICKET_LEASE, 'l'},
    {HF_TICKET_ELECTION, 'e'}, {HF_TICKET_PARTICIPANT, 'd'},
};
#define KIND_COUNT (sizeof(kind_letters) / sizeof(kind_letters[0]))

/* Returns whether the byte ${at} of the name is written as it is in a directory
 * name.  A dot at either end is not, so that no directory is hidden or is "."
 * or "..". */
static bool spelled_as_is(const char *queue, size_t at, size_t bytes)
{
    char c = queue[at];

    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9') || c == '_' || c == '-')
        return true;
    return c == '.' && at > 0 && at + 1 < bytes;
}

/* Write as much of ${queue} as fits into ${room} bytes, without cutting an
 * escape.  Returns whether all of it was written. */
static bool encode(const char *queue, size_t bytes, char *dir_name, size_t room)
{
    size_t used = 0;

    for (size_t at = 0; at < bytes; at++) {
        bool plain = spelled_as_is(queue, at, bytes);
        unsigned char c = (unsigned char)queue[at];

        if (used + (plain ? 1 : 3) > room) {
            dir_name[used] = '\0';
            return false;
        }
        if (plain) {
            dir_name[used++] = queue[at];
        } else {
            dir_name[used++] = '%';
            dir_name[used++] = hex_upper[c >> 4];
            dir_name[used++] = hex_upper[c & 15];
        }
    }
    dir_name[used] = '\0';
    return true;
}

bool hf_file_dir_name_format(const char *queue,
                             char dir_name[HF_DIR_NAME_BYTES])
{
    size_t bytes = strlen(queue);
    size_t prefix;

    assert(bytes > 0);
    if (encode(queue, bytes, dir_name, HF_DIR_NAME_PLAIN_BYTES))
        return false;
    encode(queue, bytes, dir_name, DIGEST_PREFIX_BYTES);
    prefix = strlen(dir_name);
    dir_name[prefix] = '~'; /* no name that is spelled out has this character */
    hf_sha256_text(queue, bytes, dir_name + prefix + 1);
    return true;
}

/* kind_letter() returns the letter of a kind in file names; kind_of_letter()
 * does the reverse, and returns false for an unknown letter. */
static char kind_letter(enum hf_ticket_kind kind)
{
    size_t i = 0;

    while (i < KIND_COUNT && kind_letters[i].kind != kind)
        i++;
    assert(i < KIND_COUNT);
    return kind_letters[i].letter;
}

static bool kind_of_letter(char letter, enum hf_ticket_kind *kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (kind_letters[i].letter == letter) {
            *kind = kind_letters[i].kind;
            return true;
        }
    }
    return false;
}

/* Write ${value} in decimal with zeros in front, without a NUL.  Returns the
 * end. */
static char *format_digits(uint64_t value, size_t digits, char *text)
{
    for (size_t i = digits; i-- > 0; value /= 10)
        text[i] = (char)('0' + value % 10);
    return text + digits;
}

/* printf() is not used, because several names are made for each ticket. */
void hf_file_name_format(const struct hf_ticket *ticket,
                         char file[HF_TICKET_FILE_BYTES])
{
    char *at = format_digits(ticket->sequence, SEQUENCE_DIGITS, file);

    *at++ = '-';
    *at++ = kind_letter(ticket->kind);
    if (ticket->kind == HF_TICKET_LEASE) {
        assert(ticket->weight >= 1 && ticket->weight <= HF_WEIGHT_MAX);
        at = format_digits(ticket->weight, WEIGHT_DIGITS, at);
    }
    *at++ = '-';
    hf_ticket_id_format(&ticket->id, at);
}

void hf_file_payload_name_of(const char *fifo, char *payload)
{
    size_t bytes = strlen(fifo);

    memmove(payload, fifo, bytes);
    memcpy(payload + bytes, HF_PAYLOAD_SUFFIX, sizeof(HF_PAYLOAD_SUFFIX));
}

void hf_file_payload_name_format(const struct hf_ticket *ticket,
                                 char file[HF_PAYLOAD_FILE_BYTES])
{
    hf_file_name_format(ticket, file);
    hf_file_payload_name_of(file, file);
}

void hf_file_new_payload_name_format(const struct hf_ticket *ticket,
                                     char file[HF_NEW_PAYLOAD_FILE_BYTES])
{
    hf_file_payload_name_format(ticket, file);
    memcpy(file + strlen(file), HF_NEW_SUFFIX, sizeof(HF_NEW_SUFFIX));
}

/* Read 20 digits.  Returns false if they are not digits, or the number is too
 * large. */
static bool parse_sequence(const char *file, uint64_t *sequence)
{
    uint64_t value = 0;

    for (size_t i = 0; i < SEQUENCE_DIGITS; i++) {
        uint64_t digit = (uint64_t)(unsigned char)file[i] - '0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *sequence = value;
    return true;
}

/* Read the two digits behind the letter of a lease, and move ${rest} behind
 * them.  Any other ticket has the weight 1. */
static bool parse_weight(const char **rest, struct hf_ticket *ticket)
{
    const char *text = *rest;

    ticket->weight = 1;
    if (ticket->kind != HF_TICKET_LEASE)
        return true;
    for (size_t i = 0; i < WEIGHT_DIGITS; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    ticket->weight = (uint32_t)(10 * (text[0] - '0') + (text[1] - '0'));
    *rest += WEIGHT_DIGITS;
    return ticket->weight >= 1 && ticket->weight <= HF_WEIGHT_MAX;
}

/* Read "-K-", where K is a kind, and move ${rest} behind it. */
static bool parse_kind(const char **rest, struct hf_ticket *ticket)
{
    if ((*rest)[0] != '-' || !kind_of_letter((*rest)[1], &ticket->kind))
        return false;
    *rest += 2;
    if (!parse_weight(rest, ticket) || (*rest)[0] != '-')
        return false;
    *rest += 1;
    return true;
}

enum hf_file_name_kind hf_file_name_parse(const char *file,
                                          struct hf_ticket *ticket)
{
    const char *rest = file + SEQUENCE_DIGITS;

    *ticket = (struct hf_ticket){.payload = "", .dialect = "holdfast"};
    if (strlen(file) < SEQUENCE_DIGITS ||
        !parse_sequence(file, &ticket->sequence) ||
        !parse_kind(&rest, ticket) || strlen(rest) < ID_CHARS ||
        !hf_ticket_id_parse(&ticket->id, rest, ID_CHARS))
        return HF_FILE_NAME_OTHER;
    ticket->token = ticket->sequence;
    rest += ID_CHARS;
    if (*rest == '\0')
        return HF_FILE_NAME_TICKET;
    if (strcmp(rest, HF_PAYLOAD_SUFFIX) == 0)
        return HF_FILE_NAME_PAYLOAD;
    if (strcmp(rest, HF_PAYLOAD_SUFFIX HF_NEW_SUFFIX) == 0)
        return HF_FILE_NAME_NEW_PAYLOAD;
    return HF_FILE_NAME_OTHER;
}

void hf_file_ready_format(const struct hf_ticket *ready,
                          char text[HF_READY_TEXT_BYTES])
{
    (void)snprintf(text, HF_READY_TEXT_BYTES, "%020" PRIu64, ready->sequence);
}

bool hf_file_ready_parse(const char *text, struct hf_ticket *ready)
{
    *ready = (struct hf_ticket){.kind = HF_TICKET_READY,
                                .weight = 1,
                                .payload = "",
                                .dialect = "holdfast"};
    if (strlen(text) != SEQUENCE_DIGITS ||
        !parse_sequence(text, &ready->sequence))
        return false;
    ready->token = ready->sequence;
    return true;
}
