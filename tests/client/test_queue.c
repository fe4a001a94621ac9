/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a queue, evicting a ticket and asking a holder to release, in each
 * way to use a client. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client_operation.h"
#include "cmocka/runner.h"
#include "in_each_way.h"
#include "scripted_engine.h"

#define WAIT_MS 10000

/* How often the holders are listed when all have gone before they are asked. */
#define HANDOVERS_MAX 16

struct client_queue_fixture {
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
    struct hf_lock *mine;
    struct hf_lock *theirs;
};

static void fixture_open(struct client_queue_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->a, &f->b, way);
    f->mine = client_open_lock(&f->a, "nightly");
    f->theirs = client_open_lock(&f->b, "nightly");
}

static void fixture_close(struct client_queue_fixture *f)
{
    hf_lock_free(f->mine);
    hf_lock_free(f->theirs);
    hosts_close(&f->directory, &f->a, &f->b);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct client_queue_fixture f;                    \
    fixture_open(&f, way)

/* -------------------------------------------------- one call in each way -- */

enum call { TICKETS, HOLDERS, WAITERS, EVICT, ASK };

static hf_status wait_for(struct client_operation *operation)
{
    switch ((enum call)operation->call) {
    case TICKETS:
        return hf_lock_tickets(operation->subject, HF_TICKETS_ALL, WAIT_MS,
                               &operation->tickets);
    case HOLDERS:
        return hf_lock_tickets(operation->subject, HF_TICKETS_HOLDERS, WAIT_MS,
                               &operation->tickets);
    case WAITERS:
        return hf_lock_tickets(operation->subject, HF_TICKETS_WAITERS, WAIT_MS,
                               &operation->tickets);
    case EVICT:
        return hf_lock_evict(operation->subject, operation->id, NULL, WAIT_MS);
    case ASK:
        break;
    }
    return hf_lock_revoke(operation->subject, operation->id, WAIT_MS);
}

static hf_status start(struct client_operation *operation, struct hf_done done)
{
    switch ((enum call)operation->call) {
    case TICKETS:
        return hf_lock_tickets_start(operation->subject, HF_TICKETS_ALL,
                                     WAIT_MS, done);
    case HOLDERS:
        return hf_lock_tickets_start(operation->subject, HF_TICKETS_HOLDERS,
                                     WAIT_MS, done);
    case WAITERS:
        return hf_lock_tickets_start(operation->subject, HF_TICKETS_WAITERS,
                                     WAIT_MS, done);
    case EVICT:
        return hf_lock_evict_start(operation->subject, operation->id, NULL,
                                   WAIT_MS, done);
    case ASK:
        break;
    }
    return hf_lock_revoke_start(operation->subject, operation->id, WAIT_MS,
                                done);
}

static const struct client_operation_calls calls = {wait_for, start};

/* The status; tickets, if any, go to ${tickets}. */
static hf_status run(struct client_fixture *fixture, struct hf_lock *lock,
                     enum call call, const char *id,
                     struct hf_tickets **tickets)
{
    struct client_operation operation = {.fixture = fixture,
                                         .calls = &calls,
                                         .subject = lock,
                                         .call = (int)call,
                                         .id = id};

    client_operation_begin(&operation);
    (void)client_operation_await(&operation);
    assert_true((operation.tickets != NULL) ==
                (operation.status == HF_OK && call <= WAITERS));
    if (tickets != NULL)
        *tickets = operation.tickets;
    else
        hf_tickets_free(operation.tickets);
    return operation.status;
}

static struct hf_tickets *list(struct client_fixture *fixture,
                               struct hf_lock *lock, enum call call)
{
    struct hf_tickets *tickets;

    assert_int_equal(run(fixture, lock, call, NULL, &tickets), HF_OK);
    return tickets;
}

/* The id of the ticket at ${position}. */
static void id_at(struct client_fixture *fixture, struct hf_lock *lock,
                  size_t position, char id[64])
{
    struct hf_tickets *tickets = list(fixture, lock, TICKETS);

    assert_true(position < hf_tickets_count(tickets));
    snprintf(id, 64, "%s", hf_tickets_at(tickets, position)->id);
    hf_tickets_free(tickets);
}

/* --------------------------------------------------------------- listing -- */

TEST_IN_EACH_WAY(a_queue_is_shown)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct hf_ticket_view *view;
    struct outcome first, second;
    struct hf_tickets *tickets;
    FIXTURE(f, way);
    tickets = list(&f.a, f.mine, TICKETS);
    assert_int_equal(hf_tickets_count(tickets), 0);
    assert_null(hf_tickets_at(tickets, 0));
    assert_null(hf_tickets_unknown(tickets, 0));
    hf_tickets_free(tickets);
    assert_int_equal(client_directory_count_tickets(&f.directory), 0);

    opts.text = "the one and only";
    client_acquire(&f.a, f.mine, &opts, &first);
    client_await(&first);
    client_acquire(&f.b, f.theirs, NULL, &second);
    await_tickets(&f.directory, 2);
    tickets = list(&f.a, f.mine, TICKETS);
    assert_int_equal(hf_tickets_count(tickets), 2);
    view = hf_tickets_at(tickets, 0);
    assert_true(view->holds && view->own);
    assert_int_equal(view->kind, HF_KIND_MUTEX);
    assert_true(view->token == hf_grant_token(first.grant));
    assert_true(view->age_ms < 60000);
    assert_true(view->created_utc_ms > 0);
    assert_string_equal(view->layout, "holdfast");
    assert_non_null(strstr(view->owner, "text=the%20one%20and%20only"));
    view = hf_tickets_at(tickets, 1);
    assert_false(view->holds || view->own);
    assert_null(strstr(view->owner, "text="));
    hf_tickets_free(tickets);

    tickets = list(&f.b, f.theirs, HOLDERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_true(hf_tickets_at(tickets, 0)->holds);
    assert_false(hf_tickets_at(tickets, 0)->own);
    hf_tickets_free(tickets);
    tickets = list(&f.b, f.theirs, WAITERS);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_true(hf_tickets_at(tickets, 0)->own);
    hf_tickets_free(tickets);

    assert_int_equal(client_give(&f.a, first.grant), HF_OK);
    client_await(&second);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
}

/* -------------------------------------------------------------- evicting -- */

struct queue_record {
    _Atomic int count;
    _Atomic int dropped;
    bool release; /* from inside the callback */
    struct outcome *outcome;
};

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct queue_record *callback_record = arg;

    (void)grant;
    atomic_fetch_add(&callback_record->count, 1);
}

