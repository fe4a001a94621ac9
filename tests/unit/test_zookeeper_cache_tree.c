/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a cache (src/zookeeper_cache/cache_tree.h) against a model of the
 * servers: nodes are created, set and deleted at random while the cache reads
 * them.  Answers may be older than events that came before them, connections
 * end, and allocations fail.  When all is read, the cache has what the servers
 * have, and so has whoever followed what it reported.
 *
 * Both kinds of servers are modelled: those that report each creation, change
 * and deletion, and those with one-shot watches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper_cache/cache.h"
#include "zookeeper_cache/cache_tree.h"

/* The nodes that may be there: a tree with three children of each node.  The
 * parent of node i is (i - 1) / 3. */
#define NODES 40
#define FANOUT 3
#define MESSAGES 4096
#define STEPS 300
#define SEEDS 1000

/* A node of the servers. */
struct server_node {
    bool there;
    bool denied; /* it cannot be read */
    struct hf_zookeeper_stat stat;
    char data[16];
    bool data_watch; /* one-shot ones, of the client */
    bool child_watch;
};

/* A message to the client, in order: an event, or an answer. */
struct message {
    struct hf_cache_node *node; /* NULL: an event */
    enum hf_zookeeper_event_kind kind;
    int about;
    struct hf_zookeeper_result result;
    char data[16];
    char names[FANOUT][2];
    const char *children[FANOUT];
};

struct model {
    unsigned random;
    const char *root; /* the path of node 0 */
    int64_t zxid;
    struct server_node nodes[NODES];
    struct hf_cache_tree tree;
    bool recursive;
    /* Reads that the server has not carried out; it does so in order. */
    struct {
        struct hf_cache_node *node;
        enum hf_zookeeper_op_kind kind;
    } asked[NODES * 8];
    size_t asked_count;
    /* Answers that were made and not sent, and what is on its way. */
    struct message made[NODES * 8];
    size_t made_count;
    struct message sent[MESSAGES];
    size_t sent_count;
    /* What somebody knows who follows the events. */
    struct hf_zookeeper_stat followed[NODES];
    bool follows[NODES];
    int64_t newest[NODES]; /* the newest transaction that was reported */
    size_t marks;
};

static unsigned draw(struct model *m, unsigned below)
{
    m->random = m->random * 1103515245 + 12345;
    return (m->random >> 16) % below;
}

/* ------------------------------------------------------------- the nodes -- */

static void put_path(const struct model *m, int node, char *path, size_t room)
{
    char names[16] = "", more[16];

    for (; node > 0; node = (node - 1) / FANOUT) {
        memcpy(more, names, sizeof more);
        (void)snprintf(names, sizeof names, "/%c%.8s",
                       'a' + (node - 1) % FANOUT, more);
    }
    if (names[0] == '\0')
        (void)snprintf(path, room, "%s", m->root);
    else
        (void)snprintf(path, room, "%s%s", m->root[1] == '\0' ? "" : m->root,
                       names);
}

/* The number of the node with ${path}. */
static int number_of(const struct model *m, const char *path)
{
    char other[64];

    for (int i = 0; i < NODES; i++) {
        put_path(m, i, other, sizeof other);
        if (strcmp(path, other) == 0)
            return i;
    }
    fail_msg("no node %s", path);
    return -1;
}

static int number(const struct model *m, const struct hf_cache_node *node)
{
    size_t bytes = hf_cache_tree_path_bytes(&m->tree, node);
    char path[64] = "";

    assert_true(bytes < sizeof path);
    hf_cache_tree_put_path(&m->tree, node, path);
    return number_of(m, path);
}

static int level(int node)
{
    int levels = 0;

    for (; node > 0; node = (node - 1) / FANOUT)
        levels++;
    return levels;
}

/* ------------------------------------------------------------ the server -- */

static void send_event(struct model *m, enum hf_zookeeper_event_kind kind,
                       int node)
{
    assert_true(m->sent_count < MESSAGES);
    m->sent[m->sent_count++] =
        (struct message){.node = NULL, .kind = kind, .about = node};
}

