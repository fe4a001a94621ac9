/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on their way to the nodes of a Redis Cluster: when a node that does not
 * answer is given up, and what a redirect changes.  The links are those of the
 * test, which also answers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "engines/redis/redis_private.h"

#define TTL_MS UINT64_C(8000)
#define QUEUE "nightly"

static struct hf_engine engine;
static struct hf_store store;
static struct hf_redis_node nodes[2];
static struct hf_redis_link links[2];
static uint64_t now_ms;
static unsigned slots_asked, warnings;

/* The call that a link was handed last, and by which link. */
static struct hf_store_call *sent;
static const struct hf_redis_link *sent_by;

/* The answer that the leased client got last. */
static bool answered;
static hf_status status;
static size_t missing;

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
    (void)of;
    (void)at_ms;
}

void __wrap_hf_redis_link_call(struct hf_redis_link *link,
                               struct hf_store_call *call);
void __wrap_hf_redis_link_call(struct hf_redis_link *link,
                               struct hf_store_call *call)
{
    sent = call;
    sent_by = link;
}

void __wrap_hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                            struct hf_store_call *call);
void __wrap_hf_redis_link_call_after_asking(struct hf_redis_link *link,
                                            struct hf_store_call *call)
{
    __wrap_hf_redis_link_call(link, call);
}

void __wrap_hf_redis_link_ask_slots(struct hf_redis_link *link);
void __wrap_hf_redis_link_ask_slots(struct hf_redis_link *link)
{
    (void)link;
    slots_asked++;
}

void __wrap_hf_leased_answered(struct hf_leased *leased,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t at_ms);
void __wrap_hf_leased_answered(struct hf_leased *leased,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t at_ms)
{
    (void)leased;
    (void)call;
    (void)at_ms;
    assert_int_equal(answer->ok, answer->status == HF_OK);
    answered = true;
    status = answer->status;
    missing = 0;
    for (size_t i = 0; i < answer->count; i++)
        missing += answer->leases[i].missing;
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    (void)arg;
    (void)format;
    assert_int_equal(level, HF_LOG_WARNING);
    warnings++;
}

/* --------------------------------------------------------------- scripts -- */

/* A cluster of two nodes; the first one has all slots. */
static int set_up(void **state)
{
    (void)state;
    memset(&store, 0, sizeof store);
    memset(nodes, 0, sizeof nodes);
    engine.host.log = on_log;
    store.shared.engine = &engine;
    store.config.ttl_ms = TTL_MS;
    store.up = store.clustered = true;
    store.slot_map = hf_alloc(sizeof *store.slot_map);
    assert_non_null(store.slot_map);
    for (size_t i = 0; i < 2; i++) {
        nodes[i].store = &store;
        nodes[i].host = (struct hf_redis_host){"127.0.0.1", (uint16_t)(i + 1)};
        nodes[i].link = &links[i];
        nodes[i].up = nodes[i].trusted = true;
        store.nodes[store.node_count++] = &nodes[i];
    }
    for (size_t slot = 0; slot < HF_REDIS_HASH_SLOTS; slot++)
        store.slot_map->owners.of[slot] = &nodes[0];
    now_ms = 1000;
    slots_asked = warnings = 0;
    sent = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_redis_routed_calls_clear(&store);
    hf_free(store.slot_map);
    return 0;
}

/* Renew one ticket; the node answers with ${outcome}. */
static void renew(hf_status outcome)
{
    static const struct hf_ticket_id id = {{1}};
    const struct hf_store_ticket_set set = {
        .queue = QUEUE, .tickets = &id, .count = 1};
    struct hf_store_call call = {
        .kind = HF_STORE_RENEW, .ticket_sets = &set, .ticket_set_count = 1};
    struct hf_store_answer answer = {.ok = outcome == HF_OK,
                                     .failure = HF_FAILURE_UNSURE,
                                     .status = outcome,
                                     .text = "as the test wants it"};

    answered = false;
    hf_redis_routed_calls_begin(&store, &call);
    hf_redis_routed_call_answered(&store, (struct hf_redis_routed_call *)sent,
                                  &answer);
    assert_true(answered);
}

/* List the queue; the first node says that ${kind} leads to the second one,
 * which gets the call. */
static void list_and_redirect(enum hf_redis_redirect_kind kind)
{
    struct hf_store_call call = {.kind = HF_STORE_LIST, .queue = QUEUE};
    const struct hf_redis_redirect redirect = {
        kind, hf_redis_hash_slot_of_queue(QUEUE), nodes[1].host};
    const struct hf_store_answer answer = {.ok = true};

    hf_redis_routed_call_begin(&store, &call, NULL, NULL);
    assert_ptr_equal(sent_by, &links[0]);
    hf_redis_routed_call_redirected(&store, (struct hf_redis_routed_call *)sent,
                                    &redirect);
    assert_ptr_equal(sent_by, &links[1]);
    hf_redis_routed_call_answered(&store, (struct hf_redis_routed_call *)sent,
                                  &answer);
}

/* ----------------------------------------------------------------- tests -- */

#define STORE_TEST(name) TEST_WITH(name, set_up, tear_down)

/* Until then the call fails, and the session proves nothing. */
STORE_TEST(a_node_is_given_up_after_five_eighths_of_the_ttl)
{
    renew(HF_OK);
    now_ms += TTL_MS / 8 * 5 - 1;
    renew(HF_EUNREACHABLE);
    assert_int_equal(status, HF_EUNREACHABLE);
    assert_int_equal(warnings, 0);
    now_ms++;
    renew(HF_EUNREACHABLE);
    assert_int_equal(status, HF_OK);
    assert_int_equal(missing, 1);
    assert_int_equal(warnings, 1);
}

/* More slots may have moved with this one. */
STORE_TEST(a_slot_that_has_moved_has_the_map_read_again)
{
    list_and_redirect(HF_REDIS_MOVED);
    assert_int_equal(slots_asked, 1);
    assert_ptr_equal(
        store.slot_map->owners.of[hf_redis_hash_slot_of_queue(QUEUE)],
        &nodes[1]);
}

STORE_TEST(a_slot_that_moves_is_still_where_it_was)
{
    list_and_redirect(HF_REDIS_ASK);
    assert_int_equal(slots_asked, 0);
    assert_ptr_equal(
        store.slot_map->owners.of[hf_redis_hash_slot_of_queue(QUEUE)],
        &nodes[0]);
}
