/* SPDX-License-Identifier: Apache-2.0 */
/* A chroot of its own on a real ZooKeeper server, for each test. */
#include "conformance/conformance_zk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/raw_zk.h"
#include "conformance/real_host.h"
#include "engines/zookeeper/node_name.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zookeeper.h"

#define ROOT_BYTES 64
#define PATH_BYTES 4096

struct zk_fixture {
    char root[ROOT_BYTES];
    unsigned roots; /* so far */
    const char *timeout;
    enum hf_zk_engine_dialect layout;
    struct raw_zk *raw;
};

static struct zk_fixture server_fixture;

static const char *server(void)
{
    const char *servers = getenv("HF_ZK");

    if (servers == NULL)
        fail_msg("HF_ZK has no server; start this by tests/servers/serve.py");
    return servers;
}

/* -------------------------------------------------------------- fixture -- */

static void begin(struct conformance_fixture *fixture)
{
    (void)fixture;
    server_fixture.timeout = "10s";
    (void)snprintf(server_fixture.root, sizeof(server_fixture.root),
                   "/conformance-%d-%u", (int)getpid(), server_fixture.roots++);
    server_fixture.raw = raw_zk_open(server());
    raw_zk_create(server_fixture.raw, server_fixture.root);
    real_host_begin();
}

static bool is_ticket(const char *name)
{
    struct hf_zk_engine_node node;

    return hf_zk_engine_node_parse(name, strlen(name), &node) ||
           hf_zk_engine_permit_parse(name, strlen(name), &node);
}

static void finish(struct conformance_fixture *fixture)
{
    size_t left =
        raw_zk_clear(server_fixture.raw, server_fixture.root, is_ticket);

    (void)fixture;
    raw_zk_close(server_fixture.raw);
    real_host_finish();
    assert_int_equal(left, 0);
}

static struct hf_engine *open_client(struct conformance_fixture *fixture,
                                     const struct hf_engine_host *host)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "zk://%s%s?timeout=%s&layout=%s",
                   server(), server_fixture.root, server_fixture.timeout,
                   hf_zk_engine_layout_name(server_fixture.layout));
    return real_host_open(fixture, host, text);
}

/* ---------------------------------------------------------------- victim -- */

/* A session of a victim ends that long after its death. */
static void be_short_lived(void)
{
    server_fixture.timeout = "1s";
}

static void evict(struct conformance_fixture *fixture, const char *queue,
                  const struct hf_ticket *ticket)
{
    /* In kazoo's layout both have one name. */
    enum hf_ticket_kind kind =
        ticket->kind == HF_TICKET_EXCLUSIVE ? HF_TICKET_MUTEX : ticket->kind;
    char parent[HF_ZK_QUEUE_PATH_BYTES];
    char prefix[HF_ZK_PREFIX_BYTES];
    char name[HF_ZK_NODE_BYTES];
    char path[PATH_BYTES];

    (void)fixture;
    if (hf_zk_engine_queue_path(server_fixture.layout, server_fixture.root,
                                queue, parent)) {
        hf_zk_engine_permit_name(&ticket->id, 0, name);
    } else {
        assert_true(hf_zk_engine_node_prefix(server_fixture.layout, &ticket->id,
                                             kind, prefix));
        hf_zk_engine_node_format_name(prefix, (int32_t)ticket->sequence, name);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", parent, name);
    assert_true(raw_zk_delete(server_fixture.raw, path));
}

int conformance_zk_run(enum hf_zk_engine_dialect layout,
                       const enum hf_ticket_kind *shown)
{
    char name[64];
    struct conformance_fixture fixture = {
        .name = name,
        .ops = &hf_engine_zookeeper,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = real_host_pump,
        .victim_start = real_host_victim,
        .victim_kill = real_host_kill,
        .evict = evict,
        .be_victim = be_short_lived,
        .shown = shown,
        .leases_have_no_order = layout == HF_ZK_KAZOO,
        .has_double_barriers = true,
        .cut = real_host_cut,
    };

    (void)snprintf(name, sizeof(name), "conformance of zookeeper, layout=%s",
                   hf_zk_engine_layout_name(layout));
    server_fixture.layout = layout;
    return suite_run(&fixture);
}
