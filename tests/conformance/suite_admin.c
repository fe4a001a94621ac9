/* SPDX-License-Identifier: Apache-2.0 */
/* What an administrator does to a queue, see suite_admin.h. */
#include "conformance/suite_admin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include <cmocka.h>

#include "conformance/engine_client.h"

static uint64_t enqueue_mutex(struct engine_client *client,
                              struct hf_ticket_id id, enum hf_ticket_kind kind,
                              const char *payload)
{
    struct client_request *request =
        client_enqueue(client, "q", id, kind, payload);

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_non_null(client_request_find(request, id));
    return client_request_find(request, id)->token;
}

static struct client_request *watch_kind(struct engine_client *client,
                                         struct hf_ticket_id id,
                                         enum hf_ticket_kind kind)
{
    const struct hf_ticket ticket = {.id = id, .kind = kind};
    struct client_request *request = client_watch(client, "q", &ticket);

    assert_int_equal(request->answer, HF_EVENT_WATCHING);
    return request;
}

static struct client_request *watch(struct engine_client *client,
                                    struct hf_ticket_id id)
{
    return watch_kind(client, id, HF_TICKET_MUTEX);
}

/* ---------------------------------------------------------------- lists -- */

void detailed_lists_know_everything(void **state)
{
    static const char *const payloads[] = {"host=x pid=1", "",
                                           "gr\xc3\xbc\xc3\x9f dich"};
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id ids[3];
    uint64_t tokens[3];
    struct client_request *list;

    for (size_t i = 0; i < 3; i++) {
        ids[i] = fresh_id();
        tokens[i] =
            enqueue_mutex(i == 1 ? b : a, ids[i], HF_TICKET_MUTEX, payloads[i]);
    }
    list = client_detailed_list(b, "q");
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, 3);
    assert_int_equal(list->foreign, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
        assert_int_equal(list->tickets[i].kind,
                         conformance_shown(fixture, HF_TICKET_MUTEX));
        assert_true(list->tickets[i].token == tokens[i]);
        assert_string_equal(list->tickets[i].payload, payloads[i]);
        assert_non_null(list->tickets[i].dialect);
        assert_true(list->tickets[i].dialect[0] != '\0');
    }
    client_close(b);
    client_close(a);
}

void detailed_lists_of_nobody_are_empty(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct hf_ticket_id id = fresh_id();

    assert_int_equal(client_detailed_list(a, "never")->answer, HF_EVENT_LISTED);
    assert_int_equal(client_detailed_list(a, "never")->count, 0);
    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "");
    assert_true(client_ask(a, HF_REQUEST_REMOVE, "q", id)->found);
    assert_int_equal(client_detailed_list(a, "q")->count, 0);
    client_close(a);
}

void detailed_lists_have_no_dead(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim = fixture->victim_start(fixture, "q", dead, 0);
    struct engine_client *b = client_open(fixture);
    struct client_request *list = client_detailed_list(b, "q");
    struct client_request *gone;

    assert_int_equal(list->count, 1);
    assert_string_equal(list->tickets[0].payload, "victim");
    gone = client_ask(b, HF_REQUEST_WATCH, "q", dead);
    fixture->victim_kill(fixture, victim);
    assert_true(
        client_wait_gone(b, gone)); /* a session may have to end first */
    assert_int_equal(client_detailed_list(b, "q")->count, 0);
    client_close(b);
}

/* More than the engine reads at once. */
void detailed_lists_are_as_long_as_the_queue(void **state)
{
    struct conformance_fixture *fixture = *state;
    enum { MANY = 120 };
    struct engine_client *a = client_open(fixture);
    struct hf_ticket_id ids[MANY];
    uint64_t tokens[MANY];
    char payload[16];
    struct client_request *list;

    for (size_t i = 0; i < MANY; i++) {
        ids[i] = fresh_id();
        (void)snprintf(payload, sizeof payload, "%zu", i);
        tokens[i] = enqueue_mutex(a, ids[i], HF_TICKET_MUTEX, payload);
    }
    list = client_detailed_list(a, "q");
    assert_int_equal(list->count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(payload, sizeof payload, "%zu", i);
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
        assert_true(list->tickets[i].token == tokens[i]);
        assert_string_equal(list->tickets[i].payload, payload);
    }
    client_close(a);
}

