/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs its callbacks late, on a real ZooKeeper server at HF_ZK:
 * what came meanwhile is reported in the order in which it came.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <holdfast/zookeeper.h>

#include "cmocka/runner.h"

#define NODE "/late-callbacks"
#define WAIT_MS 20000
#define DESCRIPTORS 64

/* What was reported, as words. */
static char reported[256];

static void report(const char *word)
{
    size_t used = strlen(reported);

    (void)snprintf(reported + used, sizeof reported - used, "%s%s",
                   used > 0 ? " " : "", word);
}

static void read_ended(void *arg, const struct hf_zookeeper_result *result)
{
    char word[32];

    (void)arg;
    assert_int_equal(result->status, HF_OK);
    (void)snprintf(word, sizeof word, "version-%d", (int)result->stat.version);
    report(word);
}

static void event_came(void *arg, const struct hf_zookeeper_event *event)
{
    (void)arg;
    assert_string_equal(event->path, NODE);
    report(event->kind == HF_ZOOKEEPER_RESYNC    ? "resync"
           : event->kind == HF_ZOOKEEPER_CHANGED ? "changed"
                                                 : "another");
}

/* The port of the other end of ${fd}; 0 if it is no connection. */
static unsigned peer_port(int fd)
{
    struct sockaddr_in peer;
    socklen_t bytes = sizeof peer;

    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0 ||
        peer.sin_family != AF_INET)
        return 0;
    return ntohs(peer.sin_port);
}

/* The server, as ADDRESS:PORT. */
static const char *server(void)
{
    const char *address = getenv("HF_ZK");

    if (address == NULL || strchr(address, ':') == NULL)
        fail_msg("no server in HF_ZK; run this beside serve.py");
    return address;
}

/* End every connection of this process to the server. */
static void cut(void)
{
    unsigned port = (unsigned)strtoul(strchr(server(), ':') + 1, NULL, 10);

    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (peer_port(fd) == port)
            (void)shutdown(fd, SHUT_RDWR);
}

static struct hf_zookeeper *open_handle(enum hf_delivery delivery)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper;
    char url[128];

    opts.delivery = delivery;
    (void)snprintf(url, sizeof url, "zk://%s", server());
    assert_int_equal(hf_zookeeper_open(url, &opts, &zookeeper), HF_OK);
    return zookeeper;
}

/* Everything that the server had sent by now has come then. */
static void await_answer(struct hf_zookeeper *zookeeper)
{
    assert_int_equal(hf_zookeeper_exists(zookeeper, NODE, WAIT_MS, NULL),
                     HF_OK);
}

static void start_read(struct hf_zookeeper *zookeeper)
{
    const struct hf_zookeeper_done done = {read_ended, NULL, NULL};

    assert_int_equal(hf_zookeeper_get_start(zookeeper, NODE, WAIT_MS, done),
                     HF_OK);
    await_answer(zookeeper);
}

static void change(struct hf_zookeeper *zookeeper)
{
    assert_int_equal(hf_zookeeper_set(zookeeper, NODE, "x", 1,
                                      HF_ZOOKEEPER_ANY_VERSION, WAIT_MS, NULL),
                     HF_OK);
}

/* A change after a resync has an event of its own, and another reconnect a
 * resync of its own, although the first resync has not been reported yet. */
TEST(what_follows_a_resync_is_reported_too)
{
    struct hf_zookeeper *late = open_handle(HF_DELIVER_DISPATCH);
    const struct hf_zookeeper_on_event on_event = {event_came, NULL, NULL};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};

    assert_int_equal(hf_zookeeper_create(late, NODE, "x", 1,
                                         HF_ZOOKEEPER_PERSISTENT, WAIT_MS,
                                         NULL),
                     HF_OK);
    assert_int_equal(hf_zookeeper_watch_open(late, NODE,
                                             HF_ZOOKEEPER_WATCH_PERSISTENT,
                                             on_event, &op.watch),
                     HF_OK);
    assert_int_equal(hf_zookeeper_run(late, &op, WAIT_MS, NULL), HF_OK);
    cut();
    start_read(late);
    change(late);
    start_read(late);
    cut();
    start_read(late);
    assert_string_equal(reported, "");
    assert_int_equal(hf_zookeeper_dispatch(late), HF_OK);
    assert_string_equal(reported,
                        "resync version-0 changed version-1 resync version-1");
    hf_zookeeper_watch_free(op.watch);
    assert_int_equal(
        hf_zookeeper_delete(late, NODE, HF_ZOOKEEPER_ANY_VERSION, WAIT_MS),
        HF_OK);
    assert_int_equal(hf_zookeeper_close(late), HF_OK);
}
