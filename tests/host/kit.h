/* SPDX-License-Identifier: Apache-2.0 */
/* What several tests of the host need: errands of other threads, children,
 * and a look at what the process has open. */
#ifndef HF_TESTS_KIT_H
#define HF_TESTS_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "front.h"

uint64_t kit_now_ms(void);

/* Poll ${condition} until it holds; fails the test after ten seconds. */
void kit_until(bool (*condition)(void *arg), void *arg);

/* Run ${errand} on a thread of its own and wait for it to end. */
void kit_elsewhere(void *(*errand)(void *arg), void *arg);

/* Begin one, to be joined. */
pthread_t kit_thread(void *(*errand)(void *arg), void *arg);

/* Wait until there are ${count} tickets in ${place}. */
void kit_await_tickets(const struct place *place, int count);
/* The same, letting callbacks of ${front} come. */
void kit_await_tickets_with(struct front *front, const struct place *place,
                            int count);

/* Run ${story} in a child; it ends with what that returns.  Fails the test
 * unless that is 0 within half a minute. */
void kit_in_child(int (*story)(void *arg), void *arg);

/* Wait for ${child} as that does and return its wait status. */
int kit_reap(pid_t child);

/* A failed check in a child, where cmocka must not be asked: says where and
 * makes the calling story return 1. */
int kit_complain(const char *file, int line, const char *what);
#define KIT_CHECK(condition)                                                   \
    do {                                                                       \
        if (!(condition))                                                      \
            return kit_complain(__FILE__, __LINE__, #condition);               \
    } while (0)

/* Threads and descriptors of this process. */
int kit_threads(void);
int kit_fds(void);

/* Call ${look} with each open descriptor, in rising order. */
void kit_each_fd(void (*look)(int fd, void *arg), void *arg);

/* A client of ${url} with everything as it is by default. */
struct hf_client *kit_client(const char *url);

#endif