static void on_drop(void *arg)
{
    struct queue_record *callback_record = arg;

    atomic_fetch_add(&callback_record->dropped, 1);
}

static bool is_notified(void *arg)
{
    struct queue_record *callback_record = arg;

    return atomic_load(&callback_record->count) > 0;
}

TEST_IN_EACH_WAY(a_holder_is_evicted)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct queue_record callback_record = {.release = false};
    struct outcome first, second;
    struct client_queue_fixture f;
    char id[64];

    fixture_open(&f, way);
    opts.on_loss = (struct hf_on_loss){on_loss, &callback_record, on_drop};
    client_acquire(&f.a, f.mine, &opts, &first);
    client_await(&first);
    client_acquire(&f.b, f.theirs, NULL, &second);
    await_tickets(&f.directory, 2);
    id_at(&f.b, f.theirs, 0, id);
    assert_int_equal(run(&f.b, f.theirs, EVICT, id, NULL), HF_OK);
    client_wait_until(&f.a, is_notified, &callback_record);
    client_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_true(hf_grant_token(second.grant) > hf_grant_token(first.grant));
    assert_int_equal(hf_grant_check(first.grant), HF_ELOST);
    assert_int_equal(run(&f.b, f.theirs, EVICT, id, NULL), HF_EGONE);
    assert_int_equal(client_give(&f.a, first.grant), HF_ELOST);
    assert_int_equal(atomic_load(&callback_record.count), 1);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
    fixture_close(&f);
    assert_int_equal(atomic_load(&callback_record.dropped), 1);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    _Atomic uint32_t *displaced = arg;

    atomic_store(displaced, wait->displaced);
}

/* It gets the lock nevertheless, and on_wait comes first with its new
 * position; in a blocking call only if it has to wait there. */
TEST_IN_EACH_WAY(a_waiter_is_evicted)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    _Atomic uint32_t displaced = 0;
    struct outcome first, second;
    char id[64];
    FIXTURE(f, way);
    client_acquire(&f.a, f.mine, NULL, &first);
    client_await(&first);
    opts.on_wait = (struct hf_on_wait){on_wait, &displaced, NULL};
    client_acquire(&f.b, f.theirs, &opts, &second);
    await_tickets(&f.directory, 2);
    id_at(&f.a, f.mine, 1, id);
    assert_int_equal(run(&f.a, f.mine, EVICT, id, NULL), HF_OK);
    assert_int_equal(client_give(&f.a, first.grant), HF_OK);
    client_await(&second);
    assert_int_equal(second.status, HF_OK);
    if (way != WAY_BLOCKING)
        assert_int_equal(atomic_load(&displaced), 1);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
}

