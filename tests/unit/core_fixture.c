/* SPDX-License-Identifier: Apache-2.0 */
/* The core as a test of acquisitions sees it: events in, effects out as text.
 */
#include "core_fixture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/time_math.h"
#include "tracked_heap.h"

/* ----------------------------------------------------------- beginnings -- */

static void init_acquisition(struct hf_acquisition *a, const char *payload)
{
    *a = (struct hf_acquisition){.queue = "q",
                                 .payload = payload,
                                 .kind = HF_TICKET_MUTEX,
                                 .deadline_at_ms = HF_FOREVER};
}

void core_fixture_init(struct core_fixture *f, unsigned traits)
{
    struct hf_core_config config = {
        .traits = traits,
        .connect_ms = CORE_CONNECT_MS,
        .retry = {.base_ms = 100,
                  .cap_ms = 1000,
                  .tries = 3,
                  .elapsed_ms = HF_FOREVER},
    };

    tracked_heap_install();
    memset(f, 0, sizeof *f);
    hf_random_seed(&config.random, 1);
    hf_core_init(&f->core, &config, CORE_START_MS);
    init_acquisition(&f->a, "I am a");
    init_acquisition(&f->b, "I am b");
    init_acquisition(&f->c, "I am c");
    f->now_ms = CORE_START_MS;
}

void core_fixture_connected(struct core_fixture *f, unsigned traits)
{
    core_fixture_init(f, traits);
    connected(f, CORE_START_MS - 10, false);
    expect(f, "STATE CONNECTED");
}

#define CORE_ACQUISITIONS 3

static const struct hf_acquisition *nth(const struct core_fixture *f,
                                        unsigned who)
{
    if (who == 0)
        return &f->a;
    return who == 1 ? &f->b : &f->c;
}

static unsigned index_of(const struct core_fixture *f,
                         const struct hf_acquisition *a)
{
    unsigned who = 0;

    while (nth(f, who) != a)
        assert_true(++who < CORE_ACQUISITIONS);
    return who;
}

/* --------------------------------------------------------------- tickets -- */

static struct hf_ticket_id other_id(char letter)
{
    struct hf_ticket_id id;

    memset(id.bytes, letter, sizeof id.bytes);
    return id;
}

static void ticket_name(const struct core_fixture *f,
                        const struct hf_ticket_id *id, char *name, size_t bytes)
{
    for (unsigned who = 0; who < CORE_ACQUISITIONS; who++) {
        for (size_t i = 0; i < f->own_count[who]; i++) {
            if (hf_ticket_id_equal(&f->own_ids[who][i], id)) {
                snprintf(name, bytes, "%c%zu", "abc"[who], i + 1);
                return;
            }
        }
    }
    snprintf(name, bytes, "%c", id->bytes[0]);
}

static enum hf_ticket_kind kind_of(const char *suffix)
{
    if (strncmp(suffix, "/l", 2) == 0)
        return HF_TICKET_LEASE;
    if (strncmp(suffix, "/y", 2) == 0)
        return HF_TICKET_READY;
    if (strcmp(suffix, "/m") == 0)
        return HF_TICKET_PARTICIPANT;
    if (strcmp(suffix, "/r") == 0)
        return HF_TICKET_READ;
    if (strcmp(suffix, "/w") == 0)
        return HF_TICKET_WRITE;
    if (strcmp(suffix, "/x") == 0)
        return HF_TICKET_EXCLUSIVE;
    assert_string_equal(suffix, "");
    return HF_TICKET_MUTEX;
}

/* The ticket that ${name}, as "a1" or "x/l2", stands for.  The token of ours is
 * made of the acquisition and the number, so that a test can
 * distinguish them from sequences. */
