/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session of etcd: how it connects, is kept alive, changes
 * servers, is resumed, lost and closed. */
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "etcd_fixture.h"
#include "heap/heap.h"

#define REFUSED_LEASE "etcdserver: requested lease not found"

/* Which server is wanted, from 1 on; 0: none. */
static size_t wanted(struct fixture *f)
{
    uint64_t number;
    const struct hf_etcd_server *server =
        hf_etcd_session_wanted_server(&f->session, &number);

    return server != NULL ? (size_t)(server - f->config.servers) + 1 : 0;
}

/* ------------------------------------------------------------- beginning -- */

/* What the answers take does not count. */
FIXTURE_TEST(a_session_is_granted_from_its_sending)
{
    assert_int_equal(wanted(f), 1);
    fixture_connect(f);
    assert_int_equal(fixture_count(f, "Status"), 1);
    assert_int_equal(fixture_count(f, "Authenticate"), 0);
    fixture_pass(f, 100);
    fixture_status(f); /* so LeaseGrant is sent at 1100 */
    fixture_pass(f, 200);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1100 new");
    fixture_expect(f, "epoch");
    fixture_expect_none(f);
    assert_true(f->session.lease > 0);
    assert_true(hf_etcd_epoch_is_known(&f->session));
    assert_true(f->session.alive_until_ms == 11100);
}

FIXTURE_TEST(calls_and_streams_say_that_they_need_a_leader)
{
    fixture_connect(f);
    assert_false(fixture_call(f, "Status")->hasleader);
    fixture_serve(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    assert_true(fixture_call(f, "Txn")->hasleader);
    fixture_serve(f);
    fixture_watch(f, "k", 5);
    assert_true(fixture_call(f, "Watch")->hasleader);
    fixture_pass(f, 3333);
    assert_true(fixture_call(f, "LeaseKeepAlive")->hasleader);
}

/* The server may grant more than was asked for, and that counts. */
FIXTURE_TEST(the_ttl_that_is_granted_counts)
{
    f->config.ttl_ms = 2500;
    f->server.ttl_s = 7;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 7000 1000 new");
    /* The next keep-alive comes after a third of it. */
    fixture_pass(f, 2332);
    assert_null(fixture_find(f, "LeaseKeepAlive"));
    fixture_pass(f, 1);
    assert_non_null(fixture_find(f, "LeaseKeepAlive"));
}

/* 2500 ms are three seconds for a server. */
FIXTURE_TEST(seconds_are_rounded_up)
{
    f->config.ttl_ms = 2500;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 3000 1000 new");
}

FIXTURE_TEST(a_lease_that_makes_no_sense_is_refused)
{
    struct hf_etcd_buffer message;

    fixture_connect(f);
    fixture_status(f);
    message = fixture_message(f);
    hf_etcd_put_signed(&message, 2, 5); /* not the number that we drew */
    hf_etcd_put_signed(&message, 3, 10);
    fixture_answer(f, "LeaseGrant", &message);
    fixture_expect(f, "error HF_EUNREACHABLE");
    assert_int_equal(f->session.lease, 0);
    assert_int_equal(wanted(f), 2);
}

FIXTURE_TEST(a_member_without_a_leader_and_a_learner_are_of_no_use)
{
    f->server.no_leader = true;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "error HF_EUNREACHABLE");
    assert_int_equal(wanted(f), 2);
    f->server.no_leader = false;
    f->server.learner = true;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "error HF_EUNREACHABLE");
    assert_int_equal(wanted(f), 3);
    f->server.learner = false;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 new");
}

FIXTURE_TEST(an_old_server_is_warned_of_once)
{
    f->server.version = "3.4.23";
    fixture_up(f);
    assert_non_null(strstr(f->log, "etcd 3.4.23"));
    f->log[0] = '\0';
    fixture_cut(f, "reset");
    fixture_up(f);
    assert_null(strstr(f->log, "etcd 3.4.23"));
}

/* Only reads: nothing is created. */
FIXTURE_TEST(a_session_without_a_lease)
{
    f->config.lease_mode = HF_ETCD_NO_LEASE;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected for ever");
    fixture_pass(f, 100000);
    fixture_expect_none(f);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 0);
    assert_int_equal(fixture_count(f, "Txn"), 0);
    hf_etcd_session_close(&f->session);
    fixture_expect(f, "closed");
}

