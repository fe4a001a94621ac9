/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting with a limit, threads, children, and /proc/self. */
#include "process.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 10000
#define CHILD_TIMEOUT_MS 30000
#define FDS_MAX 4096

uint64_t boottime_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void step(void)
{
    const struct timespec while_others_work = {0, 1000000};

    (void)nanosleep(&while_others_work, NULL);
}

void wait_until(bool (*condition)(void *arg), void *arg)
{
    uint64_t until = boottime_ms() + TIMEOUT_MS;

    while (!condition(arg)) {
        assert_true(boottime_ms() < until);
        step();
    }
}

/* --------------------------------------------------------------- threads -- */

pthread_t start_thread(void *(*main)(void *arg), void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, main, arg), 0);
    return thread;
}

void run_on_thread(void *(*main)(void *arg), void *arg)
{
    assert_int_equal(pthread_join(start_thread(main, arg), NULL), 0);
}

/* ----------------------------------------------------------- directories -- */

struct expected_tickets {
    const struct client_directory *directory;
    int count;
};

static bool has_tickets(void *arg)
{
    struct expected_tickets *expected_tickets = arg;

    return client_directory_count_tickets(expected_tickets->directory) ==
           expected_tickets->count;
}

void await_tickets(const struct client_directory *directory, int count)
{
    struct expected_tickets expected_tickets = {directory, count};

    wait_until(has_tickets, &expected_tickets);
}

void client_await_tickets(struct client_fixture *fixture,
                          const struct client_directory *directory, int count)
{
    struct expected_tickets expected_tickets = {directory, count};

    client_wait_until(fixture, has_tickets, &expected_tickets);
}

/* -------------------------------------------------------------- children -- */

int reap_child(pid_t child)
{
    uint64_t until = boottime_ms() + CHILD_TIMEOUT_MS;
    int status = 0;
    pid_t reaped;

    while ((reaped = waitpid(child, &status, WNOHANG)) == 0 &&
           boottime_ms() < until)
        step();
    if (reaped == 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
        print_error("a child hung and was killed\n");
    } else if (status != 0) {
        print_error("a child ended with wait status 0x%x\n", (unsigned)status);
    }
    return status;
}

void run_in_child(int (*child_main)(void *arg), void *arg)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(child_main(arg));
    assert_int_equal(reap_child(child), 0);
}

int child_check_failed(const char *file, int line, const char *what)
{
    (void)dprintf(STDERR_FILENO, "%s:%d: not so: %s\n", file, line, what);
    return 1;
}

/* ------------------------------------------------------ open descriptors -- */

int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    assert_non_null(tasks);
    while ((entry = readdir(tasks)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

void for_each_fd(void (*visit)(int fd, void *arg), void *arg)
{
    DIR *entries = opendir("/proc/self/fd");
    struct dirent *entry;
    int fds[FDS_MAX];
    int count = 0;
    int i;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(entries))
            continue;
        assert_true(count < FDS_MAX);
        fds[count++] = atoi(entry->d_name);
    }
    closedir(entries);
    for (i = 0; i < count; i++)
        visit(fds[i], arg);
}

static void count_one(int fd, void *arg)
{
    (void)fd;
    ++*(int *)arg;
}

int count_fds(void)
{
    int count = 0;

    for_each_fd(count_one, &count);
    return count;
}

struct hf_client *open_client(const char *url)
{
    struct hf_client *client;

    if (hf_client_open(url, NULL, &client) != HF_OK)
        print_error("%s\n", hf_last_error()->text);
    assert_non_null(client);
    return client;
}
