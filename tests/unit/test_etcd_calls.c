/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a call says, and the epoch that decides what it leaves
 * open. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd_fixture.h"

/* ------------------------------------------------------------------ ends -- */

/* What a server answers, what that means for a write and a read, and the status
 * for a user. */
FIXTURE_TEST(what_a_status_means)
{
    static const struct {
        enum hf_grpc_status status;
        const char *text;
        const char *write;
        const char *read;
        hf_status says;
    } rows[] = {
        {HF_GRPC_INVALID_ARGUMENT, "etcdserver: key is not provided",
         "w REFUSED", "r REFUSED", HF_EPROTOCOL},
        {HF_GRPC_INVALID_ARGUMENT,
         "etcdserver: duplicate key given in txn request", "w REFUSED",
         "r REFUSED", HF_EPROTOCOL},
        {HF_GRPC_INVALID_ARGUMENT,
         "etcdserver: too many operations in txn request", "w REFUSED",
         "r REFUSED", HF_EUNSUPPORTED},
        {HF_GRPC_INVALID_ARGUMENT, "etcdserver: request is too large",
         "w REFUSED", "r REFUSED", HF_EUNSUPPORTED},
        {HF_GRPC_INVALID_ARGUMENT, "etcdserver: user name is empty",
         "w REFUSED", "r REFUSED", HF_EDENIED},
        {HF_GRPC_INVALID_ARGUMENT, "etcdserver: revision of auth store is old",
         "w REFUSED", "r REFUSED", HF_EUNREACHABLE},
        {HF_GRPC_NOT_FOUND, "etcdserver: requested lease not found",
         "w REFUSED", "r REFUSED", HF_EUNREACHABLE},
        {HF_GRPC_PERMISSION_DENIED, "etcdserver: permission denied",
         "w REFUSED", "r REFUSED", HF_EDENIED},
        {HF_GRPC_FAILED_PRECONDITION, "etcdserver: lease already exists",
         "w REFUSED", "r REFUSED", HF_EUNREACHABLE},
        {HF_GRPC_OUT_OF_RANGE,
         "etcdserver: mvcc: required revision has been compacted", "w REFUSED",
         "r REFUSED", HF_EUNREACHABLE},
        {HF_GRPC_UNIMPLEMENTED, "unknown method", "w REFUSED", "r REFUSED",
         HF_EUNSUPPORTED},
        {HF_GRPC_UNAUTHENTICATED, "etcdserver: invalid auth token", "w REFUSED",
         "r REFUSED", HF_EDENIED}, /* there is no user */
        {HF_GRPC_DATA_LOSS, "etcdserver: corrupt cluster", "w REFUSED",
         "r REFUSED", HF_EUNREACHABLE},
        /* The request that finds it out was carried out. */
        {HF_GRPC_RESOURCE_EXHAUSTED,
         "etcdserver: mvcc: database space exceeded", "w UNSURE", "r REFUSED",
         HF_EFULL},
        {HF_GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests", "w RETRY",
         "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_RESOURCE_EXHAUSTED,
         "grpc: received message larger than max (2 vs. 1)", "w REFUSED",
         "r REFUSED", HF_EUNSUPPORTED},
        {HF_GRPC_UNAVAILABLE, "etcdserver: request timed out", "w UNSURE",
         "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_UNAVAILABLE, "etcdserver: leader changed", "w UNSURE",
         "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_UNAVAILABLE, "etcdserver: server stopped", "w UNSURE",
         "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_UNKNOWN, "context deadline exceeded", "w UNSURE", "r RETRY",
         HF_EUNREACHABLE},
        /* It may have happened, whatever the words are. */
        {HF_GRPC_UNKNOWN, "PERMISSION_DENIED at a proxy", "w UNSURE", "r RETRY",
         HF_EUNREACHABLE},
        {HF_GRPC_CANCELLED, "", "w UNSURE", "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_DEADLINE_EXCEEDED, "", "w UNSURE", "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_INTERNAL, "", "w UNSURE", "r RETRY", HF_EUNREACHABLE},
        {HF_GRPC_ABORTED, "", "w UNSURE", "r RETRY", HF_EUNREACHABLE},
    };

    fixture_up(f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_non_null(fixture_start(f, "w", WRITE));
        fixture_refuse(f, "Txn", rows[i].status, rows[i].text);
        fixture_expect(f, rows[i].write);
        assert_int_equal(f->status, rows[i].says);
        assert_non_null(fixture_start(f, "r", READ));
        fixture_refuse(f, "Range", rows[i].status, rows[i].text);
        fixture_expect(f, rows[i].read);
        assert_int_equal(f->status, rows[i].says);
    }
    fixture_expect_none(f);
}

