/* SPDX-License-Identifier: Apache-2.0 */
/* Which node of a Redis Cluster has which hash slot, as the nodes say it,
 * also nonsense. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "engines/redis/redis_private.h"

/* ----------------------------------------------------------------- slots -- */

/* Examples of the specification and of the documentation of CLUSTER KEYSLOT. */
TEST(test_slots_of_keys)
{
    static const struct {
        const char *key;
        unsigned slot;
    } keys[] = {
        {"123456789", 0x31c3},   {"somekey", 11058},
        {"foo{hash_tag}", 2515}, {"bar{hash_tag}", 2515},
        {"foo", 12182},          {"bar", 5061},
        {"hello", 866},          {"", 0},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_int_equal(hf_redis_hash_slot(keys[i].key), keys[i].slot);
}

TEST(test_hash_tags)
{
    static const char *const equal[][2] = {
        {"{user1000}.following", "{user1000}.followers"},
        {"{user1000}.following", "user1000"},
        {"foo{{bar}}zap", "{bar"},
        {"foo{bar}{zap}", "bar"},
    };

    for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++)
        assert_int_equal(hf_redis_hash_slot(equal[i][0]),
                         hf_redis_hash_slot(equal[i][1]));
    /* Nothing is between the first braces, so the whole key counts. */
    assert_int_not_equal(hf_redis_hash_slot("foo{}{bar}"),
                         hf_redis_hash_slot("bar"));
    assert_int_not_equal(hf_redis_hash_slot("foo{}{bar}"),
                         hf_redis_hash_slot("foo{}"));
    assert_int_not_equal(hf_redis_hash_slot("foo{bar"),
                         hf_redis_hash_slot("bar"));
}

/* Also of the key of redis-py, where the name needs no escape. */
TEST(test_keys_of_a_queue_are_in_one_slot)
{
    static const char *const queues[] = {"a", "a/b", "a/", "x}y", "{x}", "50%"};
    static const char *const words[] = {"until", "tickets", "last", "watchers",
                                        "holder"};
    char key[HF_REDIS_KEY_BYTES];

    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
            hf_redis_key(queues[i], words[j], key);
            assert_int_equal(hf_redis_hash_slot(key),
                             hf_redis_hash_slot_of_queue(queues[i]));
        }
    }
    assert_int_equal(hf_redis_hash_slot_of_queue("a/b"),
                     hf_redis_hash_slot("a/b"));
}

/* ------------------------------------------------------------- redirects -- */

TEST(test_redirects)
{
    static const struct {
        const char *error;
        struct hf_redis_redirect read;
    } errors[] = {
        {"MOVED 3999 127.0.0.1:6381",
         {HF_REDIS_MOVED, 3999, {"127.0.0.1", 6381}}},
        {"ASK 0 node-1.example:1", {HF_REDIS_ASK, 0, {"node-1.example", 1}}},
        {"MOVED 16383 2001:db8::1:65535",
         {HF_REDIS_MOVED, 16383, {"2001:db8::1", 65535}}},
        {"MOVED 1 :6379", {HF_REDIS_MOVED, 1, {"", 6379}}},
        {"MOVED 1 ?:6379", {HF_REDIS_MOVED, 1, {"", 6379}}},
    };
    struct hf_redis_redirect redirect;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        assert_true(hf_redis_redirect_read(&redirect, errors[i].error));
        assert_int_equal(redirect.kind, errors[i].read.kind);
        assert_int_equal(redirect.slot, errors[i].read.slot);
        assert_string_equal(redirect.to.name, errors[i].read.to.name);
        assert_int_equal(redirect.to.port, errors[i].read.to.port);
    }
}

