/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An imprint: all that decides how a world goes on, as bytes, and nothing else.
 * Two worlds with equal imprints go on alike.  So names that were made up do
 * not show (ticket ids, tokens, who is called what): each gets a number when it
 * first appears.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_STATE_ENCODER_H
#define HF_TESTS_SIMULATOR_MODEL_STATE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ticket.h"

#define HF_STATE_BYTES 8192
#define HF_STATE_TICKETS 64
#define HF_STATE_OBJECTS 32

/* Timers further off than this only show that they are: the explored part of a
 * path takes no time but for those that are nearer. */
#define HF_STATE_SOON_MS UINT64_C(1000)

struct hf_sim;
struct hf_engine;
struct hf_request;

struct hf_state_encoder {
    uint8_t bytes[HF_STATE_BYTES];
    size_t used;
    struct hf_ticket_id tickets[HF_STATE_TICKETS];
    size_t ticket_count;
    const void *objects[HF_STATE_OBJECTS];
    size_t object_count;
};

/* One byte; ${number} fits. */
void hf_encode_number(struct hf_state_encoder *encoder, uint64_t number);
void hf_encode_ticket(struct hf_state_encoder *encoder,
                      const struct hf_ticket_id *ticket);
void hf_encode_object(struct hf_state_encoder *encoder, const void *object);
/* ${at} in milliseconds on the clock that shows ${now}. */
void hf_encode_instant(struct hf_state_encoder *encoder, uint64_t at,
                       uint64_t now);
/* Which one of its acquisition's requests it is; NULL is none. */
void hf_encode_request(struct hf_state_encoder *encoder,
                       const struct hf_request *request);

/* A queue as the leader has it, and who is in it. */
void hf_sim_encode_queue(struct hf_state_encoder *encoder, struct hf_sim *sim,
                         const char *queue);
/* The engine, its connections and all that is on its way over them. */
void hf_sim_encode_engine(struct hf_state_encoder *encoder,
                          const struct hf_engine *engine);

#endif
