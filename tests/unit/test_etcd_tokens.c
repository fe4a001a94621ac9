/* SPDX-License-Identifier: Apache-2.0 */
/* Users and their tokens: a token that is old is replaced, and what was refused
 * for it is repeated. */
#include <stdlib.h>
#include <string.h>

#include "etcd_fixture.h"

#define OLD_TOKEN HF_GRPC_UNAUTHENTICATED, "etcdserver: invalid auth token"

static void set_user(struct fixture *f)
{
    strcpy(f->config.user, "alice");
    strcpy(f->config.password, "secret");
}

#define USER_TEST(name)                                                        \
    TEST_OF(name, fixture, (fixture_open(f, 3), set_user(f)), fixture_close(f))

USER_TEST(a_user_authenticates_on_each_connection)
{
    fixture_connect(f);
    assert_string_equal(fixture_call(f, "Authenticate")->token, "");
    assert_int_equal(fixture_count(f, "LeaseGrant"), 0);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 new");
    assert_non_null(fixture_start(f, "w", WRITE));
    assert_string_equal(fixture_call(f, "Txn")->token, "token1");
    fixture_serve(f);
    fixture_watch(f, "k", 5);
    assert_string_equal(fixture_call(f, "Watch")->token, "token1");
    fixture_cut(f, "reset");
    f->server.token = "token2";
    fixture_connect(f);
    assert_string_equal(fixture_call(f, "Authenticate")->token, "");
    fixture_serve(f);
    assert_string_equal(fixture_call(f, "Watch")->token, "token2");
}

USER_TEST(user_and_password_are_refused)
{
    f->server.refuses = "Authenticate";
    f->server.status = HF_GRPC_INVALID_ARGUMENT;
    f->server.text = "etcdserver: authentication failed, invalid user ID or "
                     "password";
    for (int i = 0; i < 3; i++) {
        fixture_connect(f);
        fixture_serve(f);
    }
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "error HF_EDENIED final");
    fixture_expect(f, "gave up");
    assert_null(strstr(f->session.connectivity.error, "secret"));
}

USER_TEST(servers_that_authenticate_nobody)
{
    f->server.refuses = "Authenticate";
    f->server.status = HF_GRPC_FAILED_PRECONDITION;
    f->server.text = "etcdserver: authentication is not enabled";
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 new");
    assert_non_null(fixture_start(f, "w", WRITE));
    assert_string_equal(fixture_call(f, "Txn")->token, "");
}

USER_TEST(a_token_that_makes_no_sense)
{
    f->server.token = "two words";
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "error HF_EUNREACHABLE");
    assert_non_null(strstr(f->session.connectivity.error, "token"));
}

/* Calls are repeated with the new token, and the streams opened with it. */
USER_TEST(an_old_token_is_replaced)
{
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    id = fixture_created(f);
    fixture_event(f, id, "k", 7, false);
    fixture_expect(f, "k put k 7");
    assert_non_null(fixture_start(f, "a", ENQUEUE));
    assert_non_null(fixture_start(f, "b", WRITE));
    f->server.token = "token2";
    fixture_refuse(f, "Txn", OLD_TOKEN);
    assert_int_equal(fixture_count(f, "Authenticate"), 1);
    fixture_refuse(f, "Txn", OLD_TOKEN);
    assert_int_equal(fixture_count(f, "Authenticate"), 1);
    assert_int_equal(fixture_count(f, "Txn"), 0);
    /* One that is started meanwhile waits, too. */
    assert_non_null(fixture_start(f, "c", WRITE));
    assert_int_equal(fixture_count(f, "Txn"), 0);
    {
        struct hf_etcd_buffer message = fixture_message(f);

        hf_etcd_put_bytes(&message, 2, hf_etcd_bytes_of("token2"));
        fixture_answer(f, "Authenticate", &message);
    }
    assert_int_equal(fixture_count(f, "Txn"), 3);
    assert_string_equal(fixture_call(f, "Txn")->token, "token2");
    assert_string_equal(fixture_call(f, "Watch")->token, "token2");
    assert_int_equal(fixture_count(f, "Watch"), 1);
    fixture_serve(f);
    fixture_expect(f, "a DONE proves 1000");
    fixture_expect(f, "b DONE proves 1000");
    fixture_expect(f, "c DONE proves 1000");
    /* The watch goes on behind what it has reported. */
    id = fixture_created(f);
    fixture_event(f, id, "k", 7, false);
    fixture_event(f, id, "k", 8, true);
    fixture_expect(f, "k deleted k 8");
    fixture_expect_none(f);
    assert_true(hf_etcd_epoch_is_known(&f->session));
}

