/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's cluster of etcd, without a client of locks: what a raw client
 * sees of transactions, leases, watches, tokens and faults of members.  Where
 * etcd 3.4.23 surprises, the name of the test says so. */
#include <string.h>

#include "cmocka/runner.h"
#include "etcd_raw_client.h"
#include "grpc/grpc.h"
#include "simulator/model/etcd_faults.h"

#define LEASE 0x1234

/* ---------------------------------------------------------- transactions -- */

TEST(a_put_has_a_create_revision_that_stays)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};
    struct raw_key key;

    raw_put(raw, "a", "1");
    raw_put(raw, "b", "1");
    raw_put(raw, "a", "2");
    assert_true(raw_get(raw, "a", &key));
    assert_int_equal(key.create, 2);
    assert_int_equal(key.mod, 4);
    assert_int_equal(key.version, 2);
    raw_txn_compare_create(&txn, "a", 2);
    raw_txn_delete(&txn, "a");
    assert_true(raw_txn_succeeds(raw, &txn));
    assert_false(raw_get(raw, "a", &key));
    raw_put(raw, "a", "3");
    assert_true(raw_get(raw, "a", &key));
    assert_int_equal(key.create, 6);
    assert_int_equal(key.version, 1);
    raw_free(raw);
}

TEST(a_deletion_of_nothing_makes_no_revision)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};

    raw_put(raw, "a", "1");
    raw_txn_compare_create(&txn, "a", 2);
    raw_txn_delete(&txn, "never");
    assert_true(raw_txn_succeeds(raw, &txn));
    assert_int_equal(raw->revision, 2);
    raw_free(raw);
}

TEST(a_range_in_a_transaction_sees_its_put)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};

    raw_put(raw, "q/1", "");
    raw_put(raw, "q/2", "");
    raw_txn_put(&txn, "q/0", "", 0);
    raw_txn_range_newest(&txn, "q/", "q0", 2);
    assert_true(raw_txn_succeeds(raw, &txn));
    assert_int_equal(raw->key_count, 2);
    assert_string_equal(raw->keys[0].name, "q/0");
    assert_string_equal(raw->keys[1].name, "q/2");
    raw_free(raw);
}

TEST(two_puts_of_a_transaction_have_one_create_revision)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};
    struct raw_key a = {0}, b = {0};

    raw_txn_put(&txn, "a", "", 0);
    raw_txn_put(&txn, "b", "", 0);
    assert_true(raw_txn_succeeds(raw, &txn));
    assert_true(raw_get(raw, "a", &a));
    assert_true(raw_get(raw, "b", &b));
    assert_int_equal(a.create, b.create);
    raw_free(raw);
}

TEST(a_key_is_not_deleted_and_put_in_one_transaction)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};

    raw_txn_delete(&txn, "a");
    raw_txn_put(&txn, "a", "", 0);
    assert_int_equal(raw_txn_status(raw, &txn), HF_GRPC_INVALID_ARGUMENT);
    raw_free(raw);
}

/* ---------------------------------------------------------------- leases -- */

TEST(a_lease_that_is_not_renewed_ends_with_its_keys)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};
    struct raw_key key;

    assert_int_equal(raw_grant(raw, LEASE, 3), 3);
    raw_txn_put(&txn, "a", "", LEASE);
    assert_true(raw_txn_succeeds(raw, &txn));
    for (int i = 0; i < 3; i++) {
        hf_sim_run_ms(raw->sim, 2000);
        assert_int_equal(raw_keep_alive(raw, LEASE), 3);
    }
    hf_sim_run_ms(raw->sim, 2900);
    assert_true(raw_get(raw, "a", &key));
    hf_sim_run_ms(raw->sim, 1000);
    assert_false(raw_get(raw, "a", &key));
    assert_int_equal(raw_keep_alive(raw, LEASE), 0);
    raw_free(raw);
}

TEST(a_short_ttl_is_granted_longer)
{
    struct raw *raw = raw_new(NULL);

    assert_int_equal(raw_grant(raw, LEASE, 1), 2);
    assert_int_equal(raw_grant(raw, LEASE, 1), -HF_GRPC_FAILED_PRECONDITION);
    raw_free(raw);
}

TEST(a_put_without_its_lease_detaches_it)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};
    struct raw_key key;

    (void)raw_grant(raw, LEASE, 2);
    raw_txn_put(&txn, "a", "", LEASE);
    raw_txn_put(&txn, "b", "", LEASE);
    assert_true(raw_txn_succeeds(raw, &txn));
    raw_put(raw, "a", "again");
    hf_sim_run_ms(raw->sim, 4000);
    assert_true(raw_get(raw, "a", &key));
    assert_false(raw_get(raw, "b", &key));
    raw_free(raw);
}

/* The leader is stopped, and another one elected.  The stream of the old one is
 * answered when it is continued, out of its memory and with its old term: that
 * is why a keep-alive proves nothing. */
