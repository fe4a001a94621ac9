/* SPDX-License-Identifier: Apache-2.0 */
/* Renewals: that all tickets of the session live on, which is the only thing
 * that moves safe-until. */
#ifndef HF_ENGINES_LEASED_RENEWAL_H
#define HF_ENGINES_LEASED_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/op.h"

struct hf_leased_renewal {
    bool under_way;
    uint64_t at_ms;           /* the next one; HF_FOREVER while there is no
                                 link or one is under way */
    struct hf_request *prove; /* waits for the one that is under way */
};

/* Send one, unless one is under way. */
void hf_leased_renew(struct hf_leased *leased);

/* HF_REQUEST_PROVE */
void hf_leased_prove(struct hf_leased *leased, struct hf_request *request);

void hf_leased_renewal_tick(struct hf_leased *leased);

/* The session is over: whoever waits for a proof waits in vain. */
void hf_leased_renewal_clear(struct hf_leased *leased);

/* An operation that takes out all that the session has. */
struct hf_leased_op *hf_leased_goodbye_new(struct hf_leased *leased);

#endif
