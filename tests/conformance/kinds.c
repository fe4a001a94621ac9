/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of tickets: readers, writers, elections and downgrades, checked with
 * the admission rule of the core.  See kinds.h. */
#include "conformance/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/engine_client.h"
#include "core/admission.h"

/* A client with one ticket, and what the admission rule says about that. */
struct queued_client {
    struct engine_client *client;
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    struct hf_admission decision; /* .before and .beyond point into .call */
    struct client_request *request;
    struct client_request *watch; /* of the one it waits for, or NULL */
};

static void decide(struct queued_client *queued, struct client_request *request)
{
    struct hf_snapshot snapshot = {request->tickets, request->count,
                                   request->more};

    queued->request = request;
    queued->decision =
        hf_admission_decide(&snapshot, &queued->id, queued->kind);
}

/* Some layouts have mutexes only. */
static bool has_readers(const struct conformance_fixture *fixture)
{
    return conformance_shown(fixture, HF_TICKET_READ) != 0;
}

static struct queued_client enqueue(struct conformance_fixture *fixture,
                                    enum hf_ticket_kind kind)
{
    struct queued_client queued = {
        .client = client_open(fixture), .id = fresh_id(), .kind = kind};
    struct client_request *request =
        client_enqueue(queued.client, "q", queued.id, kind, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    decide(&queued, request);
    return queued;
}

static void look_again(struct queued_client *queued)
{
    struct client_request *list =
        client_ask(queued->client, HF_REQUEST_LIST, "q", queued->id);

    assert_int_equal(list->answer, HF_EVENT_LISTED);
    decide(queued, list);
}

static void assert_admitted(const struct queued_client *queued)
{
    assert_int_equal(queued->decision.answer, HF_ADMITTED);
}

static void assert_waits_for(const struct queued_client *queued,
                             const struct queued_client *before,
                             size_t blocking)
{
    assert_int_equal(queued->decision.answer, HF_WAIT_FOR);
    assert_int_equal(queued->decision.blocking, blocking);
    assert_true(hf_ticket_id_equal(&queued->decision.nearest->id, &before->id));
}

/* Watch the ticket that it waits for, as the core does. */
static void watch(struct queued_client *queued)
{
    queued->watch = client_watch(queued->client, "q", queued->decision.nearest);
    assert_int_equal(queued->watch->answer, HF_EVENT_WATCHING);
}

static void assert_woken(struct queued_client *queued)
{
    assert_true(client_wait_gone(queued->client, queued->watch));
    look_again(queued);
}

static void assert_asleep(struct queued_client *queued)
{
    client_drain(queued->client);
    assert_int_equal(queued->watch->gone, 0);
}

static void leave(struct queued_client *queued)
{
    struct client_request *request =
        client_ask(queued->client, HF_REQUEST_REMOVE, "q", queued->id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_true(request->found);
}

static void close_all(struct queued_client *stands, size_t count)
{
    for (size_t i = count; i-- > 0;)
        client_close(stands[i].client);
}

/* ---------------------------------------------------------------------- */

static void case_readers_share(void **state)
{
    struct queued_client r[3];

    for (size_t i = 0; i < 3; i++) {
        r[i] = enqueue(*state, HF_TICKET_READ);
        assert_admitted(&r[i]);
        assert_int_equal(r[i].decision.ahead, i);
    }
    leave(&r[1]);
    look_again(&r[2]);
    assert_admitted(&r[2]);
    close_all(r, 3);
}

static void case_a_writer_waits_for_all_ahead(void **state)
{
    struct queued_client s[3] = {enqueue(*state, HF_TICKET_READ),
                                 enqueue(*state, HF_TICKET_READ),
                                 enqueue(*state, HF_TICKET_WRITE)};

    assert_waits_for(&s[2], &s[1], 2);
    watch(&s[2]);
    leave(&s[1]);
    assert_woken(&s[2]);
    assert_waits_for(&s[2], &s[0], 1);
    watch(&s[2]);
    leave(&s[0]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    close_all(s, 3);
}

static void case_a_reader_waits_for_the_nearest_writer(void **state)
{
    struct queued_client s[4] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_WRITE),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE)};

    assert_waits_for(&s[2], &s[1], 2);
    watch(&s[2]);
    leave(&s[0]);
    assert_asleep(&s[2]);
    leave(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]); /* the writer behind it is nothing to it */
    close_all(s, 4);
}

