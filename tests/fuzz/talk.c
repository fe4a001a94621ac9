/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <string.h>

#include "core/instant.h"
#include "fuzz.h"

#define SERVER_MS UINT64_C(1700000000000)

/* One conversation at a time: stores are the targets'. */
static struct talk *current;

/* ----------------------------------------------------------------- input -- */

uint8_t talk_next(struct talk *talk)
{
    if (talk->left == 0)
        return 0;
    talk->left--;
    return *talk->bytes++;
}

const uint8_t *talk_some(struct talk *talk, size_t *count)
{
    const uint8_t *from = talk->bytes;

    if (*count > talk->left)
        *count = talk->left;
    talk->bytes += *count;
    talk->left -= *count;
    return from;
}

/* ----------------------------------------------------------------- store -- */

struct talk *talk_of(struct hf_store *store)
{
    (void)store;
    return current;
}

static void connect(struct hf_store *store, const char *session)
{
    struct talk *talk = talk_of(store);

    MUST(!talk->linked);
    MUST(strlen(session) == HF_STORE_SESSION_BYTES - 1);
    talk->linked = true;
}

static void disconnect(struct hf_store *store)
{
    struct talk *talk = talk_of(store);

    MUST(talk->linked);
    talk->linked = talk->up = false;
    talk->call_count = 0;
}

static void call(struct hf_store *store, struct hf_store_call *made)
{
    struct talk *talk = talk_of(store);

    MUST(talk->up && talk->call_count < TALK_CALLS);
    talk->calls[talk->call_count++] = made;
}

static const struct hf_store_ops store_ops = {
    .connect = connect,
    .disconnect = disconnect,
    .call = call,
};

void talk_down(struct talk *talk)
{
    talk->linked = talk->up = false;
    talk->call_count = 0;
    hf_leased_down(talk->leased, HF_EUNREACHABLE, "nonsense", talk->now_ms);
}

/* ---------------------------------------------------------------- events -- */

static bool goes_on(const struct hf_request *request)
{
    return request->kind == HF_REQUEST_WATCH ||
           request->kind == HF_REQUEST_LOOK;
}

/* Read all of what it points to, so that a sanitizer sees what is not there. */
static void check_snapshot(const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    for (size_t i = 0; i < snapshot->count; i++)
        MUST(strlen(snapshot->tickets[i].payload) < HF_PAYLOAD_BYTES);
    for (size_t i = 0; i < event->as.answer.foreign_count; i++)
        MUST(event->as.answer.foreign[i] != NULL &&
             strlen(event->as.answer.foreign[i]) < SIZE_MAX);
}

static void check_failure(const struct hf_event *event)
{
    MUST(event->as.answer.text != NULL && event->as.answer.text[0] != '\0');
    MUST(event->as.answer.status != HF_OK);
}

/* Exactly one answer, and behind that of a WATCH or a LOOK one end. */
static void answered(struct talk *talk, const struct hf_event *event)
{
    struct talk_request *r = (struct talk_request *)event->as.answer.request;
    enum hf_event_kind kind = event->kind;

    MUST(r->asked);
    if (kind == HF_EVENT_REVOKED) {
        MUST(r->answered);
        return;
    }
    if (r->request.kind == HF_REQUEST_PROVE)
        talk->proving = false;
    if (kind == HF_EVENT_FAILED)
        check_failure(event);
    if (kind == HF_EVENT_ENQUEUED || kind == HF_EVENT_LISTED)
        check_snapshot(event);
    if (goes_on(&r->request) &&
        (kind == HF_EVENT_WATCHING || kind == HF_EVENT_LISTED)) {
        MUST(!r->answered);
        r->answered = true;
        return;
    }
    MUST(kind != HF_EVENT_CHANGED || r->answered);
    r->asked = false;
}

/* Those that go on end in silence, all others have been answered. */
static void session_ended(struct talk *talk)
{
    for (size_t i = 0; i < TALK_REQUESTS; i++) {
        struct talk_request *r = &talk->requests[i];

        MUST(!r->asked || r->request.kind == HF_REQUEST_END || r->answered);
        if (r->request.kind != HF_REQUEST_END)
            r->asked = false;
    }
}

static void on_event(void *host, struct hf_event *event)
{
    struct talk *talk = host;

    MUST(!talk->closed);
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        MUST(talk->up && event->as.connected.anchor_ms <= talk->now_ms);
        break;
    case HF_EVENT_SUSPENDED:
    case HF_EVENT_TROUBLE:
        break;
    case HF_EVENT_SESSION_LOST:
        session_ended(talk);
        break;
    case HF_EVENT_CLOSED:
        session_ended(talk);
        talk->closed = true;
        break;
    case HF_EVENT_PROVEN:
        MUST(event->as.answer.anchor_ms <= talk->now_ms);
        if (event->as.answer.request != NULL)
            answered(talk, event);
        break;
    default:
        answered(talk, event);
    }
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

/* -------------------------------------------------------------- requests -- */

static const enum hf_request_kind kinds[] = {
    HF_REQUEST_ENQUEUE,   HF_REQUEST_LIST,   HF_REQUEST_LOOK,
    HF_REQUEST_WATCH,     HF_REQUEST_PROVE,  HF_REQUEST_WITHDRAW,
    HF_REQUEST_DOWNGRADE, HF_REQUEST_REVOKE, HF_REQUEST_RAISE,
    HF_REQUEST_LOWER,     HF_REQUEST_STAMP};

