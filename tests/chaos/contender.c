/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contender for one lock, to be killed at any moment.
 *
 *     contender add URL NAME DIRECTORY ID COUNT
 *         COUNT times: take the lock, raise the number in DIRECTORY/counter by
 *         reading and writing it, log "ID TOKEN NUMBER" to DIRECTORY/log.
 *     contender once DIRECTORY ID
 *         The same once, under a lock that holdfast run holds.
 *     contender hold URL NAME
 *         Take the lock, print "TOKEN INSTANT", wait for the end of standard
 *         input, release.  Print "lost" when it is lost.
 */
#include <fcntl.h>
#include <poll.h>
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

/* Deliberately without any care of its own: only the lock makes it right. */
static void add(const char *directory, const char *id, unsigned long long token)
{
    char path[4096];
    char line[128] = "";
    unsigned long long number;
    int fd;
    int length;

    (void)snprintf(path, sizeof(path), "%s/counter", directory);
    check((fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0, path);
    check(pread(fd, line, sizeof(line) - 1, 0) >= 0, path);
    number = strtoull(line, NULL, 10) + 1;
    length = snprintf(line, sizeof(line), "%llu\n", number);
    check(pwrite(fd, line, (size_t)length, 0) == length, path);
    close(fd);

    (void)snprintf(path, sizeof(path), "%s/log", directory);
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    check(fd >= 0, path);
    length = snprintf(line, sizeof(line), "%s %llu %llu\n", id, token, number);
    check(write(fd, line, (size_t)length) == length, path);
    close(fd);
}

static struct hf_client *open_client(const char *url)
{
    struct hf_client *client;
    struct hf_error error;
    hf_status status = hf_client_open(url, NULL, &client, &error);

    if (status != HF_OK)
        fail("open", status, error.text);
    return client;
}

static struct hf_lock *open_lock(struct hf_client *client, const char *name)
{
    struct hf_lock *lock;
    struct hf_error error;
    hf_status status = hf_lock_open(client, name, NULL, &lock);

    hf_client_error(client, &error);
    if (status != HF_OK)
        fail("lock", status, error.text);
    return lock;
}

static struct hf_grant *acquire(struct hf_lock *lock,
                                const struct hf_acquire_opts *opts)
{
    struct hf_grant *grant;
    struct hf_error error;
    hf_status status = hf_acquire(lock, opts, &grant);

    hf_lock_error(lock, &error);
    if (status != HF_OK)
        fail("acquire", status, error.text);
    return grant;
}

static int add_many(char **arguments)
{
    struct hf_client *client = open_client(arguments[0]);
    struct hf_lock *lock = open_lock(client, arguments[1]);
    long count = strtol(arguments[4], NULL, 10);
    struct hf_grant *grant;
    hf_status status;

    for (long i = 0; i < count; i++) {
        grant = acquire(lock, NULL);
        add(arguments[2], arguments[3], hf_grant_token(grant));
        status = hf_grant_release(grant);
        if (status != HF_OK)
            fail("release", status, "");
    }
    hf_lock_free(lock);
    hf_client_close(client);
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
    struct hf_lock *lock = open_lock(client, arguments[1]);
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
        return add_many(arguments + 2);
    if (count == 4 && strcmp(arguments[1], "once") == 0)
        return add_once(arguments + 2);
    if (count == 4 && strcmp(arguments[1], "hold") == 0)
        return hold(arguments + 2);
    fputs("usage: see the top of contender.c\n", stderr);
    return 64;
}
