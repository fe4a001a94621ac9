/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/time_math.h"
#include "shelf.h"

/* --------------------------------------------------------------- the set -- */

static void init_acquisition(struct hf_acquisition *a, const char *payload)
{
    *a = (struct hf_acquisition){.queue = "q",
                                 .payload = payload,
                                 .kind = HF_TICKET_MUTEX,
                                 .deadline_at_ms = HF_FOREVER};
}

void stage_init(struct stage *s, unsigned traits)
{
    struct hf_core_config config = {
        .traits = traits,
        .connect_ms = STAGE_CONNECT_MS,
        .retry = {.base_ms = 100,
                  .cap_ms = 1000,
                  .tries = 3,
                  .elapsed_ms = HF_FOREVER},
    };

    shelf_own();
    memset(s, 0, sizeof *s);
    hf_random_seed(&config.random, 1);
    hf_core_init(&s->core, &config, STAGE_START_MS);
    init_acquisition(&s->a, "I am a");
    init_acquisition(&s->b, "I am b");
    init_acquisition(&s->c, "I am c");
    s->now_ms = STAGE_START_MS;
}

void stage_connected(struct stage *s, unsigned traits)
{
    stage_init(s, traits);
    connected(s, STAGE_START_MS - 10, false);
    expect(s, "STATE CONNECTED");
}

#define STAGE_ACQUISITIONS 3

static const struct hf_acquisition *nth(const struct stage *s, unsigned who)
{
    if (who == 0)
        return &s->a;
    return who == 1 ? &s->b : &s->c;
}

static unsigned index_of(const struct stage *s, const struct hf_acquisition *a)
{
    unsigned who = 0;

    while (nth(s, who) != a)
        assert_true(++who < STAGE_ACQUISITIONS);
    return who;
}

/* --------------------------------------------------------------- tickets -- */

static struct hf_ticket_id stranger_id(char letter)
{
    struct hf_ticket_id id;

    memset(id.bytes, letter, sizeof id.bytes);
    return id;
}

