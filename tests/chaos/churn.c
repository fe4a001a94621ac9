/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn URL CLIENTS SEED: CLIENTS threads, each with a client of its own, take,
 * try, wait for, give up and release a few locks in random order, until
 * standard input ends.
 *
 * Then each finishes its operation and closes its client, and one line prints
 * how often each status came.  The status is 1, with a line that says why, if
 * tokens did not rise, a status made no sense, or descriptors or threads were
 * left.
 */
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#define LOCKS 3
#define CLIENTS_MAX 64
#define STATUSES 32
#define GONE_WITHIN_MS 10000

static const char *const names[LOCKS] = {"soak/one", "soak/two",
                                         "soak/two/below"};

static const char *url;
static atomic_bool over;
static atomic_bool wrong;
static atomic_ullong ends[STATUSES]; /* of acquires, by status */
static atomic_ullong lost;

/* The highest token of each lock. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last[LOCKS];

struct churner {
    pthread_t thread;
    uint64_t random;
    struct hf_client *client;
    struct hf_lock *locks[LOCKS];
    unsigned long long granted;
};

static void complain(const char *what, hf_status status, const char *text)
{
    fprintf(stderr, "churn: %s: %s %s\n", what, hf_status_name(status), text);
    atomic_store(&wrong, true);
}

/* Below ${bound}; splitmix64. */
static unsigned draw(struct churner *churner, unsigned bound)
{
    uint64_t z = churner->random += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % bound);
}

static void pass_ms(unsigned ms)
{
    (void)poll(NULL, 0, (int)ms);
}

/* ---------------------------------------------------------------- client -- */

static void open_client(struct churner *churner)
{
    hf_status status = hf_client_open(url, NULL, &churner->client);

    if (status != HF_OK) {
        complain("open", status, hf_last_error()->text);
        exit(1);
    }
    for (int i = 0; i < LOCKS; i++)
        if (hf_lock_open(churner->client, names[i], NULL, &churner->locks[i]) !=
            HF_OK)
            abort();
}

static void close_client(struct churner *churner)
{
    for (int i = 0; i < LOCKS; i++)
        hf_lock_free(churner->locks[i]);
    if (hf_client_close(churner->client) != HF_OK)
        abort();
}

/* ----------------------------------------------------------------- grant -- */

static void check_token(struct hf_grant *grant, int which)
{
    uint64_t token = hf_grant_token(grant);

    pthread_mutex_lock(&last_lock);
    /* A thread that has lost its grant may come late. */
    if (token <= last[which] && hf_grant_check(grant) == HF_OK)
        complain("tokens do not rise", HF_EBUG, names[which]);
    if (token > last[which])
        last[which] = token;
    pthread_mutex_unlock(&last_lock);
}

static void let_go(struct churner *churner, struct hf_grant *grant)
{
    const struct hf_done nobody = {NULL, NULL, NULL};
    hf_status status;

    if (draw(churner, 2) == 0)
        status = hf_grant_release(grant);
    else
        status = hf_grant_release_start(grant, nobody);
    if (status == HF_ELOST)
        atomic_fetch_add(&lost, 1);
    else if (status != HF_OK)
        complain("release", status, "");
}

static void take_end(struct churner *churner, int which, hf_status status,
                     struct hf_grant *grant)
{
    atomic_fetch_add(&ends[status], 1);
    switch (status) {
    case HF_OK:
        churner->granted++;
        check_token(grant, which);
        pass_ms(draw(churner, 10));
        let_go(churner, grant);
        break;
    case HF_EBUSY:
    case HF_ETIMEDOUT:
    case HF_ECANCELLED:
    case HF_EUNREACHABLE: /* a try, or a new client, in vain for 15 s */
        break;
    default:
        complain("acquire", status, hf_last_error()->text);
    }
}

/* ------------------------------------------------------------------ ways -- */

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool there;
    hf_status status;
    struct hf_grant *grant;
};

