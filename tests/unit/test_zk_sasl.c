/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of SASL on a connection: nothing else is sent before they have
 * ended, and how they end.  The test plays the server and the mechanism. */
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"

#define GET HF_ZOOKEEPER_GET

static const struct hf_zk_sasl_config digest = {
    .mechanism = HF_ZK_SASL_DIGEST_MD5, .service = "zookeeper"};

/* A session that uses SASL, with ${servers}, whose first connection is there
 * and was granted a session. */
static void begin(struct zk_op_fixture *f, size_t servers)
{
    op_fixture_begin(f, servers, HF_ZK_SENT_OPS_MAX);
    f->config.sasl = digest;
    op_fixture_connect(f);
}

/* ------------------------------------------------------------- mechanism -- */

/* A step must be due, with ${token} of the server; NULL: the first one. */
static void expect_step(struct zk_op_fixture *f, const char *token)
{
    struct hf_zk_sasl_step step;

    assert_true(hf_zk_session_sasl_step(&f->session, &step));
    assert_int_equal(step.first, token == NULL);
    assert_int_equal(step.count, token != NULL ? strlen(token) : 0);
    if (token != NULL)
        assert_memory_equal(step.token, token, step.count);
    assert_false(hf_zk_session_sasl_step(&f->session, &step));
}

static void stepped_as(struct zk_op_fixture *f, hf_status status,
                       const char *token, bool done)
{
    const struct hf_zk_sasl_result result = {
        .status = status,
        .why = "because",
        .token = token,
        .count = token != NULL ? strlen(token) : 0,
        .done = done};

    hf_zk_session_sasl_stepped(&f->session, f->connection_number, f->now_ms,
                               &result);
}

static void stepped(struct zk_op_fixture *f, const char *token)
{
    stepped_as(f, HF_OK, token, false);
}

static void finished(struct zk_op_fixture *f, const char *token)
{
    stepped_as(f, HF_OK, token, true);
}

/* The server answers with ${token}; NULL: null. */
static void answer(struct zk_op_fixture *f, const char *token)
{
    f->sasl_token = token;
    op_fixture_answer(f, HF_ZK_OK);
}

/* The rounds of DIGEST-MD5, in which the server speaks first and last. */
static void all_steps(struct zk_op_fixture *f)
{
    expect_step(f, NULL);
    stepped(f, NULL);
    op_fixture_expect_sent(f, "sasl ");
    answer(f, "challenge");
    expect_step(f, "challenge");
    stepped(f, "response");
    op_fixture_expect_sent(f, "sasl response");
    answer(f, "rspauth");
    expect_step(f, "rspauth");
    assert_false(hf_zk_session_usable(&f->session));
    finished(f, NULL);
}

/* ----------------------------------------------------------------- order -- */

OP_TEST(nothing_is_sent_before_the_end, begin(f, 1))
{
    static struct test_op o;

    op_fixture_start(f, &o, GET, "/a");
    op_fixture_expect_sent(f, "");
    assert_false(hf_zk_session_usable(&f->session));
    all_steps(f);
    assert_true(hf_zk_session_usable(&f->session));
    op_fixture_expect_sent(f, "get /a");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK");
}

static void ignore_event(struct hf_zk_watcher *watcher,
                         const struct hf_zk_watch_event *event)
{
    (void)watcher;
    (void)event;
}

