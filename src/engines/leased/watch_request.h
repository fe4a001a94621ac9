/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_WATCH. */
#ifndef HF_ENGINES_LEASED_WATCH_REQUEST_H
#define HF_ENGINES_LEASED_WATCH_REQUEST_H

#include "core/engine.h"

struct hf_leased;

/* Begin HF_REQUEST_WATCH: WATCHING or GONE. */
void hf_leased_watch(struct hf_leased *leased, struct hf_request *request);

#endif
