/* SPDX-License-Identifier: Apache-2.0 */
/* A writer becomes a reader while another client reads the queue, at each
 * system call of that client. */
#include <stdint.h>
#include <stdio.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "core/admission.h"
#include "engines/file/syscalls.h"

/* The writer, and at which call it is downgraded. */
static struct {
    struct engine_client *client;
    struct hf_ticket_id id;
    unsigned long left; /* calls of the other one until then; 0: has been */
} writer;

static struct client_request *downgrade(void)
{
    return client_ask(writer.client, HF_REQUEST_DOWNGRADE, "q", writer.id);
}

static int downgrade_in_time(const char *request)
{
    (void)request;
    if (writer.left > 0 && --writer.left == 0) {
        hf_file_sys_hook = NULL; /* its own calls do not count */
        assert_int_equal(downgrade()->answer, HF_EVENT_DOWNGRADED);
    }
    return 0;
}

/* Enqueue the writer, which is downgraded at the ${nth} call from now on. */
static void begin(unsigned long nth)
{
    struct client_request *request;

    conformance_file.begin(&conformance_file);
    writer.client = client_open(&conformance_file);
    writer.id = fresh_id();
    request = client_enqueue(writer.client, "q", writer.id, HF_TICKET_WRITE,
                             "a writer");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    writer.left = nth;
}

static bool has_changed(void)
{
    hf_file_sys_hook = NULL;
    return writer.left == 0;
}

static void assert_not_admitted(const struct client_request *request,
                                struct hf_ticket_id mine)
{
    struct hf_snapshot snapshot = {request->tickets, request->count,
                                   request->more};
    struct hf_admission decision =
        hf_admission_decide(&snapshot, &mine, HF_TICKET_WRITE);

    assert_int_equal(decision.answer, HF_WAIT_FOR);
    assert_true(hf_ticket_id_equal(&decision.nearest->id, &writer.id));
}

TEST(an_enqueue_sees_one_of_the_two)
{
    bool changed = true;

    for (unsigned long nth = 1; changed; nth++) {
        struct hf_ticket_id mine = fresh_id();
        struct engine_client *other;
        struct client_request *request;

        begin(nth);
        other = client_open(&conformance_file);
        hf_file_sys_hook = downgrade_in_time;
        request = client_enqueue(other, "q", mine, HF_TICKET_WRITE, "another");
        changed = has_changed();
        assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
        assert_not_admitted(request, mine);
        client_close(other);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}

/* A list of so many tickets that they are not read at once.  True if the
 * downgrade happened during it. */
static bool list_while_it_changes(unsigned long nth)
{
    enum { MANY = 120 };
    struct hf_ticket_id mine = fresh_id();
    struct engine_client *other, *looker;
    struct client_request *request;
    bool changed;

    begin(nth);
    other = client_open(&conformance_file);
    looker = client_open(&conformance_file);
    request = client_enqueue(looker, "q", mine, HF_TICKET_WRITE, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(
            client_enqueue(other, "q", fresh_id(), HF_TICKET_READ, "")->answer,
            HF_EVENT_ENQUEUED);
    hf_file_sys_hook = downgrade_in_time;
    request = client_ask(looker, HF_REQUEST_LIST, "q", mine);
    changed = has_changed();
    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count,
                     2); /* no ticket behind it decides on this list */
    assert_not_admitted(request, mine);
    client_close(looker);
    client_close(other);
    client_close(writer.client);
    conformance_file.finish(&conformance_file);
    return changed;
}

/* On most filesystems the order of entries in a directory is random, so a
 * list could see neither name, if the engine did not take care, in every
 * second round. */
TEST(a_list_sees_one_of_the_two)
{
    enum { ITERATIONS = 10 };

    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        unsigned long nth = 1;

        while (list_while_it_changes(nth))
            assert_true(++nth < 100);
    }
}

