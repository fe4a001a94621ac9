/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages moved by hand: with hf_sim_config.by_hand nothing on a connection of
 * the plain model arrives of itself.  Whoever runs it asks what could arrive
 * next and picks one; the calendar is left with the clocks.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_DELIVERY_H
#define HF_TESTS_SIMULATOR_MODEL_DELIVERY_H

#include "simulator/model/sim.h"

enum hf_sim_direction {
    HF_SIM_TO_SERVER,      /* to the server */
    HF_SIM_TO_CLIENT,      /* to the client */
    HF_SIM_NOTICE,         /* a notice that may overtake answers */
    HF_SIM_LATE_TO_SERVER, /* to the server, on a connection that has ended */
};

/* The first message of one direction of one connection. */
struct hf_sim_delivery {
    struct hf_engine *engine;
    enum hf_sim_direction direction;
    void *pipe; /* the model's own */
    /* HF_SIM_TO_SERVER and HF_SIM_LATE_TO_SERVER: the request, if it is one. */
    bool is_request;
    enum hf_request_kind request;
    struct hf_ticket_id ticket;
};

/* Write what could arrive next at ${engine} or its server to ${arrivals}, which
 * has room for ${most}, and return how many they are.  They are valid until
 * anything happens. */
size_t hf_sim_deliverable(const struct hf_engine *engine,
                          struct hf_sim_delivery *deliveries, size_t max);

/* Let it arrive. */
void hf_sim_deliver(const struct hf_sim_delivery *delivery);

/* It is HF_SIM_LATE_TO_SERVER: lose it, and all behind it. */
void hf_sim_drop_late_messages(const struct hf_sim_delivery *delivery);

/* The true time at which ${engine} will look at its clock; UINT64_MAX: not
 * unless something arrives. */
uint64_t hf_sim_wake_at_us(const struct hf_engine *engine);

#endif