static void fire(struct model *m, bool *watch,
                 enum hf_zookeeper_event_kind kind, int node)
{
    if (*watch)
        send_event(m, kind, node);
    *watch = false;
}

/* ${node} was created, changed or deleted. */
static void report(struct model *m, enum hf_zookeeper_event_kind kind, int node)
{
    struct server_node *at = &m->nodes[node];

    if (m->recursive) {
        if (m->tree.depth > 0 || node == 0)
            send_event(m, kind, node);
        if (m->tree.depth == 0 && (node - 1) / FANOUT == 0 && node > 0 &&
            kind != HF_ZOOKEEPER_CHANGED)
            send_event(m, HF_ZOOKEEPER_CHILDREN_CHANGED, 0);
        return;
    }
    fire(m, &at->data_watch, kind, node);
    if (kind == HF_ZOOKEEPER_DELETED)
        fire(m, &at->child_watch, kind, node);
    if (kind != HF_ZOOKEEPER_CHANGED && node > 0)
        fire(m, &m->nodes[(node - 1) / FANOUT].child_watch,
             HF_ZOOKEEPER_CHILDREN_CHANGED, (node - 1) / FANOUT);
}

static bool has_children(const struct model *m, int node)
{
    for (int i = 1; i <= FANOUT; i++) {
        if (FANOUT * node + i < NODES && m->nodes[FANOUT * node + i].there)
            return true;
    }
    return false;
}

/* A child of the parent of ${node} was created (1) or deleted (-1). */
static void count_child(struct model *m, int node, int32_t more)
{
    struct hf_zookeeper_stat *stat = &m->nodes[(node - 1) / FANOUT].stat;

    if (node == 0)
        return;
    stat->pzxid = m->zxid;
    stat->cversion++;
    stat->children += more;
}

static void create(struct model *m, int node)
{
    struct server_node *at = &m->nodes[node];

    at->there = true;
    at->denied = draw(m, 12) == 0;
    at->stat = (struct hf_zookeeper_stat){
        .czxid = m->zxid, .mzxid = m->zxid, .pzxid = m->zxid};
    (void)snprintf(at->data, sizeof at->data, "%lld", (long long)m->zxid);
    count_child(m, node, 1);
    report(m, HF_ZOOKEEPER_CREATED, node);
}

/* One transaction of another client. */
static void change_one(struct model *m)
{
    int node = (int)draw(m, NODES);
    struct server_node *at = &m->nodes[node];
    bool has_parent = node == 0 || m->nodes[(node - 1) / FANOUT].there;

    m->zxid++;
    if (!at->there && has_parent) {
        create(m, node);
    } else if (at->there && draw(m, 2) == 0) {
        at->stat.mzxid = m->zxid;
        at->stat.version++;
        (void)snprintf(at->data, sizeof at->data, "%lld", (long long)m->zxid);
        report(m, HF_ZOOKEEPER_CHANGED, node);
    } else if (at->there && !has_children(m, node)) {
        at->there = false;
        count_child(m, node, -1);
        report(m, HF_ZOOKEEPER_DELETED, node);
    }
}

/* The names of the children; the pointers are set when it is given out. */
static void put_children(const struct model *m, int node,
                         struct message *message)
{
    size_t count = 0;

    for (int i = FANOUT; i >= 1; i--) {
        if (FANOUT * node + i < NODES && m->nodes[FANOUT * node + i].there)
            message->names[count++][0] = (char)('a' + i - 1);
    }
    message->result.child_count = count;
}

static void set_watch(struct model *m, struct server_node *at,
                      enum hf_zookeeper_op_kind kind, struct message *message)
{
    hf_status status = message->result.status;

    if (m->recursive || (status != HF_OK &&
                         !(status == HF_EGONE && kind == HF_ZOOKEEPER_EXISTS)))
        return;
    message->result.watching = true;
    if (kind == HF_ZOOKEEPER_CHILDREN)
        at->child_watch = true;
    else
        at->data_watch = true;
}

