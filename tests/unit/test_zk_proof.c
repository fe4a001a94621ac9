/* SPDX-License-Identifier: Apache-2.0 */
/* Which answers prove that a session exists, and as of when. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"
#include "zookeeper/proof.h"

/* -------------------------------------------------------------- the rule -- */

TEST(the_spacing_fits_the_timeout)
{
    static const struct {
        uint64_t timeout_ms;
        uint64_t tick_ms;
        uint64_t spacing_ms;
    } rows[] = {
        {1000, 0, 375},      {2000, 0, 750},      {4000, 0, 1500},
        {6000, 0, 1500},     {10000, 0, 2500},    {40000, 0, 10000},
        {10000, 2000, 2500}, {4000, 2000, 1500},  {4000, 500, 1000},
        {10000, 6000, 3750}, {10000, 4000, 3000},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            hf_zk_proof_spacing_ms(rows[i].timeout_ms, rows[i].tick_ms),
            rows[i].spacing_ms);
}

/* R: when a call was sent and answered.  W: when the write is sent, and as of
 * when its answer proves the session.  The timeout is 10 s, so D is 2500 ms
 * and 7/8 of D is 2188.  The handshake was sent at 1000 and answered at 1010.
 */
struct answered_call {
    uint64_t sent_ms;
    uint64_t answered_ms;
};

TEST(a_write_proves_what_was_committed_before_it)
{
    static const struct {
        struct answered_call before[4];
        uint64_t write_ms;
        uint64_t anchor_ms;
    } rows[] = {
        /* Only the handshake, at any distance. */
        {{{0, 0}}, 1010, 1000},
        {{{0, 0}}, 9000, 1000},
        /* One call: too near, just far enough, and long ago. */
        {{{2000, 2010}}, 4499, 1000},
        {{{2000, 2010}}, 4500, 2000},
        {{{2000, 2010}}, 9000, 2000},
        /* Its answer took long: D after it was sent, it was not long enough
         * at the server. */
        {{{2000, 4400}}, 4500, 1000},
        {{{2000, 4400}}, 6587, 1000},
        {{{2000, 4400}}, 6588, 2000},
        {{{2000, 2312}}, 4500, 2000},
        {{{2000, 2313}}, 4500, 1000},
        /* The latest that is confirmed counts, not the latest of all. */
        {{{2000, 2010}, {4000, 4010}, {5000, 5010}}, 6400, 2000},
        {{{2000, 2010}, {4000, 4010}, {5000, 5010}}, 6500, 4000},
        {{{2000, 2010}, {4000, 4010}, {5000, 5010}}, 7500, 5000},
        {{{2000, 2010}, {4000, 6900}, {5000, 6900}}, 7500, 2000},
        /* Of calls close together the first is kept, so the anchor is a
         * little early, never late. */
        {{{2000, 2010}, {2100, 2110}, {2150, 2160}}, 5000, 2000},
        {{{2000, 2010}, {2156, 2160}, {2157, 2170}}, 5000, 2157},
    };
    struct hf_zk_proof proof;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
        for (size_t k = 0; k < 4 && rows[i].before[k].sent_ms > 0; k++)
            hf_zk_proof_answered(&proof, rows[i].before[k].sent_ms,
                                 rows[i].before[k].answered_ms);
        if (hf_zk_proof_sent(&proof, rows[i].write_ms).anchor_ms !=
            rows[i].anchor_ms)
            fail_msg("row %zu", i);
    }
}

/* However many calls there are, the anchor is at most two spacings old. */
TEST(busy_connections_keep_enough)
{
    static const uint64_t every_ms[] = {1, 7, 100, 155, 157, 400};
    struct hf_zk_proof proof;
    uint64_t anchor_ms, now_ms;

    for (size_t i = 0; i < sizeof every_ms / sizeof every_ms[0]; i++) {
        hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1000);
        for (now_ms = 1000; now_ms < 60000; now_ms += every_ms[i])
            hf_zk_proof_answered(&proof, now_ms, now_ms);
        anchor_ms = hf_zk_proof_sent(&proof, 60000).anchor_ms;
        assert_true(anchor_ms <= 60000 - 2500);
        assert_true(anchor_ms >= 60000 - 2 * 2500);
    }
}