/* JWT: any change of users makes all tokens old. */
USER_TEST(the_revision_of_the_users_is_old)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_refuse(f, "Txn", HF_GRPC_INVALID_ARGUMENT,
                   "etcdserver: revision of auth store is old");
    fixture_serve(f);
    fixture_expect(f, "w DONE proves 1000");
}

/* A server that never accepts a token does not keep us busy for ever.  It is no
 * refusal: the tokens may have been too old each time. */
USER_TEST(a_token_is_replaced_twice)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    f->server.refuses = "Txn";
    f->server.status = HF_GRPC_UNAUTHENTICATED;
    f->server.text = "etcdserver: invalid auth token";
    fixture_serve(f);
    fixture_expect(f, "w RETRY");
    fixture_expect_none(f);
}

USER_TEST(a_new_token_is_refused)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_refuse(f, "Txn", OLD_TOKEN);
    fixture_refuse(f, "Authenticate", HF_GRPC_INVALID_ARGUMENT,
                   "etcdserver: authentication failed, invalid user ID or "
                   "password");
    fixture_expect(f, "error HF_EUNREACHABLE"); /* other servers may */
    fixture_expect(f, "suspended");
    fixture_expect(f, "w RETRY");
    assert_true(f->session.lease != 0);
}

/* The server answers a new watch of an old stream with the reason. */
USER_TEST(a_watch_with_an_old_token)
{
    struct fake_call *stream;
    struct hf_etcd_buffer message;
    int64_t id;

    fixture_up(f);
    fixture_watch(f, "k", 5);
    message = fixture_message(f);
    hf_etcd_put_signed(&message, 2, -1);
    hf_etcd_put_bool(&message, 3, true);
    hf_etcd_put_bool(&message, 4, true);
    hf_etcd_put_bytes(&message, 6,
                      hf_etcd_bytes_of("rpc error: code = Unauthenticated desc "
                                       "= etcdserver: invalid auth token"));
    fixture_answer(f, "Watch", &message);
    f->server.token = "token2";
    fixture_expect_none(f);
    fixture_serve(f);
    stream = fixture_call(f, "Watch");
    assert_string_equal(stream->token, "token2");
    id = fixture_created(f);
    fixture_event(f, id, "k", 6, true);
    fixture_expect(f, "k deleted k 6");
    fixture_expect_none(f);
}

USER_TEST(a_stream_that_ends_because_of_its_token)
{
    fixture_up(f);
    fixture_watch(f, "k", 5);
    (void)fixture_created(f);
    f->server.token = "token2";
    fixture_refuse(f, "Watch", OLD_TOKEN);
    fixture_serve(f);
    assert_string_equal(fixture_call(f, "Watch")->token, "token2");
    fixture_pass(f, 3333);
    f->server.token = "token3";
    fixture_refuse(f, "LeaseKeepAlive", OLD_TOKEN);
    fixture_serve(f);
    fixture_expect_none(f);
    assert_int_equal(f->session.keep_alive.state, HF_ETCD_KEEP_ALIVE_IDLE);
}

/* Users were added while we are connected without one. */
FIXTURE_TEST(a_session_without_a_user_where_one_is_needed)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_refuse(f, "Txn", HF_GRPC_INVALID_ARGUMENT,
                   "etcdserver: user name is empty");
    fixture_expect(f, "w REFUSED");
    hf_etcd_session_free(&f->session);
    f->config.server_count = 1;
    fixture_begin(f);
    f->server.refuses = "LeaseGrant";
    f->server.status = HF_GRPC_INVALID_ARGUMENT;
    f->server.text = "etcdserver: user name is empty";
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "error HF_EDENIED final");
    fixture_expect(f, "gave up");
}
