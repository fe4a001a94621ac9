/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the part of the state that decides how a run goes on, as bytes.  Two
 * states with equal bytes have equal futures.  Names that were made up do not
 * matter for that (ticket ids, tokens, addresses), so each is encoded as a
 * number: the order of its first appearance.  This makes states equal that
 * differ only in such names. */
#ifndef HF_TESTS_SIMULATOR_MODEL_PLAIN_ENCODER_H
#define HF_TESTS_SIMULATOR_MODEL_PLAIN_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ticket.h"

#define HF_STATE_BYTES 8192
#define HF_STATE_TICKETS 64
#define HF_STATE_OBJECTS 32

/* Timers that are further off than this are encoded as "later", because the
 * explorer lets time pass only for timers that are nearer. */
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

/* One byte; ${number} must fit. */
void hf_encode_number(struct hf_state_encoder *encoder, uint64_t number);
void hf_encode_ticket(struct hf_state_encoder *encoder,
                      const struct hf_ticket_id *ticket);
void hf_encode_object(struct hf_state_encoder *encoder, const void *object);
/* The time ${at}, in milliseconds of the clock that shows ${now}. */
void hf_encode_instant(struct hf_state_encoder *encoder, uint64_t at,
                       uint64_t now);
/* Which request of its owner it is; NULL: none. */
void hf_encode_request(struct hf_state_encoder *encoder,
                       const struct hf_request *request);

/* The tickets of a queue in the committed state, and their owners. */
void hf_sim_encode_queue(struct hf_state_encoder *encoder, struct hf_sim *sim,
                         const char *queue);
/* The engine, its connections and all messages on them. */
void hf_sim_encode_engine(struct hf_state_encoder *encoder,
                          const struct hf_engine *engine);

#endif
