/* SPDX-License-Identifier: Apache-2.0 */
/* What this session does to the tickets of other sessions. */
#ifndef HF_ENGINES_FILE_EVICTION_H
#define HF_ENGINES_FILE_EVICTION_H

#include "core/engine.h"
#include "engines/file/listing.h"

/* HF_REQUEST_REMOVE of a ticket that is not of this session. */
void hf_file_evict(struct hf_engine *engine, struct hf_request *request);

/* HF_REQUEST_REVOKE of any ticket: ask its owner to let go. */
void hf_file_revoke(struct hf_engine *engine, struct hf_request *request);

/* Remove the tickets of dead owners from ${listing} and from its directory. */
void hf_file_remove_dead(struct hf_engine *engine,
                         struct hf_file_listing *listing);

#endif