FIXTURE_TEST(no_space_is_not_final)
{
    f->server.refuses = "LeaseGrant";
    f->server.status = HF_GRPC_RESOURCE_EXHAUSTED;
    f->server.text = "etcdserver: mvcc: database space exceeded";
    for (int i = 0; i < 3; i++) {
        fixture_connect(f);
        fixture_serve(f);
    }
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "error HF_EFULL");
    assert_string_equal(f->log,
                        "etcd3:2379: the server grants no lease: etcdserver: "
                        "mvcc: database space exceeded (RESOURCE_EXHAUSTED); "
                        "compact the history and defragment each member, then "
                        "\"etcdctl alarm disarm\"");
    f->server.refuses = NULL;
    fixture_connect(f);
    fixture_serve(f);
    fixture_skip(f);
    assert_true(hf_etcd_session_is_usable(&f->session));
}

/* ----------------------------------------------------------- keep-alives -- */

FIXTURE_TEST(a_keep_alive_every_third_of_the_ttl)
{
    fixture_up(f);
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, 3332);
        assert_null(fixture_find(f, "LeaseKeepAlive"));
        fixture_pass(f, 1);
        fixture_keep_alive(f, 10);
    }
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
    fixture_expect_none(f);
}

/* The oldest keep-alive hangs: the server has taken it, and answers later if
 * ever. */
static void hang(struct fixture *f)
{
    free(fake_take(fixture_call(f, "LeaseKeepAlive")).bytes);
}

/* A twelfth of the TTL without an answer: another stream, on the same
 * connection; half of it: another server. */
FIXTURE_TEST(a_silent_stream_is_followed_by_others)
{
    fixture_up(f);
    fixture_pass(f, 3333 + 832);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
    for (size_t i = 1; i < HF_ETCD_KEEP_ALIVE_TRIES; i++) {
        hang(f);
        fixture_pass(f, 1);
        assert_int_equal(fixture_count(f, "LeaseKeepAlive"), i + 1);
        fixture_pass(f, 832);
    }
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"),
                     HF_ETCD_KEEP_ALIVE_TRIES);
    fixture_expect_none(f);
    fixture_pass(f, 1);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_int_equal(wanted(f), 2);
}

/* The stream that answers is kept, and the others are closed. */
FIXTURE_TEST(any_stream_may_answer)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    for (int i = 0; i < 20; i++) {
        hang(f);
        fixture_pass(f, 833);
        assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 2);
        fixture_keep_alive(f, 10);
        assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
        assert_true(f->session.alive_until_ms == f->now_ms + 10000);
        fixture_pass(f, 3333);
        assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
    }
    fixture_expect_none(f);
}

/* The way to the server is long: the answer to the first one counts, from its
 * own sending. */
FIXTURE_TEST(a_late_answer_counts_from_its_sending)
{
    fixture_up(f);
    fixture_pass(f, 3333 + 2500);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 4);
    fixture_keep_alive(f, 10);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
    assert_true(f->session.alive_until_ms == 1000 + 3333 + 10000);
    /* So does the next one. */
    assert_null(fixture_find(f, "LeaseKeepAlive"));
    fixture_pass(f, 833);
    assert_non_null(fixture_find(f, "LeaseKeepAlive"));
}

/* With a short TTL each answer may take 200 ms. */
FIXTURE_TEST(two_hundred_milliseconds_at_least)
{
    f->config.ttl_ms = 2000;
    fixture_up(f);
    fixture_pass(f, 666 + 199);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 1);
    fixture_pass(f, 1);
    assert_int_equal(fixture_count(f, "LeaseKeepAlive"), 2);
    fixture_pass(f, 999);
    fixture_expect_none(f);
    fixture_pass(f, 1);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    /* There is time to be saved by the next server. */
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "resuming 2866 2000");
    fixture_expect(f, "connected 2000 1000 resumed");
}

