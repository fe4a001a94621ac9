/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: what they report, and what they survive. */
#include <stdlib.h>
#include <string.h>

#include "etcd_fixture.h"

/* The revision from which the server is asked to watch, in the first request
 * that was not answered; 0: it is no request to create a watch. */
static int64_t asked_from(struct fixture *f)
{
    struct fake_message *message = &fixture_call(f, "Watch")->messages[0];
    struct hf_etcd_reader reader = hf_etcd_reader_of(
        (struct hf_etcd_bytes){message->bytes, message->count});
    struct hf_etcd_field field;
    int64_t revision = 0;

    if (!hf_etcd_reader_next(&reader, &field) || field.number != 1)
        return 0;
    reader = hf_etcd_reader_of(field.bytes);
    while (hf_etcd_reader_next(&reader, &field))
        if (field.number == 3)
            revision = (int64_t)field.value;
    return revision;
}

/* The server ends a watch: ${id}, and from a request to create it if
 * ${created}. */
static void cancel(struct fixture *f, int64_t id, bool created,
                   int64_t compacted, const char *reason)
{
    struct fake_call *stream = fake_calls(fake_grpc());
    struct hf_etcd_buffer message = fixture_message(f);

    while (strcmp(stream->method, HF_ETCD_WATCH_PATH) != 0)
        stream = stream->next;
    if (created)
        free(fake_take(stream).bytes);
    hf_etcd_put_signed(&message, 2, id);
    hf_etcd_put_bool(&message, 3, created);
    hf_etcd_put_bool(&message, 4, true);
    hf_etcd_put_signed(&message, 5, compacted);
    hf_etcd_put_bytes(&message, 6, hf_etcd_bytes_of(reason));
    fake_send(stream, message.bytes, message.used);
    hf_etcd_buffer_free(&message);
    fixture_deliver(f);
}

/* ---------------------------------------------------------------- events -- */

FIXTURE_TEST(a_watch_reports_from_its_revision_on)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    assert_int_equal(asked_from(f), 0); /* from now on, which is 5 */
    id = fixture_created(f);
    assert_null(fixture_find(f, "Range"));
    fixture_event(f, id, "k", 7, false);
    fixture_event(f, id, "k", 9, true);
    fixture_expect(f, "k put k 7");
    fixture_expect(f, "k deleted k 9");
    fixture_expect_none(f);
    assert_int_equal(f->watches[0].watch.next_revision, 10);
}

FIXTURE_TEST(watches_share_a_stream)
{
    int64_t last;

    fixture_up(f);
    fixture_watch(f, "a", 5);
    fixture_watch(f, "b", 5);
    last = fixture_created(f);
    assert_int_equal(fixture_count(f, "Watch"), 1);
    fixture_event(f, last, "b", 7, true);
    fixture_event(f, last - 1, "a", 6, true);
    fixture_expect(f, "b deleted b 7");
    fixture_expect(f, "a deleted a 6");
}

/* Several keys of one transaction have one revision. */
FIXTURE_TEST(events_of_one_revision)
{
    int64_t id;
    struct hf_etcd_buffer message;
    struct fake_call *stream;

    fixture_up(f);
    fixture_watch(f, "a", 5);
    id = fixture_created(f);
    message = fixture_message(f);
    hf_etcd_put_signed(&message, 2, id);
    for (int i = 0; i < 2; i++) {
        size_t event = hf_etcd_put_begin(&message, 11);
        size_t kv = hf_etcd_put_begin(&message, 2);

        hf_etcd_put_bytes(&message, 1, hf_etcd_bytes_of(i == 0 ? "x" : "y"));
        hf_etcd_put_signed(&message, 3, 8);
        hf_etcd_put_end(&message, kv);
        hf_etcd_put_end(&message, event);
    }
    stream = fake_calls(fake_grpc());
    while (strcmp(stream->method, HF_ETCD_WATCH_PATH) != 0)
        stream = stream->next;
    fake_send(stream, message.bytes, message.used);
    hf_etcd_buffer_free(&message);
    fixture_deliver(f);
    fixture_expect(f, "a put x 8");
    fixture_expect(f, "a put y 8");
    fixture_expect_none(f);
}