TEST(a_deposed_leader_renews_until_it_notices)
{
    struct hf_sim_config config = hf_sim_config_etcd(3);
    struct raw *raw, *other;
    int old_leader, lied = 0;

    config.etcd.stale_renewals = true;
    raw = raw_new(&config);
    old_leader = hf_sim_etcd_leader(raw->sim);
    (void)raw_grant(raw, LEASE, 60);
    other = raw_connect(raw, (old_leader + 1) % 3);
    raw_reconnect(raw, old_leader);
    assert_int_equal(raw_keep_alive(raw, LEASE), 60);
    hf_sim_etcd_stick_disk(raw->sim, old_leader, true);
    hf_sim_run_ms(raw->sim, 5000);
    assert_int_not_equal(hf_sim_etcd_leader(raw->sim), old_leader);
    raw_put(other, "a", "");
    for (int i = 0; i < 3; i++) {
        uint64_t term = other->term;

        lied += raw_keep_alive(raw, LEASE) == 60 && raw->term < term;
    }
    assert_int_equal(lied, 3);
    hf_sim_etcd_stick_disk(raw->sim, old_leader, false);
    hf_sim_run_ms(raw->sim, 1000);
    assert_int_equal(raw_keep_alive(raw, LEASE), 60);
    assert_int_equal(raw->term, other->term);
    raw_close(other);
    raw_free(raw);
}

/* One of the measured runs: the holder renews its lease at the new leader, and
 * loses it when the disk of the old one goes on. */
static bool loses_its_lease(bool stale_revokes)
{
    struct hf_sim_config config = hf_sim_config_etcd(3);
    struct raw *raw;
    int old_leader;
    bool lost = false;

    config.etcd.stale_renewals = true;
    config.etcd.stale_revokes = stale_revokes;
    raw = raw_new(&config);
    old_leader = hf_sim_etcd_leader(raw->sim);
    raw_reconnect(raw, (old_leader + 1) % 3);
    (void)raw_grant(raw, LEASE, 5);
    hf_sim_etcd_stick_disk(raw->sim, old_leader, true);
    for (int i = 0; i < 12; i++) {
        hf_sim_run_ms(raw->sim, 1000);
        (void)raw_keep_alive(raw, LEASE);
    }
    assert_int_equal(raw_keep_alive(raw, LEASE), 5);
    hf_sim_etcd_stick_disk(raw->sim, old_leader, false);
    hf_sim_run_ms(raw->sim, 1000);
    lost = raw_keep_alive(raw, LEASE) == 0;
    raw_free(raw);
    return lost;
}

TEST(the_decision_of_a_deposed_leader_is_committed_if_a_run_says_so)
{
    assert_true(loses_its_lease(true));
    assert_false(loses_its_lease(false));
}

TEST(a_stream_hangs_while_its_member_asks_a_frozen_leader)
{
    struct raw *raw = raw_new(NULL);
    int leader = hf_sim_etcd_leader(raw->sim);

    raw_reconnect(raw, (leader + 1) % 3);
    (void)raw_grant(raw, LEASE, 60);
    hf_sim_etcd_freeze(raw->sim, leader, false);
    raw_keep_alive_start(raw, LEASE);
    hf_sim_run_ms(raw->sim, 4000);
    assert_false(raw_answered(raw)); /* although there is a new leader */
    hf_sim_run_ms(raw->sim, 4000);
    assert_true(raw_answered(raw));
    assert_int_equal(raw->status, HF_GRPC_UNAVAILABLE);
    raw_free(raw);
}

/* --------------------------------------------------------------- watches -- */

TEST(a_watch_reports_from_its_revision_on)
{
    struct raw *raw = raw_new(NULL);

    raw_put(raw, "a", "1");
    raw_put(raw, "a", "2");
    raw_put(raw, "b", "2");
    raw_watch(raw, "a", 3);
    hf_sim_run_ms(raw->sim, 200);
    assert_int_equal(raw->event_count, 1);
    assert_int_equal(raw->events[0].mod, 3);
    raw_delete(raw, "a");
    hf_sim_run_ms(raw->sim, 200);
    assert_int_equal(raw->event_count, 2);
    assert_true(raw->events[1].deleted);
    assert_int_equal(raw->events[1].mod, 5);
    raw_free(raw);
}

TEST(a_watch_of_what_is_compacted_is_cancelled)
{
    struct raw *raw = raw_new(NULL);

    for (int i = 0; i < 8; i++)
        raw_put(raw, "a", "");
    hf_sim_etcd_compact(raw->sim, 2);
    hf_sim_run_ms(raw->sim, 100);
    raw_watch(raw, "a", 7); /* just what is compacted: still there */
    hf_sim_run_ms(raw->sim, 200);
    assert_int_equal(raw->compacted, 0);
    assert_int_equal(raw->event_count, 3);
    raw_watch(raw, "a", 6);
    hf_sim_run_ms(raw->sim, 200);
    assert_int_equal(raw->compacted, 7);
    raw_free(raw);
}

