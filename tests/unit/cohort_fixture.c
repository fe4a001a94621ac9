/* SPDX-License-Identifier: Apache-2.0 */
/* The core as a test of a cohort sees it: events in, effects out as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tracked_heap.h"

#include "cohort_fixture.h"
#include "core/cohort.h"

#define TEXT_BYTES 1024

/* --------------------------------------------------------------- effects -- */

static const char *ticket_name(const struct cohort_fixture *f,
                               const struct hf_ticket_id *id)
{
    static char name[24];

    snprintf(name, sizeof name, "%c", id->bytes[0]);
    for (size_t i = 1; i <= f->t_count; i++) {
        if (hf_ticket_id_equal(&f->t[i], id))
            snprintf(name, sizeof name, "t%zu", i);
    }
    return name;
}

/* "VERB" or "VERB t1": a list, a queue watch and a proof are about no ticket.
 */
static void describe(struct cohort_fixture *f, const struct hf_request *request,
                     const char *verb, char *text, size_t bytes)
{
    bool named = request->own_ticket != NULL &&
                 request->kind != HF_REQUEST_LIST &&
                 request->kind != HF_REQUEST_WATCH_QUEUE;

    snprintf(text, bytes, "%s%s%s", verb, named ? " " : "",
             named ? ticket_name(f, &request->ticket) : "");
}

static void take_request(struct cohort_fixture *f, struct hf_request *request,
                         char *text, size_t bytes)
{
    static const char *const verbs[] = {
        [HF_REQUEST_ENQUEUE] = "ENQUEUE",
        [HF_REQUEST_LIST] = "LIST",
        [HF_REQUEST_WATCH] = "WATCH",
        [HF_REQUEST_PROVE] = "PROVE",
        [HF_REQUEST_REMOVE] = "REMOVE",
        [HF_REQUEST_END] = "END",
        [HF_REQUEST_DESCRIBE] = "DESCRIBE",
        [HF_REQUEST_WATCH_QUEUE] = "WATCH queue"};
    size_t pending = 0;

    if (request->kind == HF_REQUEST_ENQUEUE) {
        assert_true(f->t_count < COHORT_TICKETS);
        f->t[++f->t_count] = request->ticket;
        snprintf(f->t_payloads[f->t_count], sizeof f->t_payloads[0], "%s",
                 request->payload);
    }
    describe(f, request, verbs[request->kind], text, bytes);
    while (f->pending[pending].request != NULL)
        assert_true(++pending < COHORT_PENDING);
    snprintf(f->pending[pending].text, sizeof f->pending[pending].text, "%s",
             text);
    f->pending[pending].request = request;
}

struct hf_request *cohort_pending(struct cohort_fixture *f, const char *text,
                                  bool end)
{
    struct hf_request *request;

    for (size_t i = 0; i < COHORT_PENDING; i++) {
        request = f->pending[i].request;
        if (request == NULL || strcmp(f->pending[i].text, text) != 0)
            continue;
        if (end)
            f->pending[i].request = NULL;
        return request;
    }
    fail_msg("nobody asked to %s", text);
    return NULL;
}

static void take_user(struct cohort_fixture *f, const struct hf_effect *effect,
                      char *text, size_t bytes)
{
    const struct hf_acquisition *a = effect->acquisition;
    size_t number = (size_t)(a - f->w);

    assert_true(a >= f->w + 1 && a <= f->w + COHORT_WAITERS);
    switch (effect->kind) {
    case HF_EFFECT_ENDED:
        assert_string_not_equal(hf_acquisition_text(a), "");
        snprintf(text, bytes, "w%zu ENDED %s", number,
                 hf_status_name(a->status));
        break;
    case HF_EFFECT_RELEASED:
        snprintf(text, bytes, "w%zu RELEASED %s", number,
                 hf_status_name(a->status));
        break;
    default:
        snprintf(text, bytes, "w%zu %s", number,
                 effect->kind == HF_EFFECT_GRANTED            ? "GRANTED"
                 : effect->kind == HF_EFFECT_LOST             ? "LOST"
                 : effect->kind == HF_EFFECT_REVOKED          ? "REVOKED"
                 : effect->kind == HF_EFFECT_ACQUISITION_DONE ? "DONE"
                                                              : "?");
    }
}

void cohort_fixture_expect(struct cohort_fixture *f, const char *expected,
                           const char *file, int line)
{
    struct hf_effect *effect;
    char all[TEXT_BYTES] = "", text[64];

    while ((effect = hf_core_next_effect(&f->core)) != NULL) {
        if (effect->kind == HF_EFFECT_REQUEST) {
            take_request(f, effect->request, text, sizeof text);
        } else if (effect->kind == HF_EFFECT_UNWATCH) {
            bool of_queue = effect->request->kind == HF_REQUEST_WATCH_QUEUE;

            describe(f, effect->request, of_queue ? "WATCH queue" : "WATCH",
                     text, sizeof text);
            (void)cohort_pending(f, text, true);
            describe(f, effect->request, of_queue ? "UNWATCH queue" : "UNWATCH",
                     text, sizeof text);
        } else if (effect->kind == HF_EFFECT_CONNECT) {
            snprintf(text, sizeof text, "CONNECT");
        } else if (effect->kind == HF_EFFECT_STATE) {
            snprintf(text, sizeof text, "%s", hf_state_name(effect->state));
        } else {
            take_user(f, effect, text, sizeof text);
        }
        assert_true(strlen(all) + strlen(text) + 3 < sizeof all);
        if (all[0] != '\0')
            strcat(all, "; ");
        strcat(all, text);
        hf_core_check(&f->core);
    }
    _assert_string_equal(all, expected, file, line);
}

/* ---------------------------------------------------------------- events -- */