/* So are those that resume a session. */
FIXTURE_TEST(the_keep_alive_of_a_resume_may_hang)
{
    fixture_up(f);
    fixture_cut(f, "reset");
    fixture_skip(f);
    fixture_connect(f);
    fixture_status(f);
    fixture_expect(f, "resuming 1000 10000");
    hang(f);
    fixture_pass(f, 833);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 resumed");
    assert_true(f->session.alive_until_ms == 1833 + 10000);
}

/* One is sent at once when it is wanted, and the next one a third of the TTL
 * after that. */
FIXTURE_TEST(a_keep_alive_that_is_wanted)
{
    fixture_up(f);
    fixture_pass(f, 1000);
    hf_etcd_keep_alive_want(&f->session);
    hf_etcd_keep_alive_want(&f->session);
    fixture_pass(f, 0);
    hf_etcd_keep_alive_want(&f->session);
    assert_int_equal(f->renewed, 0);
    fixture_keep_alive(f, 10);
    assert_int_equal(f->renewed, 1);
    assert_true(f->session.alive_until_ms == 12000);
    fixture_pass(f, 3332);
    assert_null(fixture_find(f, "LeaseKeepAlive"));
    fixture_pass(f, 1);
    fixture_keep_alive(f, 10);
    assert_int_equal(f->renewed, 2);
}

/* A new chain of proofs has begun: what is wanted waits for the next one, which
 * does not come at once. */
FIXTURE_TEST(a_keep_alive_that_is_wanted_in_a_new_chain)
{
    fixture_up(f);
    for (int i = 0; i < 4; i++) {
        fixture_pass(f, 3333);
        fixture_keep_alive(f, 10);
    }
    f->server.raft_term = 3;
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    assert_int_equal(f->renewed, 4);
    hf_etcd_keep_alive_want(&f->session);
    fixture_pass(f, 1249);
    assert_null(fixture_find(f, "LeaseKeepAlive"));
    fixture_pass(f, 1);
    fixture_keep_alive(f, 10);
    assert_int_equal(f->renewed, 5);
}

FIXTURE_TEST(the_servers_have_ended_the_lease)
{
    int64_t lease;

    fixture_up(f);
    lease = f->session.lease;
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 0);
    fixture_expect(f, "lost");
    assert_int_equal(f->session.lease, 0);
    /* The server may have been an old leader: the lease is revoked before the
     * next one is made. */
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 4333 new");
    assert_true(f->session.lease != 0 && f->session.lease != lease);
}

/* The stream ends without a leader. */
FIXTURE_TEST(a_stream_that_ends_is_no_loss)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_refuse(f, "LeaseKeepAlive", HF_GRPC_UNAVAILABLE,
                   "etcdserver: no leader");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "resuming 4333 10000");
    fixture_expect(f, "connected 10000 1000 resumed");
}

/* ------------------------------------------------------ the second clock -- */

FIXTURE_TEST(keep_alives_prove_with_a_write_behind_them)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_pass(f, 400);
    fixture_keep_alive(f, 10); /* sent at 4333, answered at 4733 */
    fixture_expect_none(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_pass(f, 100);
    fixture_serve(f);
    fixture_expect(f, "proven 4333");
    fixture_expect(f, "w DONE proves 4333");
    assert_true(f->session.alive_until_ms == 14333);
}

/* The server has carried out the write, and takes no further call. */
FIXTURE_TEST(a_close_at_a_proof_does_not_undo_the_write)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    assert_non_null(fixture_start(f, "w", WRITE));
    f->closes_at_proof = true;
    fake_go_away(fake_grpc());
    fixture_serve(f);
    fixture_expect(f, "proven 4333");
    fixture_expect(f, "w UNSURE");
    fixture_expect(f, "closed");
}

/* The answer to a keep-alive comes while a write is under way: that write was
 * sent too early to prove it. */
FIXTURE_TEST(a_write_proves_what_was_answered_before_it)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_keep_alive(f, 10);
    fixture_serve(f);
    fixture_expect(f, "w DONE proves 1000");
    fixture_expect_none(f);
}

FIXTURE_TEST(a_read_proves_nothing)
{
    struct hf_etcd_buffer message;

    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    assert_non_null(fixture_start(f, "r", READ));
    message = fixture_message(f);
    fixture_answer(f, "Range", &message);
    fixture_expect(f, "r DONE");
    fixture_expect_none(f);
}

