/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups: threads in getaddrinfo(), and the desk where they leave what they
 * found.  The desk outlives whoever asked, for as long as a thread needs it.
 */
#ifndef HF_TRANSPORT_LOOKUP_THREAD_H
#define HF_TRANSPORT_LOOKUP_THREAD_H

#include <uv.h>

#include "transport/resolver.h"

struct hf_lookup_completions;

/* What a lookup found. */
struct hf_lookup {
    char host[HF_RESOLVER_HOST_BYTES];
    union hf_address addresses[HF_RESOLVER_ADDRESSES_MAX];
    size_t address_count; /* 0: none, and .why says why */
    char why[HF_RESOLVER_TEXT_BYTES];
    struct hf_lookup_completions *completions;
    struct hf_lookup *next;
};

/* ${async} is sent to whenever a lookup has ended, until the desk is closed.
 * NULL for lack of memory. */
struct hf_lookup_completions *hf_lookup_completions_new(uv_async_t *async);

/* Nothing is sent from then on; lookups under way are on their own. */
void hf_lookup_completions_close(struct hf_lookup_completions *completions);

/* Have a thread look ${host} up.  False, with errno, if there is none to be
 * had. */
bool hf_lookup_start(struct hf_lookup_completions *completions,
                     const char *host);

/* The lookups that have ended, linked by .next, each to be freed by
 * hf_free(). */
struct hf_lookup *hf_lookup_collect(struct hf_lookup_completions *completions);

#endif
