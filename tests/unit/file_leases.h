/* SPDX-License-Identifier: Apache-2.0 */
/* The semaphore "s" in the file engine, for tests of its leases.  An acquire of
 * permits uses two queues: a mutex in LOCKS, and behind it a lease in LEASES.
 */
#ifndef HF_TESTS_UNIT_FILE_LEASES_H
#define HF_TESTS_UNIT_FILE_LEASES_H

#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"

#define LOCKS "s" HF_QUEUE_LOCKS
#define LEASES "s" HF_QUEUE_LEASES

/* Enqueue a lease of ${weight} permits; remove one.  leases_leave() is true if
 * it was still there. */
struct hf_ticket_id leases_take(struct engine_client *client, uint32_t weight);
bool leases_leave(struct engine_client *client, struct hf_ticket_id id);

/* Watch the queue of leases, which must have ${expected} of them. */
struct client_request *leases_look(struct engine_client *client,
                                   size_t expected);

/* The queue watch ${request} has reported no change until now. */
void leases_expect_nothing(struct engine_client *client,
                           const struct client_request *request);

/* Descriptors of this process for files below the root of the engine. */
unsigned leases_open_in_root(void);

#endif
