/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, child processes, and what a process has open; for tests of the
 * host and fixtures. */
#ifndef HF_TESTS_PROCESS_H
#define HF_TESTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client_fixture.h"

uint64_t boottime_ms(void);

/* Poll ${condition} until it holds; fails the test after ten seconds. */
void wait_until(bool (*condition)(void *arg), void *arg);

/* Run ${main} on a thread of its own and wait for its end. */
void run_on_thread(void *(*main)(void *arg), void *arg);

/* Start a thread; the caller joins it. */
pthread_t start_thread(void *(*main)(void *arg), void *arg);

/* Wait until there are ${count} tickets in ${directory}; fails the test
 * after ten seconds. */
void await_tickets(const struct client_directory *directory, int count);
/* The same, and run callbacks of ${host} meanwhile. */
void client_await_tickets(struct client_fixture *fixture,
                          const struct client_directory *directory, int count);

/* Run ${child_main} in a child process, which exits with the value it
 * returns. Fails the test unless that is 0 and comes within half a minute. */
void run_in_child(int (*child_main)(void *arg), void *arg);

/* Wait for ${child} in the same way; its status as of waitpid(). */
int reap_child(pid_t child);

/* A failed check in a child process, where the assertions of cmocka must not
 * be used: print where, and make the calling function return 1. */
int child_check_failed(const char *file, int line, const char *what);
#define CHILD_CHECK(condition)                                                 \
    do {                                                                       \
        if (!(condition))                                                      \
            return child_check_failed(__FILE__, __LINE__, #condition);         \
    } while (0)

/* The number of threads and of open descriptors of this process. */
int count_threads(void);
int count_fds(void);

/* Call ${visit} with each open descriptor. */
void for_each_fd(void (*visit)(int fd, void *arg), void *arg);

/* Open a client of ${url} with default options; fails the test if that
 * fails. */
struct hf_client *open_client(const char *url);

#endif