FIXTURE_TEST(a_watch_that_was_removed_is_silent)
{
    struct fixture_watch *watch;
    int64_t id;

    fixture_up(f);
    watch = fixture_watch(f, "k", 5);
    id = fixture_created(f);
    hf_etcd_watch_remove(&f->session, &watch->watch);
    hf_etcd_watch_remove(&f->session, &watch->watch);
    fixture_event(f, id, "k", 7, true);
    cancel(f, id, false, 0, ""); /* the answer to our request */
    fixture_expect_none(f);
    assert_true(hf_etcd_session_is_usable(&f->session));
}

/* Removed before its creation is answered: the answers are counted all the
 * same, so the next one is not taken for it. */
FIXTURE_TEST(a_watch_that_was_removed_before_it_was_created)
{
    struct fixture_watch *watch;
    int64_t id;

    fixture_up(f);
    watch = fixture_watch(f, "a", 5);
    hf_etcd_watch_remove(&f->session, &watch->watch);
    fixture_watch(f, "b", 6);
    id = fixture_created(f);
    fixture_event(f, id, "b", 7, true);
    fixture_expect(f, "b deleted b 7");
}

FIXTURE_TEST(a_watch_may_remove_itself)
{
    struct fixture_watch *watch;
    int64_t id;

    fixture_up(f);
    watch = fixture_watch(f, "k", 5);
    watch->removes = true;
    id = fixture_created(f);
    fixture_event(f, id, "k", 7, false);
    fixture_event(f, id, "k", 8, false);
    fixture_expect(f, "k put k 7");
    fixture_expect_none(f);
}

/* -------------------------------------------------- from now, and before -- */

/* Answer the read of a watch: the key was created and put at these revisions,
 * and read at ${revision}; 0: it is not there. */
static void answer_read(struct fixture *f, int64_t create, int64_t mod,
                        int64_t revision)
{
    int64_t before = f->server.revision;
    struct hf_etcd_buffer message;
    size_t kv;

    f->server.revision = revision;
    message = fixture_message(f);
    f->server.revision = before;
    if (mod > 0) {
        kv = hf_etcd_put_begin(&message, 2);
        hf_etcd_put_bytes(&message, 1, hf_etcd_bytes_of("k"));
        hf_etcd_put_signed(&message, 2, create);
        hf_etcd_put_signed(&message, 3, mod);
        hf_etcd_put_end(&message, kv);
    }
    fixture_answer(f, "Range", &message);
}

/* The watch was to begin at 5, and begins behind 20. */
static int64_t begin_late(struct fixture *f)
{
    int64_t id;

    fixture_up(f);
    f->created_revision = 20;
    fixture_watch(f, "k", 5);
    id = fixture_created(f);
    assert_non_null(fixture_find(f, "Range"));
    fixture_expect_none(f);
    return id;
}

FIXTURE_TEST(what_was_before_is_read)
{
    int64_t id = begin_late(f);

    answer_read(f, 3, 3, 22);
    fixture_expect_none(f); /* as it was */
    fixture_event(f, id, "k", 21, false);
    fixture_expect_none(f); /* older than what was read */
    fixture_event(f, id, "k", 23, true);
    fixture_expect(f, "k deleted k 23");
}

FIXTURE_TEST(a_deletion_before)
{
    int64_t id = begin_late(f);

    answer_read(f, 0, 0, 22);
    fixture_expect(f, "k deleted k 22");
    fixture_event(f, id, "k", 22, true);
    fixture_expect_none(f);
}

FIXTURE_TEST(a_put_before)
{
    (void)begin_late(f);
    answer_read(f, 3, 19, 22);
    fixture_expect(f, "k put k 19");
    assert_int_equal(f->watches[0].watch.next_revision, 23);
}

/* The event comes before the answer to the read. */
FIXTURE_TEST(an_event_overtakes_the_read)
{
    int64_t id = begin_late(f);

    fixture_event(f, id, "k", 21, true);
    fixture_expect(f, "k deleted k 21");
    answer_read(f, 0, 0, 22);
    fixture_expect_none(f);
}

