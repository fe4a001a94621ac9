/* SPDX-License-Identifier: Apache-2.0 */
/* The look for a Redis server that was promoted in place of ours.  The links
 * are those of the test: what a second one finds at the address is scripted. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/redis/redis_private.h"

#define TTL_MS UINT64_C(40000)

static struct hf_store store;
static struct hf_redis_node node;
static struct hf_redis_link ours, look;
static uint64_t now_ms;
static unsigned opened, ended, freed;
static char why[HF_CONNECTION_TEXT_BYTES];

/* ------------------------------------------------- in place of the machine */

uint64_t hf_redis_store_now_ms(const struct hf_store *of)
{
    (void)of;
    return now_ms;
}

void hf_redis_store_wake_by(struct hf_store *of, uint64_t at_ms)
{
    of->wake_at_ms = at_ms < of->wake_at_ms ? at_ms : of->wake_at_ms;
}

struct hf_redis_link *hf_redis_link_new(struct hf_redis_link_shared *shared,
                                        const struct hf_redis_config *config,
                                        const struct hf_redis_link_user *user)
{
    assert_ptr_equal(shared, &store.shared);
    assert_ptr_equal(config, &ours.config);
    look.user = *user;
    return &look;
}

void hf_redis_link_open(struct hf_redis_link *link, const char *session)
{
    assert_ptr_equal(link, &look);
    assert_false(link->open);
    assert_string_equal(session, "session");
    link->open = true;
    opened++;
}

void hf_redis_link_close(struct hf_redis_link *link)
{
    assert_ptr_equal(link, &look);
    link->open = false;
}

void hf_redis_link_free(struct hf_redis_link *link)
{
    assert_ptr_equal(link, &look);
    freed++;
}

void hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                        const char *what, const char *text)
{
    assert_ptr_equal(link, &ours);
    assert_int_equal(status, HF_EUNREACHABLE);
    (void)snprintf(why, sizeof why, "%s%s", what, text);
    ended++;
}

/* ---------------------------------------------------------------- scripts --
 */

static void set_ids(struct hf_redis_link *link, const char *run_id,
                    const char *replication_id, const char *earlier)
{
    (void)snprintf(link->run_id, sizeof link->run_id, "%s", run_id);
    (void)snprintf(link->replication_id, sizeof link->replication_id, "%s",
                   replication_id);
    (void)snprintf(link->earlier_replication_id,
                   sizeof link->earlier_replication_id, "%s", earlier);
}

static int set_up(void **state)
{
    (void)state;
    memset(&store, 0, sizeof store);
    memset(&ours, 0, sizeof ours);
    memset(&look, 0, sizeof look);
    node.link = &ours;
    store.default_node = &node;
    store.config.ttl_ms = TTL_MS;
    store.look_at_ms = store.wake_at_ms = HF_FOREVER;
    (void)snprintf(store.session, sizeof store.session, "session");
    set_ids(&ours, "run-1", "replication-1", "0000");
    now_ms = 1000;
    opened = ended = freed = 0;
    why[0] = '\0';
    return 0;
}

/* A look is due, and finds a server with these ids.  Is ours left? */
static bool left_for(const char *run_id, const char *replication_id,
                     const char *earlier)
{
    unsigned before = ended;

    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    assert_true(look.open);
    set_ids(&look, run_id, replication_id, earlier);
    look.user.up(look.user.arg, &look, 0);
    assert_false(look.open); /* it has served its purpose */
    return ended > before;
}

/* ------------------------------------------------------------------ tests --
 */

static void a_replica_of_ours_that_was_promoted_is_gone_to(void **state)
{
    (void)state;
    assert_true(left_for("run-2", "replication-2", "replication-1"));
    assert_non_null(strstr(why, "was promoted in its place"));
}

static void ours_itself_is_no_successor(void **state)
{
    (void)state;
    assert_false(left_for("run-1", "replication-1", "0000"));
    /* Promoted meanwhile: an INFO of the look is newer than that of ours. */
    assert_false(left_for("run-1", "replication-2", "replication-1"));
}

