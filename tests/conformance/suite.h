/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the suite share. */
#ifndef HF_TESTS_CONFORMANCE_SUITE_H
#define HF_TESTS_CONFORMANCE_SUITE_H

#include "conformance/engine_client.h"

/* That the suite is run on. */
extern struct conformance_fixture *fixture;

#define SUITE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, suite_begin, suite_finish)
int suite_begin(void **state);
int suite_finish(void **state);

/* Of a mutex; and out again, being found. */
struct client_request *enqueue_mutex(struct engine_client *client,
                                     const char *queue, struct hf_ticket_id id);
void remove_mutex(struct engine_client *client, const char *queue,
                  struct hf_ticket_id id);

/* The token of ${id} in the answer that put it into the queue. */
uint64_t token_of(const struct client_request *request, struct hf_ticket_id id);

/* A LIST or WATCH_QUEUE that shows ${count} tickets: the first one asked for,
 * but where tickets that others took out linger. */
struct client_request *list_showing(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, size_t count);
void expect_length(struct engine_client *client, const char *queue,
                   size_t count);

/* suite_semaphores.c: looks and leases. */
int suite_run_semaphores(const char *name);

/* suite_barriers.c: marks. */
int suite_run_barriers(const char *name);

/* suite_double_barriers.c: those of double barriers. */
int suite_run_double_barriers(const char *name);

#endif