static void case_a_release_wakes_whom_it_concerns(void **state)
{
    struct queued_client s[5] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_READ),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE),
        enqueue(*state, HF_TICKET_READ)};

    for (size_t i = 1; i < 5; i++)
        watch(&s[i]);
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    leave(&s[1]);
    assert_asleep(&s[3]);
    assert_asleep(&s[4]);
    leave(&s[2]);
    assert_woken(&s[3]);
    assert_admitted(&s[3]);
    assert_asleep(&s[4]);
    leave(&s[3]);
    assert_woken(&s[4]);
    assert_admitted(&s[4]);
    close_all(s, 5);
}

static void case_readers_do_not_starve_a_writer(void **state)
{
    enum { STREAM = 10 };
    struct queued_client s[2] = {enqueue(*state, HF_TICKET_READ),
                                 enqueue(*state, HF_TICKET_WRITE)};
    struct queued_client stream[STREAM];

    assert_waits_for(&s[1], &s[0], 1);
    watch(&s[1]);
    for (size_t i = 0; i < STREAM; i++) {
        stream[i] = enqueue(*state, HF_TICKET_READ);
        assert_waits_for(&stream[i], &s[1], 1);
    }
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    close_all(stream, STREAM);
    close_all(s, 2);
}

static void case_another_family_is_refused(void **state)
{
    static const enum hf_ticket_kind rows[][2] = {
        {HF_TICKET_MUTEX, HF_TICKET_READ},
        {HF_TICKET_MUTEX, HF_TICKET_WRITE},
        {HF_TICKET_READ, HF_TICKET_MUTEX},
        {HF_TICKET_WRITE, HF_TICKET_MUTEX},
        {HF_TICKET_ELECTION, HF_TICKET_MUTEX},
        {HF_TICKET_MUTEX, HF_TICKET_ELECTION},
        {HF_TICKET_READ, HF_TICKET_ELECTION},
        {HF_TICKET_ELECTION, HF_TICKET_WRITE}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct queued_client s[2] = {enqueue(*state, rows[i][0]),
                                     enqueue(*state, rows[i][1])};

        /* A ticket that may be of either kind is waited for. */
        if (conformance_shown(*state, rows[i][0]) == HF_TICKET_EXCLUSIVE)
            assert_waits_for(&s[1], &s[0], 1);
        else
            assert_int_equal(s[1].decision.answer, HF_WRONG_KIND);
        look_again(&s[0]);
        assert_admitted(&s[0]);
        close_all(s, 2);
    }
}

static void case_an_election_is_won_in_queue_order(void **state)
{
    struct queued_client s[4];

    for (size_t i = 0; i < 4; i++)
        s[i] = enqueue(*state, HF_TICKET_ELECTION);
    assert_admitted(&s[0]);
    for (size_t i = 1; i < 4; i++) {
        assert_waits_for(&s[i], &s[i - 1], i);
        watch(&s[i]);
    }
    leave(&s[1]); /* a waiter that resigns */
    assert_asleep(&s[3]);
    assert_woken(&s[2]);
    assert_waits_for(&s[2], &s[0], 1);
    watch(&s[2]);
    leave(&s[0]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    close_all(s, 4);
}

/* ------------------------------------------------------------- downgrade -- */

static struct client_request *downgrade(struct queued_client *queued)
{
    return client_ask(queued->client, HF_REQUEST_DOWNGRADE, "q", queued->id);
}

static void assert_downgraded(struct queued_client *queued)
{
    const struct hf_ticket before =
        *client_request_find(queued->request, queued->id);
    const struct hf_ticket *after;

    assert_int_equal(downgrade(queued)->answer, HF_EVENT_DOWNGRADED);
    look_again(queued);
    after = client_request_find(queued->request, queued->id);
    assert_non_null(after);
    assert_int_equal(after->kind, HF_TICKET_READ);
    assert_true(after->sequence == before.sequence);
    assert_true(after->token == before.token);
    assert_admitted(queued);
}

static void case_fn04_a_downgraded_writer_keeps_its_position(void **state)
{
    struct queued_client s[3] = {enqueue(*state, HF_TICKET_WRITE),
                                 enqueue(*state, HF_TICKET_WRITE),
                                 enqueue(*state, HF_TICKET_READ)};

    watch(&s[1]);
    watch(&s[2]);
    assert_downgraded(&s[0]);
    assert_woken(&s[1]);
    assert_waits_for(&s[1], &s[0], 1);
    assert_int_equal(s[1].decision.nearest->kind, HF_TICKET_READ);
    watch(&s[1]);
    assert_asleep(&s[1]);
    assert_asleep(&s[2]);
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_asleep(&s[2]);
    close_all(s, 3);
}

static void case_a_downgrade_lets_readers_in(void **state)
{
    struct queued_client s[4] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_READ),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE)};
    struct queued_client late;

    watch(&s[1]);
    watch(&s[2]);
    watch(&s[3]);
    assert_downgraded(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    late = enqueue(*state, HF_TICKET_READ);
    assert_waits_for(&late, &s[3], 1);
    client_close(late.client);
    close_all(s, 4);
}