TEST(test_what_is_no_redirect)
{
    static const char *const errors[] = {
        "",
        "MOVED",
        "MOVED ",
        "MOVED 1",
        "MOVED 1 ",
        "MOVED 1 host",
        "MOVED 1 host:",
        "MOVED 1 host:0",
        "MOVED 1 host:65536",
        "MOVED 1 host:99999999999999999999",
        "MOVED 1 host:6379 ",
        "MOVED 16384 host:6379",
        "MOVED -1 host:6379",
        "MOVED 99999999999999999999 host:6379",
        "MOVED x host:6379",
        "MOVED  host:6379",
        "moved 1 host:6379",
        "ASKED 1 host:6379",
        "ERR MOVED 1 host:6379",
        "TRYAGAIN Multiple keys request during rehashing of slot",
    };
    struct hf_redis_redirect redirect;
    char text[HF_REDIS_HOST_BYTES + 32];

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        assert_false(hf_redis_redirect_read(&redirect, errors[i]));
    (void)snprintf(text, sizeof text, "MOVED 1 %0*d:6379",
                   HF_REDIS_HOST_BYTES - 1, 0);
    assert_true(hf_redis_redirect_read(&redirect, text));
    (void)snprintf(text, sizeof text, "MOVED 1 %0*d:6379", HF_REDIS_HOST_BYTES,
                   0);
    assert_false(hf_redis_redirect_read(&redirect, text));
}

/* ----------------------------------------------------------------- nodes -- */