static struct hf_ticket read_ticket(const struct core_fixture *f,
                                    const char *name, uint64_t sequence)
{
    struct hf_ticket ticket = {
        .sequence = sequence, .token = sequence, .weight = 1};
    unsigned who = (unsigned)(name[0] - 'a');
    unsigned number;

    if (sscanf(name, "%*1[abc]%u", &number) == 1) {
        assert_true(number >= 1 && number <= f->own_count[who]);
        ticket.id = f->own_ids[who][number - 1];
        ticket.kind = nth(f, who)->kind;
        if (strchr(name, '/') != NULL)
            ticket.kind = kind_of(strchr(name, '/'));
        if (ticket.kind == HF_TICKET_LEASE)
            ticket.weight = nth(f, who)->weight;
        ticket.payload = nth(f, who)->payload;
        ticket.token = (who + 1) * 100 + number;
        return ticket;
    }
    ticket.id = other_id(name[0]);
    ticket.kind = kind_of(name + 1);
    (void)sscanf(name, "%*c/l%u", &ticket.weight);
    (void)sscanf(name, "%*c/y%" SCNu64, &ticket.token);
    ticket.payload = "another client";
    return ticket;
}

static size_t read_queue(const struct core_fixture *f, const char *queue,
                         struct hf_ticket tickets[CORE_TICKETS])
{
    size_t count = 0;
    char text[128];
    char *rest = NULL;

    assert_true(strlen(queue) < sizeof text);
    strcpy(text, queue);
    for (char *name = strtok_r(text, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        assert_true(count < CORE_TICKETS);
        tickets[count] = read_ticket(f, name, count + 1);
        count++;
    }
    return count;
}

/* --------------------------------------------------------------- effects -- */

static void describe_request(const struct core_fixture *f,
                             const struct hf_request *request, bool forget,
                             char *text, size_t bytes)
{
    static const char *const verbs[] = {
        "ENQUEUE",  "LIST",       "WATCH_QUEUE",   "WATCH",  "REMOVE",
        "PROVE",    "END",        "DOWNGRADE",     "REVOKE", "DESCRIBE",
        "SET_FLAG", "CLEAR_FLAG", "NEW_GENERATION"};
    char name[24] = "";

    if (request->own_ticket == NULL) {
        snprintf(text, bytes, "%s", verbs[request->kind]);
        return;
    }
    assert_string_equal(request->queue,
                        request->own_ticket->acquisition->queue);
    if (request->kind != HF_REQUEST_LIST)
        ticket_name(f, &request->ticket, name, sizeof name);
    snprintf(text, bytes, "%c %s%s%s",
             "abc"[index_of(f, request->own_ticket->acquisition)],
             forget ? "UNWATCH" : verbs[request->kind],
             name[0] == '\0' ? "" : " ", name);
}

static struct pending_request *find_pending(struct core_fixture *f,
                                            const char *text)
{
    for (size_t i = 0; i < CORE_PENDING; i++) {
        if (strcmp(f->pending[i].text, text) == 0)
            return &f->pending[i];
    }
    return NULL;
}

bool is_pending(const struct core_fixture *f, const char *text)
{
    for (size_t i = 0; i < CORE_PENDING; i++) {
        if (strcmp(f->pending[i].text, text) == 0)
            return true;
    }
    return false;
}

/* Keep a request until the test answers it, as an engine does, and check what
 * the core promises of it: it is busy, new, and there is no second one that
 * reads the same. */
static void take_request(struct core_fixture *f, struct hf_request *request,
                         char *text, size_t bytes)
{
    struct pending_request *pending = find_pending(f, "");

    assert_true(request->busy);
    assert_null(request->engine_data);
    if (request->kind == HF_REQUEST_ENQUEUE) {
        unsigned who = index_of(f, request->own_ticket->acquisition);

        assert_true(f->own_count[who] < CORE_TICKETS);
        f->own_ids[who][f->own_count[who]++] = request->ticket;
        assert_int_equal(request->ticket_kind,
                         request->own_ticket->acquisition->kind);
        assert_ptr_equal(request->payload,
                         request->own_ticket->acquisition->payload);
    }
    describe_request(f, request, false, text, bytes);
    assert_null(find_pending(f, text));
    assert_non_null(pending);
    snprintf(pending->text, sizeof pending->text, "%s", text);
    pending->request = request;
    request->engine_data = pending;
}

/* A watch that the core takes back must be one that is pending. */
static void take_forget(struct core_fixture *f, struct hf_request *watch,
                        char *text, size_t bytes)
{
    struct pending_request *pending = watch->engine_data;

    assert_non_null(pending);
    assert_ptr_equal(pending->request, watch);
    pending->text[0] = '\0';
    describe_request(f, watch, true, text, bytes);
}

/* An owner gets one answer, GRANTED or ENDED. */
static void note_answer(struct core_fixture *f, const struct hf_acquisition *a)
{
    assert_int_equal(f->answers[index_of(f, a)]++, 0);
}

static void take_user_effect(struct core_fixture *f,
                             const struct hf_effect *effect, char *text,
                             size_t bytes)
{
    const struct hf_acquisition *a = effect->acquisition;
    unsigned who = index_of(f, a);
    char letter = "abc"[who];

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        assert_true(f->held[who]);
        f->held[who] = false;
        snprintf(text, bytes, "%c LOST", letter);
        break;
    case HF_EFFECT_REVOKED:
        assert_true(f->held[who]);
        snprintf(text, bytes, "%c REVOKED", letter);
        break;
    case HF_EFFECT_GRANTED:
        note_answer(f, a);
        f->held[who] = true;
        snprintf(text, bytes, "%c GRANTED", letter);
        break;
    case HF_EFFECT_ENDED:
        note_answer(f, a);
        assert_string_not_equal(hf_acquisition_text(a), "");
        snprintf(text, bytes, "%c ENDED %s", letter, hf_status_name(a->status));
        break;
    case HF_EFFECT_WAITING:
        snprintf(text, bytes, "%c WAITING %u", letter, a->ahead);
        break;
    case HF_EFFECT_RELEASED:
        snprintf(text, bytes, "%c RELEASED %s", letter,
                 hf_status_name(a->status));
        break;
    case HF_EFFECT_DOWNGRADED:
        snprintf(text, bytes, "%c DOWNGRADED %s", letter,
                 hf_status_name(a->user.downgrade_status));
        break;
    default:
        assert_int_equal(effect->kind, HF_EFFECT_ACQUISITION_DONE);
        assert_int_equal(f->answers[who], 1);
        assert_int_equal(f->forgotten[who]++, 0);
        snprintf(text, bytes, "%c DONE", letter);
    }
}

