/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

void hf_words_owner(const char *payload, char text[HF_WORDS_BYTES])
{
    struct hf_owner owner;

    if (hf_owner_parse(payload, 0, &owner))
        (void)snprintf(text, HF_WORDS_BYTES, "%s (pid %" PRIu64 " on %s)%s%s",
                       owner.command, owner.pid, owner.host,
                       owner.text[0] != '\0' ? ": " : "", owner.text);
    else
        (void)snprintf(text, HF_WORDS_BYTES, "%s", payload);
    hf_utf8_make_printable(text, false);
}

void hf_words_duration(uint64_t ms, char text[HF_WORDS_DURATION_BYTES])
{
    uint64_t s = ms / 1000;

    if (s >= 86400)
        (void)snprintf(text, HF_WORDS_DURATION_BYTES,
                       "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        (void)snprintf(text, HF_WORDS_DURATION_BYTES,
                       "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else if (s >= 60)
        (void)snprintf(text, HF_WORDS_DURATION_BYTES,
                       "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        (void)snprintf(text, HF_WORDS_DURATION_BYTES, "%" PRIu64 "s", s);
}

const char *hf_words_state(const struct hf_ticket_view *view)
{
    if (!view->holds)
        return "waits";
    return view->kind == HF_KIND_PARTICIPANT ? "inside" : "holds";
}

const char *hf_words_kind(enum hf_kind kind)
{
    switch (kind) {
    case HF_KIND_READ:
        return "read";
    case HF_KIND_WRITE:
        return "write";
    case HF_KIND_EXCLUSIVE:
        return "exclusive";
    case HF_KIND_SEMAPHORE:
        return "semaphore";
    case HF_KIND_ELECTION:
        return "election";
    case HF_KIND_PARTICIPANT:
        return "member";
    case HF_KIND_MUTEX:
        break;
    }
    return "mutex";
}