/* Waiters in the same session. */
static void case_a_downgrade_wakes_its_own_session(void **state)
{
    struct queued_client writer = enqueue(*state, HF_TICKET_WRITE);
    struct queued_client reader = {
        .client = writer.client, .id = fresh_id(), .kind = HF_TICKET_READ};

    decide(&reader,
           client_enqueue(reader.client, "q", reader.id, HF_TICKET_READ, ""));
    assert_waits_for(&reader, &writer, 1);
    watch(&reader);
    assert_downgraded(&writer);
    assert_woken(&reader);
    assert_admitted(&reader);
    leave(&writer);
    leave(&reader);
    client_close(writer.client);
}

static void case_a_downgrade_is_idempotent(void **state)
{
    struct queued_client s = {.client = client_open(*state),
                              .id = fresh_id(),
                              .kind = HF_TICKET_WRITE};
    struct engine_client *other = client_open(*state);
    struct client_request *list;

    decide(&s,
           client_enqueue(s.client, "q", s.id, HF_TICKET_WRITE, "it is me"));
    assert_downgraded(&s);
    assert_downgraded(&s);
    list = client_ask(other, HF_REQUEST_LIST, "q", fresh_id());
    assert_int_equal(list->count, 1);
    assert_int_equal(list->tickets[0].kind, HF_TICKET_READ);
    assert_true(hf_ticket_id_equal(&list->tickets[0].id, &s.id));
    assert_string_equal(list->tickets[0].payload, "it is me");
    client_close(s.client);
    assert_int_equal(client_ask(other, HF_REQUEST_LIST, "q", fresh_id())->count,
                     0);
    client_close(other);
}

static void case_what_is_gone_cannot_be_downgraded(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct queued_client s = enqueue(fixture, HF_TICKET_WRITE);
    struct client_request *request;

    fixture->evict(fixture, "q", client_request_find(s.request, s.id));
    assert_true(client_wait_gone(
        s.client,
        client_watch(s.client, "q", client_request_find(s.request, s.id))));
    for (int i = 0; i < 2; i++) {
        request = downgrade(&s);
        assert_int_equal(request->answer, HF_EVENT_FAILED);
        assert_int_equal(request->failure, HF_FAILURE_FATAL);
        assert_int_equal(request->status, HF_ELOST);
        s.id = fresh_id();
    }
    assert_int_equal(client_ask(s.client, HF_REQUEST_LIST, "q", s.id)->count,
                     0);
    client_close(s.client);
}

/* Under its new name, not under the old one. */
static void case_a_downgraded_ticket_is_watched_anew(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct queued_client s = enqueue(fixture, HF_TICKET_WRITE);
    struct engine_client *other = client_open(fixture);
    struct hf_ticket writer = *client_request_find(s.request, s.id);
    struct hf_ticket reader;
    struct client_request *own, *others;

    assert_downgraded(&s);
    reader = *client_request_find(s.request, s.id);
    assert_int_equal(client_watch(s.client, "q", &writer)->answer,
                     HF_EVENT_GONE);
    assert_int_equal(client_watch(other, "q", &writer)->answer, HF_EVENT_GONE);
    own = client_watch(s.client, "q", &reader);
    others = client_watch(other, "q", &reader);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_int_equal(others->answer, HF_EVENT_WATCHING);
    client_drain(s.client);
    client_drain(other);
    assert_int_equal(own->gone + others->gone, 0);
    /* A downgrade is no request to let go. */
    assert_int_equal(own->revoked, 0);
    assert_true(
        client_ask_until_done(other, HF_REQUEST_REVOKE, "q", s.id)->found);
    assert_true(client_wait_revoked(s.client, own, 0));
    fixture->evict(fixture, "q", &reader);
    assert_true(client_wait_gone(s.client, own));
    /* For the others it may not be gone before its owner has released it. */
    assert_false(client_ask(s.client, HF_REQUEST_REMOVE, "q", s.id)->found);
    assert_true(client_wait_gone(other, others));
    client_close(other);
    client_close(s.client);
}

/* Under the new name of the ticket. */
static bool learns_of_a_request(struct queued_client *s)
{
    struct hf_ticket reader = *client_request_find(s->request, s->id);
    struct client_request *own;

    reader.kind = HF_TICKET_READ;
    own = client_watch(s->client, "q", &reader);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    return client_wait_revoked(s->client, own, 0);
}

/* The core takes its watch back before it asks for the downgrade.  The watch
 * that it sets afterwards reports a request to let go that came in between. */
