/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/ticket_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"

#define EVICTED "evicted "
#define ID_BYTES (HF_TICKET_ID_TEXT_BYTES - 1)
#define WEIGHT_DIGITS_MOST 2 /* as HF_WEIGHT_MAX has */

/* The words for kinds.  A kind without a word is not named in its value. */
static const char *const words[] = {
    [HF_TICKET_MUTEX] = "mutex",     [HF_TICKET_READ] = "read",
    [HF_TICKET_WRITE] = "write",     [HF_TICKET_LEASE] = "lease",
    [HF_TICKET_BARRIER] = "barrier", [HF_TICKET_PARTICIPANT] = "participant",
    [HF_TICKET_READY] = "ready",
};
#define WORDS (sizeof words / sizeof words[0])

/* ---------------------------------------------------------------- format -- */

/* Write ${before}, the word of the kind, the id, the permits of a lease, a
 * newline and ${text}.  Returns the length. */
static size_t format(const char *before, enum hf_ticket_kind kind,
                     const struct hf_ticket_id *id, uint32_t weight,
                     const char *text, char value[HF_ETCD_VALUE_BYTES])
{
    char id_text[HF_TICKET_ID_TEXT_BYTES];
    char permits[16] = "";
    int bytes;

    assert(kind < WORDS && words[kind] != NULL);
    assert(weight > 0 && weight <= HF_WEIGHT_MAX);
    hf_ticket_id_format(id, id_text);
    if (kind == HF_TICKET_LEASE)
        (void)snprintf(permits, sizeof permits, " %" PRIu32, weight);
    bytes = snprintf(value, HF_ETCD_VALUE_BYTES, "%s%s %s%s\n%s", before,
                     words[kind], id_text, permits, text);
    assert(bytes > 0 && bytes < (int)HF_ETCD_VALUE_BYTES);
    return (size_t)bytes;
}

size_t hf_etcd_engine_value_format(enum hf_ticket_kind kind,
                                   const struct hf_ticket_id *id,
                                   uint32_t weight, const char *text,
                                   char value[HF_ETCD_VALUE_BYTES])
{
    if (kind != HF_TICKET_ELECTION)
        return format("", kind, id, weight, text, value);
    assert(strlen(text) < HF_ETCD_VALUE_BYTES);
    memcpy(value, text, strlen(text) + 1);
    return strlen(text);
}

size_t hf_etcd_engine_value_format_evicted(enum hf_ticket_kind kind,
                                           const struct hf_ticket_id *id,
                                           uint32_t weight,
                                           const char *evicted_by,
                                           char value[HF_ETCD_VALUE_BYTES])
{
    return format(EVICTED, kind, id, weight, evicted_by, value);
}

/* ----------------------------------------------------------------- parse -- */

/* The rest of a value that is being read. */
struct rest {
    const char *text;
    size_t bytes;
};

/* Skip ${word}.  Returns false if the rest does not begin with it. */
static bool skip(struct rest *rest, const char *word)
{
    size_t bytes = strlen(word);

    if (rest->bytes < bytes || memcmp(rest->text, word, bytes) != 0)
        return false;
    rest->text += bytes;
    rest->bytes -= bytes;
    return true;
}

/* Skip the word of a kind and a space, and return the kind; 0 if there is none.
 */
static enum hf_ticket_kind skip_kind(struct rest *rest)
{
    for (enum hf_ticket_kind kind = HF_TICKET_MUTEX; kind < WORDS; kind++) {
        struct rest after = *rest;

        if (words[kind] != NULL && skip(&after, words[kind]) &&
            skip(&after, " ")) {
            *rest = after;
            return kind;
        }
    }
    return 0;
}

/* Skip the permits of a lease and return their number; 0 if there are none or
 * too many. */
static uint32_t skip_permits(struct rest *rest)
{
    uint32_t permits = 0;
    unsigned digits = 0;

    if (!skip(rest, " "))
        return 0;
    for (; rest->bytes > 0 && rest->text[0] >= '0' && rest->text[0] <= '9';
         rest->text++, rest->bytes--) {
        if (digits++ == WEIGHT_DIGITS_MOST)
            return 0;
        permits = 10 * permits + (uint32_t)(rest->text[0] - '0');
    }
    return permits <= HF_WEIGHT_MAX ? permits : 0;
}

struct hf_etcd_engine_ticket_value hf_etcd_engine_value_parse(const char *value,
                                                              size_t bytes)
{
    const struct hf_etcd_engine_ticket_value none = {
        .weight = 1, .text = value, .text_bytes = bytes};
    struct hf_etcd_engine_ticket_value read = none;
    struct rest rest = {value, bytes};

    read.evicted = skip(&rest, EVICTED);
    read.kind = skip_kind(&rest);
    if (read.kind == 0 || rest.bytes < ID_BYTES ||
        !hf_ticket_id_parse(&read.id, rest.text, ID_BYTES))
        return none;
    rest.text += ID_BYTES;
    rest.bytes -= ID_BYTES;
    if (read.kind == HF_TICKET_LEASE)
        read.weight = skip_permits(&rest);
    if (read.weight == 0 || !skip(&rest, "\n"))
        return none;
    read.text = rest.text;
    read.text_bytes = rest.bytes;
    return read;
}

size_t hf_etcd_engine_payload_copy(char payload[HF_PAYLOAD_BYTES],
                                   const char *text, size_t bytes)
{
    struct hf_quoted quoted;

    if (bytes < HF_PAYLOAD_BYTES && hf_utf8_valid(text, bytes) &&
        (bytes == 0 || memchr(text, '\0', bytes) == NULL)) {
        if (bytes > 0)
            memcpy(payload, text, bytes);
        payload[bytes] = '\0';
        return bytes;
    }
    quoted = hf_quote(text, bytes);
    memcpy(payload, quoted.text, strlen(quoted.text) + 1);
    return strlen(payload);
}
