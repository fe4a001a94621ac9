/* SPDX-License-Identifier: Apache-2.0 */
/* The leases of a semaphore on the file engine's bench. */
#ifndef HF_TESTS_UNIT_FILE_LEASES_H
#define HF_TESTS_UNIT_FILE_LEASES_H

#include "conformance/bench_file.h"
#include "conformance/seat.h"

#define LOCKS "s" HF_QUEUE_LOCKS
#define LEASES "s" HF_QUEUE_LEASES

/* Put a lease in; take it out: was it there? */
struct hf_ticket_id leases_take(struct seat *seat, uint32_t weight);
bool leases_leave(struct seat *seat, struct hf_ticket_id id);

/* A look that must be answered, with ${expected} of them. */
struct call *leases_look(struct seat *seat, size_t expected);

/* The look was told nothing by now. */
void leases_expect_nothing(struct seat *seat, const struct call *call);

/* Descriptors of this process that are open in the root. */
unsigned leases_open_in_root(void);

#endif