/* The server carries out the oldest read. */
static void carry_out(struct model *m)
{
    struct hf_cache_node *node = m->asked[0].node;
    enum hf_zookeeper_op_kind kind = m->asked[0].kind;
    struct server_node *at = &m->nodes[number(m, node)];
    struct message message = {.node = node};

    m->asked_count--;
    memmove(m->asked, m->asked + 1, m->asked_count * sizeof *m->asked);
    message.result.status = !at->there   ? HF_EGONE
                            : at->denied ? HF_EDENIED
                                         : HF_OK;
    message.result.text = "";
    message.result.zxid = m->zxid;
    if (message.result.status == HF_OK) {
        message.result.has_stat = true;
        message.result.stat = at->stat;
        memcpy(message.data, at->data, sizeof message.data);
        message.result.bytes = kind == HF_ZOOKEEPER_GET ? strlen(at->data) : 0;
        if (kind == HF_ZOOKEEPER_CHILDREN)
            put_children(m, number(m, node), &message);
    }
    set_watch(m, at, kind, &message);
    m->made[m->made_count++] = message;
}

/* An answer is sent: perhaps after events of what happened since. */
static void send_answer(struct model *m)
{
    assert_true(m->sent_count < MESSAGES);
    m->sent[m->sent_count++] = m->made[0];
    m->made_count--;
    memmove(m->made, m->made + 1, m->made_count * sizeof *m->made);
}

/* ------------------------------------------------------------ the client -- */

static void begin_read(struct model *m)
{
    enum hf_zookeeper_op_kind kind;
    struct hf_cache_node *node;

    if (m->asked_count + m->made_count > NODES)
        return;
    node = hf_cache_tree_begin(&m->tree, &kind);
    m->tree.starved = false;
    if (node == NULL)
        return;
    m->asked[m->asked_count].node = node;
    m->asked[m->asked_count++].kind = kind;
}

static void receive(struct model *m)
{
    struct message *message = &m->sent[0];
    char path[64];

    if (message->node == NULL) {
        put_path(m, message->about, path, sizeof path);
        hf_cache_tree_event(&m->tree, message->kind, path, strlen(path));
    } else {
        message->result.data = message->result.bytes > 0 ? message->data : NULL;
        for (int i = 0; i < FANOUT; i++)
            message->children[i] = message->names[i];
        message->result.children = message->children;
        hf_cache_tree_answered(&m->tree, message->node, &message->result);
    }
    m->sent_count--;
    memmove(m->sent, m->sent + 1, m->sent_count * sizeof *m->sent);
}

/* The client of ${node} is notified that its session has ended. */
static void lose_watches(struct model *m, int number)
{
    struct server_node *at = &m->nodes[number];
    struct hf_cache_node *node;
    char path[64];

    put_path(m, number, path, sizeof path);
    node = hf_cache_tree_find(&m->tree, path);
    if (at->data_watch && node != NULL)
        hf_cache_tree_want(&m->tree, node, HF_CACHE_STAT | HF_CACHE_COMPARE);
    if (at->child_watch && node != NULL)
        hf_cache_tree_want(&m->tree, node,
                           HF_CACHE_STAT | HF_CACHE_COMPARE |
                               HF_CACHE_CHILDREN);
    at->data_watch = at->child_watch = false;
}

/* The client has not got ${event}: for it the watch is still set. */
static void take_back(struct model *m, const struct message *event)
{
    struct server_node *at = &m->nodes[event->about];

    at->data_watch |= event->kind != HF_ZOOKEEPER_CHILDREN_CHANGED;
    at->child_watch |= (uint64_t)level(event->about) < m->tree.depth &&
                       (event->kind == HF_ZOOKEEPER_CHILDREN_CHANGED ||
                        event->kind == HF_ZOOKEEPER_DELETED);
}

/* A connection ends with all that is on its way, and another one is made: reads
 * are repeated, or have ended without an answer. */
