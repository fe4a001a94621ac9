/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a handle on a session that locks use, too: the locks go first
 * (zookeeper/call_window.h), and neither starves the other. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"
#include "zookeeper/zk_calls.h"
#include "zookeeper/zk_op.h"

#define GET HF_ZOOKEEPER_GET
#define SET HF_ZOOKEEPER_SET
#define COUNT HF_ZOOKEEPER_COUNT

#define WINDOW 32

/* Work of a lock: one call, which the window may hold up. */
struct work {
    struct zk_op_fixture *f;
    struct hf_zk_call call;
    char path[16];
    bool refused;
};

static void work_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    (void)user;
    (void)call;
    (void)reply;
}

static void begin_work(void *user, void *work_of)
{
    struct work *work = work_of;

    (void)user;
    work->call.answered = work_answered;
    hf_zk_send_exists(&work->f->session, &work->call, work->path, false);
}

static void refuse_work(void *user, void *work_of)
{
    struct work *work = work_of;

    (void)user;
    work->refused = true;
}

static const struct hf_zk_window_callbacks work_callbacks = {NULL, begin_work,
                                                             refuse_work};

/* A lock asks for ${path}, as the engine does. */
static void lock_asks(struct zk_op_fixture *f, struct work *work,
                      enum hf_zk_work_class class, const char *path)
{
    struct hf_zk_session *session = &f->session;

    *work = (struct work){.f = f};
    (void)snprintf(work->path, sizeof work->path, "%s", path);
    hf_zk_session_set_now(session, f->now_ms);
    hf_zk_window_used(&session->window, f->now_ms);
    if (hf_zk_window_enter(&session->window, session->wire.calls, class,
                           &work_callbacks, work) == HF_OK)
        begin_work(NULL, work);
}

static void begin(struct zk_op_fixture *f)
{
    op_fixture_begin(f, 1, WINDOW);
    op_fixture_connect(f);
}

/* Start ${count} operations. */
static void fill(struct zk_op_fixture *f, struct test_op *o, size_t count)
{
    for (size_t i = 0; i < count; i++)
        op_fixture_start(f, &o[i], SET, "/fill");
    op_fixture_read(f);
    f->sent[0] = '\0';
}

/* Answer the oldest ${count} calls. */
static void answer(struct zk_op_fixture *f, size_t count)
{
    while (count-- > 0)
        op_fixture_answer(f, HF_ZK_OK);
}

/* ---------------------------------------------------------------- window -- */

OP_TEST(alone_on_the_session_a_queue_fills_the_window, begin(f))
{
    static struct test_op o[WINDOW + 8];

    fill(f, o, WINDOW + 8);
    assert_int_equal(f->call_count, WINDOW);
    op_fixture_answer_all(f);
}

/* The work of a lock that waits gets the room that the next answer makes, and
 * then one operation after the other is sent. */
OP_TEST(what_waits_for_a_lock_goes_first, begin(f))
{
    static struct test_op o[3 * WINDOW];
    static struct work work;

    fill(f, o, (size_t)3 * WINDOW);
    lock_asks(f, &work, HF_ZK_NORMAL, "/lock");
    op_fixture_expect_sent(f, "");
    answer(f, 1);
    op_fixture_expect_sent(f, "exists /lock");
    answer(f, WINDOW - 2);
    op_fixture_expect_sent(f, "");
    answer(f, 1);
    op_fixture_expect_sent(f, "set /fill");
    answer(f, 1); /* of the lock */
    op_fixture_expect_sent(f, "");
    answer(f, 1);
    op_fixture_expect_sent(f, "set /fill");
    op_fixture_answer_all(f);
}

/* Neither a lock nor a handle fills a window of one call for ever. */
OP_TEST(they_take_turns_in_a_window_of_one, op_fixture_begin(f, 1, 1))
{
    static struct test_op o[3];
    static struct work work[2];

    op_fixture_connect(f);
    fill(f, o, 3);
    lock_asks(f, &work[0], HF_ZK_NORMAL, "/l0");
    lock_asks(f, &work[1], HF_ZK_NORMAL, "/l1");
    answer(f, 1);
    op_fixture_expect_sent(f, "exists /l0; set /fill");
    answer(f, 2);
    op_fixture_expect_sent(f, "exists /l1; set /fill");
    op_fixture_answer_all(f);
}