/* An engine may give more texts, but none that it says it has not read. */
void detailed_lists_have_the_texts_that_are_wanted(void **state)
{
    struct conformance_fixture *fixture = *state;
    enum { MANY = 7, WANTED = 3 };
    struct engine_client *a = client_open(fixture);
    struct hf_text_range texts = {0, WANTED};
    struct client_request *list;
    size_t first = 0;

    for (size_t i = 0; i < MANY; i++)
        (void)enqueue_mutex(a, fresh_id(), HF_TICKET_MUTEX, "host=x");
    for (; first < MANY; first += WANTED) {
        list = client_list_texts(a, "q", texts);
        assert_int_equal(list->count, MANY);
        for (size_t i = 0; i < MANY; i++) {
            const struct hf_ticket *ticket = &list->tickets[i];
            bool wanted = i >= first && i < first + WANTED;

            assert_int_equal(ticket->kind,
                             conformance_shown(fixture, HF_TICKET_MUTEX));
            if (wanted)
                assert_string_equal(ticket->payload, "host=x");
            assert_false(wanted && ticket->unread);
            assert_true(!ticket->unread || ticket->payload[0] == '\0');
            if (wanted)
                texts.from = ticket->sequence + 1;
        }
    }
    client_close(a);
}

/* ------------------------------------------------------------- eviction -- */

static struct client_request *evict(struct engine_client *client,
                                    struct hf_ticket_id id)
{
    struct client_request *request = client_evict(client, "q", id, NULL);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    return request;
}

/* The holder gets the event, and so does the waiter behind it. */
void holders_can_be_evicted(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct engine_client *c = client_open(fixture);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct client_request *own, *before;

    (void)enqueue_mutex(a, held, HF_TICKET_MUTEX, "");
    own = watch(a, held);
    (void)enqueue_mutex(b, waits, HF_TICKET_MUTEX, "");
    before = watch(b, held);
    (void)watch(b, waits);
    assert_true(evict(c, held)->found);
    assert_true(client_wait_gone(b, before));
    assert_true(client_wait_gone(a, own));
    assert_int_equal(client_detailed_list(b, "q")->count, 1);
    assert_false(evict(a, held)->found);
    client_close(c);
    client_close(b);
    client_close(a);
}

void waiters_can_be_evicted(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct hf_ticket_id last = fresh_id();
    struct client_request *before, *own;

    (void)enqueue_mutex(a, held, HF_TICKET_MUTEX, "");
    (void)enqueue_mutex(b, waits, HF_TICKET_MUTEX, "");
    (void)enqueue_mutex(a, last, HF_TICKET_MUTEX, "");
    own = watch(b, waits);
    before = watch(a, waits);
    assert_true(evict(a, waits)->found);
    assert_true(client_wait_gone(a, before));
    assert_true(client_wait_gone(b, own));
    assert_int_equal(client_detailed_list(b, "q")->count, 2);
    client_close(b);
    client_close(a);
}

void what_is_gone_cannot_be_evicted(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();

    assert_false(evict(b, id)->found);
    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "");
    assert_true(evict(b, id)->found);
    assert_false(evict(b, id)->found);
    client_close(b);
    client_close(a);
}

/* Evict a ticket that is there.  What an engine reads to find it may be of the
 * past. */
static void evict_by(struct engine_client *client, struct hf_ticket_id id,
                     const char *evicted_by)
{
    unsigned tries = 1;

    while (!client_evict(client, "q", id, evicted_by)->found)
        assert_true(tries++ < 20);
}

/* Evict a ticket of a client by ${evicted_by}, twice from one queue, so that
 * the second text is in the place of the first.  The owner must learn
 * ${said}. */
static void check_says(struct conformance_fixture *fixture,
                       enum hf_ticket_kind kind, const char *evicted_by,
                       const char *said)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id;
    struct client_request *own;

    for (unsigned i = 0; i < 2; i++) {
        id = fresh_id();
        a->warning[0] = '\0';
        (void)enqueue_mutex(a, id, kind, "mine");
        own = watch_kind(a, id, kind);
        evict_by(b, id, evicted_by);
        assert_true(client_wait_gone(a, own));
        if (!fixture->evictions_are_silent)
            assert_true(client_wait_says(a, own, said));
        assert_int_equal(client_detailed_list(b, "q")->count, 0);
        assert_false(client_evict(b, "q", id, evicted_by)->found);
    }
    client_close(b);
    client_close(a);
}

