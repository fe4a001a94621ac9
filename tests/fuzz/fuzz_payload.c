/* SPDX-License-Identifier: Apache-2.0 */
/* Any content of a queue, as other clients may have put it there, on its way
 * to a reader.  The input is tickets, with a byte each for the kind, the
 * flags and the length of the owner's text, and names of unknown nodes.
 * They are listed, and the list is shown as a table and as JSON; a terminal
 * and a JSON reader must be able to take these. */
#include <string.h>

#include "base/utf8.h"
#include "cli/show.h"
#include "client/lock.h"
#include "client/owner_text.h"
#include "client/ticket_list.h"
#include "command/format.h"
#include "core/core.h"
#include "fuzz.h"
#include "json_check.h"

#define TICKETS_MAX 8
#define UNKNOWN_MAX 8

static struct {
    struct hf_ticket tickets[TICKETS_MAX];
    size_t count;
    const char *unknown[UNKNOWN_MAX];
    size_t unknown_count;
    char *texts[TICKETS_MAX + UNKNOWN_MAX];
    size_t text_count;
} queue;

/* --------------------------------------------------------------- reading -- */

struct payload_input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take(struct payload_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

/* Without NUL, as it comes through an engine. */
static const char *take_text(struct payload_input *in, size_t bytes)
{
    char *text;

    if (bytes > in->left)
        bytes = in->left;
    text = fuzz_text(in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
    queue.texts[queue.text_count++] = text;
    return text;
}

static void take_ticket(struct payload_input *in)
{
    static const char *const dialects[] = {NULL, "curator", "kazoo",
                                           "go-zookeeper"};
    struct hf_ticket *ticket = &queue.tickets[queue.count++];
    uint8_t kind = take(in), flags = take(in), length = take(in);

    *ticket = (struct hf_ticket){
        .id = {{(uint8_t)queue.count, flags}},
        .sequence = queue.count,
        .token = flags % 4 == 0 ? 0 : queue.count,
        .kind = (enum hf_ticket_kind)(1 + kind % HF_TICKET_READY),
        .weight = 1u + flags / 4 % 3,
        .dialect = dialects[flags / 16 % 4],
        .created_utc_ms = flags / 64 * (UINT64_MAX / 3),
    };
    ticket->payload = take_text(in, (size_t)length * 2);
}

static void take_queue(struct payload_input *in)
{
    memset(&queue, 0, sizeof(queue));
    while (in->left > 0 && queue.count < TICKETS_MAX && *in->at != 0xff)
        take_ticket(in);
    while (in->left > 0 && queue.unknown_count < UNKNOWN_MAX) {
        size_t length = take(in);

        queue.unknown[queue.unknown_count++] = take_text(in, length);
    }
}

/* ---------------------------------------------------------------- output -- */

static char *print(const struct hf_queue_view *queue_view, bool json)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    MUST(out != NULL);
    if (json)
        hf_show_json(out, "zk://here", queue_view);
    else
        hf_show_table(out, queue_view, 1000);
    MUST(fclose(out) == 0 && strlen(text) == bytes);
    return text;
}

/* Nothing in it moves the cursor but the ends of lines. */
static void check_table(const struct hf_queue_view *queue_view)
{
    char *text = print(queue_view, false);
    size_t lines = 0, rows = 0, length, left = strlen(text);
    uint32_t code;

    for (const char *at = text; left > 0; at += length, left -= length) {
        length = hf_utf8_decode(at, left, &code);
        MUST(length > 0 && (code == '\n' || !hf_utf8_unprintable(code)));
        lines += code == '\n';
    }
    while (hf_queue_view_at(queue_view, rows) != NULL)
        rows++;
    MUST(lines == rows + 1);
    free(text);
}

static void check_json(const struct hf_queue_view *queue_view)
{
    char *text = print(queue_view, true);

    MUST(json_is_valid(text));
    free(text);
}

static void check_views(const struct hf_tickets *tickets)
{
    const struct hf_ticket_view *view;
    const char *unknown;

    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++) {
        MUST(hf_utf8_valid(view->owner, strlen(view->owner)));
        MUST(strlen(view->id) == HF_TICKET_ID_TEXT_BYTES - 1);
    }
    for (size_t i = 0; (unknown = hf_tickets_unknown(tickets, i)) != NULL; i++)
        MUST(strcmp(unknown, queue.unknown[i]) == 0);
}

/* What an engine lists for a reader of this kind. */
static size_t list_some(enum hf_ticket_kind kind, struct hf_ticket *shown)
{
    size_t count = 0;

    for (size_t i = 0; i < queue.count; i++) {
        enum hf_ticket_kind other = queue.tickets[i].kind;

        if (kind == HF_TICKET_PARTICIPANT
                ? other == HF_TICKET_PARTICIPANT || other == HF_TICKET_READY
                : other <= HF_TICKET_EXCLUSIVE)
            shown[count++] = queue.tickets[i];
    }
    return count;
}

