/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the effects of the core do to the grant that they are about.
 */
#ifndef HF_HOST_GRANT_EFFECTS_H
#define HF_HOST_GRANT_EFFECTS_H

#include "client/grant.h"

/* Carry out ${effect}, which is about the acquisition of ${grant}.  Its
 * election, if it has one, is notified last.  With the client's lock. */
void hf_grant_handle_effect(struct hf_grant *grant,
                            const struct hf_effect *effect);

#endif