/* ----------------------------------------------------------------- users -- */

TEST(a_token_is_forgotten_when_it_is_not_used)
{
    struct hf_sim_config config = hf_sim_config_etcd(1);
    struct raw *raw;

    config.etcd.auth = true;
    config.etcd.token_ttl_ms = 2000;
    raw = raw_new(&config);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_INVALID_ARGUMENT);
    raw_authenticate(raw);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_OK);
    hf_sim_run_ms(raw->sim, 1500);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_OK);
    hf_sim_run_ms(raw->sim, 2100);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_UNAUTHENTICATED);
    raw_authenticate(raw);
    hf_sim_etcd_change_auth(raw->sim);
    hf_sim_run_ms(raw->sim, 100);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_INVALID_ARGUMENT);
    raw_free(raw);
}

/* -------------------------------------------------------------- no space -- */

TEST(the_write_that_fills_the_database_is_carried_out_and_refused)
{
    struct raw *raw = raw_new(NULL);
    struct raw_txn txn = {0};
    struct raw_key key;

    (void)raw_grant(raw, LEASE, 60);
    raw_put(raw, "gone", "");
    hf_sim_etcd_fill(raw->sim);
    assert_int_equal(raw_put_status(raw, "a"), HF_GRPC_RESOURCE_EXHAUSTED);
    assert_true(raw_get(raw, "a", &key));
    hf_sim_run_ms(raw->sim, 1000);
    assert_int_equal(raw_put_status(raw, "b"), HF_GRPC_RESOURCE_EXHAUSTED);
    assert_false(raw_get(raw, "b", &key));
    assert_int_equal(raw_keep_alive(raw, LEASE), 60);
    raw_txn_delete(&txn, "gone");
    assert_true(raw_txn_succeeds(raw, &txn));
    hf_sim_etcd_make_room(raw->sim);
    hf_sim_run_ms(raw->sim, 1000);
    assert_int_equal(raw_put_status(raw, "b"), HF_GRPC_OK);
    raw_free(raw);
}

/* --------------------------------------------------------------- members -- */

TEST(calls_of_one_connection_are_carried_out_in_any_order)
{
    struct raw *raw = raw_new(NULL);
    struct raw_key a, b;
    unsigned turned = 0;

    for (int i = 0; i < 100; i++) {
        raw_put_start(raw, "a");
        raw_put_start(raw, "b");
        hf_sim_run_ms(raw->sim, 50);
        assert_true(raw_get(raw, "a", &a) && raw_get(raw, "b", &b));
        turned += a.mod > b.mod;
    }
    assert_in_range(turned, 1, 99);
    raw_free(raw);
}

TEST(a_request_to_a_frozen_member_takes_effect_much_later)
{
    unsigned late = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct hf_sim_config config = hf_sim_config_etcd(seed);
        struct raw *raw = raw_new(&config), *other;
        struct raw_key key;
        int follower = (hf_sim_etcd_leader(raw->sim) + 1) % 3;

        raw_reconnect(raw, follower);
        other = raw_connect(raw, (follower + 1) % 3);
        hf_sim_etcd_freeze(raw->sim, follower, false);
        raw_put_start(raw, "a");
        hf_sim_run_ms(raw->sim, 10);
        raw_close(raw);
        hf_sim_run_ms(raw->sim, 30000);
        assert_false(raw_get(other, "a", &key));
        hf_sim_etcd_thaw(raw->sim, follower);
        hf_sim_run_ms(raw->sim, 1000);
        late += raw_get(other, "a", &key);
        raw_close(other);
        raw_free(raw);
    }
    assert_in_range(late, 5, 35);
}

TEST(what_a_majority_has_survives_every_restart)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct hf_sim_config config = hf_sim_config_etcd(seed);
        struct raw *raw;
        struct raw_key key;

        config.etcd.members = 5;
        raw = raw_new(&config);
        for (int i = 0; i < 5; i++) {
            int leader = hf_sim_etcd_leader(raw->sim);
            char name[] = "k0";

            name[1] = (char)('0' + i);
            raw_reconnect(raw, leader);
            raw_put(raw, name, "");
            hf_sim_etcd_stop(raw->sim, leader, i % 2 == 0);
            hf_sim_run_ms(raw->sim, 4000);
            hf_sim_etcd_start(raw->sim, leader);
            hf_sim_run_ms(raw->sim, 1000);
        }
        raw_reconnect(raw, hf_sim_etcd_leader(raw->sim));
        for (int i = 0; i < 5; i++) {
            char name[] = "k0";

            name[1] = (char)('0' + i);
            assert_true(raw_get(raw, name, &key));
            assert_int_equal(key.create, 2 + i);
        }
        raw_free(raw);
    }
}