TEST(test_which_nodes_there_are)
{
    static const char nodes[] =
        "a1 10.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-5\n"
        "a2 10.0.0.2:7002@17002,two.example master - 0 0 2 connected\n"
        "a3 ::1:7003@17003,three,shard-id=f slave a1 0 0 3 connected\n"
        "a4 10.0.0.4:7004@17004 handshake - 0 0 0 disconnected\n"
        "a5 10.0.0.5:7005@17005 master,noaddr - 0 0 0 disconnected\n"
        "a6 :7006@17006 master - 0 0 0 disconnected\n"
        "10.0.0.7:7007@17007\n\n@ @ @\n"
        "a8 10.0.0.8:7008@17008,";
    static const struct {
        struct hf_redis_host host;
        bool named;
    } rows[] = {
        {{"10.0.0.1", 7001}, true},
        {{"10.0.0.1", 7002}, false},
        {{"10.0.0.1", 700}, false},
        {{"10.0.0.2", 7002}, true},
        {{"two.example", 7002}, true},
        {{"TWO.example", 7002}, false},
        {{"two.exampl", 7002}, false},
        {{"::1", 7003}, true},
        {{"three", 7003}, true},
        {{"shard-id=f", 7003}, false},
        {{"10.0.0.4", 7004}, false},
        {{"10.0.0.5", 7005}, false},
        {{"10.0.0.6", 7006}, false},
        {{"", 7002}, true},
        {{"", 7006}, true},
        {{"", 7004}, false},
        {{"", 17001}, false},
        {{"10.0.0.7", 7007}, false},
        {{"10.0.0.8", 7008}, true},
        {{"10.0.0.2 ", 7002}, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (hf_redis_nodes_include(nodes, &rows[i].host) != rows[i].named)
            fail_msg("%s:%u", rows[i].host.name, rows[i].host.port);
    }
    assert_false(hf_redis_nodes_include("", &rows[0].host));
    assert_false(hf_redis_nodes_include("\n \n  \n", &rows[0].host));
}

/* ------------------------------------------------------------------- map -- */

static struct hf_engine engine;
static struct hf_store *store;
static struct hf_redis_node *teller;

static int begin(void **state)
{
    static const struct hf_redis_host host = {"10.0.0.1", 7001};

    (void)state;
    engine = (struct hf_engine){.loop = uv_default_loop()};
    store = hf_alloc(sizeof *store);
    assert_non_null(store);
    store->shared.engine = &engine;
    teller = hf_redis_node_get(store, &host, NULL);
    assert_non_null(teller);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    hf_redis_nodes_free(store);
    hf_free(store->slot_map);
    hf_free(store);
    (void)uv_run(engine.loop, UV_RUN_DEFAULT);
    return 0;
}

static bool take(const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    bool taken;

    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    taken = hf_redis_slot_map_read(store, teller, reply);
    if (taken)
        hf_redis_nodes_prune(store);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return taken;
}

static const char *owner(unsigned slot)
{
    static char text[HF_REDIS_HOST_TEXT_BYTES];
    const struct hf_redis_node *node = store->slot_map->owners.of[slot];

    if (node == NULL)
        return "nobody";
    hf_redis_host_format(&node->host, text);
    return text;
}

#define HALF                                                                   \
    "*4\r\n:0\r\n:8191\r\n*3\r\n$8\r\n10.0.0.2\r\n:7002\r\n$1\r\nx\r\n"        \
    "*2\r\n$8\r\n10.0.0.9\r\n:7009\r\n"

TEST_WITH(test_a_map, begin, finish)
{
    assert_true(take("*2\r\n" HALF
                     "*3\r\n:8193\r\n:16383\r\n*3\r\n$-1\r\n:7003\r\n*0\r\n"));
    assert_string_equal(owner(0), "10.0.0.2:7002");
    assert_string_equal(owner(8191), "10.0.0.2:7002");
    assert_string_equal(owner(8192), "nobody");
    assert_string_equal(owner(8193), "10.0.0.1:7003");
    assert_string_equal(owner(16383), "10.0.0.1:7003");
    assert_int_equal(store->node_count, 3); /* replicas are none of ours */
    /* A later one replaces it. */
    assert_true(take("*1\r\n*3\r\n:5\r\n:5\r\n*2\r\n$1\r\n?\r\n:7001\r\n"));
    assert_string_equal(owner(0), "nobody");
    assert_ptr_equal(store->slot_map->owners.of[5], teller);
    assert_true(take("*0\r\n"));
    assert_string_equal(owner(5), "nobody");
}

static bool is_named(const char *name, uint16_t port)
{
    struct hf_redis_host host = {.port = port};

    (void)snprintf(host.name, sizeof host.name, "%s", name);
    return hf_redis_node_find_trusted(store, &host, teller) != NULL;
}

TEST_WITH(test_only_the_url_and_the_map_name_nodes, begin, finish)
{
    assert_false(is_named("10.0.0.1", 7001));
    store->config.hosts[0] = teller->host;
    store->config.host_count = 1;
    assert_true(take("*1\r\n" HALF));
    assert_true(is_named("10.0.0.1", 7001)); /* by the URL */
    assert_true(is_named("", 7001));
    assert_true(is_named("10.0.0.2", 7002));
    assert_false(is_named("10.0.0.9", 7009));
    assert_false(take("*2\r\n" HALF "*1\r\n:9000\r\n"));
    assert_true(is_named("10.0.0.2", 7002));
    assert_true(take("*0\r\n"));
    assert_true(is_named("10.0.0.1", 7001));
    assert_false(is_named("10.0.0.2", 7002)); /* it has left */
}

TEST_WITH(test_nonsense_leaves_the_map_as_it_is, begin, finish)
{
    static const char *const maps[] = {
        "+OK\r\n",
        "$-1\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n$1\r\n0\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\nh\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:0\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:65536\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n$1\r\n1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n$1\r\nh\r\n",
        ("*2\r\n" HALF "*1\r\n:9000\r\n"),
    };

    assert_true(take("*1\r\n*3\r\n:7\r\n:7\r\n*2\r\n$1\r\nh\r\n:1\r\n"));
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        assert_false(take(maps[i]));
        assert_string_equal(owner(7), "h:1");
        assert_string_equal(owner(0), "nobody");
    }
}

TEST_WITH(test_nodes_that_left_are_forgotten_when_they_are_many, begin, finish)
{
    char text[128];

    for (unsigned i = 0; i < 3 * HF_REDIS_NODES_MAX; i++) {
        (void)snprintf(text, sizeof text,
                       "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nh\r\n:%u\r\n",
                       1000 + i);
        store->default_node = teller;
        assert_true(take(text));
        assert_int_equal(store->slot_map->owners.of[0]->host.port, 1000 + i);
        assert_in_range(store->node_count, 1, HF_REDIS_NODES_MAX);
    }
    assert_ptr_equal(store->nodes[0], teller);
}