void owners_learn_who_evicts_them(void **state)
{
    char longest[HF_EVICTED_BY_BYTES + 1];

    check_says(*state, HF_TICKET_MUTEX, "alice@db1: a disk is full",
               "its ticket was evicted by alice@db1: a disk is full");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    check_says(*state, HF_TICKET_MUTEX, longest, longest);
}

/* Some layouts of ZooKeeper have none. */
static bool has_elections(struct conformance_fixture *fixture)
{
    return conformance_shown(fixture, HF_TICKET_ELECTION) != 0;
}

/* The text of a ticket of an election may be another program's to read. */
void candidates_learn_who_evicts_them(void **state)
{
    char longest[HF_EVICTED_BY_BYTES + 1];

    if (!has_elections(*state))
        skip();
    check_says(*state, HF_TICKET_ELECTION, "alice@db1: it hangs",
               "its ticket was evicted by alice@db1: it hangs");
    memset(longest, 'y', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    check_says(*state, HF_TICKET_ELECTION, longest, longest);
    check_says(*state, HF_TICKET_ELECTION, "a\x1b[2J %s%n \xff",
               "evicted by a?[2J %s%n ?");
}

void owners_that_watch_late_learn_it_too(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "mine");
    assert_true(client_evict(b, "q", id, "alice@db1")->found);
    client_drain(a); /* the notice may be on its way */
    own = client_ask(a, HF_REQUEST_WATCH, "q", id);
    assert_true(client_wait_gone(a, own));
    if (!fixture->evictions_are_silent)
        assert_true(client_wait_says(a, own, "evicted by alice@db1"));
    client_close(b);
    client_close(a);
}

/* One part of a program may evict what another part of it holds. */
void owners_learn_it_from_their_own_session(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id held = fresh_id(), waits = fresh_id();
    struct client_request *holder, *waiter, *behind;

    (void)enqueue_mutex(a, held, HF_TICKET_MUTEX, "mine");
    holder = watch(a, held);
    (void)enqueue_mutex(b, waits, HF_TICKET_MUTEX, "");
    behind = watch(b, held);
    waiter = watch(b, waits);
    assert_true(client_evict(b, "q", waits, "bob@db1: in the way")->found);
    assert_true(client_wait_gone(b, waiter));
    assert_true(client_evict(a, "q", held, "alice@db1: a disk is full")->found);
    assert_true(client_wait_gone(a, holder));
    assert_true(client_wait_gone(b, behind));
    if (!fixture->evictions_are_silent) {
        assert_true(client_wait_says(b, waiter, "evicted by bob@db1: in the"));
        assert_true(
            client_wait_says(a, holder, "evicted by alice@db1: a disk"));
    }
    assert_int_equal(client_detailed_list(b, "q")->count, 0);
    assert_false(client_evict(a, "q", held, "alice@db1")->found);
    client_close(b);
    client_close(a);
}

/* What reaches an engine may be anything, because others write it. */
void texts_of_evictions_cannot_deceive(void **state)
{
    check_says(*state, HF_TICKET_MUTEX, "a\x1b[2J %s%n 'q' \\ \xff \u202e",
               "evicted by a?[2J %s%n 'q' \\ ? ???");
}

static void check_unsaid(struct conformance_fixture *fixture,
                         enum hf_ticket_kind kind)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    (void)enqueue_mutex(a, id, kind, "");
    evict_by(b, id, "alice@db1");
    id = fresh_id();
    (void)enqueue_mutex(a, id, kind, "");
    own = watch_kind(a, id, kind);
    a->warning[0] = '\0';
    evict_by(b, id, NULL);
    assert_true(client_wait_gone(a, own));
    client_drain(a);
    assert_null(strstr(own->text, "alice"));
    assert_null(strstr(a->warning, "alice"));
    client_close(b);
    client_close(a);
}

/* Nothing that was said of an earlier one is taken for it. */
void evictions_need_not_say_anything(void **state)
{
    check_unsaid(*state, HF_TICKET_MUTEX);
    if (has_elections(*state))
        check_unsaid(*state, HF_TICKET_ELECTION);
}

/* ----------------------------------------------------------- revocation -- */