TEST_IN_EACH_WAY(a_client_evicts_its_own_ticket)
{
    struct hf_grant *grant;
    char id[64];
    FIXTURE(f, way);
    grant = client_take(&f.a, f.mine);
    id_at(&f.a, f.mine, 0, id);
    assert_int_equal(run(&f.a, f.mine, EVICT, id, NULL), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 0);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
}

/* -------------------------------------------------- asking for a release -- */

static void on_released(void *arg, const struct hf_result *result)
{
    struct queue_record *callback_record = arg;

    callback_record->outcome->status = result->status;
    atomic_fetch_add(&callback_record->outcome->ended, 1);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct queue_record *callback_record = arg;
    struct hf_done done = {on_released, callback_record, NULL};

    assert_int_equal(hf_grant_release(grant), HF_EREENTRANT);
    if (callback_record->release)
        assert_int_equal(hf_grant_release_start(grant, done), HF_OK);
    atomic_fetch_add(&callback_record->count, 1);
}

static bool is_released(void *arg)
{
    struct queue_record *callback_record = arg;

    return atomic_load(&callback_record->outcome->ended) > 0;
}

TEST_IN_EACH_WAY(a_holder_releases_when_asked)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome first, second, released = {.ended = 0};
    struct queue_record callback_record = {.release = true,
                                           .outcome = &released};
    struct client_queue_fixture f;

    fixture_open(&f, way);
    opts.on_revoke =
        (struct hf_on_revoke){on_revoke, &callback_record, on_drop};
    client_acquire(&f.a, f.mine, &opts, &first);
    client_await(&first);
    client_acquire(&f.b, f.theirs, NULL, &second);
    await_tickets(&f.directory, 2);
    assert_int_equal(run(&f.b, f.theirs, ASK, NULL, NULL), HF_OK);
    client_wait_until(&f.a, is_released, &callback_record);
    assert_int_equal(released.status, HF_OK);
    client_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
    assert_int_equal(atomic_load(&callback_record.count), 1);
    fixture_close(&f);
    assert_int_equal(atomic_load(&callback_record.dropped), 1);
}

struct expected_requests {
    struct queue_record *callback_record;
    int count;
};

static bool is_asked(void *arg)
{
    struct expected_requests *expected_requests = arg;

    return atomic_load(&expected_requests->callback_record->count) >=
           expected_requests->count;
}

/* It is asked once more, and no other time. */
TEST_IN_EACH_WAY(a_holder_finishes_first)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct queue_record callback_record = {.release = false};
    struct expected_requests expected_requests = {&callback_record, 0};
    struct outcome first;
    struct client_queue_fixture f;
    char id[64];

    fixture_open(&f, way);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &callback_record, NULL};
    client_acquire(&f.a, f.mine, &opts, &first);
    client_await(&first);
    id_at(&f.b, f.theirs, 0, id);
    for (expected_requests.count = 1; expected_requests.count <= 3;
         expected_requests.count++) {
        assert_int_equal(run(&f.b, f.theirs, ASK, id, NULL), HF_OK);
        client_wait_until(&f.a, is_asked, &expected_requests);
    }
    assert_int_equal(hf_grant_check(first.grant), HF_OK);
    assert_int_equal(client_give(&f.a, first.grant), HF_OK);
    assert_int_equal(run(&f.b, f.theirs, ASK, id, NULL), HF_EGONE);
    assert_int_equal(run(&f.b, f.theirs, ASK, NULL, NULL), HF_EGONE);
    fixture_close(&f);
    assert_int_equal(atomic_load(&callback_record.count), 3);
}

TEST_IN_EACH_WAY(a_waiter_is_notified_with_its_grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct queue_record callback_record = {.release = false};
    struct outcome first, second;
    struct client_queue_fixture f;
    char id[64];

    fixture_open(&f, way);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &callback_record, NULL};
    client_acquire(&f.a, f.mine, NULL, &first);
    client_await(&first);
    client_acquire(&f.b, f.theirs, &opts, &second);
    await_tickets(&f.directory, 2);
    id_at(&f.a, f.mine, 1, id);
    assert_int_equal(run(&f.a, f.mine, ASK, id, NULL), HF_OK);
    assert_int_equal(client_give(&f.a, first.grant), HF_OK);
    client_await(&second);
    client_wait_until(&f.b, is_notified, &callback_record);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
    fixture_close(&f);
    assert_int_equal(atomic_load(&callback_record.count), 1);
}

