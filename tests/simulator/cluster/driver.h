/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives the core of a client: hands it what happens, carries out what it
 * wants done, and wakes it when it asked to be.  Every step goes through the
 * checks.
 */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_DRIVER_H
#define HF_TESTS_SIMULATOR_CLUSTER_DRIVER_H

#include "simulator/cluster/cluster.h"

/* Hand ${event} to the core, and carry out all that comes of it. */
void driver_step(struct client *client, struct hf_event *event);

/* The user calls: a step of ${kind}, about ${attempt} or, if that is NULL,
 * about the session. */
void driver_call(struct client *client, enum hf_event_kind kind,
                 struct attempt *attempt);

/* See that the calendar ticks it when the core wants to be woken. */
void driver_arm(struct client *client);

/* What the engine of ${client}, a struct client, calls. */
void driver_event(void *client, struct hf_event *event);
uint64_t driver_now_ms(void *client);

#endif