FIXTURE_TEST(a_write_of_another_term_proves_nothing)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    f->server.raft_term = 3;
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "w DONE");
    fixture_pass(f, 3334);
    fixture_keep_alive(f, 10);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "proven 7666");
    fixture_expect(f, "w DONE proves 7666");
}

/* Nothing is proven for as long as nobody writes, and the first write proves
 * the last keep-alive; with another leader, a second keep-alive comes first. */
FIXTURE_TEST(an_idle_session)
{
    fixture_up(f);
    for (int i = 0; i < 100; i++) {
        fixture_pass(f, 3333);
        fixture_keep_alive(f, 10);
    }
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "proven 334300");
    fixture_expect(f, "w DONE proves 334300");
    for (int i = 0; i < 100; i++) {
        fixture_pass(f, 3333);
        fixture_keep_alive(f, 10);
    }
    f->server.raft_term = 3;
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "w DONE");
    fixture_pass(f, 1249);
    assert_null(fixture_find(f, "LeaseKeepAlive"));
    fixture_pass(f, 1); /* an eighth of the TTL */
    fixture_keep_alive(f, 10);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "proven 672183");
    fixture_expect(f, "w DONE proves 672183");
}

/* -------------------------------------------------------------- resuming -- */

FIXTURE_TEST(a_session_outlives_connections)
{
    int64_t lease;

    fixture_up(f);
    lease = f->session.lease;
    fixture_pass(f, 500);
    fixture_cut(f, NULL);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_null(fixture_start(f, "w", WRITE));
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "resuming 1500 10000");
    /* The keep-alive alone proves nothing. */
    fixture_expect(f, "connected 10000 1000 resumed");
    assert_int_equal(f->session.lease, lease);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_serve(f);
    fixture_expect(f, "proven 1500");
}

FIXTURE_TEST(a_resume_of_a_lease_that_is_gone)
{
    fixture_up(f);
    fixture_cut(f, NULL);
    fixture_connect(f);
    fixture_status(f);
    fixture_skip(f);
    fixture_keep_alive(f, 0);
    fixture_expect(f, "lost");
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "connected 10000 1000 new");
}

/* The servers of a URL must be of one cluster; those of another do not have the
 * lease. */
FIXTURE_TEST(another_cluster_does_not_have_the_lease)
{
    fixture_up(f);
    fixture_cut(f, NULL);
    fixture_skip(f);
    f->server.cluster_id = 8;
    fixture_connect(f);
    fixture_serve(f);
    fixture_expect(f, "lost");
}

/* A restored snapshot has the same cluster, and the lease, and an earlier
 * revision.  The first write shows that. */
FIXTURE_TEST(a_restored_snapshot_ends_the_session)
{
    fixture_up(f);
    f->server.revision = 20;
    assert_non_null(fixture_start(f, "w", WRITE));
    assert_non_null(fixture_start(f, "v", WRITE));
    fixture_txn(f, true, 0);
    fixture_skip(f);
    f->server.revision = 19; /* of what was sent beside the other one */
    fixture_txn(f, true, 0);
    fixture_expect(f, "v DONE proves 1000");
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_txn(f, true, 0);
    fixture_expect(f, "w UNSURE");
    fixture_expect(f, "lost");
    fixture_expect_none(f);
}

/* Without a write of the user the session makes one, if the member is behind;
 * not all that are behind were restored. */
FIXTURE_TEST(a_member_that_is_behind_is_asked_by_a_write)
{
    fixture_up(f);
    f->server.revision = 20;
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_txn(f, true, 0);
    fixture_cut(f, NULL);
    fixture_skip(f);
    f->server.revision = 19;
    fixture_connect(f);
    fixture_status(f);
    fixture_keep_alive(f, 10);
    fixture_expect(f, "resuming 1000 10000");
    fixture_expect(f, "connected 10000 1000 resumed");
    assert_int_equal(fixture_count(f, "Txn"), 1);
    f->server.revision = 21;
    fixture_txn(f, true, 21);
    fixture_expect(f, "epoch");
    fixture_cut(f, NULL);
    fixture_skip(f);
    fixture_connect(f);
    fixture_status(f);
    fixture_keep_alive(f, 10);
    assert_int_equal(fixture_count(f, "Txn"), 0);
}