/* Somebody has to do something: the log says what, once for each connection. */
FIXTURE_TEST(an_alarm_is_logged_with_what_to_do)
{
    static const struct {
        enum hf_grpc_status status;
        const char *text;
        const char *line;
    } rows[] = {
        {HF_GRPC_RESOURCE_EXHAUSTED,
         "etcdserver: mvcc: database space exceeded",
         "etcd1:2379: etcdserver: mvcc: database space exceeded "
         "(RESOURCE_EXHAUSTED); compact the history and defragment each "
         "member, then \"etcdctl alarm disarm\""},
        {HF_GRPC_DATA_LOSS, "etcdserver: corrupt cluster",
         "etcd1:2379: etcdserver: corrupt cluster (DATA_LOSS); members differ "
         "in their data; replace the one that is wrong, then \"etcdctl alarm "
         "disarm\""},
        {HF_GRPC_UNAVAILABLE, "etcdserver: request timed out", ""},
    };

    fixture_up(f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int again = 0; again < 2; again++) {
            f->log[0] = '\0';
            assert_non_null(fixture_start(f, "w", WRITE));
            fixture_refuse(f, "Txn", rows[i].status, rows[i].text);
            assert_string_equal(f->log, again ? "" : rows[i].line);
        }
    }
}

/* What the server has not processed, and what never left. */
FIXTURE_TEST(what_was_not_sent_did_not_happen)
{
    struct hf_grpc_result result = {.status = HF_GRPC_UNAVAILABLE,
                                    .text = "refused stream",
                                    .unprocessed = true};

    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fake_end(fixture_call(f, "Txn"), &result);
    fixture_deliver(f);
    fixture_expect(f, "w RETRY");
    assert_non_null(fixture_start(f, "a", WRITE));
    fake_hold(fake_grpc(), true);
    assert_non_null(fixture_start(f, "b", WRITE));
    fixture_cut(f, "reset");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "a UNSURE");
    fixture_expect(f, "b RETRY");
}

/* The stream ended without the server's answer. */
FIXTURE_TEST(a_stream_that_is_reset)
{
    struct hf_grpc_result result = {.status = HF_GRPC_INVALID_ARGUMENT,
                                    .text = "reset"};

    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fake_end(fixture_call(f, "Txn"), &result);
    fixture_deliver(f);
    fixture_expect(f, "w UNSURE");
}

FIXTURE_TEST(an_end_without_an_answer)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_refuse(f, "Txn", HF_GRPC_OK, "");
    fixture_expect(f, "w UNSURE");
}

FIXTURE_TEST(two_answers)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fake_send(fixture_call(f, "Txn"), "", 0);
    fake_send(fixture_call(f, "Txn"), "", 0);
    fixture_deliver(f);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "w UNSURE");
}

FIXTURE_TEST(a_call_that_is_cancelled_says_nothing)
{
    struct fixture_call *call;

    fixture_up(f);
    call = fixture_start(f, "w", WRITE);
    hf_etcd_call_cancel(&call->call);
    hf_etcd_call_cancel(&call->call);
    assert_int_equal(fixture_count(f, "Txn"), 0);
    assert_int_equal(f->session.calls_under_way, 0);
    fixture_pass(f, 3000);
    fixture_expect_none(f);
    assert_true(hf_etcd_epoch_is_known(&f->session));
}

FIXTURE_TEST(a_request_that_is_not_complete_is_not_sent)
{
    struct hf_etcd_buffer request = {.failed = true};
    struct hf_etcd_call call = {0};

    fixture_up(f);
    call.ended = f->session.status_call.ended;
    assert_false(hf_etcd_call_start(&f->session, &call, HF_ETCD_TXN, &request));
    assert_int_equal(fixture_count(f, "Txn"), 0);
}

/* ----------------------------------------------------------------- epoch -- */

/* The request of the key: 'mod_revision = ${revision}', as bytes. */
static bool compares(struct fixture *f, int64_t revision)
{
    struct hf_etcd_buffer expected = {0};
    struct fake_message *message = &fixture_call(f, "Txn")->messages[0];
    bool equal;

    hf_etcd_txn_compare(&expected, &(struct hf_etcd_comparison){
                                       .key = hf_etcd_epoch_key(&f->session),
                                       .target = HF_ETCD_MOD_REVISION,
                                       .number = revision});
    equal = message->count > expected.used &&
            memcmp(message->bytes, expected.bytes, expected.used) == 0;
    hf_etcd_buffer_free(&expected);
    return equal;
}

