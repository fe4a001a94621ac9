/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the conformance suite share. */
#ifndef HF_TESTS_CONFORMANCE_SUITE_H
#define HF_TESTS_CONFORMANCE_SUITE_H

#include "conformance/engine_client.h"

/* The fixture that suite_run() was called with. */
extern struct conformance_fixture *fixture;

#define SUITE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, suite_begin, suite_finish)
int suite_begin(void **state);
int suite_finish(void **state);

/* Run a table of them, as a group of that name.  How many failed. */
#define RUN_SUITE(name, tests)                                                 \
    test_run(name, tests, sizeof(tests) / sizeof((tests)[0]), NULL, NULL)

/* Enqueue a mutex; remove it, it must be there. */
struct client_request *enqueue_mutex(struct engine_client *client,
                                     const char *queue, struct hf_ticket_id id);
void remove_mutex(struct engine_client *client, const char *queue,
                  struct hf_ticket_id id);

/* The token of ${id} in the answer to its enqueue. */
uint64_t token_of(const struct client_request *request, struct hf_ticket_id id);

/* A LIST or WATCH_QUEUE whose answer has ${count} tickets.  It is asked once;
 * where .tickets_linger, again until it has. */
struct client_request *list_showing(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, size_t count);
void expect_length(struct engine_client *client, const char *queue,
                   size_t count);

/* suite_queue_watches.c: queue watches. */
int suite_run_queue_watches(const char *name);

/* suite_semaphores.c: leases. */
int suite_run_semaphores(const char *name);

/* suite_barriers.c: barriers, which are flags without an owner. */
int suite_run_barriers(const char *name);

/* suite_success.c: the success of a queue. */
int suite_run_success(const char *name);

/* suite_double_barriers.c: participants and generations. */
int suite_run_double_barriers(const char *name);

#endif