/* ---------------------------------------------------------------- losing -- */

/* The first clock: one TTL after the last keep-alive that was answered. */
FIXTURE_TEST(nobody_answers_for_a_ttl)
{
    int64_t lease;
    size_t revoked;

    fixture_up(f);
    lease = f->session.lease;
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 10);
    fixture_cut(f, "reset");
    fixture_skip(f);
    fixture_watch(f, "k", 5);
    while (f->now_ms < 14332) {
        fixture_pass(f, 1);
        assert_int_equal(f->session.lease, lease);
    }
    fixture_skip(f);
    fixture_pass(f, 1);
    fixture_expect(f, "lost");
    assert_false(hf_etcd_watch_is_in(&f->watches[0].watch));
    /* Its lease is revoked before there is another one, until that is
     * answered. */
    for (int i = 0; i < 2; i++) {
        fixture_connect(f);
        fixture_status(f);
        revoked = fixture_count(f, "LeaseRevoke");
        assert_int_equal(revoked, 1);
        assert_int_equal(fixture_count(f, "LeaseGrant"), 0);
        if (i == 0)
            fixture_cut(f, "reset");
    }
    f->server.refuses = "LeaseRevoke";
    f->server.status = HF_GRPC_NOT_FOUND;
    f->server.text = REFUSED_LEASE;
    fixture_skip(f);
    fixture_serve(f);
    assert_true(hf_etcd_session_is_usable(&f->session));
    assert_int_equal(f->session.lost_lease, 0);
}

/* With lazy proofs nothing else ends a grant in time. */
FIXTURE_TEST(a_lazy_session_is_lost_a_margin_earlier)
{
    f->config.proof = HF_ETCD_PROOF_LAZY;
    fixture_up(f);
    fixture_cut(f, "reset");
    fixture_skip(f);
    while (f->now_ms < 10899)
        fixture_pass(f, 1);
    assert_true(f->session.lease != 0);
    fixture_pass(f, 1);
    assert_true(f->session.lease == 0);
}

FIXTURE_TEST(calls_end_when_the_connection_does)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    assert_non_null(fixture_start(f, "r", READ));
    fixture_pass(f, 100);
    fixture_cut(f, "reset");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "w UNSURE");
    fixture_expect(f, "r RETRY");
    fixture_expect_none(f);
}

/* -------------------------------------------------------- silent members -- */

/* Keep-alives are answered, calls are not: the member is cut off from the
 * others. */
FIXTURE_TEST(calls_that_nobody_answers)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_pass(f, 3332);
    assert_int_equal(wanted(f), 1);
    fixture_pass(f, 1);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "w UNSURE");
    assert_int_equal(wanted(f), 2);
}

/* Keep-alives show another leader: what was sent before may hang at the one
 * before, although others are answered. */
FIXTURE_TEST(a_call_that_hangs_at_an_earlier_leader)
{
    struct fake_call *hanging;

    fixture_up(f);
    fixture_pass(f, 3333);
    assert_non_null(fixture_start(f, "w", WRITE));
    hanging = fixture_call(f, "Txn");
    fixture_pass(f, 100);
    fixture_keep_alive(f, 10); /* of the same leader */
    fixture_pass(f, 2000);
    f->server.raft_term = 3;
    hf_etcd_keep_alive_want(&f->session);
    fixture_pass(f, 0);
    fixture_keep_alive(f, 10);
    assert_ptr_equal(fixture_call(f, "Txn"), hanging);
    fixture_pass(f, 832);
    fixture_expect_none(f);
    fixture_pass(f, 1);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "w UNSURE");
}

/* A call from before the new leader that is answered in time ends no
 * connection. */
FIXTURE_TEST(calls_that_outlive_a_leader)
{
    fixture_up(f);
    fixture_pass(f, 3333);
    assert_non_null(fixture_start(f, "w", WRITE));
    f->server.raft_term = 3;
    fixture_keep_alive(f, 10);
    fixture_pass(f, 800);
    fixture_serve(f);
    fixture_expect(f, "w DONE");
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_pass(f, 800);
    fixture_serve(f);
    fixture_expect(f, "proven 4333");
    fixture_expect(f, "w DONE proves 4333");
    fixture_expect_none(f);
}