static void cut(struct model *m)
{
    bool repeated = draw(m, 2) == 0;
    struct hf_cache_node *nodes[NODES * 8];
    size_t count = 0;

    for (size_t i = 0; i < m->sent_count; i++) {
        if (m->sent[i].node != NULL)
            nodes[count++] = m->sent[i].node;
        else
            take_back(m, &m->sent[i]);
    }
    for (size_t i = 0; i < m->made_count; i++)
        nodes[count++] = m->made[i].node;
    for (size_t i = 0; i < m->asked_count; i++)
        nodes[count++] = m->asked[i].node;
    m->sent_count = m->made_count = m->asked_count = 0;
    if (m->recursive)
        hf_cache_tree_compare_all(&m->tree);
    for (int i = 0; i < NODES && !m->recursive; i++)
        lose_watches(m, i);
    if (!m->recursive && draw(m, 2) == 0)
        hf_cache_tree_compare_all(&m->tree);
    for (size_t i = 0; i < count; i++) {
        if (repeated && m->recursive) {
            m->asked[m->asked_count].node = nodes[i];
            m->asked[m->asked_count++].kind =
                (nodes[i]->asked & HF_CACHE_CHILDREN) != 0
                    ? HF_ZOOKEEPER_CHILDREN
                : (nodes[i]->asked & HF_CACHE_DATA) != 0 &&
                        !m->tree.without_data
                    ? HF_ZOOKEEPER_GET
                    : HF_ZOOKEEPER_EXISTS;
        } else {
            hf_cache_tree_unanswered(&m->tree, nodes[i]);
        }
    }
}

/* -------------------------------------------------------------- the user -- */

/* The user gets a change: it leads on from what was reported last, and never
 * back. */
static void follow(struct model *m)
{
    struct hf_cache_content *before, *after;
    struct hf_cache_node *node;
    bool marked;
    int i;

    node = hf_cache_tree_next_change(&m->tree, &marked);
    m->marks += marked;
    if (node == NULL)
        return;
    i = number(m, node);
    hf_cache_tree_take_change(&m->tree, node, &before, &after);
    assert_true(before != NULL || after != NULL);
    assert_int_equal(before != NULL, m->follows[i]);
    if (before != NULL)
        assert_int_equal(before->node.stat.mzxid, m->followed[i].mzxid);
    if (after != NULL) {
        assert_true(after->node.stat.mzxid > m->newest[i]);
        m->newest[i] = after->node.stat.mzxid;
        m->followed[i] = after->node.stat;
    }
    m->follows[i] = after != NULL;
    hf_cache_content_release(before);
    hf_cache_content_release(after);
}

/* ------------------------------------------------------------- the check -- */

/* Is ${node} to be in the cache? */
static bool is_visible(const struct model *m, int node)
{
    if ((uint64_t)level(node) > m->tree.depth)
        return false;
    for (;; node = (node - 1) / FANOUT) {
        if (!m->nodes[node].there || m->nodes[node].denied)
            return false;
        if (node == 0)
            return true;
    }
}

static void check_node(const struct model *m, int i,
                       const struct hf_zookeeper_cache_node *node)
{
    const struct server_node *at = &m->nodes[i];
    bool last = (uint64_t)level(i) == m->tree.depth;

    assert_int_equal(node->stat.czxid, at->stat.czxid);
    assert_int_equal(node->stat.mzxid, at->stat.mzxid);
    assert_int_equal(node->stat.version, at->stat.version);
    if (!last) {
        assert_int_equal(node->stat.pzxid, at->stat.pzxid);
        assert_int_equal(node->stat.cversion, at->stat.cversion);
        assert_int_equal(node->stat.children, at->stat.children);
    }
    if (m->tree.without_data) {
        assert_null(node->data);
    } else {
        assert_int_equal(node->bytes, strlen(at->data));
        assert_memory_equal(node->data, at->data, node->bytes);
    }
}

/* How many nodes would be in the cache if they could be read. */
static size_t count_unreadable(const struct model *m)
{
    size_t count = 0;

    for (int i = 0; i < NODES; i++)
        count += m->nodes[i].there && m->nodes[i].denied &&
                 (uint64_t)level(i) <= m->tree.depth &&
                 (i == 0 || is_visible(m, (i - 1) / FANOUT));
    return count;
}