void cohort_step(struct cohort_fixture *f, struct hf_event event)
{
    event.now_ms = f->now_ms;
    hf_core_step(&f->core, &event);
    hf_core_check(&f->core);
}

static void user(struct cohort_fixture *f, enum hf_event_kind kind,
                 size_t number)
{
    cohort_step(
        f, (struct hf_event){.kind = kind, .as.acquisition = &f->w[number]});
}

void cohort_want(struct cohort_fixture *f, size_t number)
{
    user(f, HF_EVENT_ACQUIRE, number);
}

void cohort_release(struct cohort_fixture *f, size_t number)
{
    user(f, HF_EVENT_RELEASE, number);
}

void cohort_cancel(struct cohort_fixture *f, size_t number)
{
    user(f, HF_EVENT_CANCEL, number);
}

void cohort_tick(struct cohort_fixture *f, uint64_t now_ms)
{
    f->now_ms = now_ms;
    cohort_step(f, (struct hf_event){.kind = HF_EVENT_TICK});
}

void cohort_connected(struct cohort_fixture *f, bool resumed)
{
    cohort_step(
        f, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                             .as.connected = {.timeout_ms = COHORT_TIMEOUT_MS,
                                              .clock_drift = 1,
                                              .anchor_ms = f->now_ms - 10,
                                              .resumed = resumed}});
}

void cohort_session(struct cohort_fixture *f, enum hf_event_kind kind)
{
    cohort_step(f, (struct hf_event){.kind = kind});
}

/* Fill ${tickets} from "x t1 y".  How many they are. */
static size_t read_queue(struct cohort_fixture *f, const char *names,
                         struct hf_ticket tickets[COHORT_TICKETS])
{
    static const struct hf_ticket blank = {
        .kind = HF_TICKET_MUTEX, .weight = 1, .payload = "another client"};
    size_t count = 0;
    size_t number;

    for (const char *at = names; *at != '\0'; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        tickets[count] = blank;
        memset(tickets[count].id.bytes, at[0], HF_TICKET_ID_BYTES);
        tickets[count].sequence = tickets[count].token = count + 1;
        if (sscanf(at, "t%zu", &number) == 1) {
            tickets[count].id = f->t[number];
            tickets[count].payload = f->t_payloads[number];
            tickets[count].token = 100 + number;
        }
        count++;
    }
    return count;
}

void cohort_answer(struct cohort_fixture *f, enum hf_event_kind kind,
                   const char *request, const char *queue)
{
    struct hf_event event = {.kind = kind};
    struct hf_ticket tickets[COHORT_TICKETS];
    bool stays = kind == HF_EVENT_WATCHING || kind == HF_EVENT_REVOKED ||
                 strcmp(request, "WATCH queue") == 0;

    stays = stays && kind != HF_EVENT_QUEUE_CHANGED;
    event.as.answer.request = cohort_pending(f, request, !stays);
    event.as.answer.found = true;
    event.as.answer.anchor_ms = f->now_ms - 5;
    event.as.answer.snapshot.tickets = tickets;
    event.as.answer.snapshot.count =
        queue == NULL ? 0 : read_queue(f, queue, tickets);
    cohort_step(f, event);
}

void cohort_enqueued(struct cohort_fixture *f, const char *request,
                     const char *queue)
{
    cohort_answer(f, HF_EVENT_ENQUEUED, request, queue);
}

void cohort_removed(struct cohort_fixture *f, const char *request)
{
    cohort_answer(f, HF_EVENT_REMOVED, request, NULL);
}

void cohort_gone(struct cohort_fixture *f, const char *request)
{
    cohort_answer(f, HF_EVENT_GONE, request, NULL);
}

void cohort_failed(struct cohort_fixture *f, const char *request,
                   enum hf_failure failure, hf_status status)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = cohort_pending(f, request, true);
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = "said the engine";
    cohort_step(f, event);
}

/* ----------------------------------------------------------- beginnings -- */

void cohort_fixture_init(struct cohort_fixture *f)
{
    struct hf_core_config config = {
        .traits = HF_ENGINE_GONE_ADMITS,
        .connect_ms = 15000,
        .retry = {.base_ms = 100,
                  .cap_ms = 1000,
                  .tries = HF_RETRY_UNLIMITED,
                  .elapsed_ms = HF_FOREVER},
    };

    tracked_heap_install();
    memset(f, 0, sizeof *f);
    hf_random_seed(&config.random, 1);
    hf_core_init(&f->core, &config, COHORT_START_MS);
    hf_cohort_init(&f->cohort, "q", COHORT_HANDOFFS, 0);
    f->now_ms = COHORT_START_MS;
    for (size_t i = 1; i <= COHORT_WAITERS; i++) {
        snprintf(f->payloads[i], sizeof f->payloads[i], "w%zu", i);
        f->w[i] = (struct hf_acquisition){.queue = "q",
                                          .payload = f->payloads[i],
                                          .kind = HF_TICKET_MUTEX,
                                          .ops = &hf_acquisition_cohort_ops,
                                          .waiter.cohort = &f->cohort,
                                          .deadline_at_ms = HF_FOREVER};
    }
    cohort_connected(f, false);
    expect(f, "CONNECTED");
}

void cohort_fixture_held(struct cohort_fixture *f, size_t count)
{
    cohort_fixture_init(f);
    cohort_want(f, 1);
    expect(f, "ENQUEUE t1");
    cohort_enqueued(f, "ENQUEUE t1", "t1");
    expect(f, "w1 GRANTED");
    for (size_t i = 2; i <= count; i++) {
        cohort_want(f, i);
        expect(f, "");
    }
}

uint64_t safe_until_of(struct cohort_fixture *f, size_t number)
{
    return hf_core_safe_until_ms(&f->core, &f->w[number]);
}