FIXTURE_TEST(every_answer_gives_the_others_time)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "a", WRITE));
    assert_non_null(fixture_start(f, "b", WRITE));
    fixture_pass(f, 3000);
    fixture_refuse(f, "Txn", HF_GRPC_INVALID_ARGUMENT, "etcdserver: no");
    fixture_expect(f, "a REFUSED");
    fixture_pass(f, 3000);
    fixture_expect_none(f);
    fixture_pass(f, 400);
    fixture_expect(f, "error HF_EUNREACHABLE");
}

FIXTURE_TEST(a_member_that_has_lost_its_leader_is_left)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_refuse(f, "Txn", HF_GRPC_UNAVAILABLE, "etcdserver: no leader");
    fixture_expect(f, "w RETRY");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_int_equal(wanted(f), 2);
}

/* The server ends the connection: what runs may end, nothing begins. */
FIXTURE_TEST(a_server_that_goes_away)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "a", WRITE));
    fake_go_away(fake_grpc());
    fixture_deliver(f);
    assert_null(fixture_start(f, "b", WRITE));
    fixture_expect_none(f);
    fixture_serve(f);
    fixture_expect(f, "a DONE proves 1000");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
}

/* A call goes on, and the time for a keep-alive comes. */
FIXTURE_TEST(a_server_that_goes_away_takes_no_keep_alive)
{
    fixture_up(f);
    fixture_pass(f, 2000);
    assert_non_null(fixture_start(f, "a", WRITE));
    fixture_serve(f);
    fixture_expect(f, "a DONE proves 1000");
    assert_non_null(fixture_start(f, "a", WRITE));
    fake_go_away(fake_grpc());
    fixture_deliver(f);
    fixture_pass(f, 1333);
    assert_string_equal(f->session.connectivity.error,
                        "etcd1:2379: the connection takes no further calls");
}

FIXTURE_TEST(a_connection_that_makes_no_sense)
{
    fixture_up(f);
    fake_break(fake_grpc(), "not HTTP/2");
    fixture_deliver(f);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_non_null(strstr(f->session.connectivity.error, "not HTTP/2"));
}

FIXTURE_TEST(answers_to_keep_alives_that_make_no_sense)
{
    struct hf_etcd_buffer message;

    fixture_up(f);
    fixture_pass(f, 3333);
    message = fixture_message(f);
    hf_etcd_put_signed(&message, 2, f->session.lease + 1);
    hf_etcd_put_signed(&message, 3, 10);
    fixture_answer(f, "LeaseKeepAlive", &message);
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    assert_non_null(strstr(f->session.connectivity.error, "makes no sense"));
}

/* --------------------------------------------------------------- closing -- */

FIXTURE_TEST(closing_revokes_the_lease)
{
    fixture_up(f);
    hf_etcd_session_close(&f->session);
    assert_null(fixture_start(f, "w", WRITE));
    assert_int_equal(fixture_count(f, "LeaseRevoke"), 1);
    fixture_expect_none(f);
    fixture_serve(f);
    fixture_expect(f, "closed");
    assert_int_equal(wanted(f), 0);
}

FIXTURE_TEST(closing_does_not_wait_for_ever)
{
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    hf_etcd_session_close(&f->session);
    fixture_pass(f, HF_CLOSE_TIMEOUT_MS);
    fixture_expect(f, "w UNSURE");
    fixture_expect(f, "closed");
}

FIXTURE_TEST(closing_without_a_connection)
{
    fixture_up(f);
    fixture_cut(f, "reset");
    fixture_skip(f);
    hf_etcd_session_close(&f->session);
    fixture_expect(f, "closed");
    assert_non_null(strstr(f->log, "closed without a connection"));
    /* The server may have granted more than was asked for. */
    assert_null(strstr(f->log, " ms "));
}

FIXTURE_TEST(closing_while_the_connection_ends)
{
    f->closes_at_loss = true;
    fixture_up(f);
    assert_non_null(fixture_start(f, "w", WRITE));
    fixture_cut(f, "reset");
    fixture_expect(f, "error HF_EUNREACHABLE");
    fixture_expect(f, "suspended");
    fixture_expect(f, "w UNSURE");
    fixture_expect(f, "closed");
    fixture_expect_none(f);
}