static void on_done(void *arg, const struct hf_result *result)
{
    struct answer *answer = arg;

    pthread_mutex_lock(&answer->lock);
    answer->there = true;
    answer->status = result->status;
    answer->grant = result->grant;
    pthread_cond_signal(&answer->came);
    pthread_mutex_unlock(&answer->lock);
}

/* Begin to wait, and cancel it a moment later. */
static hf_status cancel(struct churner *churner, int which,
                        struct hf_grant **grant)
{
    struct answer answer = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .came = PTHREAD_COND_INITIALIZER};
    struct hf_done done = {on_done, &answer, NULL};
    struct hf_op *op;
    hf_status status =
        hf_lock_acquire_start(churner->locks[which], NULL, done, &op);

    if (status != HF_OK)
        return status;
    pass_ms(draw(churner, 20));
    hf_op_cancel(op);
    hf_op_free(op);
    pthread_mutex_lock(&answer.lock);
    while (!answer.there)
        pthread_cond_wait(&answer.came, &answer.lock);
    pthread_mutex_unlock(&answer.lock);
    *grant = answer.grant;
    return answer.status;
}

static hf_status ask(struct churner *churner, int which,
                     struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    switch (draw(churner, 4)) {
    case 0:
        return hf_lock_acquire(churner->locks[which], NULL, grant);
    case 1:
        return hf_lock_try_acquire(churner->locks[which], grant);
    case 2:
        opts.wait_ms = 1 + draw(churner, 200);
        return hf_lock_acquire(churner->locks[which], &opts, grant);
    default:
        return cancel(churner, which, grant);
    }
}

static void *churn(void *arg)
{
    struct churner *churner = arg;
    struct hf_grant *grant = NULL;
    hf_status status;
    int which;

    open_client(churner);
    while (!atomic_load(&over)) {
        which = (int)draw(churner, LOCKS);
        status = ask(churner, which, &grant);
        take_end(churner, which, status, grant);
        if (draw(churner, 400) == 0) {
            close_client(churner);
            open_client(churner);
        }
    }
    close_client(churner);
    return NULL;
}

/* --------------------------------------------------------------- process -- */

static int entries(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;

    if (directory == NULL)
        abort();
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count;
}

/* Threads that nobody can join may take a moment to go. */
static void see_that_there_are(const char *path, int before)
{
    for (int i = 0; i < GONE_WITHIN_MS / 10 && entries(path) > before; i++)
        pass_ms(10);
    if (entries(path) > before) {
        fprintf(stderr, "churn: %s had %d entries and has %d\n", path, before,
                entries(path));
        atomic_store(&wrong, true);
    }
}

static void summary(const struct churner *churners, unsigned count)
{
    unsigned long long least = churners[0].granted;

    for (unsigned i = 1; i < count; i++)
        if (churners[i].granted < least)
            least = churners[i].granted;
    printf("least=%llu lost=%llu", least, atomic_load(&lost));
    for (int i = 0; i < STATUSES; i++)
        if (atomic_load(&ends[i]) > 0)
            printf(" %s=%llu", hf_status_name((hf_status)i),
                   atomic_load(&ends[i]));
    putchar('\n');
}

int main(int argc, char **argv)
{
    static struct churner churners[CLIENTS_MAX];
    unsigned count = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    int descriptors, threads;
    char byte;

    if (count == 0 || count > CLIENTS_MAX) {
        fputs("usage: see the top of churn.c\n", stderr);
        return 64;
    }
    url = argv[1];
    /* The first client of a process has libuv open what it keeps for good. */
    open_client(&churners[0]);
    close_client(&churners[0]);
    descriptors = entries("/proc/self/fd");
    threads = entries("/proc/self/task");
    for (unsigned i = 0; i < count; i++) {
        churners[i].random = strtoull(argv[3], NULL, 10) * CLIENTS_MAX + i;
        if (pthread_create(&churners[i].thread, NULL, churn, &churners[i]) != 0)
            abort();
    }
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    atomic_store(&over, true);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(churners[i].thread, NULL);
    see_that_there_are("/proc/self/task", threads);
    see_that_there_are("/proc/self/fd", descriptors);
    summary(churners, count);
    return atomic_load(&wrong) ? 1 : 0;
}