TEST(each_heartbeat_commits_the_next)
{
    static const uint64_t timeouts_ms[] = {6000, 10000, 30000};
    struct hf_zk_proof proof;
    uint64_t beat_ms;

    for (size_t i = 0; i < sizeof timeouts_ms / sizeof timeouts_ms[0]; i++) {
        beat_ms = timeouts_ms[i] / 4;
        hf_zk_proof_begin(&proof, timeouts_ms[i], 0, false, 0, 5);
        for (uint64_t k = 1; k < 50; k++) {
            assert_int_equal(hf_zk_proof_sent(&proof, k * beat_ms).anchor_ms,
                             (k - 1) * beat_ms);
            hf_zk_proof_answered(&proof, k * beat_ms,
                                 k * beat_ms + beat_ms / 8);
        }
    }
}

/* A quarter of D is 625 ms.  A write that took longer proves what an earlier
 * one would have proven, if that one was answered before this one was sent. */
TEST(late_answers_prove_what_was_committed_before)
{
    static const struct {
        struct hf_zk_proof_sent sent;
        uint64_t answered_ms;
        uint64_t proven_ms;
        uint64_t strict_ms;
    } rows[] = {
        /* The first one: there is nothing earlier. */
        {{5000, 2500, 5000}, 5000, 2500, 1000},
        /* Just in time. */
        {{7500, 5000, 7500}, 8125, 5000, 2500},
        /* Late by a millisecond. */
        {{10000, 7500, 10000}, 10626, 5000, 5000},
        /* Nor what was sent before it. */
        {{10625, 8000, 10625}, 10700, 5000, 5000},
        /* Very late. */
        {{10626, 8000, 10626}, 20000, 7500, 7500},
        /* The next one is as usual. */
        {{20000, 17500, 20000}, 20001, 17500, 8000},
        /* Sent together with it, and late. */
        {{20000, 17500, 20000}, 20700, 8000, 8000},
    };
    struct hf_zk_proof proof, strict;

    hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
    hf_zk_proof_begin(&strict, 10000, 0, true, 1000, 1010);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (hf_zk_proof_committed(&proof, &rows[i].sent, rows[i].answered_ms) !=
                rows[i].proven_ms ||
            hf_zk_proof_committed(&strict, &rows[i].sent,
                                  rows[i].answered_ms) != rows[i].strict_ms)
            fail_msg("row %zu", i);
    }
}

/* A write that is sent at ${sent_ms} and answered 5 ms later: what it proves.
 */
static uint64_t write_at(struct hf_zk_proof *proof, uint64_t sent_ms)
{
    struct hf_zk_proof_sent sent = hf_zk_proof_sent(proof, sent_ms);

    hf_zk_proof_answered(proof, sent_ms, sent_ms + 5);
    return hf_zk_proof_committed(proof, &sent, sent_ms + 5);
}

static void ping_until(struct hf_zk_proof *proof, uint64_t from_ms,
                       uint64_t to_ms)
{
    for (uint64_t at_ms = from_ms; at_ms <= to_ms; at_ms += 1000)
        hf_zk_proof_answered(proof, at_ms, at_ms + 5);
}

/* Three eighths of the timeout are 3750 ms: the pings of the leader may have
 * been late since the write before. */
TEST(the_first_write_after_a_pause_proves_what_was_known)
{
    struct hf_zk_proof proof;

    hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
    ping_until(&proof, 2000, 4000);
    assert_int_equal(write_at(&proof, 4750), 2000);
    ping_until(&proof, 5000, 8000);
    assert_int_equal(write_at(&proof, 8500), 6000); /* no pause */
    ping_until(&proof, 9000, 20000);
    assert_int_equal(write_at(&proof, 12251), 6000);
    assert_int_equal(write_at(&proof, 12260), 9000);
}

/* Two writes at once prove nothing for each other, because both may have been
 * late. */
TEST(a_second_write_is_no_help_unless_the_first_was_answered)
{
    struct hf_zk_proof proof;
    struct hf_zk_proof_sent one, two, three;

    hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
    ping_until(&proof, 2000, 20000);
    one = hf_zk_proof_sent(&proof, 20500);
    two = hf_zk_proof_sent(&proof, 20501);
    assert_int_equal(hf_zk_proof_committed(&proof, &one, 20510), 1000);
    assert_int_equal(hf_zk_proof_committed(&proof, &two, 20510), 1000);
    three = hf_zk_proof_sent(&proof, 20510);
    assert_int_equal(hf_zk_proof_committed(&proof, &three, 20515), 18000);
}

