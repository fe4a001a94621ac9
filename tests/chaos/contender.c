/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contender for one lock, to be killed at any moment.
 *
 *     contender add URL NAME DIRECTORY ID COUNT
 *         COUNT times: take the lock, raise the number in DIRECTORY/counter by
 *         reading and writing it, log "ID TOKEN NUMBER" to DIRECTORY/log.
 *     contender add-permit URL NAME DIRECTORY ID COUNT
 *         The same, the lock being a semaphore with one permit.
 *     contender keep URL NAME DIRECTORY ID COUNT
 *         The same, the lock being a mutex that keeps its ticket for a minute.
 *     contender once DIRECTORY ID
 *         The same once, under a lock that holdfast run holds.
 *     contender share URL NAME DIRECTORY ID COUNT
 *         COUNT times, by turns as a writer and as a reader: take the lock; the
 *         writer raises the number in DIRECTORY/one and DIRECTORY/two, one
 *         after the other; the reader fails if they differ; log "ID TOKEN KIND
 *         NUMBER" to DIRECTORY/log, KIND being w or r.
 *     contender share-once KIND DIRECTORY ID
 *         The same once, under a lock that holdfast run holds.
 *     contender hold URL NAME
 *         Take the lock, print "TOKEN INSTANT", wait for the end of standard
 *         input, release.  Print "lost" when it is lost.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

static void fail(const char *what, hf_status status, const char *text)
{
    fprintf(stderr, "contender: %s: %s: %s\n", what, hf_status_name(status),
            text);
    exit(1);
}

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static unsigned long long read_number(const char *directory, const char *file)
{
    char path[4096];
    char line[128] = "";
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, file);
    check((fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) >= 0, path);
    check(read(fd, line, sizeof(line) - 1) >= 0, path);
    close(fd);
    return strtoull(line, NULL, 10);
}

static void write_number(const char *directory, const char *file,
                         unsigned long long number)
{
    char path[4096];
    char line[128];
    int length = snprintf(line, sizeof(line), "%llu\n", number);
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, file);
    check((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) >= 0, path);
    check(write(fd, line, (size_t)length) == length, path);
    close(fd);
}

static void append_line(const char *directory, const char *line)
{
    char path[4096];
    size_t bytes = strlen(line);
    int fd;

    (void)snprintf(path, sizeof(path), "%s/log", directory);
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    check(fd >= 0, path);
    check(write(fd, line, bytes) == (ssize_t)bytes, path);
    close(fd);
}

/* A writer that is not alone leaves a pair that differs, or is seen at it. */
static void share(const char *directory, const char *id,
                  unsigned long long token, bool writes)
{
    unsigned long long number = read_number(directory, "one");
    char line[128];

    if (number != read_number(directory, "two"))
        fail("share", HF_EBUG,
             "the two files differ: another contender writes");
    if (writes) {
        number++;
        write_number(directory, "one", number);
        write_number(directory, "two", number);
    }
    (void)snprintf(line, sizeof(line), "%s %llu %c %llu\n", id, token,
                   writes ? 'w' : 'r', number);
    append_line(directory, line);
}

/* Deliberately without any care of its own: only the lock makes it right. */
static void add(const char *directory, const char *id, unsigned long long token)
{
    unsigned long long number = read_number(directory, "counter") + 1;
    char line[128];

    write_number(directory, "counter", number);
    (void)snprintf(line, sizeof(line), "%s %llu %llu\n", id, token, number);
    append_line(directory, line);
}

static struct hf_client *open_client(const char *url)
{
    struct hf_client *client;
    hf_status status = hf_client_open(url, NULL, &client);

    if (status != HF_OK)
        fail("open", status, hf_last_error()->text);
    return client;
}

static struct hf_lock *open_lock(struct hf_client *client, const char *name,
                                 enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;
    hf_status status;

    opts.kind = kind;
    status = hf_lock_open(client, name, &opts, &lock);
    if (status != HF_OK)
        fail("lock", status, hf_last_error()->text);
    return lock;
}

static struct hf_grant *acquire(struct hf_lock *lock,
                                const struct hf_acquire_opts *opts)
{
    struct hf_grant *grant;
    hf_status status = hf_lock_acquire(lock, opts, &grant);

    if (status != HF_OK)
        fail("acquire", status, hf_last_error()->text);
    return grant;
}

/* If the server was killed meanwhile, it is unknown who removed the ticket, and
 * the status is HF_ELOST.  The log shows whether two held the lock at once. */
