/* SPDX-License-Identifier: Apache-2.0 */
/* What several tests of the host need: errands of other threads, children,
 * and a look at what the process has open. */
#ifndef HF_TESTS_PROCESS_H
#define HF_TESTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host_fixture.h"

uint64_t boottime_ms(void);

/* Poll ${condition} until it holds; fails the test after ten seconds. */
void wait_until(bool (*condition)(void *arg), void *arg);

/* Run ${errand} on a thread of its own and wait for it to end. */
void run_on_thread(void *(*main)(void *arg), void *arg);

/* Begin one, to be joined. */
pthread_t start_thread(void *(*main)(void *arg), void *arg);

/* Wait until there are ${count} tickets in ${place}. */
void await_tickets(const struct host_directory *directory, int count);
/* The same, letting callbacks of ${front} come. */
void host_await_tickets(struct host_fixture *host,
                        const struct host_directory *directory, int count);

/* Run ${story} in a child; it ends with what that returns.  Fails the test
 * unless that is 0 within half a minute. */
void run_in_child(int (*child_main)(void *arg), void *arg);

/* Wait for ${child} as that does and return its wait status. */
int reap_child(pid_t child);

/* A failed check in a child, where cmocka must not be asked: says where and
 * makes the calling story return 1. */
int child_check_failed(const char *file, int line, const char *what);
#define CHILD_CHECK(condition)                                                 \
    do {                                                                       \
        if (!(condition))                                                      \
            return child_check_failed(__FILE__, __LINE__, #condition);         \
    } while (0)

/* Threads and descriptors of this process. */
int count_threads(void);
int count_fds(void);

/* Call ${look} with each open descriptor, in rising order. */
void for_each_fd(void (*visit)(int fd, void *arg), void *arg);

/* A client of ${url} with everything as it is by default. */
struct hf_client *open_client(const char *url);

#endif