FIXTURE_TEST(closing_while_the_session_is_lost)
{
    f->closes_at_loss = true;
    fixture_up(f);
    fixture_pass(f, 3333);
    fixture_keep_alive(f, 0);
    fixture_expect(f, "lost");
    fixture_expect(f, "closed");
}

FIXTURE_TEST(the_connection_ends_while_closing)
{
    fixture_up(f);
    hf_etcd_session_close(&f->session);
    fixture_cut(f, "reset");
    fixture_expect(f, "closed");
    fixture_expect_none(f);
}

/* ------------------------------------------------------------- giving up -- */

/* One attempt at each server. */
FIXTURE_TEST(the_policy_gives_up_and_begins_again)
{
    uint64_t number;

    hf_etcd_session_free(&f->session);
    f->config.reconnect = (struct hf_reconnect){0};
    fixture_begin(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wanted(f), i + 1);
        (void)hf_etcd_session_wanted_server(&f->session, &number);
        hf_etcd_session_connection_down(&f->session, number, f->now_ms,
                                        HF_EUNREACHABLE, "refused");
        fixture_expect(f, "error HF_EUNREACHABLE");
    }
    fixture_expect(f, "gave up");
    fixture_pass(f, 100000);
    assert_int_equal(wanted(f), 0);
    hf_etcd_session_reconnect(&f->session, f->now_ms);
    assert_int_equal(wanted(f), 1);
    fixture_up(f);
}

/* A lease may end in a pause, so none is longer than a twelfth of it, unless
 * the user says how often there is one. */
FIXTURE_TEST(pauses_are_short_where_leases_are)
{
    static const uint32_t retries[] = {HF_RECONNECT_UNLIMITED, 10};
    uint64_t number, pause_ms, longest_ms[2] = {0};

    f->config.ttl_ms = 3000;
    for (size_t which = 0; which < 2; which++) {
        f->config.reconnect.retries = retries[which];
        hf_etcd_session_free(&f->session);
        fixture_begin(f);
        for (int i = 0; i < 3 * 9; i++) {
            pause_ms = hf_etcd_session_wake_at_ms(&f->session) - f->now_ms;
            if (wanted(f) == 0)
                longest_ms[which] = hf_max_ms(longest_ms[which], pause_ms);
            fixture_pass(f, wanted(f) == 0 ? pause_ms : 0);
            (void)hf_etcd_session_wanted_server(&f->session, &number);
            hf_etcd_session_connection_down(&f->session, number, f->now_ms,
                                            HF_EUNREACHABLE, "refused");
        }
    }
    assert_in_range(longest_ms[0], 125, 250);
    assert_in_range(longest_ms[1], 500, 1000);
}

/* ------------------------------------------------------- without memory -- */

/* Each allocation fails in turn, once or from then on: the session is usable
 * again when there is memory, nothing is lost that was not said to be, and
 * nothing leaks. */
TEST(memory_is_short)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    long before = heap_live();
    unsigned long nth;
    bool failed = true;

    for (nth = 1; failed; nth++) {
        for (int for_good = 0; for_good < 2; for_good++) {
            fixture_open(f, 3);
            heap_fail(nth, for_good != 0);
            fixture_connect(f);
            fixture_serve(f);
            if (hf_etcd_session_is_usable(&f->session)) {
                (void)fixture_start(f, "w", WRITE);
                fixture_watch(f, "k", 5);
                fixture_serve(f);
                fixture_pass(f, 3400);
                fixture_serve(f);
            }
            failed = heap_failed();
            heap_fail(0, false);
            fixture_pass(f, 2000);
            if (!hf_etcd_session_is_usable(&f->session)) {
                fixture_connect(f);
                fixture_serve(f);
            }
            fixture_pass(f, 200);
            fixture_serve(f);
            assert_true(hf_etcd_session_is_usable(&f->session));
            assert_true(hf_etcd_epoch_is_known(&f->session));
            fixture_close(f);
            assert_int_equal(heap_live(), before);
        }
    }
    assert_true(nth > 5);
}

TEST_FILE(etcd_session)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
