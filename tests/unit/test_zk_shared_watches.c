/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of locks, and persistent watches of another user of the session at
 * the same paths: neither ends the other's on servers that have one mode for
 * each path. */
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/zk_private.h"
#include "zk_fixture.h"
#include "zookeeper/watch_resume.h"

/* A persistent watch of another user of the session. */
struct other {
    struct hf_zk_watcher watcher;
    unsigned received;
};

static void count_received(struct hf_zk_watcher *watcher,
                           const struct hf_zk_watch_event *event)
{
    struct other *other = watcher->user;

    (void)event;
    other->received++;
}

/* Set ${other} at ${path}: the server has got AddWatch, and answered. */
static void set_other(struct zk_fixture *f, struct other *other,
                      const char *path)
{
    struct hf_zk_watch_set *set = &f->zk->session.watches;

    *other = (struct other){.watcher = {.user = other,
                                        .fired = count_received,
                                        .path = path,
                                        .mode = HF_ZK_WATCH_PERSISTENT}};
    hf_zk_watch_set_add(set, &other->watcher);
    (void)hf_zk_watch_set_begin_add(set, &other->watcher);
    hf_zk_watch_set_mode_answered(set, path, strlen(path),
                                  HF_ZK_SERVER_PERSISTENT);
    hf_zk_watcher_add_answered(&other->watcher);
}

/* Free it, and return what the server must be asked for. */
static enum hf_zk_unwatch free_other(struct zk_fixture *f, struct other *other)
{
    struct hf_zk_watch_set *set = &f->zk->session.watches;

    return hf_zk_watch_set_unwatch(set, &other->watcher);
}

/* The ticket x is in the queue, right in front of ours, a, and nothing was
 * listed yet.  ${path} is the path of the queue, and ${node} that of x. */
static void begin(struct zk_fixture *f, char path[64], char node[192])
{
    zk_fixture_connected(f);
    have_ticket(f, "a", 9, 17);
    ask(f, HF_REQUEST_WATCH, "x");
    done(f);
    children(f, "w#1 x#2 a#9");
    strcpy(node, f->zk->session.watches.first->path);
    strcpy(path, node);
    *strrchr(path, '/') = '\0';
    data(f, "him", 2, 2);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

/* The read takes no watch of its own, which would end the other's. */
TEST(a_node_is_watched_by_the_persistent_watch)
{
    char path[64], node[192];
    struct zk_fixture f;
    struct other other;

    begin(&f, path, node);
    set_other(&f, &other, node);
    event(&f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    assert_string_equal(zk_fixture_sent(&f), "DATA q/x#2");
    event(&f, HF_ZK_NODE_DATA_CHANGED, "q/x#2"); /* older than the answer */
    assert_string_equal(zk_fixture_sent(&f), "");
    data(&f, "__REVOKE__", 2, 3);
    assert_string_equal(zk_fixture_events(&f), "REVOKED x");
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "GONE x");
    assert_int_equal(other.received, 3);
    assert_string_equal(zk_fixture_sent(&f), "");
    assert_int_equal(free_other(&f, &other), HF_ZK_UNWATCH_ANY);
    zk_fixture_close(&f);
}

/* The server keeps the persistent watch for the lock's, and forgets it when
 * that has ended, too. */
TEST(a_watch_outlives_the_persistent_one_that_serves_it)
{
    char path[64], node[192];
    struct zk_fixture f;
    struct other other;

    begin(&f, path, node);
    set_other(&f, &other, node);
    event(&f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    data(&f, "him", 2, 2);
    (void)zk_fixture_sent(&f);
    assert_int_equal(free_other(&f, &other), HF_ZK_UNWATCH_NOTHING);
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "GONE x");
    assert_string_equal(zk_fixture_sent(&f), "UNWATCH q/x#2 3");
    done(&f);
    zk_fixture_close(&f);
}

/* A read that sets a watch keeps it needed before it is answered. */
TEST(a_read_in_flight_keeps_the_persistent_watch)
{
    char path[64], node[192];
    struct zk_fixture f;
    struct other other;

    begin(&f, path, node);
    set_other(&f, &other, node);
    event(&f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    assert_string_equal(zk_fixture_sent(&f), "DATA q/x#2");
    assert_int_equal(free_other(&f, &other), HF_ZK_UNWATCH_NOTHING);
    data(&f, "him", 2, 2);
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "GONE x");
    assert_string_equal(zk_fixture_sent(&f), "UNWATCH q/x#2 3");
    link_down(&f, "reset"); /* the request to forget is not answered */
    zk_fixture_close(&f);
}

/* The list of a queue, and the read of a barrier, too. */
TEST(a_queue_is_watched_by_the_persistent_watch)
{
    char path[64], node[192];
    struct zk_fixture f;
    struct other other;

    begin(&f, path, node);
    set_other(&f, &other, path);
    ask(&f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(zk_fixture_sent(&f), "LIST q");
    children(&f, "x#2");
    data(&f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(&f), "LISTED z: x#2=him");
    event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(&f), "QUEUE_CHANGED z");
    (void)zk_fixture_sent(&f);
    f.kind = HF_TICKET_BARRIER;
    ask(&f, HF_REQUEST_WATCH_QUEUE, "y");
    assert_string_equal(zk_fixture_sent(&f), "MULTI /; DATA q");
    checked(&f);
    data(&f, "10.0.0.1", 17, 0);
    event(&f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(&f),
                        "LISTED y: up@17; QUEUE_CHANGED y");
    assert_int_equal(other.received, 2);
    assert_int_equal(free_other(&f, &other), HF_ZK_UNWATCH_ANY);
    zk_fixture_close(&f);
}

/* So does the read of the head, behind which our ticket is, and which nobody
 * watches otherwise. */
TEST(the_head_is_watched_by_the_persistent_watch)
{
    char path[64], node[192];
    struct zk_fixture f;
    struct other other;

    begin(&f, path, node);
    zk_fixture_close(&f);
    zk_fixture_connected(&f);
    set_other(&f, &other, node);
    have_ticket(&f, "a", 9, 17);
    ask(&f, HF_REQUEST_LIST, "a");
    children(&f, "x#2 a#9");
    assert_string_equal(zk_fixture_sent(&f), "LIST q | DATA q/x#2");
    data(&f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: x#2=him a#9@17");
    ask(&f, HF_REQUEST_WATCH, "x"); /* there is a watch already */
    assert_string_equal(zk_fixture_sent(&f), "");
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "WATCHING x; GONE x");
    assert_int_equal(free_other(&f, &other), HF_ZK_UNWATCH_ANY);
    zk_fixture_close(&f);
}