static void take_effect(struct core_fixture *f, struct hf_effect *effect,
                        char *text, size_t bytes)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        take_request(f, effect->request, text, bytes);
        break;
    case HF_EFFECT_UNWATCH:
        take_forget(f, effect->request, text, bytes);
        break;
    case HF_EFFECT_CONNECT:
        snprintf(text, bytes, "CONNECT");
        break;
    case HF_EFFECT_PROVEN:
        snprintf(text, bytes, "PROVEN");
        break;
    case HF_EFFECT_STATE:
        snprintf(text, bytes, "STATE %s", hf_state_name(effect->state));
        break;
    default:
        take_user_effect(f, effect, text, bytes);
    }
}

/* Write all effects to ${all}, which has room for ${bytes} bytes.  The
 * invariants of the core must hold after each. */
static void take_effects(struct core_fixture *f, char *all, size_t bytes)
{
    struct hf_effect *effect;

    all[0] = '\0';
    while ((effect = hf_core_next_effect(&f->core)) != NULL) {
        char text[64];

        take_effect(f, effect, text, sizeof text);
        assert_true(strlen(all) + strlen(text) + 3 < bytes);
        if (all[0] != '\0')
            strcat(all, "; ");
        strcat(all, text);
        hf_core_check(&f->core);
    }
}

void core_fixture_expect_one(struct core_fixture *f, const char *expected)
{
    struct hf_effect *effect = hf_core_next_effect(&f->core);
    char text[64];

    assert_non_null(effect);
    take_effect(f, effect, text, sizeof text);
    assert_string_equal(text, expected);
}

void core_fixture_drain(struct core_fixture *f)
{
    char all[CORE_TEXT_BYTES];

    take_effects(f, all, sizeof all);
}

void core_fixture_expect(struct core_fixture *f, const char *expected,
                         const char *file, int line)
{
    char all[CORE_TEXT_BYTES];

    take_effects(f, all, sizeof all);
    _assert_string_equal(all, expected, file, line);
}

/* ---------------------------------------------------------------- events -- */

static void step(struct core_fixture *f, struct hf_event event)
{
    event.now_ms = f->now_ms;
    hf_core_step(&f->core, &event);
    hf_core_check(&f->core);
}

