/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. */
#include "command/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <holdfast/tickets.h>

#include "base/url.h"
#include "base/utf8.h"

#define AGE_BYTES (HF_DURATION_BYTES + 16)

/* Does the payload say that the owner was asked to release the lock? */
static bool is_asked_to_release(const char *payload)
{
    char at[HF_OWNER_VALUE_MAX];

    return hf_owner_text_get(payload, "asked", at, sizeof at) == HF_OK;
}

void hf_format_owner(const char *payload, char text[HF_FORMAT_BYTES])
{
    struct hf_owner owner;

    if (hf_owner_text_parse(payload, 0, &owner))
        (void)snprintf(
            text, HF_FORMAT_BYTES, "%s (pid %" PRIu64 " on %s)%s%s%s",
            owner.command, owner.pid, owner.host,
            owner.text[0] != '\0' ? ": " : "", owner.text,
            is_asked_to_release(payload) ? ", asked to release" : "");
    else
        (void)snprintf(text, HF_FORMAT_BYTES, "%s", payload);
    hf_utf8_make_printable(text, false);
}

/* Write ", queued AGE ago".  The age of a ticket from another machine or
 * another boot is not known on our clock.  Then the times of day of the two
 * clocks are compared, which is good enough for people, and a '~' shows it: ",
 * queued ~AGE ago".  Write "" if the ticket does not have the time of day at
 * which it was made, or if ours cannot be read. */
static void format_age(const struct hf_owner *owner, char age[AGE_BYTES])
{
    char duration[HF_DURATION_BYTES];
    bool on_our_clock = owner->age_ms != HF_FOREVER;
    uint64_t age_ms = owner->age_ms;
    time_t utc = time(NULL);

    age[0] = '\0';
    if (!on_our_clock) {
        if (owner->at_utc_ms == 0 || utc < 0)
            return;
        age_ms = (uint64_t)utc * 1000;
        age_ms -= age_ms < owner->at_utc_ms ? age_ms : owner->at_utc_ms;
    }
    hf_duration_format(age_ms, duration);
    (void)snprintf(age, AGE_BYTES, ", queued %s%s ago", on_our_clock ? "" : "~",
                   duration);
}

void hf_format_holder(const char *payload, uint64_t now_ms,
                      char text[HF_FORMAT_BYTES])
{
    struct hf_owner owner;
    char age[AGE_BYTES];
    size_t length;

    hf_format_owner(payload, text);
    if (!hf_owner_text_parse(payload, now_ms, &owner))
        return;
    format_age(&owner, age);
    length = strlen(text);
    (void)snprintf(text + length, HF_FORMAT_BYTES - length, "%s", age);
}

/* Skip "hf_CALL: ", with which the library's texts begin.  It means nothing to
 * the users of a command. */
static const char *skip_call_name(const char *text)
{
    const char *colon = strstr(text, ": ");

    return strncmp(text, "hf_", 3) == 0 && colon != NULL ? colon + 2 : text;
}

void hf_format_error(const char *message, uint64_t now_ms, char *text,
                     size_t bytes)
{
    char payload[HF_PAYLOAD_BYTES], owner[HF_FORMAT_BYTES];
    const char *begin, *end;

    message = skip_call_name(message);
    begin = strstr(message,
                   "\"host="); /* the beginning of a payload of the library */
    if (begin == NULL) {
        (void)snprintf(text, bytes, "%s", message);
        return;
    }
    /* There are no quotes inside a payload, so it ends at the next quote.  A
     * message that was cut may have none. */
    end = begin + 1 + strcspn(begin + 1, "\"");
    (void)snprintf(payload, sizeof payload, "%.*s", (int)(end - begin - 1),
                   begin + 1);
    hf_format_holder(payload, now_ms, owner);
    (void)snprintf(text, bytes, "%.*s%s%s", (int)(begin - message), message,
                   owner, *end == '"' ? end + 1 : end);
}

const char *hf_format_state(const struct hf_ticket_view *view)
{
    if (!view->holds)
        return "waits";
    return view->kind == HF_KIND_PARTICIPANT ? "inside" : "holds";
}

bool hf_ticket_view_is_held(const struct hf_ticket_view *view)
{
    return view->holds && view->kind != HF_KIND_PARTICIPANT;
}

const char *hf_format_kind(enum hf_kind kind)
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
        return "participant";
    case HF_KIND_MUTEX:
        break;
    }
    return "mutex";
}

uint64_t hf_format_age_ms(const struct hf_ticket_view *view, uint64_t utc_ms,
                          bool *two_clocks)
{
    bool estimate = view->age_ms == HF_FOREVER && view->created_utc_ms != 0;

    if (two_clocks != NULL)
        *two_clocks = estimate;
    if (!estimate)
        return view->age_ms;
    return utc_ms > view->created_utc_ms ? utc_ms - view->created_utc_ms : 0;
}

void hf_format_age(const struct hf_ticket_view *view, uint64_t utc_ms,
                   char text[HF_FORMAT_BYTES])
{
    bool two_clocks;
    uint64_t age_ms = hf_format_age_ms(view, utc_ms, &two_clocks);

    strcpy(text, "-");
    if (age_ms == HF_FOREVER)
        return;
    if (two_clocks)
        *text++ = '~';
    hf_duration_format(age_ms, text);
}
