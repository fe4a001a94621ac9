/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shelf.h"

#include "hall.h"

#define TEXT_BYTES 1024

/* --------------------------------------------------------------- effects -- */

static const char *ticket_name(const struct hall *h,
                               const struct hf_ticket_id *id)
{
    static char name[24];

    snprintf(name, sizeof name, "%c", id->bytes[0]);
    for (size_t i = 1; i <= h->t_count; i++) {
        if (hf_ticket_id_equal(&h->t[i], id))
            snprintf(name, sizeof name, "t%zu", i);
    }
    return name;
}

static void describe(struct hall *h, const struct hf_request *request,
                     const char *verb, char *text, size_t bytes)
{
    bool named =
        request->own_ticket != NULL && request->kind != HF_REQUEST_LIST;

    snprintf(text, bytes, "%s%s%s", verb, named ? " " : "",
             named ? ticket_name(h, &request->ticket) : "");
}

static void take_request(struct hall *h, struct hf_request *request, char *text,
                         size_t bytes)
{
    static const char *const verbs[] = {
        [HF_REQUEST_ENQUEUE] = "ENQUEUE",  [HF_REQUEST_LIST] = "LIST",
        [HF_REQUEST_WATCH] = "WATCH",      [HF_REQUEST_PROVE] = "PROVE",
        [HF_REQUEST_REMOVE] = "REMOVE",    [HF_REQUEST_END] = "END",
        [HF_REQUEST_DESCRIBE] = "DESCRIBE"};
    size_t slot = 0;

    if (request->kind == HF_REQUEST_ENQUEUE) {
        assert_true(h->t_count < HALL_TICKETS);
        h->t[++h->t_count] = request->ticket;
        snprintf(h->t_payloads[h->t_count], sizeof h->t_payloads[0], "%s",
                 request->payload);
    }
    describe(h, request, verbs[request->kind], text, bytes);
    while (h->pending[slot].request != NULL)
        assert_true(++slot < HALL_PENDING);
    snprintf(h->pending[slot].text, sizeof h->pending[slot].text, "%s", text);
    h->pending[slot].request = request;
}

struct hf_request *answering(struct hall *h, const char *text, bool end)
{
    struct hf_request *request;

    for (size_t i = 0; i < HALL_PENDING; i++) {
        request = h->pending[i].request;
        if (request == NULL || strcmp(h->pending[i].text, text) != 0)
            continue;
        if (end)
            h->pending[i].request = NULL;
        return request;
    }
    fail_msg("nobody asked to %s", text);
    return NULL;
}

static void take_user(struct hall *h, const struct hf_effect *effect,
                      char *text, size_t bytes)
{
    const struct hf_acquisition *a = effect->acquisition;
    size_t number = (size_t)(a - h->m);

    assert_true(a >= h->m + 1 && a <= h->m + HALL_MEMBERS);
    switch (effect->kind) {
    case HF_EFFECT_ENDED:
        assert_string_not_equal(hf_acquisition_text(a), "");
        snprintf(text, bytes, "m%zu ENDED %s", number,
                 hf_status_name(a->status));
        break;
    case HF_EFFECT_RELEASED:
        snprintf(text, bytes, "m%zu RELEASED %s", number,
                 hf_status_name(a->status));
        break;
    default:
        snprintf(text, bytes, "m%zu %s", number,
                 effect->kind == HF_EFFECT_GRANTED            ? "GRANTED"
                 : effect->kind == HF_EFFECT_LOST             ? "LOST"
                 : effect->kind == HF_EFFECT_REVOKED          ? "REVOKED"
                 : effect->kind == HF_EFFECT_ACQUISITION_DONE ? "DONE"
                                                              : "?");
    }
}

void hall_expect(struct hall *h, const char *expected, const char *file,
                 int line)
{
    struct hf_effect *effect;
    char all[TEXT_BYTES] = "", text[64];

    while ((effect = hf_core_next_effect(&h->core)) != NULL) {
        if (effect->kind == HF_EFFECT_REQUEST) {
            take_request(h, effect->request, text, sizeof text);
        } else if (effect->kind == HF_EFFECT_UNWATCH) {
            describe(h, effect->request, "WATCH", text, sizeof text);
            (void)answering(h, text, true);
            describe(h, effect->request, "UNWATCH", text, sizeof text);
        } else if (effect->kind == HF_EFFECT_CONNECT) {
            snprintf(text, sizeof text, "CONNECT");
        } else if (effect->kind == HF_EFFECT_STATE) {
            snprintf(text, sizeof text, "%s", hf_state_name(effect->state));
        } else {
            take_user(h, effect, text, sizeof text);
        }
        assert_true(strlen(all) + strlen(text) + 3 < sizeof all);
        if (all[0] != '\0')
            strcat(all, "; ");
        strcat(all, text);
        hf_core_check(&h->core);
    }
    _assert_string_equal(all, expected, file, line);
}

/* ---------------------------------------------------------------- events -- */