static struct client_request *ask(struct engine_client *client,
                                  struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask_until_done(client, HF_REQUEST_REVOKE, "q", id);

    assert_int_equal(request->answer, HF_EVENT_REVOKE_SENT);
    return request;
}

/* Each request is reported, and the watch goes on. */
void owners_are_notified_of_revocations(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "");
    own = watch(a, id);
    client_drain(a);
    assert_int_equal(own->revoked, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ask(b, id)->found);
        assert_true(client_wait_revoked(a, own, i));
        client_drain(a);
        assert_int_equal(own->revoked, i + 1);
    }
    assert_int_equal(own->gone, 0);
    assert_true(evict(b, id)->found);
    assert_true(client_wait_gone(a, own));
    client_close(b);
    client_close(a);
}

/* Also a request that was made before the watch. */
void owners_are_notified_of_earlier_revocations(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();

    (void)enqueue_mutex(a, held, HF_TICKET_MUTEX, "");
    (void)enqueue_mutex(a, waits, HF_TICKET_MUTEX, "");
    (void)watch(a, held); /* also of the one before, of the same client */
    assert_true(ask(b, held)->found);
    assert_true(client_wait_revoked(a, watch(a, held), 0));
    assert_true(ask(b, waits)->found);
    assert_true(client_wait_revoked(a, watch(a, waits), 0));
    client_close(b);
    client_close(a);
}

void nobody_asks_what_is_gone(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();

    assert_false(ask(b, id)->found);
    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "");
    assert_true(evict(a, id)->found);
    assert_false(ask(b, id)->found);
    client_close(b);
    client_close(a);
}

void one_may_ask_oneself(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *own;

    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "");
    own = watch(a, id);
    assert_true(ask(a, id)->found);
    assert_true(client_wait_revoked(a, own, 0));
    client_close(a);
}

/* ---------------------------------------------------------- description -- */

/* A new description is no request to let go.  A request that comes after it
 * is reported as one before it. */
void owners_write_their_texts_again(void **state)
{
    static const char *const said[] = {"host=x asked=1", "host=x asked=2"};
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket before;
    struct client_request *own;

    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "host=x");
    before = *client_request_find(client_detailed_list(b, "q"), id);
    own = watch(a, id);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(ask(b, id)->found);
        assert_true(client_wait_revoked(a, own, i));
        assert_true(client_describe(a, "q", &before, said[i])->found);
        assert_true(client_wait_text(b, "q", id, said[i]));
        client_drain(a);
        assert_int_equal(own->revoked, i + 1);
    }
    assert_int_equal(own->gone, 0);
    assert_true(client_request_find(client_detailed_list(b, "q"), id)->token ==
                before.token);
    assert_true(
        client_request_find(client_detailed_list(b, "q"), id)->sequence ==
        before.sequence);
    client_close(b);
    client_close(a);
}

void texts_of_waiters_are_written_again(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct hf_ticket ticket;
    struct client_request *own;

    (void)enqueue_mutex(a, held, HF_TICKET_MUTEX, "first");
    (void)enqueue_mutex(b, waits, HF_TICKET_MUTEX, "second");
    ticket = *client_request_find(client_detailed_list(b, "q"), waits);
    own = watch(b, waits);
    assert_true(ask(a, waits)->found);
    assert_true(client_wait_revoked(b, own, 0));
    assert_true(client_describe(b, "q", &ticket, "second asked=1")->found);
    assert_true(client_wait_text(a, "q", waits, "second asked=1"));
    assert_true(client_wait_text(a, "q", held, "first"));
    assert_int_equal(own->gone, 0);
    client_close(b);
    client_close(a);
}

void nothing_is_said_of_what_is_gone(void **state)
{
    struct conformance_fixture *fixture = *state;
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket ticket;
    struct client_request *own;

    (void)enqueue_mutex(a, id, HF_TICKET_MUTEX, "host=x");
    ticket = *client_request_find(client_detailed_list(a, "q"), id);
    own = watch(a, id);
    assert_true(evict(b, id)->found);
    assert_true(client_wait_gone(a, own));
    assert_false(client_describe(a, "q", &ticket, "host=x asked=1")->found);
    assert_int_equal(client_detailed_list(b, "q")->count, 0);
    client_close(b);
    client_close(a);
}