static void case_a_downgrade_keeps_a_request_to_let_go(void **state)
{
    struct queued_client s = enqueue(*state, HF_TICKET_WRITE);
    struct engine_client *other = client_open(*state);
    struct client_request *own =
        client_watch(s.client, "q", client_request_find(s.request, s.id));

    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    client_drain(s.client);
    client_forget(s.client, own);
    assert_true(
        client_ask_until_done(other, HF_REQUEST_REVOKE, "q", s.id)->found);
    assert_int_equal(own->revoked, 0);
    assert_downgraded(&s);
    assert_true(learns_of_a_request(&s));
    client_close(other);
    client_close(s.client);
}

enum { BESIDE_ITERATIONS = 20 }; /* in every second the other one is first */

/* Make a request ${kind} from ${other} during a downgrade, and check both
 * answers. */
static struct client_request *beside_a_downgrade(struct queued_client *s,
                                                 struct engine_client *other,
                                                 enum hf_request_kind kind,
                                                 bool first,
                                                 struct client_request **change)
{
    struct client_request *request = NULL;

    if (first)
        request = client_start(other, kind, "q", s->id);
    *change = client_start(s->client, HF_REQUEST_DOWNGRADE, "q", s->id);
    if (!first)
        request = client_start(other, kind, "q", s->id);
    (void)client_wait(other, request);
    (void)client_wait(s->client, *change);
    assert_true(request->found); /* the ticket was there all the time */
    return request;
}

static void case_a_request_to_let_go_finds_what_is_downgraded(void **state)
{
    struct client_request *change;

    for (int i = 0; i < BESIDE_ITERATIONS; i++) {
        struct queued_client s = enqueue(*state, HF_TICKET_WRITE);
        struct engine_client *other = client_open(*state);
        struct client_request *ask = beside_a_downgrade(
            &s, other, HF_REQUEST_REVOKE, i % 2 == 0, &change);

        assert_int_equal(ask->answer, HF_EVENT_REVOKE_SENT);
        assert_int_equal(change->answer, HF_EVENT_DOWNGRADED);
        assert_true(learns_of_a_request(&s));
        client_close(other);
        client_close(s.client);
    }
}

static void case_an_eviction_finds_what_is_downgraded(void **state)
{
    struct client_request *change;

    for (int i = 0; i < BESIDE_ITERATIONS; i++) {
        struct queued_client s = enqueue(*state, HF_TICKET_WRITE);
        struct engine_client *other = client_open(*state);
        struct client_request *take = beside_a_downgrade(
            &s, other, HF_REQUEST_REMOVE, i % 2 == 0, &change);

        assert_int_equal(take->answer, HF_EVENT_REMOVED);
        if (change->answer == HF_EVENT_FAILED)
            assert_int_equal(change->status, HF_ELOST);
        assert_int_equal(client_ask(other, HF_REQUEST_LIST, "q", s.id)->count,
                         0);
        client_close(other);
        client_close(s.client);
    }
}

static void case_a_downgrade_and_a_removal_leave_nothing(void **state)
{
    struct queued_client s = enqueue(*state, HF_TICKET_WRITE);
    struct client_request *downgrade_ =
        client_start(s.client, HF_REQUEST_DOWNGRADE, "q", s.id);
    struct client_request *removal =
        client_start(s.client, HF_REQUEST_REMOVE, "q", s.id);

    assert_int_equal(client_wait(s.client, removal)->answer, HF_EVENT_REMOVED);
    assert_true(removal->found);
    (void)client_wait(s.client, downgrade_);
    assert_int_equal(client_ask(s.client, HF_REQUEST_LIST, "q", s.id)->count,
                     0);
    client_close(s.client);
}

/* Its name has changed, and its description can still change. */
static void case_a_downgraded_writer_describes_itself(void **state)
{
    struct queued_client s = enqueue(*state, HF_TICKET_WRITE);
    struct hf_ticket reader;

    assert_downgraded(&s);
    reader = *client_request_find(s.request, s.id);
    assert_int_equal(client_watch(s.client, "q", &reader)->answer,
                     HF_EVENT_WATCHING);
    assert_true(
        client_describe(s.client, "q", &reader, "host=x asked=1")->found);
    assert_true(client_wait_text(s.client, "q", s.id, "host=x asked=1"));
    client_close(s.client);
}

#define WHERE_THERE_ARE_READERS(name)                                          \
    void name(void **state)                                                    \
    {                                                                          \
        if (has_readers(*state))                                               \
            case_##name(state);                                                \
    }
KINDS_TESTS(WHERE_THERE_ARE_READERS)