FIXTURE_TEST(an_event_is_newer_than_the_read)
{
    int64_t id = begin_late(f);

    fixture_event(f, id, "k", 25, true);
    fixture_expect(f, "k deleted k 25");
    answer_read(f, 3, 3, 22);
    fixture_expect_none(f);
}

FIXTURE_TEST(the_connection_ends_while_the_key_is_read)
{
    (void)begin_late(f);
    fixture_cut(f, "reset");
    fixture_skip(f);
    fixture_up(f);
    assert_null(fixture_find(f, "Range"));
    assert_int_equal(asked_from(f), 5); /* now from its revision */
}

FIXTURE_TEST(a_watch_is_removed_while_its_key_is_read)
{
    (void)begin_late(f);
    hf_etcd_watch_remove(&f->session, &f->watches[0].watch);
    assert_null(fixture_find(f, "Range"));
    fixture_expect_none(f);
}

/* Another member that is behind has answered, through a proxy. */
FIXTURE_TEST(a_read_that_is_older_than_the_watch)
{
    (void)begin_late(f);
    answer_read(f, 3, 3, 19);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
}

/* ---------------------------------------------------- from now, and late -- */

/* The watch begins where it was to begin, as far as the answer shows. */
static int64_t begin_now(struct fixture *f)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    id = fixture_created(f);
    fixture_pass(f, HF_ETCD_WATCH_READ_MS - 1);
    assert_null(fixture_find(f, "Range"));
    return id;
}

FIXTURE_TEST(a_deletion_that_the_server_reports_late)
{
    int64_t id = begin_now(f);

    fixture_pass(f, 1);
    answer_read(f, 0, 0, 8);
    fixture_expect(f, "k deleted k 8");
    fixture_event(f, id, "k", 6, true);
    fixture_expect_none(f);
}

FIXTURE_TEST(nothing_has_happened_yet)
{
    int64_t id = begin_now(f);

    fixture_pass(f, 1);
    answer_read(f, 3, 3, 8);
    fixture_expect_none(f);
    assert_int_equal(hf_etcd_watches_wake_at_ms(&f->session), UINT64_MAX);
    fixture_event(f, id, "k", 9, true);
    fixture_expect(f, "k deleted k 9");
}

FIXTURE_TEST(what_was_reported_is_not_read)
{
    int64_t id = begin_now(f);

    fixture_event(f, id, "k", 6, true);
    fixture_expect(f, "k deleted k 6");
    fixture_pass(f, 1);
    assert_null(fixture_find(f, "Range"));
}

FIXTURE_TEST(what_was_removed_is_not_read)
{
    (void)begin_now(f);
    hf_etcd_watch_remove(&f->session, &f->watches[0].watch);
    fixture_pass(f, 1);
    assert_null(fixture_find(f, "Range"));
    fixture_expect_none(f);
}

FIXTURE_TEST(the_connection_ends_before_the_read)
{
    (void)begin_now(f);
    fixture_cut(f, "reset");
    fixture_skip(f);
    fixture_pass(f, 1);
    fixture_up(f);
    assert_null(fixture_find(f, "Range"));
    assert_int_equal(asked_from(f), 5); /* now from its revision */
}

/* All events are wanted, so the server begins in the past. */
FIXTURE_TEST(a_watch_of_all_events)
{
    struct fixture_watch *watch = f->watches;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    hf_etcd_watch_remove(&f->session, &watch->watch);
    (void)fixture_created(f);
    watch->watch.extent = HF_ETCD_WATCH_ALL_EVENTS;
    assert_true(hf_etcd_watch_add(&f->session, &watch->watch));
    assert_int_equal(asked_from(f), 5);
    f->created_revision = 20;
    (void)fixture_created(f);
    assert_null(fixture_find(f, "Range"));
}

/* -------------------------------------------------------------- resuming -- */

/* From the revision behind the last event, so that nothing is missed and
 * nothing comes twice. */