/* ------------------------------------------ holders that release at once -- */

struct handover_fixture {
    struct client_fixture fixture;
    int pipe[2];
    struct hf_lock *lock;
};

static bool command_is_read(void *arg)
{
    struct handover_fixture *h = arg;
    int unread;

    assert_int_equal(ioctl(h->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* Another client holds.  While the holders are asked to release, the lock is
 * handed on ${times} times, each time before the listed holder is asked. */
static void handover_open(struct handover_fixture *h, enum way way, int times)
{
    char commands[HANDOVERS_MAX + 2] = {SCRIPTED_CONNECT, SCRIPTED_BLOCK};
    char url[64];

    memset(h, 0, sizeof(*h));
    memset(commands + 2, SCRIPTED_REPLACE_HOLDER, (size_t)times);
    assert_int_equal(pipe2(h->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", h->pipe[0]);
    client_open(&h->fixture, way, url, (struct hf_on_state){NULL, NULL, NULL});
    h->lock = client_open_lock(&h->fixture, "nightly");
    assert_int_equal(write(h->pipe[1], commands, (size_t)times + 2), times + 2);
    client_wait_until(&h->fixture, command_is_read, h);
}

static void handover_close(struct handover_fixture *h)
{
    hf_lock_free(h->lock);
    client_close(&h->fixture);
    close(h->pipe[0]);
    close(h->pipe[1]);
}

TEST_IN_EACH_WAY(the_next_holder_is_asked)
{
    struct handover_fixture h;

    handover_open(&h, way, HANDOVERS_MAX - 1);
    assert_int_equal(run(&h.fixture, h.lock, ASK, NULL, NULL), HF_OK);
    handover_close(&h);
}

TEST_IN_EACH_WAY(too_many_take_over)
{
    struct handover_fixture h;

    handover_open(&h, way, HANDOVERS_MAX);
    assert_int_equal(run(&h.fixture, h.lock, ASK, NULL, NULL), HF_EGONE);
    assert_int_equal(run(&h.fixture, h.lock, ASK, NULL, NULL), HF_OK);
    handover_close(&h);
}

/* ---------------------------------------------------------------- misuse -- */

TEST(wrong_calls_are_refused)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct client_operation operation = {.ended = 0};
    struct hf_done done = client_operation_done(&operation);
    struct hf_done none = {NULL, done.arg, done.drop};
    static const char nobody[] = "00000000-0000-0000-0000-000000000000";
    char text[HF_EVICTED_BY_BYTES + 2] = "";
    char longer[HF_OWNER_TEXT_BYTES + 2];
    struct hf_tickets *tickets;
    struct hf_client *client;
    struct hf_grant *grant;
    struct client_directory directory;
    struct hf_lock *lock;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_evict(lock, "nobody", NULL, 0), HF_EINVAL);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_lock_evict: 'nobody' is no id"));
    assert_int_equal(hf_lock_revoke(lock, "", 0), HF_EINVAL);
    assert_int_equal(hf_lock_evict_start(lock, "x", NULL, 0, done), HF_EINVAL);
    assert_int_equal(atomic_load(&operation.dropped), 1);
    assert_int_equal(hf_lock_evict(lock, nobody, "a\nb", 0), HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text,
                           "hf_lock_evict: the text of the eviction "
                           "\"a\\x0Ab\" is not valid UTF-8"));
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(hf_lock_evict(lock, nobody, text, 0), HF_EINVAL);
    text[HF_EVICTED_BY_BYTES] = '\0';
    assert_int_equal(hf_lock_evict(lock, nobody, text, 0), HF_EGONE);
    assert_int_equal(hf_lock_evict(lock, nobody, "", 0), HF_EGONE);
    assert_int_equal(hf_lock_tickets_start(lock, HF_TICKETS_ALL, 0, none),
                     HF_EINVAL);
    assert_int_equal(atomic_load(&operation.dropped), 2);
    assert_int_equal(atomic_load(&operation.ended), 0);
    assert_int_equal(
        hf_lock_tickets(lock, (enum hf_tickets_which)3, 0, &tickets),
        HF_EINVAL);
    assert_null(tickets);
    assert_non_null(strstr(hf_last_error()->text, "'which' is 3; expected"));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    opts.text = longer;
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    opts.text = "a\nb";
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    opts.text = "\xff";
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_EINVAL);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_lock_tickets(lock, HF_TICKETS_ALL, 0, &tickets),
                     HF_ECLOSED);
    assert_null(tickets);
    hf_tickets_free(NULL);
    hf_lock_free(lock);
    client_directory_remove(&directory);
}
