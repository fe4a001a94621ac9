/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects: what the core wants done after a step, and who does it.  A request
 * goes to the engine, a change of the session to the listeners, and everything
 * else to the grant or the operation that it is about.
 *
 * This is the top of the client's files.  It knows the files below, and none of
 * them calls it: a client has it as .carry_out, so every step of the core ends
 * here.
 */
#ifndef HF_CLIENT_EFFECTS_H
#define HF_CLIENT_EFFECTS_H

#include "client/client.h"

/* Carry out ${effect}: the .carry_out of every client.  With the lock. */
void hf_effects_carry_out(struct hf_client *client,
                          const struct hf_effect *effect);

#endif