static void a_server_without_our_history_is_no_successor(void **state)
{
    (void)state;
    assert_false(left_for("run-2", "replication-2", "0000"));
    assert_false(left_for("run-2", "replication-2", "replication-3"));
    /* A replica of ours has our id as its own.  Its handshake refuses it. */
    assert_false(left_for("run-2", "replication-1", "0000"));
    /* Both were promoted from one that has ended: neither is of the other. */
    set_ids(&ours, "run-1", "replication-1", "replication-0");
    assert_false(left_for("run-2", "replication-2", "replication-0"));
}

/* The one that ours was a replica of is back: it is older, and not newer. */
static void the_predecessor_is_no_successor(void **state)
{
    (void)state;
    set_ids(&ours, "run-2", "replication-2", "replication-1");
    assert_false(left_for("run-1", "replication-1", "0000"));
}

static void without_info_nothing_is_known(void **state)
{
    (void)state;
    set_ids(&ours, "", "", "");
    assert_false(left_for("run-2", "replication-2", ""));
    assert_false(left_for("run-2", "", ""));
}

static void a_look_is_made_each_ttl_and_not_before(void **state)
{
    (void)state;
    hf_redis_successor_watch(&store);
    assert_true(store.look_at_ms == 1000 + TTL_MS);
    assert_true(store.wake_at_ms == 1000 + TTL_MS);
    store.wake_at_ms = HF_FOREVER;
    now_ms = 1000 + TTL_MS - 1;
    hf_redis_successor_tick(&store);
    assert_int_equal(opened, 0);
    assert_true(store.wake_at_ms == 1000 + TTL_MS);
    now_ms++;
    store.config.ttl_ms = 1000; /* short ones are no load for a server */
    hf_redis_successor_tick(&store);
    assert_int_equal(opened, 1);
    assert_true(store.look_at_ms == now_ms + 5000);
    now_ms += 5000; /* nothing has answered: anew */
    hf_redis_successor_tick(&store);
    assert_int_equal(opened, 2);
}

static void a_look_that_fails_says_nothing(void **state)
{
    (void)state;
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    look.open = false;
    look.user.down(look.user.arg, &look, HF_EUNREACHABLE, "refused");
    assert_int_equal(ended, 0);
    assert_true(store.look_at_ms == now_ms + TTL_MS);
}

static void a_socket_file_leads_nowhere_else(void **state)
{
    (void)state;
    (void)snprintf(store.config.path, sizeof store.config.path, "/run/redis");
    hf_redis_successor_watch(&store);
    assert_null(store.look);
    hf_redis_successor_tick(&store);
    hf_redis_successor_stop(&store);
    hf_redis_successor_free(&store);
    assert_int_equal(opened + freed, 0);
}

static void a_link_that_ended_is_not_looked_at(void **state)
{
    (void)state;
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    hf_redis_successor_stop(&store);
    assert_false(look.open);
    now_ms += 10 * TTL_MS;
    hf_redis_successor_tick(&store);
    assert_int_equal(opened, 1);
    hf_redis_successor_free(&store);
    assert_int_equal(freed, 1);
    assert_null(store.look);
}

TEST_FILE(redis_successor)
{
#define LOOK(test) cmocka_unit_test_setup(test, set_up)
    const struct CMUnitTest tests[] = {
        LOOK(a_replica_of_ours_that_was_promoted_is_gone_to),
        LOOK(ours_itself_is_no_successor),
        LOOK(a_server_without_our_history_is_no_successor),
        LOOK(the_predecessor_is_no_successor),
        LOOK(without_info_nothing_is_known),
        LOOK(a_look_is_made_each_ttl_and_not_before),
        LOOK(a_look_that_fails_says_nothing),
        LOOK(a_socket_file_leads_nowhere_else),
        LOOK(a_link_that_ended_is_not_looked_at),
    };

    return RUN_TESTS(tests, NULL, NULL);
}