FIXTURE_TEST(a_watch_survives_a_connection)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    id = fixture_created(f);
    fixture_event(f, id, "k", 7, false);
    fixture_cut(f, "reset");
    fixture_skip(f);
    fixture_up(f);
    assert_int_equal(asked_from(f), 8);
    id = fixture_created(f);
    fixture_event(f, id, "k", 7, false); /* a server must not */
    fixture_expect_none(f);
    fixture_event(f, id, "k", 9, true);
    fixture_expect(f, "k deleted k 9");
}

FIXTURE_TEST(a_watch_that_is_added_without_a_connection)
{
    fixture_up(f);
    fixture_cut(f, "reset");
    fixture_watch(f, "k", 5);
    fixture_up(f);
    assert_int_equal(asked_from(f), 0);
}

/* The next session has none of the watches of the one before. */
FIXTURE_TEST(watches_end_with_the_session)
{
    struct fixture_watch *watch;

    fixture_up(f);
    watch = fixture_watch(f, "k", 5);
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 0);
    fixture_expect(f, "lost");
    assert_false(hf_etcd_watch_is_in(&watch->watch));
    fixture_up(f);
    assert_int_equal(fixture_count(f, "Watch"), 0);
}

/* --------------------------------------------- what is no event of a key -- */

FIXTURE_TEST(compaction_is_no_deletion)
{
    struct fixture_watch *watch;
    int64_t id;

    fixture_up(f);
    watch = fixture_watch(f, "k", 5);
    id = fixture_created(f);
    cancel(f, id, false, 20, "");
    fixture_expect(f, "k compacted");
    fixture_expect_none(f);
    assert_false(hf_etcd_watch_is_in(&watch->watch));
    fixture_watch(f, "k", 21);
    assert_int_equal(asked_from(f), 0);
}

FIXTURE_TEST(no_leader_is_no_deletion)
{
    fixture_up(f);
    fixture_watch(f, "k", 5);
    (void)fixture_created(f);
    fixture_refuse(f, "Watch", HF_GRPC_UNAVAILABLE, "etcdserver: no leader");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect_none(f);
    fixture_up(f);
    assert_int_equal(asked_from(f), 5);
}

FIXTURE_TEST(a_reason_that_is_not_known_is_no_deletion)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    id = fixture_created(f);
    cancel(f, id, false, 0, "mvcc: something new");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect_none(f);
    fixture_up(f);
    assert_int_equal(asked_from(f), 5);
}

FIXTURE_TEST(no_rights_for_a_watch)
{
    struct fixture_watch *watch;

    fixture_up(f);
    watch = fixture_watch(f, "k", 5);
    cancel(f, -1, true, 0,
           "rpc error: code = PermissionDenied desc = etcdserver: permission "
           "denied");
    fixture_expect(f, "k refused");
    assert_false(hf_etcd_watch_is_in(&watch->watch));
    assert_true(hf_etcd_session_is_usable(&f->session));
}

/* The refusal has no number: it is that of the oldest request. */
FIXTURE_TEST(a_refusal_without_a_number)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "a", 5);
    fixture_watch(f, "b", 5);
    cancel(f, -1, true, 0, "etcdserver: permission denied");
    fixture_expect(f, "a refused");
    id = fixture_created(f);
    fixture_event(f, id, "b", 6, true);
    fixture_expect(f, "b deleted b 6");
}

/* Servers that lie. */
FIXTURE_TEST(a_watch_that_nobody_asked_for)
{
    struct hf_etcd_buffer message;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    message = fixture_message(f);
    hf_etcd_put_signed(&message, 2, 77);
    hf_etcd_put_bool(&message, 3, true);
    fixture_answer(f, "Watch", &message);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_non_null(strstr(f->session.connectivity.error, "was not asked for"));
}

FIXTURE_TEST(events_of_no_watch_are_ignored)
{
    fixture_up(f);
    fixture_watch(f, "k", 5);
    (void)fixture_created(f);
    fixture_event(f, 0, "k", 6, true);
    fixture_event(f, -1, "k", 6, true);
    fixture_event(f, 12345, "k", 6, true);
    fixture_expect_none(f);
    assert_true(hf_etcd_session_is_usable(&f->session));
}
