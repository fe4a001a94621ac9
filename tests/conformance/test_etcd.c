/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real etcd at HF_ETCD, of one member or of several, with a
 * prefix of its own for each test. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/raw_etcd.h"
#include "conformance/real_host.h"
#include "conformance/suite.h"
#include "engines/etcd/etcd.h"

#define PREFIX_BYTES 64
#define KEY_BYTES 4096

static const struct hf_engine_ops ops = HF_ETCD_OPS;

static struct {
    const char *servers;
    char prefix[PREFIX_BYTES];
    unsigned prefixes; /* so far */
    const char *ttl;
    struct raw_etcd *raw;
} cluster;

static void begin(struct conformance_fixture *of)
{
    (void)of;
    cluster.ttl = "5s";
    (void)snprintf(cluster.prefix, sizeof(cluster.prefix), "conformance-%d-%u/",
                   (int)getpid(), cluster.prefixes++);
    cluster.raw = raw_etcd_open(cluster.servers);
    real_host_begin();
}

static void finish(struct conformance_fixture *of)
{
    size_t left = raw_etcd_clear(cluster.raw, cluster.prefix);

    (void)of;
    raw_etcd_close(cluster.raw);
    real_host_finish();
    assert_int_equal(left, 0);
}

static struct hf_engine *open_client(struct conformance_fixture *of,
                                     const struct hf_engine_host *host)
{
    char text[512];

    (void)snprintf(text, sizeof(text), "etcd://%s/%s?ttl=%s", cluster.servers,
                   cluster.prefix, cluster.ttl);
    return real_host_open(of, host, text);
}

static void evict(struct conformance_fixture *of, const char *queue,
                  const struct hf_ticket *ticket)
{
    char prefix[KEY_BYTES];

    (void)of;
    (void)snprintf(prefix, sizeof(prefix), "%s%s/", cluster.prefix, queue);
    assert_true(raw_etcd_delete_created(cluster.raw, prefix, ticket->sequence));
}

/* The lease of a victim ends that long after its death. */
static void be_short_lived(void)
{
    cluster.ttl = "2s";
}

TEST_FILE(etcd)
{
    struct conformance_fixture real = {
        .name = "conformance of etcd",
        .ops = &ops,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = real_host_pump,
        .victim_start = real_host_victim,
        .victim_kill = real_host_kill,
        .evict = evict,
        .be_victim = be_short_lived,
        .has_double_barriers = true,
        .has_no_success = true,
        .cut = real_host_cut,
    };

    cluster.servers = getenv("HF_ETCD");
    if (cluster.servers == NULL) {
        (void)fprintf(stderr, "start this by tests/servers/serve.py etcd, or "
                              "etcd-cluster\n");
        return 1;
    }
    return suite_run(&real);
}