static void release(struct hf_grant *grant)
{
    hf_status status = hf_grant_release(grant);

    if (status != HF_OK && status != HF_ELOST)
        fail("release", status, "");
}

static int add_many(char **arguments, enum hf_kind kind)
{
    struct hf_client *client = open_client(arguments[0]);
    struct hf_lock *lock = open_lock(client, arguments[1], kind);
    long count = strtol(arguments[4], NULL, 10);
    struct hf_grant *grant;

    for (long i = 0; i < count; i++) {
        grant = acquire(lock, NULL);
        add(arguments[2], arguments[3], hf_grant_token(grant));
        release(grant);
    }
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}

static int keep_many(char **arguments)
{
    struct hf_client *client = open_client(arguments[0]);
    long count = strtol(arguments[4], NULL, 10);
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;
    hf_status status;

    opts.keep_ms = 60000;
    status = hf_mutex_open(client, arguments[1], &opts, &mutex);
    if (status != HF_OK)
        fail("mutex", status, hf_last_error()->text);
    for (long i = 0; i < count; i++) {
        if ((status = hf_mutex_lock(mutex)) != HF_OK)
            fail("lock", status, hf_last_error()->text);
        add(arguments[2], arguments[3], hf_mutex_token(mutex));
        if ((status = hf_mutex_unlock(mutex)) != HF_OK)
            fail("unlock", status, hf_last_error()->text);
    }
    hf_mutex_free(mutex);
    hf_client_close(client);
    return 0;
}

/* Half of the contenders begin as writers, the others as readers. */
static int share_many(char **arguments)
{
    struct hf_client *client = open_client(arguments[0]);
    struct hf_lock *locks[] = {open_lock(client, arguments[1], HF_KIND_WRITE),
                               open_lock(client, arguments[1], HF_KIND_READ)};
    const char *id = arguments[3];
    long turn = id[strlen(id) - 1] - '0';
    long end = turn + strtol(arguments[4], NULL, 10);
    struct hf_grant *grant;

    for (; turn < end; turn++) {
        grant = acquire(locks[turn % 2], NULL);
        share(arguments[2], id, hf_grant_token(grant), turn % 2 == 0);
        release(grant);
    }
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    hf_client_close(client);
    return 0;
}

static int share_once(char **arguments)
{
    const char *token = getenv("HOLDFAST_TOKEN");

    check(token != NULL, "HOLDFAST_TOKEN");
    share(arguments[1], arguments[2], strtoull(token, NULL, 10),
          strcmp(arguments[0], "w") == 0);
    return 0;
}

static int add_once(char **arguments)
{
    const char *token = getenv("HOLDFAST_TOKEN");

    check(token != NULL, "HOLDFAST_TOKEN");
    add(arguments[0], arguments[1], strtoull(token, NULL, 10));
    return 0;
}

static unsigned long long now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000ULL +
           (unsigned long long)now.tv_nsec / 1000ULL;
}

static int hold(char **arguments)
{
    struct hf_client *client = open_client(arguments[0]);
    struct hf_lock *lock = open_lock(client, arguments[1], HF_KIND_MUTEX);
    struct hf_grant *grant = acquire(lock, NULL);
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.events = POLLIN}};
    hf_status status = hf_grant_loss_fd(grant, &fds[1].fd);

    if (status != HF_OK)
        fail("loss_fd", status, "");
    printf("%llu %llu\n", (unsigned long long)hf_grant_token(grant), now_us());
    (void)fflush(stdout);
    while (poll(fds, 2, -1) < 0)
        ;
    status = hf_grant_release(grant);
    puts(status == HF_OK ? "released" : "lost");
    hf_lock_free(lock);
    hf_client_close(client);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 7 && strcmp(arguments[1], "add") == 0)
        return add_many(arguments + 2, HF_KIND_MUTEX);
    if (count == 7 && strcmp(arguments[1], "add-permit") == 0)
        return add_many(arguments + 2, HF_KIND_SEMAPHORE);
    if (count == 7 && strcmp(arguments[1], "keep") == 0)
        return keep_many(arguments + 2);
    if (count == 4 && strcmp(arguments[1], "once") == 0)
        return add_once(arguments + 2);
    if (count == 7 && strcmp(arguments[1], "share") == 0)
        return share_many(arguments + 2);
    if (count == 5 && strcmp(arguments[1], "share-once") == 0)
        return share_once(arguments + 2);
    if (count == 4 && strcmp(arguments[1], "hold") == 0)
        return hold(arguments + 2);
    fputs("usage: see the top of contender.c\n", stderr);
    return 64;
}