/* The write of another client has come through the leader, not long before
 * the latest call that was answered. */
TEST(an_event_ends_a_pause)
{
    struct hf_zk_proof proof;

    hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
    ping_until(&proof, 2000, 20000);
    hf_zk_proof_event(&proof);
    assert_int_equal(write_at(&proof, 23751), 1000); /* too long before */
    hf_zk_proof_begin(&proof, 10000, 0, false, 1000, 1010);
    ping_until(&proof, 2000, 20000);
    hf_zk_proof_event(&proof);
    assert_int_equal(write_at(&proof, 23750), 20000);
}

/* ----------------------------------------------------- with the fixture -- */

/* Any number of answers to reads and pings proves nothing. */
ZK_TEST(answers_to_pings_and_reads_prove_nothing)
{
    for (int i = 0; i < 20; i++) {
        wake(f);
        pong(f);
        ask(f, HF_REQUEST_LIST, "a");
        done(f);
        children(f, "");
        assert_string_equal(zk_fixture_sent(f), "PING | SYNC q; LIST q");
        assert_string_equal(zk_fixture_events(f), "LISTED a:");
    }
    assert_true(f->now_ms > 60000);
}

ZK_TEST(any_committed_write_proves)
{
    set_time(f, 2000);
    ask(f, HF_REQUEST_LIST, "a");
    set_time(f, 2010);
    done(f);
    children(f, "");
    set_time(f, 4000); /* less than D later: as of the handshake */
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 1, 10);
    children(f, "a#1");
    (void)zk_fixture_events(f);
    set_time(f, 4500);
    ask(f, HF_REQUEST_REMOVE, "a");
    set_time(f, 5000);
    done(f);
    assert_string_equal(zk_fixture_events(f), "PROVED 2000; REMOVED a found");
    ask(f, HF_REQUEST_REMOVE, "a"); /* the same anchor is not reported again */
    done(f);
    children(f, "a#1");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
}

ZK_TEST(refused_writes_prove_nothing)
{
    set_time(f, 9000);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_NO_AUTH);
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
    ask(f, HF_REQUEST_PROVE, "");
    check_failed(f, 0);
    assert_string_equal(zk_fixture_events(f), "FAILED PROVE RETRY");
    ask(f, HF_REQUEST_PROVE, "");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED PROVE RETRY");
}

ZK_TEST(a_proof_is_as_of_what_was_answered_before)
{
    set_time(f, 3500);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI /");
    set_time(f, 3600);
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 1000");
    set_time(f, 6000);
    ask(f, HF_REQUEST_PROVE, "");
    set_time(f, 6600);
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 3500");
    set_time(f, 8500);
    ask(f, HF_REQUEST_PROVE, "");
    set_time(f, 9200); /* late: what the one before has proven */
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 3500");
}

/* A write counts for its own connection only. */
ZK_TEST(another_connection_begins_anew)
{
    set_time(f, 3500);
    ask(f, HF_REQUEST_PROVE, "");
    checked(f);
    set_time(f, 6000);
    ask(f, HF_REQUEST_PROVE, "");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 1000; PROVEN 3500");
    link_down(f, "reset");
    wake(f);
    set_time(f, 6500);
    link_up(f);
    set_time(f, 6600);
    accept_session(f);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 10000"));
    set_time(f, 6700);
    ask(f, HF_REQUEST_PROVE, "");
    checked(f);
    /* Not what was answered on the last connection.  The handshake counts
     * since a write after it was committed. */
    assert_string_equal(zk_fixture_events(f), "PROVEN 6500");
}

ZK_TEST_FROM(strict_proofs_in_the_fixture, zk_fixture_init(f))
{
    f->config.url.session.proof = HF_ZK_PROOF_STRICT;
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_events(f);
    for (uint64_t k = 1; k <= 4; k++) {
        set_time(f, 1000 + k * 2500);
        ask(f, HF_REQUEST_PROVE, "");
        checked(f);
    }
    assert_string_equal(zk_fixture_events(f), "PROVEN 1000; PROVEN 1000; "
                                              "PROVEN 3500; PROVEN 6000");
}