/* The cache has what the server has, in order. */
static void check(const struct model *m)
{
    struct hf_zookeeper_cache_list *list = NULL;
    size_t count = 0, visible = 0;
    int i;

    for (i = 0; i < NODES; i++) {
        visible += is_visible(m, i);
        assert_int_equal(m->follows[i], is_visible(m, i));
        if (m->follows[i])
            assert_int_equal(m->followed[i].mzxid, m->nodes[i].stat.mzxid);
    }
    if (m->tree.root->current != NULL) {
        assert_int_equal(hf_cache_query_list(&m->tree, m->tree.root,
                                             HF_ZOOKEEPER_CACHE_TREE, &list),
                         HF_OK);
        count = list->count;
    }
    for (size_t at = 0; at < count; at++) {
        i = number_of(m, list->paths[at]);
        assert_true(is_visible(m, i));
        check_node(m, i, list->nodes[at]);
        if (at > 0)
            assert_true(strcmp(list->paths[at - 1], list->paths[at]) < 0);
    }
    assert_int_equal(count, visible);
    assert_int_equal(m->tree.unreadable, count_unreadable(m));
    hf_zookeeper_cache_list_free(list);
}

/* Read all that is to be read. */
static void finish(struct model *m)
{
    while (!hf_cache_tree_idle(&m->tree) || m->sent_count > 0) {
        begin_read(m);
        if (m->asked_count > 0)
            carry_out(m);
        if (m->made_count > 0)
            send_answer(m);
        while (m->sent_count > 0)
            receive(m);
    }
}

/* ------------------------------------------------------------------- run -- */

static void step(struct model *m, unsigned cuts)
{
    unsigned kind = draw(m, 12);

    if (kind < 3)
        change_one(m);
    else if (kind < 5)
        begin_read(m);
    else if (kind < 7 && m->asked_count > 0)
        carry_out(m);
    else if (kind < 9 && m->made_count > 0)
        send_answer(m);
    else if (kind < 11 && m->sent_count > 0)
        receive(m);
    else if (draw(m, 3) == 0)
        follow(m);
    else if (cuts > 0 && draw(m, cuts) == 0)
        cut(m);
}

/* One random run.  ${fails}: each allocation fails with one chance in four. */
static void run(struct model *m, unsigned seed, bool recursive, bool fails)
{
    static const uint64_t depths[] = {HF_ZOOKEEPER_CACHE_TREE, 0, 1, 2};

    memset(m, 0, sizeof *m);
    m->random = seed;
    m->recursive = recursive;
    m->root = draw(m, 4) == 0 ? "/" : "/r/s";
    for (unsigned i = 0; i < 60; i++)
        change_one(m);
    m->sent_count = 0;
    assert_true(hf_cache_tree_init(&m->tree, m->root, depths[draw(m, 4)],
                                   draw(m, 4) == 0, true));
    m->tree.recursive = recursive;
    hf_cache_tree_want(&m->tree, m->tree.root, HF_CACHE_DATA);
    for (unsigned i = 0; i < STEPS; i++) {
        if (fails)
            heap_fail(1 + draw(m, 4), false);
        step(m, 8);
    }
    heap_fail(0, false);
    finish(m);
    hf_cache_tree_mark(&m->tree);
    while (m->marks == 0)
        follow(m);
    check(m);
    hf_cache_tree_free(&m->tree);
    assert_int_equal(heap_live(), 0);
}

static struct model model;

static void run_all(bool recursive, bool fails)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++)
        run(&model, seed, recursive, fails);
}

TEST(it_follows_a_server_that_reports_all)
{
    run_all(true, false);
}

TEST(it_follows_a_server_with_one_shot_watches)
{
    run_all(false, false);
}

TEST(it_follows_without_memory_at_times)
{
    run_all(true, true);
    run_all(false, true);
}

/* ---------------------------------------------------------- step by step -- */

/* The next read is of ${kind} and ${path}: answer it. */
static void answer(struct hf_cache_tree *tree, enum hf_zookeeper_op_kind kind,
                   const char *path, const struct hf_zookeeper_result *result)
{
    enum hf_zookeeper_op_kind begun;
    struct hf_cache_node *node = hf_cache_tree_begin(tree, &begun);

    assert_non_null(node);
    assert_int_equal(begun, kind);
    assert_ptr_equal(node, hf_cache_tree_find(tree, path));
    hf_cache_tree_answered(tree, node, result);
}