/* The list in each of the three selections, and then all of it. */
static void list_tickets(enum hf_ticket_kind kind, struct hf_tickets **tickets)
{
    static struct hf_client client; /* it has no ticket there */
    struct hf_event listed = {.kind = HF_EVENT_LISTED};
    struct hf_lock *lock = calloc(1, sizeof(*lock) + 1);
    const struct hf_operation operation = {.queue = "q"};
    struct hf_ticket shown[TICKETS_MAX];

    MUST(lock != NULL);
    lock->client = &client;
    lock->kind = kind;
    listed.as.answer.snapshot.tickets = shown;
    listed.as.answer.snapshot.count = list_some(kind, shown);
    listed.as.answer.unknown = queue.unknown;
    listed.as.answer.unknown_count = queue.unknown_count;
    for (int which = HF_TICKETS_ALL; which <= HF_TICKETS_WAITERS; which++) {
        hf_tickets_free(*tickets);
        *tickets = NULL;
        MUST(hf_tickets_add(tickets, lock, &operation, &listed,
                            (enum hf_tickets_which)which));
        check_views(*tickets);
    }
    hf_tickets_free(*tickets);
    *tickets = NULL;
    MUST(hf_tickets_add(tickets, lock, &operation, &listed, HF_TICKETS_ALL));
    free(lock);
}

/* ---------------------------------------------------------------- owners -- */

/* An owner text that is accepted is read back unchanged. */
static void check_text(const char *text)
{
    char payload[HF_PAYLOAD_BYTES], words[HF_FORMAT_BYTES];
    struct hf_error error;
    struct hf_owner owner;

    if (hf_owner_text_check(text, &error) != HF_OK) {
        MUST(hf_utf8_valid(error.text, strlen(error.text)));
        return;
    }
    hf_owner_text_write(payload, 1000, text);
    MUST(hf_owner_text_parse(payload, 3000, &owner));
    MUST(strcmp(owner.text, text) == 0 && owner.pid != 0);
    MUST(owner.age_ms == 2000 || owner.age_ms == HF_FOREVER);
    hf_format_owner(payload, words);
    MUST(text[0] == '\0' || strstr(words, text) != NULL);
}

/* Every value can be read into a buffer of the documented size, and into a
 * smaller one. */
static void check_keys(const char *payload)
{
    static const char *const keys[] = {"host", "pid",   "command", "text",
                                       "at",   "since", "",        "="};
    char entire[HF_OWNER_VALUE_MAX], cut[3];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        hf_status status =
            hf_owner_text_get(payload, keys[i], entire, sizeof entire);
        hf_status less = hf_owner_text_get(payload, keys[i], cut, sizeof cut);

        MUST(status == HF_OK || status == HF_EGONE);
        MUST((less == HF_EGONE) == (status == HF_EGONE));
        MUST(strncmp(entire, cut, strlen(cut)) == 0);
        MUST((less == HF_EINVAL) == (strlen(entire) >= sizeof cut));
    }
}

static void check_owner(const char *payload)
{
    char copy[HF_PAYLOAD_BYTES];
    struct hf_owner owner;

    hf_payload_copy(copy, payload);
    MUST(strncmp(copy, payload, strlen(copy)) == 0);
    MUST(!hf_utf8_valid(payload, strlen(payload)) ||
         hf_utf8_valid(copy, strlen(copy)));
    if (hf_owner_text_parse(payload, UINT64_MAX, &owner))
        MUST(owner.pid != 0);
    check_keys(payload);
    check_text(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct payload_input in = {data, bytes};
    struct hf_queue_view queue_view = {.name = "jobs/nightly"};

    take_queue(&in);
    list_tickets(HF_TICKET_MUTEX, &queue_view.tickets[HF_QUEUE_VIEW_LOCK]);
    list_tickets(HF_TICKET_LEASE, &queue_view.tickets[HF_QUEUE_VIEW_SEMAPHORE]);
    list_tickets(HF_TICKET_PARTICIPANT,
                 &queue_view.tickets[HF_QUEUE_VIEW_PARTICIPANTS]);
    check_table(&queue_view);
    check_json(&queue_view);
    for (size_t i = 0; i < queue.count; i++)
        check_owner(queue.tickets[i].payload);
    hf_queue_view_free(&queue_view);
    for (size_t i = 0; i < queue.text_count; i++)
        free(queue.texts[i]);
    return 0;
}
