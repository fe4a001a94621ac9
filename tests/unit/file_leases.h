/* SPDX-License-Identifier: Apache-2.0 */
/* The leases of a semaphore on the file engine's bench. */
#ifndef HF_TESTS_UNIT_FILE_LEASES_H
#define HF_TESTS_UNIT_FILE_LEASES_H

#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"

#define LOCKS "s" HF_QUEUE_LOCKS
#define LEASES "s" HF_QUEUE_LEASES

/* Put a lease in; take it out: was it there? */
struct hf_ticket_id leases_take(struct engine_client *client, uint32_t weight);
bool leases_leave(struct engine_client *client, struct hf_ticket_id id);

/* A look that must be answered, with ${expected} of them. */
struct client_request *leases_look(struct engine_client *client,
                                   size_t expected);

/* The look was told nothing by now. */
void leases_expect_nothing(struct engine_client *client,
                           const struct client_request *request);

/* Descriptors of this process that are open in the root. */
unsigned leases_open_in_root(void);

#endif