void step(struct hall *h, struct hf_event event)
{
    event.now_ms = h->now_ms;
    hf_core_step(&h->core, &event);
    hf_core_check(&h->core);
}

static void user(struct hall *h, enum hf_event_kind kind, size_t number)
{
    step(h, (struct hf_event){.kind = kind, .as.acquisition = &h->m[number]});
}

void want(struct hall *h, size_t number)
{
    user(h, HF_EVENT_ACQUIRE, number);
}

void release(struct hall *h, size_t number)
{
    user(h, HF_EVENT_RELEASE, number);
}

void cancel(struct hall *h, size_t number)
{
    user(h, HF_EVENT_CANCEL, number);
}

void tick(struct hall *h, uint64_t now_ms)
{
    h->now_ms = now_ms;
    step(h, (struct hf_event){.kind = HF_EVENT_TICK});
}

void connected(struct hall *h, bool resumed)
{
    step(h, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                              .as.connected = {.timeout_ms = HALL_TIMEOUT_MS,
                                               .anchor_ms = h->now_ms - 10,
                                               .resumed = resumed}});
}

void tell(struct hall *h, enum hf_event_kind kind)
{
    step(h, (struct hf_event){.kind = kind});
}

/* The queue ${names}, one letter or "tN" for each ticket. */
static size_t read_queue(struct hall *h, const char *names,
                         struct hf_ticket tickets[HALL_TICKETS])
{
    static const struct hf_ticket blank = {
        .kind = HF_TICKET_MUTEX, .weight = 1, .payload = "a stranger"};
    size_t count = 0;
    size_t number;

    for (const char *at = names; *at != '\0'; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        tickets[count] = blank;
        memset(tickets[count].id.bytes, at[0], HF_TICKET_ID_BYTES);
        tickets[count].sequence = tickets[count].token = count + 1;
        if (sscanf(at, "t%zu", &number) == 1) {
            tickets[count].id = h->t[number];
            tickets[count].payload = h->t_payloads[number];
            tickets[count].token = 100 + number;
        }
        count++;
    }
    return count;
}

void answer(struct hall *h, enum hf_event_kind kind, const char *request,
            const char *queue)
{
    struct hf_event event = {.kind = kind};
    struct hf_ticket tickets[HALL_TICKETS];
    bool stays = kind == HF_EVENT_WATCHING || kind == HF_EVENT_REVOKED;

    event.as.answer.request = answering(h, request, !stays);
    event.as.answer.found = true;
    event.as.answer.anchor_ms = h->now_ms - 5;
    event.as.answer.snapshot.tickets = tickets;
    event.as.answer.snapshot.count =
        queue == NULL ? 0 : read_queue(h, queue, tickets);
    step(h, event);
}

void enqueued(struct hall *h, const char *request, const char *queue)
{
    answer(h, HF_EVENT_ENQUEUED, request, queue);
}

void withdrawn(struct hall *h, const char *request)
{
    answer(h, HF_EVENT_REMOVED, request, NULL);
}

void gone(struct hall *h, const char *request)
{
    answer(h, HF_EVENT_GONE, request, NULL);
}

void failed(struct hall *h, const char *request, enum hf_failure failure,
            hf_status status)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = answering(h, request, true);
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = "said the engine";
    step(h, event);
}

/* ---------------------------------------------------------------- whole -- */

void hall_init(struct hall *h)
{
    struct hf_core_config config = {
        .traits = HF_ENGINE_GONE_ADMITS,
        .connect_ms = 15000,
        .retry = {.base_ms = 100,
                  .cap_ms = 1000,
                  .tries = HF_RETRY_UNLIMITED,
                  .elapsed_ms = HF_FOREVER},
    };

    shelf_own();
    memset(h, 0, sizeof *h);
    hf_random_seed(&config.random, 1);
    hf_core_init(&h->core, &config, HALL_START_MS);
    hf_cohort_init(&h->cohort, "q", HALL_HANDOFFS);
    h->now_ms = HALL_START_MS;
    for (size_t i = 1; i <= HALL_MEMBERS; i++) {
        snprintf(h->payloads[i], sizeof h->payloads[i], "m%zu", i);
        h->m[i] = (struct hf_acquisition){.queue = "q",
                                          .payload = h->payloads[i],
                                          .kind = HF_TICKET_MUTEX,
                                          .ops = &hf_acquisition_cohort_ops,
                                          .waiter.cohort = &h->cohort,
                                          .deadline_at_ms = HF_FOREVER};
    }
    connected(h, false);
    expect(h, "CONNECTED");
}

/* m1 holds, and as many wait as make ${count}. */
void hall_held(struct hall *h, size_t count)
{
    hall_init(h);
    want(h, 1);
    expect(h, "ENQUEUE t1");
    enqueued(h, "ENQUEUE t1", "t1");
    expect(h, "m1 GRANTED");
    for (size_t i = 2; i <= count; i++) {
        want(h, i);
        expect(h, "");
    }
}

uint64_t promise(struct hall *h, size_t number)
{
    return hf_core_safe_until_ms(&h->core, &h->m[number]);
}
