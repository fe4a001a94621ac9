/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the functions of docs/zookeeper.md on a server: guide.h has them, which
 * test_guide.py makes of the document.
 *
 *     zookeeper_guide SERVERS
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

/* What a set in the document does while an answer is to be lost. */
enum lost_answer {
    NONE_LOST,
    CARRIED_OUT,     /* by the server, and the answer is lost */
    NOT_CARRIED_OUT, /* the request is lost */
    LATE,            /* carried out just before the next set */
    ANOTHER_WROTE,   /* the request is lost, and another program writes */
};
static enum lost_answer lost_answer;

static hf_status set_or_lose(struct hf_zookeeper *zookeeper, const char *path,
                             const void *data, size_t bytes, int32_t version,
                             uint64_t wait_ms,
                             struct hf_zookeeper_result **result);
#define hf_zookeeper_set set_or_lose
#include "guide.h"
#undef hf_zookeeper_set

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__,       \
                    #condition);                                               \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define WAIT_MS 30000

static char url[256];

static struct hf_zookeeper *opened(const struct hf_zookeeper_opts *opts)
{
    struct hf_zookeeper *zookeeper;

    if (hf_zookeeper_open(url, opts, &zookeeper) == HF_OK)
        return zookeeper;
    fprintf(stderr, "%s\n", hf_last_error()->text);
    exit(1);
}

/* ----------------------------------------------------- HF_EUNSURE, LOST -- */

static hf_status set_or_lose(struct hf_zookeeper *zookeeper, const char *path,
                             const void *data, size_t bytes, int32_t version,
                             uint64_t wait_ms,
                             struct hf_zookeeper_result **result)
{
    static bool is_late;
    enum lost_answer lost = lost_answer;

    lost_answer = NONE_LOST;
    if (lost == CARRIED_OUT || is_late)
        CHECK(hf_zookeeper_set(zookeeper, path, data, bytes, version, wait_ms,
                               NULL) == HF_OK);
    if (lost == ANOTHER_WROTE)
        CHECK(hf_zookeeper_set(zookeeper, path, "other", 5, version, wait_ms,
                               NULL) == HF_OK);
    is_late = lost == LATE;
    return lost != NONE_LOST ? HF_EUNSURE
                             : hf_zookeeper_set(zookeeper, path, data, bytes,
                                                version, wait_ms, result);
}