static void step_user(struct core_fixture *f, enum hf_event_kind kind,
                      struct hf_acquisition *a)
{
    step(f, (struct hf_event){.kind = kind, .as.acquisition = a});
}

void want(struct core_fixture *f, struct hf_acquisition *a)
{
    step_user(f, HF_EVENT_ACQUIRE, a);
}

void cancel(struct core_fixture *f, struct hf_acquisition *a)
{
    step_user(f, HF_EVENT_CANCEL, a);
}

void release(struct core_fixture *f, struct hf_acquisition *a)
{
    step_user(f, HF_EVENT_RELEASE, a);
}

void downgrade(struct core_fixture *f, struct hf_acquisition *a)
{
    step_user(f, HF_EVENT_DOWNGRADE, a);
}

void check(struct core_fixture *f)
{
    step(f, (struct hf_event){.kind = HF_EVENT_CHECK});
}

void close_core(struct core_fixture *f)
{
    step(f, (struct hf_event){.kind = HF_EVENT_CLOSE});
}

void connected(struct core_fixture *f, uint64_t anchor_ms, bool resumed)
{
    connected_for(f, CORE_TIMEOUT_MS, anchor_ms, resumed);
}

void connected_for(struct core_fixture *f, uint64_t timeout_ms,
                   uint64_t anchor_ms, bool resumed)
{
    step(f, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                              .as.connected = {.timeout_ms = timeout_ms,
                                               .clock_drift = 1,
                                               .anchor_ms = anchor_ms,
                                               .resumed = resumed,
                                               .lazy = f->lazy,
                                               .proof_ms = f->proof_ms}});
}

void resuming(struct core_fixture *f, uint64_t sent_at_ms,
              uint64_t least_timeout_ms)
{
    step(f, (struct hf_event){
                .kind = HF_EVENT_RESUMING,
                .as.resuming = {.sent_at_ms = sent_at_ms,
                                .least_timeout_ms = least_timeout_ms}});
}

void suspended(struct core_fixture *f)
{
    step(f, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
}

/* Watches end with their session and without an event. */
static void forget_watches(struct core_fixture *f)
{
    for (size_t i = 0; i < CORE_PENDING; i++) {
        if (strstr(f->pending[i].text, " WATCH ") != NULL ||
            strstr(f->pending[i].text, " WATCH_QUEUE") != NULL)
            f->pending[i].text[0] = '\0';
    }
}

void report_connection_error(struct core_fixture *f, hf_status status,
                             const char *text)
{
    step(f, (struct hf_event){
                .kind = HF_EVENT_CONNECTION_ERROR,
                .as.connection_error = {.text = text, .status = status}});
}

void report_final_error(struct core_fixture *f, hf_status status,
                        const char *text)
{
    step(f,
         (struct hf_event){.kind = HF_EVENT_CONNECTION_ERROR,
                           .as.connection_error = {
                               .text = text, .status = status, .final = true}});
}

void gave_up(struct core_fixture *f, uint32_t retries, uint64_t elapsed_ms)
{
    step(f, (struct hf_event){.kind = HF_EVENT_GAVE_UP,
                              .as.gave_up = {retries, elapsed_ms}});
}

void session_lost(struct core_fixture *f, hf_status status)
{
    forget_watches(f);
    step(f, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                              .as.answer.status = status});
}

void closed(struct core_fixture *f)
{
    struct pending_request *end = find_pending(f, "END");

    if (end != NULL)
        end->text[0] = '\0';
    forget_watches(f);
    step(f, (struct hf_event){.kind = HF_EVENT_CLOSED});
}

/* Answer a pending request.  A WATCH that is WATCHING and a queue watch that is
 * LISTED stay pending, because GONE or QUEUE_CHANGED comes later. */
static void answer(struct core_fixture *f, const char *request,
                   struct hf_event event)
{
    struct pending_request *pending = find_pending(f, request);

    if (pending == NULL)
        fail_msg("nobody asked for \"%s\"", request);
    event.as.answer.request = pending->request;
    if (event.kind != HF_EVENT_WATCHING && event.kind != HF_EVENT_REVOKED &&
        !(event.kind == HF_EVENT_LISTED &&
          pending->request->kind == HF_REQUEST_WATCH_QUEUE))
        pending->text[0] = '\0';
    step(f, event);
}