/* The answer is GONE of the writer, or WATCHING and later GONE. */
TEST(a_watch_learns_of_the_change)
{
    bool changed = true;

    for (unsigned long nth = 1; changed; nth++) {
        struct hf_ticket_id mine = fresh_id();
        struct engine_client *other;
        struct client_request *request, *watch;

        begin(nth);
        other = client_open(&conformance_file);
        request = client_enqueue(other, "q", mine, HF_TICKET_READ, "");
        assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
        hf_file_sys_hook = downgrade_in_time;
        watch =
            client_watch(other, "q", client_request_find(request, writer.id));
        changed = has_changed();
        if (!changed)
            assert_int_equal(downgrade()->answer, HF_EVENT_DOWNGRADED);
        assert_true(client_wait_gone(other, watch));
        client_close(other);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}

/* The owner gets the request to let go under the new name of its ticket. */
static void assert_reported(void)
{
    struct client_request *list =
        client_ask(writer.client, HF_REQUEST_LIST, "q", writer.id);
    struct client_request *own =
        client_watch(writer.client, "q", client_request_find(list, writer.id));

    assert_int_equal(client_request_find(list, writer.id)->kind,
                     HF_TICKET_READ);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_true(client_wait_revoked(writer.client, own, 0));
}

TEST(a_request_finds_the_ticket_while_it_changes)
{
    bool changed = true;

    for (unsigned long nth = 1; changed; nth++) {
        struct engine_client *other;
        struct client_request *request;

        begin(nth);
        other = client_open(&conformance_file);
        hf_file_sys_hook = downgrade_in_time;
        request = client_ask(other, HF_REQUEST_REVOKE, "q", writer.id);
        changed = has_changed();
        if (!changed)
            assert_int_equal(downgrade()->answer, HF_EVENT_DOWNGRADED);
        assert_int_equal(request->answer, HF_EVENT_REVOKE_SENT);
        assert_true(request->found);
        assert_reported();
        client_close(other);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}

/* The other way round: the client that asks, and at which call of the
 * downgrade. */
static struct {
    struct engine_client *client;
    unsigned long left; /* calls of the writer until then; 0: has been */
} asker;

static int ask_in_time(const char *request)
{
    (void)request;
    if (asker.left > 0 && --asker.left == 0) {
        hf_file_sys_hook = NULL;
        assert_true(client_ask_until_done(asker.client, HF_REQUEST_REVOKE, "q",
                                          writer.id)
                        ->found);
    }
    return 0;
}

TEST(the_change_keeps_a_request)
{
    bool asked = true;

    for (unsigned long nth = 1; asked; nth++) {
        begin(0);
        asker.client = client_open(&conformance_file);
        asker.left = nth;
        hf_file_sys_hook = ask_in_time;
        assert_int_equal(downgrade()->answer, HF_EVENT_DOWNGRADED);
        hf_file_sys_hook = NULL;
        asked = asker.left == 0;
        if (asked)
            assert_reported();
        client_close(asker.client);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}

static int downgrade_if_there(const char *request)
{
    (void)request;
    if (writer.left > 0 && --writer.left == 0) {
        hf_file_sys_hook = NULL;
        (void)downgrade();
    }
    return 0;
}

static void assert_taken_out(struct engine_client *other)
{
    assert_int_equal(client_ask(other, HF_REQUEST_LIST, "q", writer.id)->count,
                     0);
}

TEST(an_eviction_finds_the_ticket_while_it_changes)
{
    bool changed = true;

    for (unsigned long nth = 1; changed; nth++) {
        struct engine_client *other;

        begin(nth);
        other = client_open(&conformance_file);
        hf_file_sys_hook = downgrade_if_there;
        assert_true(
            client_ask(other, HF_REQUEST_REMOVE, "q", writer.id)->found);
        changed = has_changed();
        assert_taken_out(other);
        client_close(other);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}

static int evict_in_time(const char *request)
{
    (void)request;
    if (asker.left > 0 && --asker.left == 0) {
        hf_file_sys_hook = NULL;
        assert_true(
            client_ask(asker.client, HF_REQUEST_REMOVE, "q", writer.id)->found);
    }
    return 0;
}

/* Either the downgrade comes too late, or the eviction finds the reader. */
TEST(what_is_evicted_while_it_changes_is_gone)
{
    bool evicted = true;

    for (unsigned long nth = 1; evicted; nth++) {
        begin(0);
        asker.client = client_open(&conformance_file);
        asker.left = nth;
        hf_file_sys_hook = evict_in_time;
        (void)downgrade();
        hf_file_sys_hook = NULL;
        evicted = asker.left == 0;
        if (evicted)
            assert_taken_out(asker.client);
        client_close(asker.client);
        client_close(writer.client);
        conformance_file.finish(&conformance_file);
        assert_true(nth < 200);
    }
}
