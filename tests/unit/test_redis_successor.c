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
static struct hf_store_call examination, other_call;
static const struct hf_store_call *sent;
static char why[HF_CONNECTION_TEXT_BYTES];

/* ------------------------------------------------- in place of the machine */

uint64_t __wrap_hf_redis_store_now_ms(const struct hf_store *of);
uint64_t __wrap_hf_redis_store_now_ms(const struct hf_store *of)
{
    (void)of;
    return now_ms;
}

void __wrap_hf_redis_store_wake_by(struct hf_store *of, uint64_t at_ms);
void __wrap_hf_redis_store_wake_by(struct hf_store *of, uint64_t at_ms)
{
    of->wake_at_ms = at_ms < of->wake_at_ms ? at_ms : of->wake_at_ms;
}

struct hf_redis_link *
__wrap_hf_redis_link_new(struct hf_redis_link_shared *shared,
                         const struct hf_redis_config *config,
                         const struct hf_redis_link_listener *listener);
struct hf_redis_link *
__wrap_hf_redis_link_new(struct hf_redis_link_shared *shared,
                         const struct hf_redis_config *config,
                         const struct hf_redis_link_listener *listener)
{
    assert_ptr_equal(shared, &store.shared);
    assert_ptr_equal(config, &ours.config);
    look.listener = *listener;
    return &look;
}

void __wrap_hf_redis_link_open(struct hf_redis_link *link, const char *session);
void __wrap_hf_redis_link_open(struct hf_redis_link *link, const char *session)
{
    assert_ptr_equal(link, &look);
    assert_int_equal(link->state, HF_REDIS_LINK_CLOSED);
    assert_string_equal(session, "session");
    link->state = HF_REDIS_LINK_CONNECTING;
    opened++;
}

void __wrap_hf_redis_link_close(struct hf_redis_link *link);
void __wrap_hf_redis_link_close(struct hf_redis_link *link)
{
    assert_ptr_equal(link, &look);
    link->state = HF_REDIS_LINK_CLOSED;
}

void __wrap_hf_redis_link_free(struct hf_redis_link *link);
void __wrap_hf_redis_link_free(struct hf_redis_link *link)
{
    assert_ptr_equal(link, &look);
    freed++;
}

void __wrap_hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                               const char *what, const char *text);
void __wrap_hf_redis_link_down(struct hf_redis_link *link, hf_status status,
                               const char *what, const char *text)
{
    assert_ptr_equal(link, &ours);
    assert_int_equal(status, HF_EUNREACHABLE);
    (void)snprintf(why, sizeof why, "%s%s", what, text);
    ended++;
}

void __wrap_hf_redis_link_call(struct hf_redis_link *link,
                               struct hf_store_call *call);
void __wrap_hf_redis_link_call(struct hf_redis_link *link,
                               struct hf_store_call *call)
{
    assert_ptr_equal(link, &ours);
    sent = call;
}

/* --------------------------------------------------------------- scripts -- */

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
    sent = NULL;
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
    assert_int_equal(look.state, HF_REDIS_LINK_CONNECTING);
    set_ids(&look, run_id, replication_id, earlier);
    look.listener.up(look.listener.arg, &look, 0);
    assert_int_equal(look.state,
                     HF_REDIS_LINK_CLOSED); /* it has served its purpose */
    return ended > before;
}

#define LOOK(test) TEST_WITH(test, set_up, NULL)

/* ----------------------------------------------------------------- tests -- */

LOOK(a_replica_of_ours_that_was_promoted_is_gone_to)
{
    assert_true(left_for("run-2", "replication-2", "replication-1"));
    assert_non_null(strstr(why, "was promoted in its place"));
}

LOOK(ours_itself_is_no_successor)
{
    assert_false(left_for("run-1", "replication-1", "0000"));
    /* Promoted meanwhile: an INFO of the look is newer than that of ours. */
    assert_false(left_for("run-1", "replication-2", "replication-1"));
}

LOOK(a_server_without_our_history_is_no_successor)
{
    assert_false(left_for("run-2", "replication-2", "0000"));
    assert_false(left_for("run-2", "replication-2", "replication-3"));
    /* A replica of ours has our id as its own.  Its handshake refuses it. */
    assert_false(left_for("run-2", "replication-1", "0000"));
    /* Both were promoted from one that has ended: neither is of the other. */
    set_ids(&ours, "run-1", "replication-1", "replication-0");
    assert_false(left_for("run-2", "replication-2", "replication-0"));
}

/* The one that ours was a replica of is back: it is older, and not newer. */
LOOK(the_predecessor_is_no_successor)
{
    set_ids(&ours, "run-2", "replication-2", "replication-1");
    assert_false(left_for("run-1", "replication-1", "0000"));
}

LOOK(without_info_nothing_is_known)
{
    set_ids(&ours, "", "", "");
    assert_false(left_for("run-2", "replication-2", ""));
    assert_false(left_for("run-2", "", ""));
}