static const enum hf_ticket_kind ticket_kinds[] = {
    HF_TICKET_MUTEX, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_LEASE,
    HF_TICKET_MEMBER};

static struct talk_request *find_spare(struct talk *talk)
{
    for (size_t i = 0; i < TALK_REQUESTS; i++) {
        if (!talk->requests[i].asked)
            return &talk->requests[i];
    }
    return NULL;
}

/* Is the same ticket being put in?  The core asks for that once at a time. */
static bool is_enqueuing(const struct talk *talk, const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < TALK_REQUESTS; i++) {
        const struct talk_request *r = &talk->requests[i];

        if (r->asked && r->request.kind == HF_REQUEST_ENQUEUE &&
            hf_ticket_id_equal(&r->request.ticket, id))
            return true;
    }
    return false;
}

static void ask(struct talk *talk, enum hf_request_kind kind, uint8_t which)
{
    struct talk_request *r = find_spare(talk);
    struct hf_request request = {.kind = kind, .weight = 1, .payload = "me"};

    memset(request.ticket.bytes, 'a' + which % 8, sizeof request.ticket.bytes);
    request.queue = which & 8 ? "other" : "one";
    request.ticket_kind = ticket_kinds[(which >> 4) % 5];
    request.limit = 1;
    if (kind == HF_REQUEST_RAISE || kind == HF_REQUEST_LOWER)
        request.ticket_kind = HF_TICKET_BARRIER;
    request.whole = kind == HF_REQUEST_LIST && which >= 128;
    if (r == NULL || (kind == HF_REQUEST_PROVE && talk->proving) ||
        (kind == HF_REQUEST_ENQUEUE && is_enqueuing(talk, &request.ticket)))
        return;
    talk->proving |= kind == HF_REQUEST_PROVE;
    *r = (struct talk_request){.request = request, .asked = true};
    hf_leased_request(talk->leased, &r->request, talk->now_ms);
}

static void forget(struct talk *talk, uint8_t which)
{
    struct talk_request *r = &talk->requests[which % TALK_REQUESTS];

    if (!r->asked || !goes_on(&r->request))
        return;
    r->asked = false;
    hf_leased_forget(talk->leased, &r->request, talk->now_ms);
}

/* ----------------------------------------------------------------- steps -- */

static void answer_oldest(struct talk *talk)
{
    struct hf_store_call *oldest = talk->calls[0];

    if (!talk->up || talk->call_count == 0)
        return;
    talk->call_count--;
    memmove(talk->calls, talk->calls + 1,
            talk->call_count * sizeof(struct hf_store_call *));
    talk->words->answer(talk, oldest);
}

/* As a store that has read that it can be called. */
static void come_up(struct talk *talk)
{
    if (!talk->linked || talk->up)
        return;
    talk->up = true;
    hf_leased_up(talk->leased, SERVER_MS + talk->now_ms, talk->now_ms);
}

static void pass(struct talk *talk, uint64_t ms)
{
    talk->now_ms += ms;
    hf_leased_tick(talk->leased, talk->now_ms);
}

static void step(struct talk *talk)
{
    uint8_t which = talk_next(talk) % 16;

    if (which < sizeof kinds / sizeof kinds[0]) {
        ask(talk, kinds[which], talk_next(talk));
    } else if (which == 11) {
        answer_oldest(talk);
    } else if (which == 12) {
        if (talk->up)
            talk->words->notice(talk);
    } else if (which == 13) {
        come_up(talk);
    } else if (which == 14) {
        pass(talk, talk_next(talk) * UINT64_C(50));
    } else if (talk->linked && talk_next(talk) % 4 == 0) {
        talk_down(talk);
    } else {
        forget(talk, talk_next(talk));
    }
}

/* Nothing more is answered; a goodbye is not waited for long. */
static void end(struct talk *talk)
{
    struct talk_request *r = find_spare(talk);

    if (r == NULL) {
        r = &talk->requests[0];
        if (talk->linked)
            talk_down(talk);
    }
    if (!r->asked) {
        *r = (struct talk_request){.request.kind = HF_REQUEST_END,
                                   .asked = true};
        hf_leased_request(talk->leased, &r->request, talk->now_ms);
    }
    for (int i = 0; i < 100 && !talk->closed; i++) {
        uint64_t at_ms = hf_leased_wake_at_ms(talk->leased);

        if (at_ms == HF_FOREVER)
            break;
        talk->now_ms = hf_later_ms(talk->now_ms, at_ms);
        hf_leased_tick(talk->leased, talk->now_ms);
    }
    MUST(talk->closed || r->request.kind != HF_REQUEST_END);
    hf_leased_free(talk->leased);
}

void talk_run(struct talk *talk, const struct talk_words *words,
              struct hf_store *store, const uint8_t *bytes, size_t count)
{
    struct hf_leased_config config = {.ttl_ms = HF_LEASED_TTL_LEAST_MS,
                                      .place = "here"};
    struct hf_engine_host host = {
        .event = on_event, .log = on_log, .host = talk};

    talk->words = words;
    talk->bytes = bytes;
    talk->left = count;
    talk->now_ms = 1000;
    current = talk;
    hf_random_seed(&config.random, 1);
    talk->leased =
        hf_leased_new(&config, &host, &store_ops, store, talk->now_ms);
    MUST(talk->leased != NULL);
    while (talk->left > 0) {
        step(talk);
        MUST(hf_leased_wake_at_ms(talk->leased) != HF_FOREVER);
    }
    end(talk);
    current = NULL;
}