FIXTURE_TEST(the_key_of_the_session)
{
    char expected[64];

    fixture_up(f);
    (void)snprintf(expected, sizeof expected, "p/.holdfast/%" PRIx64,
                   (uint64_t)f->session.lease);
    assert_string_equal(f->session.epoch.key, expected);
    assert_int_equal(f->session.epoch.revision, 11);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    assert_true(compares(f, 11));
}

/* A proxy in between may have sent the request before it said so. */
FIXTURE_TEST(only_the_server_says_that_there_is_no_space)
{
    static const struct {
        const char *text;
        bool known;
    } rows[] = {
        {"etcdserver: mvcc: database space exceeded", true},
        {"too much traffic", false},
    };

    fixture_up(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_non_null(fixture_start(f, "e", ENQUEUE));
        fixture_refuse(f, "Txn", HF_GRPC_RESOURCE_EXHAUSTED, rows[i].text);
        fixture_expect(f, "e UNSURE");
        assert_int_equal(hf_etcd_epoch_is_known(&f->session), rows[i].known);
    }
}

/* The key goes with the session: the put names the lease. */
FIXTURE_TEST(the_key_is_attached_to_the_lease)
{
    struct hf_etcd_buffer expected = {0};
    struct fake_message *message;
    struct hf_etcd_bytes key;
    struct hf_etcd_range get;
    struct hf_etcd_put put;

    fixture_up(f);
    assert_true(hf_etcd_epoch_check(&f->session, 12));
    key = hf_etcd_epoch_key(&f->session);
    put = (struct hf_etcd_put){.key = key, .lease = f->session.lease};
    get = (struct hf_etcd_range){.key = key};
    hf_etcd_txn_compare(
        &expected, &(struct hf_etcd_comparison){.key = key,
                                                .target = HF_ETCD_MOD_REVISION,
                                                .number = 11});
    hf_etcd_txn_put(&expected, HF_ETCD_SUCCESS, &put);
    hf_etcd_txn_range(&expected, HF_ETCD_SUCCESS, &get);
    hf_etcd_txn_range(&expected, HF_ETCD_FAILURE, &get);
    message = &fixture_call(f, "Txn")->messages[0];
    assert_int_equal(message->count, expected.used);
    assert_memory_equal(message->bytes, expected.bytes, expected.used);
    hf_etcd_buffer_free(&expected);
}

/* A cut with an enqueue under way: the key is put when the session is usable
 * again, and before that no ticket can be made. */
FIXTURE_TEST(an_enqueue_without_an_answer_moves_the_epoch)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    fixture_cut(f, "reset");
    assert_false(hf_etcd_epoch_is_known(&f->session));
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "e UNSURE");
    fixture_connect(f);
    fixture_status(f);
    fixture_expect(f, "resuming 1000 10000");
    fixture_keep_alive(f, 10);
    fixture_expect(f, "connected 10000 1000 resumed");
    fixture_expect_none(f);
    assert_true(compares(f, 11));
    fixture_txn(f, true, 25);
    fixture_expect(f, "epoch");
    assert_int_equal(f->session.epoch.revision, 25);
}

FIXTURE_TEST(a_cut_without_an_enqueue_leaves_the_epoch)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_cut(f, "reset");
    assert_true(hf_etcd_epoch_is_known(&f->session));
    fixture_connect(f);
    fixture_serve(f);
    assert_true(hf_etcd_epoch_is_known(&f->session));
    assert_int_equal(f->session.epoch.revision, 11);
}

/* On the same connection, at once. */
FIXTURE_TEST(an_enqueue_that_timed_out_moves_the_epoch)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    fixture_refuse(f, "Txn", HF_GRPC_UNAVAILABLE,
                   "etcdserver: request timed out");
    fixture_expect(f, "e UNSURE");
    assert_false(hf_etcd_epoch_is_known(&f->session));
    fixture_serve(f);
    fixture_expect(f, "epoch");
    assert_true(hf_etcd_epoch_is_known(&f->session));
}

FIXTURE_TEST(an_enqueue_that_is_cancelled_moves_the_epoch)
{
    struct fixture_call *call;

    fixture_up(f);
    call = fixture_start(f, "e", ENQUEUE);
    hf_etcd_call_cancel(&call->call);
    assert_false(hf_etcd_epoch_is_known(&f->session));
    fixture_serve(f);
    fixture_expect(f, "epoch");
}

/* What is read from now on shows whether it has happened. */
FIXTURE_TEST(an_enqueue_without_space_leaves_the_epoch)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    fixture_refuse(f, "Txn", HF_GRPC_RESOURCE_EXHAUSTED,
                   "etcdserver: mvcc: database space exceeded");
    fixture_expect(f, "e UNSURE");
    assert_true(hf_etcd_epoch_is_known(&f->session));
}