static void answer_queue(struct core_fixture *f, const char *request,
                         enum hf_event_kind kind, const char *queue)
{
    struct hf_ticket tickets[CORE_TICKETS];
    struct hf_event event = {.kind = kind};

    event.as.answer.snapshot.tickets = tickets;
    event.as.answer.snapshot.count = read_queue(f, queue, tickets);
    answer(f, request, event);
}

void enqueued(struct core_fixture *f, const char *request, const char *queue)
{
    answer_queue(f, request, HF_EVENT_ENQUEUED, queue);
}

void listed(struct core_fixture *f, const char *request, const char *queue)
{
    answer_queue(f, request, HF_EVENT_LISTED, queue);
}

void watching(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_WATCHING});
}

void changed(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_QUEUE_CHANGED});
}

void revoked(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_REVOKED});
}

void gone(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_GONE});
}

void gone_before(struct core_fixture *f, const char *request, const char *first)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.first = read_ticket(f, first, 0).id;
    answer(f, request, event);
}

void removed(struct core_fixture *f, const char *request, bool found)
{
    answer(
        f, request,
        (struct hf_event){.kind = HF_EVENT_REMOVED, .as.answer.found = found});
}

void generation_set(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_FLAG_UPDATED});
}

void downgraded(struct core_fixture *f, const char *request)
{
    answer(f, request, (struct hf_event){.kind = HF_EVENT_DOWNGRADED});
}

void proven(struct core_fixture *f, uint64_t anchor_ms)
{
    answer(f, "PROVE",
           (struct hf_event){.kind = HF_EVENT_PROVEN,
                             .as.answer.anchor_ms = anchor_ms});
}

void failed_as(struct core_fixture *f, const char *request,
               enum hf_failure failure, hf_status status, const char *text)
{
    answer(
        f, request,
        (struct hf_event){
            .kind = HF_EVENT_FAILED,
            .as.answer = {.failure = failure, .status = status, .text = text}});
}

void failed(struct core_fixture *f, const char *request,
            enum hf_failure failure)
{
    failed_as(f, request, failure, HF_EUNREACHABLE, "the wire is cut");
}

void set_time(struct core_fixture *f, uint64_t now_ms)
{
    assert_true(now_ms >= f->now_ms);
    f->now_ms = now_ms;
}

void advance_to(struct core_fixture *f, uint64_t now_ms)
{
    set_time(f, now_ms);
    step(f, (struct hf_event){.kind = HF_EVENT_TICK});
    /* A wake-up at once would make the loop of a client spin. */
    assert_true(hf_core_wake_at_ms(&f->core) > f->now_ms);
}

void wake(struct core_fixture *f)
{
    uint64_t at_ms = hf_core_wake_at_ms(&f->core);

    assert_true(at_ms != HF_FOREVER);
    advance_to(f, hf_max_ms(at_ms, f->now_ms));
}

/* ----------------------------------------------- states of many tests -- */

void enqueue_a(struct core_fixture *f)
{
    want(f, &f->a);
    expect(f, "a ENQUEUE a1");
}

void enqueue_a_in(struct core_fixture *f, const char *queue)
{
    enqueue_a(f);
    enqueued(f, "a ENQUEUE a1", queue);
}

void queue_a_behind_x(struct core_fixture *f)
{
    enqueue_a_in(f, "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
}

void hold_a(struct core_fixture *f)
{
    enqueue_a_in(f, "a1");
    expect(f, "a GRANTED");
}

void lose_answer_of_a1(struct core_fixture *f)
{
    enqueue_a(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
}

void replace_a1(struct core_fixture *f)
{
    lose_answer_of_a1(f);
    listed(f, "a LIST", "x");
    wake(f);
    expect(f, "a ENQUEUE a2");
}

void pass_window_of_a1(struct core_fixture *f)
{
    advance_to(f, CORE_START_MS + CORE_LATE_MS - 1);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + CORE_LATE_MS);
    expect(f, "a REMOVE a1");
}