/* An acquire is followed by a release. */
OP_TEST(one_is_in_flight_until_locks_have_rested, begin(f))
{
    static struct test_op o[2 * WINDOW];
    static struct work work;

    lock_asks(f, &work, HF_ZK_NORMAL, "/lock");
    answer(f, 1);
    fill(f, o, (size_t)2 * WINDOW);
    assert_int_equal(f->call_count, HF_ZK_WINDOW_BESIDE_LOCKS);
    lock_asks(f, &work, HF_ZK_NORMAL, "/lock");
    op_fixture_expect_sent(f, "exists /lock");
    f->now_ms += HF_ZK_LOCKS_AT_WORK_MS;
    answer(f, 1);
    op_fixture_read(f);
    assert_int_equal(f->call_count, WINDOW);
    op_fixture_answer_all(f);
}

/* Operations are sent although locks always wait. */
OP_TEST(locks_do_not_starve_operations, begin(f))
{
    static struct test_op o[8];
    static struct work work[3 * WINDOW];
    size_t sent = 0;

    for (size_t i = 0; i < (size_t)3 * WINDOW; i++)
        lock_asks(f, &work[i], HF_ZK_NORMAL, "/lock");
    op_fixture_read(f);
    f->sent[0] = '\0';
    for (size_t i = 0; i < 8; i++)
        op_fixture_start(f, &o[i], SET, "/fill");
    op_fixture_read(f);
    assert_int_equal(f->queue.calls, HF_ZK_WINDOW_BESIDE_LOCKS);
    answer(f, WINDOW + HF_ZK_WINDOW_BESIDE_LOCKS);
    op_fixture_read(f);
    assert_non_null(f->session.window.work.root);
    for (size_t i = 0; i < 8; i++)
        sent += o[i].op.state != HF_ZK_OP_WAITING;
    assert_int_equal(sent, 2 * HF_ZK_WINDOW_BESIDE_LOCKS);
    op_fixture_answer_all(f);
}

/* Nothing of the queue is in flight that could be answered. */
OP_TEST(the_answer_to_a_lock_makes_room_for_operations, begin(f))
{
    static struct work work[WINDOW];
    static struct test_op o;

    for (size_t i = 0; i < WINDOW; i++)
        lock_asks(f, &work[i], HF_ZK_NORMAL, "/lock");
    f->now_ms += HF_ZK_LOCKS_AT_WORK_MS;
    op_fixture_read(f);
    f->sent[0] = '\0';
    op_fixture_start(f, &o, SET, "/a");
    op_fixture_expect_sent(f, "");
    answer(f, 1);
    op_fixture_expect_sent(f, "set /a");
    op_fixture_answer_all(f);
}

/* ----------------------------------------------------------------- alone -- */

/* What a server may not know is sent when no call of a lock is unanswered, and
 * locks that begin meanwhile wait; but not what is urgent. */
OP_TEST(an_unknown_operation_does_not_cut_locks, begin(f))
{
    static struct work work[4];
    static struct test_op o[2];

    lock_asks(f, &work[0], HF_ZK_NORMAL, "/l0");
    op_fixture_start(f, &o[0], COUNT, "/count");
    op_fixture_start(f, &o[1], GET, "/a");
    lock_asks(f, &work[1], HF_ZK_BULK, "/l1");
    op_fixture_expect_sent(f, "exists /l0");
    answer(f, 1);
    op_fixture_expect_sent(f, "count /count");
    lock_asks(f, &work[2], HF_ZK_NORMAL, "/l2");
    lock_asks(f, &work[3], HF_ZK_URGENT, "/l3");
    op_fixture_expect_sent(f, "exists /l3");
    answer(f, 1);
    op_fixture_read(f);
    assert_non_null(strstr(f->sent, "exists /l1"));
    assert_non_null(strstr(f->sent, "exists /l2"));
    assert_non_null(strstr(f->sent, "get /a"));
    assert_null(f->session.window.alone);
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/count HF_OK; /a HF_OK");
}

