/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads URL NAME COUNT mutex|lock|keep|keep-briefly: COUNT threads of one
 * client take the lock NAME again and again.  With "mutex" they queue for it in
 * the process; with "lock" each has a ticket of its own.  With "keep" they
 * queue in the process, and the ticket is kept for a minute when none of them
 * needs it; with "keep-briefly" for KEEP_BRIEFLY_MS.  Commands come on standard
 * input:
 *
 *     run N    make N grants and print "ran TICKETS LONGEST": the number of
 *              different tokens, and the most grants in a row with one
 *     heap     print "heap BLOCKS BYTES", what the library has allocated
 *
 * and ends with its input.  The status is 1, with a line that says why, if
 * anything failed, tokens fell, or two threads were granted at once.
 */
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define THREADS_MAX 2000
#define STACK_BYTES ((size_t)128 * 1024)

#define KEEP_MS (UINT64_C(24) * 3600 * 1000)
#define KEEP_BRIEFLY_MS 50

static struct hf_client *client;
static struct hf_mutex *mutex; /* NULL: each its own ticket */
static struct hf_lock *lock;

static atomic_llong blocks;
static atomic_llong bytes;
static atomic_bool wrong;

/* Between the thread that reads commands and the others. */
static pthread_mutex_t run_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static unsigned run_number; /* of the current run; 0: none yet */
static unsigned running;
static bool over;

/* Guarded by the lock that is tested, and by nothing else. */
static long long left;
static unsigned inside;
static uint64_t token;
static long long tickets;
static long long in_a_row;
static long long longest;

static void report_error(const char *what, hf_status status)
{
    fprintf(stderr, "threads: %s: %s\n", what, hf_status_name(status));
    atomic_store(&wrong, true);
}

/* ------------------------------------------------------------------ heap -- */

static void count(void *memory, int by)
{
    if (memory == NULL)
        return;
    atomic_fetch_add(&blocks, by);
    atomic_fetch_add(&bytes, by * (long long)malloc_usable_size(memory));
}

static void *counted_allocate(size_t size, void *arg)
{
    void *memory = malloc(size);

    (void)arg;
    count(memory, 1);
    return memory;
}

static void *counted_resize(void *memory, size_t size, void *arg)
{
    void *moved;

    (void)arg;
    count(memory, -1);
    moved = realloc(memory, size);
    count(moved != NULL ? moved : memory, 1);
    return moved;
}

static void counted_release(void *memory, void *arg)
{
    (void)arg;
    count(memory, -1);
    free(memory);
}

/* Detached threads of the library free their memory some time later. */
static bool is_freed(void)
{
    for (int i = 0; i < 1000 && atomic_load(&blocks) != 0; i++)
        (void)poll(NULL, 0, 10);
    return atomic_load(&blocks) == 0;
}

/* --------------------------------------------------------------- threads -- */

/* The caller has the lock.  Returns whether there is more to do. */
static bool take_turn(uint64_t of)
{
    bool more = left > 0;

    if (inside++ != 0)
        report_error("two at once", HF_EBUG);
    if (of < token)
        report_error("tokens fall", HF_EBUG);
    in_a_row = of == token ? in_a_row + 1 : 1;
    tickets += of != token;
    token = of;
    longest = in_a_row > longest ? in_a_row : longest;
    left -= more;
    inside--;
    return more;
}

static bool turn_mutex(void)
{
    hf_status status = hf_mutex_lock(mutex);
    bool more;

    if (status != HF_OK) {
        report_error("hf_mutex_lock", status);
        return false;
    }
    more = take_turn(hf_mutex_token(mutex));
    if ((status = hf_mutex_unlock(mutex)) != HF_OK)
        report_error("hf_mutex_unlock", status);
    return more;
}

static bool turn_lock(void)
{
    struct hf_grant *grant;
    hf_status status = hf_lock_acquire(lock, NULL, &grant);
    bool more;

    if (status != HF_OK) {
        report_error("hf_lock_acquire", status);
        return false;
    }
    more = take_turn(hf_grant_token(grant));
    if ((status = hf_grant_release(grant)) != HF_OK)
        report_error("hf_grant_release", status);
    return more;
}

static void *thread_main(void *arg)
{
    unsigned run_seen = 0;

    (void)arg;
    for (;;) {
        pthread_mutex_lock(&run_mutex);
        while (run_seen == run_number && !over)
            pthread_cond_wait(&opened, &run_mutex);
        run_seen = run_number;
        pthread_mutex_unlock(&run_mutex);
        if (over)
            return NULL;
        while (mutex != NULL ? turn_mutex() : turn_lock())
            ;
        pthread_mutex_lock(&run_mutex);
        if (--running == 0)
            pthread_cond_signal(&passed);
        pthread_mutex_unlock(&run_mutex);
    }
}

static void run(unsigned threads, long long grants)
{
    pthread_mutex_lock(&run_mutex);
    left = grants;
    token = 0;
    tickets = in_a_row = longest = 0;
    running = threads;
    run_number++;
    pthread_cond_broadcast(&opened);
    while (running > 0)
        pthread_cond_wait(&passed, &run_mutex);
    pthread_mutex_unlock(&run_mutex);
    printf("ran %lld %lld\n", tickets, longest);
}

/* ------------------------------------------------------------------ main -- */

static void open_all(const char *url, const char *name, const char *how)
{
    const struct hf_allocator counted = {counted_allocate, counted_resize,
                                         counted_release, NULL};
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    hf_status status = hf_set_allocator(&counted);

    if (status == HF_OK)
        status = hf_client_open(url, NULL, &client);
    if (strcmp(how, "keep") == 0)
        opts.keep_ms = KEEP_MS;
    else if (strcmp(how, "keep-briefly") == 0)
        opts.keep_ms = KEEP_BRIEFLY_MS;
    if (status == HF_OK && strcmp(how, "lock") == 0)
        status = hf_lock_open(client, name, NULL, &lock);
    else if (status == HF_OK)
        status = hf_mutex_open(client, name, &opts, &mutex);
    if (status != HF_OK) {
        fprintf(stderr, "threads: %s %s\n", hf_status_name(status),
                hf_last_error()->text);
        exit(1);
    }
}

static void run_commands(unsigned threads)
{
    char line[64];
    long long grants;

    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "run %lld", &grants) == 1)
            run(threads, grants);
        else
            printf("heap %lld %lld\n", atomic_load(&blocks),
                   atomic_load(&bytes));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    unsigned wanted = argc == 5 ? (unsigned)atoi(argv[3]) : 0;
    pthread_attr_t attributes;

    if (wanted == 0 || wanted > THREADS_MAX) {
        fprintf(stderr, "usage: threads URL NAME COUNT "
                        "mutex|lock|keep|keep-briefly\n");
        return 64;
    }
    open_all(argv[1], argv[2], argv[4]);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (unsigned i = 0; i < wanted; i++) {
        if (pthread_create(&threads[i], &attributes, thread_main, NULL) != 0) {
            perror("threads: pthread_create");
            return 1;
        }
    }
    run_commands(wanted);
    pthread_mutex_lock(&run_mutex);
    over = true;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&run_mutex);
    for (unsigned i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    hf_mutex_free(mutex);
    hf_lock_free(lock);
    if (hf_client_close(client) != HF_OK)
        report_error("hf_client_close", HF_EBUG);
    if (!is_freed())
        report_error("memory is left", HF_EBUG);
    return atomic_load(&wrong) ? 1 : 0;
}