/* On each connection: SASL, then credentials, then watches, then calls. */
OP_TEST(credentials_and_watches_come_after_it, begin(f, 1))
{
    static const struct hf_zookeeper_op auth = {
        .kind = HF_ZOOKEEPER_ADD_AUTH, .scheme = "ip", .data = "x", .bytes = 1};
    struct hf_zk_watcher watcher = {
        .fired = ignore_event, .path = "/a", .mode = HF_ZK_WATCH_DATA};
    static struct test_op o[3];

    op_fixture_prepare_as(f, &o[0], &auth);
    op_fixture_start_prepared(f, &o[0]);
    op_fixture_expect_sent(f, "");
    all_steps(f);
    op_fixture_expect_sent(f, "auth ip");
    op_fixture_answer_auth(f, HF_ZK_OK);
    op_fixture_prepare(f, &o[1], GET, "/a");
    o[1].op.watcher = &watcher;
    op_fixture_start_prepared(f, &o[1]);
    op_fixture_answer_all(f);
    op_fixture_start(f, &o[2], GET, "/b");
    op_fixture_cut(f);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    assert_int_equal(f->handshake_id, OP_FIXTURE_SESSION);
    op_fixture_expect_sent(f, "");
    all_steps(f);
    op_fixture_read(f);
    assert_non_null(strstr(f->sent, "auth ip; setwatches "));
    assert_non_null(strstr(f->sent, "; get /b"));
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

/* As GSSAPI ends: the client's last token needs no answer but a null one. */
OP_TEST(the_last_token_may_be_the_clients, begin(f, 1))
{
    expect_step(f, NULL);
    stepped(f, "ticket");
    answer(f, "layers");
    expect_step(f, "layers");
    finished(f, "none");
    op_fixture_read(f);
    assert_false(hf_zk_session_usable(&f->session));
    answer(f, NULL);
    assert_true(hf_zk_session_usable(&f->session));
}

/* A server that requires SASL ends the connection for a ping, too. */
OP_TEST(no_ping_is_sent_meanwhile, begin(f, 1))
{
    all_steps(f);
    op_fixture_cut(f);
    op_fixture_connect(f);
    f->session.connectivity.until_ms =
        HF_FOREVER; /* a ping would be due first */
    expect_step(f, NULL);
    op_fixture_pass(f, OP_FIXTURE_TIMEOUT_MS / 2);
    op_fixture_expect_sent(f, "");
    assert_int_equal(f->session.wire.pings, 0);
    stepped(f, NULL);
    answer(f, "challenge");
    expect_step(f, "challenge");
    finished(f, NULL);
    assert_true(hf_zk_session_usable(&f->session));
}

/* ---------------------------------------------------- ends in the middle -- */

/* A session whose rounds did not end was not begun: no other server is asked to
 * resume it. */
OP_TEST(a_session_that_was_not_begun_is_forgotten, begin(f, 1))
{
    static struct test_op o;

    op_fixture_start(f, &o, GET, "/a");
    expect_step(f, NULL);
    stepped(f, NULL);
    op_fixture_cut(f);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    assert_int_equal(f->handshake_id, 0);
    assert_int_equal(f->handshake_zxid, 0);
    all_steps(f);
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK");
}

OP_TEST(a_session_that_was_begun_is_resumed, begin(f, 1))
{
    all_steps(f);
    for (int i = 0; i < 2; i++) {
        op_fixture_cut(f);
        f->sent[0] = '\0';
        op_fixture_connect(f);
        assert_int_equal(f->handshake_id, OP_FIXTURE_SESSION);
        expect_step(f, NULL);
    }
    stepped(f, NULL);
    answer(f, "c");
    expect_step(f, "c");
    finished(f, NULL);
    assert_true(hf_zk_session_usable(&f->session));
}

/* The step of a connection that has ended says nothing to the next one. */
OP_TEST(a_late_step_is_ignored, begin(f, 1))
{
    uint64_t number;

    assert_int_equal(
        hf_zk_session_add_credential(&f->session, "ip", "x", 1, NULL, NULL),
        HF_OK);
    expect_step(f, NULL);
    number = f->connection_number;
    op_fixture_cut(f);
    op_fixture_connect(f);
    expect_step(f, NULL);
    f->connection_number = number;
    finished(f, NULL);
    assert_false(hf_zk_session_usable(&f->session));
    f->connection_number = number + 1;
    finished(f, NULL);
    assert_true(hf_zk_session_usable(&f->session));
    op_fixture_expect_sent(f, "auth ip");
    finished(f, NULL); /* nobody has asked */
    op_fixture_expect_sent(f, "");
}

OP_TEST(a_step_may_take_too_long, begin(f, 1))
{
    uint64_t number;

    expect_step(f, NULL);
    number = f->connection_number;
    op_fixture_pass(f, UINT64_C(2) * OP_FIXTURE_TIMEOUT_MS);
    assert_non_null(
        strstr(f->session.connectivity.error, "no token of the mechanism"));
    op_fixture_connect(f);
    assert_int_equal(f->connection_number, number + 1);
    all_steps(f);
}

OP_TEST(a_session_may_be_lost_meanwhile, begin(f, 1))
{
    all_steps(f);
    op_fixture_cut(f);
    op_fixture_connect(f);
    expect_step(f, NULL);
    f->session.connectivity.until_ms = HF_FOREVER;
    op_fixture_pass(f, OP_FIXTURE_TIMEOUT_MS + 1);
    assert_int_equal(f->session.id, 0);
    /* It is ended, which the server may allow only behind SASL. */
    f->sent[0] = '\0';
    op_fixture_connect(f);
    all_steps(f);
    assert_false(hf_zk_session_usable(&f->session));
    op_fixture_answer(f, HF_ZK_OK);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    all_steps(f);
    assert_true(hf_zk_session_usable(&f->session));
}

/* Closed in each state of the rounds. */
TEST(it_may_be_closed_meanwhile)
{
    struct zk_op_fixture f;

    for (int at = 0; at < 4; at++) {
        begin(&f, 1);
        if (at > 0)
            expect_step(&f, NULL);
        if (at > 1)
            stepped(&f, NULL);
        if (at > 2)
            answer(&f, "challenge");
        op_fixture_end(&f);
    }
}

OP_TEST(the_server_may_be_left_meanwhile, begin(f, 1))
{
    static const struct hf_zk_server other = {"j", 2181};

    expect_step(f, NULL);
    stepped(f, NULL);
    op_fixture_read(f);
    hf_zk_session_set_servers(&f->session, &other, 1, f->now_ms);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    all_steps(f);
    assert_true(hf_zk_session_usable(&f->session));
}

/* -------------------------------------------------------------- refusals -- */

enum refusal { BY_CLIENT, IN_SILENCE, AUTH_FAILED, SASL_REQUIRED, REFUSALS };

static void refuse(struct zk_op_fixture *f, enum refusal refusal)
{
    expect_step(f, NULL);
    if (refusal == BY_CLIENT) {
        stepped_as(f, HF_EDENIED, NULL, false);
        return;
    }
    stepped(f, NULL);
    f->sasl_token = NULL;
    op_fixture_answer(f, refusal == IN_SILENCE    ? HF_ZK_OK
                         : refusal == AUTH_FAILED ? HF_ZK_AUTH_FAILED
                                                  : HF_ZK_SASL_REQUIRED);
}

/* All servers refuse: that is final, until the next operation tries again. */
TEST(a_refusal_is_final)
{
    struct zk_op_fixture f;
    struct test_op o[2];
    uint64_t number;

    for (int refusal = 0; refusal < REFUSALS; refusal++) {
        begin(&f, 2);
        op_fixture_start(&f, &o[0], GET, "/a");
        refuse(&f, (enum refusal)refusal);
        op_fixture_expect_events(&f, "");
        op_fixture_connect(&f);
        refuse(&f, (enum refusal)refusal);
        op_fixture_expect_events(&f, "/a HF_EDENIED");
        assert_non_null(strstr(o[0].text, "SASL"));
        assert_null(hf_zk_session_wanted_server(&f.session, &number));
        f.sent[0] = '\0';
        op_fixture_start(&f, &o[1], GET, "/b");
        op_fixture_connect(&f);
        all_steps(&f);
        op_fixture_expect_sent(&f, "get /b");
        op_fixture_end(&f);
    }
}

/* What the mechanism lacks now it may have later. */
OP_TEST(a_step_that_fails_is_tried_again, begin(f, 1))
{
    static struct test_op o;

    op_fixture_start(f, &o, GET, "/a");
    for (int i = 0; i < 3; i++) {
        expect_step(f, NULL);
        stepped_as(f, HF_EUNREACHABLE, NULL, false);
        assert_non_null(
            strstr(f->session.connectivity.error, "SASL failed: because"));
        op_fixture_connect(f);
    }
    all_steps(f);
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK");
}

/* ------------------------------------------------------------- nonsense -- */

static void expect_nonsense(struct zk_op_fixture *f, const char *text)
{
    assert_false(hf_connectivity_has_connection(&f->session.connectivity));
    if (strstr(f->session.connectivity.error, text) == NULL)
        fail_msg("%s", f->session.connectivity.error);
    op_fixture_end(f);
}

TEST(a_server_may_send_nonsense)
{
    static char long_token[HF_ZK_SASL_TOKEN_MAX + 2];
    struct zk_op_fixture f;

    memset(long_token, 'x', sizeof long_token - 1);
    begin(&f, 1);
    expect_step(&f, NULL);
    stepped(&f, NULL);
    answer(&f, long_token);
    expect_nonsense(&f, "a token of SASL that makes no sense");

    begin(&f, 1); /* a token where the client has ended */
    expect_step(&f, NULL);
    finished(&f, "last");
    answer(&f, "more");
    expect_nonsense(&f, "a token of SASL that makes no sense");

    begin(&f, 1); /* before anything was sent */
    op_fixture_fire(&f, HF_ZK_NODE_CREATED, "/a");
    expect_nonsense(&f, "an answer that makes no sense during SASL");

    begin(&f, 1); /* an event */
    expect_step(&f, NULL);
    stepped(&f, NULL);
    op_fixture_fire(&f, HF_ZK_NODE_CREATED, "/a");
    expect_nonsense(&f, "an answer that makes no sense during SASL");

    begin(&f, 1);
    expect_step(&f, NULL);
    stepped(&f, NULL);
    op_fixture_answer(&f, HF_ZK_SYSTEM_ERROR);
    expect_nonsense(&f, "answered SASL with the error -1");
}

TEST(tokens_without_an_end)
{
    struct zk_op_fixture f;

    begin(&f, 1);
    expect_step(&f, NULL);
    for (int i = 0; i < HF_ZK_SASL_TOKENS_MAX; i++) {
        stepped(&f, "token");
        answer(&f, "answer");
        expect_step(&f, "answer");
    }
    stepped(&f, "token");
    expect_nonsense(&f, "SASL has not ended after 16 rounds");
}

/* A frame of random bytes, which often begins as an answer does. */
static void say_random(struct zk_op_fixture *f, struct hf_random *random)
{
    uint8_t bytes[4 + 40] = {0};
    size_t count = (size_t)hf_random_below(random, 40);

    for (size_t i = 0; i < count; i++)
        bytes[4 + i] = (uint8_t)hf_random_below(random, 256);
    if (hf_random_below(random, 4) > 0) {
        memset(bytes + 4, 0, 16);
        bytes[7] = (uint8_t)f->session.sasl.xid;
    }
    if (hf_random_below(random, 2) > 0)
        memset(bytes + 20, 0, 3); /* a short token */
    bytes[3] = (uint8_t)count;
    hf_zk_session_receive(&f->session, f->connection_number, f->now_ms, bytes,
                          4 + count);
}

static void go_on_at_random(struct zk_op_fixture *f, struct hf_random *random)
{
    static const hf_status ends[] = {HF_OK,      HF_OK,           HF_OK,
                                     HF_EDENIED, HF_EUNREACHABLE, HF_ENOMEM};
    struct hf_zk_sasl_step step;

    if (hf_zk_session_sasl_step(&f->session, &step))
        stepped_as(f, ends[hf_random_below(random, 6)],
                   hf_random_below(random, 2) > 0 ? "token" : NULL,
                   hf_random_below(random, 3) == 0);
    else if (hf_random_below(random, 8) == 0)
        op_fixture_cut(f);
    else
        say_random(f, random);
}

/* Whatever a server sends, and however steps end. */
TEST(it_survives_any_server)
{
    unsigned ups = 0;

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct zk_op_fixture f;
        struct hf_random random;

        hf_random_seed(&random, seed);
        begin(&f, 1);
        for (int i = 0; i < 40 && !hf_zk_session_usable(&f.session); i++) {
            uint64_t number;

            (void)hf_zk_session_wanted_server(&f.session, &number);
            if (number == f.connection_number)
                go_on_at_random(&f, &random);
            else
                op_fixture_connect(&f);
            hf_zk_session_reconnect(&f.session, f.now_ms);
            f.first_call = f.call_count = 0;
            f.sent[0] = '\0';
        }
        ups += hf_zk_session_usable(&f.session);
        op_fixture_end(&f);
    }
    assert_true(ups > 100);
}