LOOK(a_look_is_made_each_ttl_and_not_before)
{
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

LOOK(a_look_that_fails_says_nothing)
{
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    look.state = HF_REDIS_LINK_CLOSED;
    look.listener.down(look.listener.arg, &look, HF_EUNREACHABLE, "refused");
    assert_int_equal(ended, 0);
    assert_true(store.look_at_ms == now_ms + TTL_MS);
}

LOOK(a_socket_file_leads_nowhere_else)
{
    (void)snprintf(store.config.path, sizeof store.config.path, "/run/redis");
    hf_redis_successor_watch(&store);
    assert_null(store.look);
    hf_redis_successor_tick(&store);
    hf_redis_successor_stop(&store);
    hf_redis_successor_free(&store);
    assert_int_equal(opened + freed, 0);
}

LOOK(a_link_that_ended_is_not_looked_at)
{
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    hf_redis_successor_stop(&store);
    assert_int_equal(look.state, HF_REDIS_LINK_CLOSED);
    now_ms += 10 * TTL_MS;
    hf_redis_successor_tick(&store);
    assert_int_equal(opened, 1);
    hf_redis_successor_free(&store);
    assert_int_equal(freed, 1);
    assert_null(store.look);
}

/* ---------------------------------------------------------- examinations -- */

/* An EXAMINE, whose look finds a server with these ids. */
static void examine(const char *run_id, const char *replication_id,
                    const char *earlier)
{
    hf_redis_successor_watch(&store);
    hf_redis_successor_examine(&store, &examination);
    assert_null(sent); /* it waits */
    set_ids(&look, run_id, replication_id, earlier);
    look.listener.up(look.listener.arg, &look, 0);
    assert_ptr_equal(sent, &examination);
    assert_int_equal(look.state, HF_REDIS_LINK_CLOSED);
    assert_int_equal(ended, 0); /* ours is examined, and not left */
    assert_true(store.look_at_ms == now_ms + TTL_MS);
    sent = NULL;
}

/* The one finding is so. */
static void assert_found(enum hf_severity severity, const char *text)
{
    struct hf_finding_list findings;

    hf_redis_successor_take_findings(&store, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].id, "redis-primaries");
    assert_int_equal(findings.items[0].severity, severity);
    assert_non_null(strstr(findings.items[0].text, text));
    hf_finding_list_free(&findings);
    hf_redis_successor_take_findings(&store, &findings);
    assert_int_equal(findings.count, 0);
}

LOOK(an_examination_says_what_a_second_link_reaches)
{
    examine("run-1", "replication-1", "0000");
    assert_found(HF_SEVERITY_OK, "the same server");
    examine("run-2", "replication-2", "replication-1");
    assert_found(HF_SEVERITY_ERROR, "promoted in place of the first");
    examine("run-2", "replication-2", "0000");
    assert_found(HF_SEVERITY_ERROR, "neither was promoted");
    examine("", "", "");
    assert_found(HF_SEVERITY_UNKNOWN, "without its INFO");
    set_ids(&ours, "run-2", "replication-2", "replication-1");
    examine("run-1", "replication-1", "0000");
    assert_found(HF_SEVERITY_ERROR, "the first was promoted in its place");
    examine("run-2", "replication-2", "replication-1");
    assert_found(HF_SEVERITY_UNKNOWN, "replication-1");
}

LOOK(an_examination_goes_on_without_a_second_link)
{
    uint64_t limit_ms;

    hf_redis_successor_watch(&store);
    hf_redis_successor_examine(&store, &examination);
    look.state = HF_REDIS_LINK_CLOSED;
    look.listener.down(look.listener.arg, &look, HF_EUNREACHABLE, "refused");
    assert_ptr_equal(sent, &examination);
    assert_found(HF_SEVERITY_UNKNOWN, "refused");
    sent = NULL;
    hf_redis_successor_examine(&store, &examination);
    limit_ms = store.look_at_ms - now_ms;
    assert_true(limit_ms < hf_redis_node_timeout_ms(&store));
    now_ms += limit_ms;
    hf_redis_successor_tick(&store);
    assert_ptr_equal(sent, &examination);
    assert_found(HF_SEVERITY_UNKNOWN, "no answer");
    assert_true(store.look_at_ms == now_ms + TTL_MS);
}

/* Also a look that is under way, which has not the same purpose. */
LOOK(an_examination_begins_a_look_of_its_own)
{
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    hf_redis_successor_examine(&store, &examination);
    assert_int_equal(opened, 2);
    hf_redis_successor_examine(&store, &other_call); /* it waits for none */
    assert_int_equal(opened, 2);
    assert_ptr_equal(sent, &other_call);
}

/* What was under way belongs to the leased client again. */
LOOK(an_examination_ends_with_the_link)
{
    struct hf_finding_list findings;

    examine("run-1", "replication-1", "0000");
    hf_redis_successor_examine(&store, &examination);
    hf_redis_successor_stop(&store);
    hf_redis_successor_watch(&store);
    now_ms = store.look_at_ms;
    hf_redis_successor_tick(&store);
    assert_null(sent);
    hf_redis_successor_take_findings(&store, &findings);
    assert_int_equal(findings.count, 0);
}

LOOK(a_socket_file_is_examined_without_a_look)
{
    (void)snprintf(store.config.path, sizeof store.config.path, "/run/redis");
    hf_redis_successor_watch(&store);
    hf_redis_successor_examine(&store, &examination);
    assert_ptr_equal(sent, &examination);
}