/* Whatever ends the wait of one that is to travel alone, locks go on. */
OP_TEST(a_wait_to_travel_alone_may_end, begin(f))
{
    static struct work work[4];
    static struct test_op o[4];

    lock_asks(f, &work[0], HF_ZK_NORMAL, "/l0");
    op_fixture_start(f, &o[0], COUNT, "/count");
    lock_asks(f, &work[1], HF_ZK_NORMAL, "/l1");
    op_fixture_expect_sent(f, "exists /l0");
    op_fixture_cancel(f, &o[0]);
    op_fixture_expect_sent(f, "exists /l1");
    op_fixture_start(f, &o[1], COUNT, "/count");
    lock_asks(f, &work[2], HF_ZK_NORMAL, "/l2");
    op_fixture_cut(f);
    assert_true(work[2].refused);
    assert_null(f->session.window.alone);
    op_fixture_connect(f);
    op_fixture_answer_all(f);
    f->sent[0] = '\0';
    lock_asks(f, &work[2], HF_ZK_NORMAL, "/l2");
    op_fixture_expect_sent(f, "exists /l2");
    op_fixture_start(f, &o[2], HF_ZOOKEEPER_EPHEMERALS, "/e");
    lock_asks(f, &work[3], HF_ZK_NORMAL, "/l3");
    op_fixture_expect_sent(f, "");
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    op_fixture_expect_sent(f, "exists /l3");
}

/* Neither waits for the other for ever. */
OP_TEST(two_queues_may_have_one_that_travels_alone, begin(f))
{
    static struct hf_zk_op_queue second;
    struct hf_error error;
    static struct test_op o[4];

    hf_zk_op_queue_init(&second, &f->session, &f->context);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], COUNT, "/count");
    op_fixture_prepare(f, &o[2], HF_ZOOKEEPER_EPHEMERALS, "/e");
    o[2].next = f->ops;
    f->ops = &o[2];
    assert_int_equal(hf_zk_op_queue_add(&second, &o[2].op, f->now_ms, &error),
                     HF_OK);
    op_fixture_start(f, &o[3], GET, "/b");
    op_fixture_expect_sent(f, "get /a");
    answer(f, 1);
    op_fixture_expect_sent(f, "count /count");
    answer(f, 1);
    op_fixture_expect_sent(f, "get /b");
    answer(f, 1);
    op_fixture_expect_sent(f, "ephemerals /e");
    op_fixture_answer_all(f);
    hf_zk_op_queue_close(&second, f->now_ms);
}

/* ----------------------------------------------------- beginning and end -- */

/* A handle may be made at any time. */
OP_TEST(a_queue_may_begin_on_a_session_under_way,
        op_fixture_begin(f, 1, WINDOW))
{
    static struct hf_zk_op_queue second;

    assert_false(f->queue.was_connected);
    op_fixture_connect(f);
    hf_zk_op_queue_init(&second, &f->session, &f->context);
    assert_true(second.was_connected);
    assert_false(second.given_up);
}

static void count_idle(void *user)
{
    unsigned *times = user;

    (*times)++;
}

/* A closed queue is idle when the last answer has come, also of operations that
 * have ended. */
TEST(what_was_sent_may_be_abandoned)
{
    struct zk_op_fixture f;
    struct test_op o[4];
    unsigned idle = 0;

    begin(&f);
    f.queue.idle = count_idle;
    f.queue.user = &idle;
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_start(&f, &o[2], COUNT, "/count");
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    op_fixture_expect_events(&f, "/count HF_ECLOSED");
    hf_zk_op_queue_abandon(&f.queue);
    op_fixture_expect_events(&f, "/a HF_ECLOSED; /b HF_EUNSURE");
    op_fixture_read(&f);
    answer(&f, 1);
    assert_int_equal(idle, 0);
    answer(&f, 1);
    assert_int_equal(idle, 1);
    op_fixture_end(&f);
    assert_int_equal(idle, 1);
}

/* An ADD_AUTH counts as sent, though no call is. */
OP_TEST(an_unanswered_credential_may_be_abandoned, begin(f))
{
    const struct hf_zookeeper_op auth = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                         .scheme = "digest",
                                         .data = "u:p",
                                         .bytes = 3};
    static struct test_op o;

    op_fixture_prepare_as(f, &o, &auth);
    op_fixture_start_prepared(f, &o);
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    hf_zk_op_queue_abandon(&f->queue);
    op_fixture_expect_events(f, " HF_ECLOSED");
    assert_int_equal(o.released, 0);
    op_fixture_answer_auth(f, HF_ZK_OK);
    assert_int_equal(o.released, 1);
}