/* -------------------------------------------------------------- memory -- */

/* Go through the rounds, on a new connection each time that memory is short. */
static void insist(struct zk_op_fixture *f)
{
    static const char *const tokens[] = {NULL, "challenge", "rspauth"};

    for (size_t at = 0, tries = 0; !hf_zk_session_usable(&f->session);) {
        struct hf_zk_sasl_step step;

        assert_true(++tries < 1000);
        if (!hf_connectivity_has_connection(&f->session.connectivity) ||
            f->session.connectivity.state == HF_CONNECTIVITY_CONNECTING) {
            at = 0;
            heap_exempt(true);
            op_fixture_connect(f);
            heap_exempt(false);
        } else if (hf_zk_session_sasl_step(&f->session, &step)) {
            assert_int_equal(step.first, at == 0);
            stepped_as(f, HF_OK, at == 1 ? "response" : NULL, at == 2);
            op_fixture_pass(f, 0); /* drops it if the output failed */
            at++;
        } else if (f->session.sasl.state == HF_ZK_SASL_SENT) {
            answer(f, at < 3 ? tokens[at] : NULL);
        } else {
            op_fixture_pass(f, 0);
        }
    }
}

TEST(each_allocation_may_fail)
{
    unsigned long nth = 0;
    struct zk_op_fixture f;
    bool failed;

    do {
        heap_exempt(true);
        op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
        heap_exempt(false);
        f.config.sasl = digest;
        heap_fail(++nth, false);
        insist(&f);
        failed = heap_failed();
        heap_fail(0, false);
        op_fixture_end(&f);
        assert_true(nth < 100);
    } while (failed);
    assert_true(nth > 2); /* there are two tokens of the server */
}

TEST_FILE(zk_sasl)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