/* A tree of /r and its child /r/a, both created by the transaction 5 and set by
 * 10, and reported. */
static void fill(struct hf_cache_tree *tree)
{
    static const char *const children[] = {"a"};
    struct hf_cache_content *before, *after;
    struct hf_zookeeper_result result = {
        .zxid = 10,
        .stat = {.czxid = 5, .mzxid = 10, .pzxid = 5, .children = 1},
        .data = "x",
        .bytes = 1,
        .children = children,
        .child_count = 1};
    struct hf_cache_node *node;
    bool marked;

    assert_true(
        hf_cache_tree_init(tree, "/r", HF_ZOOKEEPER_CACHE_TREE, false, true));
    tree->recursive = true;
    hf_cache_tree_want(tree, tree->root, HF_CACHE_DATA);
    answer(tree, HF_ZOOKEEPER_GET, "/r", &result);
    answer(tree, HF_ZOOKEEPER_CHILDREN, "/r", &result);
    result.stat.children = 0;
    answer(tree, HF_ZOOKEEPER_GET, "/r/a", &result);
    assert_true(hf_cache_tree_idle(tree));
    while ((node = hf_cache_tree_next_change(tree, &marked)) != NULL) {
        hf_cache_tree_take_change(tree, node, &before, &after);
        assert_null(before);
        hf_cache_content_release(after);
    }
}

static void expect_zxid(const struct hf_cache_tree *tree, const char *path,
                        int64_t mzxid)
{
    const struct hf_cache_node *node = hf_cache_tree_find(tree, path);

    assert_non_null(node->current);
    assert_int_equal(node->current->node.stat.mzxid, mzxid);
}

/* A server that is behind the one before may say that a node is not there, or
 * show an older state. */
TEST(an_older_answer_changes_nothing)
{
    struct hf_zookeeper_result old = {.status = HF_EGONE, .zxid = 4};
    struct hf_cache_tree tree;

    fill(&tree);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_STAT);
    answer(&tree, HF_ZOOKEEPER_EXISTS, "/r", &old);
    expect_zxid(&tree, "/r", 10);
    old = (struct hf_zookeeper_result){
        .zxid = 9, .stat = {.czxid = 5, .mzxid = 7, .pzxid = 5}};
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &old);
    expect_zxid(&tree, "/r", 10);
    assert_true(hf_cache_tree_idle(&tree));
    hf_cache_tree_free(&tree);
}

/* If nothing has moved, only Stats are asked for. */
TEST(a_comparison_asks_for_stats_alone)
{
    struct hf_zookeeper_result result = {
        .zxid = 20, .stat = {.czxid = 5, .mzxid = 10, .pzxid = 5}};
    struct hf_cache_tree tree;

    fill(&tree);
    hf_cache_tree_compare_all(&tree);
    answer(&tree, HF_ZOOKEEPER_EXISTS, "/r/a", &result);
    result.stat.children = 1;
    answer(&tree, HF_ZOOKEEPER_EXISTS, "/r", &result);
    assert_true(hf_cache_tree_idle(&tree));
    /* Another list of children, and only that, is fetched. */
    hf_cache_tree_compare_all(&tree);
    result.stat.pzxid = 15;
    answer(&tree, HF_ZOOKEEPER_EXISTS, "/r/a", &result);
    assert_int_equal(hf_cache_tree_find(&tree, "/r/a")->wanted,
                     HF_CACHE_CHILDREN);
    hf_cache_tree_free(&tree);
}

/* What is below a node that could not be read is not known any more, although
 * its children are the same. */