/* The put fails on a connection that goes on: it is repeated. */
FIXTURE_TEST(a_put_without_an_answer_is_repeated)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    fixture_refuse(f, "Txn", HF_GRPC_UNAVAILABLE,
                   "etcdserver: request timed out");
    fixture_refuse(f, "Txn", HF_GRPC_UNAVAILABLE,
                   "etcdserver: request timed out");
    assert_null(fixture_find(f, "Txn"));
    fixture_pass(f, 100);
    assert_true(compares(f, 11));
    /* The first put has taken effect meanwhile: its revision is an epoch. */
    fixture_txn(f, false, 19);
    fixture_skip(f);
    assert_true(hf_etcd_epoch_is_known(&f->session));
    assert_int_equal(f->session.epoch.revision, 19);
}

/* Without space the key is not put, and keep-alives go on. */
FIXTURE_TEST(no_space_for_the_key)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "e", ENQUEUE));
    fixture_refuse(f, "Txn", HF_GRPC_UNAVAILABLE,
                   "etcdserver: request timed out");
    fixture_expect(f, "e UNSURE");
    for (int i = 0; i < 3; i++) {
        fixture_refuse(f, "Txn", HF_GRPC_RESOURCE_EXHAUSTED,
                       "etcdserver: mvcc: database space exceeded");
        fixture_expect_none(f);
        fixture_pass(f, 999);
        assert_null(fixture_find(f, "Txn"));
        fixture_pass(f, 1);
    }
    fixture_serve(f);
    fixture_expect(f, "epoch");
}

/* Somebody has deleted the key. */
FIXTURE_TEST(the_key_is_gone)
{
    fixture_up(f);
    assert_false(hf_etcd_epoch_check(&f->session, 11));
    assert_true(hf_etcd_epoch_check(&f->session, 0));
    assert_false(hf_etcd_epoch_is_known(&f->session));
    assert_true(compares(f, 11));
    fixture_txn(f, false, 0);
    fixture_expect_none(f);
    fixture_pass(f, 100);
    assert_true(compares(f, 0));
    fixture_txn(f, true, 30);
    fixture_expect(f, "epoch");
}

FIXTURE_TEST(the_lease_of_the_key_is_gone)
{
    fixture_up(f);
    assert_true(hf_etcd_epoch_check(&f->session, 12));
    fixture_refuse(f, "Txn", HF_GRPC_NOT_FOUND,
                   "etcdserver: requested lease not found");
    fixture_expect(f, "lost");
}

/* The only server refuses the put of the key.  That is ${error}. */
static void refuse_key(struct fixture *f, enum hf_grpc_status status,
                       const char *text, const char *error)
{
    hf_etcd_session_free(&f->session);
    f->config.server_count = 1;
    fixture_begin(f);
    fixture_connect(f);
    f->server.refuses = "Txn";
    f->server.status = status;
    f->server.text = text;
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 new");
    fixture_expect(f, error);
    fixture_expect(f, "suspended");
}

FIXTURE_TEST(a_user_without_rights_below_the_prefix)
{
    refuse_key(f, HF_GRPC_PERMISSION_DENIED, "etcdserver: permission denied",
               "error HF_EDENIED final");
    fixture_expect(f, "gave up");
    assert_non_null(strstr(f->session.connectivity.error, "p/.holdfast/"));
}

FIXTURE_TEST(a_server_that_takes_little)
{
    refuse_key(f, HF_GRPC_INVALID_ARGUMENT,
               "etcdserver: too many operations in txn request",
               "error HF_EUNSUPPORTED final");
    fixture_expect(f, "gave up");
    assert_non_null(strstr(f->session.connectivity.error, "too many oper"));
}

/* Somebody may just be upgrading it. */
FIXTURE_TEST(a_server_that_does_not_know_the_transaction)
{
    refuse_key(f, HF_GRPC_INVALID_ARGUMENT, "etcdserver: what is that",
               "error HF_EPROTOCOL");
    fixture_expect_none(f);
}

FIXTURE_TEST(an_answer_about_the_key_that_makes_no_sense)
{
    struct hf_etcd_buffer message;

    fixture_up(f);
    assert_true(hf_etcd_epoch_check(&f->session, 12));
    message = fixture_message(f);
    fixture_answer(f, "Txn", &message);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_connect(f);
    fixture_serve(f);
    fixture_pass(f, 100);
    fixture_serve(f);
    assert_true(hf_etcd_epoch_is_known(&f->session));
}
