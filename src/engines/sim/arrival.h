/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages moved by hand: with hf_sim_config.by_hand nothing on a connection of
 * the plain model arrives of itself.  Whoever runs it asks what could arrive
 * next and picks one; the calendar is left with the clocks.
 */
#ifndef HF_ENGINES_SIM_ARRIVAL_H
#define HF_ENGINES_SIM_ARRIVAL_H

#include "engines/sim/sim.h"

enum hf_sim_way {
    HF_SIM_OUT,   /* to the server */
    HF_SIM_IN,    /* to the client */
    HF_SIM_ASIDE, /* a notice that may overtake answers */
    HF_SIM_LATE,  /* to the server, on a connection that has ended */
};

/* The first message of one direction of one connection. */
struct hf_sim_arrival {
    struct hf_engine *engine;
    enum hf_sim_way way;
    void *pipe; /* the model's own */
    /* HF_SIM_OUT and HF_SIM_LATE: the request, if it is one. */
    bool asks;
    enum hf_request_kind request;
    struct hf_ticket_id ticket;
};

/* Write what could arrive next at ${engine} or its server to ${arrivals}, which
 * has room for ${most}, and return how many they are.  They are valid until
 * anything happens. */
size_t hf_sim_arrivals(const struct hf_engine *engine,
                       struct hf_sim_arrival *arrivals, size_t most);

/* Let it arrive. */
void hf_sim_arrive(const struct hf_sim_arrival *arrival);

/* It is HF_SIM_LATE: lose it, and all behind it. */
void hf_sim_lose(const struct hf_sim_arrival *arrival);

/* The true time at which ${engine} will look at its clock; UINT64_MAX: not
 * unless something arrives. */
uint64_t hf_sim_wake_at_us(const struct hf_engine *engine);

#endif
