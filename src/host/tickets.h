/* SPDX-License-Identifier: Apache-2.0 */
/* A queue as it stood at one moment, in memory of the user's. */
#ifndef HF_HOST_TICKETS_H
#define HF_HOST_TICKETS_H

#include "core/ticket.h"
#include "host/client.h"

enum hf_tickets_which {
    HF_TICKETS_ALL,
    HF_TICKETS_HOLDERS,
    HF_TICKETS_WAITERS
};

/* Those of the queue ${name} that ${which} says, out of the answer to a whole
 * LIST.  NULL for lack of memory.  With the client's lock. */
struct hf_tickets *hf_tickets_make(const struct hf_client *client,
                                   const char *name,
                                   const struct hf_event *listed,
                                   enum hf_tickets_which which);

#endif