TEST(a_node_that_can_be_read_again_is_listed)
{
    static const char *const children[] = {"a"};
    struct hf_zookeeper_result denied = {.status = HF_EDENIED, .zxid = 20};
    struct hf_zookeeper_result result = {
        .zxid = 30,
        .stat = {.czxid = 5, .mzxid = 10, .pzxid = 5, .children = 1},
        .children = children,
        .child_count = 1};
    struct hf_cache_tree tree;

    fill(&tree);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &denied);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &result);
    answer(&tree, HF_ZOOKEEPER_CHILDREN, "/r", &result);
    result.stat.children = 0;
    answer(&tree, HF_ZOOKEEPER_GET, "/r/a", &result);
    expect_zxid(&tree, "/r/a", 10);
    hf_cache_tree_free(&tree);
}

/* With one-shot watches nothing reports that it has become another node. */
TEST(a_child_that_cannot_be_read_is_read_when_it_is_listed)
{
    static const char *const children[] = {"a"};
    struct hf_zookeeper_result denied = {.status = HF_EDENIED, .zxid = 20};
    struct hf_zookeeper_result result = {
        .zxid = 30,
        .stat = {.czxid = 5, .mzxid = 10, .pzxid = 25, .children = 1},
        .children = children,
        .child_count = 1};
    struct hf_cache_tree tree;

    fill(&tree);
    tree.recursive = false;
    hf_cache_tree_want(&tree, hf_cache_tree_find(&tree, "/r/a"), HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r/a", &denied);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_CHILDREN);
    answer(&tree, HF_ZOOKEEPER_CHILDREN, "/r", &result);
    result.stat = (struct hf_zookeeper_stat){.czxid = 25, .mzxid = 25};
    answer(&tree, HF_ZOOKEEPER_GET, "/r/a", &result);
    expect_zxid(&tree, "/r/a", 25);
    hf_cache_tree_free(&tree);
}

/* Another access list changes nothing else of a Stat. */
TEST(a_stat_has_the_version_of_the_access_list)
{
    const struct hf_zookeeper_result result = {
        .zxid = 20,
        .stat = {
            .czxid = 5, .mzxid = 10, .pzxid = 5, .aversion = 1, .children = 1}};
    struct hf_cache_tree tree;

    fill(&tree);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_STAT);
    answer(&tree, HF_ZOOKEEPER_EXISTS, "/r", &result);
    assert_int_equal(tree.root->current->node.stat.aversion, 1);
    assert_int_equal(tree.root->current->node.bytes, 1); /* and its data */
    hf_cache_tree_free(&tree);
}

/* What could not be kept is read again, and the reader has to know that it must
 * not do so at once. */
TEST(missing_memory_is_noted)
{
    const struct hf_zookeeper_result result = {
        .zxid = 20,
        .stat = {.czxid = 5, .mzxid = 20, .pzxid = 5, .children = 1}};
    struct hf_cache_tree tree;

    fill(&tree);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    heap_fail(1, true);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &result);
    heap_fail(0, false);
    assert_true(tree.starved);
    expect_zxid(&tree, "/r", 10);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &result);
    expect_zxid(&tree, "/r", 20);
    hf_cache_tree_free(&tree);
}

/* The order in which the user is notified, also if the parent has changed
 * before. */
TEST(a_child_is_removed_before_its_parent)
{
    struct hf_zookeeper_result result = {
        .zxid = 20, .stat = {.czxid = 5, .mzxid = 20, .pzxid = 5}};
    struct hf_cache_content *before, *after;
    struct hf_cache_node *node;
    struct hf_cache_tree tree;
    bool marked;

    fill(&tree);
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &result);
    result.status = HF_EGONE;
    hf_cache_tree_want(&tree, tree.root, HF_CACHE_DATA);
    answer(&tree, HF_ZOOKEEPER_GET, "/r", &result);
    for (int i = 0; i < 2; i++) {
        node = hf_cache_tree_next_change(&tree, &marked);
        assert_int_equal(node == tree.root, i);
        hf_cache_tree_take_change(&tree, node, &before, &after);
        assert_null(after);
        hf_cache_content_release(before);
    }
    assert_null(hf_cache_tree_next_change(&tree, &marked));
    assert_null(hf_cache_tree_find(&tree, "/r/a"));
    hf_cache_tree_free(&tree);
}

TEST_FILE(zookeeper_cache_tree)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
