/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns names into addresses without blocking.  Each lookup is a detached
 * thread in getaddrinfo(), which nothing can interrupt.  If the resolver is
 * freed meanwhile, the thread discards its result.
 *
 * If a name does not resolve any more, or if lookups hang, its last known
 * addresses are used.  A name is looked up at most once in
 * HF_RESOLVER_INTERVAL_MS.  Until then the result of its last lookup is used
 * again, so that clients that try again and again do not flood the name
 * service.
 *
 * Everything here is used with the client's lock held.
 */
#ifndef HF_TRANSPORT_RESOLVER_H
#define HF_TRANSPORT_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <holdfast/client.h>

#include "transport/socket.h"

#define HF_RESOLVER_NAMES_MAX 64
/* The most lookups in progress at a time.  Each name has at most one. */
#define HF_RESOLVER_THREADS_MAX 8
/* The least time between the starts of two lookups of a name. */
#define HF_RESOLVER_INTERVAL_MS 1000
/* Length of a text that says why a name has no address. */
#define HF_RESOLVER_TEXT_BYTES 160

struct hf_resolver;

/* The log and the clock that the resolver uses.  The fields are those of struct
 * hf_engine_host with the same names. */
struct hf_resolver_host {
    void *host;
    void (*log)(void *host, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ms)(void *host);
};

/* A request for an address.  Zero it, then set .fn and .arg. */
struct hf_resolver_request {
    /* Called with the answer.  ${address} is valid during the call; NULL: there
     * is none, because of ${why}.  The callback may make and cancel requests
     * but must not free the resolver. */
    void (*fn)(void *arg, const union hf_address *address, const char *why);
    void *arg;
    /* Written by the resolver only. */
    struct hf_resolver_name *name; /* the name whose lookup the request waits
                                      for; NULL: it does not wait */
    struct hf_resolver_request *next;
};

/* How hf_resolver_find() went. */
enum hf_resolver_result {
    HF_RESOLVER_FOUND,   /* ${address} is set */
    HF_RESOLVER_PENDING, /* .fn will be called once, from the loop */
    HF_RESOLVER_FAILED,  /* ${why} is set */
};

/* Make a resolver.  Returns NULL if the loop takes no more handles, or for lack
 * of memory.  Even then the loop may have a handle that it must close, as after
 * hf_resolver_free(). */
struct hf_resolver *hf_resolver_new(uv_loop_t *loop,
                                    const struct hf_resolver_host *host);

/* Free the resolver.  No request may be waiting.  The loop closes its handle.
 */
void hf_resolver_free(struct hf_resolver *resolver);

/* Find an address of ${host}, a name or a numeric address.  If a name has
 * several addresses, one of them is used until hf_resolver_address_failed() is
 * called.  Returns PENDING if a lookup must be waited for.  Returns FOUND or
 * FAILED at once
 *  - for a numeric address;
 *  - if the last lookup of the name has ended and began less than
 *    HF_RESOLVER_INTERVAL_MS ago: with its result;
 *  - if no lookup can be started: from the addresses that are known;
 *  - FOUND, if an address is known while another lookup is under way. */
enum hf_resolver_result hf_resolver_find(struct hf_resolver *resolver,
                                         const char *host,
                                         struct hf_resolver_request *request,
                                         union hf_address *address,
                                         char why[HF_RESOLVER_TEXT_BYTES]);

/* Cancel a request.  Does nothing if the request does not wait. */
void hf_resolver_cancel(struct hf_resolver_request *request);

/* No connection could be made to the address of ${host} that was found last.
 * From now on the next address is used. */
void hf_resolver_address_failed(struct hf_resolver *resolver, const char *host);

#endif
