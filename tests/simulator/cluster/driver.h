/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the core of a client as src/client does: hands events to it, carries
 * out its effects, and sets its timer.  The checks see each event and each
 * effect. */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_DRIVER_H
#define HF_TESTS_SIMULATOR_CLUSTER_DRIVER_H

#include "simulator/cluster/cluster.h"

/* Hand ${event} to the core and carry out all effects. */
void driver_step(struct client *client, struct hf_event *event);

/* The user makes a call: an event of ${kind} about ${attempt}, or if that is
 * NULL about the session. */
void driver_call(struct client *client, enum hf_event_kind kind,
                 struct attempt *attempt);

/* Set the client's timer to when the core wants the next TICK. */
void driver_arm(struct client *client);

/* Callbacks for the engine; ${client} is a struct client. */
void driver_event(void *client, struct hf_event *event);
uint64_t driver_now_ms(void *client);

#endif