static void ticket_name(const struct stage *s, const struct hf_ticket_id *id,
                        char *name, size_t bytes)
{
    for (unsigned who = 0; who < STAGE_ACQUISITIONS; who++) {
        for (size_t i = 0; i < s->mine_count[who]; i++) {
            if (hf_ticket_id_equal(&s->mine[who][i], id)) {
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

/* The ticket called ${name}, at its place: ours have a token of their own, so
 * that a1's is 101 and b2's 202. */
static struct hf_ticket read_ticket(const struct stage *s, const char *name,
                                    uint64_t sequence)
{
    struct hf_ticket ticket = {
        .sequence = sequence, .token = sequence, .weight = 1};
    unsigned who = (unsigned)(name[0] - 'a');
    unsigned number;

    if (sscanf(name, "%*1[abc]%u", &number) == 1) {
        assert_true(number >= 1 && number <= s->mine_count[who]);
        ticket.id = s->mine[who][number - 1];
        ticket.kind = nth(s, who)->kind;
        if (strchr(name, '/') != NULL)
            ticket.kind = kind_of(strchr(name, '/'));
        if (ticket.kind == HF_TICKET_LEASE)
            ticket.weight = nth(s, who)->weight;
        ticket.payload = nth(s, who)->payload;
        ticket.token = (who + 1) * 100 + number;
        return ticket;
    }
    ticket.id = stranger_id(name[0]);
    ticket.kind = kind_of(name + 1);
    (void)sscanf(name, "%*c/l%u", &ticket.weight);
    (void)sscanf(name, "%*c/y%" SCNu64, &ticket.token);
    ticket.payload = "a stranger";
    return ticket;
}

static size_t read_queue(const struct stage *s, const char *queue,
                         struct hf_ticket tickets[STAGE_TICKETS])
{
    size_t count = 0;
    char text[128];
    char *rest = NULL;

    assert_true(strlen(queue) < sizeof text);
    strcpy(text, queue);
    for (char *name = strtok_r(text, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        assert_true(count < STAGE_TICKETS);
        tickets[count] = read_ticket(s, name, count + 1);
        count++;
    }
    return count;
}

/* --------------------------------------------------------------- effects -- */

static void describe_request(const struct stage *s,
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
        ticket_name(s, &request->ticket, name, sizeof name);
    snprintf(text, bytes, "%c %s%s%s",
             "abc"[index_of(s, request->own_ticket->acquisition)],
             forget ? "UNWATCH" : verbs[request->kind],
             name[0] == '\0' ? "" : " ", name);
}

static struct stage_pending *find_pending(struct stage *s, const char *text)
{
    for (size_t i = 0; i < STAGE_PENDING; i++) {
        if (strcmp(s->pending[i].text, text) == 0)
            return &s->pending[i];
    }
    return NULL;
}

bool is_pending(const struct stage *s, const char *text)
{
    for (size_t i = 0; i < STAGE_PENDING; i++) {
        if (strcmp(s->pending[i].text, text) == 0)
            return true;
    }
    return false;
}

/* As an engine would: note the request until it is answered. */
static void take_request(struct stage *s, struct hf_request *request,
                         char *text, size_t bytes)
{
    struct stage_pending *slot = find_pending(s, "");

    assert_true(request->busy);
    assert_null(request->engine_data);
    if (request->kind == HF_REQUEST_ENQUEUE) {
        unsigned who = index_of(s, request->own_ticket->acquisition);

        assert_true(s->mine_count[who] < STAGE_TICKETS);
        s->mine[who][s->mine_count[who]++] = request->ticket;
        assert_int_equal(request->ticket_kind,
                         request->own_ticket->acquisition->kind);
        assert_ptr_equal(request->payload,
                         request->own_ticket->acquisition->payload);
    }
    describe_request(s, request, false, text, bytes);
    assert_null(find_pending(s, text));
    assert_non_null(slot);
    snprintf(slot->text, sizeof slot->text, "%s", text);
    slot->request = request;
    request->engine_data = slot;
}

static void take_forget(struct stage *s, struct hf_request *watch, char *text,
                        size_t bytes)
{
    struct stage_pending *slot = watch->engine_data;

    assert_non_null(slot);
    assert_ptr_equal(slot->request, watch);
    slot->text[0] = '\0';
    describe_request(s, watch, true, text, bytes);
}

static void note_answer(struct stage *s, const struct hf_acquisition *a)
{
    assert_int_equal(s->answers[index_of(s, a)]++, 0);
}

static void take_user_effect(struct stage *s, const struct hf_effect *effect,
                             char *text, size_t bytes)
{
    const struct hf_acquisition *a = effect->acquisition;
    unsigned who = index_of(s, a);
    char letter = "abc"[who];

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        assert_true(s->held[who]);
        s->held[who] = false;
        snprintf(text, bytes, "%c LOST", letter);
        break;
    case HF_EFFECT_GRANTED:
        note_answer(s, a);
        s->held[who] = true;
        snprintf(text, bytes, "%c GRANTED", letter);
        break;
    case HF_EFFECT_ENDED:
        note_answer(s, a);
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
        assert_int_equal(s->answers[who], 1);
        assert_int_equal(s->forgotten[who]++, 0);
        snprintf(text, bytes, "%c DONE", letter);
    }
}

static void take_effect(struct stage *s, struct hf_effect *effect, char *text,
                        size_t bytes)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        take_request(s, effect->request, text, bytes);
        break;
    case HF_EFFECT_UNWATCH:
        take_forget(s, effect->request, text, bytes);
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
        take_user_effect(s, effect, text, bytes);
    }
}

/* Take all effects; ${all} holds so many bytes for their text. */
static void take_effects(struct stage *s, char *all, size_t bytes)
{
    struct hf_effect *effect;

    all[0] = '\0';
    while ((effect = hf_core_next_effect(&s->core)) != NULL) {
        char text[64];

        take_effect(s, effect, text, sizeof text);
        assert_true(strlen(all) + strlen(text) + 3 < bytes);
        if (all[0] != '\0')
            strcat(all, "; ");
        strcat(all, text);
        hf_core_check(&s->core);
    }
}

void stage_expect_one(struct stage *s, const char *expected)
{
    struct hf_effect *effect = hf_core_next_effect(&s->core);
    char text[64];

    assert_non_null(effect);
    take_effect(s, effect, text, sizeof text);
    assert_string_equal(text, expected);
}

void stage_drain(struct stage *s)
{
    char all[STAGE_TEXT_BYTES];

    take_effects(s, all, sizeof all);
}

void stage_expect(struct stage *s, const char *expected, const char *file,
                  int line)
{
    char all[STAGE_TEXT_BYTES];

    take_effects(s, all, sizeof all);
    _assert_string_equal(all, expected, file, line);
}

/* ---------------------------------------------------------------- events -- */

static void step(struct stage *s, struct hf_event event)
{
    event.now_ms = s->now_ms;
    hf_core_step(&s->core, &event);
    hf_core_check(&s->core);
}

static void step_user(struct stage *s, enum hf_event_kind kind,
                      struct hf_acquisition *a)
{
    step(s, (struct hf_event){.kind = kind, .as.acquisition = a});
}

void want(struct stage *s, struct hf_acquisition *a)
{
    step_user(s, HF_EVENT_ACQUIRE, a);
}

void cancel(struct stage *s, struct hf_acquisition *a)
{
    step_user(s, HF_EVENT_CANCEL, a);
}

void release(struct stage *s, struct hf_acquisition *a)
{
    step_user(s, HF_EVENT_RELEASE, a);
}

void downgrade(struct stage *s, struct hf_acquisition *a)
{
    step_user(s, HF_EVENT_DOWNGRADE, a);
}

void check(struct stage *s)
{
    step(s, (struct hf_event){.kind = HF_EVENT_CHECK});
}

void close_core(struct stage *s)
{
    step(s, (struct hf_event){.kind = HF_EVENT_CLOSE});
}

void connected(struct stage *s, uint64_t anchor_ms, bool resumed)
{
    connected_for(s, STAGE_TIMEOUT_MS, anchor_ms, resumed);
}

void connected_for(struct stage *s, uint64_t timeout_ms, uint64_t anchor_ms,
                   bool resumed)
{
    step(s, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                              .as.connected = {.timeout_ms = timeout_ms,
                                               .anchor_ms = anchor_ms,
                                               .resumed = resumed,
                                               .lazy = s->lazy}});
}

void resuming(struct stage *s, uint64_t sent_at_ms, uint64_t least_timeout_ms)
{
    step(s, (struct hf_event){
                .kind = HF_EVENT_RESUMING,
                .as.resuming = {.sent_at_ms = sent_at_ms,
                                .least_timeout_ms = least_timeout_ms}});
}

void suspended(struct stage *s)
{
    step(s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
}

/* The engine forgets every watch with its session. */
static void forget_watches(struct stage *s)
{
    for (size_t i = 0; i < STAGE_PENDING; i++) {
        if (strstr(s->pending[i].text, " WATCH ") != NULL ||
            strstr(s->pending[i].text, " WATCH_QUEUE") != NULL)
            s->pending[i].text[0] = '\0';
    }
}

void trouble(struct stage *s, hf_status status, const char *text)
{
    step(s, (struct hf_event){
                .kind = HF_EVENT_CONNECTION_ERROR,
                .as.connection_error = {.text = text, .status = status}});
}

void trouble_for_good(struct stage *s, hf_status status, const char *text)
{
    step(s,
         (struct hf_event){.kind = HF_EVENT_CONNECTION_ERROR,
                           .as.connection_error = {
                               .text = text, .status = status, .final = true}});
}

void gave_up(struct stage *s, uint32_t retries, uint64_t elapsed_ms)
{
    step(s, (struct hf_event){.kind = HF_EVENT_GAVE_UP,
                              .as.gave_up = {retries, elapsed_ms}});
}

void session_lost(struct stage *s, hf_status status)
{
    forget_watches(s);
    step(s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                              .as.answer.status = status});
}

void closed(struct stage *s)
{
    struct stage_pending *end = find_pending(s, "END");

    if (end != NULL)
        end->text[0] = '\0';
    forget_watches(s);
    step(s, (struct hf_event){.kind = HF_EVENT_CLOSED});
}

static void answer(struct stage *s, const char *request, struct hf_event event)
{
    struct stage_pending *slot = find_pending(s, request);

    if (slot == NULL)
        fail_msg("nobody asked for \"%s\"", request);
    event.as.answer.request = slot->request;
    if (event.kind != HF_EVENT_WATCHING &&
        !(event.kind == HF_EVENT_LISTED &&
          slot->request->kind == HF_REQUEST_WATCH_QUEUE))
        slot->text[0] = '\0';
    step(s, event);
}

static void answer_queue(struct stage *s, const char *request,
                         enum hf_event_kind kind, const char *queue)
{
    struct hf_ticket tickets[STAGE_TICKETS];
    struct hf_event event = {.kind = kind};

    event.as.answer.snapshot.tickets = tickets;
    event.as.answer.snapshot.count = read_queue(s, queue, tickets);
    answer(s, request, event);
}

void enqueued(struct stage *s, const char *request, const char *queue)
{
    answer_queue(s, request, HF_EVENT_ENQUEUED, queue);
}

void listed(struct stage *s, const char *request, const char *queue)
{
    answer_queue(s, request, HF_EVENT_LISTED, queue);
}

void watching(struct stage *s, const char *request)
{
    answer(s, request, (struct hf_event){.kind = HF_EVENT_WATCHING});
}

void changed(struct stage *s, const char *request)
{
    answer(s, request, (struct hf_event){.kind = HF_EVENT_QUEUE_CHANGED});
}

void gone(struct stage *s, const char *request)
{
    answer(s, request, (struct hf_event){.kind = HF_EVENT_GONE});
}

void withdrawn(struct stage *s, const char *request, bool found)
{
    answer(
        s, request,
        (struct hf_event){.kind = HF_EVENT_REMOVED, .as.answer.found = found});
}

void stamped(struct stage *s, const char *request)
{
    answer(s, request, (struct hf_event){.kind = HF_EVENT_FLAG_UPDATED});
}

void downgraded(struct stage *s, const char *request)
{
    answer(s, request, (struct hf_event){.kind = HF_EVENT_DOWNGRADED});
}

void proven(struct stage *s, uint64_t anchor_ms)
{
    answer(s, "PROVE",
           (struct hf_event){.kind = HF_EVENT_PROVEN,
                             .as.answer.anchor_ms = anchor_ms});
}

void failed_as(struct stage *s, const char *request, enum hf_failure failure,
               hf_status status, const char *text)
{
    answer(
        s, request,
        (struct hf_event){
            .kind = HF_EVENT_FAILED,
            .as.answer = {.failure = failure, .status = status, .text = text}});
}

void failed(struct stage *s, const char *request, enum hf_failure failure)
{
    failed_as(s, request, failure, HF_EUNREACHABLE, "the wire is cut");
}

void later(struct stage *s, uint64_t now_ms)
{
    assert_true(now_ms >= s->now_ms);
    s->now_ms = now_ms;
}

void at(struct stage *s, uint64_t now_ms)
{
    later(s, now_ms);
    step(s, (struct hf_event){.kind = HF_EVENT_TICK});
    /* Or the loop would spin. */
    assert_true(hf_core_wake_at_ms(&s->core) > s->now_ms);
}

void ring(struct stage *s)
{
    uint64_t at_ms = hf_core_wake_at_ms(&s->core);

    assert_true(at_ms != HF_FOREVER);
    at(s, hf_max_ms(at_ms, s->now_ms));
}

/* ------------------------------------------------------------ beginnings -- */

void enqueue_a(struct stage *s)
{
    want(s, &s->a);
    expect(s, "a ENQUEUE a1");
}

void enqueue_a_in(struct stage *s, const char *queue)
{
    enqueue_a(s);
    enqueued(s, "a ENQUEUE a1", queue);
}

void queue_a(struct stage *s)
{
    enqueue_a_in(s, "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
}

void hold_a(struct stage *s)
{
    enqueue_a_in(s, "a1");
    expect(s, "a GRANTED");
}

void doubt_a1(struct stage *s)
{
    enqueue_a(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a LIST");
}

void abandon_a1(struct stage *s)
{
    doubt_a1(s);
    listed(s, "a LIST", "x");
    ring(s);
    expect(s, "a ENQUEUE a2");
}

void outlast_a1(struct stage *s)
{
    at(s, STAGE_START_MS + STAGE_TIMEOUT_MS - 1);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + STAGE_TIMEOUT_MS);
    expect(s, "a REMOVE a1");
}