static void sets_once(struct hf_zookeeper *zookeeper)
{
    CHECK(hf_zookeeper_create(zookeeper, "/set", NULL, 0,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(set_once(zookeeper, "/set", "a", 1, 0) == HF_OK);
    CHECK(set_once(zookeeper, "/set", "b", 1, 0) == HF_EVERSION);
    CHECK(set_once(zookeeper, "/nothing", "b", 1, 0) == HF_EGONE);
    for (int i = CARRIED_OUT; i <= ANOTHER_WROTE; i++) {
        char text[2] = {(char)('0' + i), '\0'};

        lost_answer = (enum lost_answer)i;
        CHECK(set_once(zookeeper, "/set", text, 1, i) ==
              (i == ANOTHER_WROTE ? HF_EVERSION : HF_OK));
    }
}

/* --------------------------------------------------------- registrations -- */

static struct hf_zookeeper *reader;

/* Read what the node of the holder says. */
static void check_primary(struct hf_grant *grant)
{
    struct hf_zookeeper_result *result;
    unsigned long long token;
    char text[64], host[16];
    hf_status status;

    do
        status = hf_zookeeper_get(reader, "/db/primary", WAIT_MS, &result);
    while (status == HF_EGONE);
    CHECK(status == HF_OK);
    (void)snprintf(text, sizeof text, "%.*s", (int)result->bytes,
                   (const char *)result->data);
    CHECK(sscanf(text, "%15s %llu", host, &token) == 2);
    CHECK(strcmp(host, "h1:80") == 0 && token == hf_grant_token(grant));
    hf_zookeeper_result_free(result);
}

static void serves_as_primary(struct hf_zookeeper *zookeeper)
{
    struct hf_client *client;
    struct hf_lock *lock;

    reader = zookeeper;
    CHECK(hf_client_open(url, NULL, &client) == HF_OK);
    CHECK(hf_lock_open(client, "db", NULL, &lock) == HF_OK);
    for (int i = 0; i < 2; i++)
        CHECK(serve_as_primary(lock, zookeeper, "h1:80", check_primary) ==
              HF_OK);
    CHECK(hf_zookeeper_exists(zookeeper, "/db/primary", WAIT_MS, NULL) ==
          HF_EGONE);
    hf_lock_free(lock);
    CHECK(hf_client_close(client) == HF_OK);
}

/* The server does not allow it. */
static void removes_no_server(struct hf_zookeeper *zookeeper)
{
    CHECK(remove_server(zookeeper, "2", 0) == HF_EUNSUPPORTED);
}

static void adds_jobs(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_result *result;

    CHECK(hf_zookeeper_create(zookeeper, "/count", NULL, 0,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(add_job(zookeeper, "a", 1) == HF_OK);
    CHECK(add_job(zookeeper, "b", 1) == HF_OK);
    CHECK(hf_zookeeper_children(zookeeper, "/jobs", WAIT_MS, &result) == HF_OK);
    CHECK(result->child_count == 2);
    hf_zookeeper_result_free(result);
    CHECK(hf_zookeeper_get(zookeeper, "/count", WAIT_MS, &result) == HF_OK);
    CHECK(result->bytes == 1 && memcmp(result->data, "2", 1) == 0);
    hf_zookeeper_result_free(result);
}

/* The server knows no scheme sasl. */
static void creates_for_nobody(struct hf_zookeeper *zookeeper)
{
    CHECK(create_for(zookeeper, "/alice", "alice") == HF_EINVAL);
}

/* --------------------------------------------------------------- watches -- */

/* The last copy; under its lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char data[16];
} copy = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, ""};

static void on_read(void *arg, const struct hf_zookeeper_result *result)
{
    (void)arg;
    CHECK(result->status == HF_OK);
    pthread_mutex_lock(&copy.lock);
    (void)snprintf(copy.data, sizeof copy.data, "%.*s", (int)result->bytes,
                   (const char *)result->data);
    pthread_cond_signal(&copy.changed);
    pthread_mutex_unlock(&copy.lock);
}

static void await_copy(const char *data)
{
    pthread_mutex_lock(&copy.lock);
    while (strcmp(copy.data, data) != 0)
        pthread_cond_wait(&copy.changed, &copy.lock);
    pthread_mutex_unlock(&copy.lock);
}

static void keeps_a_copy(struct hf_zookeeper *zookeeper)
{
    struct cache cache = {zookeeper, NULL, {on_read, NULL, NULL}};

    CHECK(hf_zookeeper_create(zookeeper, "/kept", "1", 1,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(keep(&cache, "/kept") == HF_OK);
    await_copy("1");
    for (int i = 2; i < 5; i++) {
        char text[2] = {(char)('0' + i), '\0'};

        CHECK(hf_zookeeper_set(zookeeper, "/kept", text, 1,
                               HF_ZOOKEEPER_ANY_VERSION, WAIT_MS,
                               NULL) == HF_OK);
        await_copy(text);
    }
    hf_zookeeper_watch_free(cache.watch);
}

/* ------------------------------------------------ one session with locks -- */

static void writes_while_it_holds(void)
{
    struct hf_zookeeper *zookeeper;
    struct hf_client *client;
    struct hf_grant *grant;
    struct hf_lock *lock;

    CHECK(hf_client_open(url, NULL, &client) == HF_OK);
    CHECK(show_worker(client, &zookeeper) == HF_OK);
    CHECK(hf_zookeeper_create(zookeeper, "/report", NULL, 0,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(hf_lock_open(client, "reporters", NULL, &lock) == HF_OK);
    CHECK(hf_lock_acquire(lock, NULL, &grant) == HF_OK);
    CHECK(write_report(zookeeper, grant, "all is well") == HF_OK);
    CHECK(hf_grant_release(grant) == HF_OK);
    hf_lock_free(lock);
    CHECK(hf_zookeeper_close(zookeeper) == HF_OK);
    CHECK(hf_client_close(client) == HF_OK);
}

/* ---------------------------------------------------------------- caches -- */

static void keeps_a_tree(struct hf_zookeeper *zookeeper)
{
    const struct hf_zookeeper_on_change nobody = {NULL, NULL, NULL};
    struct hf_zookeeper_cache *cache;
    char text[16];

    CHECK(hf_zookeeper_create(zookeeper, "/tree", "1", 1,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(hf_zookeeper_create(zookeeper, "/tree/a", "2", 1,
                              HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL) == HF_OK);
    CHECK(keep_tree(zookeeper, "/tree", nobody, &cache) == HF_OK);
    read_setting(cache, "/tree/a", text, sizeof text);
    CHECK(strcmp(text, "2") == 0);
    read_setting(cache, "/tree/b", text, sizeof text);
    CHECK(strcmp(text, "") == 0);
    hf_zookeeper_cache_free(cache);
}

/* ------------------------------------------------------ loops, sessions -- */

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    CHECK(result->status == HF_OK);
    *(bool *)arg = true;
}

static void runs_callbacks(void)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper;
    bool done = false;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper = opened(&opts);
    CHECK(hf_zookeeper_exists_start(
              zookeeper, "/", WAIT_MS,
              (struct hf_zookeeper_done){on_done, &done, NULL}) == HF_OK);
    run_callbacks(zookeeper, &done);
    CHECK(hf_zookeeper_close(zookeeper) == HF_OK);
}

/* In a process of its own, which ends without a close. */
static void leave_session(int file)
{
    struct hf_zookeeper *zookeeper = opened(NULL);

    CHECK(hf_zookeeper_create(zookeeper, "/stays", NULL, 0,
                              HF_ZOOKEEPER_EPHEMERAL, WAIT_MS, NULL) == HF_OK);
    CHECK(save_session(zookeeper, file));
    _exit(0);
}

/* The next process requests another timeout, but the servers may count with
 * that of the first one. */
static void takes_over(const char *servers, int file)
{
    struct hf_zookeeper_session session;
    struct hf_zookeeper *zookeeper;

    (void)snprintf(url, sizeof url, "zk://%s?timeout=10s", servers);
    CHECK(open_saved(url, file, &zookeeper) == HF_OK);
    CHECK(hf_zookeeper_exists(zookeeper, "/stays", WAIT_MS, NULL) == HF_OK);
    CHECK(hf_zookeeper_session(zookeeper, &session) == HF_OK);
    CHECK(session.timeout_ms == 8000);
    CHECK(hf_zookeeper_close(zookeeper) == HF_OK);
}

int main(int argc, char **argv)
{
    struct hf_zookeeper *zookeeper;
    FILE *kept = tmpfile();
    int status;
    pid_t child;

    CHECK(argc == 2 && kept != NULL);
    (void)snprintf(url, sizeof url, "zk://%s?timeout=8s", argv[1]);
    if ((child = fork()) == 0)
        leave_session(fileno(kept));
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    takes_over(argv[1], fileno(kept));
    zookeeper = opened(NULL);
    sets_once(zookeeper);
    serves_as_primary(zookeeper);
    removes_no_server(zookeeper);
    adds_jobs(zookeeper);
    creates_for_nobody(zookeeper);
    keeps_a_copy(zookeeper);
    keeps_a_tree(zookeeper);
    CHECK(hf_zookeeper_close(zookeeper) == HF_OK);
    runs_callbacks();
    writes_while_it_holds();
    fclose(kept);
    return 0;
}
