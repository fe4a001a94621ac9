/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a held lock takes that nobody waits for, in all layers and on
 * the average of many, with the engine of the server that the environment
 * names, or with files.  The limits below are the contract: a change that needs
 * more says why. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "reporting_child.h"

#define MANY 256

/* Each lock watches its own ticket some milliseconds after its grant.  The
 * memory is read when it has stayed the same for so long. */
#define STABLE_MS 300
#define STABLE_MOST_MS 20000
#define STEP_MS 10

/* Bytes of a held lock, as the C library rounds each block, and some 5 % more:
 * the host name is part of it. */
static const struct limit {
    const char *scheme;
    long most;
} limits[] = {
    {"file:", 2560},       {"zk:", 3010},   {"redis:", 2310},
    {"postgresql:", 2310}, {"etcd:", 3370},
};

struct held_locks {
    struct hf_client *client;
    struct hf_lock *locks[MANY];
    struct hf_grant *grants[MANY];
};

/* The child's: where it says what went wrong. */
static int report_fd;

static void check(const char *step, hf_status status)
{
    if (status == HF_OK)
        return;
    dprintf(report_fd, "%s: %s", step, hf_last_error()->text);
    _exit(1);
}

static void open_locks(struct held_locks *h, const char *url)
{
    char name[64];

    check("open", hf_client_open(url, NULL, &h->client));
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "held/nightly-%03u", i);
        check("lock", hf_lock_open(h->client, name, NULL, &h->locks[i]));
    }
}

static void hold(struct held_locks *h)
{
    for (unsigned i = 0; i < MANY; i++)
        check("acquire", hf_lock_acquire(h->locks[i], NULL, &h->grants[i]));
}

static void give(struct held_locks *h)
{
    for (unsigned i = 0; i < MANY; i++)
        check("release", hf_grant_release(h->grants[i]));
}

static void close_locks(struct held_locks *h)
{
    for (unsigned i = 0; i < MANY; i++)
        hf_lock_free(h->locks[i]);
    check("close", hf_client_close(h->client));
}

/* The bytes that are allocated, read once they stay the same. */
static long stable_bytes(void)
{
    long bytes = heap_bytes(), now;

    for (int stable_ms = 0, ms = 0; stable_ms < STABLE_MS; ms += STEP_MS) {
        if (ms > STABLE_MOST_MS)
            check("wait for the watches", HF_ETIMEDOUT);
        (void)usleep(STEP_MS * 1000);
        now = heap_bytes();
        stable_ms = now == bytes ? stable_ms + STEP_MS : 0;
        bytes = now;
    }
    return bytes;
}

static long limit_of(const char *url)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strncmp(url, limits[i].scheme, strlen(limits[i].scheme)) == 0)
            return limits[i].most;
    }
    dprintf(report_fd, "no limit is known for %s", url);
    _exit(1);
}

/* In the child.  The first round makes the nodes or directories, and lets the
 * buffers of the connection grow. */
static _Noreturn void run(const void *arg, const char *url, int report)
{
    static struct held_locks h;
    long most, before, each;

    (void)arg;
    report_fd = report;
    most = limit_of(url);
    heap_install();
    open_locks(&h, url);
    hold(&h);
    give(&h);
    before = stable_bytes();
    hold(&h);
    each = (stable_bytes() - before) / MANY;
    printf("%.*s a held lock takes %ld bytes, at most %ld\n",
           (int)strcspn(url, ":") + 1, url, each, most);
    (void)fflush(stdout);
    if (each > most)
        dprintf(report_fd, "a held lock takes %ld bytes; expected %ld at most",
                each, most);
    give(&h);
    close_locks(&h);
    _exit(0);
}

TEST(a_held_lock_takes_no_more_memory)
{
    reporting_child_run(run, NULL);
}
