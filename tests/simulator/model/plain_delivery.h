/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery of messages one by one.  With hf_sim_config.manual_delivery no
 * message of the plain model is delivered on its own: the caller asks which
 * messages could arrive next and delivers one of them.  Timers run as usual. */
#ifndef HF_TESTS_SIMULATOR_MODEL_PLAIN_DELIVERY_H
#define HF_TESTS_SIMULATOR_MODEL_PLAIN_DELIVERY_H

#include "simulator/model/sim.h"

enum hf_sim_direction {
    HF_SIM_TO_SERVER,      /* to the server */
    HF_SIM_TO_CLIENT,      /* to the client */
    HF_SIM_NOTICE,         /* to the client; it may overtake answers */
    HF_SIM_LATE_TO_SERVER, /* to the server, on a connection that has ended */
};

/* The first message of one direction of one connection. */
struct hf_sim_delivery {
    struct hf_engine *engine;
    enum hf_sim_direction direction;
    void *pipe; /* belongs to the model */
    /* Of HF_SIM_TO_SERVER and HF_SIM_LATE_TO_SERVER: the request, if it is
     * one. */
    bool is_request;
    enum hf_request_kind request;
    struct hf_ticket_id ticket;
};

/* Write all messages that could arrive next at ${engine} or its server to
 * ${deliveries}, which has room for ${max}.  Returns how many there are.  They
 * are valid until the model changes. */
size_t hf_sim_deliverable(const struct hf_engine *engine,
                          struct hf_sim_delivery *deliveries, size_t max);

/* Let the message arrive. */
void hf_sim_deliver(const struct hf_sim_delivery *delivery);

/* Of HF_SIM_LATE_TO_SERVER: drop it and all messages behind it. */
void hf_sim_drop_late_messages(const struct hf_sim_delivery *delivery);

/* The true time of the engine's next timer; UINT64_MAX if it has none. */
uint64_t hf_sim_wake_at_us(const struct hf_engine *engine);

#endif
