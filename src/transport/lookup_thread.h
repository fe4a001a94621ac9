/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call getaddrinfo(), and the list of their results.  The list is
 * freed when the resolver and all threads have released it. */
#ifndef HF_TRANSPORT_LOOKUP_THREAD_H
#define HF_TRANSPORT_LOOKUP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "transport/socket.h"

#define HF_LOOKUP_ADDRESSES_MAX 16

/* Length of a text that says why a lookup has no result. */
#define HF_LOOKUP_TEXT_BYTES 128

/* A completion queue: finished lookups wait here until they are collected. */
struct hf_lookup_completions;

/* One lookup and its result. */
struct hf_lookup {
    char host[HF_HOST_BYTES];
    union hf_address addresses[HF_LOOKUP_ADDRESSES_MAX];
    size_t address_count; /* 0: no address was found, and .why has the reason */
    char why[HF_LOOKUP_TEXT_BYTES];
    struct hf_lookup_completions *completions;
    struct hf_lookup *next;
};

/* Make an empty list.  Until it is closed, ${async} is signalled whenever a
 * lookup has ended.  Returns NULL for lack of memory. */
struct hf_lookup_completions *hf_lookup_completions_new(uv_async_t *async);

/* Stop signalling and release the resolver's reference.  If threads still run,
 * the last one to end frees the list and all results. */
void hf_lookup_completions_close(struct hf_lookup_completions *completions);

/* Start a thread that looks ${host} up.  Returns false, with errno set, if no
 * thread can be started or memory is lacking. */
bool hf_lookup_start(struct hf_lookup_completions *completions,
                     const char *host);

/* Remove and return the finished lookups, linked by .next.  The caller frees
 * each with hf_free(). */
struct hf_lookup *hf_lookup_collect(struct hf_lookup_completions *completions);

#endif
